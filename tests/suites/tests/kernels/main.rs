//! Compares the kernels with the CPU: on the emulator, or with the feature `cuda` on GPU 0. Tests
//! that need the emulator, such as those of traces, take it with this feature, too.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

mod alignment;
mod codec;
mod device;
mod fused;
mod hash;
mod invert;
mod kem;
mod lengths;
mod ntruprime;
mod ntruprime_generate;
mod operations;
mod powers;
mod product;
mod ptx;
mod traces;
mod validate;
mod whole;

use ctru_tests::{strategies, vectors};

/// The module whose kernels the tests launch.
#[cfg(feature = "cuda")]
const MODULE: &ctru_gpu_kernels::ptx::Module = &ctru_gpu_kernels::ptx::MODULE;
