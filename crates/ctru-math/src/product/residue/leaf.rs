//! Products of transformed polynomials, leaf by leaf.

use super::layers::{LAST_RADIX, load_rows, store_rows, with_shape};
use super::tree::{Forest, Tables};
use crate::lanes::{Factor, LaneModulus, Lanes};

/// Multiplies `a` by `b` leaf by leaf.
#[inline(always)]
pub(super) fn multiply<F: Forest, V: Lanes, const DEGREE: usize>(a: &mut [i16], b: &[i16]) {
    with_shape!(multiply_leaves::<F, V, DEGREE>(a, b));
}

#[inline(always)]
fn multiply_leaves<F: Forest, V: Lanes, const B: usize, const RADIX: usize, const DEGREE: usize>(
    a: &mut [i16],
    b: &[i16],
) {
    let modulus = F::modulus::<V>();
    let table = Tables::<F, V>::FORWARD;
    let rows = LAST_RADIX * RADIX * DEGREE * V::LANES;
    assert!(a.len() == rows && b.len() == rows);
    for pair in 0..LAST_RADIX * RADIX / 2 {
        let zeta = table.row(LAST_RADIX / 2 * RADIX + pair);
        // x^d - zeta and x^d + zeta.
        for (leaf, odd) in [(2 * pair, false), (2 * pair + 1, true)] {
            let left = load_rows::<V, DEGREE>(a, leaf * DEGREE, 1);
            let right = load_rows::<V, DEGREE>(b, leaf * DEGREE, 1).map(|b| modulus.variable(b));
            let product = multiply_leaf::<F, V, DEGREE>(&modulus, left, right, zeta, odd);
            store_rows(product, a, leaf * DEGREE, 1);
        }
    }
}

/// The product of two leaves modulo `x^d - zeta`, or `x^d + zeta` if `odd`, over `2^16`.
#[inline(always)]
fn multiply_leaf<F: Forest, V: Lanes, const DEGREE: usize>(
    modulus: &LaneModulus<V>,
    left: [V; DEGREE],
    right: [Factor<V>; DEGREE],
    zeta: Factor<V>,
    odd: bool,
) -> [V; DEGREE] {
    let mut product = left;
    for (k, product) in product.iter_mut().enumerate() {
        let direct = leaf_sum::<F, V>(modulus, k + 1, |i| modulus.mul(left[i], right[k - i]));
        let wrapped = leaf_sum::<F, V>(modulus, DEGREE - 1 - k, |i| {
            modulus.mul(left[k + 1 + i], right[DEGREE - 1 - i])
        });
        let wrapped = modulus.mul(wrapped, zeta);
        *product = modulus.reduce(if odd { direct.sub(wrapped) } else { direct.add(wrapped) });
    }
    product
}

/// The sum of products of transformed values, reduced so often that it stays in a lane.
#[inline(always)]
fn leaf_sum<F: Forest, V: Lanes>(modulus: &LaneModulus<V>, count: usize, product: impl Fn(usize) -> V) -> V {
    let terms = const { F::SCHEDULE }.leaf_terms;
    let mut sum = V::splat(0);
    for i in 0..count {
        // A reduced sum takes the room of one product.
        if i >= terms && (i - terms).is_multiple_of(terms - 1) {
            sum = modulus.reduce(sum);
        }
        sum = sum.add(product(i));
    }
    sum
}
