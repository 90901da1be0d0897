//! Products of transformed polynomials, leaf by leaf, in the way of Karatsuba.

use super::bounds::ScheduleOf;
use super::layers::{LAST_RADIX, load_rows, store_rows, with_shape};
use super::tree::{Forest, Tables};
use super::wrap;
use crate::lanes::{Factor, LaneModulus, Lanes};

/// Repeats `$body` for the powers of `x` in a leaf as constants, so that everything stays in registers.
macro_rules! each_power {
    (|$power:ident| $body:expr) => {
        each_power!(@ $power, $body, 0, 1, 2, 3, 4)
    };
    (@ $power:ident, $body:expr, $($number:literal),*) => {
        $({
            const $power: usize = $number;
            $body
        })*
    };
}

/// Multiplies `a` by `b` leaf by leaf, and by the trees' scale.
#[inline(always)]
pub(super) fn multiply<F: Forest, V: Lanes, const DEGREE: usize>(a: &mut [i16], b: &[i16]) {
    with_shape!(multiply_leaves::<F, V, DEGREE>(a, b));
}

#[inline(always)]
fn multiply_leaves<F: Forest, V: Lanes, const B: usize, const RADIX: usize, const DEGREE: usize>(
    a: &mut [i16],
    b: &[i16],
) {
    let table = Tables::<F, V>::FORWARD;
    let rows = LAST_RADIX * RADIX * DEGREE * V::LANES;
    let ((a, a_end), (b, b_end)) = (a.split_at_mut(rows), b.split_at(rows));
    if F::WRAPPED > 0 {
        wrap::multiply::<F, V, DEGREE>(a_end, b_end);
    }
    for pair in 0..LAST_RADIX * RADIX / 2 {
        // x^d - zeta and x^d + zeta.
        let zeta = table.row(LAST_RADIX / 2 * RADIX + pair);
        multiply_leaf::<F, V, DEGREE>(a, b, 2 * pair, zeta, V::add);
        multiply_leaf::<F, V, DEGREE>(a, b, 2 * pair + 1, zeta, V::sub);
    }
}

/// Multiplies a leaf modulo `x^d - zeta` if `fold` is addition, or `x^d + zeta` if it is subtraction.
#[inline(always)]
fn multiply_leaf<F: Forest, V: Lanes, const DEGREE: usize>(
    a: &mut [i16],
    b: &[i16],
    leaf: usize,
    zeta: Factor<V>,
    fold: impl Fn(V, V) -> V,
) {
    let modulus = F::modulus::<V>();
    let scale = Factor::halves(const { F::TREES.scale });
    let left = load_rows::<V, DEGREE>(a, leaf * DEGREE, 1);
    let right = load_rows::<V, DEGREE>(b, leaf * DEGREE, 1).map(|b| modulus.variable(b));
    let mut squares = left;
    for (square, right) in squares.iter_mut().zip(right) {
        *square = modulus.mul(*square, right);
    }
    let mut product = left;
    each_power!(|K| if K < DEGREE {
        let mut sum = plain_coefficient::<F, V, DEGREE>(&modulus, &left, &right, &squares, K);
        if K + 1 < DEGREE {
            let above = plain_coefficient::<F, V, DEGREE>(&modulus, &left, &right, &squares, K + DEGREE);
            sum = fold(sum, modulus.mul(above, zeta));
        }
        product[K] = modulus.mul(sum, scale);
    });
    store_rows(product, a, leaf * DEGREE, 1);
}

/// The coefficient of `x^power` in the plain product of leaves, over `2^16`: the sum of `a_i b_j + a_j b_i`, which is
/// `(a_i + a_j) (b_i + b_j) - a_i b_i - a_j b_j`, and of `a_i b_i`.
#[inline(always)]
fn plain_coefficient<F: Forest, V: Lanes, const DEGREE: usize>(
    modulus: &LaneModulus<V>,
    left: &[V; DEGREE],
    right: &[Factor<V>; DEGREE],
    squares: &[V; DEGREE],
    power: usize,
) -> V {
    let reduce = const { ScheduleOf::<F, DEGREE>::SCHEDULE.reduce_mixed };
    let mut sum = V::splat(0);
    for i in 0..DEGREE {
        if 2 * i == power {
            sum = sum.add(squares[i]);
        } else if 2 * i < power && power - i < DEGREE {
            let j = power - i;
            let product = modulus.mul(left[i].add(left[j]), right[i].add(right[j]));
            let mixed = product.sub(squares[i]).sub(squares[j]);
            sum = sum.add(if reduce { modulus.reduce(mixed) } else { mixed });
        }
    }
    sum
}
