//! Samples secret polynomials from coins.

use ctru_math::Ring;
use ctru_math::kernel::sample::centred_binomial;

use crate::descriptor::{Batch, Shape};
use crate::kernels::{coin_words, row, warp};
use crate::simt::Simt;

/// Returns the block shape: one warp and one polynomial per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(0)
}

/// Samples secret polynomials `f = 2 f' + 1` as [`ctru_math::sample::sample_secret`] does.
///
/// Threads: one warp per polynomial. The threads share the coefficients.
/// Arrays: `coins`; `secret`, signed bytes in `-2 eta..=2 eta + 1`.
#[inline(always)]
pub fn sample_secret<S: Simt, R: Ring>(
    s: S,
    coins: S::Global<u64>,
    secret: S::Global<u8>,
    _: Batch,
) {
    each_coefficient::<S, R>(s, coins, secret, |i, coefficient| 2 * coefficient + i8::from(i == 0));
}

/// Samples a polynomial and stores `f(i, c)` in place of each coefficient `c` of `x^i`.
#[inline(always)]
pub fn each_coefficient<S: Simt, R: Ring>(
    s: S,
    coins: S::Global<u64>,
    small: S::Global<u8>,
    f: impl Fn(u32, i8) -> i8,
) {
    let operation = s.block();
    let word = |bit: u32| s.load(coins, operation * coin_words::<R>() + bit / u64::BITS);
    warp::transfer(
        s,
        R::N as u32,
        |i| {
            let first = 2 * R::ETA * i;
            // The last bit of the field lies in the same word as the first bit, or in the next
            // word. If it is the same word, the shift to the left moves the bits of the second load
            // above the field.
            let last = first + 2 * R::ETA - 1;
            let shift = first % u64::BITS;
            let field = word(first) >> shift | word(last) << 1 << (u64::BITS - 1 - shift);
            f(i, centred_binomial(R::ETA, field as u8 & ((1 << (2 * R::ETA)) - 1)))
        },
        |i, coefficient| s.store(small, operation * row::<R>() + i, coefficient as u8),
    );
}
