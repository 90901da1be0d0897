//! What the tests of this workspace share: strategies for proptest and lists of the rings.

// An input that cannot be built is a failed test.
#![allow(clippy::unwrap_used)]

pub mod backends;
pub mod rings;
pub mod sets;
pub mod strategies;
pub mod vectors;
