//! The steps on single values that the CPU's code and the GPU kernels share, and the oracles of
//! kernels.
//!
//! This module is for the crates of this workspace. It may change at any time.

pub mod bits;
pub mod compress;
pub mod e8;
pub mod frobenius;
pub mod modular;
pub mod narrow;
pub mod sample;
pub mod secret_poly;
