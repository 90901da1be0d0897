//! Implicit rejection of small batches on the host.
//!
//! The hash of a rejection is a chain of 14 to 24 permutations. A warp of an H200 takes about 2.3
//! us for each of them, which is most of the time of a decapsulation. So the host hashes while a
//! kernel does the rest, and then chooses the secrets.

use core::array;
use std::vec;
use std::vec::Vec;

use ctru_gpu_kernels::kernels::SEED_WORDS;
use ctru_math::Ring;
use subtle::{Choice, ConditionallySelectable};
use zeroize::Zeroizing;

use super::encoded::EncodedKeys;
use super::words::bytes_to_words;
use crate::hash::{self, SHARED_SECRET_BYTES};
use crate::params::ParameterSet;
use crate::wipe::Secret;

/// The number of operations that are hashed together. The widest vectors hold eight Keccak states.
pub(super) const GROUP: usize = 8;

/// 64-bit words of a secret.
const SECRET: usize = SEED_WORDS as usize;

/// Returns the secrets that decapsulations of `ciphertexts` return if they reject them, in words.
pub(super) fn secrets<P: ParameterSet>(
    keys: &EncodedKeys<'_>,
    ciphertexts: &[u8],
) -> Zeroizing<Vec<u64>> {
    let count = ciphertexts.len() / P::CIPHERTEXT_BYTES;
    let mut secrets = Zeroizing::new(vec![0; count * SECRET]);
    let (groups, rest) = secrets.as_chunks_mut::<{ GROUP * SECRET }>();
    let mut first = 0;
    for to in groups {
        write_secrets::<P, GROUP>(keys, ciphertexts, first, to);
        first += GROUP;
    }
    for to in rest.chunks_exact_mut(SECRET) {
        write_secrets::<P, 1>(keys, ciphertexts, first, to);
        first += 1;
    }
    secrets
}

/// Writes the rejection secrets of the operations `first..first + G` of a batch to `to`.
fn write_secrets<P: ParameterSet, const G: usize>(
    keys: &EncodedKeys<'_>,
    ciphertexts: &[u8],
    first: usize,
    to: &mut [u64],
) {
    let key = |i| keys.key(first + i);
    let ids = array::from_fn(|i| {
        key(i)[P::Ring::SECRET_POLY_BYTES..].first_chunk().expect("a key is longer than its ID")
    });
    let z = array::from_fn(|i| key(i).last_chunk().expect("a key ends with z"));
    let row = P::CIPHERTEXT_BYTES;
    let ciphertexts = array::from_fn(|i| &ciphertexts[(first + i) * row..(first + i + 1) * row]);
    let mut secrets: [Secret<[u8; SHARED_SECRET_BYTES]>; G] = array::from_fn(|_| Secret::zeroed());
    hash::rejections::<P::Ring, G>(ids, z, ciphertexts, &mut secrets);
    for (secret, to) in secrets.iter().zip(to.chunks_exact_mut(SECRET)) {
        bytes_to_words(secret.as_slice(), to);
    }
}

/// Replaces the shared secrets of rejected operations by their rejection secrets, without a branch.
/// `rejected` has a word for each operation: 1 if its ciphertext is rejected, else 0.
pub(super) fn select(shared_secrets: &mut [u64], rejected: &[u64], rejection_secrets: &[u64]) {
    let rows = shared_secrets.as_chunks_mut::<SECRET>().0.iter_mut();
    let rejections = rejection_secrets.as_chunks::<SECRET>().0;
    for ((secret, &rejected), rejection) in rows.zip(rejected).zip(rejections) {
        let is_rejected = Choice::from(rejected as u8);
        for (word, other) in secret.iter_mut().zip(rejection) {
            word.conditional_assign(other, is_rejected);
        }
    }
}
