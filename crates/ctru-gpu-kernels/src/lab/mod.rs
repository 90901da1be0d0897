//! The laboratory: kernels for measurements. The engine launches none of them, and none of them
//! handles secrets.
//!
//! - [`chain`] and [`cyclic`]: the same computation with each method of [`ctru_math::reduce`].
//!   [`table`] lists these kernels.
//! - [`compared`]: kernels of the scheme that use other methods than the engine's kernels.

pub mod chain;
pub mod compared;
pub mod cyclic;
pub mod table;

use ctru_math::reduce::{Packed, Reducer};

use crate::ptx::Module;

/// The module of the kernels in [`table`]. It is separate from the engine's module, so that only
/// programs that measure these kernels compile them.
pub static MODULE: Module = Module::new(include_str!("../../ptx/lab.ptx"));

/// A factor of the method `M`, as an element of an array.
pub type FactorWord<M> = <<M as Reducer>::Factor as Packed>::Word;
