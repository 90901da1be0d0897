//! Batches: what all engines take and return.

mod error;
mod keys;

pub use error::EngineError;
pub use keys::{KeyRows, KeySource, Keys, Loaded, LoadedKeys, Seeds};
pub(crate) use keys::{check_length, count_rows};
