//! The values of an Arrow array of bytes, whatever its type.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::fmt;
use std::slice;

use pyo3::prelude::*;

use super::layout::{Array, Schema};
use crate::arrays::in_use::{Reading, begin};
use crate::arrays::view::{Access, Shape, View};
use crate::errors::{type_error, value_error};
use crate::part::Place;

/// A type whose values are bytes, or numbers that stand for bytes of a dictionary.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// fixed_size_binary, with the bytes of a value.
    Fixed(usize),
    /// binary and large_binary, with the bytes of an offset.
    Variable(usize),
    /// binary_view.
    Views,
    /// The indices of a dictionary.
    Indices(Index),
}

/// The type of an index.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Index {
    bytes: usize,
    is_signed: bool,
}

impl Index {
    /// Returns the index at a place, if a dictionary may have it.
    fn read(self, bytes: &[u8], place: usize) -> Option<usize> {
        let signed = number(bytes, place, self.bytes);
        match self.is_signed {
            true => signed.try_into().ok(),
            false => usize::try_from(signed as u64 & (u64::MAX >> (64 - 8 * self.bytes))).ok(),
        }
    }
}

impl Type {
    /// Returns the type of the argument `name`.
    ///
    /// # Errors
    /// `TypeError` if its values are not bytes, `ValueError` if the schema says nothing.
    ///
    /// # Safety
    /// The schema has been filled, and not released.
    pub(super) unsafe fn of(name: &str, schema: &Schema) -> PyResult<Self> {
        if schema.format.is_null() {
            return Err(value_error(format!("{name} is an Arrow array without its type")));
        }
        // SAFETY: the format of a schema is a string.
        let format = unsafe { CStr::from_ptr(schema.format) }.to_string_lossy();
        if !schema.dictionary.is_null() {
            let bytes = match &*format {
                "c" | "C" => 1,
                "s" | "S" => 2,
                "i" | "I" => 4,
                "l" | "L" => 8,
                _ => return Err(refused(name, &format)),
            };
            let is_signed = matches!(&*format, "c" | "s" | "i" | "l");
            // SAFETY: the dictionary has a schema of its own, which lives as long as this one.
            return match unsafe { Self::of(name, &*schema.dictionary)? } {
                Self::Indices(_) => Err(refused(name, "a dictionary of a dictionary")),
                _ => Ok(Self::Indices(Index { bytes, is_signed })),
            };
        }
        let width = format.strip_prefix("w:").and_then(|width| width.parse().ok());
        match (&*format, width) {
            (_, Some(width)) => Ok(Self::Fixed(width)),
            ("z", _) => Ok(Self::Variable(4)),
            ("Z", _) => Ok(Self::Variable(8)),
            ("vz", _) => Ok(Self::Views),
            _ => Err(refused(name, &format)),
        }
    }
}

/// Returns the error for an argument of another type.
fn refused(name: &str, format: &str) -> PyErr {
    let kind = match format {
        "u" => "string",
        "U" => "large_string",
        "vu" => "string_view",
        "n" => "null",
        "+s" => "struct, or a table",
        "+r" => "run_end_encoded",
        "c" | "C" | "s" | "S" | "i" | "I" | "l" | "L" => "integers",
        other => other,
    };
    type_error(format!(
        "{name} is an Arrow array of {kind} ({format:?}), not of fixed_size_binary, binary, \
         large_binary, binary_view or a dictionary of these"
    ))
}

/// The values of an array, where they lie.
pub(super) struct Values<'py> {
    offset: usize,
    pub(super) length: usize,
    /// A bit for each value, from the offset on, if there may be nulls.
    pub(super) valid: Option<Reading<'py>>,
    content: Content<'py>,
}

enum Content<'py> {
    Fixed { bytes: Reading<'py>, width: usize },
    Variable { offsets: Reading<'py>, of_offset: usize, bytes: Reading<'py> },
    Views { views: Reading<'py>, buffers: Vec<Reading<'py>> },
    Indices { indices: Reading<'py>, index: Index, values: Box<Values<'py>> },
}

/// What is wrong with a value.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is null.
    Null,
    /// The array says that it lies outside of the array's memory.
    Outside,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "is null",
            Self::Outside => "lies outside of its array",
        })
    }
}

/// The number of bytes of a view of binary_view.
const VIEW: usize = 16;
/// The largest number of bytes of a value that lies in its view.
const INLINE: usize = 12;

impl<'py> Values<'py> {
    /// Returns the values of an array of this type, which is the argument `name`.
    ///
    /// # Errors
    /// `ValueError` if the array is not complete, or if a call writes its memory at this time.
    ///
    /// # Safety
    /// The array and the schema are what a producer has filled, and stay until this is dropped.
    pub(super) unsafe fn new(
        py: Python<'py>,
        name: &str,
        schema: &Schema,
        array: &Array,
    ) -> PyResult<Self> {
        // SAFETY: the caller promises the same.
        let kind = unsafe { Type::of(name, schema)? };
        let size = |value: i64| {
            let error = || value_error(format!("{name} is an Arrow array of {value} rows"));
            usize::try_from(value).map_err(|_| error())
        };
        let (length, offset) = (size(array.length)?, size(array.offset)?);
        let too_large = || value_error(format!("{name} is too large"));
        let end = offset.checked_add(length).ok_or_else(too_large)?;
        let incomplete = || value_error(format!("{name} is an Arrow array without its buffers"));
        let count = usize::try_from(array.n_buffers).map_err(|_| incomplete())?;
        let fewest = match kind {
            Type::Fixed(_) | Type::Indices(_) => 2,
            Type::Variable(_) | Type::Views => 3,
        };
        if count < fewest || array.buffers.is_null() {
            return Err(incomplete());
        }
        // SAFETY: an array has `n_buffers` pointers to buffers.
        let buffers = unsafe { slice::from_raw_parts(array.buffers, count) };
        let read = |place: usize, items: usize, of_item: usize| -> PyResult<Reading<'py>> {
            let length = items.checked_mul(of_item).ok_or_else(too_large)?;
            let address = buffers[place].cast_mut().cast::<u8>();
            if address.is_null() && length > 0 {
                return Err(value_error(format!("{name} is an Arrow array without its data")));
            }
            // SAFETY: the buffers of an array of this type have so many bytes, and live until the
            // array is released. Arrow arrays are never written.
            let view = unsafe {
                View::new((address, length), Place::Host, Shape::Flat, Access::READ_ONLY, ())
            };
            let (mut reads, _) = begin(py, vec![(name, view)], Vec::new())?;
            Ok(reads.remove(0))
        };
        let has_nulls = array.null_count != 0 && !buffers[0].is_null();
        let valid = has_nulls.then(|| read(0, end.div_ceil(8), 1)).transpose()?;
        let content = match kind {
            Type::Fixed(width) => Content::Fixed { bytes: read(1, end, width)?, width },
            Type::Variable(of_offset) => {
                // An array without rows may have no offsets.
                let count =
                    if length == 0 { 0 } else { end.checked_add(1).ok_or_else(too_large)? };
                let offsets = read(1, count, of_offset)?;
                let last = count.checked_sub(1).map_or(Some(0), |last| {
                    usize::try_from(number(offsets.bytes(), last, of_offset)).ok()
                });
                let bytes = read(2, last.ok_or_else(incomplete)?, 1)?;
                Content::Variable { offsets, of_offset, bytes }
            }
            Type::Views => {
                let views = read(1, end, VIEW)?;
                let lengths = read(count - 1, count - fewest, 8)?;
                let buffer = |place: usize| {
                    let length = usize::try_from(number(lengths.bytes(), place, 8));
                    read(2 + place, length.map_err(|_| incomplete())?, 1)
                };
                let buffers = (0..count - fewest).map(buffer).collect::<PyResult<_>>()?;
                Content::Views { views, buffers }
            }
            Type::Indices(index) => {
                if array.dictionary.is_null() {
                    return Err(incomplete());
                }
                // SAFETY: the dictionaries of both live as long as these, and that of the schema is
                // not null, because the type is that of indices.
                let values =
                    unsafe { Self::new(py, name, &*schema.dictionary, &*array.dictionary)? };
                let indices = read(1, end, index.bytes)?;
                Content::Indices { indices, index, values: Box::new(values) }
            }
        };
        Ok(Self { offset, length, valid, content })
    }

    /// Returns the bytes of a value.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn value(&self, row: usize) -> Result<&[u8], Fault> {
        let place = self.offset + row;
        let bit = |bits: &Reading<'_>| bits.bytes()[place / 8] >> (place % 8) & 1 == 1;
        if !self.valid.as_ref().is_none_or(bit) {
            return Err(Fault::Null);
        }
        let place_of = |number: i64| usize::try_from(number).map_err(|_| Fault::Outside);
        match &self.content {
            Content::Fixed { bytes, width } => {
                Ok(&bytes.bytes()[place * width..(place + 1) * width])
            }
            Content::Variable { offsets, of_offset, bytes } => {
                let offset = |place| place_of(number(offsets.bytes(), place, *of_offset));
                bytes.bytes().get(offset(place)?..offset(place + 1)?).ok_or(Fault::Outside)
            }
            Content::Views { views, buffers } => {
                let view = &views.bytes()[place * VIEW..(place + 1) * VIEW];
                let field = |place| place_of(number(view, place, 4));
                let length = field(0)?;
                if length <= INLINE {
                    return Ok(&view[4..4 + length]);
                }
                let (buffer, start) = (field(2)?, field(3)?);
                let buffer = buffers.get(buffer).ok_or(Fault::Outside)?;
                buffer.bytes().get(start..start + length).ok_or(Fault::Outside)
            }
            Content::Indices { indices, index, values } => {
                match index.read(indices.bytes(), place) {
                    Some(index) if index < values.length => values.value(index),
                    _ => Err(Fault::Outside),
                }
            }
        }
    }

    /// Returns the bytes of all values, one after the other, if they lie so.
    pub(super) fn in_one_piece(&self) -> Option<&[u8]> {
        match &self.content {
            Content::Fixed { bytes, width } => Some(&bytes.bytes()[self.offset * width..]),
            _ => None,
        }
    }
}

/// Returns the number at a place of an array of numbers of so many bytes each.
fn number(bytes: &[u8], place: usize, of_number: usize) -> i64 {
    let bytes = &bytes[place * of_number..(place + 1) * of_number];
    match *bytes {
        [a] => i8::from_ne_bytes([a]).into(),
        [a, b] => i16::from_ne_bytes([a, b]).into(),
        [a, b, c, d] => i32::from_ne_bytes([a, b, c, d]).into(),
        _ => i64::from_ne_bytes(bytes.try_into().expect("numbers have up to eight bytes")),
    }
}
