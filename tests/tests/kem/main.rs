//! Compares the KEM and its engines with the vectors in `tests/vectors`.

// A failure in a helper is a failed test.
#![allow(clippy::unwrap_used)]

mod intermediate;
mod kat;
mod seed_vectors;
mod seeds;
