//! The last step of decapsulation, one warp an operation: accepted or rejected, without a branch.

use ctru_math::Ring;

use super::{SEED_WORDS, warp};
use crate::kernel::{Batch, Shape};
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
pub(super) fn choose<S: Simt>(
    s: S,
    difference: u32,
    rejection_secrets: S::Global<u64>,
    shared_secrets: S::Global<u64>,
) {
    // 1 if the thread has a difference.
    let mut difference = (difference | difference.wrapping_neg()) >> 31;
    for distance in [16, 8, 4, 2, 1] {
        difference |= s.shuffle(difference, s.lane() ^ distance);
    }
    // All ones if a byte differs. A compiler that knew this for a condition could choose by it which secret to load, and
    // addresses must not tell; it does not know that what comes from a shuffle is 0 or 1.
    let rejected = u64::from(difference).wrapping_neg();
    if s.lane() < SEED_WORDS {
        let i = SEED_WORDS * s.block() + s.lane();
        let (rejection, secret) = (s.load(rejection_secrets, i), s.load(shared_secrets, i));
        s.store(shared_secrets, i, secret ^ (rejected & (secret ^ rejection)));
    }
}
