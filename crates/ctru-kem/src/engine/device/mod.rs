//! The device engine: batches on a GPU, or on the emulator, through one pipeline of kernels.
//!
//! Modules, each of which uses only those below it:
//!
//! - this one: the typed interface, for a parameter set and a device. Below it, keys and
//!   ciphertexts are bytes, and the parameter set is data: the code is compiled once per device.
//! - `batch`: cuts a batch into chunks and runs each in a slot, on a thread
//! - `kem`: key generation, encapsulation and decapsulation of a chunk, as copies and kernels
//! - `slot`: memory and queues of a chunk; copies between the caller and the device
//! - `buffers`: the memory of slots and loaded keys
//! - `inversion`: the product tree of key generation
//! - `set`: sizes and kernels of a parameter set
//! - `bytes`: keys and ciphertexts as bytes; `options`: choices of the user, and their calibration

mod batch;
mod buffers;
#[cfg(feature = "cuda")]
pub mod cuda;
mod inversion;
mod kem;
mod options;
mod prefetch;
mod set;
mod slot;

use core::fmt;
use core::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::vec;
use std::vec::Vec;

use ctru_gpu_runtime::{Device, PinnedVec, RuntimeError};

use super::{Engine, EngineError, KEY_PAIR_SEED_BYTES, Keys, Seeds, check_length};
use crate::bytes::{Transparent, bytes, bytes_mut};
use crate::hash::SEED_BYTES;
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::ParameterSet;
use batch::{BatchKeys, Batches, LoadedChunks};
use buffers::{DecapsulationKeyBuffers, EncapsulationKeyBuffers, Footprint};
use set::Set;
use slot::{SENT_OF_EIGHT, Slot};

pub use options::{DeviceOptions, Products};

/// Runs batches of one parameter set on a device, or on several of a kind.
///
/// The chunks of a batch go to the devices in turn. Calls from several threads share the slots; a
/// batch that is smaller than a chunk takes one slot.
pub struct DeviceEngine<P: ParameterSet, D: Device> {
    batches: Batches<D>,
    parameter_set: PhantomData<P>,
}

impl<P: ParameterSet, D: Device> DeviceEngine<P, D> {
    /// Creates an engine on one device and allocates all its memory.
    ///
    /// # Errors
    /// Those of [`over`](Self::over).
    pub fn new(device: D, options: DeviceOptions) -> Result<Self, EngineError> {
        Self::over(vec![device], options)
    }

    /// Creates an engine on several devices, with the options for each of them, and allocates all
    /// its memory.
    ///
    /// A chunk has fewer operations than `options.chunk` where the limit of memory asks for it, or
    /// where kernels cannot number as many.
    ///
    /// # Errors
    /// [`EngineError::Options`] if a number is 0, there are no devices, or not even chunks of one
    /// operation keep the limit; [`EngineError::Device`] if a device has less memory;
    /// [`EngineError::Threads`] if the system gives no threads.
    pub fn over(devices: Vec<D>, options: DeviceOptions) -> Result<Self, EngineError> {
        // Encapsulation keys are sent from the memory of ciphertexts.
        const { assert!(SENT_OF_EIGHT * P::ENCAPSULATION_KEY_BYTES <= 8 * P::CIPHERTEXT_BYTES) };
        let batches = Batches::new(Set::of::<P>(), devices, options)?;
        Ok(Self { batches, parameter_set: PhantomData })
    }

    /// Ends the batches that are under way; another thread calls this. Chunks that are in their
    /// slots are finished, no other chunk is begun, and the calls return
    /// [`EngineError::Cancelled`] if some operation was left out.
    pub fn cancel(&self) {
        self.batches.cancel();
    }

    /// Returns the most operations of a chunk.
    #[must_use]
    pub fn chunk(&self) -> usize {
        self.batches.chunk()
    }

    /// Returns the most chunks in flight, on all devices together.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.batches.slots()
    }

    /// Returns the bytes of device memory that the slots hold, on all devices together.
    #[must_use]
    pub fn device_bytes(&self) -> usize {
        self.slots() * self.chunk() * Footprint::of(self.batches.set()).device_bytes
    }

    /// Returns the bytes of pinned host memory that the slots hold.
    #[must_use]
    pub fn pinned_bytes(&self) -> usize {
        self.slots() * self.chunk() * Footprint::of(self.batches.set()).pinned_bytes
    }
}

impl<P: ParameterSet, D: Device> fmt::Debug for DeviceEngine<P, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceEngine")
            .field("set", &self.batches.set().name)
            .field("devices", &self.batches.devices())
            .field("chunk", &self.chunk())
            .field("slots", &self.slots())
            .finish()
    }
}

/// Encapsulation keys of the parameter set `P`, decoded on the device `D`.
///
/// An engine takes keys of its own parameter set and encoding:
///
/// ```
/// # use ctru_gpu_runtime::Device;
/// # use ctru_kem::engine::{DeviceEngine, Engine, EngineError, Keys, Seeds};
/// # use ctru_kem::{Ciphertext, CtruPrime1277, EncapsulationKey, SharedSecret};
/// # fn example<D: Device>(
/// #     one: DeviceEngine<CtruPrime1277, D>,
/// #     another: DeviceEngine<CtruPrime1277, D>,
/// #     key: EncapsulationKey<CtruPrime1277>,
/// # ) -> Result<(), EngineError> {
/// let loaded = one.load_encapsulation_keys(&[key])?;
/// let (mut ciphertexts, mut secrets) = ([Ciphertext::default()], [SharedSecret::default()]);
/// let (keys, seeds) = (Keys::Loaded(&loaded), Seeds::Each(&[[1; 32]]));
/// another.encapsulate(keys, seeds, &mut ciphertexts, &mut secrets)
/// # }
/// ```
///
/// ```compile_fail,E0308
/// # use ctru_gpu_runtime::Device;
/// # use ctru_kem::engine::{DeviceEngine, Engine, EngineError, Keys, Seeds};
/// # use ctru_kem::{Ciphertext, CtruPrime653, CtruPrime1277, EncapsulationKey, SharedSecret};
/// # fn example<D: Device>(
/// #     one: DeviceEngine<CtruPrime653, D>,
/// #     another: DeviceEngine<CtruPrime1277, D>,
/// #     key: EncapsulationKey<CtruPrime653>,
/// # ) -> Result<(), EngineError> {
/// let loaded = one.load_encapsulation_keys(&[key])?;
/// let (mut ciphertexts, mut secrets) = ([Ciphertext::default()], [SharedSecret::default()]);
/// let (keys, seeds) = (Keys::Loaded(&loaded), Seeds::Each(&[[1; 32]]));
/// another.encapsulate(keys, seeds, &mut ciphertexts, &mut secrets)
/// # }
/// ```
pub struct LoadedEncapsulationKeys<P: ParameterSet, D: Device> {
    chunks: LoadedChunks<EncapsulationKeyBuffers<D::Queue>>,
    parameter_set: PhantomData<P>,
}

/// Decapsulation keys of the parameter set `P`, decoded on the device `D`; wiped when dropped.
///
/// An engine takes keys of its own parameter set and encoding:
///
/// ```
/// # use ctru_gpu_runtime::Device;
/// # use ctru_kem::engine::{DeviceEngine, Engine, EngineError, Keys};
/// # use ctru_kem::{Ciphertext, CtruPrime761, DecapsulationKey, Packed13, SharedSecret};
/// # fn example<D: Device>(
/// #     one: DeviceEngine<CtruPrime761<Packed13>, D>,
/// #     another: DeviceEngine<CtruPrime761<Packed13>, D>,
/// #     key: DecapsulationKey<CtruPrime761<Packed13>>,
/// # ) -> Result<(), EngineError> {
/// let loaded = one.load_decapsulation_keys(&[key])?;
/// let (ciphertexts, mut secrets) = ([Ciphertext::default()], [SharedSecret::default()]);
/// another.decapsulate(Keys::Loaded(&loaded), &ciphertexts, &mut secrets)
/// # }
/// ```
///
/// ```compile_fail,E0308
/// # use ctru_gpu_runtime::Device;
/// # use ctru_kem::engine::{DeviceEngine, Engine, EngineError, Keys};
/// # use ctru_kem::{Ciphertext, CtruPrime761, DecapsulationKey, SharedSecret};
/// # use ctru_kem::{MixedRadix, Packed13};
/// # fn example<D: Device>(
/// #     one: DeviceEngine<CtruPrime761<MixedRadix>, D>,
/// #     another: DeviceEngine<CtruPrime761<Packed13>, D>,
/// #     key: DecapsulationKey<CtruPrime761<MixedRadix>>,
/// # ) -> Result<(), EngineError> {
/// let loaded = one.load_decapsulation_keys(&[key])?;
/// let (ciphertexts, mut secrets) = ([Ciphertext::default()], [SharedSecret::default()]);
/// another.decapsulate(Keys::Loaded(&loaded), &ciphertexts, &mut secrets)
/// # }
/// ```
pub struct LoadedDecapsulationKeys<P: ParameterSet, D: Device> {
    chunks: LoadedChunks<DecapsulationKeyBuffers<D::Queue>>,
    parameter_set: PhantomData<P>,
}

impl<P: ParameterSet, D: Device> fmt::Debug for LoadedEncapsulationKeys<P, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LoadedEncapsulationKeys<{}>({} keys)", P::NAME, self.chunks.len())
    }
}

impl<P: ParameterSet, D: Device> fmt::Debug for LoadedDecapsulationKeys<P, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LoadedDecapsulationKeys<{}>({} keys)", P::NAME, self.chunks.len())
    }
}

/// Returns the keys as bytes, after checking that there is one, or one for each operation.
fn batch_keys<'a, K: Transparent, L, A>(
    keys: Keys<'a, K, L>,
    count: usize,
    chunks: impl FnOnce(&'a L) -> &'a LoadedChunks<A>,
) -> Result<BatchKeys<'a, A>, EngineError> {
    Ok(match keys {
        Keys::One(key) => BatchKeys::One(bytes(core::slice::from_ref(key))),
        Keys::Each(keys) => {
            check_length("keys", count, keys.len())?;
            BatchKeys::Each(bytes(keys))
        }
        Keys::Loaded(loaded) => {
            let chunks = chunks(loaded);
            if chunks.len() != 1 {
                check_length("loaded keys", count, chunks.len())?;
            }
            BatchKeys::Loaded(chunks)
        }
    })
}

impl<P: ParameterSet, D: Device> Engine<P> for DeviceEngine<P, D> {
    type EncapsulationKeys = LoadedEncapsulationKeys<P, D>;
    type DecapsulationKeys = LoadedDecapsulationKeys<P, D>;

    type Pinned<T: Send + Sync> = PinnedVec<T, D::Registration>;

    fn pin<T: Send + Sync>(&self, content: Vec<T>) -> Result<Self::Pinned<T>, EngineError> {
        self.batches.devices()[0].register(content).map_err(EngineError::device)
    }

    fn load_encapsulation_keys(
        &self,
        keys: &[EncapsulationKey<P>],
    ) -> Result<Self::EncapsulationKeys, EngineError> {
        let load = Slot::load_encapsulation_keys;
        let chunks = self.batches.load(bytes(keys), P::ENCAPSULATION_KEY_BYTES, load)?;
        Ok(LoadedEncapsulationKeys { chunks, parameter_set: PhantomData })
    }

    fn load_decapsulation_keys(
        &self,
        keys: &[DecapsulationKey<P>],
    ) -> Result<Self::DecapsulationKeys, EngineError> {
        let load = Slot::load_decapsulation_keys;
        let chunks = self.batches.load(bytes(keys), P::DECAPSULATION_KEY_BYTES, load)?;
        Ok(LoadedDecapsulationKeys { chunks, parameter_set: PhantomData })
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
        self.batches.generate(seeds, bytes_mut(encapsulation_keys), bytes_mut(decapsulation_keys))
    }

    fn generate_decapsulation_keys(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        decapsulation_keys: &mut [DecapsulationKey<P>],
    ) -> Result<(), EngineError> {
        seeds.check(decapsulation_keys.len())?;
        self.batches.generate(seeds, &mut [], bytes_mut(decapsulation_keys))
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
        let keys = batch_keys(keys, count, |loaded| &loaded.chunks)?;
        self.batches.encapsulate(keys, seeds, bytes_mut(ciphertexts), shared_secrets)
    }

    fn decapsulate(
        &self,
        keys: Keys<'_, DecapsulationKey<P>, Self::DecapsulationKeys>,
        ciphertexts: &[Ciphertext<P>],
        shared_secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError> {
        let count = shared_secrets.len();
        check_length("ciphertexts", count, ciphertexts.len())?;
        let keys = batch_keys(keys, count, |loaded| &loaded.chunks)?;
        self.batches.decapsulate(keys, bytes(ciphertexts), shared_secrets)
    }
}

impl EngineError {
    /// Returns the error of a failure before any operation of the batch was begun.
    fn device(error: RuntimeError) -> Self {
        Self::Device { error, done: Vec::new() }
    }
}

/// Locks `mutex`. A slot can be used again after a panic: every operation writes what it reads.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
