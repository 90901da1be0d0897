//! Implicit rejection, one thread an operation: the shared secret of a ciphertext that is not what it should be. It
//! depends on nothing that decryption gives.

use ctru_math::Ring;

use super::derive::Id;
use super::keccak::{PerThread, SHA3_512, State, Words};
use crate::descriptor::{Batch, Shape};
use crate::kernels::{ID_BYTES, SEED_WORDS, rolled, word_of_bytes};
use crate::simt::{Simt, WARP};

const WARPS: u32 = 4;
/// Bytes of a warp's part of shared memory: a block of SHA3-512's input for each thread.
const STAGE_BYTES: u32 = WARP * 8 * SHA3_512.rate;

/// One operation a thread, and a block of hash input for each in shared memory.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Shape { threads: WARPS * WARP, per_block: WARPS * WARP, shared_bytes: WARPS * STAGE_BYTES }
}

/// Hashes ciphertexts to `K-hat`, the first half of `SHA3-512(ID(pk) || z || ciphertext)` (paper, Algorithm 6).
///
/// `ids` and `z` are one row of [`ID_BYTES`] bytes and of 4 words a key, `ciphertexts` rows of
/// [`Ring::CIPHERTEXT_BYTES`], `rejection_secrets` rows of 4 words.
#[inline(always)]
pub fn rejection_secret<S: Simt, R: Ring>(
    s: S,
    ids: S::Global<u8>,
    z: S::Global<u64>,
    ciphertexts: S::Global<u8>,
    rejection_secrets: S::Global<u64>,
    batch: Batch,
) {
    let rate = SHA3_512.rate;
    let first = s.block() * s.threads() + WARP * s.warp();
    let operation = first + s.lane();
    // Threads behind the batch's end help their warp to load, and hash the last ciphertext for nothing.
    let inside = |operation: u32| operation.min(batch.operations() - 1);
    let stage = |operation: u32, i: u32| STAGE_BYTES * s.warp() + 8 * (rate * operation + i);
    let mut state: PerThread<S> = absorb_key(Id { s, ids, key: batch.row(inside(operation)) }, z);
    for block in 0..rolled(s, SHA3_512.blocks(input_bytes::<R>())) {
        // A ciphertext's bytes lie together, so the warp loads word by word of one operation after the other.
        s.sync_warp();
        for k in 0..rate {
            let word = WARP * k + s.lane();
            let (row, i) = (word / rate, word % rate);
            let value =
                ciphertext_word::<S, R>(s, ciphertexts, inside(first + row), rate * block + i);
            s.store_shared::<u64>(stage(row, i), value);
        }
        s.sync_warp();
        let word = |i| s.load_shared::<u64>(stage(s.lane(), i));
        state = state.absorb(rate, word).permute();
    }
    if operation < batch.operations() {
        state.output(SEED_WORDS, |i, word| {
            s.store(rejection_secrets, SEED_WORDS * operation + i, word)
        });
    }
}

/// Bytes before the ciphertext.
const KEY_BYTES: u32 = ID_BYTES + 8 * SEED_WORDS;

/// Bytes that are hashed.
pub(crate) const fn input_bytes<R: Ring>() -> u32 {
    KEY_BYTES + R::CIPHERTEXT_BYTES as u32
}

/// A state to which `ID(pk) || z` has been added, which is less than a block.
#[inline(always)]
pub(crate) fn absorb_key<T: State>(id: Id<T::Machine>, z: Words<T>) -> T {
    const { assert!(KEY_BYTES < 8 * SHA3_512.rate) };
    let z = |i| if i < SEED_WORDS { id.s.load(z, SEED_WORDS * id.key + i) } else { 0 };
    T::zero(id.s).absorb(SHA3_512.rate, |i| id.followed_by(z, i))
}

/// Word `i` of the hash's input without what [`absorb_key`] adds, in a string of whole blocks.
#[inline(always)]
pub(crate) fn ciphertext_word<S: Simt, R: Ring>(
    s: S,
    ciphertexts: S::Global<u8>,
    operation: u32,
    i: u32,
) -> u64 {
    let bytes = R::CIPHERTEXT_BYTES as u32;
    let first = (8 * i).wrapping_sub(KEY_BYTES);
    word_of_bytes(s, ciphertexts, bytes * operation, bytes, first)
        ^ SHA3_512.padding(input_bytes::<R>(), i)
}
