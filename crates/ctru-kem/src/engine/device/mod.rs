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

use core::fmt;
use core::ops::Range;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::vec;
use std::vec::Vec;

use ctru_gpu_runtime::{Device, PinnedVec, RuntimeError};

use super::{Engine, EngineError, KEY_PAIR_SEED_BYTES, Keys, Seeds, check_length};
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::{ParameterSet, SEED_BYTES};
use arrays::{Footprint, PrivateArrays, PublicArrays, Slot};

pub use options::{DeviceOptions, Products};
pub use pipeline::KeyKernels;
pub(crate) use pipeline::{MIXED_RADIX_KERNELS, PACKED13_KERNELS};

/// Runs batches of one parameter set on a device, or on several that are alike.
///
/// Chunk `i` of a batch goes to device `i` modulo their number, so that keys that are loaded are where they are needed.
pub struct DeviceEngine<P: ParameterSet, D: Device> {
    devices: Vec<D>,
    chunk: usize,
    /// Slot `i` is on device `i` modulo their number.
    slots: Vec<Mutex<Slot<P, D::Queue>>>,
    /// How often batches have been cancelled.
    cancellations: AtomicU64,
}

/// A part of a batch.
struct Chunk {
    number: usize,
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
    /// [`EngineError::Device`] if a device has less memory.
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
        let slots: Result<Vec<_>, RuntimeError> = (0..slots)
            .flat_map(|_| &devices)
            .map(|device| Ok(Mutex::new(Slot::new([device.queue()?, device.queue()?], chunk, products)?)))
            .collect();
        Ok(Self {
            chunk,
            slots: slots.map_err(EngineError::device)?,
            devices,
            cancellations: AtomicU64::new(0),
        })
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
        self.slots.len()
    }

    /// Bytes of device memory that the slots hold, on all devices together.
    #[must_use]
    pub fn device_bytes(&self) -> usize {
        self.slots.len() * self.chunk * Footprint::of::<P>().device_bytes
    }

    /// Bytes of pinned host memory that the slots hold.
    #[must_use]
    pub fn pinned_bytes(&self) -> usize {
        self.slots.len() * self.chunk * Footprint::of::<P>().pinned_bytes
    }

    /// Gives every chunk, with its parts of the slices, to a slot of its device.
    ///
    /// After the first failure no chunk is begun any more.
    fn run<C: Send>(
        &self,
        count: usize,
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
        let mut queues: Vec<VecDeque<(Chunk, C)>> = self.devices.iter().map(|_| VecDeque::new()).collect();
        for (number, (operations, part)) in ranges(count, self.chunk).zip(parts).enumerate() {
            queues[number % self.devices.len()].push_back((Chunk { number, operations }, part));
        }
        let queues: Vec<_> = queues.into_iter().map(Mutex::new).collect();
        let serve = |number: usize| {
            let mut slot = lock(&self.slots[number]);
            while goes_on() {
                let next = lock(&queues[number % queues.len()]).pop_front();
                let Some((chunk, part)) = next else { break };
                let result = work(&mut slot, &chunk, part);
                let mut progress = lock(&progress);
                match result {
                    Ok(()) => progress.done.push(chunk.operations),
                    Err(error) => progress.failure = progress.failure.take().or(Some(error)),
                }
            }
        };
        if count > self.chunk {
            std::thread::scope(|scope| {
                for number in 0..self.slots.len() {
                    let serve = &serve;
                    scope.spawn(move || serve(number));
                }
            });
        } else {
            serve(0);
        }
        let Progress { mut done, failure } = progress.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|range| range.start);
        match failure {
            Some(error) => Err(EngineError::Device { error, done }),
            None if done.iter().map(Range::len).sum::<usize>() < count => {
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
        let load = |(number, keys): (usize, &[K])| load(&mut lock(&self.slots[number % devices]), keys);
        let chunks: Result<Vec<A>, RuntimeError> = match keys {
            [_] => (0..devices).map(|device| load((device, keys))).collect(),
            _ => keys.chunks(self.chunk).enumerate().map(load).collect(),
        };
        Ok(Loaded { chunks: chunks.map_err(EngineError::device)?, keys: keys.len(), chunk: self.chunk })
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A slot that a panic left is used again from the start: every operation writes what it reads.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn new(keys: Keys<'a, K, Loaded<A>>, count: usize, chunk: usize) -> Result<Self, EngineError> {
        match keys {
            Keys::One(key) => Ok(Self::One(key)),
            Keys::Each(keys) => check_length("keys", count, keys.len()).map(|()| Self::Each(keys)),
            Keys::Loaded(loaded) => {
                if loaded.keys != 1 {
                    check_length("loaded keys", count, loaded.keys)?;
                    check_length("chunks of the engine that loaded the keys", chunk, loaded.chunk)?;
                }
                Ok(Self::Loaded(loaded))
            }
        }
    }

    fn chunk(&self, chunk: &Chunk) -> ChunkKeys<'_, K, A> {
        match self {
            // Every chunk decodes the key: that takes less time than to wait until somebody has.
            Self::One(key) => ChunkKeys::Host(core::slice::from_ref(key)),
            Self::Each(keys) => ChunkKeys::Host(&keys[chunk.operations.clone()]),
            Self::Loaded(loaded) if loaded.keys == 1 => {
                ChunkKeys::Device(&loaded.chunks[chunk.number % loaded.chunks.len()], 1)
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

    type Memory<T: Send> = PinnedVec<T, D::Registration>;

    fn memory<T: Send>(&self, content: Vec<T>) -> Result<Self::Memory<T>, EngineError> {
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
        let outputs =
            encapsulation_keys.chunks_mut(self.chunk).zip(decapsulation_keys.chunks_mut(self.chunk));
        self.run(count, outputs, |slot, chunk, (public, private)| {
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
        let outputs = decapsulation_keys.chunks_mut(self.chunk);
        self.run(count, outputs, |slot, chunk, private| {
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
        let keys = BatchKeys::new(keys, count, self.chunk)?;
        let outputs = ciphertexts.chunks_mut(self.chunk).zip(shared_secrets.chunks_mut(self.chunk));
        self.run(count, outputs, |slot, chunk, (ciphertexts, secrets)| {
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
        let keys = BatchKeys::new(keys, count, self.chunk)?;
        let operations = ciphertexts.chunks(self.chunk).zip(shared_secrets.chunks_mut(self.chunk));
        self.run(count, operations, |slot, chunk, (ciphertexts, secrets)| {
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
