//! Arrow arrays of bytes, through the PyCapsule interface.
//!
//! An array of fixed_size_binary is read where it lies. The values of all others, and of a stream
//! of several arrays, are copied to one piece of memory first, which is wiped after the call.
//!
//! Source of the interface: Apache Arrow, "The Arrow PyCapsule Interface".
#![allow(unsafe_code)]

mod layout;
mod values;

use std::ffi::{CStr, c_int};

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use zeroize::Zeroizing;

use super::capsule::take_alone;
use super::view::{Access, Shape, View};
use crate::calls;
use crate::errors::value_error;
use crate::part::Place;
use layout::{Array, Owned, Released, Schema, Stream};
use values::{Type, Values};

/// The methods that give a capsule with an array, and one with a stream of arrays.
const ARRAY: &str = "__arrow_c_array__";
const STREAM: &str = "__arrow_c_stream__";

/// Returns whether an object is an Arrow array, or a stream of them.
pub(super) fn is_one(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(calls::attribute_if_any(object, ARRAY)?.is_some()
        || calls::attribute_if_any(object, STREAM)?.is_some())
}

/// Returns the memory of the argument `name`, or `None` if it is no Arrow array. Its rows have
/// `row_bytes` bytes, or as many as the first one has.
///
/// # Errors
/// `TypeError` if the values of the array are not bytes, `ValueError` if a row is null or has
/// another number of bytes.
pub(super) fn view<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
    row_bytes: Option<usize>,
) -> PyResult<Option<View<'py>>> {
    let py = object.py();
    if let Some(export) = calls::attribute_if_any(object, ARRAY)? {
        let capsules = calls::call(&export, (), None)?;
        let (schema, array): (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>) = capsules.extract()?;
        let (schema, array) = (taken::<Schema>(name, &schema)?, taken::<Array>(name, &array)?);
        return rows(py, name, &schema.0, vec![array], row_bytes).map(Some);
    }
    let Some(export) = calls::attribute_if_any(object, STREAM)? else { return Ok(None) };
    let capsule = calls::call(&export, (), None)?.cast_into::<PyCapsule>()?;
    let mut stream = taken::<Stream>(name, &capsule)?;
    let get_schema = stream.0.get_schema;
    let schema = next(name, &mut stream, get_schema)?;
    // SAFETY: the stream has filled the schema, which is not released.
    unsafe { Type::of(name, &schema.0)? };
    let mut chunks = Vec::new();
    loop {
        let get_next = stream.0.get_next;
        let chunk = next(name, &mut stream, get_next)?;
        if chunk.0.release.is_none() {
            return rows(py, name, &schema.0, chunks, row_bytes).map(Some);
        }
        chunks.push(chunk);
    }
}

/// Takes the structure out of the capsule of the argument `name`.
///
/// # Errors
/// `ValueError` if the capsule holds something else, or if it was released or taken before.
fn taken<T: Released>(name: &str, capsule: &Bound<'_, PyCapsule>) -> PyResult<Owned<T>> {
    let place = capsule.pointer_checked(Some(T::CAPSULE))?.cast::<T>();
    // SAFETY: a capsule with this name holds this structure. It is moved out by copying it and by
    // setting `release` to null, so that nobody else moves or releases it. No other thread of this
    // module does so between the two, and a copy of what was moved before has no `release`.
    let mut content = take_alone(capsule.py(), || unsafe {
        let moved = Owned(place.read());
        *(*place.as_ptr()).release() = None;
        moved
    });
    match content.0.release() {
        Some(_) => Ok(content),
        None => Err(value_error(format!("{name} is an Arrow array that has been released"))),
    }
}

/// Returns what a function of a stream writes.
///
/// # Errors
/// `ValueError` with what the stream says if it fails.
fn next<T: Released>(
    name: &str,
    stream: &mut Owned<Stream>,
    function: Option<unsafe extern "C" fn(*mut Stream, *mut T) -> c_int>,
) -> PyResult<Owned<T>> {
    let failed = |why: &str| value_error(format!("{name} is a stream of Arrow that failed: {why}"));
    let function = function.ok_or_else(|| failed("it has no such function"))?;
    let (stream, mut content) = (&raw mut stream.0, T::empty());
    // SAFETY: this is a function of the stream, which has not been released, and the structure is
    // one that holds nothing.
    let code = unsafe { calls::run2(function, stream, &raw mut content) };
    let content = Owned(content);
    if code == 0 {
        return Ok(content);
    }
    // SAFETY: the stream has not been released, and its last function has failed.
    let text = unsafe { (*stream).get_last_error.map(|text| calls::run1(text, stream)) };
    let text = text.filter(|text| !text.is_null());
    // SAFETY: the text is a string, until the next call of a function of the stream.
    let text = text.map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy());
    Err(failed(&text.unwrap_or_else(|| format!("error {code}").into())))
}

/// Returns the memory of the rows of the chunks of an array, which is the argument `name`.
fn rows<'py>(
    py: Python<'py>,
    name: &str,
    schema: &Schema,
    mut chunks: Vec<Owned<Array>>,
    row_bytes: Option<usize>,
) -> PyResult<View<'py>> {
    // SAFETY: the schema was filled by its producer, and is not released.
    let kind = unsafe { Type::of(name, schema)? };
    // SAFETY: the producer filled the chunks too. They are not released, because they stay in the
    // vector as long as these values live.
    let values = |chunk: &Owned<Array>| unsafe { Values::new(py, name, schema, &chunk.0) };
    let all: Vec<_> = chunks.iter().map(values).collect::<PyResult<_>>()?;
    let too_large = || value_error(format!("{name} is too large"));
    let count = all.iter().try_fold(0usize, |sum, values| sum.checked_add(values.length));
    let count = count.ok_or_else(too_large)?;
    if let (Type::Fixed(width), [values]) = (kind, &all[..]) {
        if values.valid.is_some() {
            for row in 0..count {
                values.value(row).map_err(|fault| at(name, row, fault))?;
            }
        }
        let bytes = values.in_one_piece().expect("values of a fixed size lie in one piece");
        let bytes = (bytes.as_ptr().cast_mut(), count * width);
        drop(all);
        let owner = chunks.pop();
        let shape = Shape::Dimensions(vec![count, width]);
        // SAFETY: the values lie there until the array is released. Arrow arrays are never written.
        return Ok(unsafe { View::new(bytes, Place::Host, shape, Access::READ_ONLY, owner) });
    }
    let mut numbered = (0..)
        .zip(all.iter().flat_map(|values| (0..values.length).map(move |row| values.value(row))))
        .peekable();
    let width = match (kind, row_bytes, numbered.peek()) {
        (Type::Fixed(width), ..) | (_, Some(width), _) => width,
        (_, None, Some((_, Ok(value)))) => value.len(),
        (_, None, _) => 0,
    };
    let length = count.checked_mul(width).ok_or_else(too_large)?;
    // The memory never grows, because its old memory would keep copies of secrets.
    let mut copy = Zeroizing::new(Vec::new());
    copy.try_reserve_exact(length)
        .map_err(|_| PyMemoryError::new_err(format!("no memory for the rows of {name}")))?;
    for (row, value) in numbered {
        let value = value.map_err(|fault| at(name, row, fault))?;
        if value.len() != width {
            return Err(at(name, row, format_args!("has {} bytes, not {width}", value.len())));
        }
        copy.extend_from_slice(value);
    }
    drop(all);
    let bytes = (copy.as_mut_ptr(), length);
    let shape = Shape::Dimensions(vec![count, width]);
    // SAFETY: the vector has so many bytes, and does not move them when it moves.
    Ok(unsafe { View::new(bytes, Place::Host, shape, Access::READ_ONLY, copy) })
}

/// Returns the error for a row of the argument `name`.
fn at(name: &str, row: usize, what: impl std::fmt::Display) -> PyErr {
    value_error(format!("row {row} of {name} {what}"))
}
