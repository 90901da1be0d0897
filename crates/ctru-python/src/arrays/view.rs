//! The memory of an array of bytes, whatever the kind of the array.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::slice;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::value_error;

/// What keeps the memory of an array alive, and where it lies.
pub(super) enum Owner<'py> {
    /// A buffer, which its object may not move or free while it is held.
    Buffer { _held: PyUntypedBuffer },
    /// A capsule with the array.
    Capsule { _held: Bound<'py, PyCapsule> },
    /// An object that owns its memory as long as it lives.
    Object { _held: Bound<'py, PyAny> },
}

/// The shape of an array.
#[derive(Debug)]
pub(super) enum Shape {
    /// Bytes without a shape: any number of rows, one after the other.
    Flat,
    /// The lengths of the dimensions.
    Dimensions(Vec<usize>),
}

/// The memory of a contiguous array of bytes.
///
/// Other threads of Python can write to the array while a batch is computed, as to every array that
/// functions in C compute with. The documentation of the package forbids it. What a batch gives is
/// then unspecified; no length depends on the content.
pub(crate) struct View<'py> {
    address: NonNull<u8>,
    length: usize,
    shape: Shape,
    is_writable: bool,
    _owner: Owner<'py>,
}

impl<'py> View<'py> {
    /// Returns the view of `length` bytes at `address`. The address of an empty array may be null.
    ///
    /// # Safety
    /// The bytes are readable, and writable if `is_writable`, as long as `owner` is held.
    pub(super) unsafe fn new(
        address: *mut u8,
        length: usize,
        shape: Shape,
        is_writable: bool,
        owner: Owner<'py>,
    ) -> Self {
        let address = match NonNull::new(address) {
            Some(address) if length > 0 => address,
            _ => NonNull::dangling(),
        };
        Self { address, length, shape, is_writable, _owner: owner }
    }

    /// Returns the bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `new` was called with readable bytes, which the owner keeps. An empty slice may
        // have any address but null.
        unsafe { slice::from_raw_parts(self.address.as_ptr(), self.length) }
    }

    /// Returns the bytes for writing.
    ///
    /// # Panics
    /// If the array is read-only.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        assert!(self.is_writable, "the array is read-only");
        // SAFETY: `new` was called with writable bytes, which the owner keeps.
        unsafe { slice::from_raw_parts_mut(self.address.as_ptr(), self.length) }
    }

    /// Returns whether the bytes may be written.
    pub(crate) fn is_writable(&self) -> bool {
        self.is_writable
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

    /// Returns whether the arrays share memory.
    pub(crate) fn overlaps(&self, other: &View<'_>) -> bool {
        let range = |view: &View<'_>| {
            let start = view.address.as_ptr() as usize;
            start..start + view.length
        };
        let (own, others) = (range(self), range(other));
        own.start < others.end && others.start < own.end
    }
}
