//! Products in the ring, by several methods that give the same results.
//!
//! | module | method | use |
//! |---|---|---|
//! | [`schoolbook`] | the definition, over the integers | oracle of all others |
//! | [`rns_ntt`] | NTTs modulo two or three 14-bit primes in 16-bit lanes | the CPU's product |
//! | [`toeplitz`] | one `n x n` matrix that contains the fold, times a vector | oracle of matrix-vector kernels |
//! | [`polyphase`] | eight products of byte matrices | oracle of tensor-core kernels |
//! | [`ntt`](crate::ntt) | the paper's incomplete transform over a pseudo-Mersenne prime | parts shared with kernels |

pub mod polyphase;
pub(crate) mod rns_ntt;
pub mod schoolbook;
pub mod toeplitz;

pub use rns_ntt::{Multiplier, mul, mul_rounded, mul_small};
