//! Products modulo `x^n - 1` with `n = 2^(C + R)`. They take three passes over global memory, or
//! one pass if `C` is 0.
//!
//! A polynomial is a matrix of `2^C` rows of `2^R` coefficients. [`columns::forward`] applies the
//! first `C` layers, which combine rows; each block processes a few columns. [`rows::multiply`]
//! applies the other `R` layers to both operands, multiplies the values and inverts these layers,
//! on rows in shared memory. [`columns::inverse`] inverts the first `C` layers. A thread applies as
//! many layers as possible to the numbers that it holds before the threads of the block exchange
//! their numbers.
//!
//! Source: D. H. Bailey, "FFTs in external or hierarchical memory", Journal of Supercomputing 4,
//! 1990, for the matrix; N. K. Govindaraju et al., "High performance discrete Fourier transforms on
//! graphics processors", SC 2008, for the layers in registers. The factors are those of
//! [`research_arithmetic::ntt::cyclic`], which needs no extra factors between rows and columns.

pub mod columns;
mod layers;
pub mod mixed;
pub mod rows;
pub mod single;
