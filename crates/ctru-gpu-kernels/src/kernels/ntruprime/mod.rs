//! Streamlined NTRU Prime.
//!
//! A short polynomial follows from the [`stream`](mod@stream) of random words that a seed
//! determines, by sorting ([`sample`]).

pub mod sample;
pub mod stream;
