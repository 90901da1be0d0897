//! The launches of a chunk.

use std::vec::Vec;

use ctru_gpu_kernels::descriptor::{Batch, RingKernels};
use ctru_gpu_runtime::{Launch, Order, Queue, RuntimeError};

use super::set::Set;
use super::turn::Turn;

/// Launches of a chunk, which are issued together.
pub(super) struct Launches<'a, Q: Queue> {
    pub(super) set: &'static Set,
    /// The number of operations of the batch.
    pub(super) batch_len: usize,
    list: Vec<Launch<'a, Q::Memory>>,
}

impl<'a, Q: Queue> Launches<'a, Q> {
    /// Creates an empty list for a batch of `batch_len` operations.
    pub(super) fn new(set: &'static Set, batch_len: usize) -> Self {
        Self { set, batch_len, list: Vec::new() }
    }

    /// Adds a launch of the kernel for the ring of the parameter set, with [`Order::Next`].
    pub(super) fn add(
        &mut self,
        kernels: &'static RingKernels,
        memory: &[&'a Q::Memory],
        batch: Batch,
    ) {
        self.add_in(Order::Next, kernels, memory, batch);
    }

    /// Adds a launch of the kernel for the ring of the parameter set, with this order.
    pub(super) fn add_in(
        &mut self,
        order: Order,
        kernels: &'static RingKernels,
        memory: &[&'a Q::Memory],
        batch: Batch,
    ) {
        let (kernel, memory) = (self.set.kernel(kernels), memory.to_vec());
        self.list.push(Launch { kernel, memory, batch, order });
    }

    /// Issues the launches of `count` operations of the batch, if necessary in their turn.
    pub(super) fn issue(&self, queue: &Q, turn: &Turn, count: usize) -> Result<(), RuntimeError> {
        let _turn = if self.need_turn(count) { turn.take() } else { None };
        queue.launch_all(&self.list)
    }

    /// Returns whether these launches of `count` operations wait for their turn. They do not if
    /// these are all operations of the batch. Neither does a single launch, which takes little
    /// time.
    fn need_turn(&self, count: usize) -> bool {
        count != self.batch_len && self.list.len() != 1
    }
}

#[cfg(all(test, feature = "emulator"))]
mod tests {
    use ctru_gpu_kernels::table;
    use ctru_gpu_runtime::emulated::EmulatedQueue;

    use super::*;
    use crate::{CtruPrime653, ParameterSet};

    #[test]
    fn several_launches_of_a_part_of_a_batch_wait_for_their_turn() {
        let mut launches = Launches::<EmulatedQueue>::new(Set::of(<CtruPrime653>::PARAMETERS), 100);
        let add = |launches: &mut Launches<'_, _>| {
            launches.add(&table::REJECTION_SECRET, &[], Batch::each(50));
        };
        add(&mut launches);
        assert_eq!([50, 100].map(|count| launches.need_turn(count)), [false, false]);
        add(&mut launches);
        assert_eq!([50, 100].map(|count| launches.need_turn(count)), [true, false]);
    }
}
