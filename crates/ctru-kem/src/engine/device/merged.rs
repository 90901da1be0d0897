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
use ctru_gpu_runtime::batch::plan::{Kernels, Machine, Plan};
use ctru_gpu_runtime::batch::travel::Source;
use ctru_gpu_runtime::{Queue, RuntimeError, SharedMemory};
use zeroize::Zeroizing;

use super::buffers::{SEED, words};
use super::job::{Job, JobSeeds, Outputs};
use super::launches::Launches;
use super::rejection::{self, GROUP, select};
use super::scheme;
use super::set::{Kind, Set};
use super::slot::{Slot, host};
use crate::engine::{EngineError, Seeds};
use crate::hash::{self, SEED_BYTES};

/// The pinned memory of a group, with one row per operation.
#[derive(Debug)]
pub(super) struct Lane<Q: Queue> {
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
            keys: queue.shared(words(rows * set.sizes.decapsulation_key))?,
            ciphertexts: queue.shared(words(rows * set.sizes.ciphertext))?,
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
    /// The batches of a group have keys of the same kind, and either the host or the device rejects
    /// their ciphertexts.
    pub(super) lanes: Coalescer<(Kind, bool), Lane<Q>, RuntimeError>,
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
        let (kind, count) = (job.operation.kind(), plan.count());
        let host_rejects = kind == Kind::Decapsulation && count <= self.rejections;
        let sent = host(outputs.rows).unwrap_or_default();
        let secrets = host(outputs.secrets).unwrap_or_default();
        let call = Small { set, executor, job, host_rejects, sent, secrets };
        match self.lanes.run((kind, host_rejects), count, call, is_cancelled)? {
            Ok(()) => Ok(()),
            Err(GivenUp) => Err(EngineError::Cancelled { done: Vec::new() }),
        }
    }
}

/// Returns rows of the host.
fn of_host<M>(rows: Option<Source<'_, M>>) -> &[u8] {
    match rows {
        Some(Source::Host(rows)) => rows,
        _ => &[],
    }
}

/// A small batch of a caller.
struct Small<'a, Q: Queue> {
    set: &'static Set,
    executor: &'a Executor<Q, Slot<Q>>,
    job: &'a Job<'a, Q>,
    /// Whether the host computes the secrets of rejected ciphertexts, instead of the device.
    host_rejects: bool,
    sent: &'a mut [u8],
    secrets: &'a mut [u8],
}

impl<Q: Queue> Small<'_, Q> {
    /// Returns the bytes of a key.
    fn row(&self) -> usize {
        self.set.key_bytes(self.job.operation.kind())
    }

    /// Returns the key of operation `index`.
    fn key(&self, index: usize) -> &[u8] {
        let index = if self.job.keys.are_one() { 0 } else { index };
        &of_host(self.job.rows)[index * self.row()..][..self.row()]
    }

    /// Writes the seeds of operations from number `first` on: of `G` at a time.
    fn write_seeds<const G: usize>(&self, mut first: usize, words: &mut [u64]) {
        let seeds = match self.job.seeds {
            JobSeeds::Each(Source::Host(seeds)) => Seeds::Each(seeds.as_chunks().0),
            JobSeeds::Expand(expand) => Seeds::Expand(expand),
            _ => return,
        };
        for words in words.chunks_exact_mut(G * SEED) {
            // `ID(pk)` is the beginning of the key.
            let id = |i| self.key(first + i).first_chunk().expect("a key is longer than its ID");
            let mut group = Zeroizing::new([[0; SEED_BYTES]; G]);
            seeds.write_group(
                self.set.purpose(self.job.operation),
                first,
                array::from_fn(id),
                group.each_mut(),
            );
            bytes_to_words(group.as_flattened(), words);
            first += G;
        }
    }
}

impl<Q: Queue> Call<Lane<Q>, RuntimeError> for Small<'_, Q> {
    /// The secrets of rejected ciphertexts.
    type Made = Option<Zeroizing<Vec<u64>>>;

    fn stage(&self, lane: &Lane<Q>, rows: Range<usize>) -> Result<(), RuntimeError> {
        let row = self.row();
        lane.keys.with(rows.start * row..rows.end * row, |keys| {
            let rows = keys.chunks_exact_mut(row).enumerate();
            rows.for_each(|(i, to)| to.copy_from_slice(self.key(i)));
        })?;
        if self.job.operation.kind() == Kind::Encapsulation {
            return lane.seeds.with(rows.start * SEED..rows.end * SEED, |words| {
                let (groups, rest) = words.as_chunks_mut::<{ GROUP * SEED }>();
                let first = GROUP * groups.len();
                self.write_seeds::<GROUP>(0, groups.as_flattened_mut());
                self.write_seeds::<1>(first, rest);
            });
        }
        let row = self.set.sizes.ciphertext;
        let to = rows.start * row..rows.end * row;
        lane.ciphertexts.with(to, |to| to.copy_from_slice(of_host(self.job.ciphertexts)))
    }

    fn meanwhile(&self) -> Self::Made {
        let ciphertexts = of_host(self.job.ciphertexts);
        self.host_rejects.then(|| rejection::secrets(self.set, |i| self.key(i), ciphertexts))
    }

    fn work(
        &self,
        (number, lane): (usize, &mut Lane<Q>),
        rows: usize,
        issued: impl FnOnce() -> Self::Made,
    ) -> Result<Self::Made, RuntimeError> {
        let mut slot = self.executor.take(number);
        let Slot { queue, scratch, .. } = &mut *slot;
        let Lane { keys, ciphertexts, seeds, shared_secrets, rejected } = lane;
        let batch = Batch::each(rows as u32);
        let mut launches = Launches::new(self.set, Kernels::default(), scratch, batch);
        let (keys, seeds) = (keys.on_device(), (seeds.on_device(), None));
        let to = [ciphertexts.on_device(), shared_secrets.on_device()];
        match self.job.operation.kind() {
            Kind::Encapsulation => {
                scheme::encapsulate_whole(&mut launches, keys, seeds, to);
            }
            Kind::Decapsulation => {
                let rejected = self.host_rejects.then(|| rejected.on_device());
                scheme::decapsulate_whole(&mut launches, keys, rejected, to);
            }
        }
        queue.launch_all(&launches.list)?;
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
