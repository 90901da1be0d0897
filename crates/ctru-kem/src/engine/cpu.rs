//! The CPU engine: runs batches on the cores of this machine.

use core::fmt;
use core::marker::PhantomData;
use core::slice;
use std::sync::Arc;
use std::vec::Vec;

use super::{Engine, EngineError, check_length};
use crate::batch::{KeyRows, Keys, LoadedKeys, Seeds};
use crate::bytes::{Transparent, bytes, bytes_mut};
use crate::hash::{KEY_PAIR_SEED_BYTES, SEED_BYTES};
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::ParameterSet;
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

    pub(super) fn pool(&self) -> &ThreadPool {
        &self.pool
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

/// Encapsulation keys that a [`CpuEngine`] has decoded to polynomials.
pub struct LoadedEncapsulationKeys<P: ParameterSet>(LoadedKeys, PhantomData<P>);

/// Decapsulation keys that a [`CpuEngine`] has decoded to polynomials, wiped when dropped.
pub struct LoadedDecapsulationKeys<P: ParameterSet>(LoadedKeys, PhantomData<P>);

impl<P: ParameterSet> fmt::Debug for LoadedEncapsulationKeys<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LoadedEncapsulationKeys<{}>({} keys)", P::NAME, self.0.count())
    }
}

impl<P: ParameterSet> fmt::Debug for LoadedDecapsulationKeys<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LoadedDecapsulationKeys<{}>({} keys)", P::NAME, self.0.count())
    }
}

/// Returns the keys of a batch of `count` operations.
///
/// # Errors
/// [`EngineError::Length`] if there is another number of keys than `count`, except for one loaded
/// key, which serves all operations.
fn key_rows<'a, K: Transparent, L>(
    keys: Keys<'a, K, L>,
    count: usize,
    loaded: impl FnOnce(&'a L) -> &'a LoadedKeys,
) -> Result<KeyRows<'a>, EngineError> {
    Ok(match keys {
        Keys::One(key) => KeyRows::Checked(bytes(slice::from_ref(key))),
        Keys::Each(keys) => {
            check_length("keys", count, keys.len())?;
            KeyRows::Checked(bytes(keys))
        }
        Keys::Loaded(keys) => {
            let keys = loaded(keys);
            if keys.count() != 1 {
                check_length("loaded keys", count, keys.count())?;
            }
            KeyRows::Loaded(keys)
        }
    })
}

/// Each method checks lengths and calls the operation of the parameter set.
impl<P: ParameterSet> Engine<P> for CpuEngine {
    type EncapsulationKeys = LoadedEncapsulationKeys<P>;
    type DecapsulationKeys = LoadedDecapsulationKeys<P>;
    type Pinned<T: Send + Sync> = Vec<T>;

    fn pin<T: Send + Sync>(&self, content: Vec<T>) -> Result<Vec<T>, EngineError> {
        Ok(content)
    }

    fn load_encapsulation_keys(
        &self,
        keys: &[EncapsulationKey<P>],
    ) -> Result<Self::EncapsulationKeys, EngineError> {
        let loaded = P::load_encapsulation_keys(&self.pool, bytes(keys));
        Ok(LoadedEncapsulationKeys(loaded, PhantomData))
    }

    fn load_decapsulation_keys(
        &self,
        keys: &[DecapsulationKey<P>],
    ) -> Result<Self::DecapsulationKeys, EngineError> {
        let loaded = P::load_decapsulation_keys(&self.pool, bytes(keys));
        Ok(LoadedDecapsulationKeys(loaded, PhantomData))
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
        let encapsulation_keys = bytes_mut(encapsulation_keys);
        P::generate_batch(&self.pool, seeds, encapsulation_keys, bytes_mut(decapsulation_keys));
        Ok(())
    }

    fn generate_decapsulation_keys(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        decapsulation_keys: &mut [DecapsulationKey<P>],
    ) -> Result<(), EngineError> {
        seeds.check(decapsulation_keys.len())?;
        P::generate_batch(&self.pool, seeds, &mut [], bytes_mut(decapsulation_keys));
        Ok(())
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
        let keys = key_rows(keys, count, |loaded| &loaded.0)?;
        let (ciphertexts, secrets) = (bytes_mut(ciphertexts), bytes_mut(shared_secrets));
        P::encapsulate_batch(&self.pool, keys, seeds, ciphertexts, secrets)
            .expect("keys are well formed");
        Ok(())
    }

    fn decapsulate(
        &self,
        keys: Keys<'_, DecapsulationKey<P>, Self::DecapsulationKeys>,
        ciphertexts: &[Ciphertext<P>],
        shared_secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError> {
        let count = shared_secrets.len();
        check_length("ciphertexts", count, ciphertexts.len())?;
        let keys = key_rows(keys, count, |loaded| &loaded.0)?;
        let (ciphertexts, secrets) = (bytes(ciphertexts), bytes_mut(shared_secrets));
        P::decapsulate_batch(&self.pool, keys, ciphertexts, secrets).expect("keys are well formed");
        Ok(())
    }
}
