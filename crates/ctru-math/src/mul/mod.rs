//! Products in the ring.
//!
//! [`mul`], [`mul_small`], [`mul_rounded`] and [`Multiplier`] compute the fast product of the CPU,
//! by NTTs modulo several primes (RNS). [`schoolbook`] computes the product by definition. Tests
//! compare all other products with it.

pub(crate) mod rns_ntt;
pub mod schoolbook;

pub use rns_ntt::{Compiled, CompiledRounded, Multiplier, mul, mul_rounded, mul_small};
