//! Rounding of single coefficients from modulus `q` to `q2`.

use crate::ring::Ring;

/// Rounds `sigma q2 / q` to the nearest integer. `q` is odd, so there is no tie.
///
/// The result is `t = floor((q2 sigma + (q - 1)/2) / q)`. A product of 16 bits by 16 bits gives `t`
/// or `t - 1`. The remainder, which lies in `0..2q`, tells which of the two. It is computed modulo
/// 2^16, so 16-bit lanes of vectors can do all steps.
///
/// Input: `sigma` in `0..q`. Output: `0..=q2`.
#[inline(always)]
#[must_use]
pub fn compress<R: Ring>(sigma: u16) -> u16 {
    let (factor, fraction_bits) = const { ratio(R::Q2, R::Q) };
    let scaled = ((u32::from(sigma << 3) * u32::from(factor)) >> 16) as u16;
    let low = (scaled + (1 << (fraction_bits - 1))) >> fraction_bits;

    let q = R::Q as u16;
    let remainder =
        (sigma << R::Q2_BITS).wrapping_add((q - 1) / 2).wrapping_sub(low.wrapping_mul(q));
    low + ((q - 1).wrapping_sub(remainder) >> 15)
}

/// Returns `r = floor(2^(13 + f) q2 / q)` and `f`. `f` is the largest number for which `r` has at
/// most 16 bits.
///
/// So `8 sigma r / 2^16` is about `2^f (q2 / q) sigma`: a fixed-point number with `f` binary
/// places.
const fn ratio(q2: u32, q: u32) -> (u16, u32) {
    let mut fraction_bits = 0;
    while (q2 << (14 + fraction_bits)) / q <= u16::MAX as u32 {
        fraction_bits += 1;
    }
    (((q2 << (13 + fraction_bits)) / q) as u16, fraction_bits)
}

/// Returns the number that bit `j < 8` of a codeword adds to a coefficient: `q2/2` for a 1, or else
/// 0.
#[inline(always)]
pub(crate) fn codeword_bit<R: Ring>(codeword: u8, j: usize) -> u16 {
    u16::from(codeword) << (R::Q2_BITS as usize - 1 - j) & (R::Q2 as u16 / 2)
}

/// Returns the rounded `sigma` plus `added`, modulo `q2`.
///
/// Input: `sigma` in `0..q`, `added` in `0..q2`. Output: `0..q2`.
#[inline(always)]
pub(crate) fn compress_onto<R: Ring>(sigma: u16, added: u16) -> u16 {
    (compress::<R>(sigma) + added) & (R::Q2 as u16 - 1)
}

/// Returns a number whose top [`Ring::Q2_BITS`] bits are `sigma q2 / q`, rounded to the nearest
/// integer, modulo `q2`.
///
/// The number is `2^32 sigma / q + 2^31 / q2` modulo `2^32`, with an error below 2. A multiple of
/// `q` that is added to `sigma` does not change it. Because `q` is odd, the exact number is at
/// least `2^31 / (q2 q)` away from the points where the top bits change. A GPU needs two
/// multiplications.
///
/// Input: every number. So `sigma` may be a product that has not been reduced modulo `q`.
#[inline(always)]
#[must_use]
pub fn compress_to_top<R: Ring>(sigma: i32) -> u32 {
    // The nearest integer to 2^64 / q is 2^32 high + low.
    let (high, low) = const {
        assert!(1 << 31 >= 2 * R::Q2 * R::Q);
        let inverse = ((1 << 64) + R::Q as u128 / 2) / R::Q as u128;
        let low = inverse as i32;
        (((inverse as i64 - low as i64) >> 32) as u32, low)
    };
    let half = 1 << (63 - R::Q2_BITS);
    let carried = ((i64::from(sigma) * i64::from(low) + half) >> 32) as u32;
    (sigma as u32).wrapping_mul(high).wrapping_add(carried)
}
