//! A product tree for inversion in batches, from the leaves to the roots: products of two
//! neighbours.
//!
//! Node `i` of a level has the children `2 i` and `2 i + 1` on the level below. A node without
//! sibling is multiplied by 1. [`tree_down`](super::tree_down) goes back.
//!
//! Source: P. L. Montgomery, "Speeding the Pollard and elliptic curve methods of factorization"
//! (1987), section 10.3.1.

use ctru_math::{Ring, SmallPoly};

use crate::descriptor::{Batch, Shape};
use crate::kernels::product::operand::{LargeBlock, ONE, SmallBlock, large_block, small_block};
use crate::kernels::product::polyphase::{self, Polyphase};
use crate::kernels::warp;
use crate::simt::Simt;

/// Returns blocks of one warp for two children.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Shape { per_block: 2, ..warp::shape(polyphase::end_of_two_large::<R>()) }
}

/// Computes the parents of leaves, their products in `R_q`. An operation is a leaf.
///
/// Threads: one warp for each parent.
/// Shared memory: the operands, then the plain product.
/// Arrays: `leaves`, signed bytes of small polynomials; `parents`, in `0..q`, half as many rows.
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

/// Computes the parents of nodes, their products in `R_q`. An operation is a child.
///
/// Threads: one warp for each parent.
/// Shared memory: the operands, then the plain product.
/// Arrays: `nodes`, in `0..q`; `parents`, in `0..q`, half as many rows.
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

/// Returns block `block` of leaf `index`, or of 1 behind the last leaf.
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

/// Returns block `block` of node `index`, or of 1 behind the last node.
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

/// Returns block `block` of the polynomial 1.
#[inline(always)]
fn one(block: u32) -> SmallBlock {
    if block == 0 { ONE } else { [0; 8] }
}
