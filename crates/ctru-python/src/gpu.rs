//! The engine of a GPU, for rows in its memory and for rows on the host.
#![allow(unsafe_code)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use ctru_kem::Parameters;
use ctru_kem::engine::cuda::{self, CudaDevice, CudaEngine, CudaMemory, CudaQueue};
use ctru_kem::engine::device::{Buffer, Device, Queue, ResidentKeys, ResidentSeeds};
use ctru_kem::engine::{
    BatchEngine, DeviceEngine, DeviceOptions, EngineError, Expand, RuntimeError,
};
use pyo3::PyResult;

use crate::errors::engine_error;
use crate::part::{GpuBytes, Part, Place};

/// An engine that computes on a GPU.
pub(crate) struct Gpu {
    device: CudaDevice,
    /// A queue that waits for the work of other libraries on their arrays. Operations on these
    /// arrays follow it.
    queue: CudaQueue,
    engine: CudaEngine,
    /// Memory for keys from the host that no call uses now, all zeros. Dropping memory waits for
    /// all streams of the GPU, those of other libraries too, so calls leave it here.
    spare: Mutex<Vec<KeyMemory>>,
}

/// Memory of the GPU for one key.
type KeyMemory = Buffer<u8, CudaMemory>;

impl Gpu {
    /// Opens the GPU with this number, for a parameter set.
    ///
    /// # Errors
    /// [`EngineError`] if there is no driver, or no such GPU with enough memory.
    pub(crate) fn open(number: u32, set: Parameters) -> Result<Self, EngineError> {
        let device = cuda::open(number)?;
        let engine = DeviceEngine::new(device, DeviceOptions::default())?;
        engine.prepare(set)?;
        let queue = device.queue().map_err(EngineError::from)?;
        Ok(Self { device, queue, engine, spare: Mutex::default() })
    }

    /// Returns the engine for rows on the host.
    pub(crate) fn host_rows(&self) -> &dyn BatchEngine {
        &self.engine
    }

    /// Returns the place of arrays on this GPU.
    pub(crate) fn place(&self) -> Place {
        Place::Gpu(self.device)
    }

    /// Returns the number of the GPU.
    pub(crate) fn number(&self) -> u32 {
        self.device.index()
    }

    /// Calls a function of other libraries while this GPU is the current device of the thread.
    ///
    /// # Errors
    /// Those of the function, and the exception of this package if the driver refuses the GPU.
    pub(crate) fn within<T>(&self, call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        self.device.within(call).map_err(|error| engine_error(&error.into()))?
    }

    /// Returns the stream that waits for what other libraries do with arrays, as a number of
    /// DLPack.
    pub(crate) fn stream(&self) -> usize {
        self.queue.stream()
    }

    /// Generates one key pair for each row of the outputs.
    pub(crate) fn generate(
        &self,
        set: Parameters,
        seeds: Expand<'_>,
        public: GpuBytes<'_>,
        private: GpuBytes<'_>,
    ) -> Result<(), EngineError> {
        // SAFETY: a resident call leaves nothing under way.
        let (public, private) = unsafe { (public.lent(), private.lent()) };
        let resident = self.engine.resident(set, &self.queue)?;
        resident.generate(ResidentSeeds::Expand(seeds), Some(&*public), &private)
    }

    /// Encapsulates once for each row of the outputs. A key on the host serves all operations.
    pub(crate) fn encapsulate(
        &self,
        set: Parameters,
        keys: Part<'_>,
        seeds: Expand<'_>,
        ciphertexts: GpuBytes<'_>,
        secrets: GpuBytes<'_>,
    ) -> Result<(), EngineError> {
        // SAFETY: a resident call leaves nothing under way.
        let (ciphertexts, secrets) = unsafe { (ciphertexts.lent(), secrets.lent()) };
        let seeds = ResidentSeeds::Expand(seeds);
        self.with_keys(keys, |keys| {
            let resident = self.engine.resident(set, &self.queue)?;
            resident.encapsulate(keys, seeds, &ciphertexts, &secrets)
        })
    }

    /// Decapsulates each ciphertext. A key on the host serves all operations.
    pub(crate) fn decapsulate(
        &self,
        set: Parameters,
        keys: Part<'_>,
        ciphertexts: GpuBytes<'_>,
        secrets: GpuBytes<'_>,
    ) -> Result<(), EngineError> {
        // SAFETY: a resident call leaves nothing under way.
        let (ciphertexts, secrets) = unsafe { (ciphertexts.lent(), secrets.lent()) };
        self.with_keys(keys, |keys| {
            let resident = self.engine.resident(set, &self.queue)?;
            resident.decapsulate(keys, &ciphertexts, &secrets)
        })
    }

    /// Calls a function that leaves nothing under way with keys in the memory of the GPU.
    fn with_keys(
        &self,
        keys: Part<'_>,
        compute: impl FnOnce(ResidentKeys<'_, CudaMemory>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        match keys {
            Part::Gpu(keys) => {
                // SAFETY: `compute` leaves nothing under way.
                let keys = unsafe { keys.lent() };
                compute(ResidentKeys::Unchecked(&keys))
            }
            Part::Host(key) => {
                let copy = self.key_memory(key.len())?;
                let uploaded = self.queue.scope(|scope| self.queue.upload_from(scope, key, &copy));
                let result = uploaded.map_err(EngineError::from);
                let result = result.and_then(|()| compute(ResidentKeys::Unchecked(&copy)));
                // Memory that cannot be wiped is dropped, which tries it again.
                if self.queue.wipe(&copy).and_then(|()| self.queue.synchronise()).is_ok() {
                    self.spare().push(copy);
                }
                result
            }
        }
    }

    /// Returns memory for a key of this length that no other call uses.
    fn key_memory(&self, length: usize) -> Result<KeyMemory, RuntimeError> {
        let mut spare = self.spare();
        match spare.iter().position(|memory| memory.len() == length) {
            Some(place) => Ok(spare.swap_remove(place)),
            None => self.queue.allocate(length),
        }
    }

    /// Locks the list of memory for keys. Every change of it is a single step.
    fn spare(&self) -> MutexGuard<'_, Vec<KeyMemory>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Overwrites bytes with zeros, unless the GPU has failed.
    pub(crate) fn wipe(&self, bytes: GpuBytes<'_>) {
        // SAFETY: `settle` waits for the queue, or ends the process.
        let bytes = unsafe { bytes.lent() };
        let _ = self.queue.wipe(&bytes);
        self.queue.settle();
    }
}
