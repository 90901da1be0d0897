//! Streamlined NTRU Prime.
//!
//! A short polynomial follows from the [`stream`](mod@stream) of random words that a seed
//! determines, by sorting ([`sample`]). [`hash`](mod@hash) has the hashes of keys, polynomials and
//! ciphertexts, [`keys`] the conversion of keys to arrays, and [`encrypt`] and [`decrypt`] compute
//! with polynomials.
//!
//! Key generation draws `g`, `f` and `rho` ([`draw`](mod@draw)), inverts `g` modulo 3
//! ([`invert`](mod@invert)), draws [`again`] where there is no inverse, divides `g` by `3 f`
//! ([`divide`](mod@divide)), and encodes the keys ([`pack`]).
//!
//! `h`, the polynomial in a public key, is stored as the *numbers* of its encoding: coefficients
//! plus `(q - 1)/2`, modulo `q`. Kernels that use only sizes of a ring take them as scalars, so one
//! kernel serves all rings.
//!
//! A row of a private key is the packed `f`, the packed `1/g`, the public key, the secret `rho` of
//! implicit rejection, and the hash of the public key. A row of a ciphertext is the rounded
//! polynomial and its confirmation.

pub mod again;
pub mod decrypt;
pub mod divide;
pub mod draw;
pub mod encrypt;
pub mod hash;
pub mod invert;
pub mod keys;
pub mod pack;
pub mod sample;
mod sha512;
pub mod stream;

use ctru_math::NtruPrimeRing;

use super::SEED_WORDS;

/// Where the parts of a private key begin. `f` is the first.
#[derive(Copy, Clone)]
pub(crate) struct Parts {
    /// Bytes of a packed polynomial.
    packed: u32,
    /// Bytes of a public key.
    encoded: u32,
}

impl Parts {
    const fn of<R: NtruPrimeRing>() -> Self {
        Self { packed: R::TERNARY_BYTES as u32, encoded: public_key_bytes::<R>() }
    }

    const fn g_inverse(self) -> u32 {
        self.packed
    }

    const fn public(self) -> u32 {
        2 * self.packed
    }

    const fn rho(self) -> u32 {
        self.public() + self.encoded
    }

    const fn hash(self) -> u32 {
        self.rho() + self.packed
    }

    /// Returns the number of bytes of a private key.
    const fn bytes(self) -> u32 {
        self.hash() + 8 * SEED_WORDS
    }
}

/// Returns the number of bytes of a public key.
#[must_use]
pub const fn public_key_bytes<R: NtruPrimeRing>() -> u32 {
    R::MIXED_RADIX.bytes() as u32
}

/// Returns the number of bytes of a private key.
#[must_use]
pub const fn private_key_bytes<R: NtruPrimeRing>() -> u32 {
    Parts::of::<R>().bytes()
}

/// Returns the number of bytes of a ciphertext.
#[must_use]
pub const fn ciphertext_bytes<R: NtruPrimeRing>() -> u32 {
    R::MIXED_RADIX_THIRDS.bytes() as u32 + 8 * SEED_WORDS
}
