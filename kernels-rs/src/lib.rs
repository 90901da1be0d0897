//! The entry points of the GPU kernels, which `cargo xtask build-ptx` compiles to PTX.
//!
//! The features choose one of three modules in `crates/ctru-gpu-kernels/ptx`:
//!
//! - no feature: `ctru.ptx`, the engine's kernels.
//! - `compared`: `compared.ptx`, kernels that measurements compare with the engine's.
//! - `lab`: `lab.ptx`, the kernels of the reduction laboratory.
#![no_std]
#![feature(abi_ptx, abi_unadjusted, asm_experimental_arch, link_llvm_intrinsics, stdarch_nvptx)]
// The LLVM intrinsics that `gpu` links have no stable interface. This is no risk for users, because
// the compiled PTX is committed.
#![allow(internal_features)]

#[cfg(feature = "compared")]
mod compared;
#[cfg(not(any(feature = "compared", feature = "lab")))]
mod engine;
mod entry_points;
mod gpu;
#[cfg(feature = "lab")]
mod lab;

/// Traps. Kernels must not panic, so `cargo xtask build-ptx` refuses PTX with this trap.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: the instruction ends the kernel and touches nothing.
    unsafe { core::arch::nvptx::trap() }
}
