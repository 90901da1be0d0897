//! The reduction laboratory: GPU kernels for measurements, none of which handles secrets.
//!
//! [`chain`] and [`cyclic`] do the same computation with each method of
//! [`research_arithmetic::reduce`]. [`table`] lists these kernels. [`every_input`] tries the
//! methods on all their inputs.
#![no_std]

pub mod chain;
pub mod cyclic;
#[cfg(all(feature = "entry-points", target_arch = "nvptx64"))]
mod entry_points;
pub mod every_input;
pub mod table;

use ctru_simt::ptx::Module;
use research_arithmetic::reduce::{Packed, Reducer};

/// The module of the kernels in [`table`].
pub static MODULE: Module = Module::new(include_str!("../ptx/research_reductions.ptx"));

/// A factor of the method `M`, as an element of an array.
pub type FactorWord<M> = <<M as Reducer>::Factor as Packed>::Word;
