//! Products in the ring.
//!
//! [`mul`], [`mul_small`], [`mul_rounded`] and [`Multiplier`] are the fast product of the CPU, by
//! NTTs modulo several primes (RNS). [`schoolbook`] is the definition, the oracle of all other
//! products.
//!
//! The other forms are [`ntt`](crate::ntt), the paper's transform, and two oracles for GPU kernels,
//! one Toeplitz matrix times a vector and eight products of byte matrices.

pub(crate) mod rns_ntt;
pub mod schoolbook;

pub use rns_ntt::{Multiplier, mul, mul_rounded, mul_small};
