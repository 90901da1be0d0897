//! Streamlined NTRU Prime, the KEM of the NIST call's third round: the sets sntrup653, 761, 857,
//! 953, 1013 and 1277.
//!
//! `kem` has the operations, `hash` the hash functions, `draw` the polynomials that follow from
//! random bytes, and `scheme` what the parameter sets use. The arithmetic is that of [`ctru_math`].
//! The module is no part of the public interface: packages of this project test and measure single
//! operations with it.
//!
//! Source: D. J. Bernstein, B. B. Brumley, M.-S. Chen, C. Chuengsatiansup, T. Lange, A. Marotzke,
//! B.-Y. Peng, N. Tuveri, C. van Vredendaal, B.-Y. Yang, "NTRU Prime: round 3", 2020.

#[cfg(feature = "std")]
mod batch;
mod draw;
mod hash;
mod kem;
mod scheme;

pub use crate::source::{NoRandomness, Source};
#[cfg(feature = "std")]
pub use batch::{Sources, generate_batch};
pub use draw::{Named, Use, draw_short, from_seed, short_from_seeds};
pub use kem::{
    PrivateKey, PublicKey, ciphertext_bytes, decapsulate, encapsulate, generate, private_key_bytes,
};
pub use scheme::NtruPrime;
