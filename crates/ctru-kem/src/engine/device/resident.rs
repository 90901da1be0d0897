//! Batches whose keys, seeds, ciphertexts and shared secrets are in device memory before and after
//! the call. No row of them passes through the host.

use core::{fmt, iter};

use ctru_gpu_runtime::batch::travel::{Source, Target};
use ctru_gpu_runtime::{Device, DeviceMemory, Queue, RuntimeError};

use super::DeviceEngine;
use super::batch::Batches;
use super::job::{Job, JobSeeds, Outputs};
use super::set::{Operation, Set};
use crate::Sizes;
use crate::engine::rows::is_refusal;
use crate::engine::{EngineError, Expand, KEY_PAIR_SEED_BYTES, KeySource, LoadedKeys, Seeds};
use crate::hash::{SEED_BYTES, SHARED_SECRET_BYTES};
use crate::parameters::Parameters;

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

/// The keys of a batch: rows in device memory, or loaded keys. The device checks rows that are not
/// [trusted](Resident#keys) in the same pass as the operation.
pub type ResidentKeys<'a, M> = KeySource<'a, M>;

impl<M> Copy for ResidentSeeds<'_, M> {}
impl<M> Clone for ResidentSeeds<'_, M> {
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
/// # use ctru_kem::{Ciphertext, CtruPrime653, DecapsulationKey, ParameterSet, SharedSecret};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// const COUNT: usize = 2;
/// let device = EmulatedDevice::new(); // on a GPU: cuda::open(0)?
/// let options = DeviceOptions { chunk: COUNT, slots: 1, ..DeviceOptions::default() };
/// let engine = DeviceEngine::new(device.clone(), options)?;
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
/// let resident = engine.resident(<CtruPrime653>::PARAMETERS, &queue)?;
/// let (keys, seeds) = (ResidentKeys::Unchecked(&*keys), ResidentSeeds::Each(&*seeds));
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
/// | encapsulation keys | [`encapsulation_key`](crate::Sizes::encapsulation_key) | any |
/// | decapsulation keys | [`decapsulation_key`](crate::Sizes::decapsulation_key) | any |
/// | ciphertexts | [`ciphertext`](crate::Sizes::ciphertext) | any |
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
/// Trusted rows are taken as keys. Operations read and write the arrays only, whatever the rows
/// hold, but with bytes that are not a key the results have no meaning, and with `h = 0` everybody
/// can read the shared secrets. Other rows are checked as they are decoded, or once by
/// [`check_encapsulation_keys`](Self::check_encapsulation_keys) and
/// [`check_decapsulation_keys`](Self::check_decapsulation_keys). The checks refuse placeholders,
/// except that every string of the right length is an encapsulation key of NTRU Prime.
///
/// If a row is refused, operations of all rows may have been done, also of this one, and every
/// shared secret is overwritten with zeros. In CTRU-Prime, the ciphertext of a row whose polynomial
/// is 0 shows its message, so do not use any.
///
/// For each row of a decapsulation key, the device computes one word: 0 for a key, else whether the
/// secret polynomial is at fault, what is wrong with the encapsulation key, and for NTRU Prime
/// whether the hash of that key is another one. It runs the same instructions on the same addresses
/// for all rows. The host searches the words for the first that is not 0. So time and result show
/// about secrets only which row is the first bad one, and whether its secret polynomial is at
/// fault.
///
/// # Errors
///
/// - [`EngineError::Bytes`] if the length of an array is wrong.
/// - [`EngineError::Length`] if the number of loaded keys is wrong, and
///   [`EngineError::ForeignKeys`] if they are others.
/// - [`EngineError::EncapsulationKey`] or [`EngineError::DecapsulationKey`] with the first row that
///   is not a key.
/// - [`EngineError::Chunks`] if an engine with other chunks has loaded them.
/// - [`EngineError::RowOverflow`] if the row of an operation does not fit 64 bits.
/// - [`EngineError::Device`] if no device of the engine owns the arrays, if they belong to several
///   devices or to another one than the queue `after`, if the address of seeds or shared secrets is
///   wrong, or if the device fails. `done` is empty.
/// - [`EngineError::Cancelled`] if another thread has called [`DeviceEngine::cancel`].
///
/// Nothing is written before the lengths, addresses and owners of all arrays are checked. After a
/// failure of the device, the content of the outputs is unspecified.
pub struct Resident<'a, D: Device> {
    batches: &'a Batches<D>,
    after: &'a D::Queue,
}

impl<D: Device> fmt::Debug for Resident<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters = format_args!("{}", self.batches.set.parameters);
        f.debug_struct("Resident")
            .field("parameters", &parameters)
            .field("after", self.after)
            .finish_non_exhaustive()
    }
}

impl<D: Device> DeviceEngine<D> {
    /// Returns the interface to data in device memory. Its operations follow those that have been
    /// issued to `after`, a queue of the device that owns the data.
    ///
    /// # Errors
    /// The errors of [`prepare`](Self::prepare).
    pub fn resident<'a>(
        &'a self,
        parameters: Parameters,
        after: &'a D::Queue,
    ) -> Result<Resident<'a, D>, EngineError> {
        Ok(Resident { batches: self.batches(parameters)?, after })
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

    fn of_job(self) -> JobSeeds<'a, M> {
        match self {
            Self::Each(seeds) => JobSeeds::Each(Source::Device(seeds)),
            Self::Expand(expand) => JobSeeds::Expand(expand),
        }
    }
}

impl<D: Device> Resident<'_, D> {
    fn set(&self) -> &'static Set {
        self.batches.set
    }

    /// Returns the number of the device that owns arrays, and the queue whose work comes first.
    ///
    /// # Errors
    /// [`EngineError::Device`] if no device of the engine owns all of them, or if the queue belongs
    /// to another device.
    fn on<'m>(
        &self,
        arrays: impl Iterator<Item = &'m Memory<D>> + Clone,
    ) -> Result<Option<(usize, &D::Queue)>, EngineError>
    where
        Memory<D>: 'm,
    {
        // A queue makes slices of memory of its own device only.
        arrays.clone().try_for_each(|array| self.after.slice::<u8>(array, 0..0).map(drop))?;
        let owns_all = |device: &D| arrays.clone().all(|array| device.owns(array));
        match self.batches.devices.iter().position(owns_all) {
            Some(device) => Ok(Some((device, self.after))),
            None => Err(RuntimeError::Foreign { what: "device memory", owner: "device" }.into()),
        }
    }

    /// Returns the number of encapsulations or decapsulations with these arrays.
    fn count(
        &self,
        ciphertexts: &Memory<D>,
        shared_secrets: &Memory<D>,
    ) -> Result<usize, EngineError> {
        let count = rows("shared secrets", SHARED_SECRET_BYTES, shared_secrets)?;
        check_bytes("ciphertexts", count * self.set().sizes.ciphertext, ciphertexts)?;
        Ok(count)
    }

    /// Generates one key pair per row of the outputs, or only its decapsulation key, which contains
    /// the encapsulation key.
    ///
    /// # Errors
    /// See [`Resident`](Self#errors).
    pub fn generate(
        &self,
        seeds: ResidentSeeds<'_, Memory<D>>,
        encapsulation_keys: Option<&Memory<D>>,
        decapsulation_keys: &Memory<D>,
    ) -> Result<(), EngineError> {
        let Sizes { encapsulation_key, decapsulation_key, .. } = self.set().sizes;
        let count = rows("decapsulation keys", decapsulation_key, decapsulation_keys)?;
        if let Some(keys) = encapsulation_keys {
            check_bytes("encapsulation keys", count * encapsulation_key, keys)?;
        }
        seeds.check::<KEY_PAIR_SEED_BYTES>(count)?;
        let keys = encapsulation_keys.into_iter().chain([decapsulation_keys]);
        let on = self.on(keys.chain(seeds.memory()))?;
        let job = Job { seeds: seeds.of_job(), ..Job::new(Operation::KeyPairs, on) };
        let keys = encapsulation_keys.map(Target::Device);
        let rows = Some(Target::Device(decapsulation_keys));
        self.batches.run(job, count, Outputs { keys, rows, ..Outputs::default() })
    }

    /// Encapsulates once per row of the outputs.
    ///
    /// # Errors
    /// See [`Resident`](Self#errors).
    pub fn encapsulate(
        &self,
        keys: ResidentKeys<'_, Memory<D>>,
        seeds: ResidentSeeds<'_, Memory<D>>,
        ciphertexts: &Memory<D>,
        shared_secrets: &Memory<D>,
    ) -> Result<(), EngineError> {
        let count = self.count(ciphertexts, shared_secrets)?;
        seeds.check::<SEED_BYTES>(count)?;
        let arrays = [Some(ciphertexts), Some(shared_secrets), seeds.memory()];
        let mut job = self.job(Operation::Encapsulation, keys, count, arrays)?;
        job.seeds = seeds.of_job();
        let (rows, secrets) = (Target::Device(ciphertexts), Target::Device(shared_secrets));
        let outputs = Outputs { rows: Some(rows), secrets: Some(secrets), ..Outputs::default() };
        self.run(job, count, outputs, shared_secrets)
    }

    /// Decapsulates each row of the ciphertexts.
    ///
    /// # Errors
    /// See [`Resident`](Self#errors).
    pub fn decapsulate(
        &self,
        keys: ResidentKeys<'_, Memory<D>>,
        ciphertexts: &Memory<D>,
        shared_secrets: &Memory<D>,
    ) -> Result<(), EngineError> {
        let count = self.count(ciphertexts, shared_secrets)?;
        let arrays = [Some(ciphertexts), Some(shared_secrets), None];
        let mut job = self.job(Operation::Decapsulation, keys, count, arrays)?;
        job.ciphertexts = Some(Source::Device(ciphertexts));
        let secrets = Some(Target::Device(shared_secrets));
        let outputs = Outputs { secrets, ..Outputs::default() };
        self.run(job, count, outputs, shared_secrets)
    }

    /// Returns a batch of `count` operations on `arrays`.
    fn job<'j>(
        &'j self,
        operation: Operation,
        keys: ResidentKeys<'j, Memory<D>>,
        count: usize,
        arrays: [Option<&'j Memory<D>>; 3],
    ) -> Result<Job<'j, D::Queue>, EngineError> {
        let row = self.set().key_bytes(operation.kind());
        keys.check(self.set().parameters, count, |rows| match rows.bytes() == row {
            true => Ok(1),
            false => check_bytes("keys", count * row, rows).map(|()| count),
        })?;
        let on = self.on(arrays.into_iter().chain([keys.rows()]).flatten())?;
        Job::with_keys(operation, on, (keys, Source::Device), row)
    }

    /// Does a batch. If a row was refused, overwrites the shared secrets with zeros, so that those
    /// of other rows or of an earlier batch are not left in memory.
    fn run(
        &self,
        job: Job<'_, D::Queue>,
        count: usize,
        outputs: Outputs<'_, D::Queue>,
        shared_secrets: &Memory<D>,
    ) -> Result<(), EngineError> {
        let result = self.batches.run(job, count, outputs);
        if is_refusal(&result) {
            let wiped = self.after.wipe(shared_secrets);
            self.after.settle();
            wiped?;
        }
        result
    }

    /// Checks that rows of bytes are encapsulation keys.
    ///
    /// # Errors
    /// [`EngineError::EncapsulationKey`] with the first row that is not a key, and the reason why
    /// [`EncapsulationKey::from_bytes`](crate::EncapsulationKey::from_bytes) refuses it, or another
    /// error of [`Resident`](Self#errors).
    pub fn check_encapsulation_keys(&self, keys: &Memory<D>) -> Result<(), EngineError> {
        self.check(Operation::PublicToLoad, keys)
    }

    /// Checks that rows of bytes are decapsulation keys.
    ///
    /// # Errors
    /// [`EngineError::DecapsulationKey`] with the first row that is not a key, and the reason why
    /// [`DecapsulationKey::from_bytes`](crate::DecapsulationKey::from_bytes) refuses it, or another
    /// error of [`Resident`](Self#errors).
    pub fn check_decapsulation_keys(&self, keys: &Memory<D>) -> Result<(), EngineError> {
        self.check(Operation::PrivateToLoad, keys)
    }

    fn check(&self, operation: Operation, keys: &Memory<D>) -> Result<(), EngineError> {
        let count = rows("keys", self.set().key_bytes(operation.kind()), keys)?;
        let on = self.on(iter::once(keys))?;
        if !self.set().shape(operation).refuses_keys {
            return Ok(());
        }
        let job = Job { rows: Some(Source::Device(keys)), ..Job::new(operation, on) };
        self.batches.run(job, count, Outputs::default())
    }

    /// Checks encapsulation keys and decodes them into memory of the engine, for any number of
    /// batches.
    ///
    /// Several keys then serve batches with as many operations as keys. If the engine has several
    /// devices, only batches on the device of these rows can use the loaded keys.
    ///
    /// # Errors
    /// See [`Resident`](Self#errors).
    pub fn load_encapsulation_keys(&self, keys: &Memory<D>) -> Result<LoadedKeys, EngineError> {
        self.load(Operation::PublicToLoad, keys)
    }

    /// Checks decapsulation keys and decodes them into memory of the engine, for any number of
    /// batches. What [`load_encapsulation_keys`](Self::load_encapsulation_keys) says applies to
    /// them, too.
    ///
    /// # Errors
    /// See [`Resident`](Self#errors).
    pub fn load_decapsulation_keys(&self, keys: &Memory<D>) -> Result<LoadedKeys, EngineError> {
        self.load(Operation::PrivateToLoad, keys)
    }

    fn load(&self, operation: Operation, keys: &Memory<D>) -> Result<LoadedKeys, EngineError> {
        rows("keys", self.set().key_bytes(operation.kind()), keys)?;
        let on = self.on(iter::once(keys))?;
        self.batches.load(operation, Source::Device(keys), on)
    }
}
