//! Modular multiplication on lazily reduced signed representatives: one trait, and one type for
//! each method.
//!
//! Any small integer of a residue class represents it. A reducer states the largest representative
//! that it takes and the largest that it returns. Between two multiplications the caller may add
//! without reduction, within these bounds, and calls [`Reducer::canonical`] once at the end.
//!
//! | type | modulus `m` | products for `a * w mod m` | fixed factor | output |
//! |---|---|---|---|---|
//! | [`RuntimeDivision`] | odd, below 2^31, as data | 1 and a division | plain, and `m` | `m - 1` |
//! | [`ConstantDivision`] | odd, below 2^31 | 7 or more, by the compiler | plain | `m - 1` |
//! | [`Barrett`] | odd, below 2^30 | 3: full, high, low | plain | `3m/2` |
//! | [`Montgomery`] | odd, below 2^31 | 3: full, low, high | `w * 2^32 mod m` | `m - 1` |
//! | [`Shoup`] | odd, below 2^30 | 3: high, low, low | `w` and `w * 2^32 / m` | `11m/8` |
//! | [`RoundingShoup`] | just below a power of two | as [`Shoup`] | as [`Shoup`] | `11m/8` |
//! | [`Plantard`] | odd, below 2^30 | 3: high, low, high | `(-w 2^64 mod m) / m mod 2^64` | `m/2` |
//! | [`PseudoMersenne`] | `2^A + S 2^B + T` | 1: full; shifts and sums | plain | above `m/2` |
//! | [`Mersenne`] | `2^A - 1`, below 2^31 | 1: full; a shift, a mask, sums | plain | `m` |
//! | [`Proth`] | `K 2^E + 1` | 1: full; 3 by `K` | `w / K^2 mod m` | above `m/2` |
//! | [`Float`] | odd, at most 2^24 - 9 | 4 of `f32`, 3 of them fused | `w` and `w / m` | `5m/8` |
//! | [`UnsignedDivision`] | odd, below 2^31 | 64 x 64 bits, by the compiler | plain | `m - 1` |
//! | [`UnsignedShoup`] | odd, below 2^31 | 3 of 64 bits | `w` and `w * 2^32 / m` | `m - 1` |
//! | [`UnsignedMontgomery`] | odd, below 2^31 | 3: full, low, full | `w * 2^32 mod m` | `m - 1` |
//!
//! The last three are not lazy: their numbers are canonical, and at least 0. The laboratory
//! compares the other methods with them.
//!
//! [`RuntimeDivision`] is **not constant time**. [`ConstantDivision`] and the methods on
//! unsigned numbers are constant time only where the compiler replaces a division by products and a
//! comparison by a selection. All other methods use operations that take
//! constant time, and have no branch and no index that depends on a value.
//!
//! The table counts products of 32 x 32 bits, of which a method needs the low half, the high half
//! or all 64 bits. On GPUs, LLVM would compute many of these products in 64 bits; the module
//! [`narrow`](ctru_math::kernel::narrow) prevents this.
//!
//! Const code computes all constants. Integers are `i32`, and [`Float`] calculates with `f32`:
//! [`Residue`] stands for both.

mod barrett;
mod division;
mod float;
mod mersenne;
mod montgomery;
mod packed;
mod plantard;
mod proth;
mod pseudo_mersenne;
mod shoup;
mod unsigned;

pub use barrett::Barrett;
pub use division::{ConstantDivision, DivisionFactor, RuntimeDivision};
pub use float::{Float, FloatFactor};
pub use mersenne::Mersenne;
pub use montgomery::Montgomery;
pub use packed::{Packed, Residue};
pub use plantard::{Plantard, PlantardFactor};
pub use proth::Proth;
pub use pseudo_mersenne::PseudoMersenne;
pub use shoup::{RoundingShoup, Shoup, ShoupFactor};
pub use unsigned::{UnsignedDivision, UnsignedMontgomery, UnsignedShoup, UnsignedShoupFactor};

use core::fmt::Debug;

/// Multiplication modulo one number by one method, on signed lazy representatives.
///
/// An implementor is a zero-sized type. It chooses [`Factor`](Self::Factor), the form of a
/// multiplicand that is known beforehand (a twiddle factor), and states bounds, from which callers
/// derive the room for lazy additions at compile time. The module's
/// documentation says which functions take constant time. All functions stay within 64 bits, so
/// they also serve as device code.
///
/// An implementor guarantees:
///
/// - `OUTPUT_BOUND <= INPUT_BOUND` and `OUTPUT_BOUND < 2 * MODULUS`;
/// - `|mul(a, w)| <= OUTPUT_BOUND` and `mul(a, factor(w)) = a * w mod MODULUS` for `|a| <=
///   INPUT_BOUND`;
/// - if `IS_SIGNED` is false, the same for `a >= 0` only, and then `0 <= mul(a, w) < MODULUS`.
///
/// An input beyond its bound gives a wrong number, or a panic if debug assertions are on.
pub trait Reducer: Copy + Debug + Default + Send + Sync + 'static {
    /// The modulus `m`, odd and below 2^31.
    const MODULUS: u32;
    /// Largest `|a|` that [`mul`](Self::mul) and [`normalise`](Self::normalise) take.
    const INPUT_BOUND: i32;
    /// Largest absolute value of a result, and the largest that [`canonical`](Self::canonical)
    /// takes.
    const OUTPUT_BOUND: i32;
    /// Largest absolute value that [`normalise`](Self::normalise) returns, at most `OUTPUT_BOUND`.
    const NORMALISED_BOUND: i32 = Self::OUTPUT_BOUND;
    /// Whether inputs and results may be negative. If not, differences are no inputs, so the method
    /// has no butterflies.
    const IS_SIGNED: bool = true;

    /// The numbers. Sums and differences are exact up to `INPUT_BOUND`.
    type Residue: Residue;
    /// A fixed multiplicand in the form of the method.
    type Factor: Packed;

    /// Prepares the multiplicand `w`, `|w| <= MODULUS / 2`.
    fn factor(w: i32) -> Self::Factor;

    /// Returns the representative of `a` nearest to 0, or `a` itself if numbers are not negative,
    /// for `a` in `0..MODULUS`.
    #[inline(always)]
    fn from_canonical(a: u32) -> Self::Residue {
        let a = a as i32;
        Self::Residue::new(if Self::IS_SIGNED {
            ctru_math::kernel::modular::centre(a, Self::MODULUS)
        } else {
            a
        })
    }

    /// Returns a representative of `a * w`.
    ///
    /// Input: `|a| <= INPUT_BOUND`. Output: up to `OUTPUT_BOUND` in absolute value.
    fn mul(a: Self::Residue, w: Self::Factor) -> Self::Residue;

    /// Returns a small representative of `a`.
    ///
    /// Input: `|a| <= INPUT_BOUND`. Output: up to `NORMALISED_BOUND` in absolute value.
    #[inline(always)]
    fn normalise(a: Self::Residue) -> Self::Residue {
        Self::mul(a, Self::factor(1))
    }

    /// Returns the representative of `a` in `0..MODULUS`, for `|a| <= OUTPUT_BOUND`.
    #[inline(always)]
    fn canonical(a: Self::Residue) -> u32 {
        let a = a.value();
        debug_assert!(a.unsigned_abs() <= Self::OUTPUT_BOUND as u32);
        if !Self::IS_SIGNED {
            return a as u32;
        }
        let (a, modulus, bound) = (a as u32, Self::MODULUS, Self::OUTPUT_BOUND as u32);
        // A negative number is a large unsigned number, and so is the difference of a number and a
        // larger one. So each minimum is the number that is not negative. Sums of two numbers that
        // are not negative fit in 32 bits.
        const { assert!(Self::OUTPUT_BOUND as u32 <= Self::MODULUS || Self::MODULUS < 1 << 30) };
        let a = a.min(a.wrapping_add(if bound > modulus { 2 * modulus } else { modulus }));
        if bound >= modulus { a.min(a.wrapping_sub(modulus)) } else { a }
    }

    /// Returns the representative of `a` in `-(MODULUS - 1) / 2..=(MODULUS - 1) / 2`, for `|a| <=
    /// OUTPUT_BOUND`.
    #[inline(always)]
    fn centred(a: Self::Residue) -> i32 {
        let modulus = Self::MODULUS as i32;
        let a = Self::canonical(a) as i32;
        a - (modulus & ((modulus / 2 - a) >> 31))
    }
}

/// A [`Reducer`] that can also reduce a sum of products of two variable operands.
///
/// Implementors guarantee that `mul(a, w)` and `reduce(product(a, w))` are congruent. Methods that
/// need one operand beforehand (Shoup's, Plantard's) cannot offer this.
pub trait ReduceSum: Reducer<Residue = i32> {
    /// Largest `|sum|` that [`reduce`](Self::reduce) takes, at least `INPUT_BOUND * MODULUS / 2`.
    const SUM_BOUND: i64;
    /// The divisor of `reduce`, as a residue in `0..MODULUS`: 2^32 for [`Montgomery`], `K^-2` for
    /// [`Proth`], 1 for all other methods.
    const RADIX: u32;

    /// Returns `a * w * RADIX` unreduced, to be added to a sum.
    ///
    /// Output: up to `|a| * MODULUS` in absolute value.
    fn product(a: i32, w: Self::Factor) -> i64;

    /// Returns a representative of `sum / RADIX`.
    ///
    /// Input: `|sum| <= SUM_BOUND`. Output: up to `OUTPUT_BOUND` in absolute value.
    fn reduce(sum: i64) -> i32;
}

/// Returns `modulus`, and fails to compile unless it is odd, at least 3 and below `2^bits`.
const fn odd_with_bits(modulus: u32, bits: u32) -> u32 {
    assert!(
        modulus % 2 == 1 && modulus >= 3 && modulus < 1 << bits,
        "the modulus must be odd, at least 3, and small enough for the method"
    );
    modulus
}
