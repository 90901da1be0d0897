//! Reduction modulo `2^A - 2^B + 1` by folding the high part down with shifts.

use super::{ReduceSum, Reducer};

/// Reduction modulo `M = 2^A - 2^B + 1` with shifts and additions only.
///
/// `2^A = 2^B - 1 mod M`, so `s = high * 2^A + low` folds to `low + (high << B) - high`, `A - B` bits shorter. Two
/// folds in 64 bits make a number of 32 bits, and a third, with the high part rounded, centres it.
///
/// - Input: `|a| <= 2^31 - 2^(A - 1) - 1`; sums up to the largest that two folds take below that
///   ([`ReduceSum::SUM_BOUND`]: about 2^57 for `2^25 - 2^12 + 1`).
/// - Output: `|r| <= 2^(A - 1) + 2^(31 - A) (2^B - 1)`, a little above `M / 2`.
/// - Cost: one product, 32 x 32 -> 64 bits; the reduction has none.
/// - Precomputation: none; the fixed factor is the plain residue.
///
/// `A` and `B` must leave room for a product of an input and a factor, which is checked at compile time.
///
/// Source: the CTRU-Prime paper, section 3.1, uses these moduli; J. A. Solinas, "Generalized Mersenne numbers", 1999.
#[derive(Copy, Clone, Debug, Default)]
pub struct PseudoMersenne<const A: u32, const B: u32>;

impl<const A: u32, const B: u32> PseudoMersenne<A, B> {
    /// `2^A mod M`.
    const FOLD: i64 = (1 << B) - 1;
    const LOW: i64 = (1 << A) - 1;
    const HALF: i32 = 1 << (A - 1);

    /// Largest absolute value that [`fold`](Self::fold) returns for inputs up to `bound`.
    const fn fold_bound(bound: i64) -> i64 {
        Self::LOW + ((bound >> A) + 1) * Self::FOLD
    }

    #[inline(always)]
    fn fold(sum: i64) -> i64 {
        let high = sum >> A;
        (sum & Self::LOW) + (high << B) - high
    }

    /// Folds once; the low part is centred, so that the result is small on both sides of 0.
    #[inline(always)]
    fn fold_centred(a: i32) -> i32 {
        let high = (a + Self::HALF) >> A;
        a - (high << A) + (high << B) - high
    }

    /// [`Reducer::factor`] for use in constants.
    #[must_use]
    #[inline(always)]
    pub const fn factor(w: i32) -> i32 {
        debug_assert!(w.unsigned_abs() <= <Self as Reducer>::MODULUS / 2);
        w
    }
}

impl<const A: u32, const B: u32> Reducer for PseudoMersenne<A, B> {
    const MODULUS: u32 = {
        assert!(0 < B && B < A && A < 30, "the modulus must be odd and below 2^30");
        (1 << A) - (1 << B) + 1
    };
    const INPUT_BOUND: i32 = i32::MAX - Self::HALF;
    const OUTPUT_BOUND: i32 = {
        let bound = Self::HALF as i64 + (i32::MAX >> A) as i64 * Self::FOLD;
        assert!(bound < 2 * Self::MODULUS as i64, "one centred fold must reach a representative below 2M");
        bound as i32
    };

    type Factor = i32;

    #[inline(always)]
    fn factor(w: i32) -> i32 {
        Self::factor(w)
    }

    #[inline(always)]
    fn mul(a: i32, w: i32) -> i32 {
        debug_assert!(a.unsigned_abs() <= Self::INPUT_BOUND as u32);
        Self::reduce(Self::product(a, w))
    }

    #[inline(always)]
    fn normalise(a: i32) -> i32 {
        debug_assert!(a.unsigned_abs() <= Self::INPUT_BOUND as u32);
        Self::fold_centred(a)
    }
}

impl<const A: u32, const B: u32> ReduceSum for PseudoMersenne<A, B> {
    /// The largest bound whose two folds stay within `INPUT_BOUND`, found bit by bit.
    const SUM_BOUND: i64 = {
        let mut bound = 0;
        let mut bit = 62;
        while bit > 0 {
            bit -= 1;
            let larger = bound | 1 << bit;
            if Self::fold_bound(Self::fold_bound(larger)) <= Self::INPUT_BOUND as i64 {
                bound = larger;
            }
        }
        assert!(bound / Self::INPUT_BOUND as i64 > (Self::MODULUS / 2) as i64, "no room for a product");
        bound
    };
    const RADIX: u32 = 1;

    #[inline(always)]
    fn product(a: i32, w: i32) -> i64 {
        i64::from(a) * i64::from(w)
    }

    #[inline(always)]
    fn reduce(sum: i64) -> i32 {
        debug_assert!(sum.unsigned_abs() <= Self::SUM_BOUND as u64);
        Self::fold_centred(Self::fold(Self::fold(sum)) as i32)
    }
}
