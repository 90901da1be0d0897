//! Descriptors of kernels. A descriptor contains everything that a GPU runtime or the emulator
//! needs to launch a kernel and to check the launch.

use core::any::Any;
use core::ptr;

use crate::ptx::Module;

/// The operations of a launch, and whether they share rows of their arrays.
///
/// In arrays with the rows [`Rows::EachOrShared`], one row can serve all operations of a launch. An
/// example is the key of a batch with one key.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    operations: u32,
    /// The number of rows in arrays with [`Rows::EachOrShared`]: 1 if all operations share row 0,
    /// else `operations`.
    rows: u32,
}

impl Batch {
    /// Creates a batch in which each operation has its own row in every array with
    /// [`Rows::EachOrShared`].
    #[must_use]
    pub const fn each(operations: u32) -> Self {
        Self { operations, rows: operations }
    }

    /// Creates a batch in which all operations use row 0 of every array with
    /// [`Rows::EachOrShared`].
    #[must_use]
    pub const fn shared(operations: u32) -> Self {
        Self { operations, rows: 1 }
    }

    /// Returns the two numbers that every kernel takes after its arrays.
    #[must_use]
    pub const fn arguments(self) -> [u32; 2] {
        [self.operations, self.rows]
    }

    /// Creates the batch that has these [`arguments`](Self::arguments).
    #[must_use]
    #[inline(always)]
    pub const fn from_arguments([operations, rows]: [u32; 2]) -> Self {
        Self { operations, rows }
    }

    /// Returns the number of operations.
    #[must_use]
    #[inline(always)]
    pub const fn operations(self) -> u32 {
        self.operations
    }

    /// Returns whether all operations use row 0 of every array with [`Rows::EachOrShared`]. This is
    /// also true for every batch of one operation.
    #[must_use]
    #[inline(always)]
    pub const fn is_shared(self) -> bool {
        self.rows == 1
    }

    /// Returns the row that an operation uses in an array with [`Rows::EachOrShared`].
    #[must_use]
    #[inline(always)]
    pub const fn row(self, operation: u32) -> u32 {
        if self.is_shared() { 0 } else { operation }
    }
}

/// The shape of a kernel's blocks. Block `b` works on those of the operations
/// `b * per_block..(b + 1) * per_block` that exist.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pub(crate) threads: u32,
    pub(crate) per_block: u32,
    pub(crate) shared_bytes: u32,
}

impl Shape {
    /// Creates the shape of blocks with `threads` threads, `per_block` operations and
    /// `shared_bytes` bytes of shared memory.
    #[must_use]
    pub const fn new(threads: u32, per_block: u32, shared_bytes: u32) -> Self {
        Self { threads, per_block, shared_bytes }
    }

    /// Returns the number of threads per block.
    #[must_use]
    pub const fn threads(self) -> u32 {
        self.threads
    }

    /// Returns the number of operations per block.
    #[must_use]
    pub const fn per_block(self) -> u32 {
        self.per_block
    }

    /// Returns the number of bytes of shared memory per block.
    #[must_use]
    pub const fn shared_bytes(self) -> u32 {
        self.shared_bytes
    }
}

/// The number of rows of an array that a launch may access.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// One row for every batch.
    One,
    /// One row per operation, or one row that all operations share, see [`Batch`].
    EachOrShared,
    /// One row per operation.
    EachOperation,
    /// One row per two neighbouring operations, and one row for a last operation without a
    /// neighbour.
    EachPair,
    /// One row per group of this many neighbouring operations. The number is not 0. The last block
    /// of threads counts as full even if the batch ends within it.
    InWholeBlocks(u32),
}

/// An array parameter of a kernel, and the part of the array that the kernel may access. This part
/// depends only on the batch.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    name: &'static str,
    element_bytes: u32,
    rows: Rows,
    row: u32,
    multiple: u32,
}

impl Parameter {
    /// Describes an array whose rows have `row` elements of `element_bytes` bytes each.
    #[must_use]
    pub const fn new(name: &'static str, element_bytes: u32, rows: Rows, row: u32) -> Self {
        Self { name, element_bytes, rows, row, multiple: 1 }
    }

    /// Returns the same parameter for a kernel that accesses whole groups of `multiple` elements.
    /// `multiple` is a power of two.
    #[must_use]
    pub const fn in_multiples_of(self, multiple: u32) -> Self {
        Self { multiple, ..self }
    }

    /// Returns the name of the parameter.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the number of bytes per element.
    #[must_use]
    pub const fn element_bytes(&self) -> u32 {
        self.element_bytes
    }

    /// Returns how many operations share a row, or `None` if all operations of a batch share it.
    const fn sharing(&self) -> Option<u32> {
        match self.rows {
            Rows::One => None,
            Rows::EachOrShared | Rows::EachOperation => Some(1),
            Rows::EachPair => Some(2),
            Rows::InWholeBlocks(operations) => Some(operations),
        }
    }

    /// Returns the largest number of operations that this array permits in a batch, for a kernel
    /// with `per_block` operations per block. See [`Kernel::most_operations`].
    const fn most_operations(&self, per_block: u32) -> u32 {
        let element = self.element_bytes as u64;
        let row = self.row as u64 * element;
        let bytes = (u32::MAX as u64).saturating_sub(self.multiple as u64 * element);
        let rows = match bytes.checked_div(row) {
            Some(rows) => rows,
            None => u32::MAX as u64,
        };
        let operations = match self.sharing() {
            Some(sharing) => rows * sharing as u64,
            None => u32::MAX as u64,
        };
        let operations = operations.saturating_sub(2 * per_block as u64);
        if operations < u32::MAX as u64 { operations as u32 } else { u32::MAX }
    }
}

/// A kernel for one ring: its entry point in the PTX, the shape of its blocks, and its arrays.
///
/// A launch whose arrays have been checked against the descriptor accesses no memory outside these
/// arrays. Soundness depends on this property. So only the lists of this crate and the unsafe
/// function [`new`](Self::new) create kernels that a GPU runs.
#[derive(Debug)]
pub struct Kernel {
    module: &'static Module,
    name: &'static str,
    shape: Shape,
    parameters: &'static [Parameter],
    most_operations: u32,
    substitute: Option<Substitute>,
}

/// A function that a machine other than a GPU runs in place of the entry point. Its type is erased,
/// so that this module does not depend on that machine.
pub(crate) type Substitute = &'static (dyn Any + Send + Sync);

impl Kernel {
    /// Describes the kernel whose entry point in `module` is `name`. The entry point takes one
    /// pointer per parameter and then the two numbers of [`Batch::arguments`].
    ///
    /// # Safety
    /// If `module` has an entry point of this name, this entry point takes these parameters. In a
    /// launch of [`blocks`](Self::blocks) blocks of this shape, for a batch of at most
    /// [`most_operations`](Self::most_operations) operations, it accesses only
    ///
    /// - the first [`elements`](Self::elements) of each array,
    /// - its own registers, local memory and shared memory of this size,
    /// - variables of the module.
    ///
    /// This holds for every content of the arrays, even if several arrays are the same memory, and
    /// even if other code writes to them at the same time.
    ///
    /// # Panics
    /// If a block has no threads, more than 1024 threads or no operations; if the elements of a
    /// parameter do not have 1, 2, 4, 8 or 16 bytes; if the size of a group of elements is not a
    /// power of two; if a row belongs to no operation.
    #[allow(unsafe_code)]
    #[must_use]
    pub const unsafe fn new(
        module: &'static Module,
        name: &'static str,
        shape: Shape,
        parameters: &'static [Parameter],
    ) -> Self {
        Self::describe(module, name, shape, parameters)
    }

    /// Describes a kernel without an entry point. No GPU can run it.
    #[cfg_attr(not(feature = "emulator"), allow(dead_code))]
    pub(crate) const fn without_entry_point(
        name: &'static str,
        shape: Shape,
        parameters: &'static [Parameter],
    ) -> Self {
        static NO_MODULE: Module = Module::new("");
        Self::describe(&NO_MODULE, name, shape, parameters)
    }

    const fn describe(
        module: &'static Module,
        name: &'static str,
        shape: Shape,
        parameters: &'static [Parameter],
    ) -> Self {
        assert!(0 < shape.threads && shape.threads <= 1024, "a block must have 1 to 1024 threads");
        assert!(0 < shape.per_block, "a block must have at least one operation");
        let mut most_operations = u32::MAX;
        let mut i = 0;
        while i < parameters.len() {
            let Parameter { element_bytes, multiple, .. } = parameters[i];
            assert!(
                element_bytes.is_power_of_two() && element_bytes <= 16,
                "an element must have 1, 2, 4, 8 or 16 bytes"
            );
            assert!(multiple.is_power_of_two(), "the size of a group must be a power of two");
            assert!(
                !matches!(parameters[i].sharing(), Some(0)),
                "a row must belong to at least one operation"
            );
            let most = parameters[i].most_operations(shape.per_block);
            if most < most_operations {
                most_operations = most;
            }
            i += 1;
        }
        Self { module, name, shape, parameters, most_operations, substitute: None }
    }

    /// Returns the same kernel with a function that another machine runs in place of the entry
    /// point.
    #[cfg_attr(not(feature = "emulator"), allow(dead_code))]
    pub(crate) const fn with_substitute(self, substitute: Substitute) -> Self {
        Self { substitute: Some(substitute), ..self }
    }

    /// Returns the function that another machine runs in place of the entry point.
    #[cfg_attr(not(feature = "emulator"), allow(dead_code))]
    pub(crate) const fn substitute(&self) -> Option<Substitute> {
        self.substitute
    }

    /// Returns the same kernel with another block shape.
    ///
    /// # Safety
    /// The promise of [`new`](Self::new) holds for this shape.
    ///
    /// # Panics
    /// In the cases of [`new`](Self::new).
    #[allow(unsafe_code)]
    #[must_use]
    pub const unsafe fn in_blocks_of(&self, shape: Shape) -> Self {
        let kernel = Self::describe(self.module, self.name, shape, self.parameters);
        Self { substitute: self.substitute, ..kernel }
    }

    /// Returns whether this is a kernel of `module`. Two modules with the same text are different
    /// modules.
    #[must_use]
    pub fn is_of(&self, module: &'static Module) -> bool {
        ptr::eq(self.module, module)
    }

    /// Returns the name of the entry point.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the shape of the kernel's blocks.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the array parameters in order. The two numbers of [`Batch::arguments`] follow them.
    #[must_use]
    pub const fn parameters(&self) -> &'static [Parameter] {
        self.parameters
    }

    /// Returns the number of blocks in a launch of `operations` operations.
    #[must_use]
    pub const fn blocks(&self, operations: u32) -> u32 {
        operations.div_ceil(self.shape.per_block)
    }

    /// Returns the largest number of operations in a batch.
    ///
    /// Kernels compute indices in 32 bits, counted in elements, in words or in bytes. They also
    /// compute indices of operations in the last block that lie after the end of the batch. With
    /// this number of operations and two more blocks, every byte of each array still has a 32-bit
    /// index.
    #[must_use]
    pub const fn most_operations(&self) -> u32 {
        self.most_operations
    }

    /// Returns the length of the part of an array that the kernel may access, in elements from the
    /// first one on. The batch has at most [`most_operations`](Self::most_operations) operations.
    #[must_use]
    pub const fn elements(&self, parameter: &Parameter, batch: Batch) -> u64 {
        let rows = match parameter.rows {
            Rows::One => 1,
            Rows::EachOrShared if batch.is_shared() => 1,
            Rows::EachOrShared | Rows::EachOperation => batch.operations,
            Rows::EachPair => batch.operations.div_ceil(2),
            Rows::InWholeBlocks(operations) => self
                .blocks(batch.operations)
                .saturating_mul(self.shape.per_block)
                .div_ceil(operations),
        };
        // (2^32 - 1)^2 + 2^32 fits in 64 bits. Each launch calls this function, so the rounding
        // needs no division.
        let last = parameter.multiple as u64 - 1;
        (rows as u64 * parameter.row as u64 + last) & !last
    }
}
