//! Methods on unsigned canonical residues, which calculate in 64 bits.
//!
//! Programs in CUDA C++ often have these forms. The laboratory measures what they cost, so the
//! compiler shall keep their operations of 64 bits: they do not use [`narrow`](super::narrow),
//! except for the two numbers that have 32 bits in these programs too.

use super::Reducer;
use super::packed::{Packed, join};
use ctru_math::kernel::narrow::narrow;

/// Returns the representative in `0..M` of `w`, for `|w| <= M / 2`.
#[inline(always)]
fn unsigned<const M: u32>(w: i32) -> u64 {
    debug_assert!(w.unsigned_abs() <= M / 2);
    (i64::from(w) + (i64::from(M) & i64::from(w >> 31))) as u64
}

/// The operator `%` on unsigned products of 64 bits, with an odd modulus that the compiler knows,
/// `3 <= M < 2^31`.
///
/// Optimised code has no division and is constant time in practice; unoptimised code divides. The
/// language does not promise this, so this type is for public data only.
///
/// - Input: `0 <= a < 2^31`.
/// - Output: `0 <= r < M`.
/// - Cost: `a * w` 32 x 32 -> 64 bits, the high half of a 64 x 64-bit product, one low product of
///   64 bits.
/// - Precomputation: the compiler's; the fixed factor is the plain residue.
///
/// Source: T. Granlund, P. L. Montgomery, "Division by invariant integers using multiplication",
/// PLDI 1994.
#[derive(Copy, Clone, Debug, Default)]
pub struct UnsignedDivision<const M: u32>;

impl<const M: u32> Reducer for UnsignedDivision<M> {
    const MODULUS: u32 = super::odd_with_bits(M, 31);
    const INPUT_BOUND: i32 = i32::MAX;
    const OUTPUT_BOUND: i32 = Self::MODULUS as i32 - 1;
    const IS_SIGNED: bool = false;

    type Residue = i32;
    type Factor = i32;

    #[inline(always)]
    fn factor(w: i32) -> i32 {
        unsigned::<M>(w) as i32
    }

    #[inline(always)]
    fn mul(a: i32, w: i32) -> i32 {
        debug_assert!(0 <= a);
        (u64::from(a as u32) * u64::from(w as u32) % const { M as u64 }) as i32
    }
}

/// A fixed factor `w` of [`UnsignedShoup`] together with `w * 2^32 / M`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct UnsignedShoupFactor {
    /// The residue, in `0..M`.
    pub value: u32,
    /// `value * 2^32 / M`, rounded down.
    pub quotient: u32,
}

impl Packed for UnsignedShoupFactor {
    type Word = u64;

    #[inline(always)]
    fn to_word(self) -> u64 {
        join(self.value, self.quotient)
    }
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        Self { value: word as u32, quotient: (word >> 32) as u32 }
    }
}

/// Shoup multiplication by fixed factors in 64 bits, modulo an odd `M`, `3 <= M < 2^31`, with one
/// conditional subtraction.
///
/// The stored quotient is too small by less than 1, so the quotient of `a * w` is too small by less
/// than `a / 2^32 + 1 < 2`, and the remainder is below `2 M` before the subtraction.
///
/// - Input: `0 <= a < 2^31`.
/// - Output: `0 <= r < M`.
/// - Cost: three products whose operands and results have 64 bits, a comparison of 64 bits.
/// - Precomputation: [`UnsignedShoupFactor`] for each fixed factor, 8 bytes.
///
/// Source: as for [`Shoup`](super::Shoup).
#[derive(Copy, Clone, Debug, Default)]
pub struct UnsignedShoup<const M: u32>;

impl<const M: u32> Reducer for UnsignedShoup<M> {
    const MODULUS: u32 = super::odd_with_bits(M, 31);
    const INPUT_BOUND: i32 = i32::MAX;
    const OUTPUT_BOUND: i32 = Self::MODULUS as i32 - 1;
    const IS_SIGNED: bool = false;

    type Residue = i32;
    type Factor = UnsignedShoupFactor;

    #[inline(always)]
    fn factor(w: i32) -> UnsignedShoupFactor {
        let value = unsigned::<M>(w);
        let quotient = ((value << 32) / const { M as u64 }) as u32;
        UnsignedShoupFactor { value: value as u32, quotient }
    }

    #[inline(always)]
    fn mul(a: i32, w: UnsignedShoupFactor) -> i32 {
        debug_assert!(0 <= a);
        let a = u64::from(a as u32);
        let modulus = const { M as u64 };
        let quotient = (a * u64::from(w.quotient)) >> 32;
        let remainder = a * u64::from(w.value) - quotient * modulus;
        // Optimised code selects one of the two and has no branch.
        (if remainder >= modulus { remainder - modulus } else { remainder }) as i32
    }
}

/// Montgomery reduction of unsigned products, modulo an odd `M`, `3 <= M < 2^31`, with radix 2^32
/// and one conditional subtraction.
///
/// The multiple of `M` is added, not subtracted, so that the low 32 bits of the sum are 0. The sum
/// is below `2^31 M + 2^32 M`, so its high half is below `3/2 M` before the subtraction.
///
/// - Input: `0 <= a < 2^31`.
/// - Output: `0 <= r < M`.
/// - Cost: `a * w` 32 x 32 -> 64 bits, one low 32 bits, one 32 x 32 -> 64 bits with a sum of 64
///   bits; a comparison.
/// - Precomputation: `-M^-1 mod 2^32`; the fixed factor is `w * 2^32 mod M`.
///
/// Source: as for [`Montgomery`](super::Montgomery).
#[derive(Copy, Clone, Debug, Default)]
pub struct UnsignedMontgomery<const M: u32>;

impl<const M: u32> UnsignedMontgomery<M> {
    /// `-M^-1 mod 2^32`: M is its own inverse modulo 8, and each Newton step doubles the number of
    /// right bits.
    const NEGATED_INVERSE: u32 = {
        let mut inverse = M;
        let mut step = 0;
        while step < 4 {
            inverse = inverse.wrapping_mul(2u32.wrapping_sub(M.wrapping_mul(inverse)));
            step += 1;
        }
        inverse.wrapping_neg()
    };
}

impl<const M: u32> Reducer for UnsignedMontgomery<M> {
    const MODULUS: u32 = super::odd_with_bits(M, 31);
    const INPUT_BOUND: i32 = i32::MAX;
    const OUTPUT_BOUND: i32 = Self::MODULUS as i32 - 1;
    const IS_SIGNED: bool = false;

    type Residue = i32;
    type Factor = i32;

    #[inline(always)]
    fn factor(w: i32) -> i32 {
        ((unsigned::<M>(w) << 32) % const { M as u64 }) as i32
    }

    #[inline(always)]
    fn mul(a: i32, w: i32) -> i32 {
        debug_assert!(0 <= a);
        let product = u64::from(a as u32) * u64::from(w as u32);
        let quotient = (narrow(product as i64) as u32).wrapping_mul(Self::NEGATED_INVERSE);
        let sum = product + u64::from(quotient) * const { M as u64 };
        let high = narrow((sum >> 32) as i64) as u32;
        // Optimised code selects one of the two and has no branch.
        (if high >= M { high - M } else { high }) as i32
    }
}
