//! Inverts the secret polynomials of a chunk with product trees (Montgomery's trick).
//!
//! A node `p` is the product of its two children `a` and `b`. The inverse of a node gives the
//! inverses of its children: `1/a = b (1/p)` and `1/b = a (1/p)`. Only the roots are inverted
//! directly: by powers in a small chunk, which takes less time, and by division steps in a large
//! one, which occupies fewer multiprocessors. With the default options, all chunks of n = 653 and
//! 761 are small. The leaves are the secret polynomials, and each of them costs about three
//! products. The kernels call the step from a parent to its children `divide`.

use std::sync::OnceLock;
use std::vec::Vec;

use ctru_gpu_kernels::table;
use ctru_gpu_runtime::batch::tuning::Tuning;
use ctru_gpu_runtime::{Buffer, Queue, RuntimeError};

use super::launches::{Launches, named};
use super::powers::{Maps, Powers, SharedMaps, padded};
use super::set::Set;

/// The nodes of a product tree on the device.
#[derive(Debug)]
pub(super) struct Tree<Q: Queue> {
    /// The products of each level, from the level above the leaves to the roots.
    levels: Vec<Buffer<u16, Q::Memory>>,
    /// The matrices of the powers.
    maps: SharedMaps<Q>,
    /// The most roots of a chunk.
    most_roots: usize,
    /// `None` if there was no memory. The first small chunk allocates it.
    roots: OnceLock<Option<Roots<Q>>>,
}

/// The memory for the inversion of roots by powers, and for the roots.
type Roots<Q> = (Powers<Q>, Buffer<u16, <Q as Queue>::Memory>);

/// Returns the number of nodes of each level, from the level above the leaves up to the roots.
/// There are `roots` roots or up to twice as many, or fewer if there are fewer leaves.
///
/// A level has half as many nodes as the level below it. If the level below has an odd number of
/// nodes, its last node has no sibling and is copied to the level above. There is at least one
/// level.
fn level_sizes(leaves: usize, roots: usize) -> impl ExactSizeIterator<Item = usize> {
    let levels = (leaves / roots).checked_ilog2().unwrap_or(0).max(1);
    (1..levels + 1).map(move |level| leaves.div_ceil(1 << level))
}

/// Returns the bytes of the levels of a tree, without the memory for powers.
pub(super) fn tree_bytes(set: &Set, tuning: &Tuning, leaves: usize) -> usize {
    let (_, least) = tuning.most_and_least_roots();
    level_sizes(leaves, least).sum::<usize>() * set.chain.row * size_of::<u16>()
}

impl<Q: Queue> Tree<Q> {
    /// Allocates the tree for chunks of at most `leaves` operations.
    pub(super) fn new(
        queue: &Q,
        set: &Set,
        leaves: usize,
        tuning: &Tuning,
        maps: SharedMaps<Q>,
    ) -> Result<Self, RuntimeError> {
        let (most_roots, least) = tuning.most_and_least_roots();
        let levels = level_sizes(leaves, least).map(|nodes| queue.allocate(nodes * set.chain.row));
        let levels = levels.collect::<Result<_, _>>()?;
        Ok(Self { levels, maps, most_roots, roots: OnceLock::new() })
    }

    /// Returns all arrays, for wiping.
    pub(super) fn memory(&self) -> impl Iterator<Item = &Q::Memory> {
        // Without `..`, so that no array can be forgotten.
        let Self { levels, maps: _, most_roots: _, roots } = self;
        let roots = roots.get().and_then(Option::as_ref).into_iter();
        let roots = roots.flat_map(|(powers, elements)| powers.memory().chain([elements]));
        levels.iter().chain(roots).map(|array| &**array)
    }

    /// Returns the matrices, and the memory for roots that are inverted by powers. Returns `None`
    /// if the first call failed: division steps need no further memory, and a device that is lost
    /// fails at the next launch, too.
    fn powers(&self, queue: &Q, set: &Set) -> Option<(&Maps<Q>, &Roots<Q>)> {
        let maps = self.maps.get_or_init(|| Maps::new(queue, set.chain).ok()).as_ref()?;
        let allocate = || {
            // A level of more nodes has a level above it.
            let most = padded(2 * self.most_roots);
            Some((
                Powers::new(queue, set.chain, most).ok()?,
                queue.allocate(most * set.chain.row).ok()?,
            ))
        };
        Some((maps, self.roots.get_or_init(allocate).as_ref()?))
    }

    /// Adds the launches that write the inverses of the secret polynomials of a chunk, the leaves,
    /// to `inverses`. `inverses` and `scratch` have a row for each of them.
    pub(super) fn invert<'a>(
        &'a self,
        launches: &mut Launches<'a, Q>,
        queue: &Q,
        leaves: &'a Buffer<u8, Q::Memory>,
        inverses: &'a Buffer<u16, Q::Memory>,
        scratch: &'a Buffer<u16, Q::Memory>,
    ) {
        let (set, kernels, tree) = (launches.set, launches.kernels, &self.levels);
        let sizes: Vec<usize> = level_sizes(launches.count(), kernels.roots).collect();
        let top = sizes.len() - 1;
        let powers = if kernels.by_powers { self.powers(queue, set) } else { None };
        let nodes = |level: usize| match powers {
            Some((_, (_, elements))) if level == top => elements,
            _ => &tree[level],
        };
        launches.add(named!(MULTIPLY_LEAVES: leaves, parents = nodes(0)));
        for level in 1..sizes.len() {
            let (nodes, parents) = (nodes(level - 1), nodes(level));
            launches.add_rows(sizes[level - 1], named!(MULTIPLY_NODES: nodes, parents));
        }
        // The inverses of successive levels alternate between the two arrays, because a launch
        // reads one level and writes the next. Level 0 is in `scratch`, so that the last launch
        // writes the inverses of the leaves to `inverses`.
        let of_level = |level: usize| if level.is_multiple_of(2) { scratch } else { inverses };
        match powers {
            Some((maps, (powers, elements))) => {
                let steps = powers.steps(set.chain, maps, sizes[top], elements, of_level(top));
                launches.list.extend(steps);
            }
            None => {
                let (elements, inverses) = (nodes(top), of_level(top));
                launches.add_rows(sizes[top], named!(INVERT: elements, inverses));
            }
        }
        for level in (0..top).rev() {
            let (parents, nodes, inverses) = (of_level(level + 1), &tree[level], of_level(level));
            launches.add_rows(sizes[level], named!(DIVIDE_NODES: parents, nodes, inverses));
        }
        launches.add(named!(DIVIDE_LEAVES: parents = of_level(0), leaves, inverses));
    }
}

#[cfg(test)]
mod tests {
    use ctru_gpu_kernels::descriptor::Batch;
    use ctru_gpu_runtime::batch::plan::Kernels;
    use ctru_gpu_runtime::emulated::EmulatedDevice;
    use ctru_gpu_runtime::{Device, DeviceMemory};

    use super::*;
    use crate::engine::device::buffers::Scratch;
    use crate::engine::device::slot::Slot;
    use crate::{CtruPrime653, ParameterSet};

    /// Checks that the arrays for wiping are all that a slot allocates, except for the matrices.
    #[test]
    fn all_memory_of_a_slot_is_wiped() {
        let device = EmulatedDevice::new();
        let queue = || device.queue().unwrap();
        let set = Set::of(<CtruPrime653>::PARAMETERS).unwrap();
        let maps = SharedMaps::default();
        assert!(maps.get_or_init(|| Maps::new(&queue(), set.chain).ok()).is_some());
        let used = || {
            let memory = device.memory_info().unwrap();
            memory.total - memory.free
        };
        let before = used();
        let slot = Slot::new(queue(), set, 101, Tuning::of(""), maps).unwrap();
        let wiped = || slot.device_memory().map(DeviceMemory::bytes).sum::<usize>();
        let without_powers = wiped();
        let Scratch { decoded, operands, products, .. } = &slot.scratch;
        for by_powers in [false, true] {
            assert!(wiped() == used() - before && wiped() == without_powers);
            let kernels = Kernels { roots: 8, by_powers, ..Kernels::default() };
            let mut launches = Launches::new(set, kernels, &slot.scratch, Batch::each(101));
            slot.tree.invert(&mut launches, &slot.queue, &decoded.f, operands, products);
        }
        // Only powers need more memory.
        assert!(wiped() == used() - before && wiped() > without_powers);
    }

    /// A tree is allocated for the most leaves and the fewest roots, and serves every smaller chunk
    /// of every batch.
    #[test]
    fn levels_fit_into_the_memory_of_the_tree() {
        for most in [1, 2, 33, 256, 1025, 4096, 4100] {
            let allocated: Vec<usize> = level_sizes(most, 2).collect();
            for leaves in (1..=most).filter(|leaves| leaves % 7 == 1 || most - leaves < 3) {
                for roots in [8, 2] {
                    let sizes: Vec<usize> = level_sizes(leaves, roots).collect();
                    assert!(sizes.len() <= allocated.len());
                    assert!(sizes.iter().zip(&allocated).all(|(used, there)| used <= there));
                    // There is memory for twice as many roots as the most.
                    let top = *sizes.last().unwrap();
                    assert!(top <= 2 * roots && (top >= roots.min(leaves.div_ceil(2))), "{leaves}");
                    let below = [leaves].into_iter().chain(sizes.iter().copied());
                    assert!(below.zip(&sizes).all(|(below, &above)| above == below.div_ceil(2)));
                }
            }
        }
    }
}
