//! Compares the kernels with the KEM. With the feature `cuda`, also runs all tests of
//! `ctru-gpu-kernels` on GPU 0.

// A failure in a helper is a failed test.
#![allow(clippy::unwrap_used)]

mod alignment;
mod kem;

#[cfg(feature = "cuda")]
mod device;
#[cfg(not(feature = "cuda"))]
#[path = "../../../crates/ctru-gpu-kernels/tests/kernels/device.rs"]
mod device;
#[path = "../../../crates/ctru-gpu-kernels/tests/kernels/operations.rs"]
#[cfg_attr(not(feature = "cuda"), allow(dead_code))]
mod operations;

use ctru_tests::strategies;
#[cfg(feature = "cuda")]
use ctru_tests::vectors;

/// Includes files of tests of `ctru-gpu-kernels` if the feature `cuda` is on.
macro_rules! on_gpu {
    ($($name:ident $path:literal;)*) => {$(
        #[cfg(feature = "cuda")]
        #[path = $path]
        mod $name;
    )*};
}
on_gpu! {
    codec "../../../crates/ctru-gpu-kernels/tests/kernels/codec.rs";
    fused "../../../crates/ctru-gpu-kernels/tests/kernels/fused.rs";
    hash "../../../crates/ctru-gpu-kernels/tests/kernels/hash.rs";
    invert "../../../crates/ctru-gpu-kernels/tests/kernels/invert.rs";
    ntruprime "../../../crates/ctru-gpu-kernels/tests/kernels/ntruprime.rs";
    ntruprime_generate "../../../crates/ctru-gpu-kernels/tests/kernels/ntruprime_generate.rs";
    product "../../../crates/ctru-gpu-kernels/tests/kernels/product.rs";
    traces "../../../crates/ctru-gpu-kernels/tests/kernels/traces.rs";
    validate "../../../crates/ctru-gpu-kernels/tests/kernels/validate.rs";
}

/// The module whose kernels the tests launch.
#[cfg(feature = "cuda")]
const MODULE: &ctru_gpu_kernels::ptx::Module = &ctru_gpu_kernels::ptx::MODULE;
