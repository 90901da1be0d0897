//! Tests of the mathematics against definitions and oracles, on every backend.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

mod codec;
mod compress;
mod e8;
mod frobenius;
mod invert;
mod product;
mod sample;
mod short;
mod ternary;

use ctru_tests::{backends, strategies, vectors};
