//! The device engine: batches on a GPU, or on the emulator, through one pipeline of kernels.
//!
//! A batch travels in chunks. Each chunk takes a slot: pinned host memory, device memory and a queue; a thread of the host
//! fills the slot, issues copies and kernels, waits and empties it, while other slots do the same.

mod arrays;
mod calibrate;
#[cfg(feature = "cuda")]
pub mod cuda;
mod keys;
mod options;
mod pipeline;
mod products;
mod rows;
mod schedule;
mod slots;

use core::fmt;
use std::format;
use std::string::ToString;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::vec;
use std::vec::Vec;

use ctru_gpu_runtime::{Device, PinnedVec, RuntimeError};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{Engine, EngineError, KEY_PAIR_SEED_BYTES, Keys, Seeds, check_length};
use crate::hash::SEED_BYTES;
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::ParameterSet;
use arrays::{Footprint, Slot, most_operations};
use keys::BatchKeys;
use slots::Slots;

pub use keys::{LoadedPrivate, LoadedPublic};
pub use options::{DeviceOptions, Products};

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
    /// The chunk is made smaller than `options.chunk` where the limit of memory asks for it, or
    /// what kernels can number.
    ///
    /// # Errors
    /// [`EngineError::Options`] if a number is 0, there are no devices, or not even chunks of one operation keep the limit;
    /// [`EngineError::Device`] if a device has less memory; [`EngineError::Threads`] if the system gives no threads.
    pub fn over(devices: Vec<D>, options: DeviceOptions) -> Result<Self, EngineError> {
        let DeviceOptions { chunk, slots, memory_limit, products } = options;
        let each = Footprint::of::<P>().device_bytes;
        let fitting = memory_limit / slots.max(1) / each;
        let chunk = chunk.min(fitting).min(most_operations::<P::Ring>());
        if chunk == 0 || slots == 0 || devices.is_empty() {
            return Err(EngineError::Options {
                needed: each.saturating_mul(slots),
                limit: memory_limit,
            });
        }
        let of_device = |device: &D| -> Result<_, RuntimeError> {
            let slot = |_| Slot::new([device.queue()?, device.queue()?], chunk, products);
            Ok(Slots::new((0..slots).map(slot).collect::<Result<Vec<_>, _>>()?))
        };
        let slots: Vec<Slots<_>> =
            devices.iter().map(of_device).collect::<Result<_, _>>().map_err(EngineError::device)?;
        // After the slots: that many threads are started only where there is memory for what they
        // do.
        let threads = ThreadPoolBuilder::new()
            .num_threads(slots.iter().map(Slots::len).sum())
            .thread_name(|i| format!("ctru-slot-{i}"))
            .build()
            .map_err(|error| EngineError::Threads(error.to_string()))?;
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
}

impl<P: ParameterSet, D: Device> fmt::Debug for DeviceEngine<P, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceEngine")
            .field("set", &P::NAME)
            .field("devices", &self.devices)
            .field("chunk", &self.chunk)
            .field("slots", &self.slots())
            .finish()
    }
}

impl<P: ParameterSet, D: Device> Engine<P> for DeviceEngine<P, D> {
    type EncapsulationKeys = LoadedPublic<P, D>;
    type DecapsulationKeys = LoadedPrivate<P, D>;

    type Pinned<T: Send + Sync> = PinnedVec<T, D::Registration>;

    fn pin<T: Send + Sync>(&self, content: Vec<T>) -> Result<Self::Pinned<T>, EngineError> {
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
        let outputs = encapsulation_keys
            .chunks_mut(plan.chunk)
            .zip(decapsulation_keys.chunks_mut(plan.chunk));
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
