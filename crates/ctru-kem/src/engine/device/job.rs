//! A batch as the engine does it, whether its rows are on the host or on a device.

use core::mem;
use core::ops::Range;
use std::vec::Vec;

use ctru_gpu_runtime::batch::plan::{Keys, Shape};
use ctru_gpu_runtime::batch::travel::{Source, Target};
use ctru_gpu_runtime::{DeviceMemory, Queue};
use zeroize::Zeroizing;

use super::buffers::Decoded;
use super::set::{Kind, Operation, Set};
use crate::engine::{EngineError, Expand, KeySource};
use crate::first_refused::FirstRefused;
use crate::hash::SHARED_SECRET_BYTES;

/// The seeds of a batch.
pub(super) enum JobSeeds<'a, M> {
    None,
    Each(Source<'a, M>),
    /// A master seed.
    Expand(Expand<'a>),
}

/// Decoded keys on the devices, cut into the chunks of the batches that use them.
pub(super) struct LoadedChunks<Q: Queue> {
    pub(super) kind: Kind,
    /// If there is a single key, one copy per device; otherwise, the keys of each chunk.
    pub(super) chunks: Vec<Decoded<Q>>,
    /// The number of keys.
    pub(super) keys: usize,
    /// The number of keys of each chunk except the last one.
    pub(super) chunk: usize,
    /// The rows, if they are few and came from the host: kernels for whole operations decode them.
    pub(super) rows: Option<Zeroizing<Vec<u8>>>,
}

impl<Q: Queue> LoadedChunks<Q> {
    /// Returns the keys of chunk `number` of a batch, which device `device` takes.
    pub(super) fn of(&self, number: usize, device: usize) -> &Decoded<Q> {
        let single = device % self.chunks.len();
        &self.chunks[if self.keys == 1 { single } else { number }]
    }
}

/// A batch.
pub(super) struct Job<'a, Q: Queue> {
    pub(super) operation: Operation,
    pub(super) seeds: JobSeeds<'a, Q::Memory>,
    pub(super) keys: Keys,
    /// The rows of the keys, if they are not loaded.
    pub(super) rows: Option<Source<'a, Q::Memory>>,
    pub(super) loaded: Option<&'a LoadedChunks<Q>>,
    pub(super) are_unchecked: bool,
    /// The ciphertexts of decapsulations.
    pub(super) ciphertexts: Option<Source<'a, Q::Memory>>,
    /// The device that has the rows, if they are on one, and the queue whose work comes first.
    pub(super) on: Option<(usize, &'a Q)>,
    /// The first row that the device has found not to be a key, and the word that says why.
    pub(super) faults: FirstRefused<u64>,
}

impl<'a, Q: Queue> Job<'a, Q> {
    /// Returns a batch without seeds, keys and ciphertexts.
    pub(super) fn new(operation: Operation, on: Option<(usize, &'a Q)>) -> Self {
        Self {
            operation,
            seeds: JobSeeds::None,
            keys: Keys::Each,
            rows: None,
            loaded: None,
            are_unchecked: false,
            ciphertexts: None,
            on,
            faults: FirstRefused::new(),
        }
    }

    /// Returns a batch with these keys, without seeds and ciphertexts. `source` says where rows
    /// are, and a row has `row` bytes.
    ///
    /// # Errors
    /// [`EngineError::ForeignKeys`] if an engine of another type has loaded them.
    pub(super) fn with_keys<R: ?Sized>(
        operation: Operation,
        on: Option<(usize, &'a Q)>,
        (keys, source): (KeySource<'a, R>, impl FnOnce(&'a R) -> Source<'a, Q::Memory>),
        row: usize,
    ) -> Result<Self, EngineError>
    where
        Q: 'static,
    {
        let mut job = Self::new(operation, on);
        job.are_unchecked = matches!(keys, KeySource::Unchecked(_));
        job.rows = keys.rows().map(source);
        job.keys = match keys {
            KeySource::Loaded(keys) => {
                job.loaded = Some(keys.decoded()?);
                if keys.count() == 1 { Keys::LoadedOne } else { Keys::LoadedEach }
            }
            _ if job.rows.map(bytes_of) == Some(row) => Keys::One,
            _ => Keys::Each,
        };
        Ok(job)
    }
}

/// Returns the bytes of rows.
pub(super) fn bytes_of<M: DeviceMemory>(rows: Source<'_, M>) -> usize {
    match rows {
        Source::Host(bytes) => bytes.len(),
        Source::Device(memory) => memory.bytes(),
    }
}

/// The memory to which a batch writes, or a chunk of it.
pub(super) struct Outputs<'a, Q: Queue> {
    /// Encapsulation keys.
    pub(super) keys: Option<Target<'a, Q::Memory>>,
    /// Decapsulation keys or ciphertexts.
    pub(super) rows: Option<Target<'a, Q::Memory>>,
    pub(super) secrets: Option<Target<'a, Q::Memory>>,
    /// A place for the decoded keys of each chunk.
    pub(super) decoded: &'a mut [Option<Decoded<Q>>],
}

impl<Q: Queue> Default for Outputs<'_, Q> {
    fn default() -> Self {
        Self { keys: None, rows: None, secrets: None, decoded: &mut [] }
    }
}

impl<'a, Q: Queue> Outputs<'a, Q> {
    /// Cuts the outputs into those of chunks, given by their operations.
    pub(super) fn split(
        mut self,
        set: &Set,
        shape: &Shape,
        ranges: impl Iterator<Item = Range<usize>>,
    ) -> impl Iterator<Item = Self> {
        let (key, row) = (set.sizes.encapsulation_key, shape.bytes.rows);
        let split = |array: &mut Option<Target<'a, _>>, len| {
            array.as_mut().map(|array| split_off(array, len))
        };
        ranges.map(move |range| Self {
            keys: split(&mut self.keys, key * range.len()),
            rows: split(&mut self.rows, row * range.len()),
            secrets: split(&mut self.secrets, SHARED_SECRET_BYTES * range.len()),
            decoded: self.decoded.split_off_mut(..self.decoded.len().min(1)).unwrap_or_default(),
        })
    }
}

/// Splits the first `len` bytes off memory of the host. All chunks share memory of a device.
fn split_off<'a, M>(array: &mut Target<'a, M>, len: usize) -> Target<'a, M> {
    match array {
        Target::Device(memory) => Target::Device(memory),
        Target::Host(bytes) => {
            let (part, rest) = mem::take(bytes).split_at_mut(len);
            *bytes = rest;
            Target::Host(part)
        }
    }
}
