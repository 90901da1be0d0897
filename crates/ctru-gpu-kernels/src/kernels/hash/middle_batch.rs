//! The hashing kernels that encapsulation and decapsulation need, with two threads per operation.
//! They serve batches in which one thread per operation would take longer than all other work.
//! Their arrays and results are those of the kernels for large batches.

use ctru_math::Ring;

use super::derive::{self, Id};
use super::keccak::PerPair;
use super::reject;
use crate::descriptor::{Batch, Shape};
use crate::simt::Simt;

/// Returns the block shape: 128 threads, two per operation.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Shape::new(128, 64, 0)
}

/// Returns the operation of this thread's pair, and whether it exists. If not, it is the last one
/// of the batch.
#[inline(always)]
fn own_operation<S: Simt>(s: S, batch: Batch) -> (u32, bool) {
    let operation = (s.block() * s.threads() + s.thread()) / 2;
    (operation.min(batch.operations() - 1), operation < batch.operations())
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
    let id = Id::of_row(s, ids, batch.row(own.0));
    derive::encapsulation::<R, PerPair<S>>(own, seeds, id, messages, shared_secrets, coins);
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
    let id = Id::of_row(s, ids, batch.row(own.0));
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
    reject::rejection::<PerPair<S>, R>(s, own, batch.row(own.0), arrays);
}
