//! Reduction modulo `2^A + S 2^B + T` by folding the high part down.

use super::{ReduceSum, Reducer};
use ctru_math::kernel::narrow::{narrow, narrowed};

/// Reduction modulo `M = 2^A + S * 2^B + T` with `S` and `T` 1 or -1, by shifts and sums.
///
/// `2^A = -S 2^B - T mod M`, so `s = high * 2^A + low` folds to `low - (S 2^B + T) * high`, `A - B`
/// bits shorter. One or two folds in 64 bits give a number of 32 bits. Further folds, whose high
/// part is rounded, centre this number. Const code computes the numbers of folds and the bound of
/// the inputs. For small `B`, one fold in 64 bits is enough if inputs are a little smaller.
///
/// - Input: up to [`Reducer::INPUT_BOUND`], which is at least `32 M` if there is one fold; sums up
///   to [`ReduceSum::SUM_BOUND`] (about 2^57 for `2^25 - 2^12 + 1`).
/// - Output: `|r| <= 2^(A - 1) + 2^(31 - A) (2^B + 1)`, a little above `M / 2`; less with more
///   folds.
/// - Cost: one product, 32 x 32 -> 64 bits; each fold is a shift, a mask and a product by the
///   constant `S 2^B + T`, or shifts and sums in its place.
/// - Precomputation: none; the fixed factor is the plain residue.
///
/// Source: the CTRU-Prime paper, section 3.1, uses `2^A - 2^B + 1`; J. A. Solinas, "Generalized
/// Mersenne numbers", 1999.
#[derive(Copy, Clone, Debug, Default)]
pub struct PseudoMersenne<const A: u32, const B: u32, const S: i32 = -1, const T: i32 = 1>;

impl<const A: u32, const B: u32, const S: i32, const T: i32> PseudoMersenne<A, B, S, T> {
    /// `2^A mod M`.
    const FOLD: i64 = -((S as i64) << B) - T as i64;
    const LOW: i64 = (1 << A) - 1;
    const HALF: i32 = 1 << (A - 1);
    /// The largest absolute value to which a centred fold can be applied.
    const NARROW_BOUND: i64 = (i32::MAX - Self::HALF) as i64;

    /// Number of folds in 64 bits: one if this leaves room for lazy additions.
    const WIDE_FOLDS: u32 = {
        let bound = Self::largest(1, <Self as Reducer>::MODULUS as i64 / 2);
        if bound >= 32 * <Self as Reducer>::MODULUS as i64 { 1 } else { 2 }
    };
    /// Number of centred folds of a sum, after the folds in 64 bits.
    const SUM_FOLDS: u32 =
        Self::centred_folds(Self::folds_bound(Self::WIDE_FOLDS, Self::SUM_BOUND)).0;
    /// Number of centred folds of an input.
    const INPUT_FOLDS: u32 = Self::centred_folds(<Self as Reducer>::INPUT_BOUND as i64).0;

    /// Returns the largest absolute value after `folds` folds of numbers up to `bound`.
    const fn folds_bound(folds: u32, mut bound: i64) -> i64 {
        let mut fold = 0;
        while fold < folds {
            bound = Self::LOW + ((bound >> A) + 1) * Self::FOLD.abs();
            fold += 1;
        }
        bound
    }

    /// Returns the largest `b` such that `folds` folds bring numbers up to `scale * b` down to 32
    /// bits. The function finds `b` bit by bit.
    const fn largest(folds: u32, scale: i64) -> i64 {
        let (mut bound, mut bit) = (0i64, 62);
        while bit > 0 {
            bit -= 1;
            let larger = bound | 1 << bit;
            if larger <= i64::MAX / scale
                && Self::folds_bound(folds, larger * scale) <= Self::NARROW_BOUND
            {
                bound = larger;
            }
        }
        bound
    }

    /// Returns the number of centred folds that numbers up to `bound` need, and the bound of the
    /// results.
    const fn centred_folds(mut bound: i64) -> (u32, i64) {
        let mut folds = 0;
        while folds == 0 || bound >= 2 * <Self as Reducer>::MODULUS as i64 {
            bound = Self::HALF as i64 + ((bound + Self::HALF as i64) >> A) * Self::FOLD.abs();
            folds += 1;
            assert!(folds <= 4, "folds must make numbers smaller");
        }
        (folds, bound)
    }

    #[inline(always)]
    fn fold(sum: i64) -> i64 {
        let high = sum >> A;
        (sum & Self::LOW) - i64::from(S) * (high << B) - i64::from(T) * high
    }

    /// Folds a number whose high part has 32 bits, such as a product, with a single multiplication.
    #[inline(always)]
    fn fold_product(product: i64) -> i64 {
        (product & Self::LOW) + narrowed(product >> A) * Self::FOLD
    }

    /// Reduces `sum`: `fold` does the folds in 64 bits, and centred folds follow.
    #[inline(always)]
    fn reduce_by(sum: i64, fold: impl Fn(i64) -> i64) -> i32 {
        let folded = narrow((0..Self::WIDE_FOLDS).fold(sum, |sum, _| fold(sum)));
        (0..Self::SUM_FOLDS).fold(folded, |a, _| Self::fold_centred(a))
    }

    /// Folds with the low part centred, so that the result is small on both sides of 0.
    #[inline(always)]
    fn fold_centred(a: i32) -> i32 {
        let high = (a + Self::HALF) >> A;
        a - (high << A) + high * Self::FOLD as i32
    }

    /// Computes [`Reducer::factor`]. Constants can call this function.
    #[must_use]
    #[inline(always)]
    pub const fn factor(w: i32) -> i32 {
        debug_assert!(w.unsigned_abs() <= <Self as Reducer>::MODULUS / 2);
        w
    }
}

impl<const A: u32, const B: u32, const S: i32, const T: i32> Reducer
    for PseudoMersenne<A, B, S, T>
{
    const MODULUS: u32 = {
        assert!(S * S == 1 && T * T == 1, "the terms have the factors 1 or -1");
        assert!(0 < B && B < A && A < 30, "the modulus must be odd and below 2^30");
        ((1 << A) + ((S as i64) << B) + T as i64) as u32
    };
    const INPUT_BOUND: i32 = {
        let bound = Self::largest(Self::WIDE_FOLDS, Self::MODULUS as i64 / 2);
        if bound < Self::NARROW_BOUND { bound as i32 } else { Self::NARROW_BOUND as i32 }
    };
    const OUTPUT_BOUND: i32 = {
        let sum = Self::centred_folds(Self::folds_bound(Self::WIDE_FOLDS, Self::SUM_BOUND)).1;
        let input = Self::centred_folds(Self::INPUT_BOUND as i64).1;
        let bound = if sum > input { sum } else { input };
        assert!(bound <= Self::INPUT_BOUND as i64, "no room for a product");
        bound as i32
    };

    type Residue = i32;
    type Factor = i32;

    #[inline(always)]
    fn factor(w: i32) -> i32 {
        Self::factor(w)
    }

    #[inline(always)]
    fn mul(a: i32, w: i32) -> i32 {
        debug_assert!(a.unsigned_abs() <= Self::INPUT_BOUND as u32);
        Self::reduce_by(Self::product(a, w), Self::fold_product)
    }

    #[inline(always)]
    fn normalise(a: i32) -> i32 {
        debug_assert!(a.unsigned_abs() <= Self::INPUT_BOUND as u32);
        (0..Self::INPUT_FOLDS).fold(a, |a, _| Self::fold_centred(a))
    }
}

impl<const A: u32, const B: u32, const S: i32, const T: i32> ReduceSum
    for PseudoMersenne<A, B, S, T>
{
    const SUM_BOUND: i64 = Self::largest(Self::WIDE_FOLDS, 1);
    const RADIX: u32 = 1;

    #[inline(always)]
    fn product(a: i32, w: i32) -> i64 {
        i64::from(a) * i64::from(w)
    }

    #[inline(always)]
    fn reduce(sum: i64) -> i32 {
        debug_assert!(sum.unsigned_abs() <= Self::SUM_BOUND as u64);
        Self::reduce_by(sum, Self::fold)
    }
}
