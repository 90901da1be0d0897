//! Tests of reductions and of transforms.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

mod cyclic;
mod ntt;
mod reduce;

use ctru_tests::strategies;
