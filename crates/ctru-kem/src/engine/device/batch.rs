//! Cuts batches into chunks and runs each chunk in a slot.
//!
//! The chunks of a batch go to the devices in turn. They have equal size, except for the last one.
//!
//! If the host copies no rows of a batch of encapsulations or decapsulations, one thread per device
//! issues the chunks. It issues a chunk for each free slot before it waits for the first one. The
//! host copies no rows if the ciphertexts lie in pinned memory, and so do the keys, unless there is
//! a single key or the keys are loaded. Any other batch, and key generation, uses one thread per
//! slot, or one per chunk if there are fewer chunks. Such a thread takes one chunk after the other:
//! it waits for a free slot, issues copies and kernels, and waits for the results. The caller's
//! thread is always one of these threads.

use core::ops::Range;
use std::format;
use std::string::ToString;
use std::vec::Vec;

use ctru_gpu_runtime::{Device, Queue, RuntimeError};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::batch_keys::{BatchKeys, LoadedChunks};
use super::buffers::{DecapsulationKeyBuffers, Decoded, EncapsulationKeyBuffers, Footprint};
use super::check::{ChunkCheck, Faults};
use super::cut::{TransferPattern, full_chunk};
use super::deal::{Chunk, Deal, Plan};
use super::encoded::EncodedKeys;
use super::inversion::RootInversion;
use super::merged::{Merger, On};
use super::options::DeviceOptions;
use super::powers::SharedMaps;
use super::set::{Set, WHOLE_BATCH};
use super::slot::Slot;
use super::slots::Slots;
use super::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::engine::{EngineError, KEY_PAIR_SEED_BYTES, Seeds};
use crate::hash::SEED_BYTES;
use crate::keys::SharedSecret;

/// The scope of copies of the caller's memory.
type Scope<'env, D> = <<D as Device>::Queue as Queue>::Scope<'env>;

/// Runs batches of one parameter set on one or several devices. Keys and ciphertexts are rows of
/// bytes, one after the other.
pub(super) struct Batches<D: Device> {
    set: &'static Set,
    devices: Vec<D>,
    /// The largest number of operations of a chunk.
    chunk: usize,
    as_large: bool,
    /// The slots of each device.
    slots: Vec<Slots<Slot<D::Queue>>>,
    /// Joins small batches of several callers.
    merger: Merger<D::Queue>,
    /// One thread for each slot.
    threads: ThreadPool,
    /// A queue of each device, for work outside the slots, such as loading keys.
    queues: Vec<D::Queue>,
    /// The number of batches so far. Successive batches begin with different devices.
    batches: AtomicUsize,
    /// The number of calls of [`cancel`](Self::cancel).
    cancellations: AtomicU64,
}

/// An operation on ciphertexts.
#[derive(Copy, Clone)]
enum Operation {
    Encapsulation,
    Decapsulation,
}

impl<D: Device> Batches<D> {
    /// Allocates all memory and starts the threads; see
    /// [`DeviceEngine::over`](super::DeviceEngine).
    pub(super) fn new(
        set: &'static Set,
        devices: Vec<D>,
        options: DeviceOptions,
    ) -> Result<Self, EngineError> {
        let DeviceOptions { chunk, slots, memory_limit, itoh_tsujii_max_chunk, merging, as_large } =
            options;
        let footprint = Footprint::of(set);
        let fitting = footprint.largest_chunk(memory_limit / slots);
        if fitting == 0 {
            let needed = footprint.device_bytes(1).saturating_mul(slots);
            return Err(EngineError::Options { needed, limit: memory_limit });
        }
        let chunk = chunk.min(full_chunk(fitting)).min(set.most_operations());
        let has_several = devices.len() > 1;
        let of_device = |device: &D| -> Result<_, RuntimeError> {
            let powers_max_chunk = itoh_tsujii_max_chunk.unwrap_or(set.itoh_tsujii_max_chunk);
            let roots = RootInversion { powers_max_chunk, maps: SharedMaps::new() };
            let slot =
                |_| Slot::new(device.queue()?, set, chunk, as_large, roots.clone(), has_several);
            Ok(Slots::new((0..slots).map(slot).collect::<Result<Vec<_>, _>>()?))
        };
        let slots: Vec<Slots<_>> =
            devices.iter().map(of_device).collect::<Result<_, _>>().map_err(EngineError::from)?;
        let queues: Result<Vec<_>, RuntimeError> =
            devices.iter().map(|device| device.queue()).collect();
        let queues = queues.map_err(EngineError::from)?;
        let merger = Merger::new(&queues, set, chunk, as_large, merging);
        let merger = merger.map_err(EngineError::from)?;
        // The threads come last, so that none are started if a slot gets no memory.
        let threads = ThreadPoolBuilder::new()
            .num_threads(slots.iter().map(Slots::len).sum())
            .thread_name(|i| format!("ctru-slot-{i}"))
            .build()
            .map_err(|error| EngineError::Threads(error.to_string()))?;
        let (batches, cancellations) = (AtomicUsize::new(0), AtomicU64::new(0));
        Ok(Self {
            set,
            devices,
            chunk,
            as_large,
            slots,
            merger,
            threads,
            queues,
            batches,
            cancellations,
        })
    }

    pub(super) fn set(&self) -> &'static Set {
        self.set
    }

    /// Returns what a slot takes per operation.
    pub(super) fn footprint(&self) -> Footprint {
        Footprint::of(self.set)
    }

    pub(super) fn merger(&self) -> &Merger<D::Queue> {
        &self.merger
    }

    /// Returns the devices. There is at least one.
    pub(super) fn devices(&self) -> &[D] {
        &self.devices
    }

    /// Returns the largest number of operations of a chunk.
    pub(super) fn chunk(&self) -> usize {
        self.chunk
    }

    /// Returns the number of slots of all devices together.
    pub(super) fn slots(&self) -> usize {
        self.slots.iter().map(Slots::len).sum()
    }

    /// Makes the batches that are under way begin no further chunk.
    pub(super) fn cancel(&self) {
        self.cancellations.fetch_add(1, Ordering::AcqRel);
        self.merger.wake();
    }

    /// Returns the number of calls of [`cancel`](Self::cancel).
    pub(super) fn cancellations(&self) -> u64 {
        self.cancellations.load(Ordering::Acquire)
    }

    /// Overwrites the memory of every slot and of small batches with zeros. Memory in use is wiped
    /// when its chunk is done. If some memory fails, the rest is wiped all the same.
    pub(super) fn wipe(&self) -> Result<(), EngineError> {
        let mut result = self.merger.wipe();
        for slots in &self.slots {
            slots.for_each(|slot| result = result.clone().and(slot.settled(Slot::wipe)));
        }
        result.map_err(EngineError::from)
    }

    /// Returns whether a batch of `count` operations with a key for each is so small that the host
    /// checks the keys: one kernel does each operation, and none of its launches is for keys alone.
    pub(super) fn checks_on_host(&self, count: usize) -> bool {
        !self.as_large && count <= WHOLE_BATCH
    }

    /// Returns the slots of a device.
    pub(super) fn slots_of(&self, device: usize) -> &Slots<Slot<D::Queue>> {
        &self.slots[device]
    }

    /// Returns the plan of a batch of `count` operations whose keys are loaded in chunks, or whose
    /// data is on the device. All its chunks have the same size, except for the last one.
    pub(super) fn loaded_plan(&self, count: usize) -> Plan {
        self.plan(count, TransferPattern::LoadedKeys)
    }

    /// Returns the plan of a batch of `count` operations.
    ///
    /// If its keys are loaded in chunks, the first chunk goes to the first device, so that each
    /// chunk goes to the device that has its keys.
    fn plan(&self, count: usize, pattern: TransferPattern) -> Plan {
        let first = match pattern {
            TransferPattern::LoadedKeys => 0,
            _ => self.batches.fetch_add(1, Ordering::Relaxed),
        };
        let chunk = pattern.chunk(count, self.slots(), self.chunk);
        Plan { count, chunk, first, together: 1 }
    }

    /// Returns how many bytes these slices of the caller have per operation, and whether all of
    /// them are pinned.
    fn moved<const N: usize>(&self, count: usize, slices: [&[u8]; N]) -> (usize, bool) {
        let bytes: usize = slices.iter().map(|slice| slice.len()).sum();
        let are_pinned = slices.into_iter().all(|slice| self.is_pinned(slice));
        (bytes.div_ceil(count.max(1)).max(1), are_pinned)
    }

    /// Returns whether all of a slice of the caller is in pinned memory.
    fn is_pinned(&self, slice: &[u8]) -> bool {
        slice.is_empty() || self.queues[0].is_registered(slice)
    }

    /// Calls `issue` for each chunk, with a slot of the chunk's device and with one element of
    /// `parts`: the parts of the caller's slices that belong to the chunk. Then calls `finish` with
    /// what it returned. After a failure or a cancellation, no thread takes another chunk.
    ///
    /// # Errors
    /// [`EngineError::Device`] or [`EngineError::Cancelled`], with the operations that were done.
    fn run<'env, C: Send, I>(
        &self,
        plan: Plan,
        parts: impl Iterator<Item = C>,
        issue: impl Fn(&Scope<'env, D>, &mut Slot<D::Queue>, &Chunk, C) -> Result<I, RuntimeError>
        + Sync,
        finish: impl Fn(&mut Slot<D::Queue>, I) -> Result<(), RuntimeError> + Sync,
    ) -> Result<(), EngineError> {
        let deal = Deal::new(&self.slots, &self.cancellations, plan, parts);
        // The first thread is the caller's.
        if let Some((&own, others)) = deal.servers().split_first() {
            let serve = |device: usize| {
                let done = self.queues[device].scope(|scope| {
                    let issue = |slot: &mut Slot<D::Queue>, chunk: &Chunk, part| {
                        slot.settled(|slot| issue(scope, slot, chunk, part))
                    };
                    let finish = |slot: &mut Slot<D::Queue>, issued| {
                        slot.settled(|slot| finish(slot, issued))
                    };
                    deal.serve(device, &issue, &finish);
                    Ok(())
                });
                if let Err(error) = done {
                    deal.note(Err(error));
                }
            };
            self.threads.in_place_scope(|scope| {
                for &device in others {
                    scope.spawn(move |_| serve(device));
                }
                serve(own);
            });
        }
        let (done, failure) = deal.end();
        match failure {
            Some(error) => Err(EngineError::Device { error, done }),
            None if done.iter().map(Range::len).sum::<usize>() < plan.count => {
                Err(EngineError::Cancelled { done })
            }
            None => Ok(()),
        }
    }

    /// Generates key pairs. `encapsulation_keys` has one key for each decapsulation key, or it is
    /// empty.
    pub(super) fn generate(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: &mut [u8],
        decapsulation_keys: &mut [u8],
    ) -> Result<(), EngineError> {
        let Set { encapsulation_key_bytes, decapsulation_key_bytes, .. } = *self.set;
        let count = decapsulation_keys.len() / decapsulation_key_bytes;
        let pattern = match self.moved(count, [encapsulation_keys, decapsulation_keys]) {
            (bytes, true) if encapsulation_keys.is_empty() => TransferPattern::PrivateKeys(bytes),
            (bytes, true) => TransferPattern::KeyPairs(bytes),
            (bytes, false) => TransferPattern::CopiedKeyPairs(bytes),
        };
        let plan = self.plan(count, pattern);
        let parts = parts(plan, encapsulation_keys, encapsulation_key_bytes).zip(parts(
            plan,
            decapsulation_keys,
            decapsulation_key_bytes,
        ));
        let generate = |_: &_, slot: &mut Slot<_>, chunk: &Chunk, (public, private): (_, _)| {
            slot.generate(seeds, &chunk.operations, chunk.batch, public, private)
        };
        self.run(plan, parts, generate, |_, ()| Ok(()))
    }

    /// Encapsulates once for each shared secret.
    pub(super) fn encapsulate(
        &self,
        keys: BatchKeys<'_, EncapsulationKeyBuffers<D::Queue>>,
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [u8],
        secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError> {
        let row = self.set.encapsulation_key_bytes;
        if let Some(keys) = self.merged_keys(&keys, secrets.len(), row) {
            return self.merger.encapsulate(&self.on(), keys, seeds, ciphertexts, secrets);
        }
        let plan = self.plan_with(&keys, secrets.len(), ciphertexts, Operation::Encapsulation)?;
        let ciphertexts = parts(plan, ciphertexts, self.set.ciphertext_bytes);
        let parts = ciphertexts.zip(parts(plan, secrets, 1));
        let keys = &keys;
        self.run(
            plan,
            parts,
            |scope, slot, chunk, (to, secrets)| {
                let keys = keys.of_chunk(chunk, self.set.encapsulation_key_bytes);
                let issued = slot.issue_encapsulations(
                    scope,
                    keys,
                    seeds,
                    &chunk.operations,
                    chunk.batch,
                    to,
                )?;
                Ok((issued, secrets))
            },
            |slot, (issued, secrets)| slot.finish(issued, secrets),
        )
    }

    /// Decapsulates each ciphertext.
    pub(super) fn decapsulate(
        &self,
        keys: BatchKeys<'_, DecapsulationKeyBuffers<D::Queue>>,
        ciphertexts: &[u8],
        secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError> {
        let row = self.set.decapsulation_key_bytes;
        if let Some(keys) = self.merged_keys(&keys, secrets.len(), row) {
            return self.merger.decapsulate(&self.on(), keys, ciphertexts, secrets);
        }
        let plan = self.plan_with(&keys, secrets.len(), ciphertexts, Operation::Decapsulation)?;
        let (keys, row) = (&keys, self.set.ciphertext_bytes);
        self.run(
            plan,
            parts(plan, secrets, 1),
            |scope, slot, chunk, secrets| {
                let Range { start, end } = chunk.operations;
                let from = &ciphertexts[start * row..end * row];
                let keys = keys.of_chunk(chunk, self.set.decapsulation_key_bytes);
                let count = secrets.len();
                let issued = slot.issue_decapsulations(scope, keys, chunk.batch, count, from)?;
                Ok((issued, secrets))
            },
            |slot, (issued, secrets)| slot.finish(issued, secrets),
        )
    }

    /// Returns what a small batch that begins now needs of the engine.
    fn on(&self) -> On<'_, D::Queue, impl Fn() -> bool> {
        let before = self.cancellations();
        let gives_up = move || self.cancellations() != before;
        On { set: self.set, slots: &self.slots, gives_up }
    }

    /// Returns the keys, of `row` bytes each, of a batch of `count` operations that is merged with
    /// others, or `None` if it is not.
    fn merged_keys<'a, K>(
        &self,
        keys: &BatchKeys<'a, K>,
        count: usize,
        row: usize,
    ) -> Option<EncodedKeys<'a>> {
        let (bytes, is_one) = match *keys {
            BatchKeys::One(bytes) => (bytes, true),
            BatchKeys::Each(bytes) => (bytes, false),
            BatchKeys::Unchecked(..) | BatchKeys::Loaded(_) => return None,
        };
        let takes = self.merger.takes(count, row.max(self.set.ciphertext_bytes));
        takes.then_some(EncodedKeys { bytes, row, is_one })
    }

    /// Decodes keys of `row` bytes each with `load`, which notes in `faults` what is not a key. A
    /// single key is decoded on every device. Several keys are cut into chunks like a batch, and
    /// each chunk is decoded on its device.
    pub(super) fn load<K>(
        &self,
        keys: &[u8],
        row: usize,
        faults: &Faults,
        load: impl Fn(&mut Slot<D::Queue>, &[u8], ChunkCheck<'_>) -> Result<K, RuntimeError>,
    ) -> Result<LoadedChunks<K>, EngineError> {
        let (devices, count) = (self.devices.len(), keys.len() / row);
        let chunk = self.loaded_plan(count).chunk;
        let load = |(number, keys): (usize, &[u8])| {
            // A single key is the first row on every device.
            let check = ChunkCheck { faults, start: if count == 1 { 0 } else { number * chunk } };
            self.slots[number % devices].take().settled(|slot| load(slot, keys, check))
        };
        let chunks: Result<Vec<K>, RuntimeError> = match count {
            1 => (0..devices).map(|device| load((device, keys))).collect(),
            _ => keys.chunks(chunk * row).enumerate().map(load).collect(),
        };
        Ok(LoadedChunks { chunks: chunks.map_err(EngineError::from)?, keys: count, chunk })
    }

    /// Returns the plan of a batch of `count` operations with these keys and ciphertexts. If the
    /// keys were loaded in chunks, the batch has the same chunks.
    ///
    /// # Errors
    /// [`EngineError::Chunks`] if an engine with chunks of another size has loaded the keys, and
    /// [`EngineError::Device`] if a device has not the loaded keys that it needs.
    fn plan_with<K: Decoded<D::Queue>>(
        &self,
        keys: &BatchKeys<'_, K>,
        count: usize,
        ciphertexts: &[u8],
        operation: Operation,
    ) -> Result<Plan, EngineError> {
        let of = |keys: &[u8]| match (operation, self.moved(count, [keys, ciphertexts])) {
            (Operation::Encapsulation, (bytes, true)) => TransferPattern::Pinned(bytes),
            (Operation::Decapsulation, (bytes, true)) => TransferPattern::Received(bytes),
            (_, (bytes, false)) => TransferPattern::Copied(bytes),
        };
        let pattern = match keys {
            BatchKeys::Loaded(LoadedChunks { keys: 2.., .. }) => TransferPattern::LoadedKeys,
            BatchKeys::Each(keys) | BatchKeys::Unchecked(keys, _) => of(keys),
            BatchKeys::One(_) | BatchKeys::Loaded(_) => of(&[]),
        };
        // If the host copies no rows, one thread issues all chunks of a device. Threads that wake
        // up and issue at the same time begin later, and disturb each other in the driver.
        let host_copies =
            matches!(pattern, TransferPattern::Copied(_)) || !self.is_pinned(ciphertexts);
        let together = if host_copies { 1 } else { self.slots[0].len() };
        let plan = Plan { together, ..self.plan(count, pattern) };
        if let BatchKeys::Loaded(loaded) = keys {
            loaded.check_chunks(plan.chunk)?;
            // The number of the device that takes a chunk is that of the chunk, as `deal` has it. A
            // single key is needed on every device.
            let devices = self.devices.len();
            let chunks = if loaded.keys == 1 { devices } else { loaded.chunks.len() };
            self.check_owners(loaded, (0..chunks).map(|number| (number, number % devices)))?;
        }
        Ok(plan)
    }

    /// Checks that the loaded keys of chunks, given by their numbers, are on the devices that take
    /// the chunks.
    ///
    /// # Errors
    /// [`EngineError::Device`] if they are on others.
    pub(super) fn check_owners<K: Decoded<D::Queue>>(
        &self,
        loaded: &LoadedChunks<K>,
        mut chunks: impl Iterator<Item = (usize, usize)>,
    ) -> Result<(), EngineError> {
        let is_owner = |(number, device): (usize, usize)| {
            self.devices[device].owns(loaded.of(number, device).memory())
        };
        match chunks.all(is_owner) {
            true => Ok(()),
            false => Err(RuntimeError::Foreign { what: "a loaded key", owner: "device" }.into()),
        }
    }
}

/// Cuts rows of `row` elements, one per operation, into a part for each chunk. The parts of no rows
/// are empty.
fn parts<T>(plan: Plan, mut rows: &mut [T], row: usize) -> impl Iterator<Item = &mut [T]> {
    plan.ranges().map(move |range| rows.split_off_mut(..range.len() * row).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::vec;

    use ctru_gpu_runtime::emulated::EmulatedDevice;

    use super::*;
    use crate::engine::device::options::Merging;
    use crate::{CtruPrime653, ParameterSet};

    #[test]
    fn a_slot_is_with_one_at_a_time() {
        let slots = Slots::new(vec![0u32, 0]);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        *slots.take() += 1;
                    }
                });
            }
        });
        let (first, second) = (slots.take(), slots.take());
        assert_eq!(*first + *second, 8000);
        assert!(slots.try_take().is_none());
    }

    #[test]
    fn the_first_free_slot_is_taken() {
        let slots = Slots::new(vec![0, 1, 2, 3]);
        let (first, second) = (slots.take(), slots.try_take().unwrap());
        assert_eq!((*first, *second), (0, 1));
        drop((second, first));
        // What is given back last does not go first.
        let all = [(); 4].map(|()| slots.take());
        assert_eq!(all.map(|slot| *slot), [0, 1, 2, 3]);
    }

    #[test]
    fn a_panic_gives_the_slot_back() {
        let slots = Slots::new(vec![7u32]);
        let panicked = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let _slot = slots.take();
                panic!("on purpose");
            });
            thread.join().is_err()
        });
        assert!(panicked);
        assert_eq!(*slots.take(), 7);
    }

    /// Makes batches on `devices` devices, with `slots` slots each.
    fn batches(devices: usize, slots: usize) -> Batches<EmulatedDevice> {
        let merging = Merging { rows: 0, ..Merging::default() };
        let options = DeviceOptions { chunk: 512, slots, merging, ..DeviceOptions::default() };
        let devices = (0..devices).map(|_| EmulatedDevice::new()).collect();
        Batches::new(Set::of(<CtruPrime653>::PARAMETERS), devices, options).unwrap()
    }

    #[test]
    fn batches_begin_with_different_devices_unless_keys_are_loaded() {
        const DEVICES: usize = 3;
        let batches = batches(DEVICES, 1);
        let devices = |plan: Plan| {
            let devices = Mutex::new(vec![DEVICES; plan.ranges().count()]);
            let note = |_: &_, _: &mut _, chunk: &Chunk, ()| {
                devices.lock().unwrap()[chunk.number] = chunk.device;
                Ok(())
            };
            batches.run(plan, plan.ranges().map(|_| ()), note, |_, ()| Ok(())).unwrap();
            devices.into_inner().unwrap()
        };
        for first in [0, 1, 2, 0] {
            assert_eq!(devices(batches.plan(1, TransferPattern::Copied(1000))), [first]);
            assert_eq!(devices(batches.loaded_plan(1025)), [0, 1, 2]);
        }
        let plan = batches.plan(1025, TransferPattern::Copied(1000));
        assert_eq!((plan.chunk, devices(plan)), (512, vec![1, 2, 0]));
        // The number of batches starts again at 0 some day.
        batches.batches.store(usize::MAX, Ordering::Relaxed);
        assert_eq!(devices(batches.plan(1025, TransferPattern::Copied(1000))), [0, 0, 1]);
    }

    #[test]
    fn plans_depend_on_which_memory_is_pinned() {
        const COUNT: usize = 1 << 14;
        let batches = batches(1, 4);
        let device = &batches.devices()[0];
        let rows = || vec![0; COUNT];
        let pinned = [rows(), rows()].map(|rows| device.register(rows).unwrap());
        let ordinary = [rows(), rows()];
        let together = |keys, ciphertexts: &[u8], operation| {
            let keys: BatchKeys<'_, EncapsulationKeyBuffers<_>> = keys;
            let plan = batches.plan_with(&keys, COUNT, ciphertexts, operation).unwrap();
            assert_eq!(plan.chunk, 512);
            assert_eq!(plan.ranges().map(|range| range.len()).sum::<usize>(), COUNT);
            plan.together
        };
        let [of_encapsulations, of_decapsulations] =
            [Operation::Encapsulation, Operation::Decapsulation].map(|operation| {
                [
                    together(BatchKeys::Each(&ordinary[0]), &pinned[1], operation),
                    together(BatchKeys::Each(&pinned[0]), &ordinary[1], operation),
                    together(BatchKeys::Each(&pinned[0]), &pinned[1], operation),
                    together(BatchKeys::One(&ordinary[0]), &ordinary[1], operation),
                ]
            });
        // One thread has the chunks of all four slots under way if the host copies nothing.
        assert_eq!(of_encapsulations, [1, 1, 4, 1]);
        assert_eq!(of_decapsulations, [1, 1, 4, 1]);
    }

    #[test]
    fn chunks_get_their_parts() {
        const ROW: usize = 3;
        let batches = batches(2, 4);
        let count = 1 << 14;
        let plan = batches.plan(count, TransferPattern::Copied(1000));
        assert_eq!(plan.ranges().count(), 32);
        let mut rows = vec![0; count * ROW];
        let fill = |_: &_, _: &mut _, chunk: &Chunk, part: &mut [u8]| {
            assert_eq!(part.len(), ROW * chunk.operations.len());
            part.iter_mut().for_each(|byte| *byte += 1);
            Ok(())
        };
        batches.run(plan, parts(plan, &mut rows, ROW), fill, |_, ()| Ok(())).unwrap();
        assert!(rows.iter().all(|&byte| byte == 1));
    }

    #[test]
    fn moved_bytes_are_those_of_an_operation() {
        let batches = batches(1, 1);
        let pinned = batches.devices()[0].register(vec![0; 20]).unwrap();
        let ordinary = [0; 10];
        assert_eq!(batches.moved(10, [&pinned, &ordinary]), (3, false));
        assert_eq!(batches.moved(9, [&ordinary, &ordinary]), (3, false));
        assert_eq!(batches.moved(9, [&pinned]), (3, true));
        assert_eq!(batches.moved(5, [&[], &pinned]), (4, true));
        // At least one byte, by which limits are divided.
        assert_eq!(batches.moved(5, [&[], &[]]), (1, true));
        assert_eq!(batches.moved(0, [&[]]), (1, true));
    }
    /// What a thread does with a chunk.
    #[derive(Debug, PartialEq)]
    enum Step {
        Issue(usize),
        Finish(usize),
    }
    use Step::{Finish, Issue};

    /// Serves five chunks on the slots, of which `taken` are in use, with three chunks under way if
    /// possible. The chunk `failing` fails when it is issued. Returns what happened, and the
    /// number of operations that were done.
    fn serve(slots: usize, taken: usize, failing: Option<usize>) -> (Vec<Step>, usize) {
        let slots = [Slots::new(vec![(); slots])];
        let others: Vec<_> = (0..taken).map(|_| slots[0].take()).collect();
        let cancellations = AtomicU64::new(0);
        let plan = Plan { count: 5, chunk: 1, first: 0, together: 3 };
        let deal = Deal::new(&slots, &cancellations, plan, plan.ranges());
        // Three chunks of five, or of as many as there are slots, are with one thread.
        assert_eq!(deal.servers().len(), if slots[0].len() > 3 { 2 } else { 1 });
        let steps = Mutex::new(Vec::new());
        let issue = |_: &mut _, chunk: &Chunk, _| {
            steps.lock().unwrap().push(Issue(chunk.number));
            if failing == Some(chunk.number) { Err(()) } else { Ok(chunk.number) }
        };
        let finish = |_: &mut _, number| {
            steps.lock().unwrap().push(Finish(number));
            Ok(())
        };
        deal.serve(0, &issue, &finish);
        drop(others);
        let (done, failure) = deal.end();
        assert_eq!(failure.is_some(), failing.is_some());
        (steps.into_inner().unwrap(), done.len())
    }

    #[test]
    fn a_thread_has_several_chunks_under_way() {
        let all = [
            [Issue(0), Issue(1), Issue(2)],
            [Finish(0), Issue(3), Finish(1)],
            [Issue(4), Finish(2), Finish(3)],
        ];
        let expected: Vec<_> = all.into_iter().flatten().chain([Finish(4)]).collect();
        assert_eq!(serve(8, 0, None), (expected, 5));
    }

    #[test]
    fn a_thread_with_a_slot_does_not_wait_for_others() {
        let expected = (0..5).flat_map(|number| [Issue(number), Finish(number)]).collect();
        assert_eq!(serve(2, 1, None), (expected, 5));
    }

    #[test]
    fn what_was_issued_before_a_failure_is_finished() {
        let expected = vec![Issue(0), Issue(1), Finish(0)];
        assert_eq!(serve(4, 0, Some(1)), (expected, 1));
    }
}
