//! Products in the rings.
//!
//! - [`polyphase`]: tensor cores, one warp per product. All operands may differ.
//! - [`rows`]: CUDA cores, many blocks per product, for few products of two general elements.
//! - `toeplitz`: tensor cores. All products of a batch share one operand.
//!
//! Products on tensor cores split coefficients of up to 13 bits into a low byte of 7 bits and a
//! high byte of 6 bits. They sum the products by low bytes and the products by high bytes
//! separately.

#[doc(hidden)]
pub mod operand;
pub mod polyphase;
pub mod rows;
#[doc(hidden)]
pub mod toeplitz;

use ctru_math::kernel::bits::GROUP;
use ctru_math::{Ring, SmallPoly};

use crate::kernels::row;
use crate::simt::{Simt, U32x4};

/// The weight of the high byte of a large coefficient.
pub(crate) const HIGH: i32 = 128;

/// Reduces a sum of up to three coefficients of a product by a small polynomial modulo `q`, to
/// `0..q`.
#[must_use]
#[inline(always)]
pub fn product_modulo_q<R: Ring>(x: i32) -> u16 {
    // A multiple of q that is at least the absolute value of such a sum.
    let positive = const {
        let largest = 3 * R::N as u32 * SmallPoly::<R>::BOUND * (R::Q - 1);
        let positive = largest.next_multiple_of(R::Q);
        assert!(largest + positive < 1 << 31);
        positive as i32
    };
    modulo_q::<R>(x + positive)
}

/// Reduces a number modulo `q` to `0..q`.
///
/// Input: at least 0.
#[inline(always)]
pub(crate) fn modulo_q<R: Ring>(x: i32) -> u16 {
    canonical::<R>(times_modulo_q::<R>(x as u32, 1))
}

/// Returns [`HIGH`] times a number modulo `q`, in `0..q`.
///
/// Input: at least 0.
#[inline(always)]
pub(crate) fn high_modulo_q<R: Ring>(x: i32) -> u16 {
    canonical::<R>(times_modulo_q::<R>(x as u32, HIGH as u32))
}

/// Returns `factor` times a number modulo `q`, in `0..2 q`. `factor` is a constant below `q`, so
/// that the compiler divides.
///
/// Source: Shoup's multiplication (D. Harvey, "Faster arithmetic for number-theoretic transforms",
/// Journal of Symbolic Computation 60, 2014).
#[inline(always)]
pub(crate) fn times_modulo_q<R: Ring>(x: u32, factor: u32) -> u32 {
    let reciprocal = ((u64::from(factor) << 32) / u64::from(R::Q)) as u32;
    // For numbers below 2^32, this reciprocal gives the exact quotient or one less.
    let quotient = ((u64::from(x) * u64::from(reciprocal)) >> 32) as u32;
    // The remainder fits in 32 bits, so the low halves of both products are enough.
    x.wrapping_mul(factor).wrapping_sub(quotient.wrapping_mul(R::Q))
}

/// Reduces a number in `0..2 q` to `0..q`.
#[inline(always)]
pub(crate) fn canonical<R: Ring>(x: u32) -> u16 {
    x.min(x.wrapping_sub(R::Q)) as u16
}

/// Writes group `group` of row `operation` of an array of polynomials, as
/// [`pairs`](crate::kernels::warp::pairs) returns it.
#[inline(always)]
pub fn store_row<S: Simt, R: Ring>(
    s: S,
    memory: S::Global<u16>,
    operation: u32,
    group: u32,
    pairs: [u32; GROUP / 2],
) {
    let rows = row::<R>() / GROUP as u32;
    s.store(s.cast::<u16, U32x4>(memory), operation * rows + group, U32x4(pairs));
}
