//! The list of launches of a chunk, and the choice among kernels with equal results.

use std::vec::Vec;

use ctru_gpu_kernels::descriptor::{Batch, RingKernels};
use ctru_gpu_runtime::batch::plan::Kernels;
use ctru_gpu_runtime::{Launch, Order, Queue, RuntimeError};

use super::set::Set;

/// The launches of a chunk, which are issued together.
pub(super) struct Launches<'a, Q: Queue> {
    pub(super) set: &'static Set,
    pub(super) kernels: Kernels,
    list: Vec<Launch<'a, Q::Memory>>,
}

impl<'a, Q: Queue> Launches<'a, Q> {
    pub(super) fn new(set: &'static Set, kernels: Kernels) -> Self {
        Self { set, kernels, list: Vec::new() }
    }

    /// Adds a launch of the kernel for the ring of the parameter set, with [`Order::Next`].
    pub(super) fn add(&mut self, kernels: &'static RingKernels, to: &[&'a Q::Memory], of: Batch) {
        self.add_in(Order::Next, kernels, to, of);
    }

    /// Adds a launch with this order.
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

    /// Issues the launches.
    pub(super) fn issue(&self, queue: &Q) -> Result<(), RuntimeError> {
        queue.launch_all(&self.list)
    }

    /// Returns the kernels that hash: with two threads for each state, or with one, which needs
    /// fewer instructions and takes longer.
    pub(super) fn hash(
        &self,
        pairs: &'static RingKernels,
        threads: &'static RingKernels,
    ) -> &'static RingKernels {
        if self.kernels.are_paired { pairs } else { threads }
    }

    /// Returns kernels that multiply by the matrix of the one key, or by `each` key.
    pub(super) fn product(
        &self,
        each: &'static RingKernels,
        same: &'static RingKernels,
    ) -> &'static RingKernels {
        if self.kernels.by_matrix { same } else { each }
    }
}
