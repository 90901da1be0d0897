//! The structures by which libraries exchange Arrow arrays.
//!
//! Source of the layouts: Apache Arrow, "The Arrow C data interface" and "The Arrow C stream
//! interface".

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::calls;

#[repr(C)]
pub(super) struct Schema {
    pub(super) format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Self,
    pub(super) dictionary: *mut Self,
    pub(super) release: Option<unsafe extern "C" fn(*mut Self)>,
    private_data: *mut c_void,
}

#[repr(C)]
pub(super) struct Array {
    pub(super) length: i64,
    pub(super) null_count: i64,
    pub(super) offset: i64,
    pub(super) n_buffers: i64,
    n_children: i64,
    pub(super) buffers: *const *const c_void,
    children: *mut *mut Self,
    pub(super) dictionary: *mut Self,
    pub(super) release: Option<unsafe extern "C" fn(*mut Self)>,
    private_data: *mut c_void,
}

#[repr(C)]
pub(super) struct Stream {
    pub(super) get_schema: Option<unsafe extern "C" fn(*mut Self, *mut Schema) -> c_int>,
    pub(super) get_next: Option<unsafe extern "C" fn(*mut Self, *mut Array) -> c_int>,
    pub(super) get_last_error: Option<unsafe extern "C" fn(*mut Self) -> *const c_char>,
    pub(super) release: Option<unsafe extern "C" fn(*mut Self)>,
    private_data: *mut c_void,
}

/// A structure that its producer releases.
pub(super) trait Released: Sized {
    /// The name of the capsule that holds one.
    const CAPSULE: &'static CStr;

    /// Returns a structure that holds nothing.
    fn empty() -> Self;

    /// Returns the function that releases it, if nobody has called it.
    fn release(&mut self) -> &mut Option<unsafe extern "C" fn(*mut Self)>;
}

/// Implements [`Released`].
macro_rules! released {
    ($type:ident, $capsule:literal) => {
        impl Released for $type {
            const CAPSULE: &'static CStr = $capsule;

            fn empty() -> Self {
                // SAFETY: pointers, numbers and functions that there may be can all be zero.
                unsafe { std::mem::zeroed() }
            }

            fn release(&mut self) -> &mut Option<unsafe extern "C" fn(*mut Self)> {
                &mut self.release
            }
        }
    };
}

released!(Schema, c"arrow_schema");
released!(Array, c"arrow_array");
released!(Stream, c"arrow_array_stream");

/// A structure that is released when this is dropped.
pub(super) struct Owned<T: Released>(pub(super) T);

impl<T: Released> Drop for Owned<T> {
    fn drop(&mut self) {
        if let Some(release) = *self.0.release() {
            // SAFETY: this is the function that releases the structure, which nobody has called: it
            // sets itself to null. The thread is attached, as all users of this type are.
            unsafe { calls::run1(release, &raw mut self.0) }
        }
    }
}
