//! The hashing kernels that encapsulation and decapsulation need, with one warp per operation. They
//! serve batches that are too small to occupy the GPU with one thread per operation. Their arrays
//! and results are those of the kernels for large batches.

use ctru_math::Ring;

use super::derive::{self, Id, Own};
use super::keccak::{PerWarp, SHA3_512, State};
use super::reject;
use crate::descriptor::{Batch, Shape};
use crate::kernels::{SEED_WORDS, rolled, warp};
use crate::simt::Simt;

/// Returns the block shape: one warp and one operation per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(0)
}

/// Computes the same arrays as [`derive::derive_encapsulation`].
///
/// Threads: one warp per operation.
#[inline(always)]
pub fn derive_encapsulation<S: Simt, R: Ring>(
    s: S,
    seeds: S::Global<u64>,
    ids: S::Global<u8>,
    messages: S::Global<u64>,
    shared_secrets: S::Global<u64>,
    coins: S::Global<u64>,
    batch: Batch,
) {
    let operation = s.block();
    let id = Id::of_row(s, ids, batch.row(operation));
    let own = Own::alone(operation);
    let seed = derive::words_of_row(s, (seeds, SEED_WORDS), operation);
    derive::encapsulation::<R, PerWarp<S>>(own, seed, id, messages, shared_secrets, coins);
}

/// Computes the same arrays as [`derive::derive_decapsulation`].
///
/// Threads: one warp per operation.
#[inline(always)]
pub fn derive_decapsulation<S: Simt, R: Ring>(
    s: S,
    messages: S::Global<u64>,
    ids: S::Global<u8>,
    shared_secrets: S::Global<u64>,
    coins: S::Global<u64>,
    batch: Batch,
) {
    let operation = s.block();
    let id = Id::of_row(s, ids, batch.row(operation));
    let own = Own::alone(operation);
    derive::decapsulation::<R, PerWarp<S>>(own, messages, id, shared_secrets, coins);
}

/// Computes the same arrays as [`reject::rejection_secret`].
///
/// Threads: one warp per operation.
#[inline(always)]
pub fn rejection_secret<S: Simt, R: Ring>(
    s: S,
    ids: S::Global<u8>,
    z: S::Global<u64>,
    ciphertexts: S::Global<u8>,
    rejection_secrets: S::Global<u64>,
    batch: Batch,
) {
    let operation = s.block();
    let key = batch.row(operation);
    let z = |i| s.load(z, SEED_WORDS * key + i);
    let start = R::CIPHERTEXT_BYTES as u32 * operation;
    let rate = SHA3_512.rate;
    let mut state: PerWarp<S> = reject::absorb_key(Id::of_row(s, ids, key), z);
    for block in 0..rolled(s, SHA3_512.blocks(reject::input_bytes::<R>())) {
        let word = |i| reject::ciphertext_word::<S, R>(s, ciphertexts, start, rate * block + i);
        state = state.absorb(rate, word).permute();
    }
    state.output(true, SEED_WORDS, |i, word| {
        s.store(rejection_secrets, SEED_WORDS * operation + i, word);
    });
}
