//! Runs single operations and batches on prepared keys, to measure them.

use std::convert::Infallible;
use std::fmt;
use std::hint::black_box;
use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use ctru_kem::engine::{
    BatchEngine, Context, EngineError, Expand, KeyRows, LoadedKeys, PinnedBytes, Seeds,
};
use ctru_kem::{
    DecapsulationKey, KEY_PAIR_SEED_BYTES, ParameterSet, Parameters, SEED_BYTES,
    SHARED_SECRET_BYTES, with_parameters,
};

use crate::{KeyUse, Operation, SeedUse, Statistics, sample, times};

/// Keys of one parameter set, and the engine that runs batches on them.
///
/// The keys come from a constant seed. They are not secret, and no time depends on the seed.
pub struct Workload<'a> {
    engine: &'a dyn BatchEngine,
    parameters: Parameters,
    memory: HostMemory,
    seeds: SeedUse,
    batch: usize,
    public: PinnedBytes,
    private: PinnedBytes,
}

/// The kind of host memory from which an engine takes batches and to which it writes results.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum HostMemory {
    /// Memory that the engine has [pinned](BatchEngine::pin).
    Pinned,
    /// Memory as the allocator gives it.
    Pageable,
}

impl HostMemory {
    /// Returns the name in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pinned => "pinned host memory",
            Self::Pageable => "pageable host memory",
        }
    }

    /// Returns `len` bytes in memory of this kind, each written once. They share no page with those
    /// of another call, because an engine can pin each page only once.
    fn bytes(self, engine: &dyn BatchEngine, len: usize) -> Result<PinnedBytes, EngineError> {
        const LARGEST_PAGE: usize = 64 << 10;
        let mut bytes = Vec::with_capacity(len + LARGEST_PAGE);
        // Zeros from the allocator could be pages that do not exist yet.
        bytes.resize(len, 1);
        match self {
            Self::Pinned => engine.pin(bytes),
            Self::Pageable => Ok(PinnedBytes::new(bytes)),
        }
    }
}

impl fmt::Debug for Workload<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters = format_args!("{}", self.parameters);
        f.debug_struct("Workload")
            .field("parameters", &parameters)
            .field("batch", &self.batch)
            .finish_non_exhaustive()
    }
}

/// The seed of all keys, messages and coins.
const SEED: &[u8; SEED_BYTES] = b"ctru bench: this is not a secret";
/// The seeds of the operations of a batch, which are derived from [`SEED`].
pub(crate) const EXPAND: Expand<'_> = Expand { seed: SEED, context: Context::EMPTY, first: 0 };

impl<'a> Workload<'a> {
    /// Returns the number of bytes that the slices of a workload and of `callers` threads with a
    /// batch each take at the same time, or `None` if a `usize` cannot hold it. What the engine
    /// itself allocates, such as loaded keys, comes in addition.
    ///
    /// [`new`](Self::new) and the measurements abort the process if there is too little memory. A
    /// caller that does not know whether its batch fits can try to reserve these bytes first.
    #[must_use]
    pub fn host_bytes(
        parameters: Parameters,
        operation: Operation,
        seeds: SeedUse,
        batch: usize,
        callers: usize,
    ) -> Option<usize> {
        let sizes = parameters.sizes();
        let keys = sizes.encapsulation_key + sizes.decapsulation_key;
        let results = match operation {
            Operation::Keygen => keys,
            Operation::Encaps | Operation::Decaps => sizes.ciphertext + SHARED_SECRET_BYTES,
        };
        let seeds = match (seeds, operation) {
            (SeedUse::Each, Operation::Keygen) => KEY_PAIR_SEED_BYTES,
            (SeedUse::Each, Operation::Encaps) => SEED_BYTES,
            (SeedUse::Expanded, _) | (_, Operation::Decaps) => 0,
        };
        batch.checked_mul(callers.checked_mul(results + seeds)?.checked_add(keys)?)
    }

    /// Generates one key pair for each of the `batch` operations of a batch. All slices of the
    /// batch are in memory of the kind `memory`. Measurements with one key panic if `batch` is 0.
    ///
    /// # Errors
    /// [`EngineError`] if the engine fails.
    pub fn new(
        engine: &'a dyn BatchEngine,
        parameters: Parameters,
        batch: usize,
        memory: HostMemory,
    ) -> Result<Self, EngineError> {
        let sizes = parameters.sizes();
        let mut public = memory.bytes(engine, batch * sizes.encapsulation_key)?;
        let mut private = memory.bytes(engine, batch * sizes.decapsulation_key)?;
        let seeds = Seeds::Expand(EXPAND);
        engine.generate_rows(parameters, seeds, Some(&mut public), &mut private)?;
        Ok(Self { engine, parameters, memory, seeds: SeedUse::Expanded, batch, public, private })
    }

    /// Returns the workload with other seeds for key generation and encapsulation. At first, the
    /// engine derives them from one.
    #[must_use]
    pub fn with_seeds(self, seeds: SeedUse) -> Self {
        Self { seeds, ..self }
    }

    /// Puts a seed of `N` bytes for each operation into memory, if each operation has its own.
    fn own_seeds<const N: usize>(&self) -> Result<Option<PinnedBytes>, EngineError> {
        if self.seeds != SeedUse::Each {
            return Ok(None);
        }
        let mut seeds = self.memory.bytes(self.engine, self.batch * N)?;
        for (row, seed) in seeds.as_chunks_mut::<N>().0.iter_mut().enumerate() {
            for word in seed.chunks_exact_mut(size_of::<usize>()) {
                word.copy_from_slice(&row.to_le_bytes());
            }
        }
        Ok(Some(seeds))
    }

    /// Measures the method of the key types for `operation` on one thread. The method decodes the
    /// key each time.
    #[must_use]
    pub fn single(&self, operation: Operation, budget: Duration) -> Statistics {
        with_parameters!(self.parameters, P => single::<P>(operation, budget))
    }

    /// Measures batches, which `callers` threads give to the engine at the same time. Returns the
    /// summary of the times per batch that the threads see.
    ///
    /// Each thread prepares its batch first, so the threads begin at slightly different times.
    ///
    /// # Errors
    /// [`EngineError`] if the engine fails, or if the system does not start the threads.
    ///
    /// # Panics
    /// If there are no callers.
    pub fn batch(
        &self,
        operation: Operation,
        keys: KeyUse,
        budget: Duration,
        callers: usize,
    ) -> Result<Statistics, EngineError> {
        let call = || self.with_batch(operation, keys, |run| times(budget, run));
        let times: Result<Vec<_>, EngineError> = thread::scope(|scope| {
            let start = || thread::Builder::new().spawn_scoped(scope, call);
            let callers: Result<Vec<_>, _> = (0..callers).map(|_| start()).collect();
            callers
                .map_err(|error| EngineError::Threads(error.to_string()))?
                .into_iter()
                .map(|caller| caller.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        });
        Ok(Statistics::of(times?.concat()))
    }

    /// Prepares a batch, and calls `measure` with a function that runs the batch once.
    ///
    /// # Errors
    /// [`EngineError`] if the engine fails, or the error of `measure`.
    pub fn with_batch<T>(
        &self,
        operation: Operation,
        keys: KeyUse,
        measure: impl FnOnce(&mut dyn FnMut() -> Result<(), EngineError>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let &Self { engine, parameters, memory, ref public, ref private, .. } = self;
        if operation == Operation::Keygen {
            let seeds = self.own_seeds::<KEY_PAIR_SEED_BYTES>()?;
            let seeds = rows_of(seeds.as_deref());
            let mut private = memory.bytes(engine, private.len())?;
            let mut public = match keys {
                KeyUse::Private => None,
                _ => Some(memory.bytes(engine, public.len())?),
            };
            return measure(&mut || {
                engine.generate_rows(parameters, seeds, public.as_deref_mut(), &mut private)
            });
        }
        let sizes = parameters.sizes();
        let mut ciphertexts = memory.bytes(engine, self.batch * sizes.ciphertext)?;
        let mut secrets = memory.bytes(engine, self.batch * SHARED_SECRET_BYTES)?;
        let resident = keys == KeyUse::Resident;
        let loaded = resident.then(|| engine.load_encapsulation_rows(parameters, public));
        let loaded = loaded.transpose()?;
        let public = choose(keys, public, sizes.encapsulation_key, loaded.as_ref());
        let is_encaps = operation == Operation::Encaps;
        let seeds = if is_encaps { self.own_seeds::<SEED_BYTES>()? } else { None };
        let seeds = rows_of(seeds.as_deref());
        let mut encapsulate =
            || engine.encapsulate_rows(parameters, public, seeds, &mut ciphertexts, &mut secrets);
        if is_encaps {
            return measure(&mut encapsulate);
        }
        encapsulate()?;
        let loaded = resident.then(|| engine.load_decapsulation_rows(parameters, private));
        let loaded = loaded.transpose()?;
        let private = choose(keys, private, sizes.decapsulation_key, loaded.as_ref());
        measure(&mut || engine.decapsulate_rows(parameters, private, &ciphertexts, &mut secrets))
    }
}

/// Returns the seeds of a batch: rows of `N` bytes, or one from which the engine derives them.
fn rows_of<const N: usize>(rows: Option<&[u8]>) -> Seeds<'_, N> {
    rows.map_or(Seeds::Expand(EXPAND), |rows| Seeds::Each(rows.as_chunks().0))
}

/// Measures the method of the key types for `operation`.
fn single<P: ParameterSet>(operation: Operation, budget: Duration) -> Statistics {
    let private = &DecapsulationKey::<P>::generate_deterministic(SEED, SEED);
    let public = &private.encapsulation_key();
    let (ciphertext, _) = public.encapsulate_deterministic(SEED);
    let Ok(statistics) = sample(budget, || -> Result<(), Infallible> {
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
    });
    statistics
}

/// Returns the keys of a batch: the loaded keys if there are any, else the first row of `row` bytes
/// or all rows.
fn choose<'a>(
    keys: KeyUse,
    all: &'a [u8],
    row: usize,
    loaded: Option<&'a LoadedKeys>,
) -> KeyRows<'a> {
    match loaded {
        Some(loaded) => KeyRows::Loaded(loaded),
        None if keys == KeyUse::One => KeyRows::Trusted(&all[..row]),
        None => KeyRows::Trusted(all),
    }
}
