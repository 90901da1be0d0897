//! Modular multiplication on lazily reduced signed representatives: one trait, one type for each method.
//!
//! A residue is any small integer congruent to it. A reducer promises how large a representative it takes and how large
//! a one it returns, and leaves the rest to its caller: additions between two multiplications need no reduction as
//! long as the bounds are kept, and [`Reducer::canonical`] is called once at the end.
//!
//! | type | modulus `m` | products for `a * w mod m` | fixed factor | output |
//! |---|---|---|---|---|
//! | [`RuntimeDivision`] | below 2^30, known at run time | 1: `a * w`, and a division; **not constant time** | plain, and `m` | `m - 1` |
//! | [`ConstantDivision`] | below 2^30 | 7 or more, as the compiler likes | plain | `m - 1` |
//! | [`Barrett`] | odd, below 2^30 | 3: `a * w`, one high, one low | plain | `3m/2` |
//! | [`Montgomery`] | odd, below 2^30 | 3: `a * w`, one low, one high | `w * 2^32 mod m` | `m - 1` |
//! | [`Shoup`] | odd, below 2^30 | 3: one high, two low | `w` and `w * 2^32 / m` | `11m/8` |
//! | [`Plantard`] | odd, below 2^30 | 3: two high, one low | `-w * 2^64 / m mod 2^64` | `m/2` |
//! | [`PseudoMersenne`] | `2^A + S 2^B + T` | 1: `a * w`, then shifts and sums | plain | a little above `m/2` |
//! | [`Proth`] | `K 2^E + 1` | 1: `a * w`, then three by `K` | `w / K^2 mod m` | a little above `m/2` |
//! | [`Float`] | odd, below 2^24 | 4 in floating point, 3 of them with a sum | `w` and `w / m` | `5m/8` |
//!
//! The products are 32 x 32 bits: low, high, or all 64 bits of one. LLVM, left alone, computes many of them in 64 bits on GPUs;
//! with the crate's feature `narrow` it does not.
//!
//! All but the first are made of what takes constant time, have no branch on a value and index with none. All constants are
//! computed by the compiler. Integers are `i32`, but [`Float`] calculates with `f32`: [`Residue`] is either.

mod barrett;
mod division;
mod float;
mod montgomery;
mod narrow;
mod packed;
mod plantard;
mod proth;
mod pseudo_mersenne;
mod shoup;

pub use barrett::Barrett;
pub use division::{ConstantDivision, DivisionFactor, RuntimeDivision};
pub use float::{Float, FloatFactor};
pub use montgomery::Montgomery;
pub use packed::{Packed, Residue};
pub use plantard::{Plantard, PlantardFactor};
pub use proth::Proth;
pub use pseudo_mersenne::PseudoMersenne;
pub use shoup::{Shoup, ShoupFactor};

use core::fmt::Debug;

/// Multiplication modulo one number by one method, on signed lazy representatives.
///
/// An implementor is a type without values. It chooses [`Factor`](Self::Factor), the form in which it wants a
/// multiplicand that is known beforehand (a twiddle factor), and states the two bounds; everything that is built
/// on reducers derives the room it has for lazy additions from them at compile time. All functions but those of
/// [`RuntimeDivision`] take constant time in every argument, and all stay inside 64 bits, so they also serve as device
/// code.
///
/// What an implementor has to guarantee:
///
/// - `OUTPUT_BOUND <= INPUT_BOUND` and `OUTPUT_BOUND < 2 * MODULUS`;
/// - `|mul(a, w)| <= OUTPUT_BOUND` and `mul(a, factor(w)) = a * w mod MODULUS` for `|a| <= INPUT_BOUND`.
///
/// An input beyond its bound gives a wrong number, and a panic where debug assertions are on.
pub trait Reducer: Copy + Debug + Default + Send + Sync + 'static {
    /// The modulus `m`, odd and below 2^30.
    const MODULUS: u32;
    /// Largest `|a|` that [`mul`](Self::mul) and [`normalise`](Self::normalise) take.
    const INPUT_BOUND: i32;
    /// Largest absolute value of a result, and the largest that [`canonical`](Self::canonical) takes.
    const OUTPUT_BOUND: i32;
    /// Largest absolute value that [`normalise`](Self::normalise) returns, at most `OUTPUT_BOUND`.
    const NORMALISED_BOUND: i32 = Self::OUTPUT_BOUND;

    /// What it calculates with. Sums and differences are exact up to `INPUT_BOUND`.
    type Residue: Residue;
    /// A fixed multiplicand in the form that the method wants.
    type Factor: Packed;

    /// Prepares the multiplicand `w`, `|w| <= MODULUS / 2`.
    fn factor(w: i32) -> Self::Factor;

    /// A representative of `a * w` for `|a| <= INPUT_BOUND`; at most `OUTPUT_BOUND` in absolute value.
    fn mul(a: Self::Residue, w: Self::Factor) -> Self::Residue;

    /// A representative of `a` that is at most `NORMALISED_BOUND` in absolute value, for `|a| <= INPUT_BOUND`.
    #[inline(always)]
    fn normalise(a: Self::Residue) -> Self::Residue {
        Self::mul(a, Self::factor(1))
    }

    /// The representative of `a` in `0..MODULUS`, for `|a| <= OUTPUT_BOUND`.
    #[inline(always)]
    fn canonical(a: Self::Residue) -> u32 {
        let a = a.value();
        debug_assert!(a.unsigned_abs() <= Self::OUTPUT_BOUND as u32);
        let modulus = Self::MODULUS as i32;
        // `x >> 31` is all ones for a negative x, so each step adds the modulus to a negative number only.
        let mut a = a + (modulus & (a >> 31));
        if Self::OUTPUT_BOUND >= modulus {
            a += modulus & (a >> 31);
            a -= modulus;
            a += modulus & (a >> 31);
        }
        a as u32
    }

    /// The representative of `a` in `-(MODULUS - 1) / 2..=(MODULUS - 1) / 2`, for `|a| <= OUTPUT_BOUND`.
    #[inline(always)]
    fn centred(a: Self::Residue) -> i32 {
        let modulus = Self::MODULUS as i32;
        let a = Self::canonical(a) as i32;
        a - (modulus & ((modulus / 2 - a) >> 31))
    }
}

/// A [`Reducer`] that can also reduce a sum of products of two variable operands.
///
/// Implementors guarantee that `mul(a, w)` is `reduce(product(a, w))` up to the choice of the representative. A method
/// that lives on knowing one operand beforehand (Shoup's, Plantard's) cannot offer this.
pub trait ReduceSum: Reducer<Residue = i32> {
    /// Largest `|sum|` that [`reduce`](Self::reduce) takes, at least `INPUT_BOUND * MODULUS / 2`.
    const SUM_BOUND: i64;
    /// What `reduce` divides by, as a residue in `0..MODULUS`: 1, or the Montgomery radix.
    const RADIX: u32;

    /// `a * w * RADIX` as an unreduced number: what takes `a * w` into a sum. Its absolute value is at most
    /// `|a| * MODULUS`.
    fn product(a: i32, w: Self::Factor) -> i64;

    /// A representative of `sum / RADIX` for `|sum| <= SUM_BOUND`; at most `OUTPUT_BOUND` in absolute value.
    fn reduce(sum: i64) -> i32;
}

/// The representative of `a` nearest to 0, for `a` in `0..modulus`; half of an even modulus becomes negative.
#[must_use]
#[inline(always)]
pub fn centre(a: impl Into<i32>, modulus: u32) -> i32 {
    let (a, modulus) = (a.into(), modulus as i32);
    // The largest representative is floor((modulus - 1) / 2); beyond it the difference is negative.
    a - (modulus & (((modulus - 1) / 2 - a) >> 31))
}

/// `modulus`, if the methods that take any odd modulus take it.
const fn odd_below_2_30(modulus: u32) -> u32 {
    assert!(
        modulus % 2 == 1 && modulus >= 3 && modulus < 1 << 30,
        "the modulus must be odd and in 3..2^30"
    );
    modulus
}
