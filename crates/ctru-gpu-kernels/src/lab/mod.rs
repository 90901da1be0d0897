//! The reduction laboratory: the same kernels by every method of [`ctru_math::reduce`], to be measured side by side. Nothing
//! of the KEM uses them, and nothing here is secret.

pub mod chain;
pub mod compared;
pub mod cyclic;
pub mod table;

use ctru_math::reduce::{Packed, Reducer};

use crate::ptx::Module;

/// The laboratory's kernels, a module of its own: a program that does not measure does not compile
/// it.
pub static MODULE: Module = Module::new(include_str!("../../ptx/lab.ptx"));

/// A factor of the method `M`, as arrays hold it.
pub type FactorWord<M> = <<M as Reducer>::Factor as Packed>::Word;
