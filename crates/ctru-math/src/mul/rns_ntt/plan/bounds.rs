//! Where the transforms reduce: const code derives it from bounds on absolute values.
//!
//! A butterfly adds a product to a number, so numbers grow from layer to layer. [`Schedule::new`]
//! follows the largest absolute value through all layers, reduces where the next sum could leave
//! 16 bits, and fails to compile if that is not enough.

use super::{MOST_LAYERS, Plan, Shape};

/// Largest number in a lane.
const LANE: i32 = i16::MAX as i32;

/// Largest absolute value after an inverse transform: the sum or difference of two fits a lane.
pub(in crate::mul::rns_ntt) const OUTPUT_BOUND: i32 = LANE / 2;

/// The reductions of a pair of trees.
pub(in crate::mul::rns_ntt) struct Schedule {
    /// Whether the butterflies of a layer reduce the number that they do not multiply.
    pub(in crate::mul::rns_ntt) forward: [bool; MOST_LAYERS],
    /// Whether the butterflies of a layer's first block, whose factor is 1 in a whole tree, may
    /// leave out the multiplication.
    pub(in crate::mul::rns_ntt) forward_by_one: [bool; MOST_LAYERS],
    /// Whether the inverse butterflies of a layer reduce the sum, and the difference if they do not
    /// multiply it.
    pub(in crate::mul::rns_ntt) inverse: [bool; MOST_LAYERS],
}

impl Schedule {
    /// Derives the schedule of a plan.
    pub(super) const fn new<P: Plan>() -> Self {
        let mut reduced_at_end = 0;
        let mut transform = Forward::new::<P>(reduced_at_end);
        while !leaf_sums_fit::<P>(transform.bound) {
            reduced_at_end += 1;
            assert!(reduced_at_end <= P::LAYERS);
            transform = Forward::new::<P>(reduced_at_end);
        }

        // The inverse transform starts from products of leaves times the scale. The inputs of each
        // layer must leave room for their sum.
        let mut inverse = [false; MOST_LAYERS];
        let mut bound = mul_bound::<P>(LANE);
        let mut layer = P::LAYERS;
        while layer > 0 {
            layer -= 1;
            assert!(2 * bound <= LANE);
            let product = mul_bound::<P>(2 * bound);
            let mut sum = 2 * bound;
            if sum > OUTPUT_BOUND {
                inverse[layer] = true;
                sum = reduce_bound::<P>(sum);
            }
            bound = if sum > product { sum } else { product };
        }
        assert!(bound <= OUTPUT_BOUND);
        Self { forward: transform.reduce, forward_by_one: transform.by_one, inverse }
    }
}

/// The reductions of a forward transform, and the bound of its output.
struct Forward {
    reduce: [bool; MOST_LAYERS],
    by_one: [bool; MOST_LAYERS],
    bound: i32,
}

impl Forward {
    /// Derives the reductions if the last `reduced_at_end` layers always reduce, which makes room
    /// for the sums in products of leaves.
    const fn new<P: Plan>(reduced_at_end: usize) -> Self {
        let (mut reduce, mut by_one) = ([false; MOST_LAYERS], [false; MOST_LAYERS]);
        // Operands with aliased coefficients are longer than half a transform: their columns add
        // two coefficients.
        let input = P::Shape::OPERAND_BOUND;
        let mut bound = if P::ALIASED > 0 { 2 * input } else { input };
        // The bound of the first block as long as it is not multiplied.
        let mut bound_by_one = bound;
        // Layer 0 of whole trees only copies, because the upper half of the input is zero.
        let mut layer = P::WHOLE as usize;
        while layer < P::LAYERS {
            let product = mul_bound::<P>(bound);
            if bound + product > LANE || layer + reduced_at_end >= P::LAYERS {
                reduce[layer] = true;
                bound = reduce_bound::<P>(bound);
            }
            bound += product;
            assert!(bound <= LANE);
            bound_by_one *= 2;
            if P::WHOLE && bound_by_one <= bound {
                by_one[layer] = true;
            } else {
                bound_by_one = LANE;
            }
            layer += 1;
        }
        Self { reduce, by_one, bound }
    }
}

/// Returns whether the sums in products of leaves fit 32 bits, and a lane once they are reduced,
/// for coefficients of leaves up to `bound`.
const fn leaf_sums_fit<P: Plan>(bound: i32) -> bool {
    let folded = mul_bound::<P>(bound);
    let factor = if bound > folded { bound } else { folded };
    let sum = P::LEAF_DEGREE as i64 * bound as i64 * factor as i64;
    sum <= i32::MAX as i64 && sum_bound::<P>(sum as i32) <= LANE
}

const fn mul_bound<P: Plan>(a: i32) -> i32 {
    max(P::MODULI[0].mul_bound(a), P::MODULI[1].mul_bound(a))
}

const fn sum_bound<P: Plan>(sum: i32) -> i32 {
    max(P::MODULI[0].sum_bound(sum), P::MODULI[1].sum_bound(sum))
}

const fn reduce_bound<P: Plan>(a: i32) -> i32 {
    max(P::MODULI[0].reduce_bound(a), P::MODULI[1].reduce_bound(a))
}

const fn max(a: i32, b: i32) -> i32 {
    if a > b { a } else { b }
}
