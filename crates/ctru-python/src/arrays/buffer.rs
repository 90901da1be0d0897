//! Arrays with the buffer protocol: bytes, bytearray, memoryview, numpy arrays and others.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::ptr;
use std::slice;

use pyo3::buffer::ElementType;
use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;

use super::packages::{check_numpy, is_numpy};
use super::view::{Access, Shape, View};
use crate::calls;
use crate::errors::{caused_by, type_error, value_error};
use crate::part::Place;

/// A buffer that its object has given, until this is dropped.
struct Buffer<'py> {
    py: Python<'py>,
    // In a box, because the object may know its address.
    content: Box<ffi::Py_buffer>,
}

impl<'py> Buffer<'py> {
    /// Asks an object for its buffer, whatever its type and shape.
    fn get(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let mut content = Box::new(ffi::Py_buffer::new());
        let to: *mut ffi::Py_buffer = &raw mut *content;
        // SAFETY: the pointers are those of a live object and of a structure to be filled.
        match unsafe { calls::run3(ffi::PyObject_GetBuffer, object.as_ptr(), to, FULL) } {
            0 => Ok(Self { py, content }),
            _ => Err(PyErr::fetch(py)),
        }
    }

    /// Returns the format of the elements.
    fn format(&self) -> &CStr {
        if self.content.format.is_null() {
            return c"B";
        }
        // SAFETY: the format of a buffer is a string, which lives as long as the buffer.
        unsafe { CStr::from_ptr(self.content.format) }
    }

    /// Returns the lengths of the dimensions.
    fn shape(&self) -> &[isize] {
        let count = usize::try_from(self.content.ndim).unwrap_or_default();
        if count == 0 || self.content.shape.is_null() {
            return &[];
        }
        // SAFETY: a buffer has one length for each dimension, which live as long as the buffer.
        unsafe { slice::from_raw_parts(self.content.shape, count) }
    }

    /// Returns whether the elements lie one after the other, as in C.
    fn is_contiguous(&self) -> bool {
        let content = ptr::from_ref(&*self.content);
        // SAFETY: the structure is that of a buffer.
        unsafe { ffi::PyBuffer_IsContiguous(content, b'C' as c_char) == 1 }
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        let _attached = self.py;
        let content: *mut ffi::Py_buffer = &raw mut *self.content;
        // SAFETY: the buffer has not been given back.
        unsafe { calls::run1(ffi::PyBuffer_Release, content) }
    }
}

/// The flags that ask an object for all that it can say of its buffer, which may be read-only.
const FULL: std::ffi::c_int = ffi::PyBUF_FULL_RO;

/// Returns the memory of the argument `name`, or `None` if it has no buffer.
///
/// # Errors
/// `TypeError` if the elements are not unsigned bytes, or if it is a numpy array of a type that
/// says more of its elements, `ValueError` if they are not contiguous.
pub(super) fn view<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<View<'py>>> {
    // SAFETY: the pointer is that of a live object, and this thread is attached.
    if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } == 0 {
        return Ok(None);
    }
    check_numpy(object, name)?;
    let py = object.py();
    let buffer = match Buffer::get(object) {
        Ok(buffer) => buffer,
        Err(error) if is_refusal(object, &error)? => return Ok(None),
        Err(error) => {
            let text = calls::text_of(py, &error);
            let named = type_error(format!("{name} has no buffer of bytes: {text}"));
            return Err(caused_by(py, named, error));
        }
    };
    let element = ElementType::from_format(buffer.format());
    if element != (ElementType::UnsignedInteger { bytes: 1 }) || buffer.content.itemsize != 1 {
        let format = buffer.format().to_string_lossy();
        return Err(type_error(format!(
            "{name} has elements of the format {format:?}, not uint8 ('B')"
        )));
    }
    if buffer.shape().is_empty() {
        return Err(type_error(format!("{name} is one number, not an array of bytes")));
    }
    if !buffer.is_contiguous() {
        return Err(value_error(format!("{name} is not contiguous")));
    }
    let size = |length: isize| usize::try_from(length).map_err(value_error);
    let shape = match buffer.shape() {
        [] | [_] if !is_numpy(object) => Shape::Flat,
        lengths => Shape::Dimensions(lengths.iter().copied().map(size).collect::<PyResult<_>>()?),
    };
    let bytes = (buffer.content.buf.cast(), size(buffer.content.len)?);
    let access = if buffer.content.readonly == 0 { Access::Write } else { Access::READ_ONLY };
    // SAFETY: a C-contiguous buffer has its bytes at `buf`. They stay there while it is held, and
    // may be written if the buffer is not read-only.
    Ok(Some(unsafe { View::new(bytes, Place::Host, shape, access, buffer) }))
}

/// Returns whether this is the error of an array that says that it has a buffer, refuses to give
/// it, and can be a DLPack tensor, as an array of CuPy on a GPU. Its versions raise `RuntimeError`
/// or `TypeError`. A numpy array has no other memory than that of its buffer.
fn is_refusal(object: &Bound<'_, PyAny>, error: &PyErr) -> PyResult<bool> {
    let py = object.py();
    let refuses = error.is_instance_of::<PyRuntimeError>(py)
        || error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyBufferError>(py);
    Ok(refuses && !is_numpy(object) && calls::attribute_if_any(object, "__dlpack__")?.is_some())
}
