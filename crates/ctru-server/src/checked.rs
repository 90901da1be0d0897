//! An engine whose results are checked.
//!
//! Each generated key pair encapsulates and decapsulates once. The CPU computes some operations of
//! an engine for devices again, and all for which it has no kernels. After a wrong result no other
//! result can be trusted, so the wrapper reports it as an error of the engine.

use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use ctru_kem::engine::{
    BatchEngine, Context, CpuEngine, EngineError, Expand, KeyRows, LoadedKeys, Seeds,
};
use ctru_kem::{Parameters, SEED_BYTES, SHARED_SECRET_BYTES};
use zeroize::Zeroizing;

use crate::lock;
use crate::locked::Locked;

/// How an engine is compared with the CPU.
#[derive(Debug)]
struct Comparison {
    cpu: CpuEngine,
    /// The CPU computes one of this many operations again, on average.
    one_in: NonZeroU64,
}

/// An engine that returns [`EngineError::Wrong`] in place of wrong results.
#[derive(Debug)]
pub(crate) struct Checked {
    inner: Box<dyn BatchEngine>,
    /// The engine for parameters that the other one does not support.
    cpu: Option<CpuEngine>,
    comparison: Option<Comparison>,
    /// For each of [`Parameters::ALL`], the number of operations before the next one that is
    /// computed again. It begins with 0.
    left: [Mutex<u64>; Parameters::ALL.len()],
}

/// The keys of a call of the engine: one for all operations, or one for each.
#[derive(Debug)]
pub(crate) enum CallKeys {
    Rows(KeyBytes),
    /// Keys on the engine.
    Loaded(Arc<Loaded>),
}

/// Rows of bytes, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct KeyBytes {
    pub(crate) bytes: Bytes,
    /// Whether the rows are known to be keys.
    pub(crate) are_keys: bool,
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

/// Returns the seed of one operation.
fn seed_of<const N: usize>(seeds: Expand<'_>, operation: usize) -> Seeds<'_, N> {
    Seeds::Expand(Expand { first: seeds.first + operation as u64, ..seeds })
}

/// Returns row `index` of `row` bytes.
fn row_of(rows: &[u8], row: usize, index: usize) -> &[u8] {
    &rows[index * row..(index + 1) * row]
}

impl Loaded {
    /// Returns whether a single key serves all operations of a call.
    pub(crate) fn is_single(&self) -> bool {
        self.keys.count() == 1
    }
}

impl CallKeys {
    /// Returns the keys as the engine takes them.
    fn rows(&self) -> KeyRows<'_> {
        match self {
            Self::Rows(KeyBytes { bytes, are_keys: true }) => KeyRows::Trusted(bytes),
            Self::Rows(KeyBytes { bytes, are_keys: false }) => KeyRows::Unchecked(bytes),
            Self::Loaded(loaded) => KeyRows::Loaded(&loaded.keys),
        }
    }

    /// Returns the key of an operation, of `row` bytes, if it is known.
    fn of(&self, row: usize, operation: usize) -> Option<KeyRows<'_>> {
        Some(KeyRows::Trusted(match self {
            Self::Rows(KeyBytes { bytes, .. }) if bytes.len() == row => bytes,
            Self::Rows(KeyBytes { bytes, .. }) => row_of(bytes, row, operation),
            Self::Loaded(loaded) => {
                let (index, key) = loaded.sample.as_ref()?;
                let is_its_key = loaded.is_single() || *index == operation;
                &is_its_key.then_some(&***key)?[..row]
            }
        }))
    }
}

impl Checked {
    pub(crate) fn new(engine: impl BatchEngine + 'static) -> Self {
        Self { inner: Box::new(engine), cpu: None, comparison: None, left: Default::default() }
    }

    /// Returns an engine for devices, with the CPU beside it. The CPU computes one in `one_in`
    /// operations again, or none without it.
    ///
    /// # Errors
    /// [`EngineError::Threads`] if the system does not start threads.
    pub(crate) fn beside_cpu(
        engine: impl BatchEngine + 'static,
        one_in: Option<NonZeroU64>,
    ) -> Result<Self, EngineError> {
        // The thread of each batch computes its samples.
        let compared = |one_in| CpuEngine::with_threads(1).map(|cpu| Comparison { cpu, one_in });
        let comparison = one_in.map(compared).transpose()?;
        Ok(Self { cpu: Some(CpuEngine::new()?), comparison, ..Self::new(engine) })
    }

    /// Returns the engine that computes with these parameters.
    fn of(&self, parameters: Parameters) -> &dyn BatchEngine {
        match &self.cpu {
            Some(cpu) if !self.inner.supports(parameters) => cpu,
            _ => &*self.inner,
        }
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
        let keys = self.of(of).load_encapsulation_rows(of, rows)?;
        self.loaded(rows, of.sizes().encapsulation_key, keys)
    }

    /// Loads decapsulation keys.
    ///
    /// # Errors
    /// Those of the engine.
    pub(crate) fn load_private(&self, of: Parameters, rows: &[u8]) -> Result<Loaded, EngineError> {
        let keys = self.of(of).load_decapsulation_rows(of, rows)?;
        self.loaded(rows, of.sizes().decapsulation_key, keys)
    }

    /// Generates key pairs, and encapsulates and decapsulates once with each.
    ///
    /// # Errors
    /// [`EngineError::Wrong`] if a result is wrong, or the errors of the engine.
    pub(crate) fn generate(
        &self,
        parameters: Parameters,
        seeds: Expand<'_>,
        public: &mut [u8],
        private: &mut [u8],
    ) -> Result<(), EngineError> {
        let all = Seeds::Expand(seeds);
        self.of(parameters).generate_rows(parameters, all, Some(public), private)?;
        let sizes = parameters.sizes();
        let count = private.len() / sizes.decapsulation_key;
        let mut again_public = vec![0; sizes.encapsulation_key];
        let mut again = Zeroizing::new(vec![0; sizes.decapsulation_key]);
        for (cpu, i) in self.samples(parameters, count)? {
            let seed = seed_of(seeds, i);
            cpu.generate_rows(parameters, seed, Some(&mut again_public), &mut again)?;
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
        let (engine, keys) = (self.of(parameters), KeyRows::Trusted(public));
        engine.encapsulate_rows(parameters, keys, seeds, &mut ciphertexts, &mut sent)?;
        let keys = KeyRows::Trusted(private);
        engine.decapsulate_rows(parameters, keys, &ciphertexts, &mut received)?;
        compare("a key pair, which does not fit together", sent == received)
    }

    /// Encapsulates a batch.
    ///
    /// # Errors
    /// [`EngineError::Wrong`] if a result is wrong, or the errors of the engine.
    pub(crate) fn encapsulate(
        &self,
        parameters: Parameters,
        keys: &CallKeys,
        seeds: Expand<'_>,
        ciphertexts: &mut [u8],
        secrets: &mut [u8],
    ) -> Result<(), EngineError> {
        let (engine, all) = (self.of(parameters), Seeds::Expand(seeds));
        engine.encapsulate_rows(parameters, keys.rows(), all, ciphertexts, secrets)?;
        let sizes = parameters.sizes();
        let mut ciphertext = vec![0; sizes.ciphertext];
        for (cpu, i) in self.samples(parameters, secrets.len() / SHARED_SECRET_BYTES)? {
            let Some(key) = keys.of(sizes.encapsulation_key, i) else { continue };
            let mut secret = Zeroizing::new([0; SHARED_SECRET_BYTES]);
            let seed = seed_of(seeds, i);
            cpu.encapsulate_rows(parameters, key, seed, &mut ciphertext, &mut *secret)?;
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
        keys: &CallKeys,
        ciphertexts: &[u8],
        secrets: &mut [u8],
    ) -> Result<(), EngineError> {
        self.of(parameters).decapsulate_rows(parameters, keys.rows(), ciphertexts, secrets)?;
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
    use super::*;

    #[test]
    fn operations_are_compared_at_the_rate() {
        let samples = |engine: &Checked, count| -> Vec<usize> {
            let samples = engine.samples(Parameters::ALL[0], count).unwrap();
            samples.into_iter().map(|(_, index)| index).collect()
        };
        let checked = |one_in| {
            let engine = CpuEngine::with_threads(1).unwrap();
            Checked::beside_cpu(engine, NonZeroU64::new(one_in)).unwrap()
        };
        let engine = checked(10);
        assert_eq!(samples(&engine, 1), [0]);
        let mut count = 0;
        for batch in 1..1000 {
            let samples = samples(&engine, batch);
            assert!(samples.iter().all(|&index| index < batch));
            count += samples.len();
        }
        // Of 499,500 operations, one in ten.
        assert!((45_000..55_000).contains(&count), "{count}");
        assert_eq!(samples(&checked(1), 100).len(), 100);
        assert_eq!(samples(&checked(u64::MAX), 100).len(), 1);
        assert!(samples(&checked(0), 100).is_empty());
    }
}
