//! Compares the kernels with the CPU: on the emulator, or with the feature `cuda` on GPU 0.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

mod alignment;
mod codec;
mod device;
mod fused;
mod hash;
mod invert;
mod kem;
mod ntruprime;
mod ntruprime_generate;
mod operations;
mod product;
mod traces;
mod validate;

// These need the emulator.
#[cfg(not(feature = "cuda"))]
mod lengths;
#[cfg(not(feature = "cuda"))]
mod powers;
#[cfg(not(feature = "cuda"))]
mod ptx;
#[cfg(not(feature = "cuda"))]
mod whole;

use ctru_tests::{strategies, vectors};

/// The module whose kernels the tests launch.
#[cfg(feature = "cuda")]
const MODULE: &ctru_gpu_kernels::ptx::Module = &ctru_gpu_kernels::ptx::MODULE;
