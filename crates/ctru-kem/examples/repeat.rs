//! Repeats one operation, for tools that count instructions, such as callgrind.
//!
//! Usage: `repeat BACKEND SET OPERATION COUNT`. SET is such as 761 or sntrup761. OPERATION is
//! keygen, encaps or decaps. With the prefix `batch-`, it repeats batches of 64 operations on one
//! thread. Keys have the mixed-radix encoding, and seeds are constant.

use std::env;
use std::error::Error;
use std::hint::black_box;

use ctru_kem::engine::{Context, CpuEngine, Engine, Expand, Keys, Seeds};
use ctru_kem::{
    Ciphertext, DecapsulationKey, EncapsulationKey, ParameterSet, Parameters, SEED_BYTES, Set,
    SharedSecret, with_parameters,
};
use ctru_math::backend::{self, Backend};

const SEED: &[u8; SEED_BYTES] = b"ctru repeat: this is no secret..";
/// The seeds of the operations of a batch, which are derived from [`SEED`].
const EXPAND: Expand<'_> = Expand { seed: SEED, context: Context::EMPTY, first: 0 };
const BATCH: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [backend, set, operation, count] = &arguments[..] else {
        return Err("usage: repeat BACKEND SET OPERATION COUNT".into());
    };
    backend::select(backend.parse::<Backend>()?)?;
    let count = count.parse()?;
    let parameters = Parameters::from(set.parse::<Set>()?);
    with_parameters!(parameters, P => repeat::<P>(operation, count))
}

fn repeat<P: ParameterSet>(operation: &str, count: usize) -> Result<(), Box<dyn Error>> {
    match operation.strip_prefix("batch-") {
        None => single::<P>(operation, count),
        Some(operation) => batch::<P>(operation, count),
    }
}

fn single<P: ParameterSet>(operation: &str, count: usize) -> Result<(), Box<dyn Error>> {
    let decapsulation_key = DecapsulationKey::<P>::generate_deterministic(SEED, SEED);
    let encapsulation_key = decapsulation_key.encapsulation_key();
    let (ciphertext, _) = encapsulation_key.encapsulate_deterministic(SEED);
    for _ in 0..count {
        match operation {
            "keygen" => drop(black_box(DecapsulationKey::<P>::generate_deterministic(
                black_box(SEED),
                SEED,
            ))),
            "encaps" => {
                drop(black_box(encapsulation_key.encapsulate_deterministic(black_box(SEED))));
            }
            "decaps" => drop(black_box(decapsulation_key.decapsulate(black_box(&ciphertext)))),
            _ => return Err("the operations are keygen, encaps and decaps".into()),
        }
    }
    Ok(())
}

fn batch<P: ParameterSet>(operation: &str, count: usize) -> Result<(), Box<dyn Error>> {
    let engine = CpuEngine::with_threads(1)?;
    let mut encapsulation_keys = vec![EncapsulationKey::<P>::placeholder(); BATCH];
    let mut decapsulation_keys = vec![DecapsulationKey::<P>::placeholder(); BATCH];
    let mut ciphertexts = vec![Ciphertext::default(); BATCH];
    let mut secrets = vec![SharedSecret::default(); BATCH];
    engine.generate(Seeds::Expand(EXPAND), &mut encapsulation_keys, &mut decapsulation_keys)?;
    engine.encapsulate(
        Keys::Each(&encapsulation_keys),
        Seeds::Expand(EXPAND),
        &mut ciphertexts,
        &mut secrets,
    )?;
    for _ in 0..count {
        match operation {
            "keygen" => engine.generate(
                Seeds::Expand(EXPAND),
                &mut encapsulation_keys,
                &mut decapsulation_keys,
            )?,
            "encaps" => {
                engine.encapsulate(
                    Keys::Each(&encapsulation_keys),
                    Seeds::Expand(EXPAND),
                    &mut ciphertexts,
                    &mut secrets,
                )?;
            }
            "decaps" => {
                engine.decapsulate(Keys::Each(&decapsulation_keys), &ciphertexts, &mut secrets)?;
            }
            _ => return Err("the operations are keygen, encaps and decaps".into()),
        }
    }
    Ok(())
}
