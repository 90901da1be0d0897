//! The parameter sets, as zero-sized types, and their operations on bytes.
//!
//! The operations of each set are methods of a hidden trait, so that their machine code is
//! generated in this crate and not in each program that uses it. They are those of the set's
//! [`Scheme`].

use core::array;
use core::marker::PhantomData;

use ctru_math::array::Array;
use ctru_math::{Arithmetic, Ring};

use crate::answer::answer;
use crate::ctruprime::CtruPrime;
use crate::encoding::{Encode, MixedRadix, Packed13};
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey};
use crate::hash::{KEY_PAIR_SEED_BYTES, SEED_BYTES};
use crate::ntruprime::{self, NtruPrime};
use crate::parameters::{Encoding, Parameters, Set};
pub(crate) use crate::scheme::Types;
pub use crate::scheme::{CiphertextBytes, DecapsulationKeyBytes, EncapsulationKeyBytes};
use crate::scheme::{DecodedPrivate, DecodedPublic, Scheme, SecretBytes, Seed, one};
use crate::source::{NoRandomness, Source};

/// A parameter set with an encoding of encapsulation keys.
///
/// The trait is sealed. This crate implements it for the types in [`sets`]: those of CTRU-Prime
/// with each of two encodings, those of Streamlined NTRU Prime with their only one. The page of
/// this crate lists their sizes.
pub trait ParameterSet: Compiled {
    /// The set and its encoding, as a value.
    const PARAMETERS: Parameters;
    /// The name of the set without its encoding, such as `CTRU-Prime-761` or `sntrup761`.
    const NAME: &'static str = Self::PARAMETERS.set.name();
    /// The number of bytes of an encapsulation key.
    const ENCAPSULATION_KEY_BYTES: usize = <EncapsulationKeyBytes<Self> as Array<u8>>::LEN;
    /// The number of bytes of a decapsulation key.
    const DECAPSULATION_KEY_BYTES: usize = <DecapsulationKeyBytes<Self> as Array<u8>>::LEN;
    /// The number of bytes of a ciphertext.
    const CIPHERTEXT_BYTES: usize = <CiphertextBytes<Self> as Array<u8>>::LEN;
}

/// A parameter set of CTRU-Prime, for code that works on its ring.
pub trait CtruPrimeSet: ParameterSet {
    /// The ring, with the distribution of small polynomials.
    type Ring: Arithmetic;
    /// The encoding of encapsulation keys.
    type Encoding: Encode;
}

/// Passes the operations to another macro, after its arguments. Keys, ciphertexts and placeholders
/// have the bytes of their type.
macro_rules! operations {
    ($then:ident! $($argument:tt)*) => { $then! { $($argument)*
        /// [`Scheme::expand_key_pair_seed`], with the name of the set.
        fn expand_key_pair_seed(seed: &Seed, pair: &mut [u8; KEY_PAIR_SEED_BYTES]) {
            Self::Scheme::expand_key_pair_seed(Self::NAME, seed, pair)
        }
        /// [`Scheme::generate`].
        fn generate(seed: &Seed, z: &Seed, key: &mut [u8]) {
            Self::Scheme::generate(seed, z, key)
        }
        /// [`Scheme::generate_from`].
        fn generate_from(source: Source<'_>, key: &mut [u8]) -> Result<(), NoRandomness> {
            Self::Scheme::generate_from(source, key)
        }
        /// [`Scheme::public`].
        fn decode_encapsulation_key(key: &[u8]) -> DecodedPublic<Self> {
            Self::Scheme::public(one(key))
        }
        /// [`Scheme::private`].
        fn decode_decapsulation_key(key: &[u8]) -> DecodedPrivate<Self> {
            Self::Scheme::private(key)
        }
        /// [`Scheme::encapsulate`], once.
        fn encapsulate(
            key: &DecodedPublic<Self>,
            seed: &Seed,
            ciphertext: &mut [u8],
            secret: &mut SecretBytes,
        ) {
            Self::Scheme::encapsulate([key], [seed], [ciphertext], array::from_mut(secret))
        }
        /// [`Scheme::encapsulate_from`].
        fn encapsulate_from(
            key: &DecodedPublic<Self>,
            source: Source<'_>,
            ciphertext: &mut [u8],
            secret: &mut SecretBytes,
        ) -> Result<(), NoRandomness> {
            Self::Scheme::encapsulate_from(key, source, ciphertext, secret)
        }
        /// [`Scheme::decapsulate`], once.
        fn decapsulate(
            key: &DecodedPrivate<Self>,
            ciphertext: &[u8],
            secret: &mut SecretBytes,
        ) {
            Self::Scheme::decapsulate([key], [ciphertext], array::from_mut(secret))
        }
        /// Checks that bytes are an encapsulation key.
        fn check_encapsulation_key(key: &[u8]) -> Result<(), InvalidEncapsulationKey> {
            Self::Scheme::check_public(one(key))
        }
        /// Checks that bytes are a decapsulation key.
        fn check_decapsulation_key(key: &[u8]) -> Result<(), InvalidDecapsulationKey> {
            Self::Scheme::check_private(key)
        }
        /// [`Scheme::check`].
        fn check_consistency(key: &[u8]) -> Result<(), InvalidDecapsulationKey> {
            Self::Scheme::check(&Self::Scheme::private(key))
        }
        /// [`Scheme::pairwise_test`].
        fn pairwise_test(key: &[u8], seed: &Seed) -> Result<(), InvalidDecapsulationKey> {
            let key = Self::Scheme::private(key);
            Self::Scheme::pairwise_test::<Self::CiphertextBytes>(&key, seed)
        }
        /// [`Scheme::write_encapsulation_placeholder`].
        fn write_encapsulation_placeholder(key: &mut [u8]) {
            Self::Scheme::write_encapsulation_placeholder(key)
        }
        /// [`Scheme::write_decapsulation_placeholder`].
        fn write_decapsulation_placeholder(key: &mut [u8]) {
            Self::Scheme::write_decapsulation_placeholder(key)
        }
        /// Returns the result of the known-answer test.
        fn known_answer() -> u128 {
            answer::<Self>()
        }
    } };
}

/// Declares [`Compiled`].
macro_rules! declare {
    ($(
        $(#[doc = $doc:literal])*
        fn $name:ident($($arg:ident: $arg_type:ty),* $(,)?) $(-> $output:ty)? { $($body:tt)* }
    )+) => {
        /// The operations of a parameter set on bytes.
        pub trait Compiled: Types {
            $(
                $(#[doc = $doc])*
                fn $name($($arg: $arg_type),*) $(-> $output)?;
            )+
        }
    };
}
operations!(declare!);

/// Implements [`Compiled`] for a parameter set.
macro_rules! implement {
    ($set:ident<$encoding:ident>: $(
        $(#[doc = $doc:literal])*
        fn $name:ident($($arg:ident: $arg_type:ty),* $(,)?) $(-> $output:ty)? { $($body:tt)* }
    )+) => {
        impl Compiled for $set<$encoding> {
            $(
                fn $name($($arg: $arg_type),*) $(-> $output)? {
                    $($body)*
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

/// Implements [`Types`] for the sets of CTRU-Prime.
macro_rules! ctru_prime_types {
    ($($(#[$doc:meta])* $name:ident($ring:ident) = $code:literal: $number:literal, $text:literal {
        $($encoding:ident => $known_answer:literal;)*
    })+) => { $($(
        impl Types for $name<$encoding> {
            type Scheme = CtruPrime<ctru_math::$ring, $encoding>;
            type DecapsulationKeyBytes = [u8; <ctru_math::$ring>::SECRET_POLY_BYTES
                + <<$encoding as Encode>::Bytes<ctru_math::$ring> as Array<u8>>::LEN
                + SEED_BYTES];
            type CiphertextBytes = <ctru_math::$ring as Ring>::CiphertextBytes;
            const KNOWN_ANSWER: u128 = $known_answer;
        }

        impl CtruPrimeSet for $name<$encoding> {
            type Ring = ctru_math::$ring;
            type Encoding = $encoding;
        }
    )*)+ };
}
ctru_prime_sets!(ctru_prime_types!);

/// Implements [`Types`] for the sets of Streamlined NTRU Prime.
macro_rules! ntru_prime_types {
    ($($(#[$doc:meta])* $name:ident($ring:ident) = $code:literal: $number:literal, $text:literal {
        $($encoding:ident => $known_answer:literal;)*
    })+) => { $($(
        impl Types for $name<$encoding> {
            type Scheme = NtruPrime<ctru_math::$ring>;
            type DecapsulationKeyBytes =
                [u8; ntruprime::private_key_bytes::<ctru_math::$ring>()];
            type CiphertextBytes = [u8; ntruprime::ciphertext_bytes::<ctru_math::$ring>()];
            const KNOWN_ANSWER: u128 = $known_answer;
        }
    )*)+ };
}
ntru_prime_sets!(ntru_prime_types!);
