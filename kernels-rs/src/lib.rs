//! The entry points of the GPU kernels, which `cargo xtask build-ptx` compiles to PTX.
//!
//! The features choose one of three modules in `crates/ctru-gpu-kernels/ptx`:
//!
//! - no feature: `ctru.ptx`, the engine's kernels.
//! - `compared`: `compared.ptx`, kernels that measurements compare with the engine's.
//! - `lab`: `lab.ptx`, the kernels of the reduction laboratory.
#![no_std]

#[cfg(feature = "compared")]
mod compared;
#[cfg(not(any(feature = "compared", feature = "lab")))]
mod engine;
#[cfg(not(feature = "lab"))]
mod entry_points;
#[cfg(feature = "lab")]
mod lab;
