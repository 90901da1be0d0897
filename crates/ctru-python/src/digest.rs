//! The digest of rows, which does not depend on their order.

use std::num::NonZero;
use std::ops::Range;
use std::{io, thread};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use sha2::{Digest, Sha256};

use crate::arrays::{Reading, View, begin, view};
use crate::errors::value_error;

/// The number of bytes that are worth a thread: it hashes them in some milliseconds.
const THREAD_BYTES: usize = 1 << 22;

/// A sum modulo 2^256: words of 64 bits, the lowest first.
type Sum = [u64; 4];

/// Adds two sums.
fn add(a: Sum, b: Sum) -> Sum {
    let mut carry = false;
    let mut sum = a;
    for (word, other) in sum.iter_mut().zip(b) {
        (*word, carry) = word.carrying_add(other, carry);
    }
    sum
}

/// Returns the number that a hash is, its first byte the most significant one.
fn number(hash: &[u8]) -> Sum {
    let mut words = Sum::default();
    for (word, bytes) in words.iter_mut().zip(hash.rchunks(8)) {
        *word = u64::from_be_bytes(bytes.try_into().expect("eight bytes"));
    }
    words
}

/// Returns the sum of the hashes of some rows. `numbers` has the number of each row, and a column
/// has a width of bytes for each row.
fn sum_of_hashes(numbers: &[[u8; 8]], columns: &[(&[u8], usize)], rows: Range<usize>) -> Sum {
    let hash = |row: usize| {
        let mut hasher = Sha256::new_with_prefix(numbers[row]);
        for (bytes, width) in columns {
            hasher.update(&bytes[row * width..(row + 1) * width]);
        }
        number(&hasher.finalize())
    };
    rows.map(hash).fold(Sum::default(), add)
}

/// Returns the sum of the hashes of all rows, computed by several threads if there is much to hash.
/// The threads end with the function, so it also works in a fork of a process that has called it.
///
/// # Errors
/// The system does not start a thread.
fn sum_on_threads(numbers: &[[u8; 8]], columns: &[(&[u8], usize)]) -> io::Result<Sum> {
    let count = numbers.len();
    let bytes: usize = columns.iter().map(|(bytes, _)| bytes.len()).sum();
    let most = (bytes / THREAD_BYTES).min(count);
    if most < 2 {
        return Ok(sum_of_hashes(numbers, columns, 0..count));
    }
    let threads = most.min(thread::available_parallelism().map_or(1, NonZero::get));
    thread::scope(|scope| {
        let starts = (0..count).step_by(count.div_ceil(threads));
        let parts: Vec<_> = starts
            .map(|start| {
                let rows = start..count.min(start + count.div_ceil(threads));
                let sum = move || sum_of_hashes(numbers, columns, rows);
                thread::Builder::new().spawn_scoped(scope, sum)
            })
            .collect::<io::Result<_>>()?;
        let sums = parts.into_iter().map(|part| part.join().expect("hashing does not panic"));
        Ok(sums.fold(Sum::default(), add))
    })
}

/// Returns the sum modulo 2^256 of SHA-256 of all rows, as 32 bytes, the most significant one
/// first. `rows` has the numbers of the rows, eight bytes each, little-endian. A row is hashed with
/// its number first, then its bytes of each column.
#[pyfunction]
pub(crate) fn digest<'py>(
    py: Python<'py>,
    rows: &Bound<'py, PyAny>,
    columns: &Bound<'py, PyList>,
) -> PyResult<Bound<'py, PyBytes>> {
    let rows = view(rows, "rows", None, None)?;
    if !rows.length().is_multiple_of(8) {
        return Err(value_error("rows does not have eight bytes per row"));
    }
    let count = rows.length() / 8;
    let names: Vec<_> = (0..columns.len()).map(|place| format!("columns[{place}]")).collect();
    let named = names.iter().map(String::as_str);
    let views: Vec<View<'_>> = named
        .clone()
        .zip(columns)
        .map(|(name, column)| view(&column, name, None, None))
        .collect::<PyResult<_>>()?;
    let width = |length: usize| length / count.max(1);
    let mut lengths = named.clone().zip(views.iter().map(View::length));
    if let Some((name, length)) = lengths.find(|(_, length)| *length != width(*length) * count) {
        return Err(value_error(format!("{name} has {length} bytes, which are not {count} rows")));
    }
    let mut reads = vec![("rows", rows)];
    reads.extend(named.zip(views));
    let (reads, _) = begin(py, reads, Vec::new())?;
    let mut bytes = reads.iter().map(Reading::bytes);
    let (numbers, _) = bytes.next().expect("the first array has the rows").as_chunks::<8>();
    let columns: Vec<_> = bytes.map(|bytes| (bytes, width(bytes.len()))).collect();
    let sum = py
        .detach(|| sum_on_threads(numbers, &columns))
        .map_err(|error| PyOSError::new_err(format!("no thread for the digest: {error}")))?;
    let mut bytes = [0; 32];
    for (place, word) in bytes.rchunks_exact_mut(8).zip(sum) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    Ok(PyBytes::new(py, &bytes))
}
