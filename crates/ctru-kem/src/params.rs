//! The parameter sets, as zero-sized types, and their operations on bytes.
//!
//! The operations of each set are methods of a hidden trait, so that their machine code is
//! generated in this crate and not in each program that uses it. [`Operations`] holds some of
//! them as a value, for a set that is chosen at run time.

use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

use ctru_math::array::Array;
use ctru_math::{Arithmetic, Ring};

#[cfg(feature = "std")]
use crate::batch::{EngineError, KeyRows, LoadedKeys, Seeds, cpu};
use crate::encoding::{Encode, MixedRadix, Packed13, PublicKeyEncoding};
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey};
#[cfg(feature = "std")]
use crate::hash::KEY_PAIR_SEED_BYTES;
use crate::hash::{SEED_BYTES, SHARED_SECRET_BYTES};
use crate::kem::{self, DecodedDecapsulationKey, DecodedEncapsulationKey};
use crate::parameters::{Encoding, Parameters, Set};
#[cfg(feature = "std")]
use crate::threads::ThreadPool;

/// A parameter set of CTRU-Prime with an encoding of encapsulation keys.
///
/// The trait is sealed. This crate implements it for the types in [`sets`] with each of two
/// encodings. The page of this crate lists their sizes.
pub trait ParameterSet: Compiled {
    /// The set and its encoding, as a value.
    const PARAMETERS: Parameters;
    /// The name of the set without its encoding, such as `CTRU-Prime-761`.
    const NAME: &'static str = Self::PARAMETERS.set.name();
    /// The number of bytes of an encapsulation key.
    const ENCAPSULATION_KEY_BYTES: usize = <EncapsulationKeyBytes<Self> as Array<u8>>::LEN;
    /// The number of bytes of a decapsulation key.
    const DECAPSULATION_KEY_BYTES: usize = <DecapsulationKeyBytes<Self> as Array<u8>>::LEN;
    /// The number of bytes of a ciphertext.
    const CIPHERTEXT_BYTES: usize = <CiphertextBytes<Self> as Array<u8>>::LEN;
}

/// The array of the bytes of an encapsulation key of `P`.
pub type EncapsulationKeyBytes<P> = <P as Types>::EncapsulationKeyBytes;
/// The array of the bytes of a decapsulation key of `P`.
pub type DecapsulationKeyBytes<P> = <P as Types>::DecapsulationKeyBytes;
/// The array of the bytes of a ciphertext of `P`.
pub type CiphertextBytes<P> = <<P as Types>::Ring as Ring>::CiphertextBytes;

/// The 32 bytes of a seed or of `z`, the secret of implicit rejection.
type Seed = [u8; SEED_BYTES];
/// The bytes of a shared secret.
type SecretBytes = [u8; SHARED_SECRET_BYTES];

/// The types of a parameter set. Users cannot name this trait, which seals [`ParameterSet`].
pub trait Types: Copy + Debug + Default + Eq + Ord + Hash + Send + Sync + 'static {
    /// The ring, with the distribution of small polynomials.
    type Ring: Arithmetic;
    /// The encoding of encapsulation keys.
    type Encoding: PublicKeyEncoding;
    /// The bytes of an encapsulation key.
    type EncapsulationKeyBytes: Array<u8>;
    /// The bytes of a decapsulation key.
    type DecapsulationKeyBytes: Array<u8>;
    /// The result of the known-answer test, as an implementation in Python has computed it.
    const KNOWN_ANSWER: u128;
}

/// Returns the single array that bytes are.
///
/// # Panics
/// If the number of bytes differs.
fn one<A: Array<u8>>(bytes: &[u8]) -> &A {
    let ([array], []) = A::of_slice(bytes) else { panic!("{} of {} bytes", bytes.len(), A::LEN) };
    array
}

/// Returns the single array that bytes are, for writing.
///
/// # Panics
/// If the number of bytes differs.
fn one_mut<A: Array<u8>>(bytes: &mut [u8]) -> &mut A {
    let len = bytes.len();
    let ([array], []) = A::of_slice_mut(bytes) else { panic!("{len} of {} bytes", A::LEN) };
    array
}

/// Returns the arrays that bytes are, one after the other.
#[cfg(feature = "std")]
fn rows<A: Array<u8>>(bytes: &[u8]) -> &[A] {
    A::of_slice(bytes).0
}

/// Returns the arrays that bytes are, one after the other, for writing.
#[cfg(feature = "std")]
fn rows_mut<A: Array<u8>>(bytes: &mut [u8]) -> &mut [A] {
    A::of_slice_mut(bytes).0
}

/// A decoded encapsulation key of a set.
type DecodedPublic<P> = DecodedEncapsulationKey<<P as Types>::Ring>;
/// A decoded decapsulation key of a set.
type DecodedPrivate<P> = DecodedDecapsulationKey<<P as Types>::Ring>;

/// Passes the operations to another macro, after its arguments. Keys, ciphertexts and placeholders
/// have the bytes of their type; a batch has one row for each operation.
macro_rules! operations {
    ($then:ident! $($argument:tt)*) => { $then! { $($argument)*
        /// Generates the decapsulation key that a seed and `z` determine.
        fn generate(seed: &Seed, z: &Seed, key: &mut [u8]) {
            kem::generate::<Self::Ring, Self::Encoding>(seed, z, key)
        }
        /// Encapsulates to a well-formed key.
        fn encapsulate(
            key: &[u8],
            seed: &Seed,
            ciphertext: &mut [u8],
            secret: &mut SecretBytes,
        ) {
            DecodedPublic::<Self>::new::<Self::Encoding>(one(key))
                .encapsulate(seed, one_mut(ciphertext), secret)
        }
        /// Decapsulates with a well-formed key.
        fn decapsulate(key: &[u8], ciphertext: &[u8], secret: &mut SecretBytes) {
            DecodedPrivate::<Self>::new::<Self::Encoding>(key).decapsulate(one(ciphertext), secret)
        }
        /// Decodes a well-formed encapsulation key.
        fn decode_encapsulation_key(key: &[u8]) -> DecodedPublic<Self> {
            DecodedPublic::<Self>::new::<Self::Encoding>(one(key))
        }
        /// Decodes a well-formed decapsulation key.
        fn decode_decapsulation_key(key: &[u8]) -> DecodedPrivate<Self> {
            DecodedPrivate::<Self>::new::<Self::Encoding>(key)
        }
        /// Encapsulates to a decoded key.
        fn encapsulate_decoded(
            key: &DecodedPublic<Self>,
            seed: &Seed,
            ciphertext: &mut [u8],
            secret: &mut SecretBytes,
        ) {
            key.encapsulate(seed, one_mut(ciphertext), secret)
        }
        /// Decapsulates with a decoded key.
        fn decapsulate_decoded(
            key: &DecodedPrivate<Self>,
            ciphertext: &[u8],
            secret: &mut SecretBytes,
        ) {
            key.decapsulate(one(ciphertext), secret)
        }
        /// Checks that bytes are a well-formed encapsulation key.
        fn check_encapsulation_key(key: &[u8]) -> Result<(), InvalidEncapsulationKey> {
            DecodedPublic::<Self>::read::<Self::Encoding>(one(key)).map(drop)
        }
        /// Checks that the polynomials of a decapsulation key are well formed.
        fn check_decapsulation_key(key: &[u8]) -> Result<(), InvalidDecapsulationKey> {
            DecodedPrivate::<Self>::read::<Self::Encoding>(key).map(drop)
        }
        /// Checks that the secret polynomial and `h` of a well-formed key belong together.
        fn check_consistency(key: &[u8]) -> Result<(), InvalidDecapsulationKey> {
            DecodedPrivate::<Self>::new::<Self::Encoding>(key).check()
        }
        /// Checks that the parts of a well-formed key belong together, encapsulates with the
        /// randomness of a seed, decapsulates, and compares the shared secrets.
        fn pairwise_test(key: &[u8], seed: &Seed) -> Result<(), InvalidDecapsulationKey> {
            DecodedPrivate::<Self>::new::<Self::Encoding>(key).pairwise_test(seed)
        }
        /// Writes the encapsulation key of `h = 0`.
        fn write_encapsulation_placeholder(key: &mut [u8]) {
            key.copy_from_slice(
                kem::encapsulation_placeholder::<Self::Ring, Self::Encoding>().as_ref(),
            )
        }
        /// Writes the decapsulation key of `f = 1`, `h = 0` and `z = 0`.
        fn write_decapsulation_placeholder(key: &mut [u8]) {
            kem::write_decapsulation_placeholder::<Self::Ring, Self::Encoding>(key)
        }
        /// Generates key pairs. There are as many encapsulation keys as decapsulation keys, or
        /// none.
        #[cfg(feature = "std")]
        fn generate_batch(
            pool: &ThreadPool,
            seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
            encapsulation_keys: &mut [u8],
            decapsulation_keys: &mut [u8],
        ) {
            cpu::generate::<Self::Ring, Self::Encoding, Self::DecapsulationKeyBytes>(
                pool,
                seeds,
                rows_mut(encapsulation_keys),
                rows_mut(decapsulation_keys),
            )
        }
        /// Encapsulates a batch.
        ///
        /// # Errors
        /// The first unchecked row that is not a key (the outputs of the others may be written),
        /// or [`EngineError::ForeignKeys`].
        #[cfg(feature = "std")]
        fn encapsulate_batch(
            pool: &ThreadPool,
            keys: KeyRows<'_>,
            seeds: Seeds<'_, SEED_BYTES>,
            ciphertexts: &mut [u8],
            secrets: &mut [u8],
        ) -> Result<(), EngineError> {
            cpu::encapsulate::<Self::Ring, Self::Encoding>(
                pool,
                keys,
                seeds,
                rows_mut(ciphertexts),
                rows_mut(secrets),
            )
        }
        /// Decapsulates a batch.
        ///
        /// # Errors
        /// The first unchecked row that is not a key (the outputs of the others may be written),
        /// or [`EngineError::ForeignKeys`].
        #[cfg(feature = "std")]
        fn decapsulate_batch(
            pool: &ThreadPool,
            keys: KeyRows<'_>,
            ciphertexts: &[u8],
            secrets: &mut [u8],
        ) -> Result<(), EngineError> {
            cpu::decapsulate::<Self::Ring, Self::Encoding, Self::DecapsulationKeyBytes>(
                pool,
                keys,
                rows(ciphertexts),
                rows_mut(secrets),
            )
        }
        /// Decodes encapsulation keys.
        ///
        /// # Errors
        /// The first row that is not a key.
        #[cfg(feature = "std")]
        fn load_encapsulation_keys(
            pool: &ThreadPool,
            keys: &[u8],
        ) -> Result<LoadedKeys, EngineError> {
            cpu::load(
                pool,
                Self::PARAMETERS,
                rows(keys),
                DecodedPublic::<Self>::zeroed,
                DecodedPublic::<Self>::read::<Self::Encoding>,
            )
        }
        /// Decodes decapsulation keys.
        ///
        /// # Errors
        /// The first row that is not a key.
        #[cfg(feature = "std")]
        fn load_decapsulation_keys(
            pool: &ThreadPool,
            keys: &[u8],
        ) -> Result<LoadedKeys, EngineError> {
            cpu::load(
                pool,
                Self::PARAMETERS,
                rows(keys),
                DecodedPrivate::<Self>::zeroed,
                |key: &Self::DecapsulationKeyBytes| {
                    DecodedPrivate::<Self>::read::<Self::Encoding>(key.as_ref())
                },
            )
        }
    } };
}

/// Declares [`Compiled`].
macro_rules! declare {
    ($(
        $(#[doc = $doc:literal])* $(#[cfg($($cfg:tt)*)])?
        fn $name:ident($($arg:ident: $arg_type:ty),* $(,)?) $(-> $output:ty)? { $body:expr }
    )+) => {
        /// The operations of a parameter set on bytes.
        pub trait Compiled: Types {
            $(
                $(#[doc = $doc])*
                $(#[cfg($($cfg)*)])?
                fn $name($($arg: $arg_type),*) $(-> $output)?;
            )+
        }
    };
}
operations!(declare!);

/// [`Compiled::encapsulate_batch`].
#[cfg(feature = "std")]
type EncapsulateBatch = fn(
    &ThreadPool,
    KeyRows<'_>,
    Seeds<'_, SEED_BYTES>,
    &mut [u8],
    &mut [u8],
) -> Result<(), EngineError>;

/// [`Compiled::decapsulate_batch`].
#[cfg(feature = "std")]
type DecapsulateBatch = fn(&ThreadPool, KeyRows<'_>, &[u8], &mut [u8]) -> Result<(), EngineError>;

/// Operations of a parameter set that is chosen at run time. They are methods of [`Compiled`].
pub(crate) struct Operations {
    pub(crate) generate: fn(&Seed, &Seed, &mut [u8]),
    pub(crate) encapsulate: fn(&[u8], &Seed, &mut [u8], &mut SecretBytes),
    pub(crate) decapsulate: fn(&[u8], &[u8], &mut SecretBytes),
    #[cfg(feature = "std")]
    pub(crate) generate_batch:
        fn(&ThreadPool, Seeds<'_, KEY_PAIR_SEED_BYTES>, &mut [u8], &mut [u8]),
    #[cfg(feature = "std")]
    pub(crate) encapsulate_batch: EncapsulateBatch,
    #[cfg(feature = "std")]
    pub(crate) decapsulate_batch: DecapsulateBatch,
    #[cfg(feature = "std")]
    pub(crate) load_encapsulation_keys: fn(&ThreadPool, &[u8]) -> Result<LoadedKeys, EngineError>,
    #[cfg(feature = "std")]
    pub(crate) load_decapsulation_keys: fn(&ThreadPool, &[u8]) -> Result<LoadedKeys, EngineError>,
}

impl Operations {
    pub(crate) const fn of<P: Compiled>() -> Self {
        Self {
            generate: P::generate,
            encapsulate: P::encapsulate,
            decapsulate: P::decapsulate,
            #[cfg(feature = "std")]
            generate_batch: P::generate_batch,
            #[cfg(feature = "std")]
            encapsulate_batch: P::encapsulate_batch,
            #[cfg(feature = "std")]
            decapsulate_batch: P::decapsulate_batch,
            #[cfg(feature = "std")]
            load_encapsulation_keys: P::load_encapsulation_keys,
            #[cfg(feature = "std")]
            load_decapsulation_keys: P::load_decapsulation_keys,
        }
    }
}

/// Implements [`Compiled`] for a parameter set.
macro_rules! implement {
    ($set:ident<$encoding:ident>: $(
        $(#[doc = $doc:literal])* $(#[cfg($($cfg:tt)*)])?
        fn $name:ident($($arg:ident: $arg_type:ty),* $(,)?) $(-> $output:ty)? { $body:expr }
    )+) => {
        impl Compiled for $set<$encoding> {
            $(
                $(#[cfg($($cfg)*)])?
                fn $name($($arg: $arg_type),*) $(-> $output)? {
                    $body
                }
            )+
        }
    };
}

/// Defines a type for each set in the list, with each encoding, and a module that has these types
/// alone.
macro_rules! types {
    ($($(#[$doc:meta])* $name:ident($ring:ident) = $code:literal: $number:literal, $text:literal {
        $($encoding:ident => $known_answer:literal;)*
    })+) => {
        /// The types of all parameter sets.
        pub mod sets {
            pub use super::{$($name),+};
        }

        $(
        $(#[$doc])*
        #[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name<E = MixedRadix>(PhantomData<E>);

        $(
            impl Types for $name<$encoding> {
                type Ring = ctru_math::$ring;
                type Encoding = $encoding;
                type EncapsulationKeyBytes = <$encoding as Encode>::Bytes<ctru_math::$ring>;
                type DecapsulationKeyBytes = [u8; <ctru_math::$ring>::SECRET_POLY_BYTES
                    + <Self::EncapsulationKeyBytes as Array<u8>>::LEN
                    + SEED_BYTES];
                const KNOWN_ANSWER: u128 = $known_answer;
            }

            impl ParameterSet for $name<$encoding> {
                const PARAMETERS: Parameters =
                    Parameters { set: Set::$name, encoding: Encoding::$encoding };
            }

            operations!(implement! $name<$encoding>:);
        )*
        )+
    };
}
sets!(types!);
