//! The device engine: batches on a GPU, or on the emulator, through one pipeline of kernels.
//!
//! A batch travels in chunks. Each chunk takes a slot: pinned host memory, device memory and a queue; a thread of the host
//! fills the slot, issues copies and kernels, waits and empties it, while other slots do the same.

mod arrays;
mod calibrate;
#[cfg(feature = "cuda")]
pub mod cuda;
mod options;
mod pipeline;
mod products;
mod rows;
mod slots;

use core::fmt;
use core::ops::Range;
use std::collections::VecDeque;
use std::format;
use std::string::ToString;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::vec;
use std::vec::Vec;

use ctru_gpu_runtime::{Device, PinnedVec, RuntimeError};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{Engine, EngineError, KEY_PAIR_SEED_BYTES, Keys, Seeds, check_length};
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::{ParameterSet, SEED_BYTES};
use arrays::{Footprint, PrivateArrays, PublicArrays, Slot};
use slots::{Slots, lock};

pub use options::{DeviceOptions, Products};
pub use pipeline::KeyKernels;
pub(crate) use pipeline::{MIXED_RADIX_KERNELS, PACKED13_KERNELS};

/// Runs batches of one parameter set on a device, or on several that are alike.
///
/// The chunks of a batch go to the devices in turn. Calls from several threads share the slots: a batch that is smaller than a chunk
/// takes one of them.
pub struct DeviceEngine<P: ParameterSet, D: Device> {
    devices: Vec<D>,
    chunk: usize,
    /// Of each device.
    slots: Vec<Slots<Slot<P, D::Queue>>>,
    /// One for each slot.
    threads: ThreadPool,
    /// How many batches there have been, so that each begins at another device.
    batches: AtomicUsize,
    /// How often batches have been cancelled.
    cancellations: AtomicU64,
}

/// Chunks are not made smaller than this to give all slots something to do: on an H200, two halves take longer than the whole then.
const LEAST_CHUNK: usize = 4096;

/// How a batch is cut and dealt out.
#[derive(Copy, Clone)]
struct Plan {
    count: usize,
    /// Operations of a chunk, the last one's excepted.
    chunk: usize,
    /// The device of the first chunk.
    first: usize,
}

/// A part of a batch.
struct Chunk {
    number: usize,
    device: usize,
    operations: Range<usize>,
}

impl<P: ParameterSet, D: Device> DeviceEngine<P, D> {
    /// An engine on one device with all its memory allocated.
    ///
    /// # Errors
    /// As [`over`](Self::over).
    pub fn new(device: D, options: DeviceOptions) -> Result<Self, EngineError> {
        Self::over(vec![device], options)
    }

    /// An engine on several devices, with the options for each of them, and all its memory allocated.
    ///
    /// The chunk is made smaller than `options.chunk` where the limit of memory asks for it.
    ///
    /// # Errors
    /// [`EngineError::Options`] if a number is 0, there are no devices, or not even chunks of one operation keep the limit;
    /// [`EngineError::Device`] if a device has less memory; [`EngineError::Threads`] if the system gives no threads.
    pub fn over(devices: Vec<D>, options: DeviceOptions) -> Result<Self, EngineError> {
        let DeviceOptions { chunk, slots, memory_limit, products } = options;
        let fitting = memory_limit / slots.max(1) / Footprint::of::<P>().device_bytes;
        let chunk = chunk.min(fitting);
        if chunk == 0 || slots == 0 || devices.is_empty() {
            return Err(EngineError::Options {
                needed: Footprint::of::<P>().device_bytes * slots,
                limit: memory_limit,
            });
        }
        let threads = ThreadPoolBuilder::new()
            .num_threads(devices.len() * slots)
            .thread_name(|i| format!("ctru-slot-{i}"))
            .build()
            .map_err(|error| EngineError::Threads(error.to_string()))?;
        let of_device = |device: &D| -> Result<_, RuntimeError> {
            let slot = |_| Slot::new([device.queue()?, device.queue()?], chunk, products);
            Ok(Slots::new((0..slots).map(slot).collect::<Result<Vec<_>, _>>()?))
        };
        let slots = devices.iter().map(of_device).collect::<Result<_, _>>().map_err(EngineError::device)?;
        let (batches, cancellations) = (AtomicUsize::new(0), AtomicU64::new(0));
        Ok(Self { devices, chunk, slots, threads, batches, cancellations })
    }

    /// Ends the batches that are on their way, called from another thread: chunks that are in their slots are finished, no other
    /// is begun, and the calls return [`EngineError::Cancelled`] if something is left undone.
    pub fn cancel(&self) {
        self.cancellations.fetch_add(1, Ordering::AcqRel);
    }

    /// Operations of a chunk.
    #[must_use]
    pub fn chunk(&self) -> usize {
        self.chunk
    }

    /// Chunks in flight, on all devices together.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.iter().map(Slots::len).sum()
    }

    /// Bytes of device memory that the slots hold, on all devices together.
    #[must_use]
    pub fn device_bytes(&self) -> usize {
        self.slots() * self.chunk * Footprint::of::<P>().device_bytes
    }

    /// Bytes of pinned host memory that the slots hold.
    #[must_use]
    pub fn pinned_bytes(&self) -> usize {
        self.slots() * self.chunk * Footprint::of::<P>().pinned_bytes
    }

    /// How a batch is cut and dealt out. Keys that lie on the devices in chunks bind each chunk to its device.
    fn plan(&self, count: usize, bound: bool) -> Plan {
        let first = if bound { 0 } else { self.batches.fetch_add(1, Ordering::Relaxed) % self.devices.len() };
        Plan { count, chunk: even_chunk(count, self.slots(), self.chunk), first }
    }

    /// Gives every chunk, with its parts of the slices, to a slot of its device.
    ///
    /// After the first failure no chunk is begun any more.
    fn run<C: Send>(
        &self,
        plan: Plan,
        parts: impl Iterator<Item = C>,
        work: impl Fn(&mut Slot<P, D::Queue>, &Chunk, C) -> Result<(), RuntimeError> + Sync,
    ) -> Result<(), EngineError> {
        struct Progress {
            done: Vec<Range<usize>>,
            failure: Option<RuntimeError>,
        }
        let progress = Mutex::new(Progress { done: Vec::new(), failure: None });
        let before = self.cancellations.load(Ordering::Acquire);
        let goes_on =
            || self.cancellations.load(Ordering::Acquire) == before && lock(&progress).failure.is_none();
        let devices = self.devices.len();
        let mut queues: Vec<VecDeque<(Chunk, C)>> = (0..devices).map(|_| VecDeque::new()).collect();
        for ((number, operations), part) in ranges(plan.count, plan.chunk).enumerate().zip(parts) {
            let device = (plan.first + number) % devices;
            queues[device].push_back((Chunk { number, device, operations }, part));
        }
        // So many slots are at work on each device; the first of all is served by the caller's thread.
        let servers: Vec<usize> = queues
            .iter()
            .enumerate()
            .flat_map(|(device, queue)| {
                core::iter::repeat_n(device, queue.len().min(self.slots[device].len()))
            })
            .collect();
        let queues: Vec<_> = queues.into_iter().map(Mutex::new).collect();
        let serve = |device: usize| {
            while goes_on() {
                let next = lock(&queues[device]).pop_front();
                let Some((chunk, part)) = next else { break };
                let result = work(&mut self.slots[device].take(), &chunk, part);
                let mut progress = lock(&progress);
                match result {
                    Ok(()) => progress.done.push(chunk.operations),
                    Err(error) => progress.failure = progress.failure.take().or(Some(error)),
                }
            }
        };
        if let Some((&own, others)) = servers.split_first() {
            self.threads.in_place_scope(|scope| {
                for &device in others {
                    let serve = &serve;
                    scope.spawn(move |_| serve(device));
                }
                serve(own);
            });
        }
        let Progress { mut done, failure } = progress.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|range| range.start);
        match failure {
            Some(error) => Err(EngineError::Device { error, done }),
            None if done.iter().map(Range::len).sum::<usize>() < plan.count => {
                Err(EngineError::Cancelled { done })
            }
            None => Ok(()),
        }
    }

    /// Loads one key on every device, or every chunk of keys where it is needed.
    fn load<K, A>(
        &self,
        keys: &[K],
        load: impl Fn(&mut Slot<P, D::Queue>, &[K]) -> Result<A, RuntimeError>,
    ) -> Result<Loaded<A>, EngineError> {
        let devices = self.devices.len();
        let chunk = self.plan(keys.len(), true).chunk;
        let load = |(number, keys): (usize, &[K])| load(&mut self.slots[number % devices].take(), keys);
        let chunks: Result<Vec<A>, RuntimeError> = match keys {
            [_] => (0..devices).map(|device| load((device, keys))).collect(),
            _ => keys.chunks(chunk).enumerate().map(load).collect(),
        };
        Ok(Loaded { chunks: chunks.map_err(EngineError::device)?, keys: keys.len(), chunk })
    }
}

/// Operations of a chunk of a batch of `count`: at most `most`, fewer where less than half of the `slots` would get any, which hides
/// most of the transfers already, but then at least [`LEAST_CHUNK`].
fn even_chunk(count: usize, slots: usize, most: usize) -> usize {
    count.div_ceil(slots.div_ceil(2)).next_multiple_of(LEAST_CHUNK).clamp(1, most)
}

/// `0..count` in pieces of `chunk`.
fn ranges(count: usize, chunk: usize) -> impl ExactSizeIterator<Item = Range<usize>> + Send {
    (0..count.div_ceil(chunk)).map(move |i| i * chunk..count.min((i + 1) * chunk))
}

/// Keys on a device, in the chunks in which batches travel.
pub struct Loaded<A> {
    chunks: Vec<A>,
    keys: usize,
    chunk: usize,
}

/// Encapsulation keys on the device `D`.
pub type LoadedPublic<D> = Loaded<PublicArrays<<D as Device>::Queue>>;
/// Decapsulation keys on the device `D`; wiped when dropped.
pub type LoadedPrivate<D> = Loaded<PrivateArrays<<D as Device>::Queue>>;

impl<A> fmt::Debug for Loaded<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Loaded({} keys)", self.keys)
    }
}

impl<P: ParameterSet, D: Device> fmt::Debug for DeviceEngine<P, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceEngine")
            .field("set", &P::NAME)
            .field("devices", &self.devices)
            .field("chunk", &self.chunk)
            .field("slots", &self.slots.len())
            .finish()
    }
}

/// Where the keys of a chunk are: one for all operations, or one for each.
enum ChunkKeys<'a, K, A> {
    /// So many on the device.
    Device(&'a A, u32),
    Host(&'a [K]),
}

/// The keys of a batch.
enum BatchKeys<'a, K, A> {
    One(&'a K),
    Each(&'a [K]),
    Loaded(&'a Loaded<A>),
}

impl<'a, K, A> BatchKeys<'a, K, A> {
    /// Checks that there is a key for each operation if there is not one for all.
    fn new(keys: Keys<'a, K, Loaded<A>>, count: usize) -> Result<Self, EngineError> {
        match keys {
            Keys::One(key) => Ok(Self::One(key)),
            Keys::Each(keys) => check_length("keys", count, keys.len()).map(|()| Self::Each(keys)),
            Keys::Loaded(loaded) => {
                if loaded.keys != 1 {
                    check_length("loaded keys", count, loaded.keys)?;
                }
                Ok(Self::Loaded(loaded))
            }
        }
    }

    /// The plan of the batch on `engine`, which is that by which the keys were loaded, if they were loaded in chunks.
    fn plan<P: ParameterSet, D: Device>(
        &self,
        engine: &DeviceEngine<P, D>,
        count: usize,
    ) -> Result<Plan, EngineError> {
        let Self::Loaded(Loaded { keys: 2.., chunk, .. }) = self else {
            return Ok(engine.plan(count, false));
        };
        let plan = engine.plan(count, true);
        check_length("chunks of the engine that loaded the keys", plan.chunk, *chunk)?;
        Ok(plan)
    }

    fn chunk(&self, chunk: &Chunk) -> ChunkKeys<'_, K, A> {
        match self {
            // Every chunk decodes the key: that takes less time than to wait until somebody has.
            Self::One(key) => ChunkKeys::Host(core::slice::from_ref(key)),
            Self::Each(keys) => ChunkKeys::Host(&keys[chunk.operations.clone()]),
            Self::Loaded(loaded) if loaded.keys == 1 => {
                ChunkKeys::Device(&loaded.chunks[chunk.device % loaded.chunks.len()], 1)
            }
            Self::Loaded(loaded) => {
                ChunkKeys::Device(&loaded.chunks[chunk.number], chunk.operations.len() as u32)
            }
        }
    }
}

impl<P: ParameterSet, D: Device> Engine<P> for DeviceEngine<P, D> {
    type EncapsulationKeys = LoadedPublic<D>;
    type DecapsulationKeys = LoadedPrivate<D>;

    type Memory<T: Send + Sync> = PinnedVec<T, D::Registration>;

    fn memory<T: Send + Sync>(&self, content: Vec<T>) -> Result<Self::Memory<T>, EngineError> {
        self.devices[0].register(content).map_err(EngineError::device)
    }

    fn load_encapsulation_keys(
        &self,
        keys: &[EncapsulationKey<P>],
    ) -> Result<Self::EncapsulationKeys, EngineError> {
        self.load(keys, Slot::load_public)
    }

    fn load_decapsulation_keys(
        &self,
        keys: &[DecapsulationKey<P>],
    ) -> Result<Self::DecapsulationKeys, EngineError> {
        self.load(keys, Slot::load_private)
    }

    fn generate(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: &mut [EncapsulationKey<P>],
        decapsulation_keys: &mut [DecapsulationKey<P>],
    ) -> Result<(), EngineError> {
        let count = encapsulation_keys.len();
        check_length("decapsulation keys", count, decapsulation_keys.len())?;
        seeds.check(count)?;
        let plan = self.plan(count, false);
        let outputs =
            encapsulation_keys.chunks_mut(plan.chunk).zip(decapsulation_keys.chunks_mut(plan.chunk));
        self.run(plan, outputs, |slot, chunk, (public, private)| {
            slot.generate(seeds, &chunk.operations, public, private)
        })
    }

    fn generate_decapsulation_keys(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        decapsulation_keys: &mut [DecapsulationKey<P>],
    ) -> Result<(), EngineError> {
        let count = decapsulation_keys.len();
        seeds.check(count)?;
        let plan = self.plan(count, false);
        let outputs = decapsulation_keys.chunks_mut(plan.chunk);
        self.run(plan, outputs, |slot, chunk, private| {
            slot.generate(seeds, &chunk.operations, &mut [], private)
        })
    }

    fn encapsulate(
        &self,
        keys: Keys<'_, EncapsulationKey<P>, Self::EncapsulationKeys>,
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [Ciphertext<P>],
        shared_secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError> {
        let count = shared_secrets.len();
        check_length("ciphertexts", count, ciphertexts.len())?;
        seeds.check(count)?;
        let keys = BatchKeys::new(keys, count)?;
        let plan = keys.plan(self, count)?;
        let outputs = ciphertexts.chunks_mut(plan.chunk).zip(shared_secrets.chunks_mut(plan.chunk));
        self.run(plan, outputs, |slot, chunk, (ciphertexts, secrets)| {
            slot.encapsulate(keys.chunk(chunk), seeds, &chunk.operations, ciphertexts, secrets)
        })
    }

    fn decapsulate(
        &self,
        keys: Keys<'_, DecapsulationKey<P>, Self::DecapsulationKeys>,
        ciphertexts: &[Ciphertext<P>],
        shared_secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError> {
        let count = shared_secrets.len();
        check_length("ciphertexts", count, ciphertexts.len())?;
        let keys = BatchKeys::new(keys, count)?;
        let plan = keys.plan(self, count)?;
        let operations = ciphertexts.chunks(plan.chunk).zip(shared_secrets.chunks_mut(plan.chunk));
        self.run(plan, operations, |slot, chunk, (ciphertexts, secrets)| {
            slot.decapsulate(keys.chunk(chunk), ciphertexts, secrets)
        })
    }
}

impl EngineError {
    /// A failure before any operation of the batch was begun.
    fn device(error: RuntimeError) -> Self {
        Self::Device { error, done: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_even_but_not_too_small() {
        assert_eq!(even_chunk(0, 16, 8192), 1);
        assert_eq!(even_chunk(1, 16, 8192), LEAST_CHUNK);
        assert_eq!(even_chunk(8 * LEAST_CHUNK, 16, 8192), LEAST_CHUNK);
        assert_eq!(even_chunk(8 * LEAST_CHUNK + 1, 16, 8192), 2 * LEAST_CHUNK);
        assert_eq!(even_chunk(8 * LEAST_CHUNK + 1, 16, 5000), 5000);
        assert_eq!(even_chunk(1 << 20, 16, 8192), 8192);
        assert_eq!(even_chunk(1 << 20, 16, 3), 3);
        assert_eq!(even_chunk(5, 1, 3), 3);
    }
}
