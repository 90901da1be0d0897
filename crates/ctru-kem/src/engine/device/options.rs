//! The choices of a device engine's user, and the choice of chunk and slots by measurement.

use std::collections::HashMap;
use std::format;
use std::string::String;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use std::vec::Vec;

use ctru_gpu_runtime::{Device, PinnedVec, RuntimeError};

use super::DeviceEngine;
use crate::engine::{Engine, EngineError, Keys, Seeds};
use crate::hash::SEED_BYTES;
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::ParameterSet;

/// How much of a device an engine takes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DeviceOptions {
    /// The most operations of a chunk. Kernels compute the place of an operation's row in 32 bits,
    /// so that an engine takes no more than 3 million for n = 653, 2.6 million for n = 761 and 1.5
    /// million for n = 1277, even if this is larger.
    pub chunk: usize,
    /// The most chunks in flight on each device. Each has memory of its own and a thread of the
    /// host.
    pub slots: usize,
    /// The bytes of memory that the slots may take on each device. Loaded keys come on top.
    pub memory_limit: usize,
    /// How the engine multiplies polynomials.
    pub products: Products,
}

impl Default for DeviceOptions {
    /// Returns 16 slots of 8192 operations, at most 2 GiB, and products on tensor cores, which are
    /// faster on an H200 for every size of batch.
    fn default() -> Self {
        Self { chunk: 8192, slots: 16, memory_limit: 2 << 30, products: Products::Polyphase }
    }
}

/// How an engine multiplies polynomials.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Products {
    /// The incomplete NTT on CUDA cores, with separate kernels for sampling, rounding and coding.
    Ntt,
    /// Matrix products on tensor cores. One kernel does everything between coins and ciphertexts.
    Polyphase,
    /// The same as [`Polyphase`](Self::Polyphase), but where one key serves all operations, the
    /// full matrix of the key times all other operands.
    SameKey,
}

/// The operations of a chunk and the number of slots that are tried.
const CANDIDATES: [(usize, usize); 5] = [(2048, 16), (4096, 8), (4096, 16), (8192, 8), (8192, 16)];
/// The number of measurements of each; the shortest time counts.
const REPETITIONS: usize = 3;
/// The seed of the measured operations, whose results nobody uses.
const SEED: &[u8; SEED_BYTES] = b"ctru calibration: not a secret..";

/// The choices of this process, by parameter set, devices and number of operations.
type Chosen = Mutex<HashMap<(&'static str, String, usize), DeviceOptions>>;

impl DeviceOptions {
    /// Returns the options with the chunk and the number of slots for which `operations` key
    /// generations, encapsulations and decapsulations together take the least time on these
    /// devices. For a million operations, this takes a few seconds on a GPU. A process keeps the
    /// result for each parameter set, devices and number of operations.
    ///
    /// # Errors
    /// [`EngineError`] if no choice fits into `self.memory_limit`, if the host has no room for this
    /// many operations, or if a device fails.
    pub fn calibrated<P: ParameterSet, D: Device>(
        self,
        devices: &[D],
        operations: usize,
    ) -> Result<Self, EngineError> {
        static CHOSEN: OnceLock<Chosen> = OnceLock::new();
        let chosen = CHOSEN.get_or_init(Mutex::default);
        let key =
            (P::NAME, format!("{devices:?} {:?} {}", self.products, self.memory_limit), operations);
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

/// Returns `count` copies of an element, if the host has room for them.
fn copies<T: Clone>(element: T, count: usize) -> Result<Vec<T>, EngineError> {
    let requested = count.saturating_mul(size_of::<T>());
    let mut copies = Vec::new();
    copies
        .try_reserve_exact(count)
        .map_err(|_| EngineError::device(RuntimeError::OutOfHostMemory { requested }))?;
    copies.resize(count, element);
    Ok(copies)
}

/// Returns `count` copies of an element in memory that `device` has pinned.
fn pinned<D: Device, T: Clone + Send>(
    device: &D,
    element: T,
    count: usize,
) -> Result<PinnedVec<T, D::Registration>, EngineError> {
    device.register(copies(element, count)?).map_err(EngineError::device)
}

/// Returns the time of all three operations together, on memory that `device` has pinned.
fn time<P: ParameterSet, D: Device>(
    engine: &DeviceEngine<P, D>,
    device: &D,
    operations: usize,
) -> Result<Duration, EngineError> {
    let mut public = pinned(device, EncapsulationKey::<P>::placeholder(), operations)?;
    let mut private = pinned(device, DecapsulationKey::<P>::placeholder(), operations)?;
    let mut ciphertexts = pinned(device, Ciphertext::<P>::default(), operations)?;
    let mut secrets = copies(SharedSecret::default(), operations)?;
    let mut least = Duration::MAX;
    for _ in 0..REPETITIONS {
        let start = Instant::now();
        engine.generate(Seeds::Expand(SEED), &mut public, &mut private)?;
        engine.encapsulate(
            Keys::Each(&public),
            Seeds::Expand(SEED),
            &mut ciphertexts,
            &mut secrets,
        )?;
        engine.decapsulate(Keys::Each(&private), &ciphertexts, &mut secrets)?;
        least = least.min(start.elapsed());
    }
    Ok(least)
}
