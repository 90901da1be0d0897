//! Inversion of many elements modulo 3 with one inversion, by the product tree of the
//! [inversion modulo `q`](crate::invert).
//!
//! A product has an inverse if both factors do. Where a node of the tree has none, its children are
//! inverted instead, so the elements without an inverse are found by halving.

use super::{Compiled, invert, mul};
use crate::poly::SmallPoly;

/// Replaces each element by its inverse, or by zero if it has none.
///
/// The elements are the second half of `nodes`; the first half is room, with any content. The time
/// depends only on which elements have no inverse.
///
/// Cost: `3 (m - 1)` products and one inversion for `m` elements that have inverses.
///
/// # Panics
/// If the number of nodes is odd.
pub fn invert_batch<R: Compiled<R>>(nodes: &mut [SmallPoly<R>]) {
    assert!(nodes.len().is_multiple_of(2));
    for node in (1..nodes.len() / 2).rev() {
        nodes[node] = mul(&nodes[2 * node], &nodes[2 * node + 1]);
    }
    if nodes.len() > 1 {
        invert_node(nodes, 1, false);
    }
}

/// Inverts the elements below a node, which is a product or, if the inverse is known, its inverse.
fn invert_node<R: Compiled<R>>(nodes: &mut [SmallPoly<R>], node: usize, mut is_inverse: bool) {
    let is_leaf = node >= nodes.len() / 2;
    if !is_inverse {
        let inverse = invert(&nodes[node]).into_option();
        is_inverse = inverse.is_some();
        if is_inverse || is_leaf {
            nodes[node] = inverse.unwrap_or_else(SmallPoly::zero);
        }
    }
    if is_leaf {
        return;
    }
    let (left, right) = (2 * node, 2 * node + 1);
    if is_inverse {
        (nodes[left], nodes[right]) =
            (mul(&nodes[node], &nodes[right]), mul(&nodes[node], &nodes[left]));
    }
    invert_node(nodes, left, is_inverse);
    invert_node(nodes, right, is_inverse);
}
