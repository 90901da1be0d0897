//! The coefficients of a plain product beyond the length of its transform, which the transform adds to the lowest ones.
//!
//! They are few, sums of products of the operands' highest coefficients. So a spectrum ends with those of its polynomial, as
//! an operand, or with the wrapped coefficients modulo the moduli of both trees, as a product.

use super::bounds::input_bound;
use super::transform::Input;
use super::tree::Forest;
use crate::lanes::{Factor, Lanes};
use crate::wipe::Scratch;

/// The most coefficients that wrap.
pub(super) const MOST: usize = 32;

/// Room at a spectrum's end: for the wrapped coefficients, modulo one modulus after the other.
const ROOM: usize = 2 * MOST;

/// Writes the highest coefficients of an operand.
#[inline(always)]
pub(super) fn keep<V: Lanes>(input: Input<'_>, end: &mut [i16]) {
    let (kept, copy) = end.split_at_mut(MOST);
    for at in (0..MOST).step_by(V::LANES / 2) {
        input.load_twice::<V>(input.len() - MOST + at).store_halves(&mut kept[at..], &mut copy[at..]);
    }
}

/// Multiplies what [`keep`] wrote for two operands: the wrapped coefficients.
#[inline(always)]
pub(super) fn multiply<F: Forest, V: Lanes, const DEGREE: usize>(a: &mut [i16], b: &[i16]) {
    let modulus = F::modulus::<V>();
    let lazy_products = const { lazy_products::<F>(DEGREE << F::LAYERS) };
    let plain =
        Factor::halves(const { [F::TREES.moduli[0].factor(1 << 16), F::TREES.moduli[1].factor(1 << 16)] });
    let mut factors = Scratch::<i16, [i16; MOST]>::new();
    factors.copy_from_slice(&a[..MOST]);
    // Zeros follow.
    let mut upper = Scratch::<u16, [u16; ROOM]>::new();
    for (upper, &b) in upper.iter_mut().zip(&b[..MOST]) {
        *upper = b as u16;
    }
    let (low, high) = a.split_at_mut(MOST);
    for at in (0..MOST).step_by(V::LANES / 2) {
        let mut sum = V::splat(0);
        for i in at..F::WRAPPED {
            // Of the highest coefficients a_i and b_j, those with i + j = WRAPPED - 1 + k make up wrapped coefficient k.
            let factor = modulus.variable(V::splat(factors[MOST - F::WRAPPED + i]));
            let product = modulus.mul(V::load_twice(&upper[MOST - 1 - i + at..]), factor);
            sum = if i.is_multiple_of(lazy_products) { modulus.reduce(sum) } else { sum }.add(product);
        }
        modulus.mul(sum, plain).store_halves(&mut low[at..], &mut high[at..]);
    }
}

/// How many products a lane holds beside a reduced sum, for operands of transforms of `length` coefficients.
const fn lazy_products<F: Forest>(length: usize) -> usize {
    let input = input_bound(length);
    let (mut fewest, mut tree) = (usize::MAX, 0);
    while tree < 2 {
        let modulus = &F::TREES.moduli[tree];
        let room = i16::MAX as i32 - modulus.reduce_bound(i16::MAX as i32);
        let products = (room / modulus.product_bound(input, input)) as usize;
        fewest = if products < fewest { products } else { fewest };
        tree += 1;
    }
    assert!(fewest > 0);
    fewest
}

/// Takes the wrapped coefficients from the lowest of `length` ones of each tree, and appends them.
#[inline(always)]
pub(super) fn unwrap<F: Forest, V: Lanes>(end: &[i16], length: usize, low: &mut [i16], high: &mut [i16]) {
    for ((modulus, wrapped), residues) in F::TREES.moduli.iter().zip(end.chunks_exact(MOST)).zip([low, high])
    {
        let modulus = modulus.splat::<V>();
        for at in (0..MOST).step_by(V::LANES) {
            let exact = V::load(&residues[at..]).sub(V::load(&wrapped[at..]));
            modulus.reduce(exact).store(&mut residues[at..]);
        }
        residues[length..length + MOST].copy_from_slice(wrapped);
    }
}
