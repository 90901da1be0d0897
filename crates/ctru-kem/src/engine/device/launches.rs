//! The list of launches of a chunk, and the choice among kernels with equal results.

use std::vec::Vec;

use ctru_gpu_kernels::descriptor::{Batch, Kernel, NamedArrays, Parameter, RingKernels};
use ctru_gpu_runtime::batch::plan::Kernels;
use ctru_gpu_runtime::{Launch, Order, Queue};

use super::buffers::Scratch;
use super::set::Set;
use crate::parameters::Encoding;

/// Where kernels read seeds, or the input from which a kernel expands them to the second memory.
pub(super) type Seeds<'a, M> = (&'a M, Option<&'a M>);

/// The ciphertexts and the shared secrets of a chunk.
pub(super) type Texts<'a, M> = [&'a M; 2];

/// Returns the arrays of a kernel, by their names.
macro_rules! named {
    ($kernel:ident: $($name:ident $(= $memory:expr)?),*) => {
        table::$kernel::<Q::Memory> { $($name $(: $memory)?),* }
    };
}
pub(super) use named;

/// The launches of a chunk, which are issued together.
pub(super) struct Launches<'a, Q: Queue> {
    pub(super) set: &'static Set,
    pub(super) kernels: Kernels,
    /// The memory of the slot.
    pub(super) scratch: &'a Scratch<Q>,
    /// The operations of the chunk.
    batch: Batch,
    pub(super) list: Vec<Launch<'a, Q::Memory>>,
}

impl<'a, Q: Queue> Launches<'a, Q> {
    pub(super) fn new(
        set: &'static Set,
        kernels: Kernels,
        scratch: &'a Scratch<Q>,
        batch: Batch,
    ) -> Self {
        Self { set, kernels, scratch, batch, list: Vec::new() }
    }

    /// Returns the number of operations of the chunk.
    pub(super) fn count(&self) -> usize {
        self.batch.operations() as usize
    }

    /// Adds a launch of the kernel that takes these arrays, for the operations of the chunk.
    pub(super) fn add<A: NamedArrays<'a, Q::Memory>>(&mut self, arrays: A) {
        self.add_in(Order::Next, A::KERNELS, arrays);
    }

    /// Adds a launch with this order of a kernel that takes arrays with the same names as the
    /// kernel of `arrays`.
    pub(super) fn add_in<A: NamedArrays<'a, Q::Memory>>(
        &mut self,
        order: Order,
        kernels: &'static RingKernels,
        arrays: A,
    ) {
        self.push(order, kernels, arrays, self.batch);
    }

    /// Adds a launch of the kernel that takes these arrays, for `count` rows.
    pub(super) fn add_rows<A: NamedArrays<'a, Q::Memory>>(&mut self, count: usize, arrays: A) {
        self.push(Order::Next, A::KERNELS, arrays, Batch::each(count as u32));
    }

    /// Adds a launch of the kernel that takes these arrays with `count` keys in mixed-radix
    /// encoding, or for sets with the other encoding of the kernel `packed`.
    pub(super) fn add_keys<A: NamedArrays<'a, Q::Memory>>(
        &mut self,
        count: usize,
        packed: &'static RingKernels,
        arrays: A,
    ) {
        let kernels = match self.set.parameters.encoding {
            Encoding::MixedRadix => A::KERNELS,
            Encoding::Packed13 => packed,
        };
        self.push(Order::Next, kernels, arrays, Batch::each(count as u32));
    }

    fn push<A: NamedArrays<'a, Q::Memory>>(
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
