//! Hashing.

pub mod derive;
mod keccak;
pub mod reject;
pub mod small_batch;
