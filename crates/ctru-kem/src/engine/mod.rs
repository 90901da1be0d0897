//! Batches of operations: the trait that every engine implements, and the CPU engine.
//!
//! An engine takes slices and fills slices. Lengths are checked before anything is computed; when a
//! call returns an error, no output slice has been touched, unless the error says otherwise. What
//! slices are made of beforehand, defaults and placeholders, is neither secret nor key: only a
//! result that is `Ok` makes it so. Reading refuses the bytes of a placeholder, and a secret that
//! equals the default is none.
//!
//! Results do not depend on the engine: the same seeds and keys give the same bytes everywhere.

mod cpu;
#[cfg(feature = "gpu")]
pub mod device;

use core::fmt;
use core::ops::DerefMut;
use std::vec::Vec;

use thiserror::Error;

use crate::hash;
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::{ParameterSet, SEED_BYTES};
use crate::wipe::Secret;

#[cfg(feature = "gpu")]
pub use ctru_gpu_runtime::RuntimeError;
#[cfg(feature = "cuda")]
pub use device::cuda;
#[cfg(feature = "gpu")]
pub use device::{DeviceEngine, DeviceOptions, Products};

pub use cpu::{CpuEngine, LoadedDecapsulationKeys, LoadedEncapsulationKeys};

/// Seed bytes of one key pair: the seed of the polynomials, then the rejection secret `z`.
pub const KEY_PAIR_SEED_BYTES: usize = 2 * SEED_BYTES;

/// Where the operations of a batch take their seeds from, `N` bytes each.
///
/// Seeds must be uniform and secret, and each must be used once.
#[derive(Copy, Clone)]
pub enum Seeds<'a, const N: usize> {
    /// One seed an operation.
    Each(&'a [[u8; N]]),
    /// Operation `i` takes `SHAKE256("ctru batch seed" || N as one byte || master || i as 8 bytes, little-endian)`.
    /// One master seed must serve one batch only.
    Expand(&'a [u8; SEED_BYTES]),
}

/// Keys of a batch.
pub enum Keys<'a, K, L> {
    /// One key for all operations.
    One(&'a K),
    /// A key for each operation.
    Each(&'a [K]),
    /// Keys that the engine holds already: one for all operations, or one for each.
    Loaded(&'a L),
}

impl<const N: usize> fmt::Debug for Seeds<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Each(seeds) => write!(f, "Seeds::Each({} seeds)", seeds.len()),
            Self::Expand(_) => f.write_str("Seeds::Expand(..)"),
        }
    }
}

impl<K, L> fmt::Debug for Keys<'_, K, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(_) => f.write_str("Keys::One(..)"),
            Self::Each(keys) => write!(f, "Keys::Each({} keys)", keys.len()),
            Self::Loaded(_) => f.write_str("Keys::Loaded(..)"),
        }
    }
}

impl<K, L> Copy for Keys<'_, K, L> {}
impl<K, L> Clone for Keys<'_, K, L> {
    fn clone(&self) -> Self {
        *self
    }
}

/// Why a batch was not computed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A slice has another length than the batch.
    #[error("{slice} has {actual} elements, the batch has {expected}")]
    Length {
        /// Which slice.
        slice: &'static str,
        /// Length of the batch: that of the slice of shared secrets, or that of the first slice of keys to be generated.
        expected: usize,
        /// Length of this slice.
        actual: usize,
    },
    /// The device failed.
    #[cfg(feature = "gpu")]
    #[error("{error}{}", if done.is_empty() { "" } else { "; part of the batch is done" })]
    Device {
        /// What happened.
        error: RuntimeError,
        /// Operations that were done before, in order: their outputs are written. All others are untouched, but for those
        /// in whose middle the device failed: in [`memory`](Engine::memory) of the engine it may have written parts of ciphertexts,
        /// and keys are placeholders then.
        done: Vec<core::ops::Range<usize>>,
    },
    /// The batch was cancelled.
    #[cfg(feature = "gpu")]
    #[error("the batch was cancelled{}", if done.is_empty() { "" } else { "; part of it is done" })]
    Cancelled {
        /// Operations that were done before, in order: their outputs are written, all others are untouched.
        done: Vec<core::ops::Range<usize>>,
    },
    /// The options of an engine leave no room for a single operation.
    #[cfg(feature = "gpu")]
    #[error(
        "one operation a slot takes {needed} bytes of device memory in all, the limit is {limit}"
    )]
    Options {
        /// Bytes that chunks of one operation would take.
        needed: usize,
        /// The limit.
        limit: usize,
    },
    /// The worker threads could not be started.
    #[error("the worker threads could not be started: {0}")]
    Threads(std::string::String),
}

/// Runs batches of key generations, encapsulations and decapsulations of one parameter set. Several threads may call it at a time.
pub trait Engine<P: ParameterSet>: Send + Sync {
    /// Encapsulation keys in the form that the engine computes with, where it computes.
    type EncapsulationKeys;
    /// Decapsulation keys in the form that the engine computes with, where it computes; wiped when dropped.
    type DecapsulationKeys;

    /// A vector that the engine reaches fastest; see [`memory`](Self::memory).
    type Memory<T: Send + Sync>: DerefMut<Target = [T]> + Send + Sync;

    /// Keeps a vector so that batches on it, or on parts of it, are fastest. A GPU then reads and writes keys and ciphertexts where
    /// they lie; it takes some microseconds a page, once. Small vectors on one page may exclude each other.
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot keep it; the vector is lost.
    fn memory<T: Send + Sync>(&self, content: Vec<T>) -> Result<Self::Memory<T>, EngineError>;

    /// Loads keys that will serve many operations: one, or one for each operation of the batches to come.
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot hold them.
    fn load_encapsulation_keys(
        &self,
        keys: &[EncapsulationKey<P>],
    ) -> Result<Self::EncapsulationKeys, EngineError>;

    /// Loads keys that will serve many operations: one, or one for each operation of the batches to come.
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot hold them.
    fn load_decapsulation_keys(
        &self,
        keys: &[DecapsulationKey<P>],
    ) -> Result<Self::DecapsulationKeys, EngineError>;

    /// Generates one key pair for each element of the output slices.
    ///
    /// # Errors
    /// [`EngineError`]; then neither slice has been touched.
    fn generate(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: &mut [EncapsulationKey<P>],
        decapsulation_keys: &mut [DecapsulationKey<P>],
    ) -> Result<(), EngineError>;

    /// Generates key pairs as their decapsulation keys, which [contain](DecapsulationKey::encapsulation_key) the encapsulation
    /// keys: the same as [`generate`](Self::generate) does with the same seeds, with less to write and to move.
    ///
    /// # Errors
    /// [`EngineError`]; then the output slice has not been touched.
    fn generate_decapsulation_keys(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        decapsulation_keys: &mut [DecapsulationKey<P>],
    ) -> Result<(), EngineError>;

    /// Encapsulates once for each element of the output slices.
    ///
    /// # Errors
    /// [`EngineError`]; then neither slice has been touched.
    fn encapsulate(
        &self,
        keys: Keys<'_, EncapsulationKey<P>, Self::EncapsulationKeys>,
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [Ciphertext<P>],
        shared_secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError>;

    /// Decapsulates every ciphertext.
    ///
    /// # Errors
    /// [`EngineError`]; then the output slice has not been touched.
    fn decapsulate(
        &self,
        keys: Keys<'_, DecapsulationKey<P>, Self::DecapsulationKeys>,
        ciphertexts: &[Ciphertext<P>],
        shared_secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError>;
}

impl<const N: usize> Seeds<'_, N> {
    /// Writes the seed of operation `index`.
    ///
    /// # Panics
    /// If there is a seed for each operation and none for this one.
    pub fn write(&self, index: usize, seed: &mut [u8; N]) {
        self.write_group(index, [seed]);
    }

    /// The seeds of operations `first..first + G`.
    pub(crate) fn group<const G: usize>(&self, first: usize) -> [Secret<[u8; N]>; G] {
        let mut seeds = core::array::from_fn(|_| Secret::zeroed());
        self.write_group(first, seeds.each_mut().map(|seed: &mut Secret<_>| &mut **seed));
        seeds
    }

    fn write_group<const G: usize>(&self, first: usize, group: [&mut [u8; N]; G]) {
        match self {
            Self::Each(seeds) => {
                for (seed, from) in group.into_iter().zip(&seeds[first..first + G]) {
                    seed.copy_from_slice(from);
                }
            }
            Self::Expand(master) => {
                let indices: [[u8; 8]; G] =
                    core::array::from_fn(|i| ((first + i) as u64).to_le_bytes());
                let length = [N as u8];
                let input =
                    |i: usize| [b"ctru batch seed".as_slice(), &length, *master, &indices[i]];
                hash::shake256(core::array::from_fn(input), group.map(|seed| seed.as_mut_slice()));
            }
        }
    }

    pub(crate) fn check(&self, expected: usize) -> Result<(), EngineError> {
        match self {
            Self::Each(seeds) => check_length("seeds", expected, seeds.len()),
            Self::Expand(_) => Ok(()),
        }
    }
}

pub(crate) fn check_length(
    slice: &'static str,
    expected: usize,
    actual: usize,
) -> Result<(), EngineError> {
    if actual == expected { Ok(()) } else { Err(EngineError::Length { slice, expected, actual }) }
}
