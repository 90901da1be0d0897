//! What a launch needs to know of a kernel: shared by device code, emulator and host.

use ctru_math::Ring;

/// What a launch works on: the two numbers that every kernel takes after its arrays.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Operations.
    pub count: u32,
    /// Keys: 1 if all operations use the first, or as many as there are operations.
    pub keys: u32,
}

impl Batch {
    /// A batch in which every operation has data of its own throughout.
    #[must_use]
    pub const fn each(count: u32) -> Self {
        Self { count, keys: count }
    }

    /// The key of operation `operation`.
    #[must_use]
    #[inline(always)]
    pub const fn key(self, operation: u32) -> u32 {
        if self.keys == 1 { 0 } else { operation }
    }
}

/// The shape of a kernel's blocks. Block `b` works on the operations `b * per_block..(b + 1) * per_block`, as far as they
/// exist.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Threads of a block.
    pub threads: u32,
    /// Operations of a block.
    pub per_block: u32,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u32,
}

/// An array parameter of a kernel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name in the kernel.
    pub name: &'static str,
    /// Bytes of an element.
    pub element_bytes: u32,
}

/// A kernel for one ring: its entry point in the PTX, the shape of its blocks, and what it takes.
#[derive(Debug)]
pub struct Kernel {
    /// Name of the entry point.
    pub name: &'static str,
    /// Shape of its blocks.
    pub shape: Shape,
    /// The arrays, in order; the two numbers of a [`Batch`] follow them.
    pub parameters: &'static [Parameter],
    /// Runs one thread on the emulator.
    #[cfg(feature = "emulator")]
    pub emulate: for<'a> fn(crate::emulator::Thread<'a>, &[&'a crate::emulator::Buffer], Batch),
}

impl Kernel {
    /// Blocks of a launch of `count` operations.
    #[must_use]
    pub const fn blocks(&self, count: u32) -> u32 {
        count.div_ceil(self.shape.per_block)
    }
}

/// A kernel for each ring.
#[derive(Debug)]
pub struct Kernels {
    pub(crate) of_653: Kernel,
    pub(crate) of_761: Kernel,
    pub(crate) of_1277: Kernel,
}

impl Kernels {
    /// The kernel for the ring `R`.
    #[must_use]
    pub fn of<R: Ring>(&self) -> &Kernel {
        match R::N {
            653 => &self.of_653,
            761 => &self.of_761,
            _ => &self.of_1277,
        }
    }

    /// All of them.
    pub fn each(&self) -> [&Kernel; 3] {
        [&self.of_653, &self.of_761, &self.of_1277]
    }
}
