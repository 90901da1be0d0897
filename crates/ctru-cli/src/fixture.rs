//! Keys, and batches that are ready to be measured.

use std::hint::black_box;
use std::iter::repeat_n;
use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use ctru_kem::engine::{Engine, EngineError, Keys, Seeds};
use ctru_kem::{
    Ciphertext, DecapsulationKey, EncapsulationKey, ParameterSet, SEED_BYTES, SharedSecret,
};

use crate::budget::{sample, times};
use crate::record::{KeyUse, Operation, Statistics};

/// Keys for the operations that are measured. The seed is a constant: these keys protect nothing, and the time of no
/// operation depends on it.
pub(crate) struct Fixture<P: ParameterSet, E: Engine<P>> {
    engine: E,
    public: E::Pinned<EncapsulationKey<P>>,
    private: E::Pinned<DecapsulationKey<P>>,
}

/// Seed of everything that is measured.
const SEED: &[u8; SEED_BYTES] = b"ctru bench: this is not a secret";

impl<P: ParameterSet, E: Engine<P>> Fixture<P, E> {
    /// As many key pairs as a batch has operations, made by the engine and in memory that it reaches fastest.
    pub(crate) fn new(engine: E, batch: usize) -> Result<Self, EngineError> {
        let mut public = engine.pin(apart(repeat_n(EncapsulationKey::placeholder(), batch)))?;
        let mut private = engine.pin(apart(repeat_n(DecapsulationKey::placeholder(), batch)))?;
        engine.generate(Seeds::Expand(SEED), &mut public, &mut private)?;
        Ok(Self { engine, public, private })
    }

    /// Measures a method of a key type.
    pub(crate) fn single(
        &self,
        operation: Operation,
        budget: Duration,
    ) -> Result<Statistics, EngineError> {
        let (public, private) = (&self.public[0], &self.private[0]);
        let (ciphertext, _) = public.encapsulate_deterministic(SEED);
        sample(budget, || {
            match operation {
                Operation::Keygen => {
                    black_box(DecapsulationKey::<P>::generate_deterministic(
                        black_box(SEED),
                        black_box(SEED),
                    ));
                }
                Operation::Encaps => {
                    black_box(black_box(public).encapsulate_deterministic(black_box(SEED)));
                }
                Operation::Decaps => {
                    black_box(black_box(private).decapsulate(black_box(&ciphertext)));
                }
            }
            Ok(())
        })
    }

    /// Measures batches that as many threads as `callers` give to the engine at a time, in time for each batch. The threads begin
    /// together, but for the time that it takes to make their batches ready.
    pub(crate) fn batch(
        &self,
        operation: Operation,
        keys: KeyUse,
        budget: Duration,
        callers: usize,
    ) -> Result<Statistics, EngineError> {
        let call = || self.with(operation, keys, |run| times(budget, run));
        let times: Result<Vec<_>, EngineError> = thread::scope(|scope| {
            let callers: Vec<_> = (0..callers).map(|_| scope.spawn(call)).collect();
            callers
                .into_iter()
                .map(|caller| caller.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        });
        Ok(Statistics::of(times?.concat()))
    }

    /// Hands a batch to `measure`, ready to be run again and again.
    pub(crate) fn with<T>(
        &self,
        operation: Operation,
        keys: KeyUse,
        measure: impl FnOnce(&mut dyn FnMut() -> Result<(), EngineError>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let Self { engine, public, private } = self;
        if operation == Operation::Keygen {
            let mut private = engine.pin(apart(private.iter().cloned()))?;
            if keys == KeyUse::Private {
                return measure(&mut || {
                    engine.generate_decapsulation_keys(Seeds::Expand(SEED), &mut private)
                });
            }
            let mut public = engine.pin(apart(public.iter().cloned()))?;
            return measure(&mut || {
                engine.generate(Seeds::Expand(SEED), &mut public, &mut private)
            });
        }
        let mut ciphertexts = engine.pin(apart(repeat_n(Ciphertext::default(), public.len())))?;
        let mut secrets = engine.pin(apart(repeat_n(SharedSecret::default(), public.len())))?;
        let resident = keys == KeyUse::Resident;
        let loaded = resident.then(|| engine.load_encapsulation_keys(public)).transpose()?;
        let public = choose(keys, public, loaded.as_ref());
        let mut encapsulate =
            || engine.encapsulate(public, Seeds::Expand(SEED), &mut ciphertexts, &mut secrets);
        if operation == Operation::Encaps {
            return measure(&mut encapsulate);
        }
        encapsulate()?;
        let loaded = resident.then(|| engine.load_decapsulation_keys(private)).transpose()?;
        let private = choose(keys, private, loaded.as_ref());
        measure(&mut || engine.decapsulate(private, &ciphertexts, &mut secrets))
    }
}

/// A vector that has no page with another one such in common: an engine can pin a page once.
fn apart<T>(content: impl ExactSizeIterator<Item = T>) -> Vec<T> {
    const LARGEST_PAGE: usize = 64 << 10;
    let mut apart = Vec::with_capacity(content.len() + LARGEST_PAGE.div_ceil(size_of::<T>()));
    apart.extend(content);
    apart
}

fn choose<'a, K, L>(keys: KeyUse, all: &'a [K], loaded: Option<&'a L>) -> Keys<'a, K, L> {
    match loaded {
        Some(loaded) => Keys::Loaded(loaded),
        None if keys == KeyUse::One => Keys::One(&all[0]),
        None => Keys::Each(all),
    }
}
