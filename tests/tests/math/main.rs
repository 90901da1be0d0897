//! The mathematics: definitions, oracles, every backend.

// An input that cannot be built is a failed test.
#![allow(clippy::unwrap_used)]

mod codec;
mod compress;
mod cyclic;
mod e8;
mod invert;
mod ntt;
mod product;
mod product_forms;
mod reduce;
mod sample;
