//! Reduction by the operator `%`: with a modulus that is data, and with one that the compiler
//! knows.

use core::num::NonZeroU32;

use super::packed::{Packed, join, split};
use super::{ReduceSum, Reducer};

/// A fixed factor of [`RuntimeDivision`]. It contains the modulus as data, so that the compiler
/// does not know the modulus.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DivisionFactor {
    /// The residue, at most half of the modulus in absolute value.
    pub value: i32,
    /// The modulus.
    pub modulus: NonZeroU32,
}

impl Default for DivisionFactor {
    fn default() -> Self {
        Self { value: 0, modulus: NonZeroU32::MIN }
    }
}

impl Packed for DivisionFactor {
    type Word = u64;

    #[inline(always)]
    fn to_word(self) -> u64 {
        join(self.value as u32, self.modulus.get())
    }
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        let (value, modulus) = split(word);
        Self { value: value as i32, modulus: NonZeroU32::new(modulus).unwrap_or(NonZeroU32::MIN) }
    }
}

/// The operator `%` with an odd modulus, `3 <= M < 2^31`, that the program reads from each factor
/// at run time.
///
/// **Not constant time**: on most processors, the time of a division depends on the operands. The
/// laboratory compares other methods with this one, on public data.
///
/// - Input: any `|a| < 2^31`.
/// - Output: `|r| < M`.
/// - Cost: one product, 32 x 32 -> 64 bits, and a division of 64 bits: an instruction of tens of
///   cycles on CPUs, a subroutine on GPUs.
/// - Precomputation: none; the fixed factor is the plain residue and the modulus, 8 bytes.
///
/// Source: D. E. Knuth, "The Art of Computer Programming", volume 2, section 4.3.1.
#[derive(Copy, Clone, Debug, Default)]
pub struct RuntimeDivision<const M: u32>;

impl<const M: u32> Reducer for RuntimeDivision<M> {
    const MODULUS: u32 = super::odd_with_bits(M, 31);
    const INPUT_BOUND: i32 = i32::MAX;
    const OUTPUT_BOUND: i32 = Self::MODULUS as i32 - 1;

    type Residue = i32;
    type Factor = DivisionFactor;

    #[inline(always)]
    fn factor(w: i32) -> DivisionFactor {
        debug_assert!(w.unsigned_abs() <= M / 2);
        DivisionFactor { value: w, modulus: const { NonZeroU32::new(M).unwrap() } }
    }

    #[inline(always)]
    fn mul(a: i32, w: DivisionFactor) -> i32 {
        debug_assert!(a.unsigned_abs() <= Self::INPUT_BOUND as u32);
        let product = i64::from(a) * i64::from(w.value);
        // Only an unsigned division by a `NonZero` number cannot panic.
        let remainder = (product.unsigned_abs() % core::num::NonZeroU64::from(w.modulus)) as i32;
        let sign = (product >> 63) as i32;
        (remainder ^ sign) - sign
    }
}

/// The operator `%` with an odd modulus that the compiler knows, `3 <= M < 2^31`. The compiler
/// replaces the division by two or more products and shifts.
///
/// Optimised code has no division and is constant time in practice; unoptimised code divides. The
/// language does not promise this, so this type is for public data only.
///
/// - Input: any `|a| < 2^31`; any sum of 63 bits.
/// - Output: `|r| < M`.
/// - Cost: `a * w` 32 x 32 -> 64 bits, the high half of a 64 x 64-bit product, and one low product:
///   seven or more products of 32 bits.
/// - Precomputation: the compiler's; the fixed factor is the plain residue.
///
/// Source: T. Granlund, P. L. Montgomery, "Division by invariant integers using multiplication",
/// PLDI 1994.
#[derive(Copy, Clone, Debug, Default)]
pub struct ConstantDivision<const M: u32>;

impl<const M: u32> Reducer for ConstantDivision<M> {
    const MODULUS: u32 = super::odd_with_bits(M, 31);
    const INPUT_BOUND: i32 = i32::MAX;
    const OUTPUT_BOUND: i32 = Self::MODULUS as i32 - 1;

    type Residue = i32;
    type Factor = i32;

    #[inline(always)]
    fn factor(w: i32) -> i32 {
        debug_assert!(w.unsigned_abs() <= M / 2);
        w
    }

    #[inline(always)]
    fn mul(a: i32, w: i32) -> i32 {
        debug_assert!(a.unsigned_abs() <= Self::INPUT_BOUND as u32);
        Self::reduce(Self::product(a, w))
    }
}

impl<const M: u32> ReduceSum for ConstantDivision<M> {
    const SUM_BOUND: i64 = i64::MAX;
    const RADIX: u32 = 1;

    #[inline(always)]
    fn product(a: i32, w: i32) -> i64 {
        i64::from(a) * i64::from(w)
    }

    #[inline(always)]
    fn reduce(sum: i64) -> i32 {
        (sum % const { M as i64 }) as i32
    }
}
