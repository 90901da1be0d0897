//! The hash functions: the first half of SHA-512 of a prefix and the input, for `N` inputs at a
//! time.

use core::array;

use crate::hash::half_sha512;

/// A hash.
pub(super) type Hash = [u8; 32];

/// What is hashed. The number of a variant is the prefix.
#[derive(Copy, Clone)]
pub(super) enum Input {
    /// A packed short polynomial, or the secret of implicit rejection in its place.
    Polynomial = 3,
    /// The hash of a polynomial and that of a public key: the end of the ciphertext.
    Confirmation = 2,
    /// A public key.
    PublicKey = 4,
}

/// Writes the hash of each input, the concatenation of its parts. The caller wipes it.
pub(super) fn hash_each<const N: usize>(
    input: Input,
    parts: [[&[u8]; 2]; N],
    digests: [&mut Hash; N],
) {
    half_sha512(parts.map(|parts| (input as u8, parts)), digests);
}

/// Writes the shared secrets: each is the hash of the hash of a polynomial and the ciphertext. The
/// prefix is 1 if the ciphertext is accepted, or else 0. The caller wipes the secrets.
pub(super) fn shared_secrets<const N: usize>(
    accepted: [u8; N],
    polynomials: [&Hash; N],
    ciphertexts: [&[u8]; N],
    secrets: [&mut Hash; N],
) {
    half_sha512(array::from_fn(|i| (accepted[i], [&polynomials[i][..], ciphertexts[i]])), secrets);
}
