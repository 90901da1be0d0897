//! Many inversions for one: Montgomery's trick as a product tree, so that all products of a level are independent.
//!
//! Every factor is transformed once, on the way up, and serves again on the way down. Products by elements need two primes
//! only, because elements are small.
//!
//! Source: Montgomery, "Speeding the Pollard and elliptic curve methods of factorization" (1987), section 10.3.1.

use core::fmt;

use subtle::Choice;

use super::is_nonzero;
use crate::backend;
use crate::poly::{Poly, SmallPoly};
use crate::product::residue::{NarrowSpectrum, WideSpectrum};
use crate::ring::Ring;

/// Room for one element of a batch of inversions. It holds secrets after use, and is wiped when dropped.
pub struct BatchNode<R: Ring> {
    /// The element.
    element: NarrowSpectrum<R>,
    /// The product of all elements below the inner node of this index.
    product: WideSpectrum<R>,
    /// The inverse of that product.
    inverse: Poly<R>,
}

impl<R: Ring> BatchNode<R> {
    /// Room.
    #[must_use]
    pub fn new() -> Self {
        Self {
            element: NarrowSpectrum::zero(),
            product: WideSpectrum::zero(),
            inverse: Poly::zero(),
        }
    }
}

impl<R: Ring> Default for BatchNode<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Ring> fmt::Debug for BatchNode<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BatchNode<{:?}>(..)", R::default())
    }
}

/// A slice given to [`invert_batch`] is shorter than its elements.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct BatchTooShort {
    /// Elements of the batch.
    pub needed: usize,
    /// Length of the slice.
    pub given: usize,
}

impl fmt::Display for BatchTooShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a batch of {} inversions needs room for that many, got {}",
            self.needed, self.given
        )
    }
}

impl core::error::Error for BatchTooShort {}

/// Writes the inverse of each element to the start of `inverses`, zero for zero: three products an element and one
/// inversion for all.
///
/// `inverses` and `nodes` take as many values as there are elements; they need no particular content. Constant time:
/// which elements are zero does not show.
///
/// # Errors
/// [`BatchTooShort`]; then nothing is changed.
pub fn invert_batch<R: Ring>(
    elements: &[&SmallPoly<R>],
    inverses: &mut [Poly<R>],
    nodes: &mut [BatchNode<R>],
) -> Result<(), BatchTooShort> {
    R::invert_batch(elements, inverses, nodes)
}

pub(crate) fn invert_all<R: Ring>(
    elements: &[&SmallPoly<R>],
    inverses: &mut [Poly<R>],
    nodes: &mut [BatchNode<R>],
) -> Result<(), BatchTooShort> {
    let count = elements.len();
    for given in [inverses.len(), nodes.len()] {
        if given < count {
            return Err(BatchTooShort { needed: count, given });
        }
    }
    if let [single] = elements {
        inverses[0] = R::inverse_or_zero(&Poly::from(*single));
    } else if count > 0 {
        Tree { nodes, count, work: [WideSpectrum::zero(), WideSpectrum::zero()] }
            .invert(elements, inverses);
    }
    Ok(())
}

/// A binary heap: node `i` is the product of nodes `2i` and `2i + 1`; nodes from `count` on are the elements. Any count
/// of at least 2 makes such a tree.
struct Tree<'a, R: Ring> {
    nodes: &'a mut [BatchNode<R>],
    count: usize,
    work: [WideSpectrum<R>; 2],
}

/// What is multiplied. If one factor is narrow, one of the two is small.
#[derive(Copy, Clone)]
enum Factor<'a, R: Ring> {
    Narrow(&'a NarrowSpectrum<R>),
    Wide(&'a WideSpectrum<R>),
}

impl<R: Ring> Tree<'_, R> {
    fn invert(&mut self, elements: &[&SmallPoly<R>], inverses: &mut [Poly<R>]) {
        let (backend, count) = (backend::in_use(), self.count);
        for (node, element) in self.nodes.iter_mut().zip(elements) {
            node.element.transform_small(backend, &one_if_zero(element).0);
        }
        for node in (1..count).rev() {
            let [left, right] =
                [2 * node, 2 * node + 1].map(|child| factor(self.nodes, count, child));
            let product = multiply(left, right, &mut self.work);
            if node == 1 {
                self.nodes[1].inverse = R::inverse_or_zero(&product);
            } else {
                self.nodes[node].product.transform(backend, &product);
            }
        }
        let mut parent = WideSpectrum::zero();
        for node in 1..count {
            let children = [2 * node, 2 * node + 1];
            let inverse = if children[0] < count {
                parent.transform(backend, &self.nodes[node].inverse);
                Factor::Wide(&parent)
            } else {
                parent.narrow.transform_poly(backend, &self.nodes[node].inverse);
                Factor::Narrow(&parent.narrow)
            };
            for (child, sibling) in [(children[0], children[1]), (children[1], children[0])] {
                let of_child =
                    multiply(inverse, factor(self.nodes, count, sibling), &mut self.work);
                match child.checked_sub(count) {
                    None => self.nodes[child].inverse = of_child,
                    Some(leaf) => {
                        inverses[leaf] = zero_unless(one_if_zero(elements[leaf]).1, of_child);
                    }
                }
            }
        }
    }
}

fn factor<R: Ring>(nodes: &[BatchNode<R>], count: usize, node: usize) -> Factor<'_, R> {
    match node.checked_sub(count) {
        None => Factor::Wide(&nodes[node].product),
        Some(leaf) => Factor::Narrow(&nodes[leaf].element),
    }
}

fn multiply<R: Ring>(
    a: Factor<'_, R>,
    b: Factor<'_, R>,
    work: &mut [WideSpectrum<R>; 2],
) -> Poly<R> {
    let [product, scratch] = work;
    match (a, b) {
        (Factor::Wide(a), Factor::Wide(b)) => {
            product.copy_from(a);
            product.multiply(b);
            product.take_poly(scratch)
        }
        (Factor::Narrow(narrow), Factor::Narrow(other))
        | (Factor::Narrow(narrow), Factor::Wide(WideSpectrum { narrow: other, .. }))
        | (Factor::Wide(WideSpectrum { narrow: other, .. }), Factor::Narrow(narrow)) => {
            product.narrow.copy_from(narrow);
            product.narrow.multiply(other);
            product.narrow.take_poly(&mut scratch.narrow)
        }
    }
}

/// `a`, or one if `a` is zero; and whether it was not zero.
fn one_if_zero<R: Ring>(a: &SmallPoly<R>) -> (SmallPoly<R>, Choice) {
    let nonzero = is_nonzero(a.coefficients().iter().map(|&c| c as u16));
    let mut factor = a.clone();
    factor.coefficients_mut()[0] |= (!nonzero).unwrap_u8() as i8;
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
