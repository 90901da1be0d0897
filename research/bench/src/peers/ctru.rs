//! CTRU-Prime of this workspace: single operations on encoded keys, and batches in which each
//! operation has its own key.

use std::hint::black_box;

use ctru_kem::engine::{Context, CpuEngine, Engine, Expand, Keys, Seeds};
use ctru_kem::{
    Ciphertext, CtruPrime653, CtruPrime761, CtruPrime1277, CtruPrimeSet, DecapsulationKey,
    EncapsulationKey, Packed13, SEED_BYTES, SharedSecret,
};
use ctru_math::NtruPrimeRing;

use super::{Run, Subject, calls};

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
    let library = ("ctru", ctru_math::backend::in_use().name());
    let set = <P::Ring as NtruPrimeRing>::N.to_string();
    let subjects = |batch, operations| {
        Subject::of_library(library, (&set, P::PARAMETERS.encoding().name()), batch, operations)
    };
    let mut both = subjects(1, single::<P>());
    both.extend(subjects(BATCH, batch::<P>()));
    both
}

fn single<P: CtruPrimeSet>() -> [Run; 3] {
    let private = DecapsulationKey::<P>::generate_deterministic(SEED, SEED);
    let public = private.encapsulation_key();
    let (ciphertext, _) = public.encapsulate_deterministic(SEED);
    let seed = || black_box(SEED);
    [
        calls(move || DecapsulationKey::<P>::generate_deterministic(seed(), seed())),
        calls(move || black_box(&public).encapsulate_deterministic(seed())),
        calls(move || black_box(&private).decapsulate(black_box(&ciphertext))),
    ]
}

fn batch<P: CtruPrimeSet>() -> [Run; 3] {
    const LENGTHS: &str = "slices of one length";
    let engine = || CpuEngine::with_threads(1).expect("one thread");
    let mut public = vec![EncapsulationKey::<P>::placeholder(); BATCH];
    let mut private = vec![DecapsulationKey::<P>::placeholder(); BATCH];
    let mut ciphertexts = vec![Ciphertext::default(); BATCH];
    let mut secrets = vec![SharedSecret::default(); BATCH];
    let generate = |engine: &CpuEngine, public: &mut [_], private: &mut [_]| {
        engine.generate(Seeds::Expand(EXPAND), public, private).expect(LENGTHS);
    };
    let encapsulate =
        |engine: &CpuEngine, public: &[_], ciphertexts: &mut [_], secrets: &mut [_]| {
            let (keys, seeds) = (Keys::Each(public), Seeds::Expand(EXPAND));
            engine.encapsulate(keys, seeds, ciphertexts, secrets).expect(LENGTHS);
        };
    generate(&engine(), &mut public, &mut private);
    encapsulate(&engine(), &public, &mut ciphertexts, &mut secrets);

    let (mut new_public, mut new_private) = (public.clone(), private.clone());
    let (mut sent, mut shared) = (ciphertexts.clone(), secrets.clone());
    let [making, sending, receiving] = [engine(), engine(), engine()];
    [
        calls(move || generate(&making, &mut new_public, &mut new_private)),
        calls(move || encapsulate(&sending, &public, &mut sent, &mut shared)),
        calls(move || {
            receiving.decapsulate(Keys::Each(&private), &ciphertexts, &mut secrets).expect(LENGTHS);
        }),
    ]
}
