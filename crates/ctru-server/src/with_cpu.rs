//! An engine that leaves to the CPU what another one has no kernels for.

use ctru_kem::Parameters;
use ctru_kem::SEED_BYTES;
use ctru_kem::engine::{
    BatchEngine, CpuEngine, EngineError, KEY_PAIR_SEED_BYTES, KeyRows, LoadedKeys, PinnedBytes,
    Seeds,
};

/// An engine, and the CPU for parameters that it does not support.
#[derive(Debug)]
pub struct WithCpu<E> {
    engine: E,
    cpu: CpuEngine,
}

impl<E: BatchEngine> WithCpu<E> {
    /// Returns the engine with one on all cores beside it.
    ///
    /// # Errors
    /// [`EngineError::Threads`] if the system does not start the threads.
    pub fn new(engine: E) -> Result<Self, EngineError> {
        Ok(Self { engine, cpu: CpuEngine::new()? })
    }

    fn of(&self, parameters: Parameters) -> &dyn BatchEngine {
        if self.engine.supports(parameters) { &self.engine } else { &self.cpu }
    }
}

impl<E: BatchEngine> BatchEngine for WithCpu<E> {
    fn generate_rows(
        &self,
        parameters: Parameters,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: Option<&mut [u8]>,
        decapsulation_keys: &mut [u8],
    ) -> Result<(), EngineError> {
        let engine = self.of(parameters);
        engine.generate_rows(parameters, seeds, encapsulation_keys, decapsulation_keys)
    }

    fn encapsulate_rows(
        &self,
        parameters: Parameters,
        keys: KeyRows<'_>,
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), EngineError> {
        let engine = self.of(parameters);
        engine.encapsulate_rows(parameters, keys, seeds, ciphertexts, shared_secrets)
    }

    fn decapsulate_rows(
        &self,
        parameters: Parameters,
        keys: KeyRows<'_>,
        ciphertexts: &[u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), EngineError> {
        self.of(parameters).decapsulate_rows(parameters, keys, ciphertexts, shared_secrets)
    }

    fn load_encapsulation_rows(
        &self,
        parameters: Parameters,
        keys: &[u8],
    ) -> Result<LoadedKeys, EngineError> {
        self.of(parameters).load_encapsulation_rows(parameters, keys)
    }

    fn load_decapsulation_rows(
        &self,
        parameters: Parameters,
        keys: &[u8],
    ) -> Result<LoadedKeys, EngineError> {
        self.of(parameters).load_decapsulation_rows(parameters, keys)
    }

    fn pin(&self, bytes: Vec<u8>) -> Result<PinnedBytes, EngineError> {
        self.engine.pin(bytes)
    }

    fn wipe(&self) -> Result<(), EngineError> {
        self.engine.wipe()
    }
}
