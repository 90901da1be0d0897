#![doc = include_str!("../README.md")]
#![no_std]
// Fused multiplication and addition is not stable in `core` yet; the device crate is built by a compiler that has it.
#![cfg_attr(target_arch = "nvptx64", feature(core_float_math))]
#![cfg_attr(
    all(target_arch = "nvptx64", feature = "narrow"),
    feature(asm_experimental_arch, const_eval_select, core_intrinsics),
    allow(internal_features)
)]

pub mod array;
pub mod codec;
pub mod compress;
pub mod e8;
pub mod invert;
mod lanes;
pub mod ntt;
mod poly;
pub mod product;
pub mod reduce;
mod ring;
pub mod sample;
mod wipe;

pub use lanes::backend;
pub use poly::{CoefficientError, Poly, RoundedPoly, SmallPoly};
pub use ring::{R653, R761, R1277, Ring};
