//! Implicit rejection, one thread per operation: computes rejection secrets. A rejection secret is
//! the shared secret of a ciphertext that decapsulation rejects. It does not depend on the result
//! of decryption, so this kernel and decryption can run at the same time.
//!
//! Source: CTRU-Prime paper, Algorithm 6.

use ctru_math::Ring;

use super::derive::Id;
use super::keccak::{PerThread, SHA3_512, State};
use crate::descriptor::{Batch, Shape};
use crate::kernels::{ID_BYTES, SEED_WORDS, rolled, word_of_bytes};
use crate::simt::{Simt, WARP};

const WARPS: u32 = 4;
/// Bytes of shared memory per warp: one block of SHA3-512's input per thread.
const STAGE_BYTES: u32 = WARP * 8 * SHA3_512.rate;

/// Returns the block shape: four warps, one thread per operation.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Shape::new(WARPS * WARP, WARPS * WARP, WARPS * STAGE_BYTES)
}

/// Computes rejection secrets: the first half of `SHA3-512(ID(pk) || z || ciphertext)` for each
/// operation.
///
/// Threads: one per operation. The threads of a warp load their ciphertexts together.
/// Shared memory: one block of the hash's input per thread.
/// Arrays: `ids`, rows of [`ID_BYTES`] bytes, one per operation or one shared row; `z`, rows of
/// [`SEED_WORDS`] words, one per operation or one shared row; `ciphertexts`; `rejection_secrets`,
/// rows of [`SEED_WORDS`] words.
/// Source: CTRU-Prime paper, Algorithm 6.
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
    // Threads past the end of the batch hash the last ciphertext and drop the result, because their
    // warp needs them for the loads.
    let inside = |operation: u32| operation.min(batch.operations() - 1);
    let stage = |operation: u32, i: u32| STAGE_BYTES * s.warp() + 8 * (rate * operation + i);
    let key = batch.row(inside(operation));
    let z = |i| s.load(z, SEED_WORDS * key + i);
    let mut state: PerThread<S> = absorb_key(Id::of_row(s, ids, key), z);
    for block in 0..rolled(s, SHA3_512.blocks(input_bytes::<R>())) {
        // The words of one ciphertext are neighbours in memory. So neighbouring lanes load
        // neighbouring words of one operation, then those of the next operation, and the hardware
        // coalesces the accesses.
        s.sync_warp();
        for k in 0..rate {
            let word = WARP * k + s.lane();
            let (row, i) = (word / rate, word % rate);
            let start = R::CIPHERTEXT_BYTES as u32 * inside(first + row);
            let value = ciphertext_word::<S, R>(s, ciphertexts, start, rate * block + i);
            s.store_shared::<u64>(stage(row, i), value);
        }
        s.sync_warp();
        let word = |i| s.load_shared::<u64>(stage(s.lane(), i));
        state = state.absorb(rate, word).permute();
    }
    if operation < batch.operations() {
        state.output(SEED_WORDS, |i, word| {
            s.store(rejection_secrets, SEED_WORDS * operation + i, word);
        });
    }
}

/// Number of input bytes before the ciphertext.
const KEY_BYTES: u32 = ID_BYTES + 8 * SEED_WORDS;

/// Returns the number of input bytes.
pub(crate) const fn input_bytes<R: Ring>() -> u32 {
    KEY_BYTES + R::CIPHERTEXT_BYTES as u32
}

/// Returns a state that has absorbed `ID(pk) || z`, which is shorter than one block. `z` returns
/// the words of `z`.
#[inline(always)]
pub(crate) fn absorb_key<T: State>(id: Id<T::Machine>, z: impl Fn(u32) -> u64) -> T {
    const { assert!(KEY_BYTES < 8 * SHA3_512.rate) };
    let z = |i| if i < SEED_WORDS { z(i) } else { 0 };
    T::zero(id.s).absorb(SHA3_512.rate, |i| id.followed_by(z, i))
}

/// Returns word `i` of the padded input with zeros in place of the bytes that [`absorb_key`]
/// absorbs. The ciphertext begins at byte `start` of the array.
#[inline(always)]
pub(crate) fn ciphertext_word<S: Simt, R: Ring>(
    s: S,
    ciphertexts: S::Global<u8>,
    start: u32,
    i: u32,
) -> u64 {
    let bytes = R::CIPHERTEXT_BYTES as u32;
    let first = (8 * i).wrapping_sub(KEY_BYTES);
    word_of_bytes(s, ciphertexts, start, bytes, first) ^ SHA3_512.padding(input_bytes::<R>(), i)
}
