//! The driver's functions as this crate calls them: named as in the driver's documentation, with errors as
//! [`RuntimeError`].
//!
//! Results are declared as plain numbers here. `cust` declares them as an enum of the codes of CUDA 11.4, which a newer
//! driver's codes do not fit.
#![allow(unsafe_code, non_snake_case, clippy::too_many_arguments)]

use core::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};
use core::ptr;

use cust::error::CudaError;
use cust::sys::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUfunction_attribute, CUjit_option,
    CUmodule, CUstream,
};

use crate::error::RuntimeError;

const OUT_OF_MEMORY: c_int = 2;
const DEINITIALISED: c_int = 4;
const STUB_LIBRARY: c_int = 34;
const NO_DEVICE: c_int = 100;
const ECC_UNCORRECTABLE: c_int = 214;
const NVLINK_UNCORRECTABLE: c_int = 220;
const CONTAINED: c_int = 226;
const ILLEGAL_ADDRESS: c_int = 700;
const LAUNCH_TIMEOUT: c_int = 702;
const ASSERT: c_int = 710;
const HARDWARE_STACK_ERROR: c_int = 714;
const LAUNCH_FAILED: c_int = 719;

/// The driver's name for a code.
pub(super) fn name(code: c_int) -> String {
    unsafe extern "C" {
        fn cuGetErrorName(error: c_int, name: *mut *const c_char) -> c_int;
    }
    let mut name = ptr::null();
    // SAFETY: `name` may be written. The function takes every number.
    let code = unsafe { cuGetErrorName(code, &raw mut name) };
    if code != 0 || name.is_null() {
        return "an error without a name".into();
    }
    // SAFETY: the driver returned a string of its own, which is there as long as the driver.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

fn error(call: &'static str, code: c_int) -> RuntimeError {
    match code {
        NO_DEVICE => RuntimeError::NoDevice,
        STUB_LIBRARY => RuntimeError::NoDriver {
            reason: "the libcuda.so.1 found is a stub for linking (see LD_LIBRARY_PATH)".into(),
        },
        code => RuntimeError::Driver { call, code, name: name(code) },
    }
}

/// The error of a call that `cust` made.
pub(super) fn from_cust(call: &'static str) -> impl Fn(CudaError) -> RuntimeError {
    move |cause| error(call, cause as c_int)
}

/// Whether a call failed because memory ran out.
pub(super) fn is_out_of_memory(error: &RuntimeError) -> bool {
    matches!(error, RuntimeError::Driver { code: OUT_OF_MEMORY, .. })
}

/// Returns whether a call failed because the process ends and the driver is gone.
pub(super) fn is_gone(error: &RuntimeError) -> bool {
    matches!(error, RuntimeError::Driver { code: DEINITIALISED, .. })
}

/// Returns whether a function that waits for operations has returned without waiting, so that they
/// may still be under way.
///
/// So it is with every error but those after which no operation of the context can be under way.
/// These are the errors that an operation leaves to the whole context, which does nothing any more;
/// and if the driver is gone, all operations are. With any other code the driver has refused the
/// call: the context is not only ours, and another library may capture a graph in it, for example.
pub(super) fn did_not_wait(error: &RuntimeError) -> bool {
    !matches!(
        error,
        RuntimeError::Driver {
            code: DEINITIALISED
                | ECC_UNCORRECTABLE
                | NVLINK_UNCORRECTABLE
                | CONTAINED
                | ILLEGAL_ADDRESS
                | LAUNCH_TIMEOUT
                | ASSERT
                | HARDWARE_STACK_ERROR..=LAUNCH_FAILED,
            ..
        }
    )
}

macro_rules! calls {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {$(
        pub(super) unsafe fn $name($($argument: $type),*) -> Result<(), RuntimeError> {
            unsafe extern "C" {
                fn $name($($argument: $type),*) -> c_int;
            }
            // SAFETY: the caller keeps to the driver's documentation of this function.
            match unsafe { $name($($argument),*) } {
                0 => Ok(()),
                code => Err(error(stringify!($name), code)),
            }
        }
    )*};
}

calls! {
    fn cuInit(flags: c_uint);
    fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    fn cuCtxPushCurrent_v2(context: CUcontext);
    fn cuCtxPopCurrent_v2(context: *mut CUcontext);
    fn cuCtxSynchronize();
    fn cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        count: c_uint,
        options: *mut CUjit_option,
        values: *mut *mut c_void,
    );
    fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    fn cuFuncGetAttribute(value: *mut c_int, attribute: CUfunction_attribute, function: CUfunction);
    fn cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int);
    fn cuLaunchKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: CUstream,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    );
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        function: CUfunction,
        threads: c_int,
        shared_bytes: usize,
    );
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemAlloc_v2(pointer: *mut CUdeviceptr, bytes: usize);
    fn cuMemFree_v2(pointer: CUdeviceptr);
    fn cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint);
    fn cuMemFreeHost(pointer: *mut c_void);
    fn cuMemHostRegister_v2(pointer: *mut c_void, bytes: usize, flags: c_uint);
    fn cuMemHostUnregister(pointer: *mut c_void);
    fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    fn cuMemsetD8_v2(pointer: CUdeviceptr, value: c_uchar, bytes: usize);
    fn cuMemsetD8Async(pointer: CUdeviceptr, value: c_uchar, bytes: usize, stream: CUstream);
    fn cuStreamCreate(stream: *mut CUstream, flags: c_uint);
    fn cuStreamDestroy_v2(stream: CUstream);
    fn cuStreamSynchronize(stream: CUstream);
    fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
    fn cuEventCreate(event: *mut CUevent, flags: c_uint);
    fn cuEventDestroy_v2(event: CUevent);
    fn cuEventRecord(event: CUevent, stream: CUstream);
    fn cuEventSynchronize(event: CUevent);
    fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);
}
