//! Batches of operations, and the blocks that work on them.

use core::fmt;

/// The operations of a launch, and whether they share rows of their arrays.
///
/// In arrays with the rows [`EachOrShared`](super::Rows::EachOrShared), one row can serve all
/// operations of a launch. An example is the key of a batch with one key.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    operations: u32,
    /// The number of rows in arrays with `Rows::EachOrShared`: 1 if all operations share row 0,
    /// else `operations`.
    rows: u32,
}

impl Batch {
    /// Creates a batch in which each operation has its own row in every array with
    /// [`EachOrShared`](super::Rows::EachOrShared).
    #[must_use]
    pub const fn each(operations: u32) -> Self {
        Self { operations, rows: operations }
    }

    /// Creates a batch in which all operations use row 0 of every array with
    /// [`EachOrShared`](super::Rows::EachOrShared).
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

    /// Returns whether all operations use row 0 of every array with
    /// [`EachOrShared`](super::Rows::EachOrShared). This is also true for every batch of one
    /// operation.
    #[must_use]
    #[inline(always)]
    pub const fn is_shared(self) -> bool {
        self.rows == 1
    }

    /// Returns the row that an operation uses in an array with
    /// [`EachOrShared`](super::Rows::EachOrShared).
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
    /// Whether the grid may have more than one block in its second and third dimension.
    pub(super) has_planes: bool,
}

impl Shape {
    /// Creates the shape of blocks with `threads` threads, `per_block` operations and
    /// `shared_bytes` bytes of shared memory.
    #[must_use]
    pub const fn new(threads: u32, per_block: u32, shared_bytes: u32) -> Self {
        Self { threads, per_block, shared_bytes, has_planes: false }
    }

    /// Returns the same shape for a kernel that may run in [grids](super::Kernel::in_grid) of two
    /// and three dimensions.
    #[must_use]
    pub const fn in_planes(self) -> Self {
        Self { has_planes: true, ..self }
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

/// The error of a grid in which a kernel cannot run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GridError {
    /// The kernel is written for grids of one dimension.
    OneDimension {
        /// The name of the kernel.
        kernel: &'static str,
    },
    /// A dimension of the grid cannot have this number of blocks.
    Blocks {
        /// The name of the kernel.
        kernel: &'static str,
        /// The number of blocks.
        blocks: u32,
    },
}

impl fmt::Display for GridError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneDimension { kernel } => {
                write!(f, "{kernel} runs in grids of one dimension only: see Shape::in_planes")
            }
            Self::Blocks { kernel, blocks } => write!(
                f,
                "{kernel}: a grid has 1 to 65535 blocks in its second and third dimension, not \
                 {blocks}"
            ),
        }
    }
}

impl core::error::Error for GridError {}
