//! The kernels against the KEM, and with the feature `cuda` all tests of `ctru-gpu-kernels` once
//! more on GPU 0.

// An input that cannot be built is a failed test.
#![allow(clippy::unwrap_used)]

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

/// Includes a file of tests of `ctru-gpu-kernels`.
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
    lab "../../../crates/ctru-gpu-kernels/tests/kernels/lab.rs";
    product "../../../crates/ctru-gpu-kernels/tests/kernels/product.rs";
    traces "../../../crates/ctru-gpu-kernels/tests/kernels/traces.rs";
}
