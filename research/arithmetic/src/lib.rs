//! Methods of modular multiplication behind one trait, and the transforms that use them: the
//! incomplete ones of the CTRU-Prime paper, and complete ones modulo `x^n - 1`.
//!
//! The KEM multiplies in another way. Nothing here wipes memory, so do not pass it secrets.
#![no_std]
// Only builds for the GPU use unstable features, because they need an unstable compiler anyway:
// this one for fused products and sums of `f32`.
#![cfg_attr(target_arch = "nvptx64", feature(core_float_math))]

pub mod ntt;
pub mod reduce;
