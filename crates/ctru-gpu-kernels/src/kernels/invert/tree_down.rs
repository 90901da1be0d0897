//! The way down in the product tree of [`tree_up`](super::tree_up), from the inverses of the roots
//! to the inverses of the leaves. A parent is the product of its two children, so the inverse of a
//! child is the inverse of its parent times its sibling.

use ctru_math::Ring;

use super::tree_up::{leaf_or_one, node_or_one};
use crate::descriptor::{Batch, Shape};
use crate::kernels::product::operand::large_block;
use crate::kernels::product::polyphase::{self, Polyphase};
use crate::kernels::warp;
use crate::simt::Simt;

/// Returns the block shape: one warp and one child per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(polyphase::end_of_two_large::<R>())
}

/// Computes the inverses of leaves. One operation is one leaf.
///
/// Threads: one warp per leaf.
/// Shared memory: first the operands, later the unreduced product in their place.
/// Arrays: `parents`, the inverses of the parents, in `0..q`, one row per two leaves; `leaves`,
/// small polynomials as signed bytes; `inverses`, in `0..q`.
#[inline(always)]
pub fn divide_leaves<S: Simt, R: Ring>(
    s: S,
    parents: S::Global<u16>,
    leaves: S::Global<u8>,
    inverses: S::Global<u16>,
    batch: Batch,
) {
    let leaf = s.block();
    let polyphase = Polyphase::<S, R>::new(s);
    polyphase.stage_large(|block| large_block::<S, R>(s, parents, leaf / 2, block));
    polyphase.stage_small(|block| leaf_or_one::<S, R>(s, leaves, leaf ^ 1, batch, block));
    polyphase.multiply();
    polyphase.store_modulo_q(inverses, leaf);
}

/// Computes the inverses of nodes above the leaves. One operation is one child.
///
/// Threads: one warp per child.
/// Shared memory: first the operands, later the unreduced product in their place.
/// Arrays: `parents`, the inverses of the parents, in `0..q`, one row per two children; `nodes` and
/// `inverses`, in `0..q`.
#[inline(always)]
pub fn divide_nodes<S: Simt, R: Ring>(
    s: S,
    parents: S::Global<u16>,
    nodes: S::Global<u16>,
    inverses: S::Global<u16>,
    batch: Batch,
) {
    let node = s.block();
    let polyphase = Polyphase::<S, R>::new(s);
    polyphase.stage_large(|block| large_block::<S, R>(s, parents, node / 2, block));
    polyphase.stage_second_large(|block| node_or_one::<S, R>(s, nodes, node ^ 1, batch, block));
    polyphase.multiply_large_ones();
    polyphase.store_high_modulo_q(inverses, node);
}
