//! Loads the driver when it is first needed, instead of when the program starts.
//!
//! `cust` declares the driver's functions, `cuInit` and so on, and asks the linker for `libcuda`. A program linked that
//! way does not start on a machine without a driver. So this module defines the functions that `cust` and this crate
//! use: each is one jump through a slot. The slots first lead to a function that returns
//! `CUDA_ERROR_NOT_INITIALIZED`; [`load`] opens the driver's library and fills them. The linker finds every name
//! here, takes nothing from `libcuda`, and so does not make the program depend on it.
//!
//! The names are hidden: no other library in the process sees them.
#![allow(unsafe_code)]

use crate::error::RuntimeError;

/// Makes the driver's functions callable.
///
/// # Errors
/// [`RuntimeError::NoDriver`] if there is no driver on this machine.
pub(super) fn load() -> Result<(), RuntimeError> {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    slots::fill()?;
    Ok(())
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod slots {
    use core::arch::global_asm;
    use core::error::Error as _;
    use core::ffi::{CStr, c_void};
    use core::mem::ManuallyDrop;
    use core::ptr;
    use core::sync::atomic::{AtomicPtr, Ordering};
    use std::sync::OnceLock;

    use libloading::Library;

    use crate::error::RuntimeError;

    /// What the driver's functions return before the driver is loaded: `CUDA_ERROR_NOT_INITIALIZED`.
    #[cfg(target_arch = "x86_64")]
    macro_rules! absent {
        () => {
            "ctru_cuda_absent:\nmov eax, 3\nret"
        };
    }
    #[cfg(target_arch = "aarch64")]
    macro_rules! absent {
        () => {
            "ctru_cuda_absent:\nmov w0, #3\nret"
        };
    }

    /// The function `name`: a jump to where its slot points, with all arguments in place.
    #[cfg(target_arch = "x86_64")]
    macro_rules! jump {
        ($name:ident) => {
            concat!(
                ".globl ",
                stringify!($name),
                "\n.hidden ",
                stringify!($name),
                "\n.type ",
                stringify!($name),
                ",@function\n",
                stringify!($name),
                ":\njmp qword ptr [rip + .Lctru_slot_",
                stringify!($name),
                "]"
            )
        };
    }
    #[cfg(target_arch = "aarch64")]
    macro_rules! jump {
        ($name:ident) => {
            concat!(
                ".globl ",
                stringify!($name),
                "\n.hidden ",
                stringify!($name),
                "\n.type ",
                stringify!($name),
                ",@function\n",
                stringify!($name),
                ":\nadrp x16, .Lctru_slot_",
                stringify!($name),
                "\nldr x16, [x16, :lo12:.Lctru_slot_",
                stringify!($name),
                "]\nbr x16"
            )
        };
    }

    macro_rules! forward {
        ($($name:ident)*) => {
            /// The names, in the order of the slots; each ends with a zero.
            const NAMES: &[&str] = &[$(concat!(stringify!($name), "\0")),*];

            global_asm!(
                ".pushsection .data.ctru_cuda_slots,\"aw\",@progbits",
                ".balign 8",
                ".globl ctru_cuda_slots",
                ".hidden ctru_cuda_slots",
                "ctru_cuda_slots:",
                $(concat!(".Lctru_slot_", stringify!($name), ": .8byte ctru_cuda_absent"),)*
                ".popsection",
                ".pushsection .text.ctru_cuda,\"ax\",@progbits",
                ".balign 16",
                absent!(),
                $(concat!(".balign 16\n", jump!($name)),)*
                ".popsection",
            );
        };
    }

    // Every function that cust 0.3.2 calls, and those of this crate. A name that is missing here would be taken from
    // libcuda, and the program would depend on it again: the test `starts_without_driver` tells.
    forward! {
        cuArray3DCreate_v2 cuArray3DGetDescriptor_v2 cuArrayDestroy cuCtxCreate_v2 cuCtxDestroy_v2
        cuCtxGetApiVersion cuCtxGetCacheConfig cuCtxGetCurrent cuCtxGetDevice cuCtxGetFlags cuCtxGetLimit
        cuCtxGetSharedMemConfig cuCtxGetStreamPriorityRange cuCtxPopCurrent_v2 cuCtxPushCurrent_v2
        cuCtxSetCacheConfig cuCtxSetCurrent cuCtxSetLimit cuCtxSetSharedMemConfig cuCtxSynchronize
        cuDestroyExternalMemory cuDeviceGet cuDeviceGetAttribute cuDeviceGetCount cuDeviceGetName
        cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxReset_v2 cuDevicePrimaryCtxRetain
        cuDevicePrimaryCtxSetFlags_v2 cuDeviceTotalMem_v2 cuDriverGetVersion cuEventCreate
        cuEventDestroy_v2 cuEventElapsedTime cuEventQuery cuEventRecord cuEventSynchronize
        cuExternalMemoryGetMappedBuffer cuFuncGetAttribute cuFuncSetAttribute cuFuncSetCacheConfig
        cuFuncSetSharedMemConfig cuGetErrorName cuGetErrorString cuGraphAddKernelNode cuGraphCreate
        cuGraphDebugDotPrint cuGraphDestroy cuGraphGetEdges cuGraphGetNodes cuGraphKernelNodeGetParams
        cuGraphNodeGetType cuImportExternalMemory cuInit cuLaunchHostFunc cuLaunchKernel cuLinkAddData_v2
        cuLinkComplete cuLinkCreate_v2 cuLinkDestroy cuMemAdvise cuMemAllocAsync cuMemAllocHost_v2
        cuMemAllocManaged cuMemAlloc_v2 cuMemFreeAsync cuMemFreeHost cuMemFree_v2 cuMemGetInfo_v2
        cuMemHostAlloc cuMemHostRegister_v2 cuMemHostUnregister cuMemPrefetchAsync cuMemcpy2D_v2 cuMemcpyAtoH_v2 cuMemcpyDtoDAsync_v2
        cuMemcpyDtoD_v2 cuMemcpyDtoHAsync_v2 cuMemcpyDtoH_v2 cuMemcpyHtoA_v2 cuMemcpyHtoDAsync_v2
        cuMemcpyHtoD_v2 cuMemsetD16Async cuMemsetD16_v2 cuMemsetD32Async cuMemsetD32_v2 cuMemsetD8Async
        cuMemsetD8_v2 cuModuleGetFunction cuModuleGetGlobal_v2 cuModuleLoad cuModuleLoadData
        cuModuleLoadDataEx cuModuleUnload cuOccupancyAvailableDynamicSMemPerBlock
        cuOccupancyMaxActiveBlocksPerMultiprocessor cuOccupancyMaxPotentialBlockSize cuStreamCreate
        cuStreamCreateWithPriority cuStreamDestroy_v2 cuStreamGetFlags cuStreamGetPriority
        cuStreamSynchronize cuStreamWaitEvent cuSurfObjectCreate cuSurfObjectDestroy
        cuSurfObjectGetResourceDesc cuTexObjectCreate cuTexObjectDestroy cuTexObjectGetResourceDesc
        cuTexObjectGetResourceViewDesc
    }

    // SAFETY: the assembly above defines it, as many pointers as there are names. The driver's functions may be called
    // by other threads while the slots are filled, so both sides treat them as atomic: an aligned load is, on both
    // architectures.
    unsafe extern "C" {
        static ctru_cuda_slots: [AtomicPtr<c_void>; NAMES.len()];
    }

    /// Opens the library and fills the slots, once; later calls return what the first one found.
    pub(super) fn fill() -> Result<(), RuntimeError> {
        static DONE: OnceLock<Result<(), RuntimeError>> = OnceLock::new();
        DONE.get_or_init(|| {
            // SAFETY: the driver's library is made to be loaded into any process.
            let library = unsafe { Library::new("libcuda.so.1") }.map_err(|error| {
                let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                RuntimeError::NoDriver { reason }
            })?;
            // The slots point into it until the process ends.
            let library = ManuallyDrop::new(library);
            // SAFETY: it is defined above, and only ever written through its atomics.
            let slots = unsafe { &*ptr::addr_of!(ctru_cuda_slots) };
            for (slot, name) in slots.iter().zip(NAMES) {
                let Ok(name) = CStr::from_bytes_with_nul(name.as_bytes()) else { continue };
                // SAFETY: the symbol is only passed on, to code that declares it as the driver's header does. A driver
                // that lacks it leaves the slot as it is.
                if let Ok(symbol) = unsafe { library.get::<*mut c_void>(name) } {
                    slot.store(*symbol, Ordering::Release);
                }
            }
            Ok(())
        })
        .clone()
    }
}
