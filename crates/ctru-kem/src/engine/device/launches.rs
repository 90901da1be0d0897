//! The launches of a chunk.

use std::vec::Vec;

use ctru_gpu_kernels::descriptor::{Batch, RingKernels};
use ctru_gpu_runtime::{Launch, Order, Queue, RuntimeError};

use super::set::Set;

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

    /// Issues the launches.
    pub(super) fn issue(&self, queue: &Q) -> Result<(), RuntimeError> {
        queue.launch_all(&self.list)
    }
}
