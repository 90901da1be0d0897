//! Bounds of the lazily reduced numbers, which const code derives.

use super::NttRing;
use crate::reduce::{ReduceSum, Reducer};
use ctru_math::Ring;
use ctru_math::SmallPoly;
use ctru_math::array::Array;

/// Returns the largest absolute value after the forward layers, for inputs up to
/// `NttRing::OPERAND_BOUND`.
///
/// Block 0 of each layer has the twiddle 1. Its butterflies leave out the product, so its bound
/// doubles in the two blocks that it becomes, blocks 0 and 1 of the next layer. In all other
/// blocks, a layer adds one reduced product to the bound.
pub(super) const fn forward<R: NttRing<A>, A>() -> i64 {
    let out = <R::Butterfly as Reducer>::OUTPUT_BOUND as i64;
    let (mut block0, mut others) = (R::OPERAND_BOUND as i64, R::OPERAND_BOUND as i64);
    let mut layer = 0;
    while layer < R::RADIX2_LAYERS {
        block0 *= 2;
        others = max(block0, others + out);
        layer += 1;
    }
    if R::LEAVES >> R::RADIX2_LAYERS == 3 {
        block0 = 2 * block0 + max(block0, out);
        others = max(block0, others + 2 * out);
    }
    max(block0, others)
}

/// Returns the inverse radix-2 layer before which all numbers must be normalised, if there is one,
/// and the largest absolute value after the last layer.
///
/// Each inverse layer doubles (radix 3: triples) the bound of the low coefficients, which are never
/// multiplied.
pub(super) const fn inverse<R: NttRing<A>, A>() -> (Option<u32>, i64) {
    let out = <R::Butterfly as Reducer>::OUTPUT_BOUND as i64;
    let mut bound = max(out, <R::Reducer as Reducer>::OUTPUT_BOUND as i64)
        * (R::LEAVES >> R::RADIX2_LAYERS) as i64;
    let mut normalise = None;
    let mut layer = R::RADIX2_LAYERS;
    while layer > 0 {
        layer -= 1;
        if 2 * bound > <R::Butterfly as Reducer>::INPUT_BOUND as i64 {
            assert!(normalise.is_none(), "one normalisation must be enough");
            normalise = Some(layer);
            bound = out;
        }
        bound *= 2;
    }
    (normalise, bound)
}

/// Returns the largest absolute value of a coefficient of the plain product of operands with
/// coefficients up to `a` and `b`.
const fn largest_coefficient<R: Ring>(a: u32, b: u32) -> u64 {
    R::N as u64 * a as u64 * b as u64
}

/// Returns whether the residues modulo `q'` determine the plain product of a centred element of
/// `R_q` by a polynomial with coefficients up to `small`.
pub(super) const fn is_exact<R: NttRing<A>, A>(small: u32) -> bool {
    2 * largest_coefficient::<R>(R::Q / 2, small) < <R::Reducer as Reducer>::MODULUS as u64
}

/// Returns how many operands of a leaf product must be normalised so that the reducer can take the
/// sums of products: 0, 1 or 2.
pub(super) const fn normalised_operands<R: NttRing<A>, A>() -> u32 {
    let bound = <R::Reducer as ReduceSum>::SUM_BOUND - reduced_product::<R, A>();
    let mut normalised = 0;
    while leaf_sum::<R, A>(normalised) > bound {
        normalised += 1;
        assert!(normalised <= 2, "normalised operands must be small enough");
    }
    normalised
}

/// Returns the largest sum of products in a leaf for this number of normalised operands.
const fn leaf_sum<R: NttRing<A>, A>(normalised: u32) -> i64 {
    let (lazy, small) = (forward::<R, A>(), <R::Butterfly as Reducer>::OUTPUT_BOUND as i64);
    let first = if normalised > 1 { small } else { lazy };
    let second = if normalised > 0 { small } else { lazy };
    R::LEAF_DEGREE as i64 * first * second
}

/// Returns the largest product of a reduced number and `zeta`. A leaf product adds it to a sum of
/// products.
const fn reduced_product<R: NttRing<A>, A>() -> i64 {
    <R::Reducer as Reducer>::OUTPUT_BOUND as i64 * <R::Reducer as Reducer>::MODULUS as i64
}

/// Fails to compile if a number could overflow or a product could be ambiguous.
pub(super) const fn check<R: NttRing<A>, A>() {
    let input = <R::Butterfly as Reducer>::INPUT_BOUND as i64;
    let modulus = <R::Reducer as Reducer>::MODULUS as i64;

    assert!(
        <R::NttCoeffs as Array<i32>>::LEN == R::NTT_LEN && R::LEAVES * R::LEAF_DEGREE == R::NTT_LEN
    );
    assert!(<R::CoefficientReducer as Reducer>::MODULUS == R::Q);
    assert!(<R::Butterfly as Reducer>::MODULUS as i64 == modulus);
    // The fold reads coefficient 2n - 1, which exists and is 0.
    assert!(2 * R::N <= R::NTT_LEN);

    // These numbers fit: the outputs of the forward layers, the sums of two outputs in Karatsuba's
    // method, and the sums of products in the leaves.
    assert!(2 * forward::<R, A>() <= input);
    let sum = leaf_sum::<R, A>(normalised_operands::<R, A>()) + reduced_product::<R, A>();
    assert!(sum <= <R::Reducer as ReduceSum>::SUM_BOUND);
    // Karatsuba's intermediate terms have at most D/2 products of sums of two numbers.
    assert!(sum < i64::MAX / 4);
    assert!(inverse::<R, A>().1 <= input);

    // Products are exact. A folded coefficient is the sum of three, and `mul_small` adds two such
    // sums, one doubled.
    assert!(is_exact::<R, A>(R::ETA + 1));
    assert!(2 * largest_coefficient::<R>(R::Q2 / 2, SmallPoly::<R>::BOUND) < modulus as u64);
    assert!(9 * (modulus / 2) <= <R::CoefficientReducer as Reducer>::INPUT_BOUND as i64);
}

const fn max(a: i64, b: i64) -> i64 {
    if a > b { a } else { b }
}
