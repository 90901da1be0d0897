//! Views of slices of keys, ciphertexts and shared secrets as arrays or as bytes, and of bytes as
//! these values.
//!
//! The parameter sets and the device engine compute on bytes. These views pass the caller's slices
//! to them without a copy.
#![allow(unsafe_code)]

use core::slice;

use ctru_math::array::Array;

use crate::error::InvalidLength;

/// A type that consists of one array of bytes.
///
/// # Safety
/// The type is `repr(transparent)` over `Bytes`, which is an array of `u8`. Any content of the
/// array is sound: no unsafe code relies on the values of the bytes.
pub(crate) unsafe trait Transparent: Sized {
    /// The array that the type consists of.
    type Bytes: Array<u8>;
}

/// Returns the bytes of all values, one value after the other.
#[cfg(feature = "std")]
pub(crate) fn bytes<T: Transparent>(values: &[T]) -> &[u8] {
    // SAFETY: `Transparent` says that values consist of bytes, all initialised. The bytes are
    // borrowed as long as the values.
    unsafe { slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Returns the bytes of all values, one value after the other, for writing.
///
/// If the values are keys, the caller may write only complete keys or placeholders, because code
/// relies on keys being well formed.
#[cfg(feature = "std")]
pub(crate) fn bytes_mut<T: Transparent>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: `Transparent` says that values consist of bytes, and that any bytes are a value. The
    // bytes are borrowed exclusively as long as the values.
    unsafe { slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// Returns bytes as the values that they are, one after the other. If the values are keys, the
/// caller checks their content.
///
/// # Errors
/// [`InvalidLength`] if the bytes of the last value are not complete.
pub(crate) fn values<T: Transparent>(bytes: &[u8]) -> Result<&[T], InvalidLength> {
    let count = whole::<T>(bytes.len())?;
    // SAFETY: `Transparent` says that a value consists of an array of bytes, which needs no
    // alignment, and that any bytes are a value. `count` values have as many bytes as `bytes`. The
    // values are borrowed as long as the bytes.
    Ok(unsafe { slice::from_raw_parts(bytes.as_ptr().cast(), count) })
}

/// Returns bytes as the values that they are, one after the other, for writing. If the values are
/// keys, the caller overwrites them before anything reads them.
///
/// # Errors
/// [`InvalidLength`] if the bytes of the last value are not complete.
#[cfg(feature = "std")]
pub(crate) fn values_mut<T: Transparent>(bytes: &mut [u8]) -> Result<&mut [T], InvalidLength> {
    let count = whole::<T>(bytes.len())?;
    // SAFETY: `Transparent` says that a value consists of an array of bytes, which needs no
    // alignment, and that any bytes are a value. `count` values have as many bytes as `bytes`. The
    // values are borrowed exclusively as long as the bytes.
    Ok(unsafe { slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), count) })
}

/// Returns the number of values that have this many bytes in all.
fn whole<T: Transparent>(bytes: usize) -> Result<usize, InvalidLength> {
    match bytes % T::Bytes::LEN {
        0 => Ok(bytes / T::Bytes::LEN),
        actual => Err(InvalidLength { expected: T::Bytes::LEN, actual }),
    }
}
