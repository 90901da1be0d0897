//! Small batches with encoded keys. Those of several callers are merged into common launches.
//!
//! [`groups`](super::groups) says which batches form a group, and who waits for whom. Here are the
//! memory of a group, which its callers fill and empty at the same time, and its work. A group has
//! one launch: a kernel that does whole operations and that accesses pinned memory of the host.

use core::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::vec::Vec;

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_runtime::{Device, Queue, RuntimeError, SharedMemory};
use zeroize::{Zeroize, Zeroizing};

use super::batch::Batches;
use super::buffers::{Footprint, SEED, ciphertexts_len, keys_len};
use super::groups::{End, Entry, Groups, Leader, Limits};
use super::kem::Outcome;
use super::options::{Merging, Products};
use super::set::{Set, WHOLE_CHUNK};
use super::slot::{COPIED_BYTES, bytes_to_words};
use crate::engine::{EngineError, Seeds};
use crate::expand::Purpose;
use crate::hash::{Id, SEED_BYTES};
use crate::keys::SharedSecret;

/// What the batches of a group have in common.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Encapsulation,
    Decapsulation,
}

/// The encoded keys of a batch, of `row` bytes each: one for all operations, or one for each.
#[derive(Copy, Clone)]
pub(super) struct EncodedKeys<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) row: usize,
    pub(super) is_one: bool,
}

impl EncodedKeys<'_> {
    /// Returns the key of operation `index`.
    fn key(&self, index: usize) -> &[u8] {
        let index = if self.is_one { 0 } else { index };
        &self.bytes[index * self.row..(index + 1) * self.row]
    }
}

/// The pinned memory of a group, with one row per operation.
#[derive(Debug)]
pub(super) struct Staged<Q: Queue> {
    pub(super) keys: Q::Shared<u8>,
    pub(super) ciphertexts: Q::Shared<u8>,
    pub(super) seeds: Q::Shared<u64>,
    pub(super) shared_secrets: Q::Shared<u64>,
}

impl<Q: Queue> Staged<Q> {
    /// Allocates memory for groups of `rows` operations.
    fn new(queue: &Q, set: &Set, rows: usize) -> Result<Self, RuntimeError> {
        Ok(Self {
            keys: queue.shared(keys_len(set, rows))?,
            ciphertexts: queue.shared(ciphertexts_len(set, rows))?,
            seeds: queue.shared(rows * SEED)?,
            shared_secrets: queue.shared(rows * SEED)?,
        })
    }

    /// Overwrites all memory with zeros.
    fn wipe(&self) -> Outcome {
        let Self { keys, ciphertexts, seeds, shared_secrets } = self;
        for bytes in [keys, ciphertexts] {
            bytes.with(0..bytes.len(), Zeroize::zeroize)?;
        }
        for words in [seeds, shared_secrets] {
            words.with(0..words.len(), Zeroize::zeroize)?;
        }
        Ok(())
    }

    /// Copies the keys of operations to their rows.
    fn stage_keys(&self, keys: &EncodedKeys<'_>, rows: Range<usize>) -> Outcome {
        let EncodedKeys { bytes, row, is_one } = *keys;
        self.keys.with(rows.start * row..rows.end * row, |to| match is_one {
            true => to.chunks_exact_mut(row).for_each(|to| to.copy_from_slice(bytes)),
            false => to.copy_from_slice(bytes),
        })
    }

    /// Writes the seeds of the operations of a batch to their rows.
    fn stage_seeds(
        &self,
        seeds: Seeds<'_, SEED_BYTES>,
        purpose: Purpose,
        keys: &EncodedKeys<'_>,
        rows: Range<usize>,
    ) -> Outcome {
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

/// The number of seeds that are expanded together. The widest vectors hold eight Keccak states.
const GROUP: usize = 8;

/// Writes the seeds of operations `first..first + G` of a batch to `words`.
fn write_seeds<const G: usize>(
    seeds: Seeds<'_, SEED_BYTES>,
    purpose: Purpose,
    keys: &EncodedKeys<'_>,
    first: usize,
    words: &mut [u64],
) {
    let ids: [Id; G] = core::array::from_fn(|i| {
        // `ID(pk)` is the beginning of the key.
        *keys.key(first + i).first_chunk().expect("a key is longer than its ID")
    });
    let mut group = Zeroizing::new([[0; SEED_BYTES]; G]);
    seeds.write_group(purpose, first, ids.each_ref(), group.each_mut());
    for (seed, words) in group.iter().zip(words.chunks_exact_mut(SEED)) {
        bytes_to_words(seed, words);
    }
}

/// Merges small batches.
pub(super) struct Merger<Q: Queue> {
    groups: Groups<Operation, RuntimeError>,
    /// The memory of each group. Callers that fill or empty rows hold it for reading, and the
    /// leader of a group holds it for writing while the device works.
    lanes: Vec<RwLock<Staged<Q>>>,
    /// The largest number of operations of a group, or 0 if no batches are merged.
    rows: usize,
}

impl<Q: Queue> Merger<Q> {
    /// Allocates the memory of all groups. `queues` has a queue of each device, and chunks have at
    /// most `chunk` operations.
    pub(super) fn new(
        queues: &[Q],
        set: &Set,
        chunk: usize,
        products: Products,
        merging: Merging,
    ) -> Result<Self, RuntimeError> {
        let Merging { rows, issuing, under_way, spin } = merging;
        let rows = match products {
            Products::Polyphase => rows.min(chunk).min(WHOLE_CHUNK),
            // There are no kernels that do whole operations with other products.
            Products::Ntt | Products::SameKey => 0,
        };
        let (issuing, under_way) = (issuing.max(1), under_way.max(1));
        // While as many groups as possible are under way, as many others can be filled.
        let of_device = if rows == 0 { 0 } else { 2 * under_way };
        let devices = queues.len();
        let (lanes, issuing, under_way) =
            (of_device * devices, issuing * devices, under_way * devices);
        let staged = |lane: usize| Staged::new(&queues[lane % devices], set, rows);
        let staged = (0..lanes).map(|lane| staged(lane).map(RwLock::new));
        Ok(Self {
            groups: Groups::new(Limits { lanes, rows, issuing, under_way, spin }),
            lanes: staged.collect::<Result<_, _>>()?,
            rows,
        })
    }

    /// Returns the bytes of pinned memory that the groups hold.
    pub(super) fn pinned_bytes(&self, set: &Set) -> usize {
        self.lanes.len() * self.rows * Footprint::of(set).pinned_bytes
    }

    /// Returns whether a batch of `count` operations is merged with others. `row` is the largest
    /// number of bytes of an operation's key or ciphertext.
    ///
    /// The host copies batches that are merged. Larger batches are faster if the device reads them
    /// from pinned memory of the caller.
    pub(super) fn takes(&self, count: usize, row: usize) -> bool {
        (1..=self.rows).contains(&count) && count * row <= COPIED_BYTES
    }

    /// Makes waiting callers ask again whether they give up.
    pub(super) fn wake(&self) {
        self.groups.wake_all();
    }

    /// Overwrites all memory with zeros. The memory of a group in use is wiped when the group is
    /// done.
    pub(super) fn wipe(&self) -> Outcome {
        let mut result = Ok(());
        self.groups.for_each_lane(|lane| {
            result = result.clone().and(read(&self.lanes[lane]).wipe());
        });
        result
    }
}

/// Locks memory for reading, even if a thread panicked while it held the lock. Every batch writes
/// the rows that it reads later.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks memory for writing, as [`read`] does for reading.
fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl<D: Device> Batches<D> {
    /// Encapsulates a small batch, with others.
    pub(super) fn encapsulate_merged(
        &self,
        keys: EncodedKeys<'_>,
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [u8],
        secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError> {
        let Set { ciphertext_bytes: row, encapsulation: purpose, .. } = *self.set();
        self.merge(
            Operation::Encapsulation,
            &keys,
            secrets.len(),
            |staged, rows| staged.stage_seeds(seeds, purpose, &keys, rows),
            |staged, rows| {
                // Each of these calls can fail, so both come before the first write.
                let Range { start, end } = rows;
                staged.ciphertexts.with(start * row..end * row, |from| {
                    staged.shared_secrets.with(start * SEED..end * SEED, |words| {
                        ciphertexts.copy_from_slice(from);
                        SharedSecret::overwrite_all(secrets, words);
                    })
                })?
            },
        )
    }

    /// Decapsulates a small batch, with others.
    pub(super) fn decapsulate_merged(
        &self,
        keys: EncodedKeys<'_>,
        ciphertexts: &[u8],
        secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError> {
        let row = self.set().ciphertext_bytes;
        self.merge(
            Operation::Decapsulation,
            &keys,
            secrets.len(),
            |staged, Range { start, end }| {
                let to = start * row..end * row;
                staged.ciphertexts.with(to, |to| to.copy_from_slice(ciphertexts))
            },
            |staged, Range { start, end }| {
                staged.shared_secrets.with(start * SEED..end * SEED, |words| {
                    SharedSecret::overwrite_all(secrets, words);
                })
            },
        )
    }

    /// Does a batch of `count` operations together with others. `stage` copies all inputs except
    /// the keys to rows of a group, and `receive` copies the results from there.
    fn merge(
        &self,
        operation: Operation,
        keys: &EncodedKeys<'_>,
        count: usize,
        stage: impl Fn(&Staged<D::Queue>, Range<usize>) -> Outcome,
        receive: impl FnOnce(&Staged<D::Queue>, Range<usize>) -> Outcome,
    ) -> Result<(), EngineError> {
        let Merger { groups, lanes, .. } = self.merger();
        let before = self.cancellations();
        let gives_up = || self.cancellations() != before;
        let given_up = || EngineError::Cancelled { done: Vec::new() };
        loop {
            let mut entry = groups.enter(operation, count, gives_up).ok_or_else(given_up)?;
            let (lane, rows) = (entry.lane(), entry.rows());
            let is_leader = matches!(entry, Entry::Lead(_));
            // A leader with one key may remain alone, and then one row is enough.
            let staged_keys = if keys.is_one && is_leader { 0..1 } else { rows.clone() };
            let fill = |staged: &Staged<_>| {
                staged.stage_keys(keys, staged_keys)?;
                stage(staged, rows.clone())
            };
            fill(&read(&lanes[lane])).map_err(EngineError::device)?;
            match &mut entry {
                Entry::Lead(leader) => {
                    let whole = leader.close(gives_up).ok_or_else(given_up)?;
                    let result = self.lead(operation, keys, (count, whole), lane, leader);
                    leader.end(result.clone());
                    result.map_err(EngineError::device)?;
                }
                Entry::Join(joiner) => match joiner.wait(gives_up) {
                    End::Done => {}
                    End::Failed(error) => return Err(EngineError::device(error)),
                    End::Abandoned => continue,
                    End::GivenUp => return Err(given_up()),
                },
            }
            return receive(&read(&lanes[lane]), rows).map_err(EngineError::device);
        }
    }

    /// Does the work of a group of `whole` operations, of which the first `count` are the leader's.
    fn lead(
        &self,
        operation: Operation,
        keys: &EncodedKeys<'_>,
        (count, whole): (usize, usize),
        lane: usize,
        leader: &mut Leader<'_, Operation, RuntimeError>,
    ) -> Outcome {
        let staged = &self.merger().lanes[lane];
        let shares_key = keys.is_one && whole == count;
        if keys.is_one && !shares_key {
            read(staged).stage_keys(keys, 1..count)?;
        }
        let batch =
            if shares_key { Batch::shared(whole as u32) } else { Batch::each(whole as u32) };
        let mut slot = self.slots_of(lane % self.devices().len()).take();
        let mut staged = write(staged);
        slot.settled(|slot| {
            slot.device.issue_whole(operation, &mut staged, batch)?;
            leader.issued();
            slot.device.queue.synchronise()
        })
    }
}
