//! The kernels against the CPU: on the emulator, or with the feature `cuda` on a GPU.

// An input that cannot be built is a failed test.
#![allow(clippy::unwrap_used)]

mod codec;
mod emulator;
mod fused;
mod hash;
mod invert;
mod lab;
mod lengths;
mod product;
mod ptx;
