//! The pinned memory of a group of small batches, which several callers fill and empty.

use core::ops::Range;

use ctru_gpu_runtime::{Queue, RuntimeError, SharedMemory};
use zeroize::Zeroizing;

use super::buffers::{SEED, ciphertexts_len, keys_len};
use super::encoded::EncodedKeys;
use super::rejection::GROUP;
use super::set::Set;
use super::words::bytes_to_words;
use crate::engine::Seeds;
use crate::expand::Purpose;
use crate::hash::{Id, SEED_BYTES};

/// The operation that the device does for the batches of a group.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Encapsulate,
    Decapsulate,
    /// Decapsulation without implicit rejection, which the host does.
    DecapsulateWithoutRejection,
}

/// The pinned memory of a group, with one row per operation.
#[derive(Debug)]
pub(super) struct Staged<Q: Queue> {
    pub(super) keys: Q::Shared<u8>,
    pub(super) ciphertexts: Q::Shared<u8>,
    pub(super) seeds: Q::Shared<u64>,
    pub(super) shared_secrets: Q::Shared<u64>,
    /// One word for each operation: whether its ciphertext is rejected.
    pub(super) rejected: Q::Shared<u64>,
}

impl<Q: Queue> Staged<Q> {
    /// Allocates memory for groups of `rows` operations.
    pub(super) fn new(queue: &Q, set: &Set, rows: usize) -> Result<Self, RuntimeError> {
        Ok(Self {
            keys: queue.shared(keys_len(set, rows))?,
            ciphertexts: queue.shared(ciphertexts_len(set, rows))?,
            seeds: queue.shared(rows * SEED)?,
            shared_secrets: queue.shared(rows * SEED)?,
            rejected: queue.shared(rows)?,
        })
    }

    /// Overwrites all memory with zeros. If some memory fails, the rest is wiped all the same.
    /// Returns the first error.
    pub(super) fn wipe(&self) -> Result<(), RuntimeError> {
        let Self { keys, ciphertexts, seeds, shared_secrets, rejected } = self;
        let bytes = [keys, ciphertexts].map(SharedMemory::wipe);
        let words = [seeds, shared_secrets, rejected].map(SharedMemory::wipe);
        bytes.into_iter().chain(words).fold(Ok(()), Result::and)
    }

    /// Copies the keys of operations to their rows.
    pub(super) fn stage_keys(
        &self,
        keys: &EncodedKeys<'_>,
        rows: Range<usize>,
    ) -> Result<(), RuntimeError> {
        let EncodedKeys { bytes, row, is_one } = *keys;
        self.keys.with(rows.start * row..rows.end * row, |to| match is_one {
            true => to.chunks_exact_mut(row).for_each(|to| to.copy_from_slice(bytes)),
            false => to.copy_from_slice(bytes),
        })
    }

    /// Writes the seeds of the operations of a batch to their rows.
    pub(super) fn stage_seeds(
        &self,
        seeds: Seeds<'_, SEED_BYTES>,
        purpose: Purpose,
        keys: &EncodedKeys<'_>,
        rows: Range<usize>,
    ) -> Result<(), RuntimeError> {
        self.seeds.with(rows.start * SEED..rows.end * SEED, |words| {
            let mut first = 0;
            let (groups, rest) = words.as_chunks_mut::<{ GROUP * SEED }>();
            for words in groups {
                write_seeds::<GROUP>(seeds, purpose, keys, first, words);
                first += GROUP;
            }
            for words in rest.chunks_exact_mut(SEED) {
                write_seeds::<1>(seeds, purpose, keys, first, words);
                first += 1;
            }
        })
    }
}

/// Writes the seeds of operations `first..first + G` of a batch to `words`.
fn write_seeds<const G: usize>(
    seeds: Seeds<'_, SEED_BYTES>,
    purpose: Purpose,
    keys: &EncodedKeys<'_>,
    first: usize,
    words: &mut [u64],
) {
    let ids: [&Id; G] = core::array::from_fn(|i| {
        // `ID(pk)` is the beginning of the key.
        keys.key(first + i).first_chunk().expect("a key is longer than its ID")
    });
    let mut group = Zeroizing::new([[0; SEED_BYTES]; G]);
    seeds.write_group(purpose, first, ids, group.each_mut());
    for (seed, words) in group.iter().zip(words.chunks_exact_mut(SEED)) {
        bytes_to_words(seed, words);
    }
}
