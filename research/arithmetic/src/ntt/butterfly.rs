//! Butterflies: the steps of the transform, one at a time.
//!
//! Butterflies do not reduce sums. The stated bounds of outputs hold for inputs up to `x` if `2x`
//! (radix 2) or `3x` (radix 3) is within the reducer's input bound. `OUT` is the reducer's output
//! bound.

use crate::reduce::{Reducer, Residue};

/// Splits modulo `X^2 - z^2`: `x + y X` becomes `x + z y` modulo `X - z` and `x - z y` modulo `X +
/// z`.
///
/// Output: up to `|x| + OUT`; `|y|` does not matter.
#[must_use]
#[inline(always)]
pub fn radix2<M: Reducer>(x: M::Residue, y: M::Residue, z: M::Factor) -> (M::Residue, M::Residue) {
    radix2_unit(x, M::mul(y, z))
}

/// Computes [`radix2`] and [`radix2_inverse`] for `z = 1`.
///
/// Output: up to `|x| + |y|`.
#[must_use]
#[inline(always)]
pub fn radix2_unit<T: Residue>(x: T, y: T) -> (T, T) {
    (x + y, x - y)
}

/// Undoes [`radix2`] and multiplies by 2; `z` is the inverse twiddle.
///
/// Output: the first up to `|x| + |y|`, the second up to `OUT`.
#[must_use]
#[inline(always)]
pub fn radix2_inverse<M: Reducer>(
    x: M::Residue,
    y: M::Residue,
    z: M::Factor,
) -> (M::Residue, M::Residue) {
    let (sum, difference) = radix2_unit(x, y);
    (sum, M::mul(difference, z))
}

/// Splits modulo `X^3 - z^3`: `x[0] + x[1] X + x[2] X^2` is evaluated at `z`, `omega z` and
/// `omega^2 z`.
///
/// `z` holds the factors `z` and `z^2`. Output: up to `|x[0]| + 2 OUT`.
#[must_use]
#[inline(always)]
pub fn radix3<M: Reducer>(
    x: [M::Residue; 3],
    z: [M::Factor; 2],
    omega: M::Factor,
) -> [M::Residue; 3] {
    radix3_unit::<M>([x[0], M::mul(x[1], z[0]), M::mul(x[2], z[1])], omega)
}

/// Computes [`radix3`] for `z = 1`: the transform of length 3, with one product.
///
/// Output: up to `2x + max(x, OUT)` for inputs up to `x`.
#[must_use]
#[inline(always)]
pub fn radix3_unit<M: Reducer>(x: [M::Residue; 3], omega: M::Factor) -> [M::Residue; 3] {
    // omega^2 = -1 - omega, so omega x1 + omega^2 x2 = omega (x1 - x2) - x2
    // and omega^2 x1 + omega x2 = -omega (x1 - x2) - x1.
    let t = M::mul(x[1] - x[2], omega);
    [x[0] + x[1] + x[2], x[0] - x[2] + t, x[0] - x[1] - t]
}

/// Undoes [`radix3_unit`] and multiplies by 3.
///
/// Output: up to `2x + max(x, OUT)` for inputs up to `x`.
#[must_use]
#[inline(always)]
pub fn radix3_unit_inverse<M: Reducer>(x: [M::Residue; 3], omega: M::Factor) -> [M::Residue; 3] {
    // The inverse has omega^-1 = omega^2 in place of omega, which swaps the last two outputs.
    let [a, b, c] = radix3_unit::<M>(x, omega);
    [a, c, b]
}

/// Undoes [`radix3`] and multiplies by 3; `z` holds the inverse factors, `omega` is the same as in
/// [`radix3`].
///
/// Output for inputs up to `x`: the first up to `3x`, the others up to `OUT`.
#[must_use]
#[inline(always)]
pub fn radix3_inverse<M: Reducer>(
    x: [M::Residue; 3],
    z: [M::Factor; 2],
    omega: M::Factor,
) -> [M::Residue; 3] {
    let [a, b, c] = radix3_unit_inverse::<M>(x, omega);
    [a, M::mul(b, z[0]), M::mul(c, z[1])]
}
