//! A slow, plain implementation of `docs/specification.md`, written from that page alone.
//!
//! It shares no code with the other crates, so it shows that the page is complete: everything that
//! the vectors of CTRU-Prime contain follows from the page. Each module covers the sections that it
//! names, and tests the examples of these sections. The module `vectors` checks all vectors that
//! the page describes. Nothing here runs in constant time.

// A failure in a helper is a failed test.
#![allow(clippy::unwrap_used)]

mod batches;
mod e8;
mod encodings;
mod encryption;
mod hashes;
mod kem;
mod keys;
mod parameters;
mod ring;
mod sampling;
mod strings;
mod vectors;
