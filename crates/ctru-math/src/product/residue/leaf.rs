//! Products of transformed polynomials, leaf by leaf: sums of products in 32 bits, reduced once.

use super::layers::{LAST_RADIX, load_rows, store_rows, with_shape};
use super::tree::{Forest, Tables};
use super::wrap;
use crate::lanes::{Factor, Lanes};

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
    let right = load_rows::<V, DEGREE>(b, leaf * DEGREE, 1);
    // The coefficients of b where x^d is folded.
    let folded = right.map(|b| fold(V::splat(0), modulus.mul(b, zeta)));
    let mut product = left;
    each_power!(|K| if K < DEGREE {
        let factor = |i: usize| if i > K { folded[K + DEGREE - i] } else { right[K - i] };
        let mut sums = V::no_sums();
        for i in (0..DEGREE).step_by(2) {
            // The odd one out stands beside a zero, which multiplies what makes a pair that other coefficients need too.
            let beside = if i + 1 < DEGREE { left[i + 1] } else { V::splat(0) };
            let next = if i + 1 < DEGREE || K != 0 { factor(i + 1) } else { V::splat(0) };
            sums = V::add_products(sums, [left[i], beside], [factor(i), next]);
        }
        product[K] = modulus.mul(modulus.reduce_sums(sums), scale);
    });
    store_rows(product, a, leaf * DEGREE, 1);
}
