//! Reduction modulo `2^A - 1`: the high part is added to the low part.

use super::Reducer;
use ctru_math::kernel::narrow::narrow;

/// Reduction modulo `M = 2^A - 1`, `2 <= A <= 31`, by a shift, a mask and sums.
///
/// `2^A = 1 mod M`, so a product `high * 2^A + low` is congruent to `high + low`. The low part is
/// centred: `-2^(A - 1) <= low < 2^(A - 1)`. A product is at most `M (M - 1) / 2` in absolute
/// value, so `|high| < 2^(A - 1)`, and the sum is at most `M` in absolute value. It fits in 32 bits
/// also for `2^31 - 1`.
///
/// - Input: `|a| <= M`. There is no room for lazy additions.
/// - Output: `|r| <= M`.
/// - Cost: one product, 32 x 32 -> 64 bits, with a sum; a shift of 64 bits, a mask and two sums.
/// - Precomputation: none; the fixed factor is the plain residue.
///
/// Source: D. E. Knuth, "The Art of Computer Programming", volume 2, section 4.3.2, there with
/// unsigned residues.
#[derive(Copy, Clone, Debug, Default)]
pub struct Mersenne<const A: u32>;

impl<const A: u32> Mersenne<A> {
    const HALF: i32 = 1 << (A - 1);
}

impl<const A: u32> Reducer for Mersenne<A> {
    const MODULUS: u32 = {
        assert!(2 <= A && A <= 31, "the modulus must be at least 3 and below 2^31");
        u32::MAX >> (32 - A)
    };
    const INPUT_BOUND: i32 = Self::MODULUS as i32;
    const OUTPUT_BOUND: i32 = Self::MODULUS as i32;

    type Residue = i32;
    type Factor = i32;

    #[inline(always)]
    fn factor(w: i32) -> i32 {
        debug_assert!(w.unsigned_abs() <= Self::MODULUS / 2);
        w
    }

    #[inline(always)]
    fn mul(a: i32, w: i32) -> i32 {
        debug_assert!(a.unsigned_abs() <= Self::INPUT_BOUND as u32);
        let shifted = i64::from(a) * i64::from(w) + i64::from(Self::HALF);
        let low = (narrow(shifted) & Self::MODULUS as i32) - Self::HALF;
        low + narrow(shifted >> A)
    }
}
