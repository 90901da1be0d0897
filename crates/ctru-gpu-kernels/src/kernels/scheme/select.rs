//! The last step of decapsulation: accepts or rejects each ciphertext without a branch.
//!
//! Source: CTRU-Prime paper, Algorithm 6.

use ctru_math::Ring;

use crate::descriptor::{Batch, Shape};
use crate::kernels::{SEED_WORDS, warp};
use crate::simt::{Simt, WARP};

/// Returns the block shape: one warp and one operation per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(0)
}

/// Replaces the shared secret of each operation by its rejection secret if the received ciphertext
/// differs from the expected ciphertext in any bit.
///
/// Threads: one warp per operation.
/// Arrays: `received` and `expected`, ciphertexts; `rejection_secrets` and `shared_secrets`, rows
/// of [`SEED_WORDS`] words.
/// Source: CTRU-Prime paper, Algorithm 6.
#[inline(always)]
pub fn select<S: Simt, R: Ring>(
    s: S,
    received: S::Global<u8>,
    expected: S::Global<u8>,
    rejection_secrets: S::Global<u64>,
    shared_secrets: S::Global<u64>,
    _: Batch,
) {
    let bytes = R::CIPHERTEXT_BYTES as u32;
    let mut difference = 0;
    for k in 0..bytes.div_ceil(WARP) {
        // Threads past the end compare the last byte again, which needs no branch.
        let i = s.block() * bytes + (WARP * k + s.lane()).min(bytes - 1);
        difference |= u32::from(s.load(received, i) ^ s.load(expected, i));
    }
    choose(s, difference, rejection_secrets, shared_secrets, shared_secrets);
}

/// Writes the result of the block's operation: its rejection secret if the `difference` of any
/// thread is not 0, else its shared secret. One warp of a block calls this function.
#[inline(always)]
pub(crate) fn choose<S: Simt>(
    s: S,
    difference: u32,
    rejection_secrets: S::Global<u64>,
    shared_secrets: S::Global<u64>,
    results: S::Global<u64>,
) {
    let mut difference = is_not_zero(difference);
    for distance in [16, 8, 4, 2, 1] {
        difference |= s.shuffle(difference, s.lane() ^ distance);
    }
    if s.lane() < SEED_WORDS {
        choose_word(
            s,
            difference,
            SEED_WORDS * s.block() + s.lane(),
            rejection_secrets,
            shared_secrets,
            results,
        );
    }
}

/// Replaces the shared secret of the block's operation `k < 32` by its rejection secret if the
/// `difference` of lane `k` of any warp is not 0. The block has four warps.
///
/// Shared memory: 4 bytes per thread from byte `shared` on. Nothing else may use them.
#[inline(always)]
pub(crate) fn choose_by_lane<S: Simt>(
    s: S,
    shared: u32,
    difference: u32,
    count: u32,
    rejection_secrets: S::Global<u64>,
    shared_secrets: S::Global<u64>,
) {
    let address = |warp: u32, lane: u32| shared + 4 * (WARP * warp + lane);
    s.store_shared(address(s.warp(), s.lane()), is_not_zero(difference));
    s.sync_block();
    let (lane, word) = (s.thread() / SEED_WORDS, s.thread() % SEED_WORDS);
    let mut difference = 0;
    for warp in 0..SEED_WORDS {
        difference |= s.load_shared::<u32>(address(warp, lane));
    }
    let operation = WARP * s.block() + lane;
    if operation < count {
        choose_word(
            s,
            difference,
            SEED_WORDS * operation + word,
            rejection_secrets,
            shared_secrets,
            shared_secrets,
        );
    }
}

/// Returns 0 if the number is 0, else 1.
#[inline(always)]
fn is_not_zero(number: u32) -> u32 {
    (number | number.wrapping_neg()) >> 31
}

/// Writes word `i` of the results: that of the rejection secrets if `rejected` is 1, and that of
/// the shared secrets if `rejected` is 0.
///
/// `rejected` must come from a shuffle or from shared memory, so that the compiler knows nothing
/// about its value. If the compiler knew that `rejected` is the result of a comparison, it could
/// load only one of the two secrets, and the address of the load would reveal the decision.
#[inline(always)]
fn choose_word<S: Simt>(
    s: S,
    rejected: u32,
    i: u32,
    rejection_secrets: S::Global<u64>,
    shared_secrets: S::Global<u64>,
    results: S::Global<u64>,
) {
    let mask = u64::from(rejected).wrapping_neg();
    let (rejection, secret) = (s.load(rejection_secrets, i), s.load(shared_secrets, i));
    s.store(results, i, secret ^ (mask & (secret ^ rejection)));
}
