//! Shoup's multiplication by a fixed factor, whose quotient by the modulus is computed beforehand.

use super::Reducer;
use super::narrow::narrow;
use super::packed::{Packed, join, split};

/// A fixed factor `w` of [`Shoup`] together with `w * 2^32 / M`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ShoupFactor {
    /// The residue, at most `M / 2` in absolute value.
    pub value: i32,
    /// `value * 2^32 / M`, off by at most 3/4.
    pub quotient: i32,
}

impl Packed for ShoupFactor {
    type Word = u64;

    #[inline(always)]
    fn to_word(self) -> u64 {
        join(self.value as u32, self.quotient as u32)
    }
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        let (value, quotient) = split(word);
        Self { value: value as i32, quotient: quotient as i32 }
    }
}

/// Shoup multiplication by fixed factors modulo an odd `M`, `3 <= M < 2^30`.
///
/// The quotient of `a * w` is estimated as `a * quotient / 2^32`, rounded down. Rounding down makes
/// the estimate too small by less than 1. The error of the stored quotient changes the estimate by
/// at most `|a| / 2^32 * 3/4 <= 3/8`.
///
/// - Input: any `|a| < 2^31`.
/// - Output: `-3/8 M < r < 11/8 M`.
/// - Cost: three products: one high 32 bits, two low 32 bits, of which only one has to wait for
///   another.
/// - Precomputation: `2^(32 + n) / M`, `n` the bit length of `M`; [`ShoupFactor`] for each fixed
///   factor, 8 bytes.
///
/// Source: V. Shoup's NTL; D. Harvey, "Faster arithmetic for number-theoretic transforms", Journal
/// of Symbolic Computation 60, 2014.
#[derive(Copy, Clone, Debug, Default)]
pub struct Shoup<const M: u32>;

impl<const M: u32> Shoup<M> {
    const BITS: u32 = u32::BITS - M.leading_zeros();
    /// `2^(32 + BITS) / M`, rounded. With it, [`Shoup::factor`] needs no division.
    const RECIPROCAL: i64 = ((1 << (Self::BITS + 32)) + (M as i64) / 2) / M as i64;

    /// Computes [`Reducer::factor`]. Constants can call this function.
    #[must_use]
    #[inline(always)]
    pub const fn factor(w: i32) -> ShoupFactor {
        debug_assert!(w.unsigned_abs() <= M / 2);
        // The reciprocal is off by at most 1/2 and |w| < 2^(BITS - 1), so before rounding the error
        // is at most 1/4.
        let quotient = (w as i64 * Self::RECIPROCAL + (1 << (Self::BITS - 1))) >> Self::BITS;
        ShoupFactor { value: w, quotient: quotient as i32 }
    }
}

impl<const M: u32> Reducer for Shoup<M> {
    const MODULUS: u32 = super::odd_below_2_30(M);
    const INPUT_BOUND: i32 = i32::MAX;
    const OUTPUT_BOUND: i32 = (Self::MODULUS as i64 * 11 / 8) as i32;

    type Residue = i32;
    type Factor = ShoupFactor;

    #[inline(always)]
    fn factor(w: i32) -> ShoupFactor {
        Self::factor(w)
    }

    #[inline(always)]
    fn mul(a: i32, w: ShoupFactor) -> i32 {
        debug_assert!(a.unsigned_abs() <= Self::INPUT_BOUND as u32);
        let quotient = narrow((i64::from(a) * i64::from(w.quotient)) >> 32);
        // The remainder fits in 32 bits, so low halves of both products are enough.
        a.wrapping_mul(w.value).wrapping_sub(quotient.wrapping_mul(Self::MODULUS as i32))
    }
}
