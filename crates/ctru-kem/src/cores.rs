//! Batches on the cores of the machine, from bytes to bytes.

use core::array;
use core::error::Error;
use core::iter;
use core::marker::PhantomData;
use core::slice;
use std::vec::Vec;

use ctru_math::array::Array;

use crate::batch::{EngineError, KeyRows, LoadedKeys, Seeds};
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidRow};
use crate::first_refused::FirstRefused;
use crate::hash::{GROUP, KEY_PAIR_SEED_BYTES, SEED_BYTES, SHARED_SECRET_BYTES};
use crate::parameters::Parameters;
use crate::scheme::{
    CiphertextBytes, DecapsulationKeyBytes, DecodedPrivate, DecodedPublic, EncapsulationKeyBytes,
    Scheme, SecretBytes, Types,
};
use crate::threads::{ThreadPool, for_each};
use crate::wipe::{Secret, wipe_stack};

/// The largest number of key pairs that share one inversion. At this number, the inversion already
/// takes little time compared with the three products per key.
const KEYS_PER_INVERSION: usize = 128;

/// The largest number of encapsulations or decapsulations that the calling thread does by itself.
/// Waking another thread takes longer.
const MOST_ALONE: usize = 8;

/// Bytes of the stack on which a key is decoded, where moves leave copies of its polynomials.
const DECODING: usize = 40 << 10;

/// Returns the arrays that bytes are, one after the other.
fn rows<A: Array<u8>>(bytes: &[u8]) -> &[A] {
    A::of_slice(bytes).0
}

/// Returns the arrays that bytes are, one after the other, for writing.
fn rows_mut<A: Array<u8>>(bytes: &mut [u8]) -> &mut [A] {
    A::of_slice_mut(bytes).0
}

/// A kind of keys of a parameter set.
pub(crate) trait KeyKind {
    type Bytes: Array<u8>;
    type Decoded: Send + Sync + 'static;
    type Error: Error + Clone + Send;

    /// Whether the stack on which a key was decoded is wiped.
    const IS_SECRET: bool;

    /// Decodes well-formed keys.
    fn decode<const N: usize>(keys: [&Self::Bytes; N]) -> [Self::Decoded; N];
    /// Returns for each string of bytes the decoded key, or why it is none.
    fn read<const N: usize>(keys: [&Self::Bytes; N]) -> [Result<Self::Decoded, Self::Error>; N];
}

/// Decodes a key to `to`, after a check unless it is trusted.
///
/// This is a function of its own, so that [`wipe_stack`] reaches what it leaves on the stack.
#[inline(never)]
fn decode_to<K: KeyKind>(
    key: &K::Bytes,
    is_trusted: bool,
    to: &mut Option<K::Decoded>,
) -> Result<(), K::Error> {
    let [read] = if is_trusted { K::decode([key]).map(Ok) } else { K::read([key]) };
    *to = Some(read?);
    Ok(())
}

/// The encapsulation keys of `P`.
pub(crate) struct PublicKeys<P>(PhantomData<P>);
/// The decapsulation keys of `P`.
pub(crate) struct PrivateKeys<P>(PhantomData<P>);

impl<P: Types> KeyKind for PublicKeys<P> {
    type Bytes = EncapsulationKeyBytes<P>;
    type Decoded = DecodedPublic<P>;
    type Error = InvalidEncapsulationKey;

    const IS_SECRET: bool = false;

    fn decode<const N: usize>(keys: [&Self::Bytes; N]) -> [Self::Decoded; N] {
        P::Scheme::public_each(keys)
    }
    fn read<const N: usize>(keys: [&Self::Bytes; N]) -> [Result<Self::Decoded, Self::Error>; N] {
        P::Scheme::read_public_each(keys)
    }
}

impl<P: Types> KeyKind for PrivateKeys<P> {
    type Bytes = DecapsulationKeyBytes<P>;
    type Decoded = DecodedPrivate<P>;
    type Error = InvalidDecapsulationKey;

    const IS_SECRET: bool = true;

    fn decode<const N: usize>(keys: [&Self::Bytes; N]) -> [Self::Decoded; N] {
        P::Scheme::private_each(keys.map(AsRef::as_ref))
    }
    fn read<const N: usize>(keys: [&Self::Bytes; N]) -> [Result<Self::Decoded, Self::Error>; N] {
        P::Scheme::read_private_each(keys.map(AsRef::as_ref))
    }
}

/// The keys of a batch, in the form in which its chunks read them.
enum Source<'a, K: KeyKind> {
    /// One encoded key for each operation. Each chunk decodes its keys.
    Encoded(&'a [K::Bytes]),
    /// Decoded keys: one for all operations, or one for each. None of them is missing.
    Decoded(&'a [Option<K::Decoded>]),
    /// One row of bytes for each operation. Each chunk decodes its rows, and notes a row that is
    /// not a key.
    Rows(&'a [K::Bytes], &'a FirstRefused<K::Error>),
}

impl<K: KeyKind> Copy for Source<'_, K> {}
impl<K: KeyKind> Clone for Source<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, K: KeyKind> Source<'a, K>
where
    EngineError: From<InvalidRow<K::Error>>,
{
    /// Returns the source of a batch's keys. If one key serves all operations, it is decoded at
    /// once, into `one`.
    ///
    /// # Errors
    /// The reason why a single unchecked row is not a key, or [`EngineError::ForeignKeys`].
    fn new(
        keys: KeyRows<'a>,
        one: &'a mut Option<K::Decoded>,
        refused: &'a FirstRefused<K::Error>,
    ) -> Result<Self, EngineError> {
        let (row, is_trusted) = match keys {
            KeyRows::Trusted(bytes) => match rows(bytes) {
                [key] => (key, true),
                keys => return Ok(Self::Encoded(keys)),
            },
            KeyRows::Unchecked(bytes) => match rows(bytes) {
                [row] => (row, false),
                rows => return Ok(Self::Rows(rows, refused)),
            },
            KeyRows::Loaded(keys) => return Ok(Self::Decoded(keys.decoded::<Vec<_>>()?)),
        };
        let read = decode_to::<K>(row, is_trusted, one);
        if K::IS_SECRET {
            wipe_stack::<DECODING>();
        }
        read.map_err(|error| InvalidRow { row: 0, error })?;
        Ok(Self::Decoded(slice::from_ref(one)))
    }

    /// Calls `operation` with the decoded keys of operations `first..first + N`, unless one of them
    /// is refused.
    fn with<const N: usize>(self, first: usize, operation: impl FnOnce([&K::Decoded; N])) {
        match self {
            Self::Decoded(keys) => operation(array::from_fn(|i| {
                let index = if keys.len() == 1 { 0 } else { first + i };
                keys[index].as_ref().expect("a decoded key")
            })),
            Self::Encoded(keys) => {
                let decoded = K::decode(array::from_fn(|i| &keys[first + i]));
                operation(decoded.each_ref());
            }
            Self::Rows(rows, refused) => {
                let read: [_; N] = K::read(array::from_fn(|i| &rows[first + i]));
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

/// Decodes rows of keys. `parameters` are those of the keys.
///
/// # Errors
/// The first row that is not a key.
pub(crate) fn load<K: KeyKind>(
    pool: &ThreadPool,
    parameters: Parameters,
    keys: &[u8],
) -> Result<LoadedKeys, EngineError>
where
    EngineError: From<InvalidRow<K::Error>>,
{
    let (rows, refused) = (rows::<K::Bytes>(keys), FirstRefused::new());
    let mut decoded: Vec<Option<K::Decoded>> = rows.iter().map(|_| None).collect();
    for_each(pool, rows.iter().zip(&mut decoded).enumerate(), |(row, (bytes, key))| {
        if let Err(error) = decode_to::<K>(bytes, false, key) {
            refused.note(row, error);
        }
    });
    refused.into_result()?;
    Ok(LoadedKeys::new(parameters, rows.len(), decoded))
}

/// The rows of bytes that a batch writes, and how many bytes a row has.
type Rows<'a> = (&'a mut [u8], usize);

/// What a thread does with the number of the first row of a part, and with that part of the first
/// and of the second rows.
type Work<'a> = dyn Fn(usize, &mut [u8], &mut [u8]) + Sync + 'a;

/// Calls `work` with each part of the rows `first` and `second`, on all threads. `second` has as
/// many rows as `first`, or none.
///
/// If there are at most `alone` rows, the calling thread does all work. Else a thread takes at most
/// `most` rows at a time, and fewer if some threads would get none.
///
/// The function is not generic, so that it is compiled once for all batches.
fn share_out(
    pool: &ThreadPool,
    (alone, most): (usize, usize),
    (first, first_row): Rows<'_>,
    (second, second_row): Rows<'_>,
    work: &Work<'_>,
) {
    let count = first.len() / first_row;
    if count <= alone {
        return work(0, first, second);
    }
    let share = count.div_ceil(pool.current_num_threads()).clamp(1, most);
    let no_rows = iter::repeat_with(|| &mut [][..]);
    let second = second.chunks_mut(share * second_row).chain(no_rows);
    let parts = first.chunks_mut(share * first_row).zip(second).enumerate();
    for_each(pool, parts, |(index, (first, second))| work(index * share, first, second));
}

/// Generates key pairs, one row each.
///
/// There are as many encapsulation keys as decapsulation keys, or none. If there are none, only
/// decapsulation keys are written.
pub(crate) fn generate<P: Types>(
    pool: &ThreadPool,
    seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
    encapsulation_keys: &mut [u8],
    decapsulation_keys: &mut [u8],
) {
    let private = (decapsulation_keys, DecapsulationKeyBytes::<P>::LEN);
    let public = (encapsulation_keys, EncapsulationKeyBytes::<P>::LEN);
    share_out(pool, (1, KEYS_PER_INVERSION), private, public, &|first, private, public| {
        let private = rows_mut::<DecapsulationKeyBytes<P>>(private);
        P::Scheme::generate_together(seeds, first, rows_mut(public), private);
    });
}

/// Encapsulates a batch.
///
/// The ciphertexts and the shared secrets have one row for each operation. The number of keys is 1
/// or the number of operations.
///
/// # Errors
/// The first unchecked row that is not a key (the outputs of the others may be written), or
/// [`EngineError::ForeignKeys`].
pub(crate) fn encapsulate<P: Types>(
    pool: &ThreadPool,
    keys: KeyRows<'_>,
    seeds: Seeds<'_, SEED_BYTES>,
    ciphertexts: &mut [u8],
    secrets: &mut [u8],
) -> Result<(), EngineError> {
    let (mut one, refused) = (None, FirstRefused::new());
    let keys = Source::<PublicKeys<P>>::new(keys, &mut one, &refused)?;
    let ciphertexts = (ciphertexts, CiphertextBytes::<P>::LEN);
    let secrets = (secrets, SHARED_SECRET_BYTES);
    share_out(pool, (MOST_ALONE, GROUP), ciphertexts, secrets, &|first, ciphertexts, secrets| {
        let (groups, rest) = rows_mut(ciphertexts).as_chunks_mut();
        let (secret_groups, secret_rest) = rows_mut(secrets).as_chunks_mut();
        let after = first + groups.as_flattened().len();
        encapsulate_groups::<P, GROUP>(keys, seeds, first, groups, secret_groups);
        let (rest, secret_rest) = (rest.as_chunks_mut().0, secret_rest.as_chunks_mut().0);
        encapsulate_groups::<P, 1>(keys, seeds, after, rest, secret_rest);
    });
    Ok(refused.into_result()?)
}

/// Decapsulates a batch.
///
/// The ciphertexts and the shared secrets have one row for each operation. The number of keys is 1
/// or the number of operations.
///
/// # Errors
/// The first unchecked row that is not a key (the outputs of the others may be written), or
/// [`EngineError::ForeignKeys`].
pub(crate) fn decapsulate<P: Types>(
    pool: &ThreadPool,
    keys: KeyRows<'_>,
    ciphertexts: &[u8],
    secrets: &mut [u8],
) -> Result<(), EngineError> {
    let (mut one, refused) = (None, FirstRefused::new());
    let keys = Source::<PrivateKeys<P>>::new(keys, &mut one, &refused)?;
    let ciphertexts = rows::<CiphertextBytes<P>>(ciphertexts);
    let (secrets, none) = ((secrets, SHARED_SECRET_BYTES), (&mut [][..], 1));
    share_out(pool, (MOST_ALONE, GROUP), secrets, none, &|first, secrets, _| {
        let secrets = rows_mut(secrets);
        let (groups, rest) = ciphertexts[first..][..secrets.len()].as_chunks();
        let (secret_groups, secret_rest) = secrets.as_chunks_mut();
        let after = first + groups.as_flattened().len();
        decapsulate_groups::<P, GROUP>(keys, first, groups, secret_groups);
        let (rest, secret_rest) = (rest.as_chunks().0, secret_rest.as_chunks_mut().0);
        decapsulate_groups::<P, 1>(keys, after, rest, secret_rest);
    });
    Ok(refused.into_result()?)
}

/// Encapsulates `N` operations at a time. The first operation has the number `first` in the batch.
fn encapsulate_groups<P: Types, const N: usize>(
    keys: Source<'_, PublicKeys<P>>,
    seeds: Seeds<'_, SEED_BYTES>,
    first: usize,
    ciphertexts: &mut [[CiphertextBytes<P>; N]],
    secrets: &mut [[SecretBytes; N]],
) {
    let purpose = P::Scheme::ENCAPSULATION;
    let mut group: [Secret<_>; N] = array::from_fn(|_| Secret::zeroed());
    for (index, (ciphertexts, secrets)) in ciphertexts.iter_mut().zip(secrets).enumerate() {
        let first = first + index * N;
        keys.with(first, |keys| {
            let ids = keys.map(P::Scheme::id);
            let outputs = group.each_mut().map(|seed| &mut **seed);
            seeds.write_group(purpose, first, ids.each_ref(), outputs);
            let ciphertexts = ciphertexts.each_mut().map(AsMut::as_mut);
            P::Scheme::encapsulate(keys, group.each_ref().map(|s| &**s), ciphertexts, secrets);
        });
    }
}

/// Decapsulates `N` operations at a time. The first operation has the number `first` in the batch.
fn decapsulate_groups<P: Types, const N: usize>(
    keys: Source<'_, PrivateKeys<P>>,
    first: usize,
    ciphertexts: &[[CiphertextBytes<P>; N]],
    secrets: &mut [[SecretBytes; N]],
) {
    for (index, (ciphertexts, secrets)) in ciphertexts.iter().zip(secrets).enumerate() {
        keys.with(first + index * N, |keys| {
            P::Scheme::decapsulate(keys, ciphertexts.each_ref().map(AsRef::as_ref), secrets);
        });
    }
}
