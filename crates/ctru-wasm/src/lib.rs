#![doc = include_str!("../README.md")]

mod fault;
mod js;
mod set;

use std::sync::OnceLock;

use ctru_kem::engine::{BatchEngine, CpuEngine, EngineError, KeyRows, Seeds};
use ctru_kem::{KEY_PAIR_SEED_BYTES, SEED_BYTES, SHARED_SECRET_BYTES, Sizes, wiping_the_stack};
use wasm_bindgen::prelude::wasm_bindgen;
use zeroize::Zeroizing;

pub use fault::Fault;
use js::{Array, Uint8Array};
use set::parameters;

/// Does nothing. Its name tells the package which module this is.
#[cfg_attr(target_feature = "simd128", wasm_bindgen(js_name = "simd128"))]
#[cfg_attr(not(target_feature = "simd128"), wasm_bindgen(js_name = "scalar"))]
pub fn name() {}

/// Returns the numbers of all sets: the degree of the ring, plus 2^16 for 13-bit encoding, or plus
/// 2^17 for NTRU Prime.
#[wasm_bindgen]
pub fn numbers() -> Vec<u32> {
    set::numbers().collect()
}

/// Returns the sizes of a set in bytes: of an encapsulation key, a decapsulation key, a ciphertext,
/// a shared secret, the seed of a key pair, and the seed of an encapsulation.
///
/// # Errors
/// [`Fault::Set`] if no set has the number.
#[wasm_bindgen]
pub fn sizes(set: u32) -> Result<Vec<u32>, Fault> {
    let parameters = parameters(set)?;
    let Sizes { encapsulation_key, decapsulation_key, ciphertext } = parameters.sizes();
    let values = [encapsulation_key, decapsulation_key, ciphertext, SHARED_SECRET_BYTES];
    let seeds = [parameters.key_pair_seed_bytes(), SEED_BYTES];
    Ok(values.into_iter().chain(seeds).map(|bytes| bytes as u32).collect())
}

/// Generates `count` key pairs, at random or from one seed for each. Returns the encapsulation keys
/// and the decapsulation keys.
///
/// # Errors
/// [`Fault`] if there is no such set, the number of seeds differs, or there is no memory or no
/// randomness.
#[wasm_bindgen]
pub fn generate(set: u32, count: usize, seeds: Option<Uint8Array>) -> Result<Array, Fault> {
    wiping_the_stack::<STACK, _>(|| {
        let parameters = parameters(set)?;
        let row_bytes = parameters.key_pair_seed_bytes();
        let rows = self::seeds(seeds, count, row_bytes)?;
        // The engine refuses another number of seeds than `count`.
        let mut seeds = Zeroizing::new(room(rows.len() / row_bytes, KEY_PAIR_SEED_BYTES)?);
        let seeds = seeds.as_chunks_mut().0;
        parameters.write_key_pair_seeds(&rows, seeds);
        let mut public = room(count, parameters.sizes().encapsulation_key)?;
        let mut private = Zeroizing::new(room(count, parameters.sizes().decapsulation_key)?);
        let seeds = Seeds::Each(seeds);
        engine().generate_rows(parameters, seeds, Some(&mut public), &mut private)?;
        Ok(Array::pair(&Uint8Array::new(&public), &Uint8Array::new(&private)))
    })
}

/// Encapsulates `count` times, at random or from one seed for each operation, to one key or to one
/// key for each. Returns the ciphertexts and the shared secrets.
///
/// # Errors
/// [`Fault`] if there is no such set, lengths do not fit together, a key is refused, or there is no
/// memory or no randomness.
#[wasm_bindgen]
pub fn encapsulate(
    set: u32,
    keys: &Uint8Array,
    count: usize,
    seeds: Option<Uint8Array>,
) -> Result<Array, Fault> {
    wiping_the_stack::<STACK, _>(|| {
        let parameters = parameters(set)?;
        let keys = from_js(keys)?;
        let seeds = self::seeds(seeds, count, SEED_BYTES)?;
        let mut ciphertexts = room(count, parameters.sizes().ciphertext)?;
        let mut secrets = Zeroizing::new(room(count, SHARED_SECRET_BYTES)?);
        let seeds = Seeds::Each(seeds.as_chunks().0);
        let keys = KeyRows::Unchecked(&keys);
        engine().encapsulate_rows(parameters, keys, seeds, &mut ciphertexts, &mut secrets)?;
        Ok(Array::pair(&Uint8Array::new(&ciphertexts), &Uint8Array::new(&secrets)))
    })
}

/// Decapsulates `count` ciphertexts with one key, or with one key for each. Returns the shared
/// secrets.
///
/// # Errors
/// [`Fault`] if there is no such set, lengths do not fit together, a key is refused, or there is no
/// memory.
#[wasm_bindgen]
pub fn decapsulate(
    set: u32,
    keys: &Uint8Array,
    ciphertexts: &Uint8Array,
    count: usize,
) -> Result<Uint8Array, Fault> {
    wiping_the_stack::<STACK, _>(|| {
        let parameters = parameters(set)?;
        let keys = Zeroizing::new(from_js(keys)?);
        let ciphertexts = from_js(ciphertexts)?;
        let mut secrets = Zeroizing::new(room(count, SHARED_SECRET_BYTES)?);
        let keys = KeyRows::Unchecked(&keys);
        engine().decapsulate_rows(parameters, keys, &ciphertexts, &mut secrets)?;
        Ok(Uint8Array::new(&secrets))
    })
}

/// Returns the engine. The calling thread does the work.
fn engine() -> &'static CpuEngine {
    static ENGINE: OnceLock<CpuEngine> = OnceLock::new();
    ENGINE.get_or_init(|| CpuEngine::with_threads(1).expect("an engine without threads"))
}

/// Returns the seeds of a batch: those of the caller, or random ones.
fn seeds(
    seeds: Option<Uint8Array>,
    count: usize,
    row_bytes: usize,
) -> Result<Zeroizing<Vec<u8>>, Fault> {
    let Some(seeds) = seeds else {
        let mut seeds = Zeroizing::new(room(count, row_bytes)?);
        getrandom::fill(&mut seeds)?;
        return Ok(seeds);
    };
    let seeds = Zeroizing::new(from_js(&seeds)?);
    if !seeds.len().is_multiple_of(row_bytes) {
        let actual = seeds.len();
        return Err(EngineError::Rows { slice: "seeds", row_bytes, actual }.into());
    }
    Ok(seeds)
}

/// Returns zeros for `count` rows.
fn room(count: usize, row_bytes: usize) -> Result<Vec<u8>, Fault> {
    let mut rows = Vec::new();
    let bytes = count.checked_mul(row_bytes).filter(|&bytes| rows.try_reserve_exact(bytes).is_ok());
    rows.resize(bytes.ok_or(Fault::Memory { count, row_bytes })?, 0);
    Ok(rows)
}

/// Returns a copy of bytes of JavaScript. `to_vec` would end the module if there is no memory.
fn from_js(array: &Uint8Array) -> Result<Vec<u8>, Fault> {
    let mut bytes = room(array.length(), 1)?;
    // The package gives views whose length does not change. In a shorter one, zeros would stay.
    assert_eq!(array.length(), bytes.len(), "the array has changed");
    js::copy(&mut bytes, array);
    Ok(bytes)
}

/// More bytes of the stack than an operation uses. The largest set uses about 105 KiB.
const STACK: usize = 128 << 10;
