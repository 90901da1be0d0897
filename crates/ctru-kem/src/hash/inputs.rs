//! Lengths and types of the inputs and outputs of the hashes.

use super::sponge::{Function, Padded, Sha3_512, Shake256};

/// Bytes of a shared secret.
pub const SHARED_SECRET_BYTES: usize = 32;
/// Bytes of each seed: of key generation, of encapsulation, and of implicit rejection (`z`).
pub const SEED_BYTES: usize = 32;
/// Bytes of the seed of one key pair of a batch: the seed of the polynomials, then the rejection
/// secret `z`. A [`KeyPairSeed`](crate::KeyPairSeed) is shorter; it is expanded to these bytes.
pub const KEY_PAIR_SEED_BYTES: usize = 2 * SEED_BYTES;
/// Bytes of `ID(pk)`, the first bytes of an encapsulation key. They are part of the input of the
/// message hash and of the rejection hash.
pub(super) const KEY_ID_BYTES: usize = 33;

/// Bytes of the buffer for an input of SHAKE256: one block, padding included.
pub(super) const SHAKE256_INPUT: usize = Shake256::BLOCK;
/// Bytes of the buffer for `ID(pk)` and the longest message, 79 bytes, padding included.
pub(super) const MESSAGE_INPUT: usize = 2 * Sha3_512::BLOCK;
/// Bytes of the buffer for `ID(pk)`, `z` and the longest ciphertext, 1597 bytes, padding included.
pub(super) const REJECTION_INPUT: usize = 24 * Sha3_512::BLOCK;

/// `ID(pk)`, the identifier of an encapsulation key.
pub(crate) type Id = [u8; KEY_ID_BYTES];

/// The field of [`Id`] in hashes that belong to no key.
#[cfg(feature = "std")]
pub(crate) const NO_ID: Id = [0; KEY_ID_BYTES];

/// `K || s`: the shared secret and the seed of the coins.
pub(super) type Digest = [u8; SHARED_SECRET_BYTES + SEED_BYTES];

/// Writes the seed `s`, the second half of a digest, to an input of SHAKE256.
pub(super) fn fill_seed(input: &mut Padded<Shake256, SHAKE256_INPUT>, digest: &Digest) {
    input.fill(&[&digest[SHARED_SECRET_BYTES..]]);
}
