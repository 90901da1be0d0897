//! Arrays of bytes, read and written where they lie: the buffer protocol, Arrow arrays and DLPack
//! tensors, on the host or on the GPU of an engine.

mod arrow;
mod buffer;
mod capsule;
mod dlpack;
mod in_use;
mod kind;
mod output;
mod packages;
mod view;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use crate::errors::{type_error, type_name, value_error};
use crate::gpu::Gpu;

pub(crate) use in_use::{Reading, begin};
pub(crate) use kind::Kind;
pub(crate) use output::{Output, Results};
pub(crate) use view::View;

/// Returns the memory of the argument `name`, an array of bytes on the host or on `gpu`. Rows that
/// do not lie one after the other are copied, so they need to have `row_bytes` bytes, or as many as
/// the first one.
///
/// # Errors
/// `TypeError` if it is no array of bytes. `ValueError` if it is not contiguous or in another
/// place.
pub(crate) fn view<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
    gpu: Option<&Gpu>,
    row_bytes: Option<usize>,
) -> PyResult<View<'py>> {
    if let Some(view) = buffer::view(object, name)? {
        return Ok(view);
    }
    if let Some(view) = arrow::view(object, name, row_bytes)? {
        return Ok(view);
    }
    if let Some(view) = dlpack::view(object, name, gpu)? {
        return Ok(view);
    }
    Err(type_error(format!(
        "{name} is a {}, not bytes, a buffer of bytes such as a numpy array, an Arrow array of \
         bytes such as fixed_size_binary, or a DLPack tensor",
        type_name(object)
    )))
}

/// Calls `read` with the bytes of the argument `name`, which no batch writes meanwhile.
///
/// # Errors
/// `TypeError` if it is not bytes-like, `ValueError` if it is not contiguous or shares memory with
/// an array that a batch writes.
pub(crate) fn with_bytes<T>(
    object: &Bound<'_, PyAny>,
    name: &str,
    read: impl FnOnce(&[u8]) -> T,
) -> PyResult<T> {
    // Nobody writes `bytes`, so they need no note.
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(read(bytes.as_bytes()));
    }
    let view = buffer::view(object, name)?
        .ok_or_else(|| type_error(format!("{name} is a {}, not bytes", type_name(object))))?;
    let (reads, _) = begin(object.py(), vec![(name, view)], Vec::new())?;
    Ok(read(reads[0].bytes()))
}

/// Returns a copy of the bytes of the argument `name`, wiped when dropped.
///
/// # Errors
/// Those of [`with_bytes`].
pub(crate) fn copy_of(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Zeroizing<Vec<u8>>> {
    with_bytes(object, name, |bytes| Zeroizing::new(bytes.to_vec()))
}

/// Copies the bytes of the argument `name` to `place`.
///
/// # Errors
/// Those of [`with_bytes`], and `ValueError` if the argument has another length.
pub(crate) fn copy_to(object: &Bound<'_, PyAny>, name: &str, place: &mut [u8]) -> PyResult<()> {
    with_bytes(object, name, |bytes| {
        if bytes.len() != place.len() {
            let (actual, expected) = (bytes.len(), place.len());
            return Err(value_error(format!("{name} has {actual} bytes, not {expected}")));
        }
        place.copy_from_slice(bytes);
        Ok(())
    })?
}
