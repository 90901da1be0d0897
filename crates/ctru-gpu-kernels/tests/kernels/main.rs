//! The kernels on the emulator against the CPU.

// An input that cannot be built is a failed test.
#![allow(clippy::unwrap_used)]

mod codec;
mod device;
mod emulator;
mod fused;
mod hash;
mod invert;
mod lab;
mod lengths;
mod operations;
mod product;
mod ptx;
#[path = "../../../ctru-math/tests/math/common/strategies.rs"]
#[allow(unreachable_pub)]
mod strategies;
mod traces;
#[path = "../../../ctru-math/tests/math/common/vectors.rs"]
#[allow(dead_code, unreachable_pub)]
mod vectors;
