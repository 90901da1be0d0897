//! The memory of an array of bytes, whatever the kind of the array.
#![allow(unsafe_code)]

use std::ops::Range;

use pyo3::prelude::*;

use crate::errors::value_error;
use crate::part::Place;

/// A value that keeps the memory of an array alive until it is dropped.
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

/// The access to an array.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Calls may read the array and write results to it.
    Write,
    /// Calls may only read the array. The text is the end of an error message that begins with the
    /// name of the array.
    Read(&'static str),
}

impl Access {
    /// The access to an array that must not be written.
    pub(super) const READ_ONLY: Self = Self::Read("is read-only");
}

/// The memory of a contiguous array of bytes, which may be that of a GPU. A view gives no access to
/// the bytes: [`in_use::begin`](super::begin) does.
pub(crate) struct View<'py> {
    pub(super) address: usize,
    pub(super) length: usize,
    pub(super) place: Place,
    shape: Shape,
    access: Access,
    _owner: Box<dyn Owner + 'py>,
}

impl<'py> View<'py> {
    /// Returns the view of `length` bytes at `address`. The address of an empty array may be null.
    ///
    /// # Safety
    /// As long as `owner` is not dropped, the bytes are readable, and writable if `access` says so.
    /// Bytes of a GPU are mapped at these addresses, and accessible in its primary context.
    pub(super) unsafe fn new(
        (address, length): (*mut u8, usize),
        place: Place,
        shape: Shape,
        access: Access,
        owner: impl Owner + 'py,
    ) -> Self {
        let address = address.expose_provenance();
        Self { address, length, place, shape, access, _owner: Box::new(owner) }
    }

    /// Returns the view of bytes of an object. They can only be lent by an object that does not
    /// change them, as a frozen class of this package.
    pub(crate) fn of_object<T: 'py>(
        object: Bound<'py, T>,
        bytes: impl for<'a> FnOnce(&'a Bound<'py, T>) -> &'a [u8],
    ) -> Self {
        let content = bytes(&object);
        let bytes = (content.as_ptr().cast_mut(), content.len());
        // SAFETY: the bytes live as long as the object, which the view keeps.
        unsafe { Self::new(bytes, Place::Host, Shape::Flat, Access::READ_ONLY, object) }
    }

    /// Returns the number of bytes.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Returns where the bytes are.
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Returns whether the first byte has an address that is a multiple of 8, if there is one.
    pub(super) fn is_aligned(&self) -> bool {
        self.length == 0 || self.address.is_multiple_of(8)
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

    /// Returns the addresses of the bytes. Those of GPUs and those of the host differ.
    pub(super) fn addresses(&self) -> Range<usize> {
        self.address..self.address + self.length
    }
}
