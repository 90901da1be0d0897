//! The codes that functions return, and their texts.

use std::ffi::{CStr, c_char, c_int};
use std::panic::{self, AssertUnwindSafe};

use ctru_kem::wiping_the_stack;

/// The function has done its work.
pub const CTRU_OK: c_int = 0;
/// A pointer is null.
pub const CTRU_ERROR_NULL: c_int = 1;
/// The number of bytes of a buffer does not fit the number of operations.
pub const CTRU_ERROR_LENGTH: c_int = 2;
/// No parameter set has this number.
pub const CTRU_ERROR_SET: c_int = 3;
/// The bytes are no public key.
pub const CTRU_ERROR_PUBLIC_KEY: c_int = 4;
/// The bytes are no secret key.
pub const CTRU_ERROR_SECRET_KEY: c_int = 5;
/// The operating system gives no randomness.
pub const CTRU_ERROR_RANDOMNESS: c_int = 6;
/// The engine could not start its threads.
pub const CTRU_ERROR_ENGINE: c_int = 7;
/// The library has a defect: a function stopped in the middle.
pub const CTRU_ERROR_INTERNAL: c_int = 8;
/// There is not enough memory for a batch.
pub const CTRU_ERROR_MEMORY: c_int = 9;
/// The threads of the engine belong to another process: a fork does not have them.
pub const CTRU_ERROR_FORK: c_int = 10;
/// The number of threads is larger than `CTRU_MAX_THREADS`.
pub const CTRU_ERROR_THREADS: c_int = 11;

/// Returns the text of a code. It lives as long as the program.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub extern "C" fn ctru_strerror(code: c_int) -> *const c_char {
    text(code).as_ptr()
}

fn text(code: c_int) -> &'static CStr {
    match code {
        CTRU_OK => c"success",
        CTRU_ERROR_NULL => c"a pointer is null",
        CTRU_ERROR_LENGTH => c"a buffer has the wrong number of bytes",
        CTRU_ERROR_SET => c"no parameter set has this number",
        CTRU_ERROR_PUBLIC_KEY => c"the bytes are no public key",
        CTRU_ERROR_SECRET_KEY => c"the bytes are no secret key",
        CTRU_ERROR_RANDOMNESS => c"the operating system gives no randomness",
        CTRU_ERROR_ENGINE => c"the engine could not start its threads",
        CTRU_ERROR_INTERNAL => c"internal error",
        CTRU_ERROR_MEMORY => c"there is not enough memory for the batch",
        CTRU_ERROR_FORK => c"the engine belongs to another process; make one in each process",
        CTRU_ERROR_THREADS => c"an engine has at most 4096 threads",
        _ => c"unknown code",
    }
}

/// Runs `work`, and returns its code. A panic does not cross the border to C: it gives
/// [`CTRU_ERROR_INTERNAL`].
pub(crate) fn code_of(work: impl FnOnce() -> Result<(), c_int>) -> c_int {
    // `work` writes its outputs at the end, so after a panic nothing is half written.
    match panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => CTRU_OK,
        Ok(Err(code)) => code,
        Err(_) => CTRU_ERROR_INTERNAL,
    }
}

/// Runs `work` like [`code_of`], and then overwrites `STACK` bytes of the stack, at least as many
/// as `work` uses.
pub(crate) fn wiping<const STACK: usize>(work: impl FnOnce() -> Result<(), c_int>) -> c_int {
    wiping_the_stack::<STACK, _>(|| code_of(work))
}
