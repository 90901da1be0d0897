//! The KEM and its engines against the vectors of `tests/vectors`.

// An input that cannot be built is a failed test.
#![allow(clippy::unwrap_used)]

mod intermediate;
mod kat;
