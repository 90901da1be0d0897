//! Small batches with encoded keys. Those of several callers are merged into common launches.
//!
//! [`groups`](super::groups) says which batches form a group, and who waits for whom. A group has
//! one launch: a kernel that does whole operations, and that reads and writes the
//! [memory](super::staged) in which the callers meet.

use core::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::available_parallelism;
use std::vec::Vec;

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_runtime::{Queue, RuntimeError, SharedMemory};

use super::buffers::SEED;
use super::encoded::EncodedKeys;
use super::gate::Gate;
use super::groups::call::{End, Entry, Leader};
use super::groups::{Groups, Limits};
use super::kem::Outcome;
use super::options::Merging;
use super::rejection::select;
use super::set::{Set, WHOLE_CHUNK};
use super::slot::Slot;
use super::slots::Slots;
use super::staged::{Staged, Work};
use crate::engine::{EngineError, Seeds};
use crate::hash::{self, SEED_BYTES};
use crate::keys::SharedSecret;

/// How many arriving callers may pass those that sleep before the gate until one of the sleeping
/// ones enters.
const PASSES: usize = 16;

/// The largest batch of decapsulations for which the host computes the hashes for the case of
/// rejection, in multiples of the number of Keccak states that it permutes together. On hosts with
/// an H200 and AVX-512, which permutes eight states, batches of up to 40 decapsulations with 761
/// take less time in this way.
const REJECTED_GROUPS: usize = 5;

/// The largest number of bytes of keys or of ciphertexts in a batch that is merged with others.
const MOST_BYTES: usize = 64 << 10;

/// The parts of the engine that a small batch needs.
pub(super) struct On<'a, Q: Queue, G> {
    pub(super) set: &'static Set,
    /// The slots of each device.
    pub(super) slots: &'a [Slots<Slot<Q>>],
    /// Returns whether the call gives up waiting for others.
    pub(super) gives_up: G,
}

/// Merges small batches.
pub(super) struct Merger<Q: Queue> {
    groups: Groups<Work, RuntimeError>,
    /// The memory of each group. Callers that fill or empty rows hold it for reading, and the
    /// leader of a group holds it for writing while the device works.
    lanes: Vec<RwLock<Staged<Q>>>,
    /// The largest number of operations of a group, or 0 if no batches are merged.
    rows: usize,
    /// The largest number of decapsulations of a batch for which the host computes the secrets of
    /// rejected ciphertexts.
    rejections: usize,
    /// Callers pass this gate before they meet.
    gate: Gate,
}

impl<Q: Queue> Merger<Q> {
    /// Allocates the memory of all groups. `queues` has a queue of each device, and chunks have at
    /// most `chunk` operations.
    pub(super) fn new(
        queues: &[Q],
        set: &Set,
        chunk: usize,
        as_large: bool,
        merging: Merging,
    ) -> Result<Self, RuntimeError> {
        let Merging { rows, under_way, spin, rejections, callers } = merging;
        // Kernels that do whole operations are those of small batches.
        let rows = if as_large { 0 } else { rows.min(chunk).min(WHOLE_CHUNK) };
        let under_way = under_way.max(1);
        // While as many groups as possible are under way, as many others can be filled.
        let of_device = if rows == 0 { 0 } else { 2 * under_way };
        let devices = queues.len();
        let (lanes, under_way) = (of_device * devices, under_way * devices);
        // Threads that issue launches to the same device at the same time disturb each other.
        let issuing = devices;
        let callers = callers.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
        let staged = |lane: usize| Staged::new(&queues[lane % devices], set, rows);
        let staged = (0..lanes).map(|lane| staged(lane).map(RwLock::new));
        Ok(Self {
            groups: Groups::new(Limits { lanes, rows, issuing, under_way, spin }),
            lanes: staged.collect::<Result<_, _>>()?,
            rows,
            rejections: rejections.unwrap_or_else(|| REJECTED_GROUPS * hash::states()),
            gate: Gate::new(callers, PASSES),
        })
    }

    /// Returns the number of operations for which the groups hold pinned memory.
    pub(super) fn staged_rows(&self) -> usize {
        self.lanes.len() * self.rows
    }

    /// Returns whether a batch of `count` operations is merged with others. `row` is the largest
    /// number of bytes of an operation's key or ciphertext.
    ///
    /// The host copies batches that are merged. Larger batches are faster if the device reads them
    /// from pinned memory of the caller: on an H200, both ways take the same time at about 64 KB.
    pub(super) fn takes(&self, count: usize, row: usize) -> bool {
        (1..=self.rows).contains(&count) && count * row <= MOST_BYTES
    }

    /// Returns the number of common launches so far.
    pub(super) fn launches(&self) -> u64 {
        self.groups.closed()
    }

    /// Makes waiting callers ask again whether they give up.
    pub(super) fn wake(&self) {
        self.gate.wake_all();
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

    /// Encapsulates a small batch, together with those of other callers.
    pub(super) fn encapsulate(
        &self,
        on: &On<'_, Q, impl Fn() -> bool>,
        keys: EncodedKeys<'_>,
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [u8],
        secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError> {
        let Set { ciphertext_bytes: row, encapsulation: purpose, .. } = *on.set;
        self.merge(
            on,
            Work::Encapsulate,
            &keys,
            secrets.len(),
            |staged, rows| staged.stage_seeds(seeds, purpose, &keys, rows),
            || (),
            |staged, rows, ()| {
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

    /// Decapsulates a small batch, together with those of other callers.
    pub(super) fn decapsulate(
        &self,
        on: &On<'_, Q, impl Fn() -> bool>,
        keys: EncodedKeys<'_>,
        ciphertexts: &[u8],
        secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError> {
        let row = on.set.ciphertext_bytes;
        let rejects = secrets.len() <= self.rejections;
        self.merge(
            on,
            if rejects { Work::DecapsulateWithoutRejection } else { Work::Decapsulate },
            &keys,
            secrets.len(),
            |staged, Range { start, end }| {
                let to = start * row..end * row;
                staged.ciphertexts.with(to, |to| to.copy_from_slice(ciphertexts))
            },
            || rejects.then(|| (on.set.rejection_secrets)(&keys, ciphertexts)),
            |staged, Range { start, end }, rejections| {
                staged.shared_secrets.with(start * SEED..end * SEED, |words| {
                    if let Some(rejections) = rejections {
                        let select = |rejected: &mut [u64]| select(words, rejected, &rejections);
                        staged.rejected.with(start..end, select)?;
                    }
                    SharedSecret::overwrite_all(secrets, words);
                    Ok(())
                })?
            },
        )
    }

    /// Does a batch of `count` operations together with others. `stage` copies all inputs except
    /// the keys to rows of a group. The leader calls `meanwhile` after its launch, and the others
    /// call it when they have filled their rows. Each calls it once, unless the group is abandoned.
    /// `receive` copies the results from the rows, with what `meanwhile` has returned.
    #[expect(clippy::too_many_arguments, reason = "a batch, and what differs between operations")]
    fn merge<W>(
        &self,
        on: &On<'_, Q, impl Fn() -> bool>,
        work: Work,
        keys: &EncodedKeys<'_>,
        count: usize,
        stage: impl Fn(&Staged<Q>, Range<usize>) -> Outcome,
        meanwhile: impl Fn() -> W,
        receive: impl FnOnce(&Staged<Q>, Range<usize>, W) -> Outcome,
    ) -> Result<(), EngineError> {
        let Self { groups, lanes, gate, .. } = self;
        let gives_up = || (on.gives_up)();
        let given_up = || EngineError::Cancelled { done: Vec::new() };
        let _inside = gate.enter(gives_up).ok_or_else(given_up)?;
        loop {
            let mut entry = groups.enter(work, count, gives_up).ok_or_else(given_up)?;
            let (lane, rows) = (entry.lane(), entry.rows());
            // A leader with one key may remain alone, and then the key needs no rows.
            let has_rows = !keys.is_one || matches!(entry, Entry::Join(_));
            let fill = |staged: &Staged<_>| {
                if has_rows {
                    staged.stage_keys(keys, rows.clone())?;
                }
                stage(staged, rows.clone())
            };
            fill(&read(&lanes[lane])).map_err(EngineError::from)?;
            let made = match &mut entry {
                Entry::Lead(leader) => {
                    // While the group waits for its turn, others join it.
                    let waits = !leader.ask();
                    if waits && !has_rows {
                        let staged = read(&lanes[lane]).stage_keys(keys, rows.clone());
                        staged.map_err(EngineError::from)?;
                    }
                    let batch_len = leader.close(gives_up).ok_or_else(given_up)?;
                    let group = (lane, batch_len, waits || has_rows);
                    let made = self.lead(on.slots, work, keys, count, group, leader, &meanwhile);
                    leader.end(made.as_ref().map(|_| ()).map_err(Clone::clone));
                    made.map_err(EngineError::from)?
                }
                Entry::Join(joiner) => {
                    joiner.filled();
                    let made = meanwhile();
                    match joiner.wait(gives_up) {
                        End::Done => made,
                        End::Failed(error) => return Err(EngineError::from(error)),
                        End::Abandoned => continue,
                        End::GivenUp => return Err(given_up()),
                    }
                }
            };
            return receive(&read(&lanes[lane]), rows, made).map_err(EngineError::from);
        }
    }

    /// Does the work of a group: `batch_len` operations, the first `count` of which are the
    /// leader's. `are_staged` says whether the leader's keys are in their rows. Calls `meanwhile`
    /// when the work has been issued, and returns its result when the work is done.
    #[expect(clippy::too_many_arguments, reason = "a batch, its group, and where it is done")]
    fn lead<W>(
        &self,
        slots: &[Slots<Slot<Q>>],
        work: Work,
        keys: &EncodedKeys<'_>,
        count: usize,
        (lane, batch_len, are_staged): (usize, usize, bool),
        leader: &mut Leader<'_, Work, RuntimeError>,
        meanwhile: impl FnOnce() -> W,
    ) -> Result<W, RuntimeError> {
        let staged = &self.lanes[lane];
        let shares_key = keys.is_one && batch_len == count;
        if !shares_key && !are_staged {
            read(staged).stage_keys(keys, 0..count)?;
        }
        let mut slot = slots[lane % slots.len()].take();
        let mut staged = write(staged);
        slot.settled(|slot| {
            let Slot { device, pinned } = slot;
            let run = |key, batch| {
                device.issue_whole(work, &mut staged, key, batch)?;
                leader.issued();
                let made = meanwhile();
                device.queue.synchronise().map(|()| made)
            };
            if !shares_key {
                return run(None, Batch::each(batch_len as u32));
            }
            let places = (&mut pinned.keys, &device.buffers.keys);
            let key = device.bring_key(keys.bytes, places, batch_len)?;
            run(Some(key), Batch::shared(batch_len as u32))
        })
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
