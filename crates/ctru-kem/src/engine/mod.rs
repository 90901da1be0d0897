//! Batches of operations: the trait that every engine implements, and the engines.
//!
//! An engine takes slices and fills slices. It checks their lengths before it computes anything. If
//! a call returns an error, no output slice has been changed, unless the error says otherwise. The
//! same seeds and keys give the same bytes on every engine.
//!
//! Before a call, output slices hold placeholders and defaults, which are not secret. Use an output
//! only after `Ok`. [`EncapsulationKey::from_bytes`] and [`DecapsulationKey::from_bytes`] refuse
//! the bytes of a placeholder, and [`SharedSecret::is_placeholder`] recognises a default.
//!
//! An engine has threads, which do not exist in a fork of its process. There, a batch would wait
//! for them forever, and so would the end of the engine: make an engine in each process, and let
//! the fork leave the parent's engine alone. A GPU cannot be used in a fork of a process that has
//! used it. Operations on single keys work in a fork.

mod cpu;
#[cfg(feature = "gpu")]
pub mod device;
mod rows;

use core::fmt;
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
pub use device::{DeviceEngine, DeviceOptions, DeviceRows};

pub use crate::batch::{Keys, Seeds};
pub use crate::error::ContextTooLong;
pub use crate::expand::{Context, Expand};
pub use crate::hash::KEY_PAIR_SEED_BYTES;
pub use cpu::{CpuEngine, LoadedDecapsulationKeys, LoadedEncapsulationKeys};
pub use rows::{CpuRows, RowEngine, RowError};

/// The reason why a batch was not computed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The length of a slice differs from the length of the batch.
    #[error("{slice} has {actual} elements, the batch has {expected}")]
    Length {
        /// The name of the slice.
        slice: &'static str,
        /// The length of the batch. For key generation, it is the length of the first output slice;
        /// otherwise, it is the length of the slice of shared secrets.
        expected: usize,
        /// The length of the slice.
        actual: usize,
    },
    /// The row of the last operation does not fit 64 bits.
    #[error("a batch of {count} operations cannot begin at row {first}: a row has 64 bits")]
    RowOverflow {
        /// The row of the first operation.
        first: u64,
        /// The length of the batch.
        count: usize,
    },
    /// The length of an array in device memory does not fit the batch.
    #[cfg(feature = "gpu")]
    #[error("the array of {array} has {actual} bytes, the batch needs {expected}")]
    Bytes {
        /// The name of the array.
        array: &'static str,
        /// The number of bytes that the array must have. If the array determines the number of
        /// operations, the bytes of its complete rows.
        expected: usize,
        /// The number of bytes that the array has.
        actual: usize,
    },
    /// An engine that cuts batches into other chunks has loaded the keys.
    #[cfg(feature = "gpu")]
    #[error(
        "the keys were loaded in chunks of {loaded} operations, and this engine cuts the batch \
         into chunks of {batch}: load them with this engine"
    )]
    Chunks {
        /// The number of operations of the chunks in which the keys were loaded.
        loaded: usize,
        /// The number of operations of the batch's chunks.
        batch: usize,
    },
    /// The device failed.
    #[cfg(feature = "gpu")]
    #[error("{error}{}", if done.is_empty() { "" } else { "; part of the batch is done" })]
    Device {
        /// The failure.
        error: RuntimeError,
        /// The operations that were done before the failure, in ascending order. Their outputs are
        /// written.
        ///
        /// All other outputs are unchanged, with one exception: an operation that was under way on
        /// slices in [pinned](Engine::pin) memory may have written a part of its ciphertext, and
        /// its keys and its shared secret may have been replaced by placeholders.
        done: Vec<core::ops::Range<usize>>,
    },
    /// The batch was cancelled.
    #[cfg(feature = "gpu")]
    #[error("the batch was cancelled{}", if done.is_empty() { "" } else { "; part of it is done" })]
    Cancelled {
        /// The operations that were done before the cancellation, in ascending order. Their outputs
        /// are written. All other outputs are unchanged.
        done: Vec<core::ops::Range<usize>>,
    },
    /// A device engine would have no slot: the size of chunks, the number of slots or the number of
    /// devices is 0.
    #[cfg(feature = "gpu")]
    #[error("an engine needs at least one device, one slot and chunks of one operation")]
    NoSlots,
    /// One operation per slot exceeds the limit of memory.
    #[cfg(feature = "gpu")]
    #[error(
        "one operation per slot takes {needed} bytes of device memory in all, the limit is {limit}"
    )]
    Options {
        /// The bytes of device memory that all slots of one device need together, with chunks of
        /// one operation.
        needed: usize,
        /// The limit of the options in bytes.
        limit: usize,
    },
    /// A check has found a wrong result. No engine of this crate checks its results; programs that
    /// do so, with another engine or by the inverse operation, return this variant.
    #[error("the engine has computed wrongly: {0}")]
    Wrong(&'static str),
    /// The system did not start the worker threads.
    #[error("the worker threads could not be started: {0}")]
    Threads(std::string::String),
}

/// Runs batches of key generations, encapsulations and decapsulations of one parameter set.
///
/// Several threads may call an engine at the same time.
pub trait Engine<P: ParameterSet>: Send + Sync {
    /// Loaded encapsulation keys: decoded, in the memory of the engine.
    type EncapsulationKeys: fmt::Debug + Send + Sync;
    /// Loaded decapsulation keys: decoded, in the memory of the engine. Wiped when dropped.
    type DecapsulationKeys: fmt::Debug + Send + Sync;
    /// A vector in pinned memory; see [`pin`](Self::pin).
    type Pinned<T: Send + Sync>: DerefMut<Target = [T]> + Send + Sync;

    /// Pins the memory of a vector, so that the engine can transfer it without another copy.
    ///
    /// A GPU reads and writes keys and ciphertexts in pinned memory directly. Pinning takes some
    /// microseconds per page. Each page can be pinned only once: if two small vectors lie on the
    /// same page, pinning the second one can fail. The CPU engine returns the vector unchanged.
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot pin the vector. The vector is dropped.
    fn pin<T: Send + Sync>(&self, content: Vec<T>) -> Result<Self::Pinned<T>, EngineError>;

    /// Decodes keys into the memory of the engine, so that batches need not decode them again. A
    /// single key serves all operations of a batch. Several keys serve batches with as many
    /// operations as keys.
    ///
    /// # Errors
    /// [`EngineError`] if the engine has no memory for the keys, or if it fails.
    fn load_encapsulation_keys(
        &self,
        keys: &[EncapsulationKey<P>],
    ) -> Result<Self::EncapsulationKeys, EngineError>;

    /// Decodes keys into the memory of the engine, so that batches need not decode them again. A
    /// single key serves all operations of a batch. Several keys serve batches with as many
    /// operations as keys.
    ///
    /// # Errors
    /// [`EngineError`] if the engine has no memory for the keys, or if it fails.
    fn load_decapsulation_keys(
        &self,
        keys: &[DecapsulationKey<P>],
    ) -> Result<Self::DecapsulationKeys, EngineError>;

    /// Generates one key pair for each element of the output slices, which have the same length.
    ///
    /// # Errors
    /// [`EngineError`] if the lengths differ, a row does not fit 64 bits, or the engine fails. The
    /// variants of the error say which outputs are written.
    fn generate(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: &mut [EncapsulationKey<P>],
        decapsulation_keys: &mut [DecapsulationKey<P>],
    ) -> Result<(), EngineError>;

    /// Generates one decapsulation key for each element of the output slice. Each key
    /// [contains](DecapsulationKey::encapsulation_key) its encapsulation key.
    ///
    /// The keys equal the decapsulation keys that [`generate`](Self::generate) makes from the same
    /// seeds. This function writes and transfers fewer bytes.
    ///
    /// # Errors
    /// [`EngineError`] if the lengths differ, a row does not fit 64 bits, or the engine fails. The
    /// variants of the error say which outputs are written.
    fn generate_decapsulation_keys(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        decapsulation_keys: &mut [DecapsulationKey<P>],
    ) -> Result<(), EngineError>;

    /// Encapsulates once for each element of the output slices, which have the same length.
    ///
    /// # Errors
    /// [`EngineError`] if the lengths differ, a row does not fit 64 bits, or the engine fails. The
    /// variants of the error say which outputs are written.
    fn encapsulate(
        &self,
        keys: Keys<'_, EncapsulationKey<P>, Self::EncapsulationKeys>,
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [Ciphertext<P>],
        shared_secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError>;

    /// Decapsulates each ciphertext. The output slice has as many elements as `ciphertexts`.
    ///
    /// # Errors
    /// [`EngineError`] if the lengths differ or the engine fails. The variants of the error say
    /// which outputs are written.
    fn decapsulate(
        &self,
        keys: Keys<'_, DecapsulationKey<P>, Self::DecapsulationKeys>,
        ciphertexts: &[Ciphertext<P>],
        shared_secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError>;

    /// Removes the keys, seeds and secrets of batches that are done from memory that the engine
    /// keeps for its next batch. Keys that the engine has loaded stay. An engine that keeps no such
    /// memory, such as the one of the CPU, does nothing.
    ///
    /// # Errors
    /// [`EngineError`] if a device fails.
    fn wipe(&self) -> Result<(), EngineError> {
        Ok(())
    }
}

impl<const N: usize> Seeds<'_, N> {
    /// Checks that there are seeds for `expected` operations.
    ///
    /// # Errors
    /// - [`EngineError::Length`] if the number of seeds differs.
    /// - [`EngineError::RowOverflow`] if the row of an operation does not fit 64 bits.
    fn check(&self, expected: usize) -> Result<(), EngineError> {
        match self {
            Self::Each(seeds) => check_length("seeds", expected, seeds.len()),
            Self::Expand(Expand { first, .. }) => {
                match first.checked_add(expected.saturating_sub(1) as u64) {
                    Some(_) => Ok(()),
                    None => Err(EngineError::RowOverflow { first: *first, count: expected }),
                }
            }
        }
    }
}

/// Checks that the slice with the name `slice` has `expected` elements.
///
/// # Errors
/// [`EngineError::Length`] if it has another number of elements.
fn check_length(slice: &'static str, expected: usize, actual: usize) -> Result<(), EngineError> {
    if actual == expected { Ok(()) } else { Err(EngineError::Length { slice, expected, actual }) }
}
