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

/// Where the parts of a private key begin. `f` is the first, and `1/g` the second.
pub(crate) struct Parts {
    public: u32,
    rho: u32,
    hash: u32,
}

pub(crate) const fn parts<R: NtruPrimeRing>() -> Parts {
    let (packed, encoded) = (R::TERNARY_BYTES as u32, public_key_bytes::<R>());
    let (public, rho) = (2 * packed, 2 * packed + encoded);
    Parts { public, rho, hash: rho + packed }
}

/// Returns the number of bytes of a public key.
#[must_use]
pub const fn public_key_bytes<R: NtruPrimeRing>() -> u32 {
    R::MIXED_RADIX.bytes() as u32
}

/// Returns the number of bytes of a private key.
#[must_use]
pub const fn private_key_bytes<R: NtruPrimeRing>() -> u32 {
    parts::<R>().hash + 8 * SEED_WORDS
}

/// Returns the number of bytes of a ciphertext.
#[must_use]
pub const fn ciphertext_bytes<R: NtruPrimeRing>() -> u32 {
    R::MIXED_RADIX_THIRDS.bytes() as u32 + 8 * SEED_WORDS
}
