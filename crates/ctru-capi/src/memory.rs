//! Reads and writes the memory of the caller.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::ptr::NonNull;
use std::slice;

use crate::code::{CTRU_ERROR_LENGTH, CTRU_ERROR_NULL};

/// Returns `length` bytes of the caller.
///
/// # Errors
/// [`CTRU_ERROR_NULL`] for a null pointer, [`CTRU_ERROR_LENGTH`] for more bytes than an object can
/// have, such as a negative number.
///
/// # Safety
/// A pointer that is not null points to `length` readable bytes, which nobody writes while the
/// slice lives.
pub(crate) unsafe fn input<'a>(from: *const u8, length: usize) -> Result<&'a [u8], c_int> {
    if from.is_null() {
        return Err(CTRU_ERROR_NULL);
    }
    if length > isize::MAX.unsigned_abs() {
        return Err(CTRU_ERROR_LENGTH);
    }
    // SAFETY: the caller promises this of a pointer that is not null.
    Ok(unsafe { slice::from_raw_parts(from, length) })
}

/// Returns the pointer of an output.
///
/// # Errors
/// [`CTRU_ERROR_NULL`] for a null pointer.
pub(crate) fn output(to: *mut u8) -> Result<NonNull<u8>, c_int> {
    NonNull::new(to).ok_or(CTRU_ERROR_NULL)
}

/// Writes bytes to an output of the caller.
///
/// # Safety
/// `to` points to as many writable bytes, and not into `bytes`.
pub(crate) unsafe fn write(to: NonNull<u8>, bytes: &[u8]) {
    // SAFETY: the caller promises this.
    unsafe { to.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
}
