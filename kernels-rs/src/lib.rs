//! The entry points of the GPU kernels: `cargo xtask build-ptx` makes `crates/ctru-gpu-kernels/ptx/ctru.ptx` of them, and
//! `lab.ptx` with the feature `lab`.
#![no_std]
#![feature(abi_ptx, abi_unadjusted, asm_experimental_arch, link_llvm_intrinsics, stdarch_nvptx)]
// The intrinsics of LLVM that `gpu` links have no stable interface; the compiler is pinned by the committed PTX.
#![allow(internal_features)]

#[cfg(feature = "compared")]
mod compared;
#[cfg(not(any(feature = "compared", feature = "lab")))]
mod engine;
mod entry_points;
mod gpu;
#[cfg(feature = "lab")]
mod lab;

/// Kernels must not panic: `cargo xtask build-ptx` finds this trap and refuses the PTX.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: ends the kernel.
    unsafe { core::arch::nvptx::trap() }
}
