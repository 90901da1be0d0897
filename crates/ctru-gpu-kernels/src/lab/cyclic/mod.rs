//! Products modulo `x^n - 1`, `n = 2^(C + R)`, in three passes over memory, or one if `C` is 0.
//!
//! A polynomial is a matrix of `2^C` rows of `2^R` coefficients. [`columns::forward`] does the first `C` layers, which join
//! rows, on a few columns a block; [`rows::multiply`] does the other `R` layers of both operands, the products of values, and
//! undoes these layers, on rows that are whole in shared memory; [`columns::inverse`] does the rest. A thread does as many
//! layers as it can on the numbers that it holds before it exchanges them with the others of its block.
//!
//! Source: D. H. Bailey, "FFTs in external or hierarchical memory", Journal of Supercomputing 4, 1990, for the matrix;
//! N. K. Govindaraju et al., "High performance discrete Fourier transforms on graphics processors", SC 2008, for the layers
//! in registers. The factors are those of [`ctru_math::ntt::cyclic`], where there are none between rows and columns.

pub mod columns;
mod layers;
pub mod rows;
pub mod single;
