//! Compares the kernels on the emulator, or with the feature `cuda` on GPU 0, with the CPU.

// A failure in a helper is a failed test.
#![allow(clippy::unwrap_used)]

#[path = "../../../../tests/suites/tests/kernels/device/mod.rs"]
mod device;
#[path = "../../../../tests/suites/tests/kernels/operations.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod operations;
mod product;
mod steps;
#[path = "../../../../tests/suites/tests/kernels/traces.rs"]
mod traces;

use ctru_tests::{strategies, vectors};

/// The module whose kernels the tests launch.
#[cfg(feature = "cuda")]
const MODULE: &ctru_gpu_kernels::ptx::Module = &research_paper::table::MODULE;
