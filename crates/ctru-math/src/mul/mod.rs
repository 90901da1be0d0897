//! Products in the ring.
//!
//! [`mul`], [`mul_small`], [`mul_rounded`] and [`Multiplier`] compute the fast product of the CPU,
//! by NTTs modulo several primes (RNS). [`schoolbook`] computes the product by definition. Tests
//! compare all other products with it.
//!
//! [`kernel`](crate::kernel) has two other forms of the product, which are oracles for GPU kernels:
//! the product of a Toeplitz matrix and a vector, and eight products of byte matrices.

pub(crate) mod rns_ntt;
pub mod schoolbook;

pub use rns_ntt::{Compiled, CompiledRounded, Multiplier, mul, mul_rounded, mul_small};
