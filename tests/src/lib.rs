//! Helpers that the tests of this workspace share: lists of rings, backends and parameter sets,
//! strategies for proptest, and the intermediate vectors.

// A failure in a helper is a failed test.
#![allow(clippy::unwrap_used)]

pub mod backends;
pub mod rings;
pub mod sets;
pub mod strategies;
pub mod vectors;
