//! The CPU's product: the plain product modulo two or three 14-bit primes by NTTs in 16-bit lanes, put together by the
//! Chinese remainder theorem, folded by `x^n = x + 1`.
//!
//! A product by a small element has plain coefficients below `p0 p1 / 2 = 41.3` million, a product of any two elements
//! below `p0 p1 p2 / 2`; both are exact for every input, because operands are centred first.
//!
//! Sources: incomplete NTTs for NTRU-type rings: Chung, Hwang, Kannwischer, Seiler, Shih, Yang (CHES 2021) and
//! Bernstein, Brumley, Chen, Tuveri (OpenSSLNTRU, USENIX Security 2022); the layout, two primes side by side in each
//! vector, is ours.

mod bounds;
mod combine;
mod layers;
mod leaf;
mod prime;
mod spectrum;
mod transform;
mod tree;

use crate::backend;
use crate::poly::{Poly, RoundedPoly, SmallPoly};
use crate::ring::Ring;
pub(crate) use spectrum::{NarrowSpectrum, WideSpectrum};

/// `a * b` in `R_q` for a small `b`.
#[must_use]
pub fn mul_small<R: Ring>(a: &Poly<R>, b: &SmallPoly<R>) -> Poly<R> {
    let backend = backend::in_use();
    let (mut left, mut right) = (NarrowSpectrum::zero(), NarrowSpectrum::zero());
    left.transform_poly(backend, a);
    right.transform_small(backend, b);
    left.multiply(&right);
    left.take_poly(&mut right)
}

/// `a * b` in `R_q`.
#[must_use]
pub fn mul<R: Ring>(a: &Poly<R>, b: &Poly<R>) -> Poly<R> {
    let backend = backend::in_use();
    let (mut left, mut right) = (WideSpectrum::zero(), WideSpectrum::zero());
    left.transform(backend, a);
    right.transform(backend, b);
    left.multiply(&right);
    left.take_poly(&mut right)
}

/// `a * b` in `Z[x]/(x^n - x - 1)`, coefficients modulo `q2`.
#[must_use]
pub fn mul_rounded<R: Ring>(a: &RoundedPoly<R>, b: &SmallPoly<R>) -> RoundedPoly<R> {
    let backend = backend::in_use();
    let (mut left, mut right) = (NarrowSpectrum::zero(), NarrowSpectrum::zero());
    left.transform_rounded(backend, a);
    right.transform_small(backend, b);
    left.multiply(&right);
    left.take_rounded(&mut right)
}
