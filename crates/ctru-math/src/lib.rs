#![doc = include_str!("../README.md")]
#![no_std]
// Only builds for the GPU use unstable features, because they need an unstable compiler anyway, for
// `kernel::narrow`.
#![cfg_attr(
    target_arch = "nvptx64",
    feature(asm_experimental_arch, const_eval_select, core_intrinsics),
    allow(internal_features)
)]

mod arithmetic;
pub mod array;
pub mod backend;
pub mod codec;
mod compiled;
pub mod compress;
pub mod e8;
pub mod invert;
#[doc(hidden)]
pub mod kernel;
#[doc(hidden)]
pub mod mixed_radix;
pub mod mul;
mod poly;
mod powers;
mod ring;
pub mod sample;
pub mod short;
mod simd;
pub mod ternary;
#[cfg(all(test, target_arch = "x86_64"))]
mod testing;
mod wipe;

pub use arithmetic::{Arithmetic, NtruPrimeArithmetic};
pub use poly::{CoefficientError, Poly, RoundedPoly, SmallPoly};
pub use ring::*;
