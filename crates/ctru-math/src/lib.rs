//! Arithmetic of CTRU-Prime: the rings `Z_q[x]/(x^n - x - 1)`, n = 653, 761, 1277.
#![no_std]

pub mod array;
pub mod codec;
mod poly;
pub mod ntt;
pub mod product;
pub mod reduce;
mod ring;

pub use poly::{CoefficientError, Poly, RoundedPoly, SmallPoly};
pub use ring::{R653, R761, R1277, Ring};
