//! The list of launches of a chunk, and the choice among kernels with equal results.

use std::vec::Vec;

use ctru_gpu_kernels::descriptor::{Batch, Kernel, NamedArrays, Parameter, RingKernels};
use ctru_gpu_runtime::batch::plan::Kernels;
use ctru_gpu_runtime::{Launch, Order, Queue, RuntimeError};

use super::set::Set;
use crate::parameters::Encoding;

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

    /// Adds a launch of the kernel that takes these arrays, for the ring of the parameter set.
    pub(super) fn add<A: NamedArrays<'a, Q::Memory>>(&mut self, arrays: A, batch: Batch) {
        self.add_in(Order::Next, A::KERNELS, arrays, batch);
    }

    /// Adds a launch with this order of a kernel that takes arrays with the same names as the
    /// kernel of `arrays`.
    pub(super) fn add_in<A: NamedArrays<'a, Q::Memory>>(
        &mut self,
        order: Order,
        kernels: &'static RingKernels,
        arrays: A,
        batch: Batch,
    ) {
        let (kernel, other) = (self.set.kernel(kernels), self.set.kernel(A::KERNELS));
        let names = |kernel: &Kernel| kernel.parameters().iter().map(Parameter::name);
        debug_assert!(names(kernel).eq(names(other)), "{} for {}", kernel.name(), other.name());
        let memory = arrays.in_order().as_ref().to_vec();
        self.list.push(Launch { kernel, memory, batch, order });
    }

    /// Adds a launch of the kernel that takes these arrays with keys in mixed-radix encoding, or
    /// for sets with the other encoding of the kernel `packed`.
    pub(super) fn add_keys<A: NamedArrays<'a, Q::Memory>>(
        &mut self,
        packed: &'static RingKernels,
        arrays: A,
        batch: Batch,
    ) {
        let kernels = match self.set.parameters.encoding {
            Encoding::MixedRadix => A::KERNELS,
            Encoding::Packed13 => packed,
        };
        self.add_in(Order::Next, kernels, arrays, batch);
    }

    /// Adds launches.
    pub(super) fn extend(&mut self, launches: Vec<Launch<'a, Q::Memory>>) {
        self.list.extend(launches);
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
