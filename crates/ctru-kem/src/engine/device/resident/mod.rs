//! Batches whose keys, seeds, ciphertexts and shared secrets are in device memory before and after
//! the call. No row of them passes through the host.
//!
//! - This module is the typed interface of operations, and `check` that of checks of keys.
//! - `run` deals the chunks of a batch to slots and waits for them.
//! - `part` does the operations of a chunk, as kernels.

mod check;
mod part;
mod run;

use core::marker::PhantomData;
use core::ops::Range;
use core::{fmt, iter};
use std::vec::Vec;

use ctru_gpu_runtime::{Device, DeviceMemory, Queue, RuntimeError};

use super::batch_keys::LoadedChunks;
use super::buffers::Decoded;
use super::slot::Slot;
use super::{DeviceEngine, LoadedDecapsulationKeys, LoadedEncapsulationKeys};
use crate::engine::{EngineError, Expand, KEY_PAIR_SEED_BYTES, Seeds, check_length};
use crate::hash::{SEED_BYTES, SHARED_SECRET_BYTES};
use crate::params::ParameterSet;

pub use check::CheckError;

/// Memory of a device of type `D`.
type Memory<D> = <<D as Device>::Queue as Queue>::Memory;

/// The seeds of a batch in device memory, or a master seed on the host.
#[derive(Debug)]
pub enum ResidentSeeds<'a, M> {
    /// One row per operation: 64 bytes for key generation, 32 bytes for encapsulation. They must be
    /// uniform, secret, and used once.
    Each(&'a M),
    /// A master seed, from which the device derives the seeds.
    Expand(Expand<'a>),
}

/// The keys of a batch: encoded keys in device memory, or loaded keys.
#[derive(Debug)]
pub enum ResidentKeys<'a, M, L> {
    /// One row for all operations, or one row per operation. See [the checks](Resident#keys).
    Rows(&'a M),
    /// Loaded keys: one key for all operations, or one key per operation.
    Loaded(&'a L),
}

impl<M> Copy for ResidentSeeds<'_, M> {}
impl<M> Clone for ResidentSeeds<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M, L> Copy for ResidentKeys<'_, M, L> {}
impl<M, L> Clone for ResidentKeys<'_, M, L> {
    fn clone(&self) -> Self {
        *self
    }
}

/// The keys of a batch, with their number where rows are encoded.
enum RowKeys<'a, Q: Queue, K> {
    /// A single encoded key.
    One(&'a Q::Memory),
    /// One encoded key per operation.
    Each(&'a Q::Memory),
    /// One key per operation, which the check of its chunk has decoded in the slot.
    Checked,
    /// Decoded keys.
    Loaded(&'a LoadedChunks<K>),
}

impl<Q: Queue, K> Copy for RowKeys<'_, Q, K> {}
impl<Q: Queue, K> Clone for RowKeys<'_, Q, K> {
    fn clone(&self) -> Self {
        *self
    }
}

/// The interface of a [`DeviceEngine`] to data in device memory. [`DeviceEngine::resident`] creates
/// it.
///
/// All arrays are rows of bytes in memory of one of the engine's devices: a
/// [`Buffer`](ctru_gpu_runtime::Buffer) that a queue of this device has allocated, a
/// [`Slice`](ctru_gpu_runtime::Slice) of one, or memory of other CUDA code (see the module `cuda`).
///
/// ```
/// # use ctru_gpu_runtime::{Device, Queue, emulated::EmulatedDevice};
/// # use ctru_kem::engine::{DeviceEngine, DeviceOptions};
/// # use ctru_kem::engine::device::{ResidentKeys, ResidentSeeds};
/// # use ctru_kem::{Ciphertext, CtruPrime653, DecapsulationKey, SharedSecret};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// const COUNT: usize = 2;
/// let device = EmulatedDevice::new(); // on a GPU: cuda::open(0)?
/// let options = DeviceOptions { chunk: COUNT, slots: 1, ..DeviceOptions::default() };
/// let engine = DeviceEngine::<CtruPrime653, _>::new(device.clone(), options)?;
///
/// // Somebody's keys and seeds, which are on the device.
/// let private = DecapsulationKey::<CtruPrime653>::generate_deterministic(&[1; 32], &[2; 32]);
/// let public = private.encapsulation_key();
/// let queue = device.queue()?;
/// let keys = queue.allocate::<u8>(COUNT * public.as_ref().len())?;
/// let seeds = queue.allocate::<u8>(COUNT * 32)?;
/// let (rows, seed_rows) = (public.as_ref().repeat(COUNT), [[3; 32], [4; 32]].concat());
/// queue.scope(|scope| {
///     queue.upload_from(scope, &rows, &keys)?;
///     queue.upload_from(scope, &seed_rows, &seeds)
/// })?;
///
/// // The results stay there, too.
/// let ciphertexts = queue.allocate::<u8>(COUNT * size_of::<Ciphertext<CtruPrime653>>())?;
/// let secrets = queue.allocate::<u8>(COUNT * 32)?;
/// let resident = engine.resident(&queue);
/// resident.check_encapsulation_keys(&keys)?;
/// let (keys, seeds) = (ResidentKeys::Rows(&*keys), ResidentSeeds::Each(&*seeds));
/// resident.encapsulate(keys, seeds, &ciphertexts, &secrets)?;
///
/// let mut bytes = vec![0; 2 * 32];
/// queue.scope(|scope| queue.download_to(scope, &secrets, &mut bytes))?;
/// let (_, expected) = public.encapsulate_deterministic(&[4; 32]);
/// assert_eq!(SharedSecret::from_rows(&bytes)?[1], expected);
/// # Ok(())
/// # }
/// ```
///
/// # Arrays
///
/// The shared secrets, or for key generation the decapsulation keys, determine the number of
/// operations. Every other array has exactly as many rows, except that there may be a single row of
/// keys. Rows follow one another without gaps:
///
/// | array | bytes per row | address of the first row |
/// |---|---|---|
/// | encapsulation keys | [`ParameterSet::ENCAPSULATION_KEY_BYTES`] | any |
/// | decapsulation keys | [`ParameterSet::DECAPSULATION_KEY_BYTES`] | any |
/// | ciphertexts | [`ParameterSet::CIPHERTEXT_BYTES`] | any |
/// | seeds | 64 for key generation, 32 for encapsulation | a multiple of 8 |
/// | shared secrets | 32 | a multiple of 8 |
///
/// Kernels read and write keys and ciphertexts in aligned words of 4 bytes. Chunks of rows that do
/// not consist of such words inside their array are copied before or afterwards, so an address and
/// a length that are multiples of 4 are faster.
///
/// Outputs must not overlap with one another or with inputs. If they do, their content is
/// unspecified.
///
/// # Order
///
/// The operations of a call follow those that have been issued to the queue `after` when the call
/// begins, by events on the device. **When a call returns, its results are complete, on every
/// queue and stream**, and it has left nothing under way, even after an error. So a caller may use
/// or free all arrays at once. Several threads may call at the same time. A call uses at most half
/// of the device's slots, rounded up.
///
/// # Keys
///
/// Encapsulation and decapsulation take every row as a key. They read and write the arrays only,
/// whatever the rows hold, but with bytes that are not a key the results have no meaning, and with
/// `h = 0` everybody can read the shared secrets. Check rows once if they do not come from this
/// library: [`check_encapsulation_keys`](Self::check_encapsulation_keys),
/// [`check_decapsulation_keys`](Self::check_decapsulation_keys), or in the same pass as the
/// operation, [`check_and_encapsulate`](Self::check_and_encapsulate) and
/// [`check_and_decapsulate`](Self::check_and_decapsulate). The checks refuse placeholders.
///
/// # Errors
///
/// - [`EngineError::Bytes`] if the length of an array is wrong.
/// - [`EngineError::Length`] if the number of loaded keys is wrong.
/// - [`EngineError::Chunks`] if an engine with other chunks has loaded them.
/// - [`EngineError::RowOverflow`] if the row of an operation does not fit 64 bits.
/// - [`EngineError::Device`] if no device of the engine owns the arrays, if they belong to several
///   devices, if the address of seeds or shared secrets is wrong, or if the device fails. `done` is
///   empty.
/// - [`EngineError::Cancelled`] if another thread has called [`DeviceEngine::cancel`].
///
/// Nothing is written before the lengths, addresses and owners of all arrays are checked. After a
/// failure of the device, the content of the outputs is unspecified.
pub struct Resident<'a, P: ParameterSet, D: Device> {
    engine: &'a DeviceEngine<P, D>,
    after: &'a D::Queue,
}

impl<P: ParameterSet, D: Device> fmt::Debug for Resident<'_, P, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resident").field("engine", self.engine).field("after", self.after).finish()
    }
}

impl<P: ParameterSet, D: Device> DeviceEngine<P, D> {
    /// Returns the interface to data in device memory. Its operations follow those that have been
    /// issued to `after`, a queue of the device that owns the data.
    #[must_use]
    pub fn resident<'a>(&'a self, after: &'a D::Queue) -> Resident<'a, P, D> {
        Resident { engine: self, after }
    }
}

/// Checks that an array has `expected` bytes.
fn check_bytes(
    array: &'static str,
    expected: usize,
    memory: &impl DeviceMemory,
) -> Result<(), EngineError> {
    let actual = memory.bytes();
    if actual == expected { Ok(()) } else { Err(EngineError::Bytes { array, expected, actual }) }
}

/// Returns the number of rows of an array, and checks that they are complete.
fn rows(array: &'static str, row: usize, memory: &impl DeviceMemory) -> Result<usize, EngineError> {
    let count = memory.bytes() / row;
    check_bytes(array, count * row, memory)?;
    Ok(count)
}

impl<'a, M: DeviceMemory> ResidentSeeds<'a, M> {
    /// Returns the array of seeds, if there is one.
    fn memory(self) -> Option<&'a M> {
        match self {
            Self::Each(seeds) => Some(seeds),
            Self::Expand(_) => None,
        }
    }

    /// Checks that there are seeds of `N` bytes for `count` operations.
    fn check<const N: usize>(&self, count: usize) -> Result<(), EngineError> {
        match *self {
            Self::Each(seeds) => check_bytes("seeds", count * N, seeds),
            Self::Expand(expand) => Seeds::<N>::Expand(expand).check(count),
        }
    }
}

impl<P: ParameterSet, D: Device> Resident<'_, P, D> {
    /// Returns the number of the device that owns arrays.
    ///
    /// # Errors
    /// [`EngineError::Device`] if no device of the engine owns all of them.
    fn device_of<'m>(
        &self,
        arrays: impl Iterator<Item = &'m Memory<D>> + Clone,
    ) -> Result<usize, EngineError>
    where
        Memory<D>: 'm,
    {
        let mut devices = self.engine.batches.devices().iter();
        let owns_all = |device: &D| arrays.clone().all(|array| device.owns(array));
        let owner = devices.position(owns_all);
        let foreign = RuntimeError::Foreign { what: "device memory", owner: "device" };
        owner.ok_or_else(|| foreign.into())
    }

    /// Returns the number of the device that owns arrays and the keys of their batch.
    ///
    /// # Errors
    /// [`EngineError::Device`] if no device of the engine owns all of them.
    fn device_with<'m, K: Decoded<D::Queue>>(
        &self,
        keys: RowKeys<'m, D::Queue, K>,
        arrays: impl Iterator<Item = &'m Memory<D>> + Clone,
    ) -> Result<usize, EngineError> {
        let rows = match keys {
            RowKeys::One(keys) | RowKeys::Each(keys) => Some(keys),
            RowKeys::Checked | RowKeys::Loaded(_) => None,
        };
        let device = self.device_of(arrays.chain(rows))?;
        if let RowKeys::Loaded(loaded) = keys {
            let chunks = if loaded.len() == 1 { 1 } else { loaded.chunks.len() };
            let chunks = (0..chunks).map(|number| (number, device));
            self.engine.batches.check_owners(loaded, chunks)?;
        }
        Ok(device)
    }

    /// Returns the number of encapsulations or decapsulations with these arrays.
    fn count(
        &self,
        ciphertexts: &Memory<D>,
        shared_secrets: &Memory<D>,
    ) -> Result<usize, EngineError> {
        let count = rows("shared secrets", SHARED_SECRET_BYTES, shared_secrets)?;
        check_bytes("ciphertexts", count * P::CIPHERTEXT_BYTES, ciphertexts)?;
        Ok(count)
    }

    /// Checks the number of keys, and tells a single key from several ones.
    fn keys<'k, L, K>(
        &self,
        keys: ResidentKeys<'k, Memory<D>, L>,
        row: usize,
        count: usize,
        chunks: impl FnOnce(&'k L) -> &'k LoadedChunks<K>,
    ) -> Result<RowKeys<'k, D::Queue, K>, EngineError> {
        match keys {
            ResidentKeys::Rows(key) if key.bytes() == row => Ok(RowKeys::One(key)),
            ResidentKeys::Rows(keys) => {
                check_bytes("keys", count * row, keys)?;
                Ok(RowKeys::Each(keys))
            }
            ResidentKeys::Loaded(loaded) => {
                let chunks = chunks(loaded);
                if chunks.len() != 1 {
                    check_length("loaded keys", count, chunks.len())?;
                }
                chunks.check_chunks(self.engine.batches.loaded_plan(count).chunk)?;
                Ok(RowKeys::Loaded(chunks))
            }
        }
    }

    /// Generates one key pair per row of the outputs.
    ///
    /// # Errors
    /// See [`Resident`](Self#errors).
    pub fn generate(
        &self,
        seeds: ResidentSeeds<'_, Memory<D>>,
        encapsulation_keys: &Memory<D>,
        decapsulation_keys: &Memory<D>,
    ) -> Result<(), EngineError> {
        self.generate_both(seeds, Some(encapsulation_keys), decapsulation_keys)
    }

    /// Generates one decapsulation key per row of the output. Each contains its encapsulation key.
    ///
    /// # Errors
    /// See [`Resident`](Self#errors).
    pub fn generate_decapsulation_keys(
        &self,
        seeds: ResidentSeeds<'_, Memory<D>>,
        decapsulation_keys: &Memory<D>,
    ) -> Result<(), EngineError> {
        self.generate_both(seeds, None, decapsulation_keys)
    }

    /// Generates key pairs, or decapsulation keys alone.
    fn generate_both(
        &self,
        seeds: ResidentSeeds<'_, Memory<D>>,
        encapsulation_keys: Option<&Memory<D>>,
        decapsulation_keys: &Memory<D>,
    ) -> Result<(), EngineError> {
        let count = rows("decapsulation keys", P::DECAPSULATION_KEY_BYTES, decapsulation_keys)?;
        if let Some(keys) = encapsulation_keys {
            check_bytes("encapsulation keys", count * P::ENCAPSULATION_KEY_BYTES, keys)?;
        }
        seeds.check::<KEY_PAIR_SEED_BYTES>(count)?;
        let keys = encapsulation_keys.into_iter().chain([decapsulation_keys]);
        let device = self.device_of(keys.chain(seeds.memory()))?;
        self.engine.batches.run_resident(
            device,
            self.after,
            count,
            |slot, part| slot.generate_part(part, seeds, encapsulation_keys, decapsulation_keys),
            |_, _| Ok(()),
        )
    }

    /// Encapsulates once per row of the outputs.
    ///
    /// # Errors
    /// See [`Resident`](Self#errors).
    pub fn encapsulate(
        &self,
        keys: ResidentKeys<'_, Memory<D>, LoadedEncapsulationKeys<P, D>>,
        seeds: ResidentSeeds<'_, Memory<D>>,
        ciphertexts: &Memory<D>,
        shared_secrets: &Memory<D>,
    ) -> Result<(), EngineError> {
        let count = self.count(ciphertexts, shared_secrets)?;
        seeds.check::<SEED_BYTES>(count)?;
        let keys = self.keys(keys, P::ENCAPSULATION_KEY_BYTES, count, |keys| &keys.chunks)?;
        let arrays = [ciphertexts, shared_secrets].into_iter().chain(seeds.memory());
        self.engine.batches.run_resident(
            self.device_with(keys, arrays)?,
            self.after,
            count,
            |slot, part| slot.encapsulate_part(part, keys, seeds, ciphertexts, shared_secrets),
            |_, _| Ok(()),
        )
    }

    /// Decapsulates each row of the ciphertexts.
    ///
    /// # Errors
    /// See [`Resident`](Self#errors).
    pub fn decapsulate(
        &self,
        keys: ResidentKeys<'_, Memory<D>, LoadedDecapsulationKeys<P, D>>,
        ciphertexts: &Memory<D>,
        shared_secrets: &Memory<D>,
    ) -> Result<(), EngineError> {
        let count = self.count(ciphertexts, shared_secrets)?;
        let keys = self.keys(keys, P::DECAPSULATION_KEY_BYTES, count, |keys| &keys.chunks)?;
        self.engine.batches.run_resident(
            self.device_with(keys, [ciphertexts, shared_secrets].into_iter())?,
            self.after,
            count,
            |slot, part| slot.decapsulate_part(part, keys, ciphertexts, shared_secrets),
            |_, _| Ok(()),
        )
    }

    /// Decodes encapsulation keys into memory of the engine, for any number of batches. The keys
    /// must be well formed; see [the checks](Self#keys).
    ///
    /// Several keys then serve batches with as many operations as keys. If the engine has several
    /// devices, only batches on the device of these rows can use the loaded keys.
    ///
    /// # Errors
    /// See [`Resident`](Self#errors).
    pub fn load_encapsulation_keys(
        &self,
        keys: &Memory<D>,
    ) -> Result<LoadedEncapsulationKeys<P, D>, EngineError> {
        let decode = Slot::decode_encapsulation_rows;
        let chunks = self.load(keys, P::ENCAPSULATION_KEY_BYTES, decode)?;
        Ok(LoadedEncapsulationKeys { chunks, parameter_set: PhantomData })
    }

    /// Decodes decapsulation keys into memory of the engine, for any number of batches. What
    /// [`load_encapsulation_keys`](Self::load_encapsulation_keys) says applies to them, too.
    ///
    /// # Errors
    /// See [`Resident`](Self#errors).
    pub fn load_decapsulation_keys(
        &self,
        keys: &Memory<D>,
    ) -> Result<LoadedDecapsulationKeys<P, D>, EngineError> {
        let decode = Slot::decode_decapsulation_rows;
        let chunks = self.load(keys, P::DECAPSULATION_KEY_BYTES, decode)?;
        Ok(LoadedDecapsulationKeys { chunks, parameter_set: PhantomData })
    }

    /// Decodes keys of `row` bytes each with `decode`, chunk by chunk.
    fn load<K>(
        &self,
        keys: &Memory<D>,
        row: usize,
        decode: impl Fn(&Slot<D::Queue>, &Memory<D>, &Range<usize>) -> Result<K, RuntimeError>,
    ) -> Result<LoadedChunks<K>, EngineError> {
        let mut chunks = Vec::new();
        let count = rows("keys", row, keys)?;
        self.engine.batches.run_resident(
            self.device_of(iter::once(keys))?,
            self.after,
            count,
            |slot, part| {
                chunks.push(decode(slot, keys, &part.range)?);
                Ok(())
            },
            |_, _| Ok(()),
        )?;
        let chunk = self.engine.batches.loaded_plan(count).chunk;
        Ok(LoadedChunks { chunks, keys: count, chunk })
    }
}
