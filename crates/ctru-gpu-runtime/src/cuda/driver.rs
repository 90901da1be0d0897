//! The functions of the CUDA driver. They are looked up in the driver's library at the first call.
//!
//! The result of a function is a number here. The crates that declare the driver make it an enum
//! with the codes of one version of CUDA. A newer driver returns codes that the enum does not have,
//! which is undefined behaviour. With the feature `cust`, the compiler checks every signature
//! against the declaration of `cust`.
#![allow(unsafe_code, non_snake_case, clippy::too_many_arguments)]

use core::error::Error as _;
use core::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};
use core::ptr;
use std::sync::OnceLock;

use libloading::Library;

use super::sys::{
    CUDA_ERROR_ASSERT, CUDA_ERROR_CONTAINED, CUDA_ERROR_DEINITIALIZED,
    CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ILLEGAL_ADDRESS,
    CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_TIMEOUT, CUDA_ERROR_NO_DEVICE,
    CUDA_ERROR_NVLINK_UNCORRECTABLE, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_STUB_LIBRARY,
    CUDA_KERNEL_NODE_PARAMS, CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent,
    CUfunction, CUfunction_attribute, CUgraph, CUgraphExec, CUgraphNode, CUjit_option, CUmodule,
    CUstream,
};
use crate::error::RuntimeError;

/// The file name of the driver's library.
const LIBRARY: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };

/// Declares the driver's functions: defines a table of pointers to them, and one function of the
/// same name for each of them. This function calls the driver's function and returns every code
/// other than 0 as an error.
macro_rules! functions {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        /// Pointers to the functions of this machine's driver.
        struct Driver {
            $($(#[$attribute])* $name: unsafe extern "C" fn($($type),*) -> c_int,)*
            /// Not in the list above, because `cust` declares the argument as an enum, and this
            /// module passes every code.
            cuGetErrorName: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int,
        }

        // Checks that the signatures are those that `cust` declares, except for the type of the
        // result.
        #[cfg(feature = "cust")]
        const _: () = {
            use super::sys::Cust;
            use cust::sys;
            $(let _: unsafe extern "C" fn($(Cust<$type>),*) -> sys::CUresult = sys::$name;)*
        };

        impl Driver {
            /// Looks up all functions.
            ///
            /// # Safety
            /// `library` is the driver's and stays loaded until the process ends.
            unsafe fn find(library: &Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    // SAFETY: a function of this name in the driver's library has the type of the
                    // field: the signature is checked above, and the result is an enum in C, which
                    // is passed as an `int`. The library stays loaded.
                    $($(#[$attribute])* $name: *unsafe { library.get(stringify!($name)) }?,)*
                    // SAFETY: the driver's header declares it with these types; `CUresult` is an
                    // enum in C, which is passed as an `int`. The library stays loaded.
                    cuGetErrorName: *unsafe { library.get("cuGetErrorName") }?,
                })
            }
        }

        $(
            $(#[$attribute])*
            pub(super) unsafe fn $name($($argument: $type),*) -> Result<(), RuntimeError> {
                let function = driver()?.$name;
                // SAFETY: the caller keeps to the driver's documentation of this function.
                match unsafe { function($($argument),*) } {
                    0 => Ok(()),
                    code => Err(error(stringify!($name), code)),
                }
            }
        )*
    };
}

functions! {
    fn cuInit(flags: c_uint);
    fn cuDriverGetVersion(version: *mut c_int);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGet(device: *mut CUdevice, index: c_int);
    fn cuDeviceGetName(name: *mut c_char, bytes: c_int, device: CUdevice);
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
    fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    fn cuCtxPushCurrent_v2(context: CUcontext);
    fn cuCtxPopCurrent_v2(context: *mut CUcontext);
    #[cfg(feature = "cust")]
    fn cuCtxGetDevice(device: *mut CUdevice);
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
    fn cuGraphCreate(graph: *mut CUgraph, flags: c_uint);
    fn cuGraphDestroy(graph: CUgraph);
    fn cuGraphAddKernelNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        dependencies: *const CUgraphNode,
        count: usize,
        launch: *const CUDA_KERNEL_NODE_PARAMS,
    );
    fn cuGraphInstantiate_v2(
        executable: *mut CUgraphExec,
        graph: CUgraph,
        failed: *mut CUgraphNode,
        log: *mut c_char,
        log_bytes: usize,
    );
    fn cuGraphExecKernelNodeSetParams(
        executable: CUgraphExec,
        node: CUgraphNode,
        launch: *const CUDA_KERNEL_NODE_PARAMS,
    );
    fn cuGraphExecDestroy(executable: CUgraphExec);
    fn cuGraphLaunch(executable: CUgraphExec, stream: CUstream);
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
    fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    fn cuMemsetD8_v2(pointer: CUdeviceptr, value: c_uchar, bytes: usize);
    fn cuMemsetD8Async(pointer: CUdeviceptr, value: c_uchar, bytes: usize, stream: CUstream);
    fn cuStreamCreate(stream: *mut CUstream, flags: c_uint);
    #[cfg(feature = "cust")]
    fn cuStreamGetCtx(stream: CUstream, context: *mut CUcontext);
    fn cuStreamDestroy_v2(stream: CUstream);
    fn cuStreamSynchronize(stream: CUstream);
    fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
    fn cuEventCreate(event: *mut CUevent, flags: c_uint);
    fn cuEventDestroy_v2(event: CUevent);
    fn cuEventRecord(event: CUevent, stream: CUstream);
    fn cuEventSynchronize(event: CUevent);
    fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);
}

/// Returns the driver's functions. The first call opens the library, and later calls return the
/// result of the first call.
fn driver() -> Result<&'static Driver, RuntimeError> {
    static DRIVER: OnceLock<Result<Driver, RuntimeError>> = OnceLock::new();
    let absent = |error: libloading::Error| {
        let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        RuntimeError::NoDriver { reason }
    };
    let open = || {
        // SAFETY: the driver's library is made to be loaded into any process.
        let library = unsafe { Library::new(LIBRARY) }.map_err(absent)?;
        let library: &'static Library = Box::leak(Box::new(library));
        // SAFETY: this is the driver's library, which is never dropped.
        unsafe { Driver::find(library) }.map_err(absent)
    };
    DRIVER.get_or_init(open).as_ref().map_err(Clone::clone)
}

/// Returns the driver's name for an error code.
pub(super) fn name(code: c_int) -> String {
    let unknown = || "an error without a name".to_owned();
    let Ok(driver) = driver() else { return unknown() };
    let mut name = ptr::null();
    // SAFETY: `name` may be written. The function takes every number.
    let result = unsafe { (driver.cuGetErrorName)(code, &raw mut name) };
    if result != 0 || name.is_null() {
        return unknown();
    }
    // SAFETY: the string belongs to the driver and stays valid as long as the driver is loaded.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

fn error(call: &'static str, code: c_int) -> RuntimeError {
    match code {
        CUDA_ERROR_NO_DEVICE => RuntimeError::NoDevice,
        CUDA_ERROR_STUB_LIBRARY => RuntimeError::NoDriver {
            reason: format!("{LIBRARY} is a stub for linking; see LD_LIBRARY_PATH"),
        },
        code => RuntimeError::Driver { call, code, name: name(code) },
    }
}

/// Returns whether a call failed for lack of memory.
pub(super) fn is_out_of_memory(error: &RuntimeError) -> bool {
    matches!(error, RuntimeError::Driver { code: CUDA_ERROR_OUT_OF_MEMORY, .. })
}

/// Returns whether a call failed because the process is ending and the driver has shut down.
pub(super) fn is_gone(error: &RuntimeError) -> bool {
    matches!(error, RuntimeError::Driver { code: CUDA_ERROR_DEINITIALIZED, .. })
}

/// Returns whether a function that waits for operations has returned without waiting. If so,
/// operations may still be running.
///
/// Two kinds of errors mean that no operation of the context can be running. Either an operation
/// has failed, and the whole context has stopped; or the driver has shut down, and all operations
/// with it. With any other code the driver has refused to wait. This happens, for example, if other
/// code uses the same context and captures a graph in it.
pub(super) fn did_not_wait(error: &RuntimeError) -> bool {
    !matches!(
        error,
        RuntimeError::Driver {
            code: CUDA_ERROR_DEINITIALIZED
                | CUDA_ERROR_ECC_UNCORRECTABLE
                | CUDA_ERROR_NVLINK_UNCORRECTABLE
                | CUDA_ERROR_CONTAINED
                | CUDA_ERROR_ILLEGAL_ADDRESS
                | CUDA_ERROR_LAUNCH_TIMEOUT
                | CUDA_ERROR_ASSERT
                | CUDA_ERROR_HARDWARE_STACK_ERROR..=CUDA_ERROR_LAUNCH_FAILED,
            ..
        }
    )
}
