//! The memory of an array of bytes, whatever the kind of the array.
#![allow(unsafe_code)]

use std::ops::Range;
use std::ptr::NonNull;
use std::slice;

use pyo3::prelude::*;

use crate::errors::value_error;

/// What keeps the memory of an array alive until it is dropped.
pub(super) trait Owner {}

impl<T> Owner for T {}

/// The shape of an array.
#[derive(Debug)]
pub(super) enum Shape {
    /// Bytes without a shape: any number of rows, one after the other.
    Flat,
    /// The lengths of the dimensions.
    Dimensions(Vec<usize>),
}

/// Whether an array takes results.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// It does.
    Write,
    /// It does not. The text says why, and the name of the array stands before it.
    Read(&'static str),
}

impl Access {
    /// The access to an array that must not be written.
    pub(super) const READ_ONLY: Self = Self::Read("is read-only");
}

/// The memory of a contiguous array of bytes.
///
/// While a call uses this memory, no other call of the process writes to these addresses, and none
/// reads what this one writes: [`InUse`](super::InUse) sees to it. It does not see that two
/// addresses are the same memory, as in a file that is mapped twice, nor what other processes do
/// with shared memory. Code that is not of this package, such as a function of numpy in another
/// thread, can still write to it, as it can with each array that a function in C reads. Rust's
/// rules forbid all of that, nothing here can prevent it, and a copy of each batch would cost too
/// much, so the documentation of the package forbids it. Neither a length nor an index depends on
/// what is read, and each bit pattern is a byte, so wrong results are what compiled code then
/// gives.
pub(crate) struct View<'py> {
    address: NonNull<u8>,
    length: usize,
    shape: Shape,
    access: Access,
    _owner: Box<dyn Owner + 'py>,
}

impl<'py> View<'py> {
    /// Returns the view of `length` bytes at `address`. The address of an empty array may be null.
    ///
    /// # Safety
    /// The bytes are readable, and writable if `access` says so, as long as `owner` is not dropped.
    pub(super) unsafe fn new(
        address: *mut u8,
        length: usize,
        shape: Shape,
        access: Access,
        owner: impl Owner + 'py,
    ) -> Self {
        let address = match NonNull::new(address) {
            Some(address) if length > 0 => address,
            _ => NonNull::dangling(),
        };
        Self { address, length, shape, access, _owner: Box::new(owner) }
    }

    /// Returns the number of bytes.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Returns the bytes. Callers note before that they read them, by [`InUse`](super::InUse).
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `new` was called with readable bytes, which the owner keeps. Nobody writes them
        // as long as the slice is used: `InUse` keeps the other calls of this package away, and the
        // documentation forbids it to all other code. An empty slice may have any address but null.
        unsafe { slice::from_raw_parts(self.address.as_ptr(), self.length) }
    }

    /// Returns the bytes for writing. Callers note before that they write them, by
    /// [`InUse`](super::InUse).
    ///
    /// # Panics
    /// If the array does not take results.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        assert_eq!(self.access, Access::Write, "the array does not take results");
        // SAFETY: `new` was called with writable bytes, which the owner keeps. Nobody else reads or
        // writes them as long as the slice is used: `InUse` keeps the other calls of this package
        // away, and the documentation forbids it to all other code.
        unsafe { slice::from_raw_parts_mut(self.address.as_ptr(), self.length) }
    }

    /// Checks that the argument `name` takes results.
    ///
    /// # Errors
    /// `ValueError` if it does not.
    pub(super) fn check_writable(&self, name: &str) -> PyResult<()> {
        match self.access {
            Access::Write => Ok(()),
            Access::Read(reason) => Err(value_error(format!("{name} {reason}"))),
        }
    }

    /// Returns whether the array has rows as a dimension of its own.
    pub(super) fn has_rows(&self) -> bool {
        matches!(&self.shape, Shape::Dimensions(lengths) if lengths.len() == 2)
    }

    /// Returns the number of rows of `row_bytes` bytes that the argument `name` has. An array of
    /// one dimension is one row.
    ///
    /// # Errors
    /// `ValueError` if the array has no such rows.
    pub(crate) fn rows(&self, name: &str, row_bytes: usize) -> PyResult<usize> {
        match &self.shape {
            Shape::Flat if self.length.is_multiple_of(row_bytes) => Ok(self.length / row_bytes),
            Shape::Flat => Err(value_error(format!(
                "{name} has {} bytes, which are not rows of {row_bytes}",
                self.length
            ))),
            Shape::Dimensions(lengths) => match lengths[..] {
                [rows, width] if width == row_bytes => Ok(rows),
                [width] if width == row_bytes => Ok(1),
                _ => Err(value_error(format!(
                    "{name} has the shape {lengths:?}, not [count, {row_bytes}]"
                ))),
            },
        }
    }

    /// Returns the addresses of the bytes.
    pub(super) fn addresses(&self) -> Range<usize> {
        let start = self.address.as_ptr() as usize;
        start..start + self.length
    }
}
