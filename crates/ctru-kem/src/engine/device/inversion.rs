//! The inversion of the secret polynomials of a chunk, by a product tree.
//!
//! A node is the product of its two children: `p = a b`. From the inverse of a node follow those of
//! its children: `1/a = b/p` and `1/b = a/p`. So only the roots are inverted, and each polynomial
//! costs about three products in place of an inversion (Montgomery's trick). The kernels write
//! `divide` for the step from a parent to its children.

use std::vec::Vec;

use ctru_gpu_kernels::descriptor::{Batch, RingKernels};
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::{Buffer, Queue, RuntimeError};

use super::set::Set;

/// The number of roots of a chunk, approximately. They are inverted in parallel.
const ROOTS: usize = 16;

/// The nodes of a product tree on the device.
#[derive(Debug)]
pub(super) struct Tree<Q: Queue> {
    /// The products of each level, from the level above the leaves to the roots.
    levels: Vec<Buffer<u16, Q::Memory>>,
}

/// Returns the number of nodes of each level above `leaves` leaves, up to the roots. A level has
/// half as many nodes as the level below it; the last node of an odd level has no sibling and is
/// its own parent. There is at least one level.
fn level_sizes(leaves: usize) -> impl ExactSizeIterator<Item = usize> {
    let levels = (leaves / ROOTS).checked_ilog2().unwrap_or(0).max(1);
    (1..levels + 1).map(move |level| leaves.div_ceil(1 << level))
}

impl<Q: Queue> Tree<Q> {
    /// Allocates the tree for chunks of at most `leaves` operations.
    pub(super) fn new(queue: &Q, set: &Set, leaves: usize) -> Result<Self, RuntimeError> {
        let levels = level_sizes(leaves).map(|nodes| queue.allocate(nodes * set.row));
        Ok(Self { levels: levels.collect::<Result<_, _>>()? })
    }

    /// Writes the inverses of the first `count` secret polynomials `f` to `inverses`. `scratch` has
    /// as many rows.
    pub(super) fn invert(
        &self,
        queue: &Q,
        set: &Set,
        count: usize,
        f: &Buffer<u8, Q::Memory>,
        inverses: &Buffer<u16, Q::Memory>,
        scratch: &Buffer<u16, Q::Memory>,
    ) -> Result<(), RuntimeError> {
        let run = |kernels: &'static RingKernels, memory: &[&Q::Memory], count: usize| {
            queue.launch(set.kernel(kernels), memory, Batch::each(count as u32))
        };
        let tree = &self.levels;
        let sizes: Vec<usize> = level_sizes(count).collect();
        run(&table::MULTIPLY_LEAVES, &[f, &tree[0]], count)?;
        for level in 1..sizes.len() {
            run(&table::MULTIPLY_NODES, &[&tree[level - 1], &tree[level]], sizes[level - 1])?;
        }
        // The inverses of successive levels lie in the two arrays in turn, so that those of the
        // leaves lie in `inverses`.
        let of_level = |level: usize| if level.is_multiple_of(2) { scratch } else { inverses };
        let top = sizes.len() - 1;
        run(&table::INVERT, &[&tree[top], of_level(top)], sizes[top])?;
        for level in (0..top).rev() {
            let memory: [&Q::Memory; 3] = [of_level(level + 1), &tree[level], of_level(level)];
            run(&table::DIVIDE_NODES, &memory, sizes[level])?;
        }
        run(&table::DIVIDE_LEAVES, &[of_level(0), f, inverses], count)
    }
}
