//! The jobs of `cargo xtask`. Each job has a module of its own.

pub mod build_ptx;
pub mod compiler;
pub mod declared;
pub mod dist;
mod error;
pub mod exhaust;
pub mod families;
mod isolated;
mod kernels;
pub mod machine_code;
pub mod manifest;
mod own_kernels;
pub mod ptx;
pub mod ptx_flow;
pub mod ptx_report;
pub mod sass;
pub mod sources;
pub mod structure;
pub mod workspace;
pub mod wrapper;

pub use error::{Error, IoContext, Result};
