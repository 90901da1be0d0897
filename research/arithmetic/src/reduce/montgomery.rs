//! Montgomery's reduction: a multiple of the modulus clears the low half, the high half is the
//! result.

use super::{ReduceSum, Reducer};
use ctru_math::kernel::narrow::narrow;

/// Signed Montgomery reduction modulo an odd `M`, `3 <= M < 2^31`, with radix 2^32.
///
/// `reduce(s)` subtracts the multiple of `M` that agrees with `s` in the low 32 bits and keeps the
/// high 32: the result is congruent to `s / 2^32`. Fixed factors carry a factor of 2^32 beforehand,
/// so that products come out plain.
///
/// - Input: any `|a| < 2^31`; sums below `2^31 * M`.
/// - Output: `|r| < M`, because `|s| / 2^32 < M / 2` and the subtracted high half is at most `M /
///   2`.
/// - Cost: three products: `a * w` 32 x 32 -> 64 bits, one low 32 bits, one high 32 bits.
/// - Precomputation: `M^-1 mod 2^32` and `2^64 mod M`; the fixed factor is `w * 2^32 mod M`.
///
/// Source: P. L. Montgomery, "Modular multiplication without trial division", Mathematics of
/// Computation 44, 1985; the signed form: G. Seiler, "Faster AVX2 optimized NTT multiplication for
/// Ring-LWE lattice cryptography", ePrint 2018/039.
#[derive(Copy, Clone, Debug, Default)]
pub struct Montgomery<const M: u32>;

impl<const M: u32> Montgomery<M> {
    /// `M^-1 mod 2^32`: M is its own inverse modulo 8, and each Newton step doubles the number of
    /// right bits.
    const INVERSE: i32 = {
        let mut inverse = M;
        let mut step = 0;
        while step < 4 {
            inverse = inverse.wrapping_mul(2u32.wrapping_sub(M.wrapping_mul(inverse)));
            step += 1;
        }
        inverse as i32
    };

    /// `2^64 mod M`, centred.
    const RADIX_SQUARED: i64 = {
        let radix = (1 << 32) % M as i64;
        let square = radix * radix % M as i64;
        if square > M as i64 / 2 { square - M as i64 } else { square }
    };

    /// Computes [`Reducer::factor`]. Constants can call this function.
    #[must_use]
    #[inline(always)]
    pub const fn factor(w: i32) -> i32 {
        debug_assert!(w.unsigned_abs() <= M / 2);
        Self::reduce(w as i64 * Self::RADIX_SQUARED)
    }

    #[inline(always)]
    pub(super) const fn reduce(sum: i64) -> i32 {
        debug_assert!(sum.unsigned_abs() <= <Self as ReduceSum>::SUM_BOUND as u64);
        let quotient = narrow(sum).wrapping_mul(Self::INVERSE);
        let multiple = quotient as i64 * <Self as Reducer>::MODULUS as i64;
        // `sum` and `multiple` have the same low half, so the high half of their difference is the
        // difference of their high halves.
        narrow(sum >> 32) - narrow(multiple >> 32)
    }
}

impl<const M: u32> Reducer for Montgomery<M> {
    const MODULUS: u32 = super::odd_with_bits(M, 31);
    const INPUT_BOUND: i32 = i32::MAX;
    const OUTPUT_BOUND: i32 = Self::MODULUS as i32 - 1;

    type Residue = i32;
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
}

impl<const M: u32> ReduceSum for Montgomery<M> {
    const SUM_BOUND: i64 = ((M as i64) << 31) - 1;
    const RADIX: u32 = ((1 << 32) % M as u64) as u32;

    #[inline(always)]
    fn product(a: i32, w: i32) -> i64 {
        i64::from(a) * i64::from(w)
    }

    #[inline(always)]
    fn reduce(sum: i64) -> i32 {
        Self::reduce(sum)
    }
}
