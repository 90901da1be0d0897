//! Tests by statistics whether the time of an operation depends on secrets. The program measures
//! two classes of inputs in random order, and compares their times by Welch's t-test. If |t|
//! exceeds 5 and grows with the number of samples, there is probably a leak. A smaller |t| shows
//! only that this test found none.
//!
//! Source: Reparaz, Balasch, Verbauwhede, "Dude, is my code constant time?" (DATE 2017).
//!
//! `cargo run --release --manifest-path research/Cargo.toml --features dudect --example dudect [--
//! --filter NAME]`. The environment variable `CTRU_BACKEND` chooses the backend.

use std::env;

use ctru_kem::{Ciphertext, CtruPrime761, DecapsulationKey, SEED_BYTES};
use ctru_math::backend;
use dudect_bencher::{BenchRng, Class, CtRunner, ctbench_main};
use rand_core::Rng;

type Private = DecapsulationKey<CtruPrime761>;
type Sent = Ciphertext<CtruPrime761>;
type Seed = [u8; SEED_BYTES];

/// Samples per test.
const SAMPLES: usize = 200_000;
/// Number of inputs per class.
const INPUTS: usize = 256;

/// Selects the backend that the environment names.
fn choose_backend() {
    if let Ok(name) = env::var("CTRU_BACKEND")
        && !name.is_empty()
    {
        backend::select(name.parse().expect("a name of a backend"))
            .expect("a backend that this CPU has");
    }
}

fn seed(rng: &mut BenchRng) -> Seed {
    let mut seed = [0; SEED_BYTES];
    rng.fill_bytes(&mut seed);
    seed
}

fn private(rng: &mut BenchRng) -> Private {
    Private::generate_deterministic(&seed(rng), &seed(rng))
}

/// Measures `operation` on inputs of both classes in random order. Each input is copied to the same
/// address first, so that addresses do not tell the classes apart.
fn compare<T: Clone, U>(
    runner: &mut CtRunner,
    rng: &mut BenchRng,
    [left, right]: [Vec<T>; 2],
    operation: impl Fn(&T) -> U,
) {
    choose_backend();
    for _ in 0..SAMPLES {
        let choice = rng.next_u32() as usize;
        let (class, inputs) =
            if choice & 1 == 0 { (Class::Left, &left) } else { (Class::Right, &right) };
        let input = inputs[(choice >> 1) % inputs.len()].clone();
        runner.run_one(class, || operation(&input));
    }
}

/// Makes the inputs of a class.
fn many<T>(rng: &mut BenchRng, input: impl Fn(&mut BenchRng) -> T) -> Vec<T> {
    (0..INPUTS).map(|_| input(rng)).collect()
}

/// Compares the time of key generation from one seed and from many random seeds.
fn keygen_of_one_seed_or_many(runner: &mut CtRunner, rng: &mut BenchRng) {
    let one = vec![seed(rng); INPUTS];
    let many = many(rng, seed);
    compare(runner, rng, [one, many], |seed| Private::generate_deterministic(seed, seed));
}

/// Compares the time of encapsulation to one key, from one seed and from many random seeds.
fn encaps_of_one_seed_or_many(runner: &mut CtRunner, rng: &mut BenchRng) {
    let public = private(rng).encapsulation_key();
    let one = vec![seed(rng); INPUTS];
    let many = many(rng, seed);
    compare(runner, rng, [one, many], |seed| public.encapsulate_deterministic(seed));
}

/// Compares the time of decapsulation of accepted and of rejected ciphertexts with one key.
fn decaps_accepts_or_rejects(runner: &mut CtRunner, rng: &mut BenchRng) {
    let key = private(rng);
    let public = key.encapsulation_key();
    let accepted = many(rng, |rng| public.encapsulate_deterministic(&seed(rng)).0);
    let rejected = accepted.iter().map(|sent: &Sent| {
        let mut bytes = sent.as_ref().to_vec();
        bytes[100] ^= 1;
        Sent::from_bytes(&bytes).expect("the length of a ciphertext")
    });
    let rejected = rejected.collect();
    compare(runner, rng, [accepted, rejected], |sent| key.decapsulate(sent));
}

/// Compares the time of decapsulation with one private key and with many. The ciphertext belongs to
/// another key.
fn decaps_with_one_key_or_many(runner: &mut CtRunner, rng: &mut BenchRng) {
    let (sent, _) = private(rng).encapsulation_key().encapsulate_deterministic(&seed(rng));
    let one = vec![private(rng); INPUTS];
    let many = many(rng, private);
    compare(runner, rng, [one, many], |key| key.decapsulate(&sent));
}

ctbench_main!(
    keygen_of_one_seed_or_many,
    encaps_of_one_seed_or_many,
    decaps_accepts_or_rejects,
    decaps_with_one_key_or_many
);
