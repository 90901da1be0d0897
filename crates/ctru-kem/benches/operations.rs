//! Measures whole operations on every backend of this CPU: single operations, and batches on one
//! thread.
//!
//! `cargo bench -p ctru-kem --bench operations`

use ctru_kem::engine::{Context, CpuEngine, Engine, Expand, Keys, Seeds};
use ctru_kem::{
    Ciphertext, CtruPrime653, CtruPrime761, CtruPrime1277, DecapsulationKey, EncapsulationKey,
    Packed13, ParameterSet, SEED_BYTES, SharedSecret,
};
use ctru_math::backend::{self, Backend};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

/// The number of operations per batch.
const BATCH: usize = 256;
/// The seed of all keys and messages. The measured times do not depend on it.
const SEED: &[u8; SEED_BYTES] = b"ctru bench: this is not a secret";
/// The seeds of the operations of a batch, which are derived from [`SEED`].
const EXPAND: Expand<'_> = Expand { seed: SEED, context: Context::EMPTY, first: 0 };

fn select(backend: Backend) {
    backend::select(backend).expect("an available backend");
}

mod single {
    use super::*;

    #[divan::bench(
        types = [CtruPrime653, CtruPrime761, CtruPrime761<Packed13>, CtruPrime1277],
        args = backend::available()
    )]
    fn keygen<P: ParameterSet>(bencher: Bencher<'_, '_>, backend: Backend) {
        select(backend);
        bencher
            .bench_local(|| DecapsulationKey::<P>::generate_deterministic(black_box(SEED), SEED));
    }

    #[divan::bench(
        types = [CtruPrime653, CtruPrime761, CtruPrime761<Packed13>, CtruPrime1277],
        args = backend::available()
    )]
    fn encaps<P: ParameterSet>(bencher: Bencher<'_, '_>, backend: Backend) {
        select(backend);
        let key = DecapsulationKey::<P>::generate_deterministic(SEED, SEED).encapsulation_key();
        bencher.bench_local(|| black_box(&key).encapsulate_deterministic(SEED));
    }

    #[divan::bench(
        types = [CtruPrime653, CtruPrime761, CtruPrime761<Packed13>, CtruPrime1277],
        args = backend::available()
    )]
    fn decaps<P: ParameterSet>(bencher: Bencher<'_, '_>, backend: Backend) {
        select(backend);
        let key = DecapsulationKey::<P>::generate_deterministic(SEED, SEED);
        let (ciphertext, _) = key.encapsulation_key().encapsulate_deterministic(SEED);
        bencher.bench_local(|| black_box(&key).decapsulate(&ciphertext));
    }
}

/// Measures batches. A time is the time of a whole batch; a rate counts operations.
mod batch {
    use super::*;

    struct Fixture<P: ParameterSet> {
        engine: CpuEngine,
        encapsulation_keys: Vec<EncapsulationKey<P>>,
        decapsulation_keys: Vec<DecapsulationKey<P>>,
        ciphertexts: Vec<Ciphertext<P>>,
        secrets: Vec<SharedSecret>,
    }

    impl<P: ParameterSet> Fixture<P> {
        fn new(backend: Backend) -> Self {
            select(backend);
            let mut fixture = Self {
                engine: CpuEngine::with_threads(1).expect("one thread"),
                encapsulation_keys: vec![EncapsulationKey::placeholder(); BATCH],
                decapsulation_keys: vec![DecapsulationKey::placeholder(); BATCH],
                ciphertexts: vec![Ciphertext::default(); BATCH],
                secrets: vec![SharedSecret::default(); BATCH],
            };
            fixture.generate();
            fixture.encapsulate();
            fixture
        }

        fn generate(&mut self) {
            let Self { engine, encapsulation_keys, decapsulation_keys, .. } = self;
            engine
                .generate(Seeds::Expand(EXPAND), encapsulation_keys, decapsulation_keys)
                .expect("slices of one length");
        }

        fn encapsulate(&mut self) {
            let Self { engine, encapsulation_keys, ciphertexts, secrets, .. } = self;
            engine
                .encapsulate(
                    Keys::Each(encapsulation_keys),
                    Seeds::Expand(EXPAND),
                    ciphertexts,
                    secrets,
                )
                .expect("slices of one length");
        }

        fn decapsulate(&mut self) {
            let Self { engine, decapsulation_keys, ciphertexts, secrets, .. } = self;
            engine
                .decapsulate(Keys::Each(decapsulation_keys), ciphertexts, secrets)
                .expect("slices of one length");
        }
    }

    macro_rules! batches {
        ($($name:ident: $operation:ident),*) => {
            $(
                #[divan::bench(
                    types = [CtruPrime653, CtruPrime761, CtruPrime761<Packed13>, CtruPrime1277],
                    args = backend::available()
                )]
                fn $name<P: ParameterSet>(bencher: Bencher<'_, '_>, backend: Backend) {
                    let mut fixture = Fixture::<P>::new(backend);
                    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| fixture.$operation());
                }
            )*
        };
    }

    batches!(keygen: generate, encaps: encapsulate, decaps: decapsulate);
}
