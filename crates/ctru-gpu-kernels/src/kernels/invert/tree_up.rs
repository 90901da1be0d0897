//! The way up in the product tree for inversion in batches, from the leaves to the roots. Each
//! parent is the product of two neighbouring children.
//!
//! Node `i` of a level has the children `2 i` and `2 i + 1` on the level below. A child without a
//! sibling is multiplied by 1. [`tree_down`](super::tree_down) computes the inverses from the roots
//! back to the leaves.
//!
//! Source: P. L. Montgomery, "Speeding the Pollard and elliptic curve methods of factorization"
//! (1987), section 10.3.1.

use ctru_math::Ring;

use crate::descriptor::{Batch, Shape};
use crate::kernels::product::operand::{LargeBlock, ONE, SmallBlock, large_block, small_block};
use crate::kernels::product::polyphase::{self, Polyphase};
use crate::simt::{Simt, WARP};

/// Returns the block shape: one warp, one parent and two children per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Shape::new(WARP, 2, polyphase::end_of_two_large::<R>())
}

/// Multiplies neighbouring leaves in `R_q`, which gives their parents. One operation is one leaf.
///
/// Threads: one warp per parent.
/// Shared memory: first the operands, later the unreduced product in their place.
/// Arrays: `leaves`, small polynomials as signed bytes; `parents`, in `0..q`, one row per two
/// leaves.
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
    polyphase.multiply_small_ones();
    polyphase.store_modulo_q(parents, node);
}

/// Multiplies neighbouring nodes in `R_q`, which gives their parents. One operation is one child.
///
/// Threads: one warp per parent.
/// Shared memory: first the operands, later the unreduced product in their place.
/// Arrays: `nodes`, in `0..q`; `parents`, in `0..q`, one row per two nodes.
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
    polyphase.store_high_modulo_q(parents, node);
}

/// Returns block `block` of leaf `index`. After the last leaf, returns that block of the polynomial
/// 1.
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

/// Returns block `block` of node `index`. After the last node, returns that block of the polynomial
/// 1.
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
