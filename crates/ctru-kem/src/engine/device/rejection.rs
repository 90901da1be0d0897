//! Implicit rejection of small batches on the host.
//!
//! The hash of a rejection is a chain of 14 to 24 permutations, which takes a warp of a GPU longer
//! than the rest of a decapsulation. So the host hashes while a kernel does the rest, and then
//! chooses the secrets.

use core::array;
use std::vec;
use std::vec::Vec;

use ctru_gpu_kernels::kernels::{ID_BYTES, SEED_WORDS};
use ctru_gpu_runtime::batch::copy::bytes_to_words;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use super::set::Set;
use crate::hash::{self, SEED_BYTES};
use crate::wipe::Secret;

/// The number of operations that are hashed together. The widest vectors hold eight Keccak states.
pub(super) const GROUP: usize = 8;

/// 64-bit words of a secret.
const SECRET: usize = SEED_WORDS as usize;

/// Returns the secrets that decapsulations of `ciphertexts` return if they reject them, in words.
/// `key_of` returns the key of the operation with an index.
pub(super) fn secrets<'a>(
    set: &Set,
    key_of: impl Fn(usize) -> &'a [u8],
    ciphertexts: &'a [u8],
) -> Zeroizing<Vec<u64>> {
    let ciphertexts = ciphertexts.chunks_exact(set.sizes.ciphertext);
    let mut secrets = Zeroizing::new(vec![0; SECRET * ciphertexts.len()]);
    let mut inputs = ciphertexts.enumerate().map(|(operation, ciphertext)| {
        let key = key_of(operation);
        let id = &key[set.encapsulation_key.start..][..ID_BYTES as usize];
        [id, &key[key.len() - SEED_BYTES..], ciphertext]
    });
    for to in secrets.chunks_mut(GROUP * SECRET) {
        let mut group: [_; GROUP] = array::from_fn(|_| Secret::zeroed());
        let group = &mut group[..to.len() / SECRET];
        hash::rejections::<GROUP>(&mut inputs, group);
        for (secret, to) in group.iter().zip(to.chunks_exact_mut(SECRET)) {
            bytes_to_words(secret.as_slice(), to);
        }
    }
    secrets
}

/// Replaces the shared secrets of rejected operations by their rejection secrets, without a branch.
/// `rejected` has a word for each operation: 0 if its ciphertext is accepted. All three have the
/// same number of operations.
pub(super) fn select(shared_secrets: &mut [u64], rejected: &[u64], rejection_secrets: &[u64]) {
    debug_assert_eq!(shared_secrets.len(), SECRET * rejected.len());
    debug_assert_eq!(shared_secrets.len(), rejection_secrets.len());
    let rows = shared_secrets.as_chunks_mut::<SECRET>().0.iter_mut();
    let rejections = rejection_secrets.as_chunks::<SECRET>().0;
    for ((secret, rejected), rejection) in rows.zip(rejected).zip(rejections) {
        let is_rejected = !rejected.ct_eq(&0);
        for (word, other) in secret.iter_mut().zip(rejection) {
            word.conditional_assign(other, is_rejected);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_but_zero_rejects() {
        let rejected = [0, 1, 2, 0, 0x100, 1 << 63];
        let mut secrets: Vec<u64> = (0..SECRET * rejected.len()).map(|i| i as u64).collect();
        let rejections: Vec<u64> = secrets.iter().map(|word| !word).collect();
        let before = secrets.clone();
        select(&mut secrets, &rejected, &rejections);
        for (i, (word, before)) in secrets.into_iter().zip(before).enumerate() {
            let is_rejected = rejected[i / SECRET] != 0;
            assert_eq!(word, if is_rejected { !before } else { before });
        }
    }
}
