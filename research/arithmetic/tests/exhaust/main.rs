//! Checks of reductions and butterflies on all their inputs, or on a sample of them.
//!
//! `cargo test` runs the tests `sample`. `cargo test --release --test exhaust -- --ignored` runs
//! the tests `all`.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

mod butterflies;
mod reducers;
