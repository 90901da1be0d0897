//! Where the transforms reduce, derived from bounds on absolute values by const code.

use super::shape::Shape;
use super::tree::{Forest, Trees};
use crate::ring::{R653, R761, R1277, Ring};

/// Largest absolute value of a coefficient that goes into a transform of this length: half the modulus of any ring with such
/// transforms.
pub(super) const fn input_bound(length: usize) -> i32 {
    let (a, b, c) = (
        input_bound_of::<R653>(length),
        input_bound_of::<R761>(length),
        input_bound_of::<R1277>(length),
    );
    let larger = if a > b { a } else { b };
    if larger > c { larger } else { c }
}

const fn input_bound_of<R: Ring>(length: usize) -> i32 {
    if Shape::of::<R>().length() == length { R::Q as i32 / 2 } else { 0 }
}

const MOST_LAYERS: usize = 9;
const LANE: i32 = i16::MAX as i32;

/// Largest absolute value of what an inverse transform gives: sums and differences of two such values fit a lane.
pub(super) const OUTPUT_BOUND: i32 = LANE / 2;

/// Reductions of a pair of trees.
pub(super) struct Schedule {
    /// Whether the butterflies of a layer reduce the value that they do not multiply.
    pub(super) forward: [bool; MOST_LAYERS],
    /// Whether the butterflies of a layer's first block, the factor of which is 1 in a whole tree, may leave out the
    /// multiplication.
    pub(super) forward_by_one: [bool; MOST_LAYERS],
    /// Whether the inverse butterflies of a layer reduce the sum, and the difference if it is not multiplied.
    pub(super) inverse: [bool; MOST_LAYERS],
}

/// The schedule of the trees `F` with leaves of a degree.
pub(super) struct ScheduleOf<F, const DEGREE: usize>(core::marker::PhantomData<F>);

impl<F: Forest, const DEGREE: usize> ScheduleOf<F, DEGREE> {
    pub(super) const SCHEDULE: Schedule =
        Schedule::new(&F::TREES, F::WHOLE, input_sum_bound::<F>(DEGREE), DEGREE);
}

/// Bound of what a transform does not multiply before its first reduction at layer 0: where products wrap, operands have more
/// coefficients than half a transform, and two of them are added.
const fn input_sum_bound<F: Forest>(degree: usize) -> i32 {
    let input = input_bound(degree << F::LAYERS);
    if F::WRAPPED > 0 { 2 * input } else { input }
}

impl Schedule {
    /// `whole` tells that the trees start at `x^N - 1`: layer 0 of the transform only copies, because the upper half of the
    /// input is zero, and the factor of each layer's first block is 1.
    const fn new(trees: &Trees, whole: bool, input: i32, degree: usize) -> Self {
        let mut last = 0;
        let mut transform = Forward::new(trees, whole, input, last);
        while !leaf_sums_fit(trees, transform.bound, degree) {
            last += 1;
            assert!(last <= trees.layers);
            transform = Forward::new(trees, whole, input, last);
        }

        // The products of leaves come out multiplied by the scale. A layer's inputs have to leave room for their sum.
        let mut inverse = [false; MOST_LAYERS];
        let mut bound = mul_bound(trees, LANE);
        let mut layer = trees.layers;
        while layer > 0 {
            layer -= 1;
            assert!(2 * bound <= LANE);
            let product = mul_bound(trees, 2 * bound);
            let mut sum = 2 * bound;
            if sum > OUTPUT_BOUND {
                inverse[layer] = true;
                sum = reduce_bound(trees, sum);
            }
            bound = if sum > product { sum } else { product };
        }
        assert!(bound <= OUTPUT_BOUND);
        Self { forward: transform.reduce, forward_by_one: transform.by_one, inverse }
    }
}

/// The reductions of a transform, and the bound of what it gives.
struct Forward {
    reduce: [bool; MOST_LAYERS],
    by_one: [bool; MOST_LAYERS],
    bound: i32,
}

impl Forward {
    /// The last layers always reduce, as many as `last`, so that products of leaves have room for their sums.
    const fn new(trees: &Trees, whole: bool, input: i32, last: usize) -> Self {
        let (mut reduce, mut by_one) = ([false; MOST_LAYERS], [false; MOST_LAYERS]);
        let mut bound = input;
        // Of the first block while it is not multiplied.
        let mut bound_by_one = bound;
        let mut layer = whole as usize;
        while layer < trees.layers {
            let product = mul_bound(trees, bound);
            if bound + product > LANE || layer + last >= trees.layers {
                reduce[layer] = true;
                bound = reduce_bound(trees, bound);
            }
            bound += product;
            assert!(bound <= LANE);
            bound_by_one *= 2;
            if whole && bound_by_one <= bound {
                by_one[layer] = true;
            } else {
                bound_by_one = LANE;
            }
            layer += 1;
        }
        Self { reduce, by_one, bound }
    }
}

/// Whether the sums in products of leaves fit 32 bits, and reduced a lane, where the coefficients of leaves are at most `bound`.
const fn leaf_sums_fit(trees: &Trees, bound: i32, degree: usize) -> bool {
    let folded = mul_bound(trees, bound);
    let factor = if bound > folded { bound } else { folded };
    let sum = degree as i64 * bound as i64 * factor as i64;
    sum <= i32::MAX as i64 && sum_bound(trees, sum as i32) <= LANE
}

const fn mul_bound(trees: &Trees, a: i32) -> i32 {
    let (x, y) = (trees.moduli[0].mul_bound(a), trees.moduli[1].mul_bound(a));
    if x > y { x } else { y }
}

const fn sum_bound(trees: &Trees, sum: i32) -> i32 {
    let (x, y) = (trees.moduli[0].sum_bound(sum), trees.moduli[1].sum_bound(sum));
    if x > y { x } else { y }
}

const fn reduce_bound(trees: &Trees, a: i32) -> i32 {
    let (x, y) = (trees.moduli[0].reduce_bound(a), trees.moduli[1].reduce_bound(a));
    if x > y { x } else { y }
}
