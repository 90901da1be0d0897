//! What these tests share, and those of `ctru-tests` with them.

pub mod backends;
pub mod rings;
pub mod strategies;
// These tests read the part that belongs to the mathematics.
#[allow(dead_code)]
pub mod vectors;
