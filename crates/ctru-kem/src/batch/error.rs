//! The reasons why a batch is not computed.

use std::string::String;
#[cfg(feature = "gpu")]
use std::vec::Vec;

#[cfg(feature = "gpu")]
use ctru_gpu_runtime::RuntimeError;
use thiserror::Error;

use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidRow};
#[cfg(feature = "gpu")]
use crate::parameters::Parameters;

/// The reason why a batch was not computed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The length of a slice differs from the length of the batch.
    #[error("{slice} has {actual} elements, the batch has {expected}")]
    Length {
        /// The name of the slice.
        slice: &'static str,
        /// The length of the batch: for key generation, that of the first output slice that there
        /// is; otherwise, that of the slice of shared secrets.
        expected: usize,
        /// The length of the slice.
        actual: usize,
    },
    /// The bytes of a slice are not a whole number of rows.
    #[error("{slice} have {actual} bytes, which are not rows of {row_bytes}")]
    Rows {
        /// The name of the slice.
        slice: &'static str,
        /// The number of bytes of a row.
        row_bytes: usize,
        /// The number of bytes of the slice.
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
    /// A row is not an encapsulation key. Operations of other rows may have been done. Their
    /// ciphertexts may be written; all shared secrets become
    /// [placeholders](crate::SharedSecret::is_placeholder).
    #[error("row {row} is not an encapsulation key: {error}")]
    EncapsulationKey {
        /// The first such row, from 0.
        row: usize,
        /// What is wrong with the row.
        error: InvalidEncapsulationKey,
    },
    /// A row is not a decapsulation key. Operations of other rows may have been done. All shared
    /// secrets become [placeholders](crate::SharedSecret::is_placeholder).
    #[error("row {row} is not a decapsulation key: {error}")]
    DecapsulationKey {
        /// The first such row, from 0.
        row: usize,
        /// What is wrong with the row.
        error: InvalidDecapsulationKey,
    },
    /// Another engine has loaded the keys, or they are keys of other parameters or of the other
    /// kind.
    #[error("the loaded keys are not keys of this engine and this operation")]
    ForeignKeys,
    /// There are no kernels for the parameters. The engine on the CPU has all of them.
    #[cfg(feature = "gpu")]
    #[error("the GPU has no kernels for {parameters}")]
    NoKernels {
        /// The parameters of the batch.
        parameters: Parameters,
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
        /// slices in [pinned](crate::engine::BatchEngine::pin) memory may have written a part of
        /// its ciphertext, and its keys and its shared secret may have been replaced by
        /// placeholders.
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
    Threads(String),
}

impl From<InvalidRow<InvalidEncapsulationKey>> for EngineError {
    fn from(InvalidRow { row, error }: InvalidRow<InvalidEncapsulationKey>) -> Self {
        Self::EncapsulationKey { row, error }
    }
}

impl From<InvalidRow<InvalidDecapsulationKey>> for EngineError {
    fn from(InvalidRow { row, error }: InvalidRow<InvalidDecapsulationKey>) -> Self {
        Self::DecapsulationKey { row, error }
    }
}

#[cfg(feature = "gpu")]
impl From<RuntimeError> for EngineError {
    /// Returns the error for a failure before the first operation of the batch.
    fn from(error: RuntimeError) -> Self {
        Self::Device { error, done: Vec::new() }
    }
}
