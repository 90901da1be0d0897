//! Compares the kernels on the emulator with the CPU.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

mod codec;
mod device;
mod fused;
mod hash;
mod invert;
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
