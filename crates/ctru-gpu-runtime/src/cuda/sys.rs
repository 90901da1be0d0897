//! The types and constants of the CUDA driver that this crate uses, with the driver's names.
//! Source: `cuda.h` of CUDA 11.4, which later versions keep.
//!
//! With the feature `cust`, the compiler compares each of them with the declaration of the crate
//! `cust`, which a tool has made from that file.
#![allow(non_camel_case_types, non_snake_case)]

use core::ffi::{c_int, c_uint, c_void};

/// A type that `cust` declares too, or that has the same name everywhere.
#[cfg(feature = "cust")]
pub(super) trait Declared {
    /// The type of `cust`.
    type Cust;
}

/// The type that `cust` has for `T`.
#[cfg(feature = "cust")]
pub(super) type Cust<T> = <T as Declared>::Cust;

/// States that `cust` uses these types themselves.
macro_rules! shared {
    ($($name:ty),*) => {
        $(
            #[cfg(feature = "cust")]
            impl Declared for $name {
                type Cust = Self;
            }
        )*
    };
}

shared! { c_void, i8, u8, i32, u32, u64, usize, f32 }

#[cfg(feature = "cust")]
impl<T: Declared> Declared for *mut T {
    type Cust = *mut T::Cust;
}
#[cfg(feature = "cust")]
impl<T: Declared> Declared for *const T {
    type Cust = *const T::Cust;
}

/// Declares handles: pointers to objects of the driver, whose content only the driver knows.
macro_rules! handles {
    ($($handle:ident = *mut $object:ident;)*) => {
        $(
            #[repr(C)]
            pub(super) struct $object {
                _content: [u8; 0],
            }
            pub(super) type $handle = *mut $object;

            #[cfg(feature = "cust")]
            impl Declared for $object {
                type Cust = cust::sys::$object;
            }
            #[cfg(feature = "cust")]
            const _: Option<cust::sys::$handle> = None::<Cust<$handle>>;
        )*
    };
}

handles! {
    CUcontext = *mut CUctx_st;
    CUmodule = *mut CUmod_st;
    CUfunction = *mut CUfunc_st;
    CUevent = *mut CUevent_st;
    CUstream = *mut CUstream_st;
    CUgraph = *mut CUgraph_st;
    CUgraphNode = *mut CUgraphNode_st;
    CUgraphExec = *mut CUgraphExec_st;
}

/// Declares enums. They lack values that this crate does not use, so it passes them to the driver
/// and never receives one.
macro_rules! enums {
    ($($(#[$attribute:meta])* enum $name:ident { $($value:ident = $number:literal,)* })*) => {
        $(
            $(#[$attribute])*
            #[repr(i32)]
            #[derive(Copy, Clone)]
            pub(super) enum $name {
                $($value = $number,)*
            }

            #[cfg(feature = "cust")]
            impl Declared for $name {
                type Cust = cust::sys::$name;
            }
            #[cfg(feature = "cust")]
            const _: () = {
                assert!(size_of::<$name>() == size_of::<Cust<$name>>());
                $(assert!($name::$value as i32 == cust::sys::$name::$value as i32);)*
            };
        )*
    };
}

enums! {
    /// Properties of a GPU.
    enum CUdevice_attribute {
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    }
    /// Properties of a compiled kernel.
    enum CUfunction_attribute {
        CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
        CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
        CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    }
    /// Options of the driver's compiler.
    enum CUjit_option {
        CU_JIT_ERROR_LOG_BUFFER = 5,
        CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
    }
}

/// Declares a structure.
macro_rules! structure {
    ($(#[$attribute:meta])* struct $name:ident { $($field:ident: $type:ty,)* }) => {
        $(#[$attribute])*
        #[repr(C)]
        #[derive(Copy, Clone)]
        pub(super) struct $name {
            $(pub(super) $field: $type,)*
        }

        #[cfg(feature = "cust")]
        impl Declared for $name {
            type Cust = cust::sys::$name;
        }
        #[cfg(feature = "cust")]
        const _: () = {
            use core::mem::offset_of;
            assert!(size_of::<$name>() == size_of::<Cust<$name>>());
            assert!(align_of::<$name>() == align_of::<Cust<$name>>());
            $(assert!(offset_of!($name, $field) == offset_of!(Cust<$name>, $field));)*
            // A pattern with all fields, of these types.
            let _ = |other: Cust<$name>| -> ($(Cust<$type>,)*) {
                let cust::sys::$name { $($field,)* } = other;
                ($($field,)*)
            };
        };
    };
}

structure! {
    /// A launch.
    struct CUDA_KERNEL_NODE_PARAMS {
        func: CUfunction,
        gridDimX: c_uint,
        gridDimY: c_uint,
        gridDimZ: c_uint,
        blockDimX: c_uint,
        blockDimY: c_uint,
        blockDimZ: c_uint,
        sharedMemBytes: c_uint,
        kernelParams: *mut *mut c_void,
        extra: *mut *mut c_void,
    }
}

/// Declares numbers, each with its place in `cust`.
macro_rules! numbers {
    ($($(#[$attribute:meta])* $name:ident: $type:ty = $number:literal in $($place:ident),*;)*) => {
        $(
            $(#[$attribute])*
            pub(super) const $name: $type = $number;
            #[cfg(feature = "cust")]
            const _: () = assert!($name == cust::$($place::)*$name as $type);
        )*
    };
}

numbers! {
    CU_MEMHOSTALLOC_PORTABLE: c_uint = 1 in sys;
    CU_MEMHOSTREGISTER_PORTABLE: c_uint = 1 in sys;
    /// The flag of a stream that does not wait for the default stream.
    CU_STREAM_NON_BLOCKING: c_uint = 1 in sys, CUstream_flags_enum;
    /// The flag of an event that records its time.
    CU_EVENT_DEFAULT: c_uint = 0 in sys, CUevent_flags_enum;
    /// The flag of an event that only orders operations.
    CU_EVENT_DISABLE_TIMING: c_uint = 2 in sys, CUevent_flags_enum;

    CUDA_ERROR_OUT_OF_MEMORY: c_int = 2 in sys, CUresult;
    CUDA_ERROR_DEINITIALIZED: c_int = 4 in sys, CUresult;
    CUDA_ERROR_NO_DEVICE: c_int = 100 in sys, CUresult;
    CUDA_ERROR_ECC_UNCORRECTABLE: c_int = 214 in sys, CUresult;
    CUDA_ERROR_INVALID_PTX: c_int = 218 in sys, CUresult;
    CUDA_ERROR_NVLINK_UNCORRECTABLE: c_int = 220 in sys, CUresult;
    CUDA_ERROR_ILLEGAL_ADDRESS: c_int = 700 in sys, CUresult;
    CUDA_ERROR_LAUNCH_TIMEOUT: c_int = 702 in sys, CUresult;
    CUDA_ERROR_ASSERT: c_int = 710 in sys, CUresult;
    CUDA_ERROR_HARDWARE_STACK_ERROR: c_int = 714 in sys, CUresult;
    CUDA_ERROR_LAUNCH_FAILED: c_int = 719 in sys, CUresult;
}

/// A result that is newer than `cust`.
pub(super) const CUDA_ERROR_STUB_LIBRARY: c_int = 34;
/// A result that is newer than `cust`.
pub(super) const CUDA_ERROR_CONTAINED: c_int = 226;

pub(super) type CUdevice = c_int;
pub(super) type CUdeviceptr = u64;
#[cfg(feature = "cust")]
const _: Option<(cust::sys::CUdevice, cust::sys::CUdeviceptr)> = None::<(CUdevice, CUdeviceptr)>;
