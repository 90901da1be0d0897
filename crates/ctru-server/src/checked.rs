//! An engine whose results are checked.
//!
//! Each generated key pair encapsulates and decapsulates once. The CPU computes some operations of
//! an engine for devices again. After a wrong result no other result can be trusted, so the wrapper
//! reports it as an error of the engine.

use std::num::NonZeroU64;
use std::slice;
use std::sync::Mutex;

use ctru_kem::engine::{
    BatchEngine, Context, CpuEngine, EngineError, Expand, KEY_PAIR_SEED_BYTES, KeyRows, LoadedKeys,
    Seeds,
};
use ctru_kem::{Parameters, SEED_BYTES, SHARED_SECRET_BYTES};
use zeroize::Zeroizing;

use crate::lock;
use crate::locked::Locked;

/// How an engine is compared with the CPU.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) cpu: CpuEngine,
    /// The CPU computes one of this many operations again, on average.
    pub(crate) one_in: NonZeroU64,
}

/// An engine that returns [`EngineError::Wrong`] in place of wrong results.
#[derive(Debug)]
pub(crate) struct Checked {
    inner: Box<dyn BatchEngine>,
    comparison: Option<Comparison>,
    /// For each of [`Parameters::ALL`], the number of operations before the next one that is
    /// computed again. It begins with 0.
    left: [Mutex<u64>; Parameters::ALL.len()],
}

/// The keys of a batch.
#[derive(Copy, Clone)]
pub(crate) enum CallKeys<'a> {
    /// Rows of bytes, and whether they are known to be keys.
    Rows { rows: &'a [u8], are_keys: bool },
    /// Keys on the engine.
    Loaded(&'a Loaded),
}

/// Keys on the engine, and a plain copy of one of them, with which the CPU computes operations
/// again.
#[derive(Debug)]
pub(crate) struct Loaded {
    keys: LoadedKeys,
    sample: Option<(usize, Locked<Row>)>,
}

/// The row of a key, and bytes that are not used.
type Row = Zeroizing<[u8; 4096]>;

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

/// Returns row `index` of `row` bytes.
fn row_of(rows: &[u8], row: usize, index: usize) -> &[u8] {
    &rows[index * row..(index + 1) * row]
}

impl<'a> CallKeys<'a> {
    /// Returns the keys as the engine takes them.
    fn rows(self) -> KeyRows<'a> {
        match self {
            Self::Rows { rows, are_keys: true } => KeyRows::Trusted(rows),
            Self::Rows { rows, are_keys: false } => KeyRows::Unchecked(rows),
            Self::Loaded(loaded) => KeyRows::Loaded(&loaded.keys),
        }
    }

    /// Returns the key of an operation, of `row` bytes, if it is known.
    fn of(self, row: usize, operation: usize) -> Option<KeyRows<'a>> {
        Some(KeyRows::Trusted(match self {
            Self::Rows { rows, .. } if rows.len() == row => rows,
            Self::Rows { rows, .. } => row_of(rows, row, operation),
            Self::Loaded(Loaded { keys, sample }) => {
                let (index, key) = sample.as_ref()?;
                let is_its_key = keys.count() == 1 || *index == operation;
                &is_its_key.then_some(&***key)?[..row]
            }
        }))
    }
}

impl Checked {
    pub(crate) fn new(inner: Box<dyn BatchEngine>, comparison: Option<Comparison>) -> Self {
        Self { inner, comparison, left: Default::default() }
    }

    /// Returns which of the next operations are computed again, each with the CPU.
    ///
    /// # Errors
    /// [`EngineError::Wrong`] if the system provides no randomness.
    fn samples(
        &self,
        parameters: Parameters,
        count: usize,
    ) -> Result<Vec<(&CpuEngine, usize)>, EngineError> {
        let mut samples = Vec::new();
        let Some(Comparison { cpu, one_in }) = &self.comparison else { return Ok(samples) };
        let mut left = lock(&self.left[parameters.index()]);
        while *left < count as u64 {
            samples.push((cpu, *left as usize));
            // The mean of the steps is `one_in`. Nobody can tell which operations are compared.
            let step = 1 + random(one_in.get().saturating_mul(2) - 1)?;
            *left = left.saturating_add(step);
        }
        *left -= count as u64;
        Ok(samples)
    }

    /// Keeps one of the rows of `row` bytes that are loaded, if operations are compared.
    ///
    /// # Errors
    /// [`EngineError::Wrong`] if the system provides no randomness.
    fn loaded(&self, rows: &[u8], row: usize, keys: LoadedKeys) -> Result<Loaded, EngineError> {
        let mut sample = None;
        if self.comparison.is_some() && keys.count() != 0 {
            let index = random(keys.count() as u64)? as usize;
            let mut copy = Zeroizing::new([0; 4096]);
            copy[..row].copy_from_slice(row_of(rows, row, index));
            sample = Some((index, Locked::new(copy)));
        }
        Ok(Loaded { keys, sample })
    }

    /// Loads encapsulation keys.
    ///
    /// # Errors
    /// Those of the engine.
    pub(crate) fn load_public(&self, of: Parameters, rows: &[u8]) -> Result<Loaded, EngineError> {
        let keys = self.inner.load_encapsulation_rows(of, rows)?;
        self.loaded(rows, of.sizes().encapsulation_key, keys)
    }

    /// Loads decapsulation keys.
    ///
    /// # Errors
    /// Those of the engine.
    pub(crate) fn load_private(&self, of: Parameters, rows: &[u8]) -> Result<Loaded, EngineError> {
        let keys = self.inner.load_decapsulation_rows(of, rows)?;
        self.loaded(rows, of.sizes().decapsulation_key, keys)
    }

    /// Generates key pairs, and encapsulates and decapsulates once with each.
    ///
    /// # Errors
    /// [`EngineError::Wrong`] if a result is wrong, or the errors of the engine.
    pub(crate) fn generate(
        &self,
        parameters: Parameters,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        public: &mut [u8],
        private: &mut [u8],
    ) -> Result<(), EngineError> {
        self.inner.generate_rows(parameters, seeds, Some(public), private)?;
        let sizes = parameters.sizes();
        let count = private.len() / sizes.decapsulation_key;
        let mut again_public = vec![0; sizes.encapsulation_key];
        let mut again = Zeroizing::new(vec![0; sizes.decapsulation_key]);
        for (cpu, i) in self.samples(parameters, count)? {
            let seeds = seeds_of(&seeds, i);
            cpu.generate_rows(parameters, seeds, Some(&mut again_public), &mut again)?;
            let is_same = again_public == row_of(public, sizes.encapsulation_key, i)
                && again[..] == *row_of(private, sizes.decapsulation_key, i);
            compare("a key pair", is_same)?;
        }
        self.check_pairs(parameters, public, private)
    }

    /// Encapsulates and decapsulates once with each key pair.
    ///
    /// # Errors
    /// [`EngineError::Wrong`] if the secrets of a pair differ, or the errors of the engine.
    fn check_pairs(
        &self,
        parameters: Parameters,
        public: &[u8],
        private: &[u8],
    ) -> Result<(), EngineError> {
        let mut seed = Zeroizing::new([0; SEED_BYTES]);
        let filled = getrandom::fill(&mut *seed);
        filled.map_err(|_| EngineError::Wrong("there is no randomness"))?;
        let seeds = Seeds::Expand(Expand { seed: &seed, context: Context::EMPTY, first: 0 });
        let sizes = parameters.sizes();
        let count = private.len() / sizes.decapsulation_key;
        let mut ciphertexts = vec![0; count * sizes.ciphertext];
        let secrets = || Zeroizing::new(vec![0; count * SHARED_SECRET_BYTES]);
        let (mut sent, mut received) = (secrets(), secrets());
        let keys = KeyRows::Trusted(public);
        self.inner.encapsulate_rows(parameters, keys, seeds, &mut ciphertexts, &mut sent)?;
        let keys = KeyRows::Trusted(private);
        self.inner.decapsulate_rows(parameters, keys, &ciphertexts, &mut received)?;
        compare("a key pair, which does not fit together", sent == received)
    }

    /// Encapsulates a batch.
    ///
    /// # Errors
    /// [`EngineError::Wrong`] if a result is wrong, or the errors of the engine.
    pub(crate) fn encapsulate(
        &self,
        parameters: Parameters,
        keys: CallKeys<'_>,
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [u8],
        secrets: &mut [u8],
    ) -> Result<(), EngineError> {
        self.inner.encapsulate_rows(parameters, keys.rows(), seeds, ciphertexts, secrets)?;
        let sizes = parameters.sizes();
        let mut ciphertext = vec![0; sizes.ciphertext];
        for (cpu, i) in self.samples(parameters, secrets.len() / SHARED_SECRET_BYTES)? {
            let Some(key) = keys.of(sizes.encapsulation_key, i) else { continue };
            let mut secret = Zeroizing::new([0; SHARED_SECRET_BYTES]);
            let seeds = seeds_of(&seeds, i);
            cpu.encapsulate_rows(parameters, key, seeds, &mut ciphertext, &mut *secret)?;
            let is_same = ciphertext == row_of(ciphertexts, sizes.ciphertext, i)
                && secret[..] == *row_of(secrets, SHARED_SECRET_BYTES, i);
            compare("an encapsulation", is_same)?;
        }
        Ok(())
    }

    /// Decapsulates a batch.
    ///
    /// # Errors
    /// [`EngineError::Wrong`] if a result is wrong, or the errors of the engine.
    pub(crate) fn decapsulate(
        &self,
        parameters: Parameters,
        keys: CallKeys<'_>,
        ciphertexts: &[u8],
        secrets: &mut [u8],
    ) -> Result<(), EngineError> {
        self.inner.decapsulate_rows(parameters, keys.rows(), ciphertexts, secrets)?;
        let sizes = parameters.sizes();
        for (cpu, i) in self.samples(parameters, secrets.len() / SHARED_SECRET_BYTES)? {
            let Some(key) = keys.of(sizes.decapsulation_key, i) else { continue };
            let mut secret = Zeroizing::new([0; SHARED_SECRET_BYTES]);
            let ciphertext = row_of(ciphertexts, sizes.ciphertext, i);
            cpu.decapsulate_rows(parameters, key, ciphertext, &mut *secret)?;
            let is_same = secret[..] == *row_of(secrets, SHARED_SECRET_BYTES, i);
            compare("a decapsulation", is_same)?;
        }
        Ok(())
    }

    /// Removes keys, seeds and secrets from memory that the engine keeps for its next batch.
    ///
    /// # Errors
    /// Those of the engine.
    pub(crate) fn wipe(&self) -> Result<(), EngineError> {
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
    use ctru_kem::engine::PinnedBytes;

    use super::*;

    const PARAMETERS: Parameters = Parameters::ALL[0];

    /// What an engine computes wrongly.
    #[derive(Copy, Clone, Debug, PartialEq, Eq)]
    enum Broken {
        Nothing,
        Keys,
        Encapsulation,
        Decapsulation,
    }

    /// An engine that computes the last operation of each batch wrongly.
    #[derive(Debug)]
    struct Breaking(CpuEngine, Broken);

    impl BatchEngine for Breaking {
        fn generate_rows(
            &self,
            parameters: Parameters,
            seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
            public: Option<&mut [u8]>,
            private: &mut [u8],
        ) -> Result<(), EngineError> {
            let public = public.expect("the server generates pairs");
            self.0.generate_rows(parameters, seeds, Some(public), private)?;
            if self.1 == Broken::Keys {
                let size = parameters.sizes().encapsulation_key;
                let (first, last) = (public[..size].to_vec(), public.len() - size);
                public[last..].copy_from_slice(&first);
            }
            Ok(())
        }

        fn encapsulate_rows(
            &self,
            parameters: Parameters,
            keys: KeyRows<'_>,
            seeds: Seeds<'_, SEED_BYTES>,
            ciphertexts: &mut [u8],
            secrets: &mut [u8],
        ) -> Result<(), EngineError> {
            self.0.encapsulate_rows(parameters, keys, seeds, ciphertexts, secrets)?;
            if self.1 == Broken::Encapsulation {
                *secrets.last_mut().unwrap() ^= 1;
            }
            Ok(())
        }

        fn decapsulate_rows(
            &self,
            parameters: Parameters,
            keys: KeyRows<'_>,
            ciphertexts: &[u8],
            secrets: &mut [u8],
        ) -> Result<(), EngineError> {
            self.0.decapsulate_rows(parameters, keys, ciphertexts, secrets)?;
            if self.1 == Broken::Decapsulation {
                *secrets.last_mut().unwrap() ^= 1;
            }
            Ok(())
        }

        fn load_encapsulation_rows(
            &self,
            parameters: Parameters,
            keys: &[u8],
        ) -> Result<LoadedKeys, EngineError> {
            self.0.load_encapsulation_rows(parameters, keys)
        }

        fn load_decapsulation_rows(
            &self,
            parameters: Parameters,
            keys: &[u8],
        ) -> Result<LoadedKeys, EngineError> {
            self.0.load_decapsulation_rows(parameters, keys)
        }

        fn pin(&self, bytes: Vec<u8>) -> Result<PinnedBytes, EngineError> {
            self.0.pin(bytes)
        }

        fn wipe(&self) -> Result<(), EngineError> {
            self.0.wipe()
        }
    }

    fn checked(broken: Broken, one_in: u64) -> Checked {
        let cpu = CpuEngine::with_threads(1).unwrap();
        let comparison =
            NonZeroU64::new(one_in).map(|one_in| Comparison { cpu: cpu.clone(), one_in });
        Checked::new(Box::new(Breaking(cpu, broken)), comparison)
    }

    const COUNT: usize = 5;

    /// Generates keys.
    fn pairs(engine: &Checked) -> Result<[Vec<u8>; 2], EngineError> {
        let sizes = PARAMETERS.sizes();
        let [mut public, mut private] =
            [sizes.encapsulation_key, sizes.decapsulation_key].map(|size| vec![0; COUNT * size]);
        let seeds = Seeds::Expand(Expand { seed: &[1; 32], context: Context::EMPTY, first: 7 });
        engine.generate(PARAMETERS, seeds, &mut public, &mut private)?;
        Ok([public, private])
    }

    /// Encapsulates and decapsulates with keys in each form.
    fn run(engine: &Checked) -> Result<(), EngineError> {
        let sizes = PARAMETERS.sizes();
        let [public, private] = pairs(&checked(Broken::Nothing, 0))?;
        let first = &public[..sizes.encapsulation_key];
        let one = engine.load_public(PARAMETERS, first)?;
        let each = engine.load_public(PARAMETERS, &public)?;
        let seed_of_each = [[3; SEED_BYTES]; COUNT];
        let expand = Expand { seed: &[2; 32], context: Context::EMPTY, first: 3 };
        let mut secrets = vec![0; COUNT * SHARED_SECRET_BYTES];
        let mut ciphertexts = vec![0; COUNT * sizes.ciphertext];
        let rows = |rows, are_keys| CallKeys::Rows { rows, are_keys };
        for (keys, seeds) in [
            (rows(first, true), Seeds::Each(&seed_of_each)),
            (CallKeys::Loaded(&one), Seeds::Each(&seed_of_each)),
            (CallKeys::Loaded(&each), Seeds::Each(&seed_of_each)),
            (rows(&public, false), Seeds::Expand(expand)),
        ] {
            engine.encapsulate(PARAMETERS, keys, seeds, &mut ciphertexts, &mut secrets)?;
        }
        let first = &private[..sizes.decapsulation_key];
        let one = engine.load_private(PARAMETERS, first)?;
        let each = engine.load_private(PARAMETERS, &private)?;
        for keys in [
            rows(first, false),
            CallKeys::Loaded(&one),
            CallKeys::Loaded(&each),
            rows(&private, true),
        ] {
            engine.decapsulate(PARAMETERS, keys, &ciphertexts, &mut secrets)?;
        }
        Ok(())
    }

    #[test]
    fn wrong_results_are_errors() {
        for broken in [Broken::Nothing, Broken::Keys, Broken::Encapsulation, Broken::Decapsulation]
        {
            // Without a comparison, all generated pairs are still tried.
            let is_right = broken == Broken::Nothing;
            for one_in in [0, 1] {
                assert_eq!(pairs(&checked(broken, one_in)).is_ok(), is_right, "{broken:?}");
            }
            let is_right = matches!(broken, Broken::Nothing | Broken::Keys);
            assert_eq!(run(&checked(broken, 1)).is_ok(), is_right, "{broken:?}");
            assert!(run(&checked(broken, 0)).is_ok());
        }
    }

    #[test]
    fn operations_are_compared_at_the_rate() {
        let samples = |engine: &Checked, count| -> Vec<usize> {
            let samples = engine.samples(PARAMETERS, count).unwrap();
            samples.into_iter().map(|(_, index)| index).collect()
        };
        let engine = checked(Broken::Nothing, 10);
        assert_eq!(samples(&engine, 1), [0]);
        let mut count = 0;
        for batch in 1..1000 {
            let samples = samples(&engine, batch);
            assert!(samples.iter().all(|&index| index < batch));
            count += samples.len();
        }
        // Of 499,500 operations, one in ten.
        assert!((45_000..55_000).contains(&count), "{count}");
        assert_eq!(samples(&checked(Broken::Nothing, 1), 100).len(), 100);
        assert_eq!(samples(&checked(Broken::Nothing, u64::MAX), 100).len(), 1);
        assert!(samples(&checked(Broken::Nothing, 0), 100).is_empty());
    }
}
