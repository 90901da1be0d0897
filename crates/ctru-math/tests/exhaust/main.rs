//! Checks of single steps on all their inputs, or on a sample of them.
//!
//! `cargo test` runs the tests `sample`. `cargo xtask exhaust` runs the tests `all`, in release
//! mode and with the counts of inputs.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

mod codecs;
mod e8;
mod inversion;
mod modular;
mod products;
