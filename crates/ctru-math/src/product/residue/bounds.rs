//! Where the transforms reduce, derived from bounds on absolute values by const code.

use super::tree::Trees;

/// Largest absolute value of a coefficient that goes into a transform.
pub(super) const INPUT_BOUND: i32 = 1 << 12;

const MOST_LAYERS: usize = 9;
const LANE: i32 = i16::MAX as i32;

/// Reductions of a pair of trees.
pub(super) struct Schedule {
    /// Whether the butterflies of a layer reduce the value that they do not multiply.
    pub(super) forward: [bool; MOST_LAYERS],
    /// Whether the inverse butterflies of a layer reduce the sum.
    pub(super) inverse: [bool; MOST_LAYERS],
    /// Products of two transformed values that may be added up before a reduction; at least 2.
    pub(super) leaf_terms: usize,
}

impl Schedule {
    /// `copies` tells that layer 0 of the transform only copies, because the upper half of the input is zero.
    pub(super) const fn new(trees: &Trees, copies: bool) -> Self {
        let mut forward = [false; MOST_LAYERS];
        let mut bound = INPUT_BOUND;
        let mut layer = copies as usize;
        while layer < trees.layers {
            let product = mul_bound(trees, bound);
            // The last layer always reduces, so that products of leaves have room for their sums.
            if bound + product > LANE || layer + 1 == trees.layers {
                forward[layer] = true;
                bound = reduce_bound(trees, bound);
            }
            bound += product;
            assert!(bound <= LANE);
            layer += 1;
        }
        let leaf_terms = leaf_terms(trees, bound);

        // The products of leaves come out reduced. A layer's inputs have to leave room for their sum.
        let mut inverse = [false; MOST_LAYERS];
        let mut bound = reduce_bound(trees, LANE);
        let mut layer = trees.layers;
        while layer > 0 {
            layer -= 1;
            assert!(2 * bound <= LANE);
            let product = mul_bound(trees, 2 * bound);
            let mut sum = 2 * bound;
            // The last sums go into a multiplication, which takes anything.
            if 2 * sum > LANE && layer > 0 {
                inverse[layer] = true;
                sum = reduce_bound(trees, sum);
            }
            bound = if sum > product { sum } else { product };
        }
        Self { forward, inverse, leaf_terms }
    }
}

/// How many products of values of at most `bound` a lane holds, with `zeta` times as many more beside them.
const fn leaf_terms(trees: &Trees, bound: i32) -> usize {
    let (x, y) = (trees.moduli[0].product_bound(bound, bound), trees.moduli[1].product_bound(bound, bound));
    let product = if x > y { x } else { y };
    let mut sum = 0;
    while sum + product + mul_bound(trees, sum + product) <= LANE {
        sum += product;
    }
    // A reduced sum counts as one product.
    assert!(reduce_bound(trees, sum) <= product && sum >= 2 * product);
    (sum / product) as usize
}

const fn mul_bound(trees: &Trees, a: i32) -> i32 {
    let (x, y) = (trees.moduli[0].mul_bound(a), trees.moduli[1].mul_bound(a));
    if x > y { x } else { y }
}

const fn reduce_bound(trees: &Trees, a: i32) -> i32 {
    let (x, y) = (trees.moduli[0].reduce_bound(a), trees.moduli[1].reduce_bound(a));
    if x > y { x } else { y }
}
