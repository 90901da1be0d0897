//! The laboratory: kernels to be measured, none of which the engine launches. Nothing here is
//! secret.
//!
//! - [`chain`] and [`cyclic`]: the same work by every method of [`ctru_math::reduce`]; their list
//!   is [`table`].
//! - [`compared`]: kernels of the scheme by other ways than the engine's.

pub mod chain;
pub mod compared;
pub mod cyclic;
pub mod table;

use ctru_math::reduce::{Packed, Reducer};

use crate::ptx::Module;

/// The kernels of [`table`]. They are a module of their own, so that a program which does not
/// measure does not compile them.
pub static MODULE: Module = Module::new(include_str!("../../ptx/lab.ptx"));

/// A factor of the method `M` as an element of an array.
pub type FactorWord<M> = <<M as Reducer>::Factor as Packed>::Word;
