//! Shoup's multiplication by a fixed factor, whose quotient by the modulus is computed beforehand.

use super::Reducer;
use super::packed::{Packed, join, split};
use ctru_math::kernel::narrow::narrow;

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
    const MODULUS: u32 = super::odd_with_bits(M, 30);
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

/// [`Shoup`] with a shorter normalisation, for a modulus just below a power of two.
///
/// With `n` the bit length of `M`, the quotient of `a` is estimated as `a / 2^n`, rounded. The
/// remainder is at most `2^(n - 1)` plus the quotient times `2^n - M` in absolute value.
///
/// - Input: as for [`Shoup`], but less than `2^31 - 2^(n - 1)`, so that rounding does not overflow.
/// - Output: as for [`Shoup`]; normalised, at most [`Reducer::NORMALISED_BOUND`], below `11/8 M`.
/// - Cost: as for [`Shoup`]; a normalisation takes one product of 32 bits, a shift and two sums, no
///   high half of a product.
/// - Precomputation: as for [`Shoup`].
///
/// Source: as for [`Shoup`]; the quotient by a shift is Barrett's with the reciprocal `2^-n`.
#[derive(Copy, Clone, Debug, Default)]
pub struct RoundingShoup<const M: u32>;

impl<const M: u32> RoundingShoup<M> {
    const BITS: u32 = Shoup::<M>::BITS;
    const HALF: i32 = 1 << (Self::BITS - 1);
}

impl<const M: u32> Reducer for RoundingShoup<M> {
    const MODULUS: u32 = Shoup::<M>::MODULUS;
    const INPUT_BOUND: i32 = i32::MAX - Self::HALF;
    const OUTPUT_BOUND: i32 = Shoup::<M>::OUTPUT_BOUND;
    const NORMALISED_BOUND: i32 = {
        let quotient = (i32::MAX >> Self::BITS) as i64;
        let bound = Self::HALF as i64 + quotient * ((1 << Self::BITS) - M as i64);
        assert!(bound <= Self::OUTPUT_BOUND as i64, "the modulus is too far below a power of two");
        bound as i32
    };

    type Residue = i32;
    type Factor = ShoupFactor;

    #[inline(always)]
    fn factor(w: i32) -> ShoupFactor {
        Shoup::<M>::factor(w)
    }

    #[inline(always)]
    fn mul(a: i32, w: ShoupFactor) -> i32 {
        debug_assert!(a.unsigned_abs() <= Self::INPUT_BOUND as u32);
        Shoup::<M>::mul(a, w)
    }

    #[inline(always)]
    fn normalise(a: i32) -> i32 {
        debug_assert!(a.unsigned_abs() <= Self::INPUT_BOUND as u32);
        a - ((a + Self::HALF) >> Self::BITS) * Self::MODULUS as i32
    }
}
