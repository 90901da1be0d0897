//! The options of a device engine, and the choice of chunk and slots by measurement.

use core::any::type_name;
use std::collections::HashMap;
use std::format;
use std::string::String;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use std::vec::Vec;

use ctru_gpu_runtime::{Device, PinnedVec, RuntimeError};

use super::DeviceEngine;
use crate::encoding::PublicKeyEncoding;
use crate::engine::{Context, Engine, EngineError, Expand, Keys, Seeds};
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::ParameterSet;

/// The options of a device engine: the size and number of its slots, and the limit of their memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DeviceOptions {
    /// The largest number of operations of a chunk.
    ///
    /// Kernels compute indices in 32 bits. An engine therefore takes at most about 3 million
    /// operations for n = 653, 2.6 million for n = 761 and 1.5 million for n = 1277, even if this
    /// number is larger. If the memory limit makes chunks smaller, chunks of 256 and more have a
    /// multiple of 256 operations.
    pub chunk: usize,
    /// The largest number of chunks that are under way at the same time on each device. Each slot
    /// has its own memory and its own queue.
    pub slots: usize,
    /// The largest number of bytes of device memory that the slots take on each device. Loaded keys
    /// take further memory. So does inversion by powers, when it first needs it: up to 30 MB on
    /// each device and up to 1.4 MB for each slot. Without this memory, key generation inverts by
    /// division steps.
    pub memory_limit: usize,
    /// The largest number of key generations of a chunk that inverts the roots of its product tree
    /// by powers (Itoh and Tsujii). Larger chunks invert them by division steps. With 0, all chunks
    /// do. `None` stands for the number that is best on an H200: 8192 for n = 653 and 761, and 2048
    /// for n = 1277.
    ///
    /// The first inversion by powers computes matrices on the host, which takes some 20 to 90 ms.
    pub itoh_tsujii_max_chunk: Option<usize>,
    /// How the engine merges small batches of several callers. Not part of the stable interface.
    #[doc(hidden)]
    pub merging: Merging,
    /// Whether every batch takes the kernels of large ones: kernels of their own for each step, and
    /// the matrix of the key if there is one. For tests, because large batches take minutes on the
    /// emulator. Not part of the stable interface.
    #[doc(hidden)]
    pub as_large: bool,
}

impl Default for DeviceOptions {
    /// Returns 16 slots of 8192 operations, at most 2 GiB, and inversion by powers where it is
    /// faster on an H200.
    fn default() -> Self {
        Self {
            chunk: 8192,
            slots: 16,
            memory_limit: 2 << 30,
            itoh_tsujii_max_chunk: None,
            merging: Merging::default(),
            as_large: false,
        }
    }
}

/// The limits for merging small batches of several callers.
#[doc(hidden)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Merging {
    /// The largest number of operations of a common launch, or 0 if no batches are merged.
    pub rows: usize,
    /// The largest number of common launches that are under way, on each device.
    pub under_way: usize,
    /// How long a caller spins before it sleeps, while it waits for others.
    pub spin: Duration,
    /// The largest number of decapsulations of a batch for which the host computes the secrets of
    /// rejected ciphertexts. `None` stands for five times the number of Keccak states that the CPU
    /// permutes at the same time.
    pub rejections: Option<usize>,
    /// The largest number of callers whose batches are merged at the same time. `None` stands for
    /// the number of CPUs. Further callers wait.
    pub callers: Option<usize>,
}

impl Default for Merging {
    fn default() -> Self {
        Self {
            rows: 128,
            under_way: 8,
            spin: Duration::from_micros(200),
            rejections: None,
            callers: None,
        }
    }
}

/// The candidates that the calibration tries: operations per chunk and number of slots.
const CANDIDATES: [(usize, usize); 5] = [(2048, 16), (4096, 8), (4096, 16), (8192, 8), (8192, 16)];
/// The number of measurements of each candidate. The shortest time counts.
const REPETITIONS: usize = 3;
/// The seed of the measured operations. It is not secret, because their results are discarded.
const SEEDS: Expand<'_> =
    Expand { seed: b"ctru calibration: not a secret..", context: Context::EMPTY, first: 0 };

/// The results of this process, by parameter set and encoding, devices with their memory and with
/// options, and number of operations.
type Chosen = Mutex<HashMap<([&'static str; 2], String, usize), DeviceOptions>>;

impl DeviceOptions {
    /// Returns these options with the fastest chunk and number of slots for batches of `operations`
    /// operations on these devices.
    ///
    /// The function measures key generation, encapsulation and decapsulation together, for several
    /// candidates. For a million operations, it takes a few seconds on a GPU. The process remembers
    /// the result, so that a second call with the same arguments returns at once.
    ///
    /// # Errors
    /// [`EngineError`] if one operation per slot exceeds `memory_limit`, if the host has no memory
    /// for `operations` operations, if a device fails, or if the system does not start the threads.
    pub fn calibrated<P: ParameterSet, D: Device>(
        self,
        devices: &[D],
        operations: usize,
    ) -> Result<Self, EngineError> {
        static CHOSEN: OnceLock<Chosen> = OnceLock::new();
        let chosen = CHOSEN.get_or_init(Mutex::default);
        let set = [P::NAME, P::Encoding::NAME];
        let Self { memory_limit, itoh_tsujii_max_chunk, merging, as_large, .. } = self;
        let memory: Result<Vec<_>, _> =
            devices.iter().map(|device| device.memory_info().map(|info| info.total)).collect();
        let (kind, memory) = (type_name::<D>(), memory?);
        let options = format!("{memory_limit} {itoh_tsujii_max_chunk:?} {merging:?} {as_large}");
        let described = format!("{kind} {devices:?} {memory:?} {options}");
        let key = (set, described, operations);
        if let Some(&options) = super::lock(chosen).get(&key) {
            return Ok(options);
        }
        let mut best: Option<(Duration, Self)> = None;
        for (chunk, slots) in CANDIDATES {
            let options = Self { chunk, slots, ..self };
            let engine = DeviceEngine::<P, D>::over(devices.to_vec(), options)?;
            let time = time(&engine, &devices[0], operations)?;
            if best.is_none_or(|(least, _)| time < least) {
                best = Some((time, Self { chunk: engine.chunk(), ..options }));
            }
        }
        let options = best.map_or(self, |(_, options)| options);
        super::lock(chosen).insert(key, options);
        Ok(options)
    }
}

/// Returns a vector of `count` copies of an element.
///
/// # Errors
/// [`EngineError::Device`] if the host has no memory for the vector.
fn copies<T: Clone>(element: T, count: usize) -> Result<Vec<T>, EngineError> {
    let requested = count.saturating_mul(size_of::<T>());
    let mut copies = Vec::new();
    copies
        .try_reserve_exact(count)
        .map_err(|_| EngineError::from(RuntimeError::OutOfHostMemory { requested }))?;
    copies.resize(count, element);
    Ok(copies)
}

/// Returns `count` copies of an element in memory that `device` has pinned.
///
/// # Errors
/// [`EngineError::Device`] if the host has no memory, or if the device cannot pin it.
fn pinned<D: Device, T: Clone + Send>(
    device: &D,
    element: T,
    count: usize,
) -> Result<PinnedVec<T, D::Registration>, EngineError> {
    device.register(copies(element, count)?).map_err(EngineError::from)
}

/// Returns the shortest time that all three operations take together, on memory that `device` has
/// pinned.
fn time<P: ParameterSet, D: Device>(
    engine: &DeviceEngine<P, D>,
    device: &D,
    operations: usize,
) -> Result<Duration, EngineError> {
    let mut encapsulation_keys = pinned(device, EncapsulationKey::<P>::placeholder(), operations)?;
    let mut decapsulation_keys = pinned(device, DecapsulationKey::<P>::placeholder(), operations)?;
    let mut ciphertexts = pinned(device, Ciphertext::<P>::default(), operations)?;
    let mut secrets = copies(SharedSecret::default(), operations)?;
    let mut least = Duration::MAX;
    for _ in 0..REPETITIONS {
        let start = Instant::now();
        engine.generate(Seeds::Expand(SEEDS), &mut encapsulation_keys, &mut decapsulation_keys)?;
        engine.encapsulate(
            Keys::Each(&encapsulation_keys),
            Seeds::Expand(SEEDS),
            &mut ciphertexts,
            &mut secrets,
        )?;
        engine.decapsulate(Keys::Each(&decapsulation_keys), &ciphertexts, &mut secrets)?;
        least = least.min(start.elapsed());
    }
    Ok(least)
}
