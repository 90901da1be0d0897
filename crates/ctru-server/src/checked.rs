//! An engine whose results are checked.
//!
//! Each generated key pair encapsulates and decapsulates once. The CPU computes some operations of
//! an engine for devices again. After a wrong result no other result can be trusted, so the wrapper
//! reports it as an error of the engine.

use std::num::NonZeroU64;
use std::slice;
use std::sync::{Mutex, PoisonError};

use ctru_kem::engine::{
    Context, CpuEngine, Engine, EngineError, Expand, KEY_PAIR_SEED_BYTES, Keys, Seeds,
};
use ctru_kem::{
    Ciphertext, DecapsulationKey, EncapsulationKey, ParameterSet, SEED_BYTES, SharedSecret,
};
use zeroize::Zeroizing;

use crate::locked::Locked;

/// How an engine is compared with the CPU.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) cpu: CpuEngine,
    /// The CPU computes one of this many operations again, on average.
    pub(crate) one_in: NonZeroU64,
}

/// An engine that returns [`EngineError::Wrong`] in place of wrong results.
pub(crate) struct Checked<E> {
    inner: E,
    comparison: Option<Comparison>,
    /// The number of operations before the next one that is computed again. It begins with 0.
    left: Mutex<u64>,
}

/// Keys on the engine, and a plain copy of one of them, with which the CPU computes operations
/// again.
#[derive(Debug)]
pub(crate) struct Loaded<L, K> {
    keys: L,
    count: usize,
    sample: Option<(usize, Locked<K>)>,
}

/// Returns a number below `end`.
///
/// # Errors
/// [`EngineError::Wrong`] if the system provides no randomness.
fn random(end: u64) -> Result<u64, EngineError> {
    let number = getrandom::u64().map_err(|_| EngineError::Wrong("there is no randomness"))?;
    Ok(number % end.max(1))
}

/// Returns the seeds of one operation.
fn seeds_of<'a, const N: usize>(seeds: &Seeds<'a, N>, operation: usize) -> Seeds<'a, N> {
    match seeds {
        Seeds::Each(seeds) => Seeds::Each(slice::from_ref(&seeds[operation])),
        Seeds::Expand(seeds) => {
            Seeds::Expand(Expand { first: seeds.first + operation as u64, ..*seeds })
        }
    }
}

impl<E> Checked<E> {
    pub(crate) fn new(inner: E, comparison: Option<Comparison>) -> Self {
        Self { inner, comparison, left: Mutex::default() }
    }

    /// Returns which of the next operations are computed again, each with the CPU.
    ///
    /// # Errors
    /// [`EngineError::Wrong`] if the system provides no randomness.
    fn samples(&self, count: usize) -> Result<Vec<(&CpuEngine, usize)>, EngineError> {
        let mut samples = Vec::new();
        let Some(Comparison { cpu, one_in }) = &self.comparison else { return Ok(samples) };
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        while *left < count as u64 {
            samples.push((cpu, *left as usize));
            // The mean of the steps is `one_in`. Nobody can tell which operations are compared.
            let step = 1 + random(one_in.get().saturating_mul(2) - 1)?;
            *left = left.saturating_add(step);
        }
        *left -= count as u64;
        Ok(samples)
    }

    /// Keeps one of the keys that are loaded, if operations are compared.
    ///
    /// # Errors
    /// [`EngineError::Wrong`] if the system provides no randomness.
    fn loaded<L, K: Clone>(&self, keys: &[K], loaded: L) -> Result<Loaded<L, K>, EngineError> {
        let mut sample = None;
        if self.comparison.is_some() && !keys.is_empty() {
            let index = random(keys.len() as u64)? as usize;
            sample = Some((index, Locked::new(keys[index].clone())));
        }
        Ok(Loaded { keys: loaded, count: keys.len(), sample })
    }
}

/// The keys of a batch as the engine below takes them.
fn inner_keys<'a, L, K>(keys: &Keys<'a, K, Loaded<L, K>>) -> Keys<'a, K, L> {
    match keys {
        Keys::One(key) => Keys::One(key),
        Keys::Each(keys) => Keys::Each(keys),
        Keys::Loaded(loaded) => Keys::Loaded(&loaded.keys),
    }
}

/// Returns the key of an operation, if it is known.
fn key_of<'a, L, K>(keys: &Keys<'a, K, Loaded<L, K>>, operation: usize) -> Option<&'a K> {
    match keys {
        Keys::One(key) => Some(key),
        Keys::Each(keys) => keys.get(operation),
        Keys::Loaded(Loaded { count, sample, .. }) => {
            let (index, key) = sample.as_ref()?;
            (*count == 1 || *index == operation).then_some(key)
        }
    }
}

impl<E> Checked<E> {
    /// Encapsulates and decapsulates once with each key pair.
    ///
    /// # Errors
    /// [`EngineError::Wrong`] if the secrets of a pair differ, or the errors of the engine.
    fn check_pairs<P: ParameterSet>(
        &self,
        public: &[EncapsulationKey<P>],
        private: &[DecapsulationKey<P>],
    ) -> Result<(), EngineError>
    where
        E: Engine<P>,
    {
        let mut seed = Zeroizing::new([0; SEED_BYTES]);
        let filled = getrandom::fill(&mut *seed);
        filled.map_err(|_| EngineError::Wrong("there is no randomness"))?;
        let seeds = Seeds::Expand(Expand { seed: &seed, context: Context::EMPTY, first: 0 });
        let mut ciphertexts = vec![Ciphertext::default(); public.len()];
        let [mut sent, mut received] =
            [(); 2].map(|()| vec![SharedSecret::default(); public.len()]);
        self.inner.encapsulate(Keys::Each(public), seeds, &mut ciphertexts, &mut sent)?;
        self.inner.decapsulate(Keys::Each(private), &ciphertexts, &mut received)?;
        match sent == received {
            true => Ok(()),
            false => Err(EngineError::Wrong("a key pair does not fit together")),
        }
    }
}

impl<P, E> Engine<P> for Checked<E>
where
    P: ParameterSet,
    E: Engine<P>,
{
    type EncapsulationKeys = Loaded<E::EncapsulationKeys, EncapsulationKey<P>>;
    type DecapsulationKeys = Loaded<E::DecapsulationKeys, DecapsulationKey<P>>;
    type Pinned<T: Send + Sync> = E::Pinned<T>;

    fn pin<T: Send + Sync>(&self, content: Vec<T>) -> Result<Self::Pinned<T>, EngineError> {
        self.inner.pin(content)
    }

    fn load_encapsulation_keys(
        &self,
        keys: &[EncapsulationKey<P>],
    ) -> Result<Self::EncapsulationKeys, EngineError> {
        self.loaded(keys, self.inner.load_encapsulation_keys(keys)?)
    }

    fn load_decapsulation_keys(
        &self,
        keys: &[DecapsulationKey<P>],
    ) -> Result<Self::DecapsulationKeys, EngineError> {
        self.loaded(keys, self.inner.load_decapsulation_keys(keys)?)
    }

    fn generate(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        public: &mut [EncapsulationKey<P>],
        private: &mut [DecapsulationKey<P>],
    ) -> Result<(), EngineError> {
        self.inner.generate(seeds, public, private)?;
        for (cpu, i) in self.samples(public.len())? {
            let mut again = ([EncapsulationKey::placeholder()], [DecapsulationKey::placeholder()]);
            cpu.generate(seeds_of(&seeds, i), &mut again.0, &mut again.1)?;
            let is_same = again.0[0] == public[i] && again.1[0] == private[i];
            compare("a key pair", is_same)?;
        }
        self.check_pairs(public, private)
    }

    fn generate_decapsulation_keys(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        private: &mut [DecapsulationKey<P>],
    ) -> Result<(), EngineError> {
        let mut public = vec![EncapsulationKey::placeholder(); private.len()];
        self.generate(seeds, &mut public, private)
    }

    fn encapsulate(
        &self,
        keys: Keys<'_, EncapsulationKey<P>, Self::EncapsulationKeys>,
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [Ciphertext<P>],
        secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError> {
        self.inner.encapsulate(inner_keys(&keys), seeds, ciphertexts, secrets)?;
        for (cpu, i) in self.samples(secrets.len())? {
            let Some(key) = key_of(&keys, i) else { continue };
            let mut again = ([Ciphertext::default()], [SharedSecret::default()]);
            cpu.encapsulate(Keys::One(key), seeds_of(&seeds, i), &mut again.0, &mut again.1)?;
            let is_same = again.0[0] == ciphertexts[i] && again.1[0] == secrets[i];
            compare("an encapsulation", is_same)?;
        }
        Ok(())
    }

    fn decapsulate(
        &self,
        keys: Keys<'_, DecapsulationKey<P>, Self::DecapsulationKeys>,
        ciphertexts: &[Ciphertext<P>],
        secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError> {
        self.inner.decapsulate(inner_keys(&keys), ciphertexts, secrets)?;
        for (cpu, i) in self.samples(secrets.len())? {
            let Some(key) = key_of(&keys, i) else { continue };
            let mut again = [SharedSecret::default()];
            cpu.decapsulate(Keys::One(key), &ciphertexts[i..=i], &mut again)?;
            compare("a decapsulation", again[0] == secrets[i])?;
        }
        Ok(())
    }

    fn wipe(&self) -> Result<(), EngineError> {
        self.inner.wipe()
    }
}

/// Returns an error unless two results are the same.
///
/// # Errors
/// [`EngineError::Wrong`] with what differs.
fn compare(what: &'static str, is_same: bool) -> Result<(), EngineError> {
    if is_same { Ok(()) } else { Err(EngineError::Wrong(what)) }
}

#[cfg(test)]
mod tests {
    use ctru_kem::{CtruPrime653, MixedRadix};

    use super::*;

    type P = CtruPrime653<MixedRadix>;

    /// What an engine computes wrongly.
    #[derive(Copy, Clone, Debug, PartialEq, Eq)]
    enum Broken {
        Nothing,
        Keys,
        Encapsulation,
        Decapsulation,
    }

    /// An engine that computes the last operation of each batch wrongly.
    struct Breaking(CpuEngine, Broken);

    type Cpu = CpuEngine;

    impl Engine<P> for Breaking {
        type EncapsulationKeys = <Cpu as Engine<P>>::EncapsulationKeys;
        type DecapsulationKeys = <Cpu as Engine<P>>::DecapsulationKeys;
        type Pinned<T: Send + Sync> = Vec<T>;

        fn pin<T: Send + Sync>(&self, content: Vec<T>) -> Result<Vec<T>, EngineError> {
            Ok(content)
        }

        fn load_encapsulation_keys(
            &self,
            keys: &[EncapsulationKey<P>],
        ) -> Result<Self::EncapsulationKeys, EngineError> {
            self.0.load_encapsulation_keys(keys)
        }

        fn load_decapsulation_keys(
            &self,
            keys: &[DecapsulationKey<P>],
        ) -> Result<Self::DecapsulationKeys, EngineError> {
            self.0.load_decapsulation_keys(keys)
        }

        fn generate(
            &self,
            seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
            public: &mut [EncapsulationKey<P>],
            private: &mut [DecapsulationKey<P>],
        ) -> Result<(), EngineError> {
            self.0.generate(seeds, public, private)?;
            if self.1 == Broken::Keys {
                let other = DecapsulationKey::try_generate().unwrap();
                public[public.len() - 1] = other.encapsulation_key();
            }
            Ok(())
        }

        fn generate_decapsulation_keys(
            &self,
            _: Seeds<'_, KEY_PAIR_SEED_BYTES>,
            _: &mut [DecapsulationKey<P>],
        ) -> Result<(), EngineError> {
            unreachable!("the server generates pairs")
        }

        fn encapsulate(
            &self,
            keys: Keys<'_, EncapsulationKey<P>, Self::EncapsulationKeys>,
            seeds: Seeds<'_, SEED_BYTES>,
            ciphertexts: &mut [Ciphertext<P>],
            secrets: &mut [SharedSecret],
        ) -> Result<(), EngineError> {
            self.0.encapsulate(keys, seeds, ciphertexts, secrets)?;
            if self.1 == Broken::Encapsulation {
                secrets[secrets.len() - 1] = SharedSecret::default();
            }
            Ok(())
        }

        fn decapsulate(
            &self,
            keys: Keys<'_, DecapsulationKey<P>, Self::DecapsulationKeys>,
            ciphertexts: &[Ciphertext<P>],
            secrets: &mut [SharedSecret],
        ) -> Result<(), EngineError> {
            self.0.decapsulate(keys, ciphertexts, secrets)?;
            if self.1 == Broken::Decapsulation {
                secrets[secrets.len() - 1] = SharedSecret::default();
            }
            Ok(())
        }
    }

    const COUNT: usize = 5;

    type Pairs = (Vec<EncapsulationKey<P>>, Vec<DecapsulationKey<P>>);

    /// Generates keys.
    fn pairs(engine: &impl Engine<P>) -> Result<Pairs, EngineError> {
        let mut public = vec![EncapsulationKey::placeholder(); COUNT];
        let mut private = vec![DecapsulationKey::placeholder(); COUNT];
        let seeds = Seeds::Expand(Expand { seed: &[1; 32], context: Context::EMPTY, first: 7 });
        engine.generate(seeds, &mut public, &mut private)?;
        Ok((public, private))
    }

    /// Encapsulates and decapsulates with keys in each form.
    fn run<E: Engine<P>>(engine: &E) -> Result<(), EngineError> {
        let (public, private) = pairs(&CpuEngine::with_threads(1)?)?;
        let one = engine.load_encapsulation_keys(&public[..1])?;
        let each = engine.load_encapsulation_keys(&public)?;
        let seed_of_each = [[3; SEED_BYTES]; COUNT];
        let expand = Expand { seed: &[2; 32], context: Context::EMPTY, first: 3 };
        let mut secrets = vec![SharedSecret::default(); COUNT];
        let mut ciphertexts = vec![Ciphertext::default(); COUNT];
        for keys in [Keys::One(&public[0]), Keys::Loaded(&one), Keys::Loaded(&each)] {
            let seeds = Seeds::Each(&seed_of_each);
            engine.encapsulate(keys, seeds, &mut ciphertexts, &mut secrets)?;
        }
        let seeds = Seeds::Expand(expand);
        engine.encapsulate(Keys::Each(&public), seeds, &mut ciphertexts, &mut secrets)?;
        let one = engine.load_decapsulation_keys(&private[..1])?;
        let each = engine.load_decapsulation_keys(&private)?;
        for keys in
            [Keys::One(&private[0]), Keys::Loaded(&one), Keys::Loaded(&each), Keys::Each(&private)]
        {
            engine.decapsulate(keys, &ciphertexts, &mut secrets)?;
        }
        Ok(())
    }

    #[test]
    fn wrong_results_are_errors() {
        let cpu = CpuEngine::with_threads(1).unwrap();
        for broken in [Broken::Nothing, Broken::Keys, Broken::Encapsulation, Broken::Decapsulation]
        {
            let engine = |one_in: u64| {
                let cpu = cpu.clone();
                let comparison = NonZeroU64::new(one_in).map(|one_in| Comparison { cpu, one_in });
                Checked::new(Breaking(Cpu::with_threads(1).unwrap(), broken), comparison)
            };
            // Without a comparison, all generated pairs are still tried.
            let is_right = broken == Broken::Nothing;
            for one_in in [0, 1] {
                assert_eq!(pairs(&engine(one_in)).is_ok(), is_right, "{broken:?}");
            }
            let is_right = matches!(broken, Broken::Nothing | Broken::Keys);
            assert_eq!(run(&engine(1)).is_ok(), is_right, "{broken:?}");
            assert!(run(&engine(0)).is_ok());
        }
    }

    #[test]
    fn operations_are_compared_at_the_rate() {
        let cpu = CpuEngine::with_threads(1).unwrap();
        let of = |one_in: u64| {
            let one_in = NonZeroU64::new(one_in).unwrap();
            Checked::new((), Some(Comparison { cpu: cpu.clone(), one_in }))
        };
        let engine = of(10);
        let first = engine.samples(1).unwrap();
        assert_eq!(first.into_iter().map(|(_, index)| index).collect::<Vec<_>>(), [0]);
        let mut count = 0;
        for batch in 1..1000 {
            let samples = engine.samples(batch).unwrap();
            assert!(samples.iter().all(|&(_, index)| index < batch));
            count += samples.len();
        }
        // Of 499,500 operations, one in ten.
        assert!((45_000..55_000).contains(&count), "{count}");
        assert_eq!(of(1).samples(100).unwrap().len(), 100);
        assert_eq!(of(u64::MAX).samples(100).unwrap().len(), 1);
        assert!(Checked::new((), None).samples(100).unwrap().is_empty());
    }
}
