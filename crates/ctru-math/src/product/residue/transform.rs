//! The incomplete NTT modulo one prime: 9 radix-2 layers on `x^N - 1`, leaves `x^3 - zeta` or `x^5 - zeta`.
//!
//! No shuffle inside a vector is needed: the first six layers pair elements that are at least `N/64` apart; then the
//! 64 blocks of `N/64` coefficients are transposed, so that row `i` holds coefficient `i` of every block, and the last
//! three layers and the leaf products pair whole rows.

use super::prime::{COLUMN_LAYERS, LAYERS, MODULI, Prime, ROW, Table};
use crate::lanes::{Factor, Lanes, Modulus};

/// Degree of the leaves where the transform has 2560 points, the larger of the two.
const MAX_LEAF: usize = 5;

/// Transforms `input`, of which only the lower half is read, at most `INPUT_BOUND` in absolute value. `output` holds
/// the leaves in rows of 64; any representatives. `input` is used as scratch.
#[inline(always)]
pub(super) fn forward<V: Lanes>(prime: &Prime, input: &mut [i16], output: &mut [i16]) {
    let Prime { modulus, forward: table, .. } = prime;
    let plain = |a, b, w| butterfly::<V, false>(modulus, a, b, w);
    let reduced = |a, b, w| butterfly::<V, true>(modulus, a, b, w);
    // Layer 0 has the factor 1, and its second operand is 0.
    let (low, high) = input.split_at_mut(input.len() / 2);
    high.copy_from_slice(low);
    for layer in 1..COLUMN_LAYERS {
        column_layer(table, layer, input, plain, reduced);
    }
    transpose(input, input.len() / ROW, output);
    for layer in COLUMN_LAYERS..LAYERS {
        row_layer(table, layer, output, plain, reduced);
    }
}

/// Undoes [`forward`], with the scaling of [`Prime::scale`]: `output` is centred modulo the prime. `input` is used as
/// scratch.
#[inline(always)]
pub(super) fn inverse<V: Lanes>(prime: &Prime, input: &mut [i16], output: &mut [i16]) {
    let Prime { modulus, inverse: table, scale, .. } = prime;
    let plain = |a, b, w| inverse_butterfly::<V, false>(modulus, a, b, w);
    let reduced = |a, b, w| inverse_butterfly::<V, true>(modulus, a, b, w);
    for layer in (COLUMN_LAYERS..LAYERS).rev() {
        row_layer(table, layer, input, plain, reduced);
    }
    transpose(input, ROW, output);
    for layer in (0..COLUMN_LAYERS).rev() {
        column_layer(table, layer, output, plain, reduced);
    }
    for x in output.chunks_exact_mut(V::LANES) {
        modulus.centre(modulus.mul(V::load(x), scale.splat())).store(x);
    }
}

/// `a = a b / 2^16` leaf by leaf, any representatives in and out.
#[inline(always)]
pub(super) fn multiply_leaves<V: Lanes>(prime: &Prime, a: &mut [i16], b: &[i16]) {
    let modulus = &prime.modulus;
    let degree = a.len() >> LAYERS;
    let leaf_rows = a.chunks_exact_mut(degree * ROW).zip(b.chunks_exact(degree * ROW));
    for (leaf, (a, b)) in leaf_rows.enumerate() {
        // Leaves 2j and 2j + 1 are x^d - zeta and x^d + zeta.
        let zeta = &prime.forward.row[ROW_LEAVES - 1 + leaf / 2];
        for column in (0..ROW).step_by(V::LANES) {
            let at = |i: usize| ROW * i + column;
            let zeta = load_factor::<V>(zeta, column);
            let mut left = [V::splat(0); MAX_LEAF];
            let mut right = [modulus.variable(V::splat(0)); MAX_LEAF];
            for i in 0..degree {
                left[i] = modulus.reduce(V::load(&a[at(i)..]));
                right[i] = modulus.variable(modulus.reduce(V::load(&b[at(i)..])));
            }
            for k in 0..degree {
                // At most five summands of at most `mul_bound(reduce_bound)` each: see the assertion below.
                let mut direct = V::splat(0);
                let mut wrapped = V::splat(0);
                for i in 0..degree {
                    if i <= k {
                        direct = direct.add(modulus.mul(left[i], right[k - i]));
                    } else {
                        wrapped = wrapped.add(modulus.mul(left[i], right[k + degree - i]));
                    }
                }
                let wrapped = modulus.mul(wrapped, zeta);
                let sum = if leaf % 2 == 0 { direct.add(wrapped) } else { direct.sub(wrapped) };
                sum.store(&mut a[at(k)..]);
            }
        }
    }
}

/// Rows of factors of the last layer.
const ROW_LEAVES: usize = 1 << (LAYERS - COLUMN_LAYERS - 1);

const _: () = {
    let mut i = 0;
    while i < MODULI.len() {
        let term = MODULI[i].mul_bound(MODULI[i].reduce_bound());
        let mut wrapped_terms = 0;
        while wrapped_terms < MAX_LEAF as i32 {
            let wrapped = if wrapped_terms == 0 { 0 } else { MODULI[i].mul_bound(wrapped_terms * term) };
            assert!((MAX_LEAF as i32 - wrapped_terms) * term + wrapped <= i16::MAX as i32);
            wrapped_terms += 1;
        }
        i += 1;
    }
};

#[inline(always)]
fn load_factor<V: Lanes>(factor: &Factor<[i16; ROW]>, column: usize) -> Factor<V> {
    Factor { value: V::load(&factor.value[column..]), by_inverse: V::load(&factor.by_inverse[column..]) }
}

/// `(a + w b, a - w b)`, of the reduced inputs if `REDUCE`.
#[inline(always)]
fn butterfly<V: Lanes, const REDUCE: bool>(modulus: &Modulus, a: V, b: V, w: Factor<V>) -> (V, V) {
    let (a, b) = if REDUCE { (modulus.reduce(a), modulus.reduce(b)) } else { (a, b) };
    let product = modulus.mul(b, w);
    (a.add(product), a.sub(product))
}

/// `(a + b, w (a - b))`, of the reduced inputs if `REDUCE`.
#[inline(always)]
fn inverse_butterfly<V: Lanes, const REDUCE: bool>(modulus: &Modulus, a: V, b: V, w: Factor<V>) -> (V, V) {
    let (a, b) = if REDUCE { (modulus.reduce(a), modulus.reduce(b)) } else { (a, b) };
    (a.add(b), modulus.mul(a.sub(b), w))
}

/// Butterflies on elements half a block apart, one factor a block: `reduced` where the table says so, or `plain`.
#[inline(always)]
fn column_layer<V: Lanes>(
    table: &Table,
    layer: usize,
    x: &mut [i16],
    plain: impl Fn(V, V, Factor<V>) -> (V, V),
    reduced: impl Fn(V, V, Factor<V>) -> (V, V),
) {
    let blocks = 1 << layer;
    for (block, w) in x.chunks_exact_mut(x.len() / blocks).zip(&table.column[blocks..]) {
        let (low, high) = block.split_at_mut(block.len() / 2);
        if table.reduce[layer] {
            each_pair(low, high, |_, a, b| reduced(a, b, w.splat()));
        } else {
            each_pair(low, high, |_, a, b| plain(a, b, w.splat()));
        }
    }
}

/// Butterflies on rows half a block of rows apart, a factor for each column.
#[inline(always)]
fn row_layer<V: Lanes>(
    table: &Table,
    layer: usize,
    x: &mut [i16],
    plain: impl Fn(V, V, Factor<V>) -> (V, V),
    reduced: impl Fn(V, V, Factor<V>) -> (V, V),
) {
    let blocks = 1 << (layer - COLUMN_LAYERS);
    for (block, w) in x.chunks_exact_mut(x.len() / blocks).zip(&table.row[blocks - 1..]) {
        let (low, high) = block.split_at_mut(block.len() / 2);
        for (low, high) in low.chunks_exact_mut(ROW).zip(high.chunks_exact_mut(ROW)) {
            if table.reduce[layer] {
                each_pair(low, high, |column, a, b| reduced(a, b, load_factor(w, column)));
            } else {
                each_pair(low, high, |column, a, b| plain(a, b, load_factor(w, column)));
            }
        }
    }
}

/// Replaces the vectors of `low` and `high` at each index by what `f` makes of that index and them.
#[inline(always)]
fn each_pair<V: Lanes>(low: &mut [i16], high: &mut [i16], f: impl Fn(usize, V, V) -> (V, V)) {
    for (i, (a, b)) in low.chunks_exact_mut(V::LANES).zip(high.chunks_exact_mut(V::LANES)).enumerate() {
        let (x, y) = f(i * V::LANES, V::load(a), V::load(b));
        x.store(a);
        y.store(b);
    }
}

/// `output[j][i] = input[i][j]` for rows of `columns` elements in `input`; both sides are multiples of 8.
#[inline(always)]
fn transpose(input: &[i16], columns: usize, output: &mut [i16]) {
    let rows = input.len() / columns;
    for i in (0..rows).step_by(8) {
        for j in (0..columns).step_by(8) {
            let mut tile = [[0; 8]; 8];
            for (k, row) in tile.iter_mut().enumerate() {
                row.copy_from_slice(&input[(i + k) * columns + j..][..8]);
            }
            for k in 0..8 {
                let column = tile.map(|row| row[k]);
                output[(j + k) * rows + i..][..8].copy_from_slice(&column);
            }
        }
    }
}
