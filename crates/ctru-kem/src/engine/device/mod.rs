//! The device engine: runs batches on a GPU or on the emulator, with the same kernels.
//!
//! The modules, from top to bottom:
//!
//! - This module is the typed interface, generic over the parameter set and the device. The modules
//!   below see keys and ciphertexts as bytes and the parameter set as data, so that they are
//!   compiled once per type of device and not once per parameter set.
//! - `resident` does batches whose data is in device memory before and after the call.
//! - `rows` is the interface for rows of bytes, whose parameter set is chosen at run time.
//! - `options` has the choices of the user, and measures which are fastest.
//! - `batch` cuts a batch into chunks and runs each chunk in a slot; `cut` says how large they are,
//!   `deal` which comes next, and `slots` which slot is free. `batch_keys` has the keys of a batch,
//!   cut in the same way, and `threads` makes threads work at once.
//! - `merged` does small batches: those of several callers become common launches. `groups` says
//!   who waits for whom, `gate` keeps out more callers than there are CPUs, and `staged` has the
//!   memory in which callers meet.
//! - `kem` does key generation, encapsulation and decapsulation of a chunk, as copies and kernels.
//! - `check` finds the first row that is not a key.
//! - `slot` has the memory and the queue of a chunk, and copies between the caller and the device.
//! - `launches` collects the kernels of a chunk, which are issued together.
//! - `buffers` has the memory of slots and of loaded keys.
//! - `inversion` is the product tree of key generation.
//! - `powers` inverts the roots of small product trees.
//! - `set` has the sizes and kernels of a parameter set.

mod batch;
mod batch_keys;
mod buffers;
mod check;
#[cfg(feature = "cuda")]
pub mod cuda;
mod cut;
mod deal;
mod encoded;
mod gate;
mod groups;
mod hashes;
mod inversion;
mod kem;
mod launches;
mod merged;
mod options;
#[doc(hidden)]
pub mod powers;
mod prefetch;
mod rejection;
mod resident;
mod rows;
mod set;
mod slot;
mod slots;
mod staged;
mod stores;
mod threads;
mod turn;
mod words;

use core::fmt;
use core::marker::PhantomData;
// The modules `deal`, `groups` and `slots` take what threads share from here.
use std::sync;
use std::vec;
use std::vec::Vec;

use ctru_gpu_runtime::{PinnedVec, RuntimeError};

use super::{Engine, EngineError, KEY_PAIR_SEED_BYTES, Keys, Seeds, check_length};
use crate::bytes::{Transparent, bytes, bytes_mut};
use crate::hash::SEED_BYTES;
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::ParameterSet;
use batch::Batches;
use batch_keys::{BatchKeys, LoadedChunks};
use buffers::{DecapsulationKeyBuffers, EncapsulationKeyBuffers};
use set::Set;
use slot::{SENT_OF_EIGHT_BY_SEVERAL, Slot};
use slots::lock;

pub use ctru_gpu_runtime::{Buffer, Device, DeviceMemory, Queue, Slice};
pub use options::DeviceOptions;
#[doc(hidden)]
pub use options::Merging;
pub use resident::{CheckError, Resident, ResidentKeys, ResidentSeeds};
pub use rows::{DeviceRows, ResidentRowEngine};

/// Runs batches of one parameter set on one or several devices of the same type.
///
/// The engine cuts a batch into chunks, which go to the devices in turn. A chunk takes a slot,
/// which is memory and a queue for one chunk. Calls from several threads share the slots.
///
/// Small batches that several threads encapsulate or decapsulate at the same time, with encoded
/// keys, share launches on the device. A call that meets no other waits for none. If there are more
/// such calls than CPUs, some of them sleep until others return. Where batches share a launch and
/// the device fails, each of their calls returns the error.
pub struct DeviceEngine<P: ParameterSet, D: Device> {
    batches: Batches<D>,
    parameter_set: PhantomData<P>,
}

impl<P: ParameterSet, D: Device> DeviceEngine<P, D> {
    /// Creates an engine on one device and allocates the memory of its slots.
    ///
    /// # Errors
    /// The errors of [`over`](Self::over).
    pub fn new(device: D, options: DeviceOptions) -> Result<Self, EngineError> {
        Self::over(vec![device], options)
    }

    /// Creates an engine on several devices and allocates the memory of its slots. The options
    /// apply to each device. Inversion by powers allocates more when it first runs; see
    /// [`DeviceOptions::memory_limit`].
    ///
    /// The chunks have fewer operations than `options.chunk` if the limit of memory or the kernels
    /// allow fewer.
    ///
    /// # Errors
    /// - [`EngineError::NoSlots`] if `chunk` or `slots` is 0, or if there are no devices.
    /// - [`EngineError::Options`] if chunks of one operation exceed the limit of memory.
    /// - [`EngineError::Device`] if a device or the host has too little memory.
    /// - [`EngineError::Threads`] if the system does not start the threads.
    pub fn over(devices: Vec<D>, options: DeviceOptions) -> Result<Self, EngineError> {
        // Key generation sends encapsulation keys from the device memory of ciphertexts, so these
        // keys must fit into it.
        const {
            let sent = SENT_OF_EIGHT_BY_SEVERAL * P::ENCAPSULATION_KEY_BYTES;
            assert!(sent <= 8 * P::CIPHERTEXT_BYTES);
        }
        let batches = Batches::new(Set::of::<P>(), devices, options)?;
        Ok(Self { batches, parameter_set: PhantomData })
    }

    /// Cancels the batches that are under way in other threads.
    ///
    /// The engine finishes what has begun: chunks that are in a slot or wait for one, and launches
    /// that small batches share. It begins nothing else. The call of a batch returns
    /// [`EngineError::Cancelled`] if an operation was not done.
    pub fn cancel(&self) {
        self.batches.cancel();
    }

    /// Overwrites the memory of all slots and of small batches with zeros, on the devices and on
    /// the host.
    ///
    /// They keep keys, seeds and secrets of a batch until another batch overwrites them. This
    /// function removes them while the engine waits for its next batch. Batches that are under way
    /// go on, and what they write after their memory has been wiped stays. Keys that the engine has
    /// loaded stay, too. Dropping the engine also wipes its memory.
    ///
    /// # Errors
    /// [`EngineError::Device`] if a device fails. All slots that have not failed are wiped, and so
    /// is the host's memory of those that have failed.
    pub fn wipe(&self) -> Result<(), EngineError> {
        self.batches.wipe()
    }

    /// Returns the largest number of operations of a chunk.
    #[must_use]
    pub fn chunk(&self) -> usize {
        self.batches.chunk()
    }

    /// Returns the number of slots of all devices together: the largest number of chunks that are
    /// under way at the same time.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.batches.slots()
    }

    /// Returns the number of common launches of small batches so far.
    #[doc(hidden)]
    #[must_use]
    pub fn common_launches(&self) -> u64 {
        self.batches.merger().launches()
    }

    /// Returns the bytes of device memory that the slots hold, on all devices together, without
    /// the memory for inversion by powers. The number is at most a sixteenth too large.
    #[must_use]
    pub fn device_bytes(&self) -> usize {
        self.slots() * self.batches.footprint().device_bytes(self.chunk())
    }

    /// Returns the bytes of pinned host memory that the engine holds: that of the slots, and that
    /// in which small batches of several callers meet. The number is at most a sixteenth too large.
    #[must_use]
    pub fn pinned_bytes(&self) -> usize {
        let operations = self.slots() * self.chunk() + self.batches.merger().staged_rows();
        self.batches.footprint().pinned_bytes(operations)
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

/// Encapsulation keys of the parameter set `P`, decoded on devices of type `D`.
///
/// An engine accepts loaded keys of its own parameter set and encoding, also those of another
/// engine on the same devices in the same order, if it cuts batches into chunks of the same size or
/// if there is a single key:
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
/// Keys of another parameter set do not compile:
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

/// Decapsulation keys of the parameter set `P`, decoded on devices of type `D`. Wiped when dropped.
///
/// An engine accepts loaded keys of its own parameter set and encoding, also those of another
/// engine on the same devices in the same order, if it cuts batches into chunks of the same size or
/// if there is a single key:
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
/// Keys with another encoding do not compile:
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

/// Returns the keys of a batch of `count` operations as bytes.
///
/// # Errors
/// [`EngineError::Length`] if there is another number of keys than `count`, except for one loaded
/// key, which serves all operations.
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
        self.batches.devices()[0].register(content).map_err(EngineError::from)
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

    fn wipe(&self) -> Result<(), EngineError> {
        Self::wipe(self)
    }
}

impl From<RuntimeError> for EngineError {
    /// Returns the error for a failure before the first operation of the batch.
    fn from(error: RuntimeError) -> Self {
        Self::Device { error, done: Vec::new() }
    }
}
