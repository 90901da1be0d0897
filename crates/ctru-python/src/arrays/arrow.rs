//! Arrow arrays of the type fixed_size_binary, through the PyCapsule interface.
//!
//! Source of the layouts: Apache Arrow, "The Arrow C data interface" and "The Arrow PyCapsule
//! Interface".
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};

use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

use super::capsule::take_alone;
use super::in_use::described;
use super::view::{Access, Shape, View};
use crate::errors::{type_error, value_error};
use crate::part::Place;

#[repr(C)]
struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Self,
    dictionary: *mut Self,
    release: Option<unsafe extern "C" fn(*mut Self)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const c_void,
    children: *mut *mut Self,
    dictionary: *mut Self,
    release: Option<unsafe extern "C" fn(*mut Self)>,
    private_data: *mut c_void,
}

impl Drop for ArrowArray {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: this is the function that releases the array, which nobody has called: it
            // sets itself to null.
            unsafe { release(self) }
        }
    }
}

/// Returns the memory of the argument `name`, or `None` if it is no Arrow array.
///
/// # Errors
/// `TypeError` if the array has another type than fixed_size_binary, `ValueError` if a row is null.
pub(super) fn view<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<View<'py>>> {
    let Some(export) = object.getattr_opt("__arrow_c_array__")? else {
        if object.hasattr("__arrow_c_stream__")? {
            return Err(type_error(format!(
                "{name} is a stream of Arrow arrays, not one array; combine its chunks first"
            )));
        }
        return Ok(None);
    };
    let (schema, array): (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>) =
        export.call0()?.extract()?;
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<ArrowSchema>();
    let content = array.pointer_checked(Some(c"arrow_array"))?.cast::<ArrowArray>();
    // SAFETY: a capsule with this name holds this structure.
    let schema = unsafe { schema.as_ref() };
    // SAFETY: a capsule with this name holds this structure. It is moved out by copying it and by
    // setting `release` to null, so that nobody else moves or releases it. No other thread of this
    // module does so between the two, and a copy of what was moved before has no `release`.
    let content = take_alone(object.py(), || unsafe {
        let moved = content.read();
        (*content.as_ptr()).release = None;
        moved
    });
    if schema.release.is_none() || content.release.is_none() || schema.format.is_null() {
        return Err(value_error(format!("{name} is an Arrow array that has been released")));
    }
    // SAFETY: the format of a schema that is not released is a string.
    let format = unsafe { CStr::from_ptr(schema.format) }.to_string_lossy();
    let width = format.strip_prefix("w:").and_then(|width| width.parse::<usize>().ok());
    let Some(width) = width.filter(|_| schema.dictionary.is_null()) else {
        return Err(type_error(format!(
            "{name} is an Arrow array of the format {format:?}, not fixed_size_binary (\"w:..\")"
        )));
    };
    let size = |value: i64| usize::try_from(value).map_err(value_error);
    let (rows, offset) = (size(content.length)?, size(content.offset)?);
    if content.n_buffers < 2 || content.buffers.is_null() {
        return Err(value_error(format!("{name} is an Arrow array without its buffers")));
    }
    // SAFETY: an array has `n_buffers` buffers: for this type, validity and data.
    let [validity, data] = unsafe { [*content.buffers, *content.buffers.add(1)] };
    let too_large = || value_error(format!("{name} is too large"));
    if content.null_count != 0 && !validity.is_null() {
        let bytes = offset.checked_add(rows).ok_or_else(too_large)?.div_ceil(8);
        // SAFETY: the validity buffer has one bit for each row, from the offset on.
        let bits = unsafe { described(object.py(), name, validity.cast(), bytes)? };
        let is_valid = |row: &usize| bits[(offset + row) / 8] >> ((offset + row) % 8) & 1 == 1;
        if let Some(row) = (0..rows).find(|row| !is_valid(row)) {
            return Err(value_error(format!("row {row} of {name} is null")));
        }
    }
    let length = rows.checked_mul(width).ok_or_else(too_large)?;
    let skipped = offset.checked_mul(width).ok_or_else(too_large)?;
    let address = data.cast::<u8>().cast_mut().wrapping_add(skipped);
    let address = if data.is_null() { data.cast::<u8>().cast_mut() } else { address };
    if address.is_null() && length > 0 {
        return Err(value_error(format!("{name} is an Arrow array without its data")));
    }
    let shape = Shape::Dimensions(vec![rows, width]);
    let bytes = (address, length);
    // SAFETY: the data buffer has `width` bytes for each row, from the offset on. It lives until
    // the array is released. Arrow arrays are never written.
    Ok(Some(unsafe { View::new(bytes, Place::Host, shape, Access::READ_ONLY, content) }))
}
