//! Batches on the cores of the machine, from bytes to bytes.

use core::array;
use core::error::Error;
use std::sync::{Mutex, PoisonError};
use std::vec::Vec;

use ctru_math::array::Array;
use ctru_math::invert::{BatchNode, invert_batch};
use ctru_math::mul::Multiplier;
use ctru_math::{Arithmetic, Poly};

use super::{EngineError, KeyRows, LoadedKeys, Seeds};
use crate::encoding::Encode;
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidRow};
use crate::expand::Purpose;
use crate::hash::{self, KEY_PAIR_SEED_BYTES, NO_ID, SEED_BYTES, SHARED_SECRET_BYTES};
use crate::kem::{self, DecodedDecapsulationKey, DecodedEncapsulationKey};
use crate::parameters::Parameters;
use crate::pke::KeyPolynomials;
use crate::threads::ThreadPool;
use crate::threads::prelude::*;
use crate::wipe::Secret;

/// The largest number of key pairs that share one inversion. At this number, the inversion already
/// takes little time compared with the three products per key.
const KEYS_PER_INVERSION: usize = 128;

/// The largest number of encapsulations or decapsulations that the calling thread does by itself.
/// Waking another thread takes longer.
const MOST_ALONE: usize = 8;

/// The number of operations that share their hashing. The widest vectors hold eight Keccak states,
/// those of WebAssembly two.
const GROUP: usize = if !cfg!(target_family = "wasm") {
    8
} else if cfg!(target_feature = "simd128") {
    2
} else {
    1
};

/// The first row of a batch that is not a key, of those that threads have found so far.
struct FirstRefused<F: Error>(Mutex<Option<InvalidRow<F>>>);

impl<F: Error> FirstRefused<F> {
    fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Notes that `row` is not a key because of `error`.
    fn note(&self, row: usize, error: F) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|before| row < before.row) {
            *first = Some(InvalidRow { row, error });
        }
    }

    /// Returns the first row as an error.
    fn into_result(self) -> Result<(), InvalidRow<F>> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

/// The keys of a batch, in the form in which its chunks read them.
enum Source<'a, K, D, F: Error> {
    /// One encoded key for each operation. Each chunk decodes its keys.
    Encoded(&'a [K]),
    /// Decoded keys: one for all operations, or one for each.
    Decoded(&'a [D]),
    /// One row of bytes for each operation. Each chunk decodes its rows, and notes a row that is
    /// not a key.
    Rows(&'a [K], &'a FirstRefused<F>),
}

impl<K, D, F: Error> Copy for Source<'_, K, D, F> {}
impl<K, D, F: Error> Clone for Source<'_, K, D, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, K: Array<u8>, D: 'static, F: Error + Clone> Source<'a, K, D, F>
where
    EngineError: From<InvalidRow<F>>,
{
    /// Returns the source of a batch's keys. If one key serves all operations, it is decoded at
    /// once, into `one`.
    ///
    /// # Errors
    /// The reason why a single unchecked row is not a key, or [`EngineError::ForeignKeys`].
    fn new(
        keys: KeyRows<'a>,
        one: &'a mut Option<D>,
        refused: &'a FirstRefused<F>,
        decode: impl Fn(&K) -> D,
        read: impl Fn(&K) -> Result<D, F>,
    ) -> Result<Self, EngineError> {
        let single = match keys {
            KeyRows::Trusted(bytes) => match K::of_slice(bytes).0 {
                [key] => decode(key),
                keys => return Ok(Self::Encoded(keys)),
            },
            KeyRows::Unchecked(bytes) => match K::of_slice(bytes).0 {
                [row] => read(row).map_err(|error| InvalidRow { row: 0, error })?,
                rows => return Ok(Self::Rows(rows, refused)),
            },
            KeyRows::Loaded(keys) => return Ok(Self::Decoded(keys.decoded::<Vec<D>>()?)),
        };
        Ok(Self::Decoded(array::from_ref(one.insert(single))))
    }

    /// Calls `operation` with the decoded keys of operations `first..first + N`, unless one of them
    /// is refused.
    fn with<const N: usize>(
        self,
        first: usize,
        decode: impl Fn(&K) -> D,
        read: impl Fn(&K) -> Result<D, F>,
        operation: impl FnOnce([&D; N]),
    ) {
        match self {
            Self::Decoded([key]) => operation([key; N]),
            Self::Decoded(keys) => operation(array::from_fn(|i| &keys[first + i])),
            Self::Encoded(keys) => {
                let decoded: [D; N] = array::from_fn(|i| decode(&keys[first + i]));
                operation(decoded.each_ref());
            }
            Self::Rows(rows, refused) => {
                let read: [Result<D, F>; N] = array::from_fn(|i| read(&rows[first + i]));
                for (i, key) in read.iter().enumerate() {
                    if let Err(error) = key {
                        refused.note(first + i, error.clone());
                    }
                }
                if read.iter().all(Result::is_ok) {
                    operation(read.each_ref().map(|key| key.as_ref().expect("a key")));
                }
            }
        }
    }
}

/// The keys of a batch of encapsulations.
type EncapsulationKeys<'a, R, E> =
    Source<'a, <E as Encode>::Bytes<R>, DecodedEncapsulationKey<R>, InvalidEncapsulationKey>;
/// The keys of a batch of decapsulations.
type DecapsulationKeys<'a, R, K> =
    Source<'a, K, DecodedDecapsulationKey<R>, InvalidDecapsulationKey>;

/// Decodes rows of keys with `read`. `parameters` are those of the keys. A row that is not a key
/// becomes `blank` until all are read: decoded keys are not moved, because moves leave copies.
///
/// # Errors
/// The first row that is not a key.
pub(crate) fn load<K: Sync, D: Send + Sync + 'static, F: Error + Send>(
    pool: &ThreadPool,
    parameters: Parameters,
    rows: &[K],
    blank: impl Fn() -> D + Send + Sync,
    read: impl Fn(&K) -> Result<D, F> + Send + Sync,
) -> Result<LoadedKeys, EngineError>
where
    EngineError: From<InvalidRow<F>>,
{
    let refused = FirstRefused::new();
    let decode = |(row, key)| {
        read(key).unwrap_or_else(|error| {
            refused.note(row, error);
            blank()
        })
    };
    let decoded: Vec<D> = pool.install(|| rows.par_iter().enumerate().map(decode).collect());
    refused.into_result()?;
    Ok(LoadedKeys::new(parameters, rows.len(), decoded))
}

/// Returns the number of operations that a thread takes at a time: at most `most`, and fewer if
/// some threads would get none.
fn share(pool: &ThreadPool, count: usize, most: usize) -> usize {
    count.div_ceil(pool.current_num_threads()).clamp(1, most)
}

/// Generates key pairs (paper, Algorithm 4).
///
/// `encapsulation_keys` has the length of `decapsulation_keys`, or it is empty. If it is empty,
/// only decapsulation keys are written.
pub(crate) fn generate<R: Arithmetic, E: Encode, K: Array<u8>>(
    pool: &ThreadPool,
    seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
    encapsulation_keys: &mut [E::Bytes<R>],
    decapsulation_keys: &mut [K],
) {
    if decapsulation_keys.len() == 1 {
        return generate_together::<R, E, K>(seeds, 0, encapsulation_keys, decapsulation_keys);
    }
    let share = share(pool, decapsulation_keys.len(), KEYS_PER_INVERSION);
    pool.install(|| {
        let outputs = decapsulation_keys.par_chunks_mut(share).enumerate();
        if encapsulation_keys.is_empty() {
            outputs.for_each(|(index, decapsulation_keys)| {
                generate_together::<R, E, K>(seeds, index * share, &mut [], decapsulation_keys);
            });
        } else {
            let outputs = outputs.zip(encapsulation_keys.par_chunks_mut(share));
            outputs.for_each(|((index, decapsulation_keys), encapsulation_keys)| {
                generate_together::<R, E, K>(
                    seeds,
                    index * share,
                    encapsulation_keys,
                    decapsulation_keys,
                );
            });
        }
    });
}

/// Encapsulates a batch (paper, Algorithm 5).
///
/// All slices have the length of the batch. The number of keys is 1 or the length of the batch.
///
/// # Errors
/// The first unchecked row that is not a key (the outputs of the others may be written), or
/// [`EngineError::ForeignKeys`].
pub(crate) fn encapsulate<R: Arithmetic, E: Encode>(
    pool: &ThreadPool,
    keys: KeyRows<'_>,
    seeds: Seeds<'_, SEED_BYTES>,
    ciphertexts: &mut [R::CiphertextBytes],
    secrets: &mut [[u8; SHARED_SECRET_BYTES]],
) -> Result<(), EngineError> {
    let (mut one, refused) = (None, FirstRefused::new());
    let (decode, read) = (DecodedEncapsulationKey::new::<E>, DecodedEncapsulationKey::read::<E>);
    let keys = Source::new(keys, &mut one, &refused, decode, read)?;
    encapsulate_from::<R, E>(pool, keys, seeds, ciphertexts, secrets);
    Ok(refused.into_result()?)
}

/// Deals the operations of an encapsulation to threads.
fn encapsulate_from<R: Arithmetic, E: Encode>(
    pool: &ThreadPool,
    keys: EncapsulationKeys<'_, R, E>,
    seeds: Seeds<'_, SEED_BYTES>,
    ciphertexts: &mut [R::CiphertextBytes],
    secrets: &mut [[u8; SHARED_SECRET_BYTES]],
) {
    let work = |first, ciphertexts: &mut [R::CiphertextBytes], secrets: &mut [_]| {
        let (groups, rest) = ciphertexts.as_chunks_mut();
        let (secret_groups, secret_rest) = secrets.as_chunks_mut();
        let after = first + groups.as_flattened().len();
        encapsulate_groups::<R, E, GROUP>(keys, seeds, first, groups, secret_groups);
        let (rest, secret_rest) = (rest.as_chunks_mut().0, secret_rest.as_chunks_mut().0);
        encapsulate_groups::<R, E, 1>(keys, seeds, after, rest, secret_rest);
    };
    if secrets.len() <= MOST_ALONE {
        return work(0, ciphertexts, secrets);
    }
    let share = share(pool, secrets.len(), GROUP);
    pool.install(|| {
        let outputs = ciphertexts.par_chunks_mut(share).zip(secrets.par_chunks_mut(share));
        outputs.enumerate().for_each(|(index, (ciphertexts, secrets))| {
            work(index * share, ciphertexts, secrets);
        });
    });
}

/// Decapsulates a batch (paper, Algorithm 6).
///
/// All slices have the length of the batch. The number of keys is 1 or the length of the batch.
///
/// # Errors
/// The first unchecked row that is not a key (the outputs of the others may be written), or
/// [`EngineError::ForeignKeys`].
pub(crate) fn decapsulate<R: Arithmetic, E: Encode, K: Array<u8>>(
    pool: &ThreadPool,
    keys: KeyRows<'_>,
    ciphertexts: &[R::CiphertextBytes],
    secrets: &mut [[u8; SHARED_SECRET_BYTES]],
) -> Result<(), EngineError> {
    let (mut one, refused) = (None, FirstRefused::new());
    let decode = |key: &K| DecodedDecapsulationKey::new::<E>(key.as_ref());
    let read = |row: &K| DecodedDecapsulationKey::read::<E>(row.as_ref());
    let keys = Source::new(keys, &mut one, &refused, decode, read)?;
    decapsulate_from::<R, E, K>(pool, keys, ciphertexts, secrets);
    Ok(refused.into_result()?)
}

/// Deals the operations of a decapsulation to threads.
fn decapsulate_from<R: Arithmetic, E: Encode, K: Array<u8>>(
    pool: &ThreadPool,
    keys: DecapsulationKeys<'_, R, K>,
    ciphertexts: &[R::CiphertextBytes],
    secrets: &mut [[u8; SHARED_SECRET_BYTES]],
) {
    let work = |first, ciphertexts: &[R::CiphertextBytes], secrets: &mut [_]| {
        let (groups, rest) = ciphertexts.as_chunks();
        let (secret_groups, secret_rest) = secrets.as_chunks_mut();
        let after = first + groups.as_flattened().len();
        decapsulate_groups::<R, E, K, GROUP>(keys, first, groups, secret_groups);
        let (rest, secret_rest) = (rest.as_chunks().0, secret_rest.as_chunks_mut().0);
        decapsulate_groups::<R, E, K, 1>(keys, after, rest, secret_rest);
    };
    if secrets.len() <= MOST_ALONE {
        return work(0, ciphertexts, secrets);
    }
    let share = share(pool, secrets.len(), GROUP);
    pool.install(|| {
        let operations = ciphertexts.par_chunks(share).zip(secrets.par_chunks_mut(share));
        operations.enumerate().for_each(|(index, (ciphertexts, secrets))| {
            work(index * share, ciphertexts, secrets);
        });
    });
}

/// Encapsulates `N` operations at a time. The first operation has the number `first` in the batch.
fn encapsulate_groups<R: Arithmetic, E: Encode, const N: usize>(
    keys: EncapsulationKeys<'_, R, E>,
    seeds: Seeds<'_, SEED_BYTES>,
    first: usize,
    ciphertexts: &mut [[R::CiphertextBytes; N]],
    secrets: &mut [[[u8; SHARED_SECRET_BYTES]; N]],
) {
    let mut group: [Secret<_>; N] = array::from_fn(|_| Secret::zeroed());
    for (index, (ciphertexts, secrets)) in ciphertexts.iter_mut().zip(secrets).enumerate() {
        let first = first + index * N;
        let (decode, read) =
            (DecodedEncapsulationKey::new::<E>, DecodedEncapsulationKey::read::<E>);
        keys.with(first, decode, read, |keys| {
            let ids = keys.map(DecodedEncapsulationKey::id);
            let purpose = Purpose::encapsulation::<R, E>();
            seeds.write_group(purpose, first, ids, group.each_mut().map(|seed| &mut **seed));
            kem::encapsulate(keys, group.each_ref().map(|seed| &**seed), ciphertexts, secrets);
        });
    }
}

/// Decapsulates `N` operations at a time. The first operation has the number `first` in the batch.
fn decapsulate_groups<R: Arithmetic, E: Encode, K: Array<u8>, const N: usize>(
    keys: DecapsulationKeys<'_, R, K>,
    first: usize,
    ciphertexts: &[[R::CiphertextBytes; N]],
    secrets: &mut [[[u8; SHARED_SECRET_BYTES]; N]],
) {
    let decode = |key: &K| DecodedDecapsulationKey::new::<E>(key.as_ref());
    let read = |row: &K| DecodedDecapsulationKey::read::<E>(row.as_ref());
    for (index, (ciphertexts, secrets)) in ciphertexts.iter().zip(secrets).enumerate() {
        keys.with(first + index * N, decode, read, |keys| {
            kem::decapsulate(keys, ciphertexts, secrets);
        });
    }
}

/// Generates the key pairs of a batch from number `first`, with one inversion for all of them
/// (Montgomery's trick).
///
/// `encapsulation_keys` has the length of `decapsulation_keys`, or it is empty.
fn generate_together<R: Arithmetic, E: Encode, K: Array<u8>>(
    seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
    first: usize,
    encapsulation_keys: &mut [E::Bytes<R>],
    decapsulation_keys: &mut [K],
) {
    let count = decapsulation_keys.len();
    let mut sampled = Vec::with_capacity(count);
    let mut z: Vec<_> = (0..count).map(|_| Secret::zeroed()).collect();
    let (groups, rest) = z.as_chunks_mut();
    for z in groups {
        sample_keys::<R, E, GROUP>(seeds, first, &mut sampled, z);
    }
    for z in rest {
        sample_keys::<R, E, 1>(seeds, first, &mut sampled, array::from_mut(z));
    }
    let elements: Vec<_> = sampled.iter().map(|key| &key.f).collect();
    let mut inverses = std::vec![Poly::zero(); count];
    let mut nodes: Vec<BatchNode<R>> = (0..count).map(|_| BatchNode::new()).collect();
    invert_batch(&elements, &mut inverses, &mut nodes).expect("room for the batch");
    let mut multiplier = Multiplier::new();
    let mut encapsulation_keys = encapsulation_keys.iter_mut();
    for (((polynomials, z), inverse), key) in
        sampled.iter().zip(&z).zip(&inverses).zip(decapsulation_keys)
    {
        let made = kem::assemble::<R, E>(&mut multiplier, polynomials, inverse, z, key.as_mut());
        if let Some(encapsulation_key) = encapsulation_keys.next() {
            *encapsulation_key = made;
        }
    }
}

/// Samples the next `N` key pairs of a batch from number `first`, of which `sampled` holds the
/// first ones. Appends their polynomials to `sampled`, and writes their rejection secrets to `z`.
fn sample_keys<R: Arithmetic, E: Encode, const N: usize>(
    seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
    first: usize,
    sampled: &mut Vec<KeyPolynomials<R>>,
    z: &mut [Secret<[u8; SEED_BYTES]>; N],
) {
    let mut group: [Secret<[u8; KEY_PAIR_SEED_BYTES]>; N] = array::from_fn(|_| Secret::zeroed());
    let purpose = Purpose::key_generation::<R, E>();
    let index = first + sampled.len();
    seeds.write_group(purpose, index, [&NO_ID; N], group.each_mut().map(|seed| &mut **seed));
    let key_seeds = group.each_ref().map(|seed| seed.first_chunk().expect("half of the seed"));
    let mut coins = array::from_fn(|_| [Secret::zeroed(), Secret::zeroed()]);
    hash::key_coins::<R, N>(key_seeds, &mut coins);
    sampled.extend(coins.iter().map(KeyPolynomials::sample));
    for (z, seed) in z.iter_mut().zip(&group) {
        z.copy_from(&seed[SEED_BYTES..]);
    }
}
