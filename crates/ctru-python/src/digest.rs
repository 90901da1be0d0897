//! The digest of rows, which does not depend on their order.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::arrays::{View, view};
use crate::errors::value_error;

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

/// Returns the sum modulo 2^256 of SHA-256 of all rows, as 32 bytes, the most significant one
/// first. `rows` has the numbers of the rows, eight bytes each, little-endian. A row is hashed with
/// its number first, then its bytes of each column.
#[pyfunction]
pub(crate) fn digest<'py>(
    py: Python<'py>,
    rows: &Bound<'py, PyAny>,
    columns: Vec<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let rows = view(rows, "rows")?;
    let (numbers, rest) = rows.bytes().as_chunks::<8>();
    if !rest.is_empty() {
        return Err(value_error("rows does not have eight bytes per row"));
    }
    let count = numbers.len();
    let views: Vec<View<'_>> =
        columns.iter().map(|column| view(column, "a column")).collect::<PyResult<_>>()?;
    let columns: Vec<(&[u8], usize)> =
        views.iter().map(|view| (view.bytes(), view.bytes().len() / count.max(1))).collect();
    if let Some((bytes, _)) = columns.iter().find(|(bytes, width)| bytes.len() != width * count) {
        let length = bytes.len();
        return Err(value_error(format!(
            "a column has {length} bytes, which are not {count} rows"
        )));
    }
    let hash = |(row, row_number): (usize, &[u8; 8])| {
        let mut hasher = Sha256::new_with_prefix(row_number);
        for (bytes, width) in &columns {
            hasher.update(&bytes[row * width..(row + 1) * width]);
        }
        number(&hasher.finalize())
    };
    let sum = py.detach(|| numbers.par_iter().enumerate().map(hash).reduce(Sum::default, add));
    let mut bytes = [0; 32];
    for (place, word) in bytes.rchunks_exact_mut(8).zip(sum) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    Ok(PyBytes::new(py, &bytes))
}
