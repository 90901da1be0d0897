//! Inversion of many elements with one inversion: Montgomery's trick as a product tree.
//!
//! The tree is a binary heap. Leaves hold the elements, and node `i` holds the product of the nodes
//! `2i` and `2i + 1`. The inverse of the root gives the inverses of all nodes on the way down:
//!
//! ```text
//! 1 / left = (1 / node) * right,   1 / right = (1 / node) * left.
//! ```
//!
//! All products of one level are independent. Each element and each product is transformed once, on
//! the way up, and this transform serves again on the way down. A product with a leaf needs two
//! primes only, because leaves are small.
//!
//! Cost: `3 (m - 1)` products and one inversion for `m` elements.
//! Source: P. L. Montgomery, "Speeding the Pollard and elliptic curve methods of factorization",
//! Mathematics of Computation 48, 1987, section 10.3.1.

use core::fmt;

use subtle::Choice;

use super::{Compiled, inverse_or_zero, is_nonzero};
use crate::backend::{self, Backend};
use crate::mul::rns_ntt::{
    Multiply, NttForm, NttPoly2, NttPoly3, RnsRing, Shape, Take, Target, Transform,
};
use crate::poly::{Poly, SmallPoly};
use crate::ring::NtruPrimeRing;
use crate::simd::dispatch_to;

/// Working memory of a batch of inversions: one value per element, wiped when dropped.
pub struct BatchNode<R: RnsRing> {
    /// The NTT form of element `i` of the batch, in value `i`.
    element: NttPoly2<R::Shape>,
    /// The NTT form of the product at inner node `i` of the tree, in value `i`.
    product: NttPoly3<R::Shape>,
    /// The inverse of this product, in value `i`.
    inverse: Poly<R>,
}

impl<R: RnsRing> BatchNode<R> {
    /// Returns a value that is all zeros.
    #[must_use]
    pub fn new() -> Self {
        Self { element: NttPoly2::zero(), product: NttPoly3::zero(), inverse: Poly::zero() }
    }
}

impl<R: RnsRing> Default for BatchNode<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: RnsRing> fmt::Debug for BatchNode<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BatchNode<{:?}>(..)", R::default())
    }
}

/// The error of [`invert_batch`](super::invert_batch) for a slice that is shorter than the batch.
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

/// Does the work of [`invert_batch`](super::invert_batch).
pub(super) fn invert_all<R: Compiled<R>>(
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
        inverses[0] = inverse_or_zero(&Poly::from(*single));
    } else if count > 0 {
        invert_tree(elements, inverses, nodes);
    }
    Ok(())
}

/// Inverts at least two elements. The nodes `1..elements.len()` of the tree are inner nodes. Node
/// `elements.len() + i` is the leaf of element `i`.
fn invert_tree<R: Compiled<R>>(
    elements: &[&SmallPoly<R>],
    inverses: &mut [Poly<R>],
    nodes: &mut [BatchNode<R>],
) {
    let count = elements.len();
    let backend = backend::in_use();
    let mut multiplier = Multiplier { backend, products: [NttPoly3::zero(), NttPoly3::zero()] };
    let mut product = Poly::<R>::zero();
    for (node, element) in nodes.iter_mut().zip(elements) {
        dispatch_to(backend, Transform(&mut node.element, &one_if_zero(element).0.operand()));
    }
    for node in (1..count).rev() {
        multiplier.multiply(
            Factor::of_node(nodes, count, 2 * node),
            Factor::of_node(nodes, count, 2 * node + 1),
            product.target(),
        );
        if node == 1 {
            nodes[1].inverse = inverse_or_zero(&product);
        } else {
            dispatch_to(backend, Transform(&mut nodes[node].product, &product.operand()));
        }
    }
    let mut parent = NttPoly3::zero();
    for node in 1..count {
        let (left, right) = (2 * node, 2 * node + 1);
        let operand = nodes[node].inverse.operand();
        let inverse = if left < count {
            dispatch_to(backend, Transform(&mut parent, &operand));
            Factor::General(&parent)
        } else {
            dispatch_to(backend, Transform(&mut parent.two, &operand));
            Factor::Small(&parent.two)
        };
        for (child, sibling) in [(left, right), (right, left)] {
            let sibling = Factor::of_node(nodes, count, sibling);
            multiplier.multiply(inverse, sibling, product.target());
            match child.checked_sub(count) {
                None => {
                    let inverse = nodes[child].inverse.coefficients_mut();
                    inverse.copy_from_slice(product.coefficients());
                }
                Some(leaf) => {
                    let keep = one_if_zero(elements[leaf]).1;
                    keep_if(keep, product.coefficients(), inverses[leaf].coefficients_mut());
                }
            }
        }
    }
}

/// A factor of a product, in NTT form: `Small` modulo two primes, `General` modulo three. Two
/// primes are enough if one of the two polynomials is small, so `Small` is either a small
/// polynomial or a polynomial that is multiplied by small ones only.
#[derive(Copy, Clone)]
enum Factor<'a, T: Shape> {
    Small(&'a NttPoly2<T>),
    General(&'a NttPoly3<T>),
}

impl<'a, T: Shape> Factor<'a, T> {
    fn of_node<R: RnsRing<Shape = T>>(
        nodes: &'a [BatchNode<R>],
        count: usize,
        node: usize,
    ) -> Self {
        match node.checked_sub(count) {
            None => Self::General(&nodes[node].product),
            Some(leaf) => Self::Small(&nodes[leaf].element),
        }
    }
}

/// Working memory for the products of a tree.
struct Multiplier<T: Shape> {
    backend: Backend,
    products: [NttPoly3<T>; 2],
}

impl<T: Shape> Multiplier<T> {
    fn multiply(&mut self, a: Factor<'_, T>, b: Factor<'_, T>, product: Target<'_>) {
        let Self { backend, products: [form, scratch] } = self;
        match (a, b) {
            (Factor::General(a), Factor::General(b)) => {
                form.copy_from(a);
                dispatch_to(*backend, Multiply(&mut *form, b));
                dispatch_to(*backend, Take { form, scratch, product });
            }
            (Factor::Small(a), Factor::Small(b) | Factor::General(NttPoly3 { two: b, .. }))
            | (Factor::General(NttPoly3 { two: b, .. }), Factor::Small(a)) => {
                let (form, scratch) = (&mut form.two, &mut scratch.two);
                form.copy_from(a);
                dispatch_to(*backend, Multiply(&mut *form, b));
                dispatch_to(*backend, Take { form, scratch, product });
            }
        }
    }
}

/// Returns `a`, or one if `a` is zero, and whether `a` was not zero.
fn one_if_zero<R: NtruPrimeRing>(a: &SmallPoly<R>) -> (SmallPoly<R>, Choice) {
    let nonzero = is_nonzero(a.coefficients().iter().map(|&c| c as u16));
    let mut factor = a.clone();
    factor.coefficients_mut()[0] |= (!nonzero).unwrap_u8() as i8;
    (factor, nonzero)
}

/// Writes `a` to `to` if `keep` is set, or else zeros.
fn keep_if(keep: Choice, a: &[u16], to: &mut [u16]) {
    let mask = u16::from(keep.unwrap_u8()).wrapping_neg();
    for (to, a) in to.iter_mut().zip(a) {
        *to = a & mask;
    }
}
