//! Descriptors of kernels: all that device code, the emulator and the host have to know of a kernel
//! to launch it.

use core::any::Any;
use core::ptr;

use ctru_math::Ring;

use crate::ptx::Module;

/// The operations of a launch, and whether they share rows of their arrays.
///
/// In some arrays a row can serve all operations of a launch, such as the key of a batch with one
/// key: those with the rows [`Rows::EachOrShared`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    operations: u32,
    /// 1 if all operations use row 0 of the arrays that can be shared, else `operations`.
    rows: u32,
}

impl Batch {
    /// Returns a batch in which each operation has a row of its own in every array.
    #[must_use]
    pub const fn each(operations: u32) -> Self {
        Self { operations, rows: operations }
    }

    /// Returns a batch in which all operations use row 0 of the arrays that can be shared.
    #[must_use]
    pub const fn shared(operations: u32) -> Self {
        Self { operations, rows: 1 }
    }

    /// Returns the two numbers that every kernel takes after its arrays.
    #[must_use]
    pub const fn arguments(self) -> [u32; 2] {
        [self.operations, self.rows]
    }

    /// Returns the batch with these [`arguments`](Self::arguments).
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

    /// Returns whether all operations use row 0 of the arrays that can be shared. So does the
    /// operation of a batch that has only one.
    #[must_use]
    #[inline(always)]
    pub const fn is_shared(self) -> bool {
        self.rows == 1
    }

    /// Returns the row that an operation uses in an array that can be shared.
    #[must_use]
    #[inline(always)]
    pub const fn row(self, operation: u32) -> u32 {
        if self.is_shared() { 0 } else { operation }
    }
}

/// The shape of a kernel's blocks. Block `b` works on the operations
/// `b * per_block..(b + 1) * per_block`, as far as they exist.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pub(crate) threads: u32,
    pub(crate) per_block: u32,
    pub(crate) shared_bytes: u32,
}

impl Shape {
    /// Returns blocks of `threads` threads for `per_block` operations, with this much shared
    /// memory in bytes.
    #[must_use]
    pub const fn new(threads: u32, per_block: u32, shared_bytes: u32) -> Self {
        Self { threads, per_block, shared_bytes }
    }

    /// Returns the threads of a block.
    #[must_use]
    pub const fn threads(self) -> u32 {
        self.threads
    }

    /// Returns the operations of a block.
    #[must_use]
    pub const fn per_block(self) -> u32 {
        self.per_block
    }

    /// Returns the bytes of shared memory of a block.
    #[must_use]
    pub const fn shared_bytes(self) -> u32 {
        self.shared_bytes
    }
}

/// The number of rows of an array that a launch touches.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// One row, whatever the batch.
    One,
    /// One for each operation, or one that all operations share: see [`Batch`].
    EachOrShared,
    /// One row for each operation.
    EachOperation,
    /// One row for two neighbouring operations, and one for a last operation without neighbour.
    EachPair,
    /// One row for each group of this many neighbouring operations, not 0. The last block of
    /// threads counts as full, even if the batch ends within it.
    InWholeBlocks(u32),
}

/// An array parameter of a kernel, and the part of the array that the kernel touches. That part
/// depends on the batch alone.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    name: &'static str,
    element_bytes: u32,
    rows: Rows,
    row: u32,
    multiple: u32,
}

impl Parameter {
    /// Returns an array with rows of `row` elements of `element_bytes` bytes each.
    #[must_use]
    pub const fn new(name: &'static str, element_bytes: u32, rows: Rows, row: u32) -> Self {
        Self { name, element_bytes, rows, row, multiple: 1 }
    }

    /// Returns the same array, of which the kernel touches whole groups of `multiple` elements, a
    /// power of two.
    #[must_use]
    pub const fn in_multiples_of(self, multiple: u32) -> Self {
        Self { multiple, ..self }
    }

    /// Returns the name in the kernel.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the bytes of an element.
    #[must_use]
    pub const fn element_bytes(&self) -> u32 {
        self.element_bytes
    }

    /// Returns how many operations share a row, or nothing if all operations do.
    const fn sharing(&self) -> Option<u32> {
        match self.rows {
            Rows::One => None,
            Rows::EachOrShared | Rows::EachOperation => Some(1),
            Rows::EachPair => Some(2),
            Rows::InWholeBlocks(operations) => Some(operations),
        }
    }

    /// Returns the most operations of a batch that this array allows a kernel in blocks of
    /// `per_block` operations: see [`Kernel::most_operations`].
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
/// A launch that has been checked against this description touches nothing but its arrays. So a
/// kernel comes only from this crate's lists, or from [`new`](Self::new), which is unsafe.
#[derive(Debug)]
pub struct Kernel {
    module: &'static Module,
    name: &'static str,
    shape: Shape,
    parameters: &'static [Parameter],
    most_operations: u32,
    substitute: Option<Substitute>,
}

/// A function that another machine runs in place of the entry point. Only that machine knows its
/// type, so that this module need not know the machine.
pub(crate) type Substitute = &'static (dyn Any + Send + Sync);

impl Kernel {
    /// Describes the kernel whose entry point in `module` is `name`. It takes a pointer for each of
    /// the parameters, and then the two numbers of [`Batch::arguments`].
    ///
    /// # Safety
    /// If `module` has an entry point of this name, it takes these parameters. In a launch of
    /// [`blocks`](Self::blocks) blocks of this shape, for a batch of at most
    /// [`most_operations`](Self::most_operations) operations, it touches only
    ///
    /// - the first [`elements`](Self::elements) of each array,
    /// - its own registers, local memory and shared memory of this size,
    /// - variables of the module.
    ///
    /// This holds whatever the arrays contain, if some of them are the same memory, and if others
    /// write there at the time.
    ///
    /// # Panics
    /// If a block has no threads, more than 1024 threads or no operations; if the elements of a
    /// parameter are not of 1, 2, 4, 8 or 16 bytes; if a group of elements is not a power of two;
    /// if a row is for no operation.
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

    /// Describes a kernel that has no entry point, so that no GPU runs it.
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
        assert!(0 < shape.threads && shape.threads <= 1024, "a block has 1 to 1024 threads");
        assert!(0 < shape.per_block, "a block has operations");
        let mut most_operations = u32::MAX;
        let mut i = 0;
        while i < parameters.len() {
            let Parameter { element_bytes, multiple, .. } = parameters[i];
            assert!(element_bytes.is_power_of_two() && element_bytes <= 16, "elements are words");
            assert!(multiple.is_power_of_two(), "groups are aligned");
            assert!(!matches!(parameters[i].sharing(), Some(0)), "a row belongs to some operation");
            let most = parameters[i].most_operations(shape.per_block);
            if most < most_operations {
                most_operations = most;
            }
            i += 1;
        }
        Self { module, name, shape, parameters, most_operations, substitute: None }
    }

    /// Returns the same kernel with a function that another machine runs in its place.
    #[cfg_attr(not(feature = "emulator"), allow(dead_code))]
    pub(crate) const fn with_substitute(self, substitute: Substitute) -> Self {
        Self { substitute: Some(substitute), ..self }
    }

    /// Returns the function that another machine runs in place of the entry point.
    #[cfg_attr(not(feature = "emulator"), allow(dead_code))]
    pub(crate) const fn substitute(&self) -> Option<Substitute> {
        self.substitute
    }

    /// Returns the same kernel in blocks of another shape.
    ///
    /// # Safety
    /// The promise of [`new`](Self::new) holds for this shape.
    #[cfg(feature = "lab")]
    #[allow(unsafe_code)]
    pub(crate) const unsafe fn in_blocks_of(&self, shape: Shape) -> Self {
        let kernel = Self::describe(self.module, self.name, shape, self.parameters);
        Self { substitute: self.substitute, ..kernel }
    }

    /// Returns whether this is a kernel of `module` itself; another module with the same text does
    /// not count.
    #[must_use]
    pub fn is_of(&self, module: &'static Module) -> bool {
        ptr::eq(self.module, module)
    }

    /// Returns the name of the entry point.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the shape of its blocks.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the arrays in order. The two numbers of [`Batch::arguments`] follow them.
    #[must_use]
    pub const fn parameters(&self) -> &'static [Parameter] {
        self.parameters
    }

    /// Returns the blocks of a launch of `operations` operations.
    #[must_use]
    pub const fn blocks(&self, operations: u32) -> u32 {
        operations.div_ceil(self.shape.per_block)
    }

    /// Returns the most operations of a batch.
    ///
    /// Kernels compute the place of an element in 32 bits, counted in elements, in words or in
    /// bytes, also for the operations of the last block that lie behind the end of the batch. With
    /// this many operations and two more blocks, the bytes of each array still have numbers of 32
    /// bits.
    #[must_use]
    pub const fn most_operations(&self) -> u32 {
        self.most_operations
    }

    /// Returns how many elements of an array, from the first on, the kernel may touch in a launch
    /// of a batch of at most [`most_operations`](Self::most_operations) operations.
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
        // (2^32 - 1)^2 + 2^32 fits in 64 bits. Each launch calls this, so there is no division.
        let last = parameter.multiple as u64 - 1;
        (rows as u64 * parameter.row as u64 + last) & !last
    }
}

/// A kernel for each ring.
#[derive(Debug)]
pub struct RingKernels {
    pub(crate) of_653: Kernel,
    pub(crate) of_761: Kernel,
    pub(crate) of_1277: Kernel,
}

impl RingKernels {
    /// Returns the kernel for the ring `R`.
    #[must_use]
    pub fn of<R: Ring>(&self) -> &Kernel {
        match R::N {
            653 => &self.of_653,
            761 => &self.of_761,
            _ => &self.of_1277,
        }
    }

    /// Returns the kernels for all rings.
    pub fn each(&self) -> [&Kernel; 3] {
        [&self.of_653, &self.of_761, &self.of_1277]
    }
}
