//! The incomplete NTT on two trees side by side: radix-2 layers on `x^N - 1`, leaves `x^3 - zeta` or `x^5 - zeta`.
//!
//! Each half of a vector belongs to a tree of its own, of `B` lanes. The first `log2(B)` layers pair coefficients that are
//! at least `N/B` apart. They are done on `B` vectors in registers, which are then transposed, so that row `i` holds
//! coefficient `i` of all `B` blocks, and the other layers and the products of leaves pair whole rows.

use super::layers::{
    LAST_RADIX, forward_layers, inverse_layers, load_rows, store_rows, with_shape,
};
use super::tree::{Forest, Tables};
use super::wrap;
use crate::array::Element;
use crate::lanes::Lanes;
use crate::wipe::Scratch;

/// The coefficients of a polynomial, not many more than `N/2`; zeros follow. Centred, they are at most `input_bound` in absolute
/// value.
#[derive(Copy, Clone)]
pub(super) enum Input<'a> {
    /// Canonical modulo a number, or centred and taken modulo 2^16 if that is 0.
    Canonical(&'a [u16], u32),
    /// Centred.
    Centred(&'a [i8]),
}

impl Input<'_> {
    /// How many coefficients there are.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Canonical(c, _) => c.len(),
            Self::Centred(c) => c.len(),
        }
    }

    /// The coefficients from that of `x^at` on, centred, half a vector of them, in both halves.
    #[inline(always)]
    pub(super) fn load_twice<V: Lanes>(self, at: usize) -> V {
        match self {
            Self::Canonical(c, modulus) => {
                let (modulus, half) = (V::splat(modulus as i16), V::splat((modulus / 2) as i16));
                let whole = at + V::LANES / 2 <= c.len();
                let c = if whole { V::load_twice(&c[at..]) } else { V::load_twice(&last(c, at)) };
                c.sub(half.sub(c).shift_right::<15>().and(modulus))
            }
            Self::Centred(c) if at + V::LANES / 2 <= c.len() => V::load_twice_bytes(&c[at..]),
            Self::Centred(c) => V::load_twice_bytes(&last(c, at)),
        }
    }
}

/// What is left of `c` from `at` on, fewer than 16 elements, and zeros. Out of the way of the loops, as it is rarely needed.
#[cold]
#[inline(never)]
fn last<T: Element>(c: &[T], at: usize) -> Scratch<T, [T; 16]> {
    let mut last = Scratch::<T, [T; 16]>::new();
    for (last, &c) in last.iter_mut().zip(&c[at.min(c.len())..]) {
        *last = c;
    }
    last
}

/// Transforms the polynomial of the coefficients `input`. `rows` takes the leaves, any representatives, and, if
/// coefficients of products wrap, what is needed to know them.
#[inline(always)]
pub(super) fn forward<F: Forest, V: Lanes, const DEGREE: usize>(
    input: Input<'_>,
    rows: &mut [i16],
) {
    with_shape!(forward_passes::<F, V, DEGREE>(input, rows));
}

/// Undoes [`forward`] on a product of leaves: `low` and `high` are the polynomials of the two trees, coefficients at most
/// `OUTPUT_BOUND` in absolute value. `rows` is used as scratch.
#[inline(always)]
pub(super) fn inverse<F: Forest, V: Lanes, const DEGREE: usize>(
    rows: &mut [i16],
    low: &mut [i16],
    high: &mut [i16],
) {
    with_shape!(inverse_passes::<F, V, DEGREE>(rows, low, high));
}

#[inline(always)]
fn forward_passes<F: Forest, V: Lanes, const B: usize, const RADIX: usize, const DEGREE: usize>(
    input: Input<'_>,
    rows: &mut [i16],
) {
    let modulus = F::modulus::<V>();
    let table = Tables::<F, V>::FORWARD;
    let layers = B.ilog2() as usize;
    let block = LAST_RADIX * RADIX * DEGREE;
    let (rows, end) = rows.split_at_mut(block * V::LANES);
    if F::WRAPPED > 0 {
        wrap::keep::<V>(input, end);
    }
    let read = if F::WHOLE { B / 2 } else { B };
    assert!(input.len() <= read * block + if F::WRAPPED > 0 { block } else { 0 });
    for column in (0..block).step_by(B) {
        // The last columns may overlap those before.
        let column = column.min(block - B);
        let mut x = [V::splat(0); B];
        for (j, x) in x[..read].iter_mut().enumerate() {
            *x = input.load_twice::<V>(j * block + column);
        }
        // Layer 0 of a whole tree: most of its second operands are 0.
        for j in read..B {
            x[j] = x[j - read];
        }
        let upper = read * block + column;
        if F::WRAPPED > 0 && upper < input.len() {
            let c = input.load_twice::<V>(upper);
            if F::WHOLE {
                x[read] = x[read].sub(c);
                x[0] = x[0].add(c);
            } else {
                // The second tree starts at x^(N/2) + 1.
                let sign = V::halves(0, -1);
                x[0] = x[0].add(c.xor(sign).sub(sign));
            }
        }
        forward_layers::<F, V, B, DEGREE>(
            &modulus,
            &mut x,
            F::WHOLE as usize,
            0,
            |node| table.column(node),
            1,
        );
        V::transpose(&mut x);
        store_rows(x, rows, column, 1);
    }
    let stride = LAST_RADIX * DEGREE;
    for first in 0..stride {
        let mut x = load_rows::<V, RADIX>(rows, first, stride);
        forward_layers::<F, V, RADIX, DEGREE>(
            &modulus,
            &mut x,
            0,
            layers,
            |node| table.row(node),
            1,
        );
        store_rows(x, rows, first, stride);
    }
    let layers = layers + RADIX.ilog2() as usize;
    for block in 0..RADIX {
        for first in block * stride..block * stride + DEGREE {
            let mut x = load_rows::<V, LAST_RADIX>(rows, first, DEGREE);
            let root = RADIX + block;
            forward_layers::<F, V, LAST_RADIX, DEGREE>(
                &modulus,
                &mut x,
                0,
                layers,
                |node| table.row(node),
                root,
            );
            store_rows(x, rows, first, DEGREE);
        }
    }
}

#[inline(always)]
fn inverse_passes<F: Forest, V: Lanes, const B: usize, const RADIX: usize, const DEGREE: usize>(
    rows: &mut [i16],
    low: &mut [i16],
    high: &mut [i16],
) {
    let modulus = F::modulus::<V>();
    let table = Tables::<F, V>::INVERSE;
    let block = LAST_RADIX * RADIX * DEGREE;
    let (rows, end) = rows.split_at_mut(block * V::LANES);
    assert!(low.len() >= block * B && high.len() >= block * B);
    let stride = LAST_RADIX * DEGREE;
    let layers = (B * RADIX).ilog2() as usize;
    for block in 0..RADIX {
        for first in block * stride..block * stride + DEGREE {
            let mut x = load_rows::<V, LAST_RADIX>(rows, first, DEGREE);
            let root = RADIX + block;
            inverse_layers::<F, V, LAST_RADIX, DEGREE>(
                &modulus,
                &mut x,
                layers,
                |node| table.row(node),
                root,
            );
            store_rows(x, rows, first, DEGREE);
        }
    }
    let layers = B.ilog2() as usize;
    for first in 0..stride {
        let mut x = load_rows::<V, RADIX>(rows, first, stride);
        inverse_layers::<F, V, RADIX, DEGREE>(&modulus, &mut x, layers, |node| table.row(node), 1);
        store_rows(x, rows, first, stride);
    }
    for column in (0..block).step_by(B) {
        // The last columns may overlap those before.
        let column = column.min(block - B);
        let mut x = load_rows::<V, B>(rows, column, 1);
        V::transpose(&mut x);
        inverse_layers::<F, V, B, DEGREE>(&modulus, &mut x, 0, |node| table.column(node), 1);
        let (mut low, mut high) = (low.chunks_exact_mut(block), high.chunks_exact_mut(block));
        // Not by `zip`, which divides to know how many there are.
        for x in x {
            let (Some(low), Some(high)) = (low.next(), high.next()) else { break };
            x.store_halves(&mut low[column..], &mut high[column..]);
        }
    }
    if F::WRAPPED > 0 {
        wrap::unwrap::<F, V>(end, block * B, low, high);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec;
    use std::vec::Vec;

    use super::*;
    use crate::lanes::{Checked, Portable};
    use crate::product::residue::bounds::{OUTPUT_BOUND, input_bound};
    use crate::product::residue::leaf::multiply;
    use crate::product::residue::tree::{OfShape, ThirdPrime, TwoPrimes};

    /// The residues of the plain product of two polynomials.
    fn residues<F: Forest, V: Lanes, const DEGREE: usize>(a: &[i16], b: &[i16]) -> [Vec<i16>; 2] {
        // Of each of the two trees.
        let room = ((DEGREE << F::LAYERS) + if F::WRAPPED > 0 { 2 * wrap::MOST } else { 0 })
            >> (F::LAYERS - F::TREES.layers);
        let words = |x: &[i16]| x.iter().map(|&c| c as u16).collect::<Vec<_>>();
        let (mut left, mut right) = (vec![0; 2 * room], vec![0; 2 * room]);
        forward::<F, V, DEGREE>(Input::Canonical(&words(a), 0), &mut left);
        forward::<F, V, DEGREE>(Input::Canonical(&words(b), 0), &mut right);
        multiply::<F, V, DEGREE>(&mut left, &right);
        let (mut low, mut high) = (vec![0; room], vec![0; room]);
        inverse::<F, V, DEGREE>(&mut left, &mut low, &mut high);
        [low, high]
    }

    /// Operands of `n` coefficients at both ends of what a transform takes, with signs in runs of every length, and at random:
    /// no sum leaves 16 bits, and the residues of whole trees are those of the definition.
    fn check_extremes<F: Forest, const DEGREE: usize>(n: usize) {
        let end = input_bound(DEGREE << F::LAYERS) as i16;
        let runs = |length: usize| {
            (0..n)
                .map(|i| if (i / length).is_multiple_of(2) { end } else { -end })
                .collect::<Vec<_>>()
        };
        let mut state = 1u32;
        let mut random = || {
            let mut coefficient = || {
                state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
                if state >> 31 == 0 { end } else { -end }
            };
            (0..n).map(|_| coefficient()).collect::<Vec<_>>()
        };
        let lengths = [n, 1, 2, 3, DEGREE, n / 32, n / 16, n / 4, n / 2, (DEGREE << F::LAYERS) / 2];
        let mut inputs: Vec<_> = lengths.into_iter().map(runs).collect();
        inputs.extend([random(), random(), random()]);
        for (i, a) in inputs.iter().enumerate() {
            let b = &inputs[(5 * i + 1) % inputs.len()];
            let residues = residues::<F, Checked, DEGREE>(a, b);
            assert_eq!(residues, self::residues::<F, Portable, DEGREE>(a, b));
            assert!(
                residues.iter().flatten().all(|&residue| i32::from(residue).abs() <= OUTPUT_BOUND)
            );
            if !F::WHOLE {
                continue;
            }
            for k in [0, 1, 24, 25, n / 2, n - 1, n, 2 * n - 27, 2 * n - 26, 2 * n - 3, 2 * n - 2] {
                let terms = (0..n).filter(|i| (k + 1).saturating_sub(n) <= *i && *i <= k);
                let exact: i64 = terms.map(|i| i64::from(a[i]) * i64::from(b[k - i])).sum();
                for (modulus, residues) in F::TREES.moduli.iter().zip(&residues) {
                    assert_eq!((exact - i64::from(residues[k])) % i64::from(modulus.m), 0);
                }
            }
        }
    }

    #[test]
    fn lazy_sums_of_extremes_fit() {
        check_extremes::<OfShape<TwoPrimes, 8, 25>, 5>(653);
        check_extremes::<OfShape<TwoPrimes, 9, 0>, 3>(768);
        check_extremes::<OfShape<TwoPrimes, 9, 0>, 5>(1280);
        check_extremes::<OfShape<ThirdPrime, 8, 25>, 5>(653);
        check_extremes::<OfShape<ThirdPrime, 9, 0>, 3>(768);
        check_extremes::<OfShape<ThirdPrime, 9, 0>, 5>(1280);
    }
}
