//! The CPU engine: one operation after the other on each core.

use core::fmt;
use std::string::ToString;
use std::sync::Arc;
use std::vec::Vec;

use ctru_math::invert::invert_batch;
use ctru_math::{Poly, Ring, SmallPoly};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use zeroize::Zeroizing;

use super::{Engine, EngineError, KEY_PAIR_SEED_BYTES, Keys, Seeds, check_length};
use crate::expanded::{self, ExpandedDecapsulationKey, ExpandedEncapsulationKey};
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::{ParameterSet, SEED_BYTES};
use crate::pke;

/// Key pairs that share one inversion. Beyond this the inversion is small beside the three products a key.
const KEYS_PER_INVERSION: usize = 128;

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

    /// Calls `operation` with the expanded key of operation `index`.
    fn with<T>(&self, index: usize, expand: impl Fn(&K) -> E, operation: impl Fn(&E) -> T) -> T {
        match self {
            Self::One(key) | Self::Loaded([key]) => operation(key),
            Self::Each(keys) => operation(&expand(&keys[index])),
            Self::Loaded(keys) => operation(&keys[index]),
        }
    }
}

impl<P: ParameterSet> Engine<P> for CpuEngine {
    type EncapsulationKeys = LoadedEncapsulationKeys<P>;
    type DecapsulationKeys = LoadedDecapsulationKeys<P>;

    type Memory<T: Send> = Vec<T>;

    fn memory<T: Send>(&self, content: Vec<T>) -> Result<Vec<T>, EngineError> {
        Ok(content)
    }

    fn load_encapsulation_keys(
        &self,
        keys: &[EncapsulationKey<P>],
    ) -> Result<Self::EncapsulationKeys, EngineError> {
        let expanded = self.pool.install(|| keys.par_iter().map(ExpandedEncapsulationKey::new).collect());
        Ok(LoadedEncapsulationKeys(expanded))
    }

    fn load_decapsulation_keys(
        &self,
        keys: &[DecapsulationKey<P>],
    ) -> Result<Self::DecapsulationKeys, EngineError> {
        let expanded = self.pool.install(|| keys.par_iter().map(ExpandedDecapsulationKey::new).collect());
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
        // Every thread gets some groups where the batch allows it.
        let group = count.div_ceil(self.threads()).clamp(1, KEYS_PER_INVERSION);
        self.pool.install(|| {
            let outputs =
                encapsulation_keys.par_chunks_mut(group).zip(decapsulation_keys.par_chunks_mut(group));
            outputs.enumerate().for_each(|(index, (public, secret))| {
                generate_group(seeds, index * group, public, secret);
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
        self.pool.install(|| {
            ciphertexts.par_iter_mut().zip(shared_secrets).enumerate().for_each(
                |(i, (ciphertext, secret))| {
                    let mut seed = Zeroizing::new([0; SEED_BYTES]);
                    seeds.write(i, &mut seed);
                    (*ciphertext, *secret) =
                        keys.with(i, ExpandedEncapsulationKey::new, |key| key.encapsulate(&seed));
                },
            );
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
        self.pool.install(|| {
            ciphertexts.par_iter().zip(shared_secrets).enumerate().for_each(|(i, (ciphertext, secret))| {
                *secret = keys.with(i, ExpandedDecapsulationKey::new, |key| key.decapsulate(ciphertext));
            });
        });
        Ok(())
    }
}

/// Generates key pairs `first..` of a batch with one inversion.
fn generate_group<P: ParameterSet>(
    seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
    first: usize,
    encapsulation_keys: &mut [EncapsulationKey<P>],
    decapsulation_keys: &mut [DecapsulationKey<P>],
) {
    let count = encapsulation_keys.len();
    let sampled: Vec<Sampled<P::Ring>> = (first..first + count)
        .map(|index| {
            let mut seed = Zeroizing::new([0; KEY_PAIR_SEED_BYTES]);
            seeds.write(index, &mut seed);
            let (polynomials, z) = seed.split_at(SEED_BYTES);
            let (f, g) = pke::sample_key(polynomials.try_into().expect("half of the seed"));
            Sampled { f, g, z: Zeroizing::new(z.try_into().expect("half of the seed")) }
        })
        .collect();
    let mut inverses: Vec<Poly<P::Ring>> = sampled.iter().map(|sampled| Poly::from(&sampled.f)).collect();
    let mut scratch = std::vec![Poly::zero(); count];
    invert_batch(&mut inverses, &mut scratch).expect("the scratch is as long as the batch");
    let outputs = encapsulation_keys.iter_mut().zip(decapsulation_keys);
    for ((Sampled { f, g, z }, inverse), (public, secret)) in sampled.iter().zip(&inverses).zip(outputs) {
        (*public, *secret) = expanded::assemble(f, g, inverse, z);
    }
}

/// What a seed gives before the inversion.
struct Sampled<R: Ring> {
    f: SmallPoly<R>,
    g: SmallPoly<R>,
    z: Zeroizing<[u8; SEED_BYTES]>,
}
