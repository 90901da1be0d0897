//! The CPU engine: groups of operations on each core.

use core::{array, fmt};
use std::string::ToString;
use std::sync::Arc;
use std::vec::Vec;

use ctru_math::invert::{BatchNode, invert_batch};
use ctru_math::mul::Multiplier;
use ctru_math::{Poly, Ring};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{Engine, EngineError, KEY_PAIR_SEED_BYTES, Keys, Seeds, check_length};
use crate::expanded::{self, ExpandedDecapsulationKey, ExpandedEncapsulationKey};
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::{ParameterSet, SEED_BYTES};
use crate::pke::{self, KeyPolynomials};
use crate::wipe::Secret;

/// Key pairs that share one inversion. Beyond this the inversion is small beside the three products a key.
const KEYS_PER_INVERSION: usize = 128;

/// Operations that share their hashing, as many as the widest vectors hold states.
const GROUP: usize = 8;

/// Runs batches on the cores of this machine. Clones share the threads.
#[derive(Clone)]
pub struct CpuEngine {
    pool: Arc<ThreadPool>,
}

impl CpuEngine {
    /// An engine on all cores.
    ///
    /// # Errors
    /// [`EngineError::Threads`] if the system gives no threads.
    pub fn new() -> Result<Self, EngineError> {
        Self::with_threads(0)
    }

    /// An engine of `threads` threads, or one for each core if 0.
    ///
    /// # Errors
    /// [`EngineError::Threads`] if the system gives no threads.
    pub fn with_threads(threads: usize) -> Result<Self, EngineError> {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| std::format!("ctru-cpu-{i}"))
            .build()
            .map_err(|error| EngineError::Threads(error.to_string()))?;
        Ok(Self { pool: Arc::new(pool) })
    }

    /// Worker threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Operations that a thread takes at a time: at most `most`, and fewer where some threads would get none.
    fn share(&self, count: usize, most: usize) -> usize {
        count.div_ceil(self.threads()).clamp(1, most)
    }
}

impl fmt::Debug for CpuEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuEngine").field("threads", &self.threads()).finish()
    }
}

/// Encapsulation keys decoded to polynomials.
pub struct LoadedEncapsulationKeys<P: ParameterSet>(Vec<ExpandedEncapsulationKey<P>>);

/// Decapsulation keys decoded to polynomials, wiped when dropped.
pub struct LoadedDecapsulationKeys<P: ParameterSet>(Vec<ExpandedDecapsulationKey<P>>);

impl<P: ParameterSet> fmt::Debug for LoadedEncapsulationKeys<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LoadedEncapsulationKeys<{}>({} keys)", P::NAME, self.0.len())
    }
}

impl<P: ParameterSet> fmt::Debug for LoadedDecapsulationKeys<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LoadedDecapsulationKeys<{}>({} keys)", P::NAME, self.0.len())
    }
}

/// The keys of a batch, expanded where they serve more than one operation.
enum BatchKeys<'a, K, E> {
    One(E),
    Each(&'a [K]),
    Loaded(&'a [E]),
}

impl<'a, K, E> BatchKeys<'a, K, E> {
    fn new<L>(
        keys: Keys<'a, K, L>,
        count: usize,
        expand: impl Fn(&K) -> E,
        loaded: impl Fn(&'a L) -> &'a [E],
    ) -> Result<Self, EngineError> {
        match keys {
            Keys::One(key) => Ok(Self::One(expand(key))),
            Keys::Each(keys) => check_length("keys", count, keys.len()).map(|()| Self::Each(keys)),
            Keys::Loaded(keys) => match loaded(keys) {
                keys @ [_] => Ok(Self::Loaded(keys)),
                keys => check_length("loaded keys", count, keys.len()).map(|()| Self::Loaded(keys)),
            },
        }
    }

    /// Calls `operation` with the expanded keys of operations `first..first + N`.
    fn with<T, const N: usize>(
        &self,
        first: usize,
        expand: impl Fn(&K) -> E,
        operation: impl FnOnce([&E; N]) -> T,
    ) -> T {
        match self {
            Self::One(key) | Self::Loaded([key]) => operation([key; N]),
            Self::Each(keys) => {
                let expanded: [E; N] = array::from_fn(|i| expand(&keys[first + i]));
                operation(expanded.each_ref())
            }
            Self::Loaded(keys) => operation(array::from_fn(|i| &keys[first + i])),
        }
    }
}

type PublicKeys<'a, P> = BatchKeys<'a, EncapsulationKey<P>, ExpandedEncapsulationKey<P>>;
type PrivateKeys<'a, P> = BatchKeys<'a, DecapsulationKey<P>, ExpandedDecapsulationKey<P>>;

impl<P: ParameterSet> Engine<P> for CpuEngine {
    type EncapsulationKeys = LoadedEncapsulationKeys<P>;
    type DecapsulationKeys = LoadedDecapsulationKeys<P>;

    type Memory<T: Send + Sync> = Vec<T>;

    fn memory<T: Send + Sync>(&self, content: Vec<T>) -> Result<Vec<T>, EngineError> {
        Ok(content)
    }

    fn load_encapsulation_keys(
        &self,
        keys: &[EncapsulationKey<P>],
    ) -> Result<Self::EncapsulationKeys, EngineError> {
        let expanded =
            self.pool.install(|| keys.par_iter().map(ExpandedEncapsulationKey::new).collect());
        Ok(LoadedEncapsulationKeys(expanded))
    }

    fn load_decapsulation_keys(
        &self,
        keys: &[DecapsulationKey<P>],
    ) -> Result<Self::DecapsulationKeys, EngineError> {
        let expanded =
            self.pool.install(|| keys.par_iter().map(ExpandedDecapsulationKey::new).collect());
        Ok(LoadedDecapsulationKeys(expanded))
    }

    fn generate(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: &mut [EncapsulationKey<P>],
        decapsulation_keys: &mut [DecapsulationKey<P>],
    ) -> Result<(), EngineError> {
        let count = encapsulation_keys.len();
        check_length("decapsulation keys", count, decapsulation_keys.len())?;
        seeds.check(count)?;
        let share = self.share(count, KEYS_PER_INVERSION);
        self.pool.install(|| {
            let outputs = encapsulation_keys
                .par_chunks_mut(share)
                .zip(decapsulation_keys.par_chunks_mut(share));
            outputs.enumerate().for_each(|(index, (public, secret))| {
                generate_together(seeds, index * share, public, secret);
            });
        });
        Ok(())
    }

    fn generate_decapsulation_keys(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        decapsulation_keys: &mut [DecapsulationKey<P>],
    ) -> Result<(), EngineError> {
        let count = decapsulation_keys.len();
        seeds.check(count)?;
        let share = self.share(count, KEYS_PER_INVERSION);
        self.pool.install(|| {
            let outputs = decapsulation_keys.par_chunks_mut(share);
            outputs.enumerate().for_each(|(index, secret)| {
                generate_together(seeds, index * share, &mut [], secret);
            });
        });
        Ok(())
    }

    fn encapsulate(
        &self,
        keys: Keys<'_, EncapsulationKey<P>, Self::EncapsulationKeys>,
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [Ciphertext<P>],
        shared_secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError> {
        let count = shared_secrets.len();
        check_length("ciphertexts", count, ciphertexts.len())?;
        seeds.check(count)?;
        let keys = BatchKeys::new(keys, count, ExpandedEncapsulationKey::new, |loaded| &loaded.0)?;
        let share = self.share(count, GROUP);
        self.pool.install(|| {
            let outputs =
                ciphertexts.par_chunks_mut(share).zip(shared_secrets.par_chunks_mut(share));
            outputs.enumerate().for_each(|(index, (ciphertexts, secrets))| {
                let first = index * share;
                let (groups, rest) = ciphertexts.as_chunks_mut::<GROUP>();
                let (secret_groups, secret_rest) = secrets.as_chunks_mut();
                let after = first + groups.as_flattened().len();
                encapsulate_groups(&keys, seeds, first, groups, secret_groups);
                encapsulate_groups::<P, 1>(
                    &keys,
                    seeds,
                    after,
                    rest.as_chunks_mut().0,
                    secret_rest.as_chunks_mut().0,
                );
            });
        });
        Ok(())
    }

    fn decapsulate(
        &self,
        keys: Keys<'_, DecapsulationKey<P>, Self::DecapsulationKeys>,
        ciphertexts: &[Ciphertext<P>],
        shared_secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError> {
        let count = shared_secrets.len();
        check_length("ciphertexts", count, ciphertexts.len())?;
        let keys = BatchKeys::new(keys, count, ExpandedDecapsulationKey::new, |loaded| &loaded.0)?;
        let share = self.share(count, GROUP);
        self.pool.install(|| {
            let operations =
                ciphertexts.par_chunks(share).zip(shared_secrets.par_chunks_mut(share));
            operations.enumerate().for_each(|(index, (ciphertexts, secrets))| {
                let first = index * share;
                let (groups, rest) = ciphertexts.as_chunks::<GROUP>();
                let (secret_groups, secret_rest) = secrets.as_chunks_mut();
                let after = first + groups.as_flattened().len();
                decapsulate_groups(&keys, first, groups, secret_groups);
                decapsulate_groups::<P, 1>(
                    &keys,
                    after,
                    rest.as_chunks().0,
                    secret_rest.as_chunks_mut().0,
                );
            });
        });
        Ok(())
    }
}

/// Encapsulates operations `first..`, `N` at a time.
fn encapsulate_groups<P: ParameterSet, const N: usize>(
    keys: &PublicKeys<'_, P>,
    seeds: Seeds<'_, SEED_BYTES>,
    first: usize,
    ciphertexts: &mut [[Ciphertext<P>; N]],
    shared_secrets: &mut [[SharedSecret; N]],
) {
    for (index, (ciphertexts, secrets)) in ciphertexts.iter_mut().zip(shared_secrets).enumerate() {
        let first = first + index * N;
        let seeds = seeds.group::<N>(first);
        keys.with(first, ExpandedEncapsulationKey::new, |keys| {
            expanded::encapsulate(keys, seeds.each_ref().map(|seed| &**seed), ciphertexts, secrets);
        });
    }
}

/// Decapsulates operations `first..`, `N` at a time.
fn decapsulate_groups<P: ParameterSet, const N: usize>(
    keys: &PrivateKeys<'_, P>,
    first: usize,
    ciphertexts: &[[Ciphertext<P>; N]],
    shared_secrets: &mut [[SharedSecret; N]],
) {
    for (index, (ciphertexts, secrets)) in ciphertexts.iter().zip(shared_secrets).enumerate() {
        keys.with(first + index * N, ExpandedDecapsulationKey::new, |keys| {
            expanded::decapsulate(keys, ciphertexts.each_ref(), secrets);
        });
    }
}

/// Generates key pairs `first..` of a batch with one inversion. There is an encapsulation key for each of them, or none.
fn generate_together<P: ParameterSet>(
    seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
    first: usize,
    encapsulation_keys: &mut [EncapsulationKey<P>],
    decapsulation_keys: &mut [DecapsulationKey<P>],
) {
    let count = decapsulation_keys.len();
    let mut sampled: Vec<Sampled<P::Ring>> = Vec::with_capacity(count);
    while sampled.len() + GROUP <= count {
        sampled.extend(sample_keys::<P::Ring, GROUP>(seeds, first + sampled.len()));
    }
    while sampled.len() < count {
        sampled.extend(sample_keys::<P::Ring, 1>(seeds, first + sampled.len()));
    }
    let elements: Vec<_> = sampled.iter().map(|key| &key.polynomials.f).collect();
    let mut inverses = std::vec![Poly::zero(); count];
    let mut nodes: Vec<BatchNode<P::Ring>> = (0..count).map(|_| BatchNode::new()).collect();
    invert_batch(&elements, &mut inverses, &mut nodes).expect("room for the batch");
    let mut multiplier = Multiplier::new();
    let mut encapsulation_keys = encapsulation_keys.iter_mut();
    for ((Sampled { polynomials, z }, inverse), secret) in
        sampled.iter().zip(&inverses).zip(decapsulation_keys)
    {
        let public = expanded::assemble(&mut multiplier, polynomials, inverse, z, secret);
        if let Some(encapsulation_key) = encapsulation_keys.next() {
            *encapsulation_key = public;
        }
    }
}

/// What a seed gives before the inversion.
struct Sampled<R: Ring> {
    polynomials: KeyPolynomials<R>,
    z: Secret<[u8; SEED_BYTES]>,
}

/// What the seeds of key pairs `first..first + N` give.
fn sample_keys<R: Ring, const N: usize>(
    seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
    first: usize,
) -> impl Iterator<Item = Sampled<R>> {
    let seeds = seeds.group::<N>(first);
    let polynomials = pke::sample_keys(
        seeds.each_ref().map(|seed| seed.first_chunk().expect("half of the seed")),
    );
    seeds
        .into_iter()
        .zip(polynomials)
        .map(|(seed, polynomials)| Sampled { polynomials, z: Secret::copied(&seed[SEED_BYTES..]) })
}
