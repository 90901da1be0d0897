//! Batches: what all engines take and return, and the operations on the cores of the machine.

pub(crate) mod cpu;
mod error;
mod keys;

pub use error::EngineError;
pub use keys::{KeyRows, Keys, Loaded, LoadedKeys, Seeds};
pub(crate) use keys::{check_length, count_rows};
