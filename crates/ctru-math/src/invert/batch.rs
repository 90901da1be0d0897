//! Many inversions for one: Montgomery's trick as a product tree, so that all products of a level are independent.
//!
//! Source: Montgomery, "Speeding the Pollard and elliptic curve methods of factorization" (1987), section 10.3.1.

use core::fmt;

use subtle::Choice;

use super::{divsteps, is_nonzero};
use crate::poly::Poly;
use crate::product::residue;
use crate::ring::Ring;

/// The scratch of [`invert_batch`] is shorter than its elements.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ScratchTooShort {
    /// Polynomials needed.
    pub needed: usize,
    /// Polynomials given.
    pub given: usize,
}

impl fmt::Display for ScratchTooShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a batch of {} inversions needs that many scratch polynomials, got {}",
            self.needed, self.given
        )
    }
}

impl core::error::Error for ScratchTooShort {}

/// Replaces every element by its inverse, zero by zero: three products an element and one inversion for all.
///
/// `scratch` takes as many polynomials as there are elements; it needs no particular content and holds secrets after.
/// Constant time: which elements are zero does not show.
///
/// # Errors
/// [`ScratchTooShort`]; then nothing is changed.
pub fn invert_batch<R: Ring>(
    elements: &mut [Poly<R>],
    scratch: &mut [Poly<R>],
) -> Result<(), ScratchTooShort> {
    let count = elements.len();
    if scratch.len() < count {
        return Err(ScratchTooShort { needed: count, given: scratch.len() });
    }
    // A binary heap: node i is the product of nodes 2i and 2i + 1; nodes from `count` on are the elements, the inner
    // nodes 1..count lie in the scratch. Any count makes such a tree.
    if let [single] = elements {
        *single = divsteps::inverse_or_zero(single);
        return Ok(());
    }
    let factor = |scratch: &[Poly<R>], elements: &[Poly<R>], node: usize| match node.checked_sub(count) {
        None => (scratch[node].clone(), Choice::from(1)),
        Some(leaf) => one_if_zero(&elements[leaf]),
    };
    for node in (1..count).rev() {
        let (left, _) = factor(scratch, elements, 2 * node);
        let (right, _) = factor(scratch, elements, 2 * node + 1);
        scratch[node] = residue::mul(&left, &right);
    }
    if count > 0 {
        scratch[1] = divsteps::inverse_or_zero(&scratch[1]);
    }
    for node in 1..count {
        let (left, left_nonzero) = factor(scratch, elements, 2 * node);
        let (right, right_nonzero) = factor(scratch, elements, 2 * node + 1);
        let inverses = [
            (2 * node, zero_unless(left_nonzero, residue::mul(&scratch[node], &right))),
            (2 * node + 1, zero_unless(right_nonzero, residue::mul(&scratch[node], &left))),
        ];
        for (child, inverse) in inverses {
            match child.checked_sub(count) {
                None => scratch[child] = inverse,
                Some(leaf) => elements[leaf] = inverse,
            }
        }
    }
    Ok(())
}

/// `a`, or one if `a` is zero; and whether it was not zero.
fn one_if_zero<R: Ring>(a: &Poly<R>) -> (Poly<R>, Choice) {
    let nonzero = is_nonzero(a);
    let mut factor = a.clone();
    factor.coefficients_mut()[0] |= u16::from((!nonzero).unwrap_u8());
    (factor, nonzero)
}

/// `a`, or zero.
fn zero_unless<R: Ring>(keep: Choice, mut a: Poly<R>) -> Poly<R> {
    let mask = u16::from(keep.unwrap_u8()).wrapping_neg();
    for c in a.coefficients_mut() {
        *c &= mask;
    }
    a
}
