//! A product tree for inversion in batches, from the leaves to the roots: products of two neighbours, one warp each.
//!
//! Node `i` of a level has the children `2 i` and `2 i + 1` of the level below. Who has no sibling counts as multiplied by 1.
//! [`tree_down`](super::tree_down) goes back.
//!
//! Source: Montgomery, "Speeding the Pollard and elliptic curve methods of factorization" (1987), section 10.3.1.

use ctru_math::{Ring, SmallPoly};

use crate::descriptor::{Batch, Shape};
use crate::kernels::product::operand::{LargeBlock, ONE, SmallBlock, large_block, small_block};
use crate::kernels::product::polyphase::{self, Polyphase};
use crate::kernels::warp;
use crate::simt::Simt;

/// A warp two children.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Shape { per_block: 2, ..warp::shape(polyphase::end_of_two_large::<R>()) }
}

/// The parents of leaves. `leaves` has rows of [`row`](crate::kernels::row) signed bytes, small polynomials; `parents`, half as many, rows
/// of [`row`](crate::kernels::row) elements, canonical modulo `q`.
#[inline(always)]
pub fn multiply_leaves<S: Simt, R: Ring>(
    s: S,
    leaves: S::Global<u8>,
    parents: S::Global<u16>,
    batch: Batch,
) {
    let node = s.block();
    let polyphase = Polyphase::<S, R>::new(s);
    polyphase.stage_second_small(|block| small_block::<S, R>(s, leaves, 2 * node, block));
    polyphase.stage_small(|block| leaf_or_one::<S, R>(s, leaves, 2 * node + 1, batch, block));
    polyphase.multiply_small_ones(
        const {
            let bound = SmallPoly::<R>::BOUND;
            (R::N as u32 * bound * bound).next_multiple_of(R::Q) as i32
        },
    );
    polyphase.store_modulo_q(parents, node);
}

/// The parents of nodes. `nodes` and `parents`, half as many, have rows of [`row`](crate::kernels::row) elements, canonical modulo `q`.
#[inline(always)]
pub fn multiply_nodes<S: Simt, R: Ring>(
    s: S,
    nodes: S::Global<u16>,
    parents: S::Global<u16>,
    batch: Batch,
) {
    let node = s.block();
    let polyphase = Polyphase::<S, R>::new(s);
    polyphase.stage_large(|block| large_block::<S, R>(s, nodes, 2 * node, block));
    polyphase.stage_second_large(|block| node_or_one::<S, R>(s, nodes, 2 * node + 1, batch, block));
    polyphase.multiply_large_ones();
    polyphase.store_modulo_q(parents, node);
}

/// Block `block` of leaf `index`, or of 1 behind the last one.
#[inline(always)]
pub(crate) fn leaf_or_one<S: Simt, R: Ring>(
    s: S,
    leaves: S::Global<u8>,
    index: u32,
    batch: Batch,
    block: u32,
) -> SmallBlock {
    if index < batch.operations() {
        small_block::<S, R>(s, leaves, index, block)
    } else {
        one(block)
    }
}

/// Block `block` of node `index`, or of 1 behind the last one.
#[inline(always)]
pub(crate) fn node_or_one<S: Simt, R: Ring>(
    s: S,
    nodes: S::Global<u16>,
    index: u32,
    batch: Batch,
    block: u32,
) -> LargeBlock {
    if index < batch.operations() {
        large_block::<S, R>(s, nodes, index, block)
    } else {
        [one(block), [0; 8]]
    }
}

/// Block `block` of the polynomial 1.
#[inline(always)]
fn one(block: u32) -> SmallBlock {
    if block == 0 { ONE } else { [0; 8] }
}
