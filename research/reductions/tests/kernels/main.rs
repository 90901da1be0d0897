//! Compares the laboratory's kernels on the emulator, or with the feature `cuda` on GPU 0, with the
//! CPU, and checks the lengths of their arrays.

// A failure in a helper is a failed test.
#![allow(clippy::unwrap_used)]

#[path = "../../../../tests/suites/tests/kernels/device/mod.rs"]
mod device;
mod lengths;
mod methods;

/// The module whose kernels the tests launch.
#[cfg(feature = "cuda")]
const MODULE: &ctru_gpu_kernels::ptx::Module = &research_reductions::MODULE;
