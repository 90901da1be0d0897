//! Helpers that these tests and those of `ctru-tests` share.

pub mod backends;
pub mod rings;
pub mod strategies;
// These tests read only those fields of the vectors that belong to the mathematics.
#[allow(dead_code)]
pub mod vectors;
