//! The layers of a pass on vectors in registers, and passes over rows in memory.

use super::bounds::ScheduleOf;
use super::tree::Forest;
use crate::lanes::{Factor, LaneModulus, Lanes};

/// Radix of the last pass over rows: the leaves of a block of that pass.
pub(super) const LAST_RADIX: usize = 8;

/// Calls `$f` with the lanes of half a vector and the radix of the first pass over rows as constants.
macro_rules! with_shape {
    ($f:ident::<$forest:ident, $v:ident, $degree:ident>($($argument:expr),*)) => {
        match ($v::LANES / 2, $forest::TREES.layers) {
            (4, 9) => $f::<$forest, $v, 4, 16, $degree>($($argument),*),
            (4, 8) => $f::<$forest, $v, 4, 8, $degree>($($argument),*),
            (4, _) => $f::<$forest, $v, 4, 4, $degree>($($argument),*),
            (8, 9) => $f::<$forest, $v, 8, 8, $degree>($($argument),*),
            (8, 8) => $f::<$forest, $v, 8, 4, $degree>($($argument),*),
            (8, _) => $f::<$forest, $v, 8, 2, $degree>($($argument),*),
            (_, 9) => $f::<$forest, $v, 16, 4, $degree>($($argument),*),
            (_, 8) => $f::<$forest, $v, 16, 2, $degree>($($argument),*),
            (_, _) => $f::<$forest, $v, 16, 1, $degree>($($argument),*),
        }
    };
}

pub(super) use with_shape;

/// Repeats `$body` for the layers of a pass as constants, so that everything stays in registers.
macro_rules! each_layer {
    (|$layer:ident| $body:expr) => {
        each_layer!(@ $layer, $body, 0, 1, 2, 3)
    };
    (rev |$layer:ident| $body:expr) => {
        each_layer!(@ $layer, $body, 3, 2, 1, 0)
    };
    (@ $layer:ident, $body:expr, $($number:literal),*) => {
        $({
            const $layer: usize = $number;
            $body
        })*
    };
}

/// `M` rows of a vector each, `stride` rows apart.
#[inline(always)]
pub(super) fn load_rows<V: Lanes, const M: usize>(
    x: &[i16],
    first: usize,
    stride: usize,
) -> [V; M] {
    // A loop, because `array::from_fn` is not always compiled into its caller.
    let mut rows = [V::splat(0); M];
    for (i, row) in rows.iter_mut().enumerate() {
        *row = V::load(&x[(first + i * stride) * V::LANES..]);
    }
    rows
}

/// Writes what [`load_rows`] reads.
#[inline(always)]
pub(super) fn store_rows<V: Lanes, const M: usize>(
    rows: [V; M],
    x: &mut [i16],
    first: usize,
    stride: usize,
) {
    for (i, row) in rows.into_iter().enumerate() {
        row.store(&mut x[(first + i * stride) * V::LANES..]);
    }
}

/// The layers of `M` elements of a block, from `skip` on. `root` is the node above them all, at layer `first`.
#[inline(always)]
pub(super) fn forward_layers<F: Forest, V: Lanes, const M: usize, const DEGREE: usize>(
    modulus: &LaneModulus<V>,
    x: &mut [V; M],
    skip: usize,
    first: usize,
    factor: impl Fn(usize) -> Factor<V>,
    root: usize,
) {
    let schedule = const { &ScheduleOf::<F, DEGREE>::SCHEDULE };
    each_layer!(|LAYER| if (skip..M.ilog2() as usize).contains(&LAYER) {
        each_pair::<V, M, LAYER>(x, |block, a, b| {
            let a = if schedule.forward[first + LAYER] { modulus.reduce(a) } else { a };
            let by_one = first == 0 && block == 0 && schedule.forward_by_one[LAYER];
            let b = if by_one { b } else { modulus.mul(b, factor((root << LAYER) + block)) };
            (a.add(b), a.sub(b))
        });
    });
}

/// Undoes [`forward_layers`], but for a factor 2 each.
#[inline(always)]
pub(super) fn inverse_layers<F: Forest, V: Lanes, const M: usize, const DEGREE: usize>(
    modulus: &LaneModulus<V>,
    x: &mut [V; M],
    first: usize,
    factor: impl Fn(usize) -> Factor<V>,
    root: usize,
) {
    let schedule = const { &ScheduleOf::<F, DEGREE>::SCHEDULE };
    each_layer!(
        rev | LAYER
            | if M >> LAYER > 1 {
                let reduce =
                    |x: V| if schedule.inverse[first + LAYER] { modulus.reduce(x) } else { x };
                each_pair::<V, M, LAYER>(x, |block, a, b| {
                    let (sum, difference) = (a.add(b), a.sub(b));
                    let by_one = F::WHOLE && first == 0 && block == 0;
                    let multiplied = if by_one {
                        reduce(difference)
                    } else {
                        modulus.mul(difference, factor((root << LAYER) + block))
                    };
                    (reduce(sum), multiplied)
                });
            }
    );
}

/// Replaces the elements half a block apart, of `2^LAYER` blocks, by what `f` makes of the block's number and them.
#[inline(always)]
fn each_pair<V: Lanes, const M: usize, const LAYER: usize>(
    x: &mut [V; M],
    f: impl Fn(usize, V, V) -> (V, V),
) {
    let distance = (M / 2) >> LAYER;
    for pair in 0..M / 2 {
        let block = pair / distance;
        let i = block * distance + pair;
        (x[i], x[i + distance]) = f(block, x[i], x[i + distance]);
    }
}
