//! Compares the kernels on the emulator with the CPU.

// Tests may unwrap: a test must fail if its input cannot be built.
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
