//! The hashing kernels with two threads per operation. They serve key pairs, and batches in which a
//! hash by one thread would take longer than the other work of the GPU.

use ctru_math::Ring;

use super::derive::{self, Id, Own};
use super::keccak::PerPair;
use super::reject;
use crate::descriptor::{Batch, Shape};
use crate::kernels::SEED_WORDS;
use crate::simt::Simt;

/// Returns the block shape: 128 threads, two per operation.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Shape::new(128, 64, 0)
}

/// Returns the operation of this thread's pair. The first thread of the pair writes its results. A
/// pair without an operation computes the last one again and writes nothing, because all threads of
/// a warp must shuffle.
#[inline(always)]
pub(crate) fn own_operation<S: Simt>(s: S, batch: Batch) -> Own {
    let thread = s.block() * s.threads() + s.thread();
    let (operation, operations) = (thread / 2, batch.operations());
    Own {
        operation: operation.min(operations - 1),
        writes: operation < operations && thread.is_multiple_of(2),
    }
}

/// Derives the coins of key pairs and copies `z`. Of `SHAKE256(seed)`, the first
/// [`COIN_BYTES`](Ring::COIN_BYTES) bytes are the coins of `f'`, and the next `COIN_BYTES` bytes
/// are the coins of `g`.
///
/// Threads: two per operation.
/// Arrays: `seeds`, rows of 8 words, each the seed and then `z`; `f_coins` and `g_coins`, rows of
/// coins; `z`, rows of [`SEED_WORDS`] words.
/// Source: CTRU-Prime paper, Algorithm 1.
#[inline(always)]
pub fn derive_key_pair<S: Simt, R: Ring>(
    s: S,
    seeds: S::Global<u64>,
    f_coins: S::Global<u64>,
    g_coins: S::Global<u64>,
    z: S::Global<u64>,
    batch: Batch,
) {
    let own = own_operation(s, batch);
    derive::key_pair::<R, PerPair<S>>(s, own, seeds, [f_coins, g_coins], z);
}

/// Computes the same arrays as [`derive::derive_encapsulation`].
///
/// Threads: two per operation.
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
    let own = own_operation(s, batch);
    let id = Id::of_row(s, ids, batch.row(own.operation));
    let seed = derive::words_of_row(s, (seeds, SEED_WORDS), own.operation);
    derive::encapsulation::<R, PerPair<S>>(own, seed, id, messages, shared_secrets, coins);
}

/// Computes the same arrays as [`derive::derive_decapsulation`].
///
/// Threads: two per operation.
#[inline(always)]
pub fn derive_decapsulation<S: Simt, R: Ring>(
    s: S,
    messages: S::Global<u64>,
    ids: S::Global<u8>,
    shared_secrets: S::Global<u64>,
    coins: S::Global<u64>,
    batch: Batch,
) {
    let own = own_operation(s, batch);
    let id = Id::of_row(s, ids, batch.row(own.operation));
    derive::decapsulation::<R, PerPair<S>>(own, messages, id, shared_secrets, coins);
}

/// Computes the same arrays as [`reject::rejection_secret`].
///
/// Threads: two per operation.
#[inline(always)]
pub fn rejection_secret<S: Simt, R: Ring>(
    s: S,
    ids: S::Global<u8>,
    z: S::Global<u64>,
    ciphertexts: S::Global<u8>,
    rejection_secrets: S::Global<u64>,
    batch: Batch,
) {
    let own = own_operation(s, batch);
    let arrays = (ids, z, ciphertexts, rejection_secrets);
    reject::rejection::<PerPair<S>, R>(s, own, batch.row(own.operation), arrays);
}
