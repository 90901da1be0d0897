//! Products modulo `x^n - 1`, `n = 2^(C + R)`, in three passes over memory, or in one pass if `C`
//! is 0.
//!
//! A polynomial is a matrix of `2^C` rows of `2^R` coefficients. [`columns::forward`] does the
//! first `C` layers, which combine rows, on a few columns in each block. [`rows::multiply`] does
//! the other `R` layers of both operands, multiplies the values and undoes these layers, on rows
//! that lie in shared memory. [`columns::inverse`] undoes the first layers. A thread does as many
//! layers as possible on the numbers that it holds before the threads of the block exchange their
//! numbers.
//!
//! Source: D. H. Bailey, "FFTs in external or hierarchical memory", Journal of Supercomputing 4,
//! 1990, for the matrix; N. K. Govindaraju et al., "High performance discrete Fourier transforms on
//! graphics processors", SC 2008, for the layers in registers. The factors are those of
//! [`ctru_math::ntt::cyclic`], which has none between rows and columns.

pub mod columns;
mod layers;
pub mod rows;
pub mod single;
