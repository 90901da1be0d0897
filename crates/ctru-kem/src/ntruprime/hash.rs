//! The hash functions: the first half of SHA-512 of a prefix and the input.

use sha2::{Digest, Sha512};

/// Bytes of a hash.
pub(super) const HASH_BYTES: usize = 32;

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

/// Writes the hash of the concatenated parts. The caller wipes it.
pub(super) fn hash(input: Input, parts: &[&[u8]], digest: &mut [u8; HASH_BYTES]) {
    hash_with_prefix(input as u8, parts, digest);
}

/// Writes the shared secret: the hash of the hash of a polynomial and the ciphertext. The prefix is
/// 1 if the ciphertext is accepted, or else 0. The caller wipes the secret.
pub(super) fn shared_secret(
    is_accepted: u8,
    polynomial: &[u8; HASH_BYTES],
    ciphertext: &[u8],
    secret: &mut [u8; HASH_BYTES],
) {
    hash_with_prefix(is_accepted, &[polynomial, ciphertext], secret);
}

fn hash_with_prefix(prefix: u8, parts: &[&[u8]], digest: &mut [u8; HASH_BYTES]) {
    let mut state = Sha512::new();
    state.update([prefix]);
    for part in parts {
        state.update(part);
    }
    let mut whole = state.finalize();
    digest.copy_from_slice(&whole[..HASH_BYTES]);
    zeroize::Zeroize::zeroize(whole.as_mut_slice());
}
