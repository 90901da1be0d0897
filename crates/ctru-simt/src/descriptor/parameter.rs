//! The arrays of kernels.

use super::batch::Batch;
use crate::scalar::Value;
use crate::simt::Word;

/// The extent of a launch, on which the lengths of arrays can depend.
#[derive(Copy, Clone, Debug)]
pub struct Extent<'a> {
    /// The operations.
    pub batch: Batch,
    /// The numbers of blocks in the dimensions of the grid.
    pub grid: [u32; 3],
    /// The values of the scalars.
    pub scalars: &'a [Value],
}

/// The number of rows of an array that a launch may access.
#[derive(Copy, Clone, Debug)]
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
    /// The number that this function returns for a launch. It returns the same for the same extent.
    Of(fn(Extent<'_>) -> u64),
}

/// An array parameter of a kernel, and the part of the array that the kernel may access. This part
/// depends only on the [extent](Extent) of a launch.
#[derive(Copy, Clone, Debug)]
pub struct Parameter {
    name: &'static str,
    element_bytes: u32,
    rows: Rows,
    row: u32,
    multiple: u32,
    /// The size of the largest elements to which the kernel casts the array, in bytes.
    widest: u32,
}

impl Parameter {
    /// Describes an array whose rows have `row` elements of `element_bytes` bytes each.
    #[must_use]
    pub const fn new(name: &'static str, element_bytes: u32, rows: Rows, row: u32) -> Self {
        Self { name, element_bytes, rows, row, multiple: 1, widest: element_bytes }
    }

    /// Returns the same parameter for a kernel that accesses whole groups of `multiple` elements.
    /// `multiple` is a power of two. Launches check that the array is [aligned](Self::alignment)
    /// for a group, so the kernel may [cast](crate::simt::Simt::cast) it to elements of this size.
    #[must_use]
    pub const fn in_multiples_of(self, multiple: u32) -> Self {
        Self { multiple, ..self }
    }

    /// Returns the same parameter for a kernel that [casts](crate::simt::Simt::cast) the array to
    /// elements of type `T`. Launches check that the array is [aligned](Self::alignment) for them.
    #[must_use]
    pub const fn cast_to<T: Word>(self) -> Self {
        let widest = if self.widest < T::BYTES { T::BYTES } else { self.widest };
        Self { widest, ..self }
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

    /// Returns the number of bytes of which the address of the array must be a multiple: the size
    /// of a group of elements, but at most 16, or that of the elements to which the kernel
    /// [casts](Self::cast_to) the array, if it is larger. No access of the kernel may be wider.
    #[must_use]
    pub const fn alignment(&self) -> u32 {
        let group = self.element_bytes as u64 * self.multiple as u64;
        let group = if group < 16 { group as u32 } else { 16 };
        if group < self.widest { self.widest } else { group }
    }

    /// # Panics
    /// If the description is not valid; see [`Kernel::new`](super::Kernel::new).
    pub(super) const fn check(&self) {
        assert!(
            self.element_bytes.is_power_of_two() && self.element_bytes <= 16,
            "an element must have 1, 2, 4, 8 or 16 bytes"
        );
        assert!(self.multiple.is_power_of_two(), "the size of a group must be a power of two");
        assert!(!matches!(self.sharing(), Some(0)), "a row must belong to at least one operation");
    }

    /// Returns how many operations share a row, or `None` if all operations of a batch share it.
    const fn sharing(&self) -> Option<u32> {
        match self.rows {
            Rows::One | Rows::Of(_) => None,
            Rows::EachOrShared | Rows::EachOperation => Some(1),
            Rows::EachPair => Some(2),
            Rows::InWholeBlocks(operations) => Some(operations),
        }
    }

    /// Returns the largest number of operations that this array permits in a batch, for a kernel
    /// with `per_block` operations per block. See [`Kernel::most_operations`].
    pub(super) const fn most_operations(&self, per_block: u32) -> u32 {
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
        let most = if operations < u32::MAX as u64 { operations } else { u32::MAX as u64 };
        // The operations of two more blocks still have 32-bit numbers.
        most.saturating_sub(2 * per_block as u64) as u32
    }

    /// Returns the length of the part of the array that a kernel with `per_block` operations per
    /// block may access. See [`Kernel::elements`](super::Kernel::elements).
    pub(super) fn elements(&self, extent: Extent<'_>, per_block: u32) -> u64 {
        let operations = extent.batch.operations();
        let rows = match self.rows {
            Rows::One => 1,
            Rows::EachOrShared if extent.batch.is_shared() => 1,
            Rows::EachOrShared | Rows::EachOperation => operations,
            Rows::EachPair => operations.div_ceil(2),
            Rows::InWholeBlocks(sharing) => {
                extent.grid[0].saturating_mul(per_block).div_ceil(sharing)
            }
            Rows::Of(rows) => match self.countable(rows(extent)) {
                Some(rows) => rows,
                None => return u64::MAX,
            },
        };
        // (2^32 - 1)^2 + 2^32 fits in 64 bits. Each launch calls this function, so the rounding
        // needs no division.
        let last = u64::from(self.multiple) - 1;
        (u64::from(rows) * u64::from(self.row) + last) & !last
    }

    /// Returns `rows`, or `None` if so many rows, rounded up to whole groups, have `2^32` bytes or
    /// more.
    fn countable(&self, rows: u64) -> Option<u32> {
        let element = u64::from(self.element_bytes);
        let group = u64::from(self.multiple) * element;
        let bytes = rows.checked_mul(u64::from(self.row) * element)?.checked_add(group)?;
        u32::try_from(bytes).ok()?;
        u32::try_from(rows).ok()
    }
}
