//! Batches of operations: the trait that every engine implements, and the engines.
//!
//! An engine takes slices and fills slices. It checks lengths before it computes anything. When a
//! call returns an error, no output slice has been touched, unless the error says otherwise. The
//! defaults and placeholders that output slices hold before a call are neither keys nor secrets:
//! use an output after `Ok` only. [`EncapsulationKey::from_bytes`] and
//! [`DecapsulationKey::from_bytes`] refuse the bytes of a placeholder, and
//! [`SharedSecret::is_placeholder`] finds a default.
//!
//! The same seeds and keys give the same bytes on every engine.

mod cpu;
#[cfg(feature = "gpu")]
pub mod device;

use core::ops::DerefMut;
use std::vec::Vec;

use thiserror::Error;

use crate::hash::SEED_BYTES;
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::ParameterSet;

#[cfg(feature = "gpu")]
pub use ctru_gpu_runtime::RuntimeError;
#[cfg(feature = "cuda")]
pub use device::cuda;
#[cfg(feature = "gpu")]
pub use device::{DeviceEngine, DeviceOptions, Products};

pub use crate::batch::{KEY_PAIR_SEED_BYTES, Keys, Seeds};
pub use cpu::{CpuEngine, LoadedDecapsulationKeys, LoadedEncapsulationKeys};

/// The reason why a batch was not computed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A slice has another length than the batch.
    #[error("{slice} has {actual} elements, the batch has {expected}")]
    Length {
        /// Name of the slice.
        slice: &'static str,
        /// Length of the batch: that of the slice of shared secrets, or that of the first slice of
        /// keys to be generated.
        expected: usize,
        /// Length of the slice.
        actual: usize,
    },
    /// The device failed.
    #[cfg(feature = "gpu")]
    #[error("{error}{}", if done.is_empty() { "" } else { "; part of the batch is done" })]
    Device {
        /// The failure.
        error: RuntimeError,
        /// Operations that were done before, in order: their outputs are written. Other outputs are
        /// untouched, except for operations that were under way on slices in
        /// [pinned](Engine::pin) memory: the device may have written parts of their ciphertexts,
        /// and their keys are placeholders.
        done: Vec<core::ops::Range<usize>>,
    },
    /// The batch was cancelled.
    #[cfg(feature = "gpu")]
    #[error("the batch was cancelled{}", if done.is_empty() { "" } else { "; part of it is done" })]
    Cancelled {
        /// Operations that were done before, in order: their outputs are written. Other outputs are
        /// untouched.
        done: Vec<core::ops::Range<usize>>,
    },
    /// The options of an engine leave no room for a single operation.
    #[cfg(feature = "gpu")]
    #[error(
        "one operation per slot takes {needed} bytes of device memory in all, the limit is {limit}"
    )]
    Options {
        /// Bytes for chunks of one operation.
        needed: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The system refused worker threads.
    #[error("the worker threads could not be started: {0}")]
    Threads(std::string::String),
}

/// Runs batches of key generations, encapsulations and decapsulations of one parameter set.
///
/// Several threads may call an engine at the same time.
pub trait Engine<P: ParameterSet>: Send + Sync {
    /// Encapsulation keys in the form and in the memory in which the engine computes with them.
    type EncapsulationKeys;
    /// Decapsulation keys in the form and in the memory in which the engine computes with them;
    /// wiped when dropped.
    type DecapsulationKeys;
    /// A vector in memory that the engine reaches fastest; see [`pin`](Self::pin).
    type Pinned<T: Send + Sync>: DerefMut<Target = [T]> + Send + Sync;

    /// Pins a vector, so that batches on it or on parts of it are fastest.
    ///
    /// A GPU reads and writes keys and ciphertexts in pinned memory directly. Pinning takes some
    /// microseconds per page, once. Two small vectors that lie on one page may not both be pinned.
    /// The CPU engine returns the vector as it is.
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot pin it; the vector is lost.
    fn pin<T: Send + Sync>(&self, content: Vec<T>) -> Result<Self::Pinned<T>, EngineError>;

    /// Loads keys that will serve many operations: one, or one for each operation of the batches to
    /// come.
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot hold them.
    fn load_encapsulation_keys(
        &self,
        keys: &[EncapsulationKey<P>],
    ) -> Result<Self::EncapsulationKeys, EngineError>;

    /// Loads keys that will serve many operations: one, or one for each operation of the batches to
    /// come.
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

    /// Generates decapsulation keys, which [contain](DecapsulationKey::encapsulation_key) their
    /// encapsulation keys.
    ///
    /// The keys are those that [`generate`](Self::generate) makes from the same seeds, with fewer
    /// bytes to write and to move.
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
    /// Checks that there are seeds for `expected` operations.
    fn check(&self, expected: usize) -> Result<(), EngineError> {
        match self {
            Self::Each(seeds) => check_length("seeds", expected, seeds.len()),
            Self::Expand(_) => Ok(()),
        }
    }
}

/// Checks the length of a slice.
fn check_length(slice: &'static str, expected: usize, actual: usize) -> Result<(), EngineError> {
    if actual == expected { Ok(()) } else { Err(EngineError::Length { slice, expected, actual }) }
}
