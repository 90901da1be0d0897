//! The kernels, one module a stage of the scheme.

pub mod product;

use ctru_math::Ring;

/// Elements of a polynomial's row in global memory: `n` rounded up to a multiple of 8, for aligned vector access. What
/// lies behind coefficient `n - 1` has no meaning.
#[must_use]
pub const fn row<R: Ring>() -> u32 {
    (R::N as u32).next_multiple_of(8)
}
