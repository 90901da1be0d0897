//! Batches on the cores of the machine, from bytes to bytes. The arguments that the batches of
//! every engine take are here, too: [`Seeds`] and [`Keys`].

use core::any::Any;
use core::error::Error;
use core::{array, fmt};
use std::boxed::Box;
use std::sync::{Mutex, PoisonError};
use std::vec::Vec;

use ctru_math::array::Array;
use ctru_math::invert::{BatchNode, invert_batch};
use ctru_math::mul::Multiplier;
use ctru_math::{Arithmetic, Poly};

use crate::encoding::Encode;
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidRow};
use crate::expand::{Expand, Purpose};
use crate::hash::{self, Id, KEY_PAIR_SEED_BYTES, NO_ID, SEED_BYTES, SHARED_SECRET_BYTES};
use crate::kem::{self, DecodedDecapsulationKey, DecodedEncapsulationKey};
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

/// The seeds of a batch, `N` bytes for each operation.
///
/// Seeds must be uniform and secret, and each must be used once.
#[derive(Copy, Clone)]
pub enum Seeds<'a, const N: usize> {
    /// One seed for each operation.
    Each(&'a [[u8; N]]),
    /// One master seed, from which the engine derives a seed for each operation. [`Expand`] says
    /// which operations get the same seed.
    Expand(Expand<'a>),
}

/// The keys of a batch.
pub enum Keys<'a, K, L: ?Sized> {
    /// One key for all operations.
    One(&'a K),
    /// One key for each operation.
    Each(&'a [K]),
    /// Keys that the engine has loaded: one for all operations, or one for each.
    Loaded(&'a L),
}

impl<const N: usize> fmt::Debug for Seeds<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Each(seeds) => write!(f, "Seeds::Each({} seeds)", seeds.len()),
            Self::Expand(expand) => write!(f, "Seeds::{expand:?}"),
        }
    }
}

impl<K, L: ?Sized> fmt::Debug for Keys<'_, K, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(_) => f.write_str("Keys::One(..)"),
            Self::Each(keys) => write!(f, "Keys::Each({} keys)", keys.len()),
            Self::Loaded(_) => f.write_str("Keys::Loaded(..)"),
        }
    }
}

impl<K, L: ?Sized> Copy for Keys<'_, K, L> {}
impl<K, L: ?Sized> Clone for Keys<'_, K, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<const N: usize> Seeds<'_, N> {
    /// Writes the seeds of operations `first..first + G` to `group`. `ids` has the `ID(pk)` of the
    /// operations' keys, or [`NO_ID`] for key generation.
    pub(crate) fn write_group<const G: usize>(
        &self,
        purpose: Purpose,
        first: usize,
        ids: [&Id; G],
        group: [&mut [u8; N]; G],
    ) {
        match self {
            Self::Each(seeds) => {
                for (seed, from) in group.into_iter().zip(&seeds[first..first + G]) {
                    seed.copy_from_slice(from);
                }
            }
            Self::Expand(expand) => expand.write_group(purpose, first, ids, group),
        }
    }
}

/// The keys of a batch on the CPU: one for all operations, or one for each.
#[derive(Copy, Clone)]
pub enum KeyRows<'a> {
    /// The bytes of well-formed keys.
    Checked(&'a [u8]),
    /// Rows of bytes that may not be keys.
    Unchecked(&'a [u8]),
    /// Decoded keys.
    Loaded(&'a LoadedKeys),
}

/// Decoded keys of a set that is chosen at run time.
pub struct LoadedKeys {
    /// A vector of decoded keys. Decapsulation keys wipe themselves.
    keys: Box<dyn Any + Send + Sync>,
    count: usize,
}

impl fmt::Debug for KeyRows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyRows(..)")
    }
}

impl fmt::Debug for LoadedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LoadedKeys({} keys)", self.count)
    }
}

impl LoadedKeys {
    /// Decodes keys.
    pub(crate) fn decode<K: Sync, D: Any + Send + Sync>(
        pool: &ThreadPool,
        keys: &[K],
        decode: impl Fn(&K) -> D + Send + Sync,
    ) -> Self {
        let decoded: Vec<D> = pool.install(|| keys.par_iter().map(decode).collect());
        Self { count: decoded.len(), keys: Box::new(decoded) }
    }

    /// Returns the number of keys.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the keys.
    ///
    /// # Panics
    /// If they belong to another parameter set.
    fn decoded<D: 'static>(&self) -> &[D] {
        self.keys.downcast_ref::<Vec<D>>().expect("loaded keys of this parameter set")
    }
}

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

impl<'a, K: Array<u8>, D: 'static, F: Error + Clone> Source<'a, K, D, F> {
    /// Returns the source of a batch's keys. If one key serves all operations, it is decoded at
    /// once, into `one`.
    ///
    /// # Errors
    /// The reason why a single unchecked row is not a key.
    fn new(
        keys: KeyRows<'a>,
        one: &'a mut Option<D>,
        refused: &'a FirstRefused<F>,
        decode: impl Fn(&K) -> D,
        read: impl Fn(&K) -> Result<D, F>,
    ) -> Result<Self, InvalidRow<F>> {
        let single = match keys {
            KeyRows::Checked(bytes) => match K::of_slice(bytes).0 {
                [key] => decode(key),
                keys => return Ok(Self::Encoded(keys)),
            },
            KeyRows::Unchecked(bytes) => match K::of_slice(bytes).0 {
                [row] => read(row).map_err(|error| InvalidRow { row: 0, error })?,
                rows => return Ok(Self::Rows(rows, refused)),
            },
            KeyRows::Loaded(keys) => return Ok(Self::Decoded(keys.decoded())),
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
/// The first unchecked row that is not a key. The outputs of the others may be written.
pub(crate) fn encapsulate<R: Arithmetic, E: Encode>(
    pool: &ThreadPool,
    keys: KeyRows<'_>,
    seeds: Seeds<'_, SEED_BYTES>,
    ciphertexts: &mut [R::CiphertextBytes],
    secrets: &mut [[u8; SHARED_SECRET_BYTES]],
) -> Result<(), InvalidRow<InvalidEncapsulationKey>> {
    let (mut one, refused) = (None, FirstRefused::new());
    let (decode, read) = (DecodedEncapsulationKey::new::<E>, DecodedEncapsulationKey::read::<E>);
    let keys = Source::new(keys, &mut one, &refused, decode, read)?;
    encapsulate_from::<R, E>(pool, keys, seeds, ciphertexts, secrets);
    refused.into_result()
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
/// The first unchecked row that is not a key. The outputs of the others may be written.
pub(crate) fn decapsulate<R: Arithmetic, E: Encode, K: Array<u8>>(
    pool: &ThreadPool,
    keys: KeyRows<'_>,
    ciphertexts: &[R::CiphertextBytes],
    secrets: &mut [[u8; SHARED_SECRET_BYTES]],
) -> Result<(), InvalidRow<InvalidDecapsulationKey>> {
    let (mut one, refused) = (None, FirstRefused::new());
    let decode = |key: &K| DecodedDecapsulationKey::new::<E>(key.as_ref());
    let read = |row: &K| DecodedDecapsulationKey::read::<E>(row.as_ref());
    let keys = Source::new(keys, &mut one, &refused, decode, read)?;
    decapsulate_from::<R, E, K>(pool, keys, ciphertexts, secrets);
    refused.into_result()
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
