//! The entry points of the GPU kernels, which `cargo xtask build-ptx` compiles to PTX.
//!
//! Without features they are those of the engine's kernels (`ctru.ptx` in
//! `crates/ctru-gpu-kernels/ptx`), with `compared` those of kernels that are compared with them
//! (`compared.ptx`), with `lab` those of the reduction laboratory (`lab.ptx`).
#![no_std]
#![feature(abi_ptx, abi_unadjusted, asm_experimental_arch, link_llvm_intrinsics, stdarch_nvptx)]
// The intrinsics of LLVM that `gpu` links have no stable interface; the compiler is pinned by the
// committed PTX.
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
    // SAFETY: the instruction ends the kernel and touches nothing.
    unsafe { core::arch::nvptx::trap() }
}
