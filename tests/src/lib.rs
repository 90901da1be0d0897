//! Helpers that the tests of this workspace share: lists of rings, backends and parameter sets,
//! strategies for proptest, and the intermediate vectors.

// A failure in a helper is a failed test.
#![allow(clippy::unwrap_used)]

#[path = "../../crates/ctru-math/tests/math/common/backends.rs"]
pub mod backends;
#[path = "../../crates/ctru-math/tests/math/common/rings.rs"]
pub mod rings;
pub mod sets;
#[path = "../../crates/ctru-math/tests/math/common/strategies.rs"]
pub mod strategies;
#[path = "../../crates/ctru-math/tests/math/common/vectors.rs"]
pub mod vectors;
