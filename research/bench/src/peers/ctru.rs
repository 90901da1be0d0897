//! CTRU-Prime of this workspace: single operations on encoded keys, and batches in which each
//! operation has its own key.

use std::hint::black_box;

use ctru_kem::engine::{Context, CpuEngine, Engine, Expand, Keys, Seeds};
use ctru_kem::{
    Ciphertext, CtruPrime653, CtruPrime761, CtruPrime1277, CtruPrimeSet, DecapsulationKey,
    EncapsulationKey, Packed13, SEED_BYTES, SharedSecret,
};
use ctru_math::NtruPrimeRing;
use ctru_measure::Operation;

use super::Subject;

/// Operations per batch.
const BATCH: usize = 256;
/// The seed of all keys and coins. It needs no secrecy, and no time depends on its value.
const SEED: &[u8; SEED_BYTES] = b"ctru bench: this is not a secret";
/// The seeds of the operations of a batch, which are derived from [`SEED`].
const EXPAND: Expand<'_> = Expand { seed: SEED, context: Context::EMPTY, first: 0 };

/// Returns single operations and batches of all parameter sets. n = 761, the degree of sntrup761,
/// comes with both public-key encodings.
pub(super) fn subjects() -> Vec<Subject> {
    [
        of::<CtruPrime761>(),
        of::<CtruPrime761<Packed13>>(),
        of::<CtruPrime653>(),
        of::<CtruPrime1277>(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of<P: CtruPrimeSet>() -> Vec<Subject> {
    let mut subjects = single::<P>();
    subjects.extend(batch::<P>());
    subjects
}

fn subject<P: CtruPrimeSet>(operation: Operation, batch: usize, run: Box<dyn FnMut()>) -> Subject {
    Subject {
        operation,
        engine: "ctru",
        backend: ctru_math::backend::in_use().name(),
        set: <P::Ring as NtruPrimeRing>::N.to_string(),
        pk_encoding: P::PARAMETERS.encoding().name(),
        batch,
        run,
    }
}

fn single<P: CtruPrimeSet>() -> Vec<Subject> {
    let private = DecapsulationKey::<P>::generate_deterministic(SEED, SEED);
    let public = private.encapsulation_key();
    let (ciphertext, _) = public.encapsulate_deterministic(SEED);
    vec![
        subject::<P>(
            Operation::Keygen,
            1,
            Box::new(|| {
                black_box(DecapsulationKey::<P>::generate_deterministic(
                    black_box(SEED),
                    black_box(SEED),
                ));
            }),
        ),
        subject::<P>(
            Operation::Encaps,
            1,
            Box::new(move || {
                black_box(black_box(&public).encapsulate_deterministic(black_box(SEED)));
            }),
        ),
        subject::<P>(
            Operation::Decaps,
            1,
            Box::new(move || {
                black_box(black_box(&private).decapsulate(black_box(&ciphertext)));
            }),
        ),
    ]
}

fn batch<P: CtruPrimeSet>() -> Vec<Subject> {
    let engine = || CpuEngine::with_threads(1).expect("one thread");
    let mut public = vec![EncapsulationKey::<P>::placeholder(); BATCH];
    let mut private = vec![DecapsulationKey::<P>::placeholder(); BATCH];
    let mut ciphertexts = vec![Ciphertext::default(); BATCH];
    let mut secrets = vec![SharedSecret::default(); BATCH];
    engine()
        .generate(Seeds::Expand(EXPAND), &mut public, &mut private)
        .expect("slices of one length");
    engine()
        .encapsulate(Keys::Each(&public), Seeds::Expand(EXPAND), &mut ciphertexts, &mut secrets)
        .expect("slices of one length");

    let keygen = {
        let (engine, mut public, mut private) = (engine(), public.clone(), private.clone());
        move || {
            engine
                .generate(Seeds::Expand(EXPAND), &mut public, &mut private)
                .expect("slices of one length");
        }
    };
    let encaps = {
        let (engine, mut ciphertexts, mut secrets) =
            (engine(), ciphertexts.clone(), secrets.clone());
        move || {
            engine
                .encapsulate(
                    Keys::Each(&public),
                    Seeds::Expand(EXPAND),
                    &mut ciphertexts,
                    &mut secrets,
                )
                .expect("slices of one length");
        }
    };
    let decaps = {
        let engine = engine();
        move || {
            engine
                .decapsulate(Keys::Each(&private), &ciphertexts, &mut secrets)
                .expect("slices of one length");
        }
    };
    vec![
        subject::<P>(Operation::Keygen, BATCH, Box::new(keygen)),
        subject::<P>(Operation::Encaps, BATCH, Box::new(encaps)),
        subject::<P>(Operation::Decaps, BATCH, Box::new(decaps)),
    ]
}
