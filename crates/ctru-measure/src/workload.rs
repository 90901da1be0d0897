//! Runs single operations and batches on prepared keys, to measure them.

use std::array;
use std::convert::Infallible;
use std::fmt;
use std::hint::black_box;
use std::iter::repeat_n;
use std::ops::{Deref, DerefMut};
use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use ctru_kem::engine::{Context, Engine, EngineError, Expand, Keys, Seeds};
use ctru_kem::{
    Ciphertext, DecapsulationKey, EncapsulationKey, KEY_PAIR_SEED_BYTES, ParameterSet, SEED_BYTES,
    SharedSecret,
};

use crate::{KeyUse, Operation, SeedUse, Statistics, sample, times};

/// Keys of one parameter set, and the engine that runs batches on them.
///
/// The keys come from a constant seed. They are not secret, and no time depends on the seed.
pub struct Workload<'a, P: ParameterSet, E: Engine<P>> {
    engine: &'a E,
    memory: HostMemory,
    seeds: SeedUse,
    public: Slice<EncapsulationKey<P>, P, E>,
    private: Slice<DecapsulationKey<P>, P, E>,
}

/// The kind of host memory from which an engine takes batches and to which it writes results.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum HostMemory {
    /// Memory that the engine has [pinned](Engine::pin).
    Pinned,
    /// Memory as the allocator gives it.
    Pageable,
}

/// The elements of one slice of a batch, in memory of one kind.
enum Content<T, P> {
    Pinned(P),
    Pageable(Vec<T>),
}

/// The elements of one slice of a batch for an engine `E`.
type Slice<T, P, E> = Content<T, <E as Engine<P>>::Pinned<T>>;

impl<T, P: Deref<Target = [T]>> Deref for Content<T, P> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Pinned(content) => content,
            Self::Pageable(content) => content,
        }
    }
}

impl<T, P: DerefMut<Target = [T]>> DerefMut for Content<T, P> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Pinned(content) => content,
            Self::Pageable(content) => content,
        }
    }
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

    /// Puts `content` into memory of this kind.
    fn of<P: ParameterSet, E: Engine<P>, T: Send + Sync>(
        self,
        engine: &E,
        content: impl ExactSizeIterator<Item = T>,
    ) -> Result<Slice<T, P, E>, EngineError> {
        Ok(match self {
            Self::Pinned => Content::Pinned(engine.pin(apart(content))?),
            Self::Pageable => Content::Pageable(content.collect()),
        })
    }
}

impl<P: ParameterSet, E: Engine<P>> fmt::Debug for Workload<'_, P, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workload").field("batch", &self.public.len()).finish_non_exhaustive()
    }
}

/// The seed of all keys, messages and coins.
const SEED: &[u8; SEED_BYTES] = b"ctru bench: this is not a secret";
/// The seeds of the operations of a batch, which are derived from [`SEED`].
pub(crate) const EXPAND: Expand<'_> = Expand { seed: SEED, context: Context::EMPTY, first: 0 };

impl<'a, P: ParameterSet, E: Engine<P>> Workload<'a, P, E> {
    /// Returns the number of bytes that the slices of a workload and of `callers` threads with a
    /// batch each take at the same time, or `None` if a `usize` cannot hold it. What the engine
    /// itself allocates, such as loaded keys, comes in addition.
    ///
    /// [`new`](Self::new) and the measurements abort the process if there is too little memory. A
    /// caller that does not know whether its batch fits can try to reserve these bytes first.
    #[must_use]
    pub fn host_bytes(
        operation: Operation,
        seeds: SeedUse,
        batch: usize,
        callers: usize,
    ) -> Option<usize> {
        let keys = size_of::<EncapsulationKey<P>>() + size_of::<DecapsulationKey<P>>();
        let results = match operation {
            Operation::Keygen => keys,
            Operation::Encaps | Operation::Decaps => {
                size_of::<Ciphertext<P>>() + size_of::<SharedSecret>()
            }
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
    pub fn new(engine: &'a E, batch: usize, memory: HostMemory) -> Result<Self, EngineError> {
        let mut public = memory.of(engine, repeat_n(EncapsulationKey::placeholder(), batch))?;
        let mut private = memory.of(engine, repeat_n(DecapsulationKey::placeholder(), batch))?;
        engine.generate(Seeds::Expand(EXPAND), &mut public, &mut private)?;
        Ok(Self { engine, memory, seeds: SeedUse::Expanded, public, private })
    }

    /// Returns the workload with other seeds for key generation and encapsulation. At first, the
    /// engine derives them from one.
    #[must_use]
    pub fn with_seeds(self, seeds: SeedUse) -> Self {
        Self { seeds, ..self }
    }

    /// Puts a seed of `N` bytes for each operation into memory, if each operation has its own.
    fn own_seeds<const N: usize>(&self) -> Result<Option<Slice<[u8; N], P, E>>, EngineError> {
        let seed = |row: usize| array::from_fn(|i| row.to_le_bytes()[i % size_of::<usize>()]);
        let each = || self.memory.of(self.engine, (0..self.public.len()).map(seed));
        (self.seeds == SeedUse::Each).then(each).transpose()
    }

    /// Measures the method of the key types for `operation` on one thread. The method decodes the
    /// key each time.
    #[must_use]
    pub fn single(&self, operation: Operation, budget: Duration) -> Statistics {
        let (public, private) = (&self.public[0], &self.private[0]);
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

    /// Measures batches, which `callers` threads give to the engine at the same time. Returns the
    /// summary of the times per batch that the threads see.
    ///
    /// Each thread prepares its batch first, so the threads begin at slightly different times.
    ///
    /// # Errors
    /// [`EngineError`] if the engine fails.
    pub fn batch(
        &self,
        operation: Operation,
        keys: KeyUse,
        budget: Duration,
        callers: usize,
    ) -> Result<Statistics, EngineError> {
        let call = || self.with_batch(operation, keys, |run| times(budget, run));
        let times: Result<Vec<_>, EngineError> = thread::scope(|scope| {
            let callers: Vec<_> = (0..callers).map(|_| scope.spawn(call)).collect();
            callers
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
        let &Self { engine, memory, ref public, ref private, .. } = self;
        if operation == Operation::Keygen {
            let seeds = self.own_seeds()?;
            let seeds = seeds.as_deref().map_or(Seeds::Expand(EXPAND), Seeds::Each);
            let mut private = memory.of(engine, private.iter().cloned())?;
            if keys == KeyUse::Private {
                return measure(&mut || engine.generate_decapsulation_keys(seeds, &mut private));
            }
            let mut public = memory.of(engine, public.iter().cloned())?;
            return measure(&mut || engine.generate(seeds, &mut public, &mut private));
        }
        let mut ciphertexts = memory.of(engine, repeat_n(Ciphertext::default(), public.len()))?;
        let mut secrets = memory.of(engine, repeat_n(SharedSecret::default(), public.len()))?;
        let resident = keys == KeyUse::Resident;
        let loaded = resident.then(|| engine.load_encapsulation_keys(public)).transpose()?;
        let public = choose(keys, public, loaded.as_ref());
        let is_encaps = operation == Operation::Encaps;
        let seeds = if is_encaps { self.own_seeds()? } else { None };
        let seeds = seeds.as_deref().map_or(Seeds::Expand(EXPAND), Seeds::Each);
        let mut encapsulate = || engine.encapsulate(public, seeds, &mut ciphertexts, &mut secrets);
        if is_encaps {
            return measure(&mut encapsulate);
        }
        encapsulate()?;
        let loaded = resident.then(|| engine.load_decapsulation_keys(private)).transpose()?;
        let private = choose(keys, private, loaded.as_ref());
        measure(&mut || engine.decapsulate(private, &ciphertexts, &mut secrets))
    }
}

/// Collects `content` into a vector whose elements share no page with those of another such vector,
/// because an engine can pin each page only once.
fn apart<T>(content: impl ExactSizeIterator<Item = T>) -> Vec<T> {
    const LARGEST_PAGE: usize = 64 << 10;
    let mut apart = Vec::with_capacity(content.len() + LARGEST_PAGE.div_ceil(size_of::<T>()));
    apart.extend(content);
    apart
}

/// Returns the keys of a batch: the loaded keys if there are any, else the first key or all keys.
fn choose<'a, K, L>(keys: KeyUse, all: &'a [K], loaded: Option<&'a L>) -> Keys<'a, K, L> {
    match loaded {
        Some(loaded) => Keys::Loaded(loaded),
        None if keys == KeyUse::One => Keys::One(&all[0]),
        None => Keys::Each(all),
    }
}
