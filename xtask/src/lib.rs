//! The jobs of `cargo xtask`, one module each.

pub mod build_ptx;
pub mod compiler;
mod error;
pub mod flow;
pub mod gpu_bundle;
pub mod manifest;
pub mod plant;
mod process;
pub mod ptx;
pub mod ptx_flow;
pub mod ptx_report;
pub mod sass;
pub mod sources;
pub mod tools;
pub mod workspace;

pub use error::{Error, IoContext, Result};
