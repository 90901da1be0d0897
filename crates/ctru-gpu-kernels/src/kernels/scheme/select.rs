//! The last step of decapsulation, one warp an operation: accepted or rejected, without a branch.

use ctru_math::Ring;

use crate::descriptor::{Batch, Shape};
use crate::kernels::{SEED_WORDS, warp};
use crate::simt::{Simt, WARP};

/// A warp an operation.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(0)
}

/// Replaces the shared secret of every operation by its rejection secret unless the ciphertext that was received is the
/// one expected, in all bytes and all their bits (paper, Algorithm 6).
///
/// `received` and `expected` are rows of [`Ring::CIPHERTEXT_BYTES`], `rejection_secrets` and `shared_secrets` rows of 4
/// words.
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
        // Threads behind the end compare the last byte once more, so that none has to wait for a condition.
        let i = s.block() * bytes + (WARP * k + s.lane()).min(bytes - 1);
        difference |= u32::from(s.load(received, i) ^ s.load(expected, i));
    }
    choose(s, difference, rejection_secrets, shared_secrets);
}

/// Replaces the shared secret of the warp's operation by its rejection secret if some thread has a `difference` that is not 0.
#[inline(always)]
pub(crate) fn choose<S: Simt>(
    s: S,
    difference: u32,
    rejection_secrets: S::Global<u64>,
    shared_secrets: S::Global<u64>,
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
        );
    }
}

/// Replaces the shared secret of the block's operation `k < 32` by its rejection secret if lane `k` of some warp has a
/// `difference` that is not 0, for a block of four warps. Takes 4 bytes of shared memory a thread from `shared` on, which nobody
/// else uses.
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
        );
    }
}

/// 1 for a number that is not 0.
#[inline(always)]
fn is_not_zero(number: u32) -> u32 {
    (number | number.wrapping_neg()) >> 31
}

/// Replaces word `i` of the shared secrets by that of the rejection secrets if `rejected` is 1, and not if it is 0.
///
/// A compiler that knew `rejected` for a condition could choose by it which secret to load, and addresses must not tell. So it
/// has to come out of a shuffle or of shared memory, of which compilers do not know what it can be.
#[inline(always)]
fn choose_word<S: Simt>(
    s: S,
    rejected: u32,
    i: u32,
    rejection_secrets: S::Global<u64>,
    shared_secrets: S::Global<u64>,
) {
    let mask = u64::from(rejected).wrapping_neg();
    let (rejection, secret) = (s.load(rejection_secrets, i), s.load(shared_secrets, i));
    s.store(shared_secrets, i, secret ^ (mask & (secret ^ rejection)));
}
