//! The coefficients of a plain product beyond the length of its transform, which the transform adds to the lowest ones.
//!
//! They are few, sums of products of the operands' highest coefficients. So a spectrum ends with those of its polynomial, as
//! an operand, or with the wrapped coefficients modulo the moduli of both trees, as a product.

use super::bounds::input_bound;
use super::transform::Input;
use super::tree::Forest;
use crate::lanes::Lanes;
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
        input
            .load_twice::<V>(input.len() - MOST + at)
            .store_halves(&mut kept[at..], &mut copy[at..]);
    }
}

/// Multiplies what [`keep`] wrote for two operands: the wrapped coefficients.
#[inline(always)]
pub(super) fn multiply<F: Forest, V: Lanes, const DEGREE: usize>(a: &mut [i16], b: &[i16]) {
    const {
        let input = input_bound(DEGREE << F::LAYERS);
        assert!((F::WRAPPED as i32).checked_mul(input * input).is_some());
    }
    let plain = const { [F::TREES.moduli[0].factor(1 << 16), F::TREES.moduli[1].factor(1 << 16)] };
    let mut left = Scratch::<i16, [i16; MOST]>::new();
    left.copy_from_slice(&a[..MOST]);
    // Zeros follow.
    let mut right = Scratch::<i16, [i16; ROOM]>::new();
    right[..MOST].copy_from_slice(&b[..MOST]);
    let (low, high) = a.split_at_mut(MOST);
    for at in (0..MOST).step_by(V::LANES) {
        // Of the highest coefficients a_i and b_j, those with i + j = 2 MOST - 1 - WRAPPED + k make up wrapped coefficient k. The
        // first i of a pair may be one for which all b_j are zeros.
        let mut sums = V::no_sums();
        for i in ((MOST - F::WRAPPED + at) / 2 * 2..MOST).step_by(2) {
            let j = 2 * MOST - 1 - F::WRAPPED - i + at;
            let factors = [V::load(&right[j..]), V::load(&right[j - 1..])];
            sums = V::add_products(sums, [V::splat(left[i]), V::splat(left[i + 1])], factors);
        }
        for ((modulus, plain), wrapped) in
            F::TREES.moduli.iter().zip(plain).zip([&mut *low, &mut *high])
        {
            let modulus = modulus.splat::<V>();
            modulus.mul(modulus.reduce_sums(sums), plain.splat()).store(&mut wrapped[at..]);
        }
    }
}

/// Takes the wrapped coefficients from the lowest of `length` ones of each tree, and appends them.
#[inline(always)]
pub(super) fn unwrap<F: Forest, V: Lanes>(
    end: &[i16],
    length: usize,
    low: &mut [i16],
    high: &mut [i16],
) {
    for ((modulus, wrapped), residues) in
        F::TREES.moduli.iter().zip(end.chunks_exact(MOST)).zip([low, high])
    {
        let modulus = modulus.splat::<V>();
        for at in (0..MOST).step_by(V::LANES) {
            let exact = V::load(&residues[at..]).sub(V::load(&wrapped[at..]));
            modulus.reduce(exact).store(&mut residues[at..]);
        }
        residues[length..length + MOST].copy_from_slice(wrapped);
    }
}
