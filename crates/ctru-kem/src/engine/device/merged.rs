//! Small batches with encoded keys. Those of several callers are merged into common launches: a
//! kernel for whole operations, which reads and writes the memory in which the callers meet.

use core::array;
use core::ops::Range;
use std::thread::available_parallelism;
use std::vec::Vec;

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_runtime::batch::coalesce::{Call, Coalescer, GivenUp, Limits};
use ctru_gpu_runtime::batch::copy::{bytes_to_words, words_to_bytes};
use ctru_gpu_runtime::batch::execute::{Executor, IsCancelled};
use ctru_gpu_runtime::batch::plan::{Kernels, Machine, Plan, Travel};
use ctru_gpu_runtime::batch::travel::{Rows, Source, Staging};
use ctru_gpu_runtime::{Queue, RuntimeError, SharedMemory};
use zeroize::Zeroizing;

use super::buffers::{SEED, Seeds, Steps, Texts, ciphertexts_len, keys_len};
use super::job::{Job, JobSeeds, Outputs};
use super::launches::Launches;
use super::rejection::{GROUP, select};
use super::scheme::{self, batch_of};
use super::set::{Kind, Set};
use super::slot::{Slot, host};
use crate::engine::EngineError;
use crate::hash::{self, Id, SEED_BYTES};

/// What the device does for the batches of a group.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Operation {
    Encapsulate,
    Decapsulate,
    /// Decapsulation without implicit rejection, which the host does.
    DecapsulateWithoutRejection,
}

/// The pinned memory of a group, with one row per operation.
#[derive(Debug)]
struct Lane<Q: Queue> {
    keys: Q::Shared<u8>,
    ciphertexts: Q::Shared<u8>,
    seeds: Q::Shared<u64>,
    shared_secrets: Q::Shared<u64>,
    /// One word for each operation: whether its ciphertext is rejected.
    rejected: Q::Shared<u64>,
}

impl<Q: Queue> Lane<Q> {
    /// Allocates memory for groups of `rows` operations.
    fn new(queue: &Q, set: &Set, rows: usize) -> Result<Self, RuntimeError> {
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
    fn wipe(&self) -> Result<(), RuntimeError> {
        let Self { keys, ciphertexts, seeds, shared_secrets, rejected } = self;
        let bytes = [keys, ciphertexts].map(SharedMemory::wipe);
        let words = [seeds, shared_secrets, rejected].map(SharedMemory::wipe);
        bytes.into_iter().chain(words).fold(Ok(()), Result::and)
    }
}

/// Merges small batches.
pub(super) struct Merger<Q: Queue> {
    lanes: Coalescer<Operation, Lane<Q>, RuntimeError>,
    /// The largest number of decapsulations of a batch for which the host computes the secrets of
    /// rejected ciphertexts.
    rejections: usize,
}

impl<Q: Queue> Merger<Q> {
    /// Allocates the memory of all groups. `queues` has a queue of each device.
    pub(super) fn new(queues: &[Q], set: &Set, machine: &Machine) -> Result<Self, RuntimeError> {
        let (rows, tuning) = (machine.coalesced, machine.tuning);
        let limits = Limits::new(rows, tuning.under_way, queues.len(), tuning.spin);
        let lane = |lane: usize| Lane::new(&queues[lane % queues.len()], set, rows);
        let lanes = (0..limits.lanes).map(lane).collect::<Result<_, _>>()?;
        let cpus = || available_parallelism().map_or(1, usize::from);
        let callers = tuning.callers.unwrap_or_else(cpus);
        Ok(Self {
            lanes: Coalescer::new(limits, lanes, callers, tuning.passes),
            rejections: tuning.hashes_on_host * hash::states(),
        })
    }

    /// Returns the number of operations for which the groups hold pinned memory.
    pub(super) fn rows(&self) -> usize {
        self.lanes.rows()
    }

    /// Returns the number of common launches so far.
    pub(super) fn launches(&self) -> u64 {
        self.lanes.groups()
    }

    /// Makes waiting callers ask again whether they give up.
    pub(super) fn wake(&self) {
        self.lanes.wake();
    }

    /// Overwrites all memory with zeros. The memory of a group in use is wiped when the group is
    /// done.
    pub(super) fn wipe(&self) -> Result<(), RuntimeError> {
        let mut result = Ok(());
        self.lanes.for_each_lane(|lane| result = result.clone().and(lane.wipe()));
        result
    }

    /// Does a small batch, together with those of other callers.
    pub(super) fn run(
        &self,
        set: &'static Set,
        executor: &Executor<Q, Slot<Q>>,
        is_cancelled: &IsCancelled<'_>,
        job: &Job<'_, Q>,
        plan: &Plan<'_>,
        outputs: Outputs<'_, Q>,
    ) -> Result<(), EngineError> {
        let count = plan.count();
        let operation = match job.operation.kind() {
            Kind::Encapsulation => Operation::Encapsulate,
            _ if count <= self.rejections => Operation::DecapsulateWithoutRejection,
            _ => Operation::Decapsulate,
        };
        let of_host = |rows| match rows {
            Some(Source::Host(rows)) => rows,
            _ => &[],
        };
        let call = Small {
            set,
            executor,
            operation,
            keys: of_host(job.rows),
            row: set.key_bytes(job.operation.kind()),
            is_one: job.keys.are_one(),
            travel: plan.chunks().next().map(|chunk| chunk.travels.keys).unwrap_or_default(),
            seeds: &job.seeds,
            ciphertexts: of_host(job.ciphertexts),
            sent: host(outputs.rows).unwrap_or_default(),
            secrets: host(outputs.secrets).unwrap_or_default(),
        };
        match self.lanes.run(operation, count, call, is_cancelled)? {
            Ok(()) => Ok(()),
            Err(GivenUp) => Err(EngineError::Cancelled { done: Vec::new() }),
        }
    }
}

/// A small batch of a caller.
struct Small<'a, Q: Queue> {
    set: &'static Set,
    executor: &'a Executor<Q, Slot<Q>>,
    operation: Operation,
    /// Encoded keys of `row` bytes: one for all operations, or one for each.
    keys: &'a [u8],
    row: usize,
    is_one: bool,
    /// How the key travels if nobody joins a batch with one key.
    travel: Travel,
    seeds: &'a JobSeeds<'a, Q::Memory>,
    ciphertexts: &'a [u8],
    sent: &'a mut [u8],
    secrets: &'a mut [u8],
}

impl<Q: Queue> Small<'_, Q> {
    /// Returns the key of operation `index`.
    fn key(&self, index: usize) -> &[u8] {
        let index = if self.is_one { 0 } else { index };
        &self.keys[index * self.row..(index + 1) * self.row]
    }

    /// Writes the seeds of operations from number `first` on: of `G` at a time.
    fn write_seeds<const G: usize>(&self, mut first: usize, words: &mut [u64]) {
        for words in words.chunks_exact_mut(G * SEED) {
            match *self.seeds {
                JobSeeds::Each(Source::Host(seeds)) => {
                    bytes_to_words(&seeds[first * SEED_BYTES..][..G * SEED_BYTES], words);
                }
                JobSeeds::Expand(expand, purpose) => {
                    let ids: [&Id; G] = array::from_fn(|i| {
                        // `ID(pk)` is the beginning of the key.
                        self.key(first + i).first_chunk().expect("a key is longer than its ID")
                    });
                    let mut group = Zeroizing::new([[0; SEED_BYTES]; G]);
                    expand.write_group(purpose, first, ids, group.each_mut());
                    bytes_to_words(group.as_flattened(), words);
                }
                _ => {}
            }
            first += G;
        }
    }
}

impl<Q: Queue> Call<Lane<Q>, RuntimeError> for Small<'_, Q> {
    /// The secrets of rejected ciphertexts.
    type Made = Option<Zeroizing<Vec<u64>>>;

    fn stage(&self, lane: &Lane<Q>, rows: Range<usize>) -> Result<(), RuntimeError> {
        if !self.is_one {
            let bytes = rows.start * self.row..rows.end * self.row;
            lane.keys.with(bytes, |to| to.copy_from_slice(self.keys))?;
        }
        if self.operation == Operation::Encapsulate {
            return lane.seeds.with(rows.start * SEED..rows.end * SEED, |words| {
                let (groups, rest) = words.as_chunks_mut::<{ GROUP * SEED }>();
                let first = GROUP * groups.len();
                self.write_seeds::<GROUP>(0, groups.as_flattened_mut());
                self.write_seeds::<1>(first, rest);
            });
        }
        let row = self.set.sizes.ciphertext;
        let to = rows.start * row..rows.end * row;
        lane.ciphertexts.with(to, |to| to.copy_from_slice(self.ciphertexts))
    }

    fn stage_common(&self, lane: &Lane<Q>, rows: Range<usize>) -> Result<(), RuntimeError> {
        let copy = |to: &mut [u8]| {
            to.chunks_exact_mut(self.row).for_each(|to| to.copy_from_slice(self.keys));
        };
        lane.keys.with(rows.start * self.row..rows.end * self.row, copy)
    }

    fn has_common(&self) -> bool {
        self.is_one
    }

    fn meanwhile(&self) -> Self::Made {
        (self.operation == Operation::DecapsulateWithoutRejection)
            .then(|| (self.set.rejection_secrets)(&|i| self.key(i), self.ciphertexts))
    }

    fn work(
        &self,
        (number, lane): (usize, &mut Lane<Q>),
        rows: usize,
        is_alone: bool,
        issued: impl FnOnce() -> Self::Made,
    ) -> Result<Self::Made, RuntimeError> {
        let mut slot = self.executor.take(number);
        let Slot { queue, keys, secrets, scratch, .. } = &mut *slot;
        let Lane { keys: rows_of_keys, ciphertexts, seeds, shared_secrets, rejected } = lane;
        let (key, batch) = if is_alone {
            let Staging { pinned, device } = keys;
            let copy = |to: &mut [u8]| to.copy_from_slice(self.keys);
            let (travel, len) = (self.travel, self.row);
            let key = Staging::<_, Q>::bring_words(pinned, device, queue, travel, len, copy)?;
            (key, batch_of(rows, 1))
        } else {
            (rows_of_keys.on_device(), Batch::each(rows as u32))
        };
        let seeds = Seeds { given: Rows::Slot(seeds.on_device()), expand_to: None };
        let mut launches = Launches::new(self.set, Kernels::default());
        let ciphertexts = ciphertexts.on_device();
        let to = Texts { ciphertexts, shared_secrets: shared_secrets.on_device() };
        let steps = Steps { launches: &mut launches, scratch, batch };
        match self.operation {
            Operation::Encapsulate => {
                scheme::encapsulate_whole(steps, key, &seeds, to);
            }
            operation => {
                let leaves_rejection = operation == Operation::DecapsulateWithoutRejection;
                let rejected = leaves_rejection.then(|| rejected.on_device());
                scheme::decapsulate_whole(steps, key, (&secrets.device, rejected), to);
            }
        }
        launches.issue(queue)?;
        let made = issued();
        queue.synchronise()?;
        slot.succeeded();
        Ok(made)
    }

    fn receive(
        self,
        lane: &Lane<Q>,
        rows: Range<usize>,
        made: Self::Made,
    ) -> Result<(), RuntimeError> {
        let Self { sent, secrets, .. } = self;
        let row = self.set.sizes.ciphertext;
        let sent_bytes = if sent.is_empty() { 0..0 } else { rows.start * row..rows.end * row };
        // Each of these calls can fail, so all come before the first write.
        lane.ciphertexts.with(sent_bytes, |from| {
            lane.shared_secrets.with(rows.start * SEED..rows.end * SEED, |words| {
                if let Some(made) = made {
                    let select = |rejected: &mut [u64]| select(words, rejected, &made);
                    lane.rejected.with(rows, select)?;
                }
                sent.copy_from_slice(from);
                words_to_bytes(words, secrets);
                Ok(())
            })?
        })?
    }
}
