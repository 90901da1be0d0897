//! The size of chunks and the number of slots, by measurement.

use std::collections::HashMap;
use std::format;
use std::string::String;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use std::vec::Vec;

use ctru_gpu_runtime::{Device, RuntimeError};

use super::slots::lock;
use super::{DeviceEngine, DeviceOptions};
use crate::engine::{Engine, EngineError, Keys, Seeds};
use crate::hash::SEED_BYTES;
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::ParameterSet;

/// Chunks and slots that are tried.
const CANDIDATES: [(usize, usize); 5] = [(2048, 16), (4096, 8), (4096, 16), (8192, 8), (8192, 16)];
/// Each is measured so often, and the best time counts.
const REPETITIONS: usize = 3;
/// What the measured operations are made of: nothing that is used.
const SEED: &[u8; SEED_BYTES] = b"ctru calibration: not a secret..";

/// What was chosen in this process, by parameter set, devices and operations.
type Chosen = Mutex<HashMap<(&'static str, String, usize), DeviceOptions>>;

impl DeviceOptions {
    /// The options with the chunk and the number of slots for which `operations` key generations, encapsulations and
    /// decapsulations together take the least time on these devices. It takes a few seconds on a GPU for a million of them; in
    /// a process, the result is kept for each parameter set, devices and number of operations.
    ///
    /// # Errors
    /// [`EngineError`] if no choice fits into `self.memory_limit`, the host has no room for so many
    /// operations, or a device fails.
    pub fn calibrated<P: ParameterSet, D: Device>(
        self,
        devices: &[D],
        operations: usize,
    ) -> Result<Self, EngineError> {
        static CHOSEN: OnceLock<Chosen> = OnceLock::new();
        let chosen = CHOSEN.get_or_init(Mutex::default);
        let key =
            (P::NAME, format!("{devices:?} {:?} {}", self.products, self.memory_limit), operations);
        if let Some(&options) = lock(chosen).get(&key) {
            return Ok(options);
        }
        let mut best: Option<(Duration, Self)> = None;
        for (chunk, slots) in CANDIDATES {
            let options = Self { chunk, slots, ..self };
            let engine = DeviceEngine::<P, D>::over(devices.to_vec(), options)?;
            let time = time(&engine, operations)?;
            if best.is_none_or(|(least, _)| time < least) {
                best = Some((time, Self { chunk: engine.chunk(), ..options }));
            }
        }
        let options = best.map_or(self, |(_, options)| options);
        lock(chosen).insert(key, options);
        Ok(options)
    }
}

/// So many copies of an element, if the host has room for them.
fn copies<T: Clone>(element: T, count: usize) -> Result<Vec<T>, EngineError> {
    let requested = count.saturating_mul(size_of::<T>());
    let mut copies = Vec::new();
    copies
        .try_reserve_exact(count)
        .map_err(|_| EngineError::device(RuntimeError::OutOfHostMemory { requested }))?;
    copies.resize(count, element);
    Ok(copies)
}

/// The time of all three operations together.
fn time<P: ParameterSet, D: Device>(
    engine: &DeviceEngine<P, D>,
    operations: usize,
) -> Result<Duration, EngineError> {
    let mut public = engine.pin(copies(EncapsulationKey::<P>::placeholder(), operations)?)?;
    let mut private = engine.pin(copies(DecapsulationKey::<P>::placeholder(), operations)?)?;
    let mut ciphertexts = engine.pin(copies(Ciphertext::<P>::default(), operations)?)?;
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
