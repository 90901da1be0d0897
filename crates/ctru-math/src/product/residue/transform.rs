//! The incomplete NTT on two trees side by side: radix-2 layers on `x^N - 1`, leaves `x^3 - zeta` or `x^5 - zeta`.
//!
//! Each half of a vector belongs to a tree of its own, of `B` lanes. The first `log2(B)` layers pair coefficients that are
//! at least `N/B` apart. They are done on `B` vectors in registers, which are then transposed, so that row `i` holds
//! coefficient `i` of all `B` blocks, and the other layers and the products of leaves pair whole rows.

use super::layers::{LAST_RADIX, forward_layers, inverse_layers, load_rows, store_rows, with_shape};
use super::tree::{Forest, Tables};
use crate::array::Element;
use crate::lanes::{Factor, Lanes};
use crate::wipe::Scratch;

/// The coefficients of a polynomial, at most `N/2` of them; zeros follow. Centred, they are at most `INPUT_BOUND` in absolute
/// value.
#[derive(Copy, Clone)]
pub(super) enum Input<'a> {
    /// Canonical modulo a number, or centred and taken modulo 2^16 if that is 0.
    Canonical(&'a [u16], u32),
    /// Centred.
    Centred(&'a [i8]),
}

impl Input<'_> {
    /// The modulus to centre by.
    fn modulus(self) -> u32 {
        match self {
            Self::Canonical(_, modulus) => modulus,
            Self::Centred(_) => 0,
        }
    }

    /// The coefficients from that of `x^at` on, half a vector of them, in both halves.
    #[inline(always)]
    fn load_twice<V: Lanes>(self, at: usize) -> V {
        match self {
            Self::Canonical(c, _) if at + V::LANES / 2 <= c.len() => V::load_twice(&c[at..]),
            Self::Canonical(c, _) => V::load_twice(&last(c, at)),
            Self::Centred(c) if at + V::LANES / 2 <= c.len() => V::load_twice_bytes(&c[at..]),
            Self::Centred(c) => V::load_twice_bytes(&last(c, at)),
        }
    }
}

/// What is left of `c` from `at` on, fewer than 16 elements, and zeros.
#[cold]
fn last<T: Element>(c: &[T], at: usize) -> Scratch<T, [T; 16]> {
    let mut last = Scratch::<T, [T; 16]>::new();
    for (last, &c) in last.iter_mut().zip(&c[at.min(c.len())..]) {
        *last = c;
    }
    last
}

/// Transforms the polynomial of the coefficients `input`. `rows` takes the leaves; any representatives.
#[inline(always)]
pub(super) fn forward<F: Forest, V: Lanes, const DEGREE: usize>(input: Input<'_>, rows: &mut [i16]) {
    with_shape!(forward_passes::<F, V, DEGREE>(input, rows));
}

/// Undoes [`forward`] on a product: `low` and `high` are the polynomials of the two trees, coefficients less than the prime
/// in absolute value. `rows` is used as scratch.
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
    assert!(rows.len() == block * V::LANES);
    let (q, half) = (V::splat(input.modulus() as i16), V::splat((input.modulus() / 2) as i16));
    for group in 0..block / B {
        let mut x = [V::splat(0); B];
        let read = if F::WHOLE { B / 2 } else { B };
        for (j, x) in x[..read].iter_mut().enumerate() {
            let c = input.load_twice::<V>(j * block + group * B);
            *x = c.sub(half.sub(c).shift_right::<15>().and(q));
        }
        // Layer 0 of a whole tree: its second operand is 0.
        for j in read..B {
            x[j] = x[j - read];
        }
        forward_layers::<F, V, B>(&modulus, &mut x, F::WHOLE as usize, 0, |node| table.column(node), 1);
        V::transpose(&mut x);
        store_rows(x, rows, group * B, 1);
    }
    let stride = LAST_RADIX * DEGREE;
    for first in 0..stride {
        let mut x = load_rows::<V, RADIX>(rows, first, stride);
        forward_layers::<F, V, RADIX>(&modulus, &mut x, 0, layers, |node| table.row(node), 1);
        store_rows(x, rows, first, stride);
    }
    let layers = layers + RADIX.ilog2() as usize;
    for block in 0..RADIX {
        for first in block * stride..block * stride + DEGREE {
            let mut x = load_rows::<V, LAST_RADIX>(rows, first, DEGREE);
            let root = RADIX + block;
            forward_layers::<F, V, LAST_RADIX>(&modulus, &mut x, 0, layers, |node| table.row(node), root);
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
    assert!(rows.len() == block * V::LANES && low.len() == block * B && high.len() == block * B);
    let stride = LAST_RADIX * DEGREE;
    let layers = (B * RADIX).ilog2() as usize;
    for block in 0..RADIX {
        for first in block * stride..block * stride + DEGREE {
            let mut x = load_rows::<V, LAST_RADIX>(rows, first, DEGREE);
            let root = RADIX + block;
            inverse_layers::<F, V, LAST_RADIX>(&modulus, &mut x, layers, |node| table.row(node), root);
            store_rows(x, rows, first, DEGREE);
        }
    }
    let layers = B.ilog2() as usize;
    for first in 0..stride {
        let mut x = load_rows::<V, RADIX>(rows, first, stride);
        inverse_layers::<F, V, RADIX>(&modulus, &mut x, layers, |node| table.row(node), 1);
        store_rows(x, rows, first, stride);
    }
    let scale = Factor::halves(const { F::TREES.scale });
    for group in 0..block / B {
        let mut x = load_rows::<V, B>(rows, group * B, 1);
        V::transpose(&mut x);
        inverse_layers::<F, V, B>(&modulus, &mut x, 0, |node| table.column(node), 1);
        for (j, x) in x.into_iter().enumerate() {
            let at = j * block + group * B;
            modulus.mul(x, scale).store_halves(&mut low[at..], &mut high[at..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::{Checked, Portable};
    use crate::product::residue::bounds::INPUT_BOUND;
    use crate::product::residue::leaf::multiply;
    use crate::product::residue::tree::TwoPrimes;

    const DEGREE: usize = 5;
    const N: usize = 512 * DEGREE;

    /// The residues of the plain product modulo both primes.
    fn residues<V: Lanes>(a: &[i16; N / 2], b: &[i16; N / 2]) -> [[i16; N]; 2] {
        let (mut left, mut right) = ([0; 2 * N], [0; 2 * N]);
        forward::<TwoPrimes, V, DEGREE>(Input::Canonical(&a.map(|c| c as u16), 0), &mut left);
        forward::<TwoPrimes, V, DEGREE>(Input::Canonical(&b.map(|c| c as u16), 0), &mut right);
        multiply::<TwoPrimes, V, DEGREE>(&mut left, &right);
        let [mut low, mut high] = [[0; N]; 2];
        inverse::<TwoPrimes, V, DEGREE>(&mut left, &mut low, &mut high);
        [low, high]
    }

    /// Operands of coefficients at both ends of what a transform takes, with signs in runs of every length, and at random:
    /// no sum leaves 16 bits, and the residues are those of the definition.
    #[test]
    fn lazy_sums_of_extremes_fit() {
        let end = INPUT_BOUND as i16;
        let runs =
            |length: usize| core::array::from_fn(|i| if (i / length).is_multiple_of(2) { end } else { -end });
        let mut state = 1u32;
        let mut random = || {
            core::array::from_fn(|_| {
                state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
                if state >> 31 == 0 { end } else { -end }
            })
        };
        let inputs: [[i16; N / 2]; 12] = [
            runs(N),
            runs(1),
            runs(2),
            runs(3),
            runs(DEGREE),
            runs(N / 64),
            runs(N / 32),
            runs(N / 8),
            runs(N / 4),
            random(),
            random(),
            random(),
        ];
        for (i, a) in inputs.iter().enumerate() {
            let b = &inputs[(5 * i + 1) % inputs.len()];
            let residues = residues::<Checked>(a, b);
            assert_eq!(residues, self::residues::<Portable>(a, b));
            for k in [0, 1, N / 2 - 1, N / 2, N - 3, N - 2] {
                let terms = (0..N / 2).filter(|i| (k + 1).saturating_sub(N / 2) <= *i && *i <= k);
                let exact: i64 = terms.map(|i| i64::from(a[i]) * i64::from(b[k - i])).sum();
                for (modulus, residues) in TwoPrimes::TREES.moduli.iter().zip(residues) {
                    assert_eq!((exact - i64::from(residues[k])) % i64::from(modulus.m), 0);
                }
            }
        }
    }
}
