//! Arrays of bytes, read and written where they lie: the buffer protocol, Arrow arrays and DLPack
//! tensors on the host.

mod arrow;
mod buffer;
mod dlpack;
mod kind;
mod view;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use crate::errors::{type_error, type_name, value_error};

pub(crate) use kind::{Kind, Output};
pub(crate) use view::View;

/// Returns the memory of the argument `name`, an array of bytes.
///
/// # Errors
/// `TypeError` if it is no array of bytes. `ValueError` if it is not contiguous or not on the host.
pub(crate) fn view<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<View<'py>> {
    if let Some(view) = buffer::view(object, name)? {
        return Ok(view);
    }
    if let Some(view) = arrow::view(object, name)? {
        return Ok(view);
    }
    if let Some(view) = dlpack::view(object, name)? {
        return Ok(view);
    }
    Err(type_error(format!(
        "{name} is a {}, not bytes, a buffer of bytes such as a numpy array, a fixed_size_binary \
         array of Arrow or a DLPack tensor on the host",
        type_name(object)
    )))
}

/// Calls `read` with the bytes of the argument `name`.
///
/// # Errors
/// `TypeError` if it is not bytes-like, `ValueError` if it is not contiguous.
pub(crate) fn with_bytes<T>(
    object: &Bound<'_, PyAny>,
    name: &str,
    read: impl FnOnce(&[u8]) -> T,
) -> PyResult<T> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(read(bytes.as_bytes()));
    }
    match buffer::view(object, name)? {
        Some(view) => Ok(read(view.bytes())),
        None => Err(type_error(format!("{name} is a {}, not bytes", type_name(object)))),
    }
}

/// Returns a copy of the bytes of the argument `name`, wiped when dropped.
///
/// # Errors
/// `TypeError` if it is not bytes-like, `ValueError` if it is not contiguous.
pub(crate) fn copy_of(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Zeroizing<Vec<u8>>> {
    with_bytes(object, name, |bytes| Zeroizing::new(bytes.to_vec()))
}

/// Returns the memory of the argument `name`, an array of the caller's for `count` rows of results.
///
/// # Errors
/// `TypeError` if it is no array of bytes. `ValueError` if it is read-only or has another shape.
pub(crate) fn output<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
    count: usize,
    row_bytes: usize,
) -> PyResult<Output<'py>> {
    let view = view(object, name)?;
    if !view.is_writable() {
        return Err(value_error(format!("{name} is read-only")));
    }
    let rows = view.rows(name, row_bytes)?;
    if rows != count {
        return Err(value_error(format!("{name} has {rows} rows, the batch has {count}")));
    }
    Ok(Output::of_caller(object, view))
}
