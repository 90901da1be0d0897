//! Errors of reading keys, ciphertexts and contexts.

use ctru_math::codec::bits::Packed13Error;
use thiserror::Error;

/// The number of bytes that were given differs from the number of bytes that the type has.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[error("expected {expected} bytes, got {actual}")]
pub struct InvalidLength {
    /// The number of bytes that the type has.
    pub expected: usize,
    /// The number of bytes that were given.
    pub actual: usize,
}

/// The reason why bytes are not the seed of a private key.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidSeed {
    /// The length is wrong.
    #[error(transparent)]
    Length(#[from] InvalidLength),
    /// The bytes have the length of the private keys that were made before seeds were bound to a
    /// parameter set. One such key gave related keys for two sets, so none is read.
    #[error(
        "{actual} bytes are a private key from before 2026-11, which is not bound to a parameter \
         set; make a new key, of {expected} bytes"
    )]
    Unbound {
        /// The number of bytes that the type has.
        expected: usize,
        /// The number of bytes that were given.
        actual: usize,
    },
}

impl InvalidSeed {
    /// Returns the reason why `actual` bytes are not the `expected` bytes of a seed. Private keys
    /// of the same kind had `unbound` bytes before seeds were bound to a set.
    #[must_use]
    pub fn of_length(expected: usize, actual: usize, unbound: usize) -> Self {
        if actual == unbound {
            Self::Unbound { expected, actual }
        } else {
            InvalidLength { expected, actual }.into()
        }
    }
}

/// A [`Context`](crate::engine::Context) would have more than 32 bytes.
#[cfg(feature = "std")]
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[error("a context has at most 32 bytes, got {actual}")]
pub struct ContextTooLong {
    /// The number of bytes that were given.
    pub actual: usize,
}

/// The reason why bytes are not an encapsulation key.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidEncapsulationKey {
    /// The length is wrong.
    #[error(transparent)]
    Length(#[from] InvalidLength),
    /// A 13-bit key has a coefficient that is `q` or more.
    #[error("the coefficient of x^{index} is not below q")]
    Coefficient {
        /// The lowest exponent of `x` whose coefficient is `q` or more.
        index: usize,
    },
    /// A 13-bit key has bits after its last coefficient that are not zero.
    #[error("the padding bits are not zero")]
    Padding,
    /// The bytes of a mixed-radix key decode to a polynomial that encodes to other bytes.
    #[error("the bytes are not the canonical encoding of a polynomial")]
    NotCanonical,
    /// The bytes are the encoding of the polynomial 0. A ciphertext for such a key would show its
    /// message.
    #[error("the polynomial is zero")]
    Zero,
}

impl From<Packed13Error> for InvalidEncapsulationKey {
    fn from(error: Packed13Error) -> Self {
        match error {
            Packed13Error::Coefficient { index } => Self::Coefficient { index },
            Packed13Error::Padding => Self::Padding,
        }
    }
}

/// The reason why bytes are not a decapsulation key.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidDecapsulationKey {
    /// The length is wrong.
    #[error(transparent)]
    Length(#[from] InvalidLength),
    /// A secret polynomial has a coefficient or a weight that no key has. The error does not say
    /// where, because this is secret.
    #[error("the secret polynomial has coefficients that no key has")]
    SecretPolynomial,
    /// The hash in a key of NTRU Prime is not that of the encapsulation key in it.
    #[error("the hash in the key is not that of its encapsulation key")]
    Hash,
    /// The encapsulation key inside the decapsulation key is invalid.
    #[error("the encoding of h is invalid: {0}")]
    EncapsulationKey(InvalidEncapsulationKey),
    /// The encapsulation key does not belong to the secret polynomials: it is not the encoding of
    /// `g / f` for any `g` that key generation can sample, or of `g / 3f` for the `g` in the key.
    #[error("the secret polynomial and h do not belong together")]
    Inconsistent,
    /// Encapsulation and decapsulation with the key gave different shared secrets.
    #[error(
        "the pairwise test failed: decapsulation does not give the secret that was encapsulated"
    )]
    PairwiseTest,
}

/// The first row that is not a key, and the reason.
#[cfg(feature = "std")]
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[error("row {row}: {error}")]
pub struct InvalidRow<E: core::error::Error> {
    /// The number of the row, from 0.
    pub row: usize,
    /// The reason why the row is not a key.
    pub error: E,
}
