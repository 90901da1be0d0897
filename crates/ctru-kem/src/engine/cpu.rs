//! The CPU engine: runs batches on the cores of this machine.

use core::fmt;
use std::sync::Arc;
use std::vec::Vec;

use super::lengths::{check_generation, check_operations};
use super::rows::without_secrets_if_refused;
use super::{BatchEngine, EngineError, KeyRows, LoadedKeys, PinnedBytes, Seeds};
use crate::batch::count_rows;
use crate::cores;
use crate::hash::{KEY_PAIR_SEED_BYTES, SEED_BYTES};
use crate::parameters::Parameters;
use crate::threads::{self, ThreadPool};

/// An engine on the cores of this machine. Clones share the threads.
#[derive(Clone)]
pub struct CpuEngine {
    pool: Arc<ThreadPool>,
}

impl CpuEngine {
    /// The largest number of threads that an engine has.
    pub const MAX_THREADS: usize = threads::MOST;

    /// Returns an engine with one thread per core, or with as many as the environment variable
    /// `RAYON_NUM_THREADS` says.
    ///
    /// # Errors
    /// [`EngineError::Threads`] if these are more than [`Self::MAX_THREADS`], or if the system does
    /// not start them.
    pub fn new() -> Result<Self, EngineError> {
        Self::with_threads(0)
    }

    /// Returns an engine with `threads` threads. If `threads` is 0, it has one thread per core, or
    /// as many as the environment variable `RAYON_NUM_THREADS` says. In WebAssembly without
    /// threads, the calling thread does all work. Everywhere, the calling thread does batches of up
    /// to 8 encapsulations or decapsulations, or of one key pair, by itself.
    ///
    /// # Errors
    /// [`EngineError::Threads`] if these are more than [`Self::MAX_THREADS`], or if the system does
    /// not start them.
    pub fn with_threads(threads: usize) -> Result<Self, EngineError> {
        let pool = threads::start(threads).map_err(EngineError::Threads)?;
        Ok(Self { pool: Arc::new(pool) })
    }

    /// Returns the number of worker threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }
}

impl fmt::Debug for CpuEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuEngine").field("threads", &self.threads()).finish()
    }
}

/// Each method checks lengths and calls the operation of the parameter set.
impl BatchEngine for CpuEngine {
    fn generate_rows(
        &self,
        parameters: Parameters,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: Option<&mut [u8]>,
        decapsulation_keys: &mut [u8],
    ) -> Result<(), EngineError> {
        check_generation(parameters, seeds, encapsulation_keys.as_deref(), decapsulation_keys)?;
        let public = encapsulation_keys.unwrap_or_default();
        with_parameters!(parameters, P => {
            cores::generate::<P>(&self.pool, seeds, public, decapsulation_keys);
        });
        Ok(())
    }

    fn encapsulate_rows(
        &self,
        parameters: Parameters,
        keys: KeyRows<'_>,
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), EngineError> {
        let key_bytes = parameters.sizes().encapsulation_key;
        let count = check_operations(parameters, key_bytes, keys, ciphertexts, shared_secrets)?;
        seeds.check(count)?;
        let result = with_parameters!(parameters, P => {
            cores::encapsulate::<P>(&self.pool, keys, seeds, ciphertexts, shared_secrets)
        });
        without_secrets_if_refused(result, shared_secrets)
    }

    fn decapsulate_rows(
        &self,
        parameters: Parameters,
        keys: KeyRows<'_>,
        ciphertexts: &[u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), EngineError> {
        let key_bytes = parameters.sizes().decapsulation_key;
        check_operations(parameters, key_bytes, keys, ciphertexts, shared_secrets)?;
        let result = with_parameters!(parameters, P => {
            cores::decapsulate::<P>(&self.pool, keys, ciphertexts, shared_secrets)
        });
        without_secrets_if_refused(result, shared_secrets)
    }

    fn load_encapsulation_rows(
        &self,
        parameters: Parameters,
        keys: &[u8],
    ) -> Result<LoadedKeys, EngineError> {
        count_rows("keys", parameters.sizes().encapsulation_key, keys)?;
        with_parameters!(parameters, P => {
            cores::load::<cores::PublicKeys<P>>(&self.pool, parameters, keys)
        })
    }

    fn load_decapsulation_rows(
        &self,
        parameters: Parameters,
        keys: &[u8],
    ) -> Result<LoadedKeys, EngineError> {
        count_rows("keys", parameters.sizes().decapsulation_key, keys)?;
        with_parameters!(parameters, P => {
            cores::load::<cores::PrivateKeys<P>>(&self.pool, parameters, keys)
        })
    }

    fn pin(&self, bytes: Vec<u8>) -> Result<PinnedBytes, EngineError> {
        Ok(PinnedBytes::new(bytes))
    }

    fn wipe(&self) -> Result<(), EngineError> {
        Ok(())
    }
}
