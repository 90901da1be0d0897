//! A batch as the engine does it, whether its rows are on the host or on a device.

use core::mem;
use core::ops::Range;
use std::vec::Vec;

use ctru_gpu_runtime::Queue;
use ctru_gpu_runtime::batch::plan::{Keys, Place, Shape};
use ctru_gpu_runtime::batch::travel::{Source, Target};
use zeroize::Zeroizing;

use super::buffers::Decoded;
use super::check::Faults;
use super::set::{Kind, Operation, Set};
use crate::engine::{EngineError, Expand, LoadedKeys};
use crate::expand::Purpose;
use crate::hash::SHARED_SECRET_BYTES;

/// The seeds of a batch.
pub(super) enum JobSeeds<'a, M> {
    None,
    Each(Source<'a, M>),
    /// A master seed, and the purpose for which seeds are expanded from it.
    Expand(Expand<'a>, Purpose),
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
    pub(super) faults: Faults,
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
            faults: Faults::default(),
        }
    }

    /// Returns the batch with these rows of keys: one for all operations, or one for each.
    pub(super) fn with_rows(
        self,
        rows: Source<'a, Q::Memory>,
        is_one: bool,
        are_unchecked: bool,
    ) -> Self {
        let keys = if is_one { Keys::One } else { Keys::Each };
        Self { keys, rows: Some(rows), are_unchecked, ..self }
    }

    /// Returns the batch with loaded keys.
    ///
    /// # Errors
    /// [`EngineError::ForeignKeys`] if an engine of another type has loaded them.
    pub(super) fn with_loaded(self, keys: &'a LoadedKeys) -> Result<Self, EngineError>
    where
        Q: 'static,
    {
        let loaded: &LoadedChunks<Q> = keys.decoded()?;
        let keys = if loaded.keys == 1 { Keys::LoadedOne } else { Keys::LoadedEach };
        Ok(Self { keys, loaded: Some(loaded), ..self })
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
        let (keys, rows) = (set.sizes.encapsulation_key, shape.bytes.rows);
        ranges.map(move |range| Self {
            keys: self.keys.as_mut().map(|array| split_off(array, keys * range.len())),
            rows: self.rows.as_mut().map(|array| split_off(array, rows * range.len())),
            secrets: self
                .secrets
                .as_mut()
                .map(|array| split_off(array, SHARED_SECRET_BYTES * range.len())),
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

/// Returns where rows lie that an operation reads.
pub(super) fn place_of<Q: Queue>(queue: &Q, rows: Source<'_, Q::Memory>) -> Place {
    match rows {
        Source::Device(_) => Place::Device,
        Source::Host(bytes) if queue.is_registered(bytes) => Place::Pinned,
        Source::Host(_) => Place::Pageable,
    }
}

/// Returns where rows lie that an operation writes.
pub(super) fn place_to<Q: Queue>(queue: &Q, rows: &Target<'_, Q::Memory>) -> Place {
    match rows {
        Target::Device(memory) => place_of(queue, Source::Device(*memory)),
        Target::Host(bytes) => place_of(queue, Source::Host(bytes)),
    }
}
