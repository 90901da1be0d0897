//! Arrays with the buffer protocol: bytes, bytearray, memoryview, numpy arrays and others.
#![allow(unsafe_code)]

use pyo3::buffer::{ElementType, PyUntypedBuffer};
use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;

use super::packages::is_numpy;
use super::view::{Access, Shape, View};
use crate::errors::{caused_by, type_error, value_error};
use crate::part::Place;

/// Returns the memory of the argument `name`, or `None` if it has no buffer.
///
/// # Errors
/// `TypeError` if the elements are not unsigned bytes, `ValueError` if they are not contiguous.
pub(super) fn view<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<View<'py>>> {
    // SAFETY: the pointer is that of a live object, and this thread is attached.
    if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } == 0 {
        return Ok(None);
    }
    let buffer = match PyUntypedBuffer::get(object) {
        Ok(buffer) => buffer,
        Err(error) if is_refusal(object, &error)? => return Ok(None),
        Err(error) => {
            let named = type_error(format!("{name} has no buffer of bytes: {error}"));
            return Err(caused_by(object.py(), named, error));
        }
    };
    let element = ElementType::from_format(buffer.format());
    if element != (ElementType::UnsignedInteger { bytes: 1 }) || buffer.item_size() != 1 {
        let format = buffer.format().to_string_lossy();
        return Err(type_error(format!(
            "{name} has elements of the format {format:?}, not uint8 ('B')"
        )));
    }
    if !buffer.is_c_contiguous() {
        return Err(value_error(format!("{name} is not contiguous")));
    }
    let shape = match buffer.shape() {
        [] | [_] if !is_numpy(object) => Shape::Flat,
        lengths => Shape::Dimensions(lengths.to_vec()),
    };
    let bytes = (buffer.buf_ptr().cast(), buffer.len_bytes());
    let access = if buffer.readonly() { Access::READ_ONLY } else { Access::Write };
    // SAFETY: a C-contiguous buffer has its bytes at `buf_ptr`. They stay there while it is held,
    // and may be written if the buffer is not read-only.
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
    Ok(refuses && !is_numpy(object) && object.hasattr("__dlpack__")?)
}
