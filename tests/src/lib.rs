//! Helpers that the tests of this workspace share: lists of rings, backends and parameter sets,
//! strategies for proptest, vectors, key files and processes.

// A failure in a helper is a failed test.
#![allow(clippy::unwrap_used)]

pub mod backends;
pub mod der;
pub mod exhaust;
pub mod hashes;
pub mod processes;
pub mod random;
pub mod rings;
pub mod sets;
pub mod strategies;
pub mod vectors;
pub mod words;
