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
use crate::engine::Expand;
use crate::expand::Purpose;
use crate::hash::SHARED_SECRET_BYTES;

/// The seeds of a batch.
pub(super) enum JobSeeds<'a, M> {
    None,
    Each(Source<'a, M>),
    /// A master seed, and the purpose for which seeds are expanded from it.
    Expand(Expand<'a>, Purpose),
}

/// The keys of a batch.
pub(super) enum JobKeys<'a, Q: Queue> {
    None,
    One(Source<'a, Q::Memory>),
    Each(Source<'a, Q::Memory>),
    Loaded(&'a LoadedChunks<Q>),
}

impl<Q: Queue> Copy for JobKeys<'_, Q> {}
impl<Q: Queue> Clone for JobKeys<'_, Q> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q: Queue> JobKeys<'_, Q> {
    /// Returns what the plan of a batch needs to know.
    pub(super) fn planned(&self) -> Keys {
        match self {
            Self::One(_) => Keys::One,
            Self::None | Self::Each(_) => Keys::Each,
            Self::Loaded(loaded) if loaded.keys == 1 => Keys::LoadedOne,
            Self::Loaded(_) => Keys::LoadedEach,
        }
    }

    /// Returns the rows, if there are any.
    pub(super) fn rows(&self) -> Option<Source<'_, Q::Memory>> {
        match *self {
            Self::One(rows) | Self::Each(rows) => Some(rows),
            Self::None | Self::Loaded(_) => None,
        }
    }
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

    /// Returns the keys as rows, if they are kept.
    pub(super) fn as_rows(&self) -> Option<JobKeys<'_, Q>> {
        let rows = Source::Host(self.rows.as_deref()?);
        Some(if self.keys == 1 { JobKeys::One(rows) } else { JobKeys::Each(rows) })
    }
}

/// A batch.
pub(super) struct Job<'a, Q: Queue> {
    pub(super) operation: Operation,
    pub(super) seeds: JobSeeds<'a, Q::Memory>,
    pub(super) keys: JobKeys<'a, Q>,
    pub(super) are_unchecked: bool,
    /// The ciphertexts of decapsulations.
    pub(super) ciphertexts: Option<Source<'a, Q::Memory>>,
    /// The device that has the rows, if they are on one, and the queue whose work comes first.
    pub(super) on: Option<(usize, &'a Q)>,
    pub(super) faults: Faults,
}

impl<'a, Q: Queue> Job<'a, Q> {
    /// Returns a batch without seeds and ciphertexts.
    pub(super) fn new(
        operation: Operation,
        keys: JobKeys<'a, Q>,
        on: Option<(usize, &'a Q)>,
    ) -> Self {
        Self {
            operation,
            seeds: JobSeeds::None,
            keys,
            are_unchecked: false,
            ciphertexts: None,
            on,
            faults: Faults::default(),
        }
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
