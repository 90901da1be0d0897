//! Plans the batches of one parameter set, and has the plans executed.

use core::ops::Range;
use std::string::ToString;
use std::thread;
use std::vec::Vec;

use ctru_gpu_runtime::batch::execute::{Executor, IsCancelled, Stopped};
use ctru_gpu_runtime::batch::plan::{
    Arrays, Check, Machine, Place, Plan, Request, full_chunk, plan,
};
use ctru_gpu_runtime::batch::slots::Slots;
use ctru_gpu_runtime::batch::travel::{Source, Target};
use ctru_gpu_runtime::batch::tuning::{Traffic, Tuning};
use ctru_gpu_runtime::{Device, Queue, RuntimeError};
use zeroize::Zeroizing;

use super::buffers::Decoded;
use super::check;
use super::footprint::{device_bytes, largest_chunk};
use super::job::{Job, JobSeeds, LoadedChunks, Outputs, bytes_of};
use super::merged::Merger;
use super::options::DeviceOptions;
use super::powers::SharedMaps;
use super::set::{Operation, Set};
use super::slot::Slot;
use crate::engine::{EngineError, LoadedKeys};

/// Runs batches of one parameter set on one or several devices. Keys and ciphertexts are rows of
/// bytes, one after the other.
pub(super) struct Batches<D: Device> {
    pub(super) set: &'static Set,
    /// There is at least one.
    pub(super) devices: Vec<D>,
    pub(super) machine: Machine,
    pub(super) executor: Executor<D::Queue, Slot<D::Queue>>,
    pub(super) merger: Merger<D::Queue>,
}

/// Returns the machine that runs batches of a parameter set on this number of devices.
///
/// # Errors
/// [`EngineError::Options`] if chunks of one operation exceed the limit of memory.
pub(super) fn machine(
    set: &Set,
    options: &DeviceOptions,
    tuning: &'static Tuning,
    devices: usize,
) -> Result<Machine, EngineError> {
    let DeviceOptions { chunk, slots, memory_limit, .. } = *options;
    let fitting = largest_chunk(set, tuning, memory_limit / slots);
    if fitting == 0 {
        let needed = device_bytes(set, tuning, 1).saturating_mul(slots);
        return Err(EngineError::Options { needed, limit: memory_limit });
    }
    let chunk = chunk.min(full_chunk(fitting));
    // Kernels for whole operations are those of small batches. Not every set has them.
    let whole = if set.shape(Operation::Encapsulation).has_whole { tuning.whole_chunk } else { 0 };
    let coalesced = tuning.coalesced_rows.min(chunk).min(whole);
    Ok(Machine { tuning, devices, slots, chunk, coalesced })
}

impl<D: Device> Batches<D> {
    /// Allocates all memory and starts the threads; see
    /// [`DeviceEngine::prepare`](super::DeviceEngine::prepare).
    pub(super) fn new(
        set: &'static Set,
        devices: Vec<D>,
        options: &DeviceOptions,
        tuning: &'static Tuning,
    ) -> Result<Self, EngineError> {
        let machine = machine(set, options, tuning, devices.len())?;
        let of_device = |device: &D| {
            let maps = SharedMaps::default();
            let slot = |_| Slot::new(device.queue()?, set, machine.chunk, tuning, maps.clone());
            (0..machine.slots).map(slot).collect::<Result<Vec<_>, RuntimeError>>().map(Slots::new)
        };
        let slots: Vec<Slots<_>> = devices.iter().map(of_device).collect::<Result<_, _>>()?;
        let queues: Vec<_> = devices.iter().map(Device::queue).collect::<Result<_, _>>()?;
        let merger = Merger::new(&queues, set, &machine)?;
        // The threads come last, so that none are started if a slot gets no memory.
        let executor = Executor::new(slots, queues)
            .map_err(|error| EngineError::Threads(error.to_string()))?;
        Ok(Self { set, devices, machine, executor, merger })
    }

    /// Makes the batches that are under way begin no further chunk.
    pub(super) fn cancel(&self) {
        self.executor.cancel();
        self.merger.lanes.wake();
    }

    /// Overwrites the memory of every slot and of small batches with zeros. Memory in use is wiped
    /// when its chunk is done. If some memory fails, the rest is wiped all the same.
    pub(super) fn wipe(&self) -> Result<(), EngineError> {
        let mut result = self.merger.wipe();
        self.executor.for_each_slot(|slot| {
            let wiped = slot.wipe();
            if wiped.is_err() {
                slot.queue.settle();
            }
            result = result.clone().and(wiped);
        });
        Ok(result?)
    }

    /// Plans a batch of `count` operations. `first` is the device of the first chunk.
    fn plan(
        &self,
        job: &Job<'_, D::Queue>,
        count: usize,
        outputs: &Outputs<'_, D::Queue>,
        first: usize,
    ) -> Plan<'static> {
        let place = |rows| match rows {
            Some(Source::Device(_)) => Place::Device,
            Some(Source::Host(bytes)) if self.executor.queue().is_registered(bytes) => {
                Place::Pinned
            }
            _ => Place::Pageable,
        };
        let keys = job.rows.or_else(|| source_of(&outputs.keys));
        let rows = source_of(&outputs.rows).or(job.ciphertexts).or(keys);
        let seeds = match job.seeds {
            JobSeeds::Each(Source::Device(_)) => Place::Device,
            _ => Place::Pageable,
        };
        let (keys, rows, results) = (place(keys), place(rows), place(source_of(&outputs.secrets)));
        let request = Request {
            shape: self.set.shape(job.operation),
            count,
            keys: job.keys,
            has_rows: job.loaded.is_some_and(|loaded| loaded.rows.is_some()),
            are_unchecked: job.are_unchecked,
            are_expanded: matches!(job.seeds, JobSeeds::Expand(_)),
            places: Arrays { seeds, keys, rows, results },
            first,
        };
        plan(request, &self.machine)
    }

    /// Does a batch of `count` operations. If a row is refused, other operations may have been
    /// done. If encapsulation keys have no place, only decapsulation keys are generated.
    pub(super) fn run(
        &self,
        mut job: Job<'_, D::Queue>,
        count: usize,
        outputs: Outputs<'_, D::Queue>,
    ) -> Result<(), EngineError> {
        let is_cancelled = &self.executor.cancellation();
        if job.operation == Operation::KeyPairs && outputs.keys.is_none() {
            job.operation = Operation::PrivateKeys;
        }
        let first = job.on.map_or_else(|| self.executor.next_batch(), |(device, _)| device);
        let plan = self.plan(&job, count, &outputs, first);
        let kind = job.operation.kind();
        match job.loaded {
            Some(loaded) if loaded.kind != kind => return Err(EngineError::ForeignKeys),
            Some(LoadedChunks { rows: Some(rows), .. }) if plan.takes_rows => {
                (job.rows, job.loaded) = (Some(Source::Host(rows)), None);
            }
            Some(loaded) => self.check_loaded(loaded, &plan)?,
            None => {}
        }
        match (plan.check, job.rows) {
            (Check::Before, Some(Source::Host(key))) => (self.set.check)(kind, key)?,
            (Check::Beside, Some(Source::Host(rows))) => {
                let check = || (self.set.check)(kind, rows);
                return checked(check, || self.execute(is_cancelled, &job, &plan, outputs));
            }
            _ => {}
        }
        self.execute(is_cancelled, &job, &plan, outputs)
    }

    /// Does what a plan says. Then returns which row is not a key, if the device has found one.
    fn execute<'env>(
        &self,
        is_cancelled: &IsCancelled<'_>,
        job: &Job<'env, D::Queue>,
        plan: &Plan<'static>,
        outputs: Outputs<'env, D::Queue>,
    ) -> Result<(), EngineError> {
        if plan.is_coalesced {
            return self.merger.run(self.set, &self.executor, is_cancelled, job, plan, outputs);
        }
        let parts = outputs.split(self.set, plan.shape(), plan.ranges());
        let done = self.executor.run(
            plan,
            is_cancelled,
            parts,
            |scope, slot, chunk, outputs| slot.issue(scope, job, chunk, outputs),
            |slot, issued| slot.finish(job, issued),
        );
        // A refused key counts more than the end of the batch: the caller may use the outputs that
        // the other error names.
        if let Some(fault) = job.faults.first() {
            return Err(check::error(job.operation.kind(), self.set.parameters.encoding, fault));
        }
        let is_loading = plan.shape().traffic == Traffic::Loading;
        done.map_err(|Stopped { failure, done }| match failure {
            // After a failure, memory of a device has unspecified content, and no key is loaded.
            Some(error) if job.on.is_some() || is_loading => error.into(),
            Some(error) => EngineError::Device { error, done },
            None if is_loading => EngineError::Cancelled { done: Vec::new() },
            None if job.on.is_some() => EngineError::Cancelled { done: joined(&done) },
            None => EngineError::Cancelled { done },
        })
    }

    /// Checks that loaded keys are those of the batch's chunks, and on their devices.
    fn check_loaded(
        &self,
        loaded: &LoadedChunks<D::Queue>,
        plan: &Plan<'_>,
    ) -> Result<(), EngineError> {
        if loaded.keys > 1 && loaded.chunk != plan.chunk {
            return Err(EngineError::Chunks { loaded: loaded.chunk, batch: plan.chunk });
        }
        // A single key is needed on every device: the next batch may begin with another one.
        let chunks = if loaded.keys == 1 { self.devices.len() } else { plan.len() };
        let is_owner = |number| {
            let device = plan.device(number);
            self.devices[device].owns(&loaded.of(number, device).h)
        };
        match (0..chunks).all(is_owner) {
            true => Ok(()),
            false => Err(RuntimeError::Foreign { what: "a loaded key", owner: "device" }.into()),
        }
    }

    /// Decodes keys. A single key of the host is decoded on every device. Several keys are cut into
    /// chunks like a batch, and each chunk is decoded on its device.
    pub(super) fn load(
        &self,
        operation: Operation,
        keys: Source<'_, <D::Queue as Queue>::Memory>,
        on: Option<(usize, &D::Queue)>,
    ) -> Result<LoadedKeys, EngineError> {
        let kind = operation.kind();
        let count = bytes_of(keys) / self.set.key_bytes(kind);
        let devices = if count == 1 && on.is_none() { self.devices.len() } else { 1 };
        let (mut chunks, mut chunk) = (Vec::new(), 0);
        let is_cancelled = self.executor.cancellation();
        let job = Job { rows: Some(keys), ..Job::new(operation, on) };
        for first in 0..devices {
            let first = on.map_or(first, |(device, _)| device);
            let plan = self.plan(&job, count, &Outputs::default(), first);
            let mut decoded: Vec<Option<Decoded<_>>> = (0..plan.len()).map(|_| None).collect();
            let outputs = Outputs { decoded: &mut decoded, ..Outputs::default() };
            self.execute(&is_cancelled, &job, &plan, outputs)?;
            chunks.extend(decoded.into_iter().flatten());
            chunk = plan.chunk;
        }
        let has_whole = self.set.shape(Operation::Encapsulation).has_whole;
        let are_kept = has_whole && count <= self.machine.tuning.loaded_rows;
        let rows = match keys {
            Source::Host(rows) if are_kept => Some(Zeroizing::new(rows.to_vec())),
            _ => None,
        };
        let loaded = LoadedChunks { kind, chunks, keys: count, chunk, rows };
        Ok(LoadedKeys::new(self.set.parameters, count, loaded))
    }
}

/// Runs `check` on a thread of its own while `compute` runs. Returns the error of `check` first.
fn checked(
    check: impl Fn() -> Result<(), EngineError> + Sync,
    compute: impl FnOnce() -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    thread::scope(|scope| {
        let Ok(checking) = thread::Builder::new().spawn_scoped(scope, &check) else {
            // The system starts no further thread, so this thread checks first.
            check()?;
            return compute();
        };
        let computed = compute();
        checking.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        computed
    })
}

/// Joins ranges of which one begins where the last one ends.
fn joined(ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let runs = ranges.chunk_by(|range, next| range.end == next.start);
    runs.map(|run| run[0].start..run[run.len() - 1].end).collect()
}

/// Returns the memory to which a batch writes as the same memory to read.
fn source_of<'a, M>(to: &'a Option<Target<'_, M>>) -> Option<Source<'a, M>> {
    match to.as_ref()? {
        Target::Host(bytes) => Some(Source::Host(bytes)),
        Target::Device(memory) => Some(Source::Device(*memory)),
    }
}
