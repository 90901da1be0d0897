#![doc = include_str!("../README.md")]
#![cfg_attr(not(any(feature = "emulator", feature = "text")), no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(
        abi_unadjusted,
        allow_internal_unstable,
        asm_experimental_arch,
        link_llvm_intrinsics,
        stdarch_nvptx
    )
)]
// The LLVM intrinsics that `gpu` links have no stable interface, and entry points have an unstable
// calling convention. Only the compiler that makes the PTX must know them.
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

pub mod descriptor;
#[cfg(feature = "emulator")]
pub mod emulator;
#[cfg(target_arch = "nvptx64")]
pub mod gpu;
mod macros;
pub mod ptx;
pub mod scalar;
pub mod simt;
