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
use crate::mul::rns_ntt::{Multiply, NttForm, NttPoly2, NttPoly3, RnsRing, Take, Transform};
use crate::poly::{Poly, SmallPoly};
use crate::ring::NtruPrimeRing;
use crate::simd::{Simd, WithSimd, dispatch};

/// Working memory of a batch of inversions: one value per element, wiped when dropped.
pub struct BatchNode<R: RnsRing> {
    /// The NTT form of element `i` of the batch, in value `i`.
    element: NttPoly2<R>,
    /// The NTT form of the product at inner node `i` of the tree, in value `i`.
    product: NttPoly3<R>,
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
        dispatch(InvertTree { elements, inverses, nodes });
    }
    Ok(())
}

/// The work of a batch of at least two elements. The nodes `1..elements.len()` of the tree are
/// inner nodes. Node `elements.len() + i` is the leaf of element `i`.
struct InvertTree<'a, R: RnsRing> {
    elements: &'a [&'a SmallPoly<R>],
    inverses: &'a mut [Poly<R>],
    nodes: &'a mut [BatchNode<R>],
}

impl<R: Compiled<R>> WithSimd for InvertTree<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { elements, inverses, nodes } = self;
        let count = elements.len();
        let mut multiplier = Multiplier { simd, products: [NttPoly3::zero(), NttPoly3::zero()] };
        for (node, element) in nodes.iter_mut().zip(elements) {
            simd.vectorize(Transform(&mut node.element, &one_if_zero(element).0));
        }
        for node in (1..count).rev() {
            let product = multiplier.multiply(
                Factor::of_node(nodes, count, 2 * node),
                Factor::of_node(nodes, count, 2 * node + 1),
            );
            if node == 1 {
                nodes[1].inverse = inverse_or_zero(&product);
            } else {
                simd.vectorize(Transform(&mut nodes[node].product, &product));
            }
        }
        let mut parent = NttPoly3::zero();
        for node in 1..count {
            let (left, right) = (2 * node, 2 * node + 1);
            let inverse = if left < count {
                simd.vectorize(Transform(&mut parent, &nodes[node].inverse));
                Factor::General(&parent)
            } else {
                simd.vectorize(Transform(&mut parent.two, &nodes[node].inverse));
                Factor::Small(&parent.two)
            };
            for (child, sibling) in [(left, right), (right, left)] {
                let product = multiplier.multiply(inverse, Factor::of_node(nodes, count, sibling));
                match child.checked_sub(count) {
                    None => nodes[child].inverse = product,
                    Some(leaf) => {
                        inverses[leaf] = zero_unless(one_if_zero(elements[leaf]).1, product);
                    }
                }
            }
        }
    }
}

/// A factor of a product, in NTT form: `Small` modulo two primes, `General` modulo three. Two
/// primes are enough if one of the two polynomials is small, so `Small` is either a small
/// polynomial or a polynomial that is multiplied by small ones only.
#[derive(Copy, Clone)]
enum Factor<'a, R: RnsRing> {
    Small(&'a NttPoly2<R>),
    General(&'a NttPoly3<R>),
}

impl<'a, R: RnsRing> Factor<'a, R> {
    fn of_node(nodes: &'a [BatchNode<R>], count: usize, node: usize) -> Self {
        match node.checked_sub(count) {
            None => Self::General(&nodes[node].product),
            Some(leaf) => Self::Small(&nodes[leaf].element),
        }
    }
}

/// Working memory for the products of a tree.
struct Multiplier<S, R: RnsRing> {
    simd: S,
    products: [NttPoly3<R>; 2],
}

impl<S: Simd, R: RnsRing> Multiplier<S, R> {
    fn multiply(&mut self, a: Factor<'_, R>, b: Factor<'_, R>) -> Poly<R> {
        let (simd, [product, scratch]) = (self.simd, &mut self.products);
        match (a, b) {
            (Factor::General(a), Factor::General(b)) => {
                product.copy_from(a);
                simd.vectorize(Multiply(&mut *product, b));
                simd.vectorize(Take(product, scratch))
            }
            (Factor::Small(a), Factor::Small(b) | Factor::General(NttPoly3 { two: b, .. }))
            | (Factor::General(NttPoly3 { two: b, .. }), Factor::Small(a)) => {
                product.two.copy_from(a);
                simd.vectorize(Multiply(&mut product.two, b));
                simd.vectorize(Take(&mut product.two, &mut scratch.two))
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

/// Returns `a` if `keep` is set, or else zero.
fn zero_unless<R: NtruPrimeRing>(keep: Choice, mut a: Poly<R>) -> Poly<R> {
    let mask = u16::from(keep.unwrap_u8()).wrapping_neg();
    for c in a.coefficients_mut() {
        *c &= mask;
    }
    a
}
