//! The device engine: batches on a GPU, or on the emulator, through one pipeline of kernels.
//!
//! A batch travels in chunks. Each chunk takes a slot: pinned host memory, device memory and a queue; a thread of the host
//! fills the slot, issues copies and kernels, waits and empties it, while other slots do the same. Keys that serve
//! all operations are decoded on the device once.

mod arrays;
#[cfg(feature = "cuda")]
pub mod cuda;
mod pipeline;
mod products;

use core::fmt;
use core::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::vec::Vec;

use ctru_gpu_runtime::{Device, RuntimeError};

use super::{Engine, EngineError, KEY_PAIR_SEED_BYTES, Keys, Seeds, check_length};
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::{ParameterSet, SEED_BYTES};
use arrays::{Footprint, PrivateArrays, PublicArrays, Slot};

pub use pipeline::KeyKernels;
pub(crate) use pipeline::{MIXED_RADIX_KERNELS, PACKED13_KERNELS};
pub use products::Products;

/// How much of a device an engine takes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DeviceOptions {
    /// Operations of a chunk at the most.
    pub chunk: usize,
    /// Chunks in flight, each with memory of its own and a thread of the host.
    pub slots: usize,
    /// Bytes of device memory that the slots may take. Loaded keys come on top.
    pub memory_limit: usize,
    /// How to multiply.
    pub products: Products,
}

impl Default for DeviceOptions {
    /// 16 slots of 4096 operations, at most 2 GiB; products on tensor cores, which on an H200 are faster at every batch size.
    fn default() -> Self {
        Self { chunk: 4096, slots: 16, memory_limit: 2 << 30, products: Products::Polyphase }
    }
}

/// Runs batches of one parameter set on a device.
pub struct DeviceEngine<P: ParameterSet, D: Device> {
    device: D,
    chunk: usize,
    slots: Vec<Mutex<Slot<P, D::Queue>>>,
}

impl<P: ParameterSet, D: Device> DeviceEngine<P, D> {
    /// An engine with all its memory allocated.
    ///
    /// The chunk is made smaller than `options.chunk` where the limit of memory asks for it.
    ///
    /// # Errors
    /// [`EngineError::Options`] if a number is 0 or not even chunks of one operation keep the limit;
    /// [`EngineError::Device`] if the device has less memory.
    pub fn new(device: D, options: DeviceOptions) -> Result<Self, EngineError> {
        let DeviceOptions { chunk, slots, memory_limit, products } = options;
        let fitting = memory_limit / slots.max(1) / Footprint::of::<P>().device_bytes;
        let chunk = chunk.min(fitting);
        if chunk == 0 || slots == 0 {
            return Err(EngineError::Options {
                needed: Footprint::of::<P>().device_bytes * slots,
                limit: memory_limit,
            });
        }
        let slots: Result<Vec<_>, RuntimeError> =
            (0..slots).map(|_| Ok(Mutex::new(Slot::new(device.queue()?, chunk, products)?))).collect();
        Ok(Self { device, chunk, slots: slots.map_err(EngineError::device)? })
    }

    /// Operations of a chunk.
    #[must_use]
    pub fn chunk(&self) -> usize {
        self.chunk
    }

    /// Chunks in flight.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Bytes of device memory that the slots hold.
    #[must_use]
    pub fn device_bytes(&self) -> usize {
        self.slots.len() * self.chunk * Footprint::of::<P>().device_bytes
    }

    /// Bytes of pinned host memory that the slots hold.
    #[must_use]
    pub fn pinned_bytes(&self) -> usize {
        self.slots.len() * self.chunk * Footprint::of::<P>().pinned_bytes
    }

    /// Gives every chunk to a slot. A chunk is its first operation and its parts of the slices.
    ///
    /// After the first failure no chunk is begun any more.
    fn run<C: Send>(
        &self,
        chunks: impl Iterator<Item = (Range<usize>, C)> + Send,
        work: impl Fn(&mut Slot<P, D::Queue>, Range<usize>, C) -> Result<(), RuntimeError> + Sync,
    ) -> Result<(), EngineError> {
        struct Progress {
            done: Vec<Range<usize>>,
            failure: Option<RuntimeError>,
        }
        let chunks = Mutex::new(chunks);
        let progress = Mutex::new(Progress { done: Vec::new(), failure: None });
        let serve = |slot: &Mutex<Slot<P, D::Queue>>| {
            let mut slot = lock(slot);
            while lock(&progress).failure.is_none() {
                let next = lock(&chunks).next();
                let Some((range, chunk)) = next else { break };
                let result = work(&mut slot, range.clone(), chunk);
                let mut progress = lock(&progress);
                match result {
                    Ok(()) => progress.done.push(range),
                    Err(error) => progress.failure = progress.failure.take().or(Some(error)),
                }
            }
        };
        let more_than_one = lock(&chunks).size_hint().0 > 1;
        if more_than_one {
            std::thread::scope(|scope| {
                for slot in &self.slots {
                    scope.spawn(|| serve(slot));
                }
            });
        } else {
            serve(&self.slots[0]);
        }
        let Progress { mut done, failure } = progress.into_inner().unwrap_or_else(PoisonError::into_inner);
        match failure {
            None => Ok(()),
            Some(error) => {
                done.sort_by_key(|range| range.start);
                Err(EngineError::Device { error, done })
            }
        }
    }

    fn load<A>(
        &self,
        keys: usize,
        load: impl Fn(&mut Slot<P, D::Queue>, Range<usize>) -> Result<A, RuntimeError>,
    ) -> Result<Loaded<A>, EngineError> {
        let mut slot = lock(&self.slots[0]);
        let chunks = ranges(keys, self.chunk).map(|range| load(&mut slot, range)).collect::<Result<_, _>>();
        Ok(Loaded { chunks: chunks.map_err(EngineError::device)?, keys, chunk: self.chunk })
    }

    fn load_public(&self, keys: &[EncapsulationKey<P>]) -> Result<LoadedPublic<D>, EngineError> {
        self.load(keys.len(), |slot, range| slot.load_public(&keys[range]))
    }

    fn load_private(&self, keys: &[DecapsulationKey<P>]) -> Result<LoadedPrivate<D>, EngineError> {
        self.load(keys.len(), |slot, range| slot.load_private(&keys[range]))
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
            .field("device", &self.device)
            .field("chunk", &self.chunk)
            .field("slots", &self.slots.len())
            .finish()
    }
}

/// Where the keys of a chunk are.
enum ChunkKeys<'a, K, A> {
    /// On the device: one for all operations, or one for each.
    Device(&'a A, u32),
    /// On the host, one for each operation.
    Host(&'a [K]),
}

/// The keys of a batch.
enum BatchKeys<'a, K, A> {
    Each(&'a [K]),
    Own(Loaded<A>),
    Loaded(&'a Loaded<A>),
}

impl<'a, K, A> BatchKeys<'a, K, A> {
    /// Loads a key that serves all operations, and checks that there is a key for each otherwise.
    fn new(
        keys: Keys<'a, K, Loaded<A>>,
        count: usize,
        chunk: usize,
        load: impl Fn(&[K]) -> Result<Loaded<A>, EngineError>,
    ) -> Result<Self, EngineError> {
        match keys {
            Keys::One(key) => load(core::slice::from_ref(key)).map(Self::Own),
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

    fn chunk(&self, range: &Range<usize>) -> ChunkKeys<'_, K, A> {
        let loaded = match self {
            Self::Each(keys) => return ChunkKeys::Host(&keys[range.clone()]),
            Self::Own(loaded) => loaded,
            Self::Loaded(loaded) => loaded,
        };
        match loaded.keys {
            1 => ChunkKeys::Device(&loaded.chunks[0], 1),
            _ => ChunkKeys::Device(&loaded.chunks[range.start / loaded.chunk], range.len() as u32),
        }
    }
}

impl<P: ParameterSet, D: Device> Engine<P> for DeviceEngine<P, D> {
    type EncapsulationKeys = LoadedPublic<D>;
    type DecapsulationKeys = LoadedPrivate<D>;

    fn load_encapsulation_keys(
        &self,
        keys: &[EncapsulationKey<P>],
    ) -> Result<Self::EncapsulationKeys, EngineError> {
        self.load_public(keys)
    }

    fn load_decapsulation_keys(
        &self,
        keys: &[DecapsulationKey<P>],
    ) -> Result<Self::DecapsulationKeys, EngineError> {
        self.load_private(keys)
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
        self.run(ranges(count, self.chunk).zip(outputs), |slot, range, (public, private)| {
            slot.generate(seeds, range, public, private)
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
        let keys = BatchKeys::new(keys, count, self.chunk, |keys| self.load_public(keys))?;
        let outputs = ciphertexts.chunks_mut(self.chunk).zip(shared_secrets.chunks_mut(self.chunk));
        self.run(ranges(count, self.chunk).zip(outputs), |slot, range, (ciphertexts, secrets)| {
            slot.encapsulate(keys.chunk(&range), seeds, range, ciphertexts, secrets)
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
        let keys = BatchKeys::new(keys, count, self.chunk, |keys| self.load_private(keys))?;
        let operations = ciphertexts.chunks(self.chunk).zip(shared_secrets.chunks_mut(self.chunk));
        self.run(ranges(count, self.chunk).zip(operations), |slot, range, (ciphertexts, secrets)| {
            slot.decapsulate(keys.chunk(&range), ciphertexts, secrets)
        })
    }
}

impl EngineError {
    /// A failure before any operation of the batch was begun.
    fn device(error: RuntimeError) -> Self {
        Self::Device { error, done: Vec::new() }
    }
}
