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
mod shape;
mod spectrum;
mod transform;
mod tree;
mod wrap;

use core::fmt;

use crate::backend;
use crate::poly::{Poly, RoundedPoly, SmallPoly};
use crate::ring::Ring;
pub(crate) use spectrum::{NarrowSpectrum, WideSpectrum};

/// Room for products by small elements, wiped when dropped: many products with one clear it once.
pub struct Multiplier<R: Ring> {
    left: NarrowSpectrum<R>,
    right: NarrowSpectrum<R>,
}

impl<R: Ring> Multiplier<R> {
    /// Room for products.
    #[must_use]
    pub fn new() -> Self {
        Self { left: NarrowSpectrum::zero(), right: NarrowSpectrum::zero() }
    }

    /// `a * b` in `R_q` for a small `b`.
    #[must_use]
    pub fn mul_small(&mut self, a: &Poly<R>, b: &SmallPoly<R>) -> Poly<R> {
        R::mul_small(self, a, b)
    }

    /// `a * b` in `Z[x]/(x^n - x - 1)`, coefficients modulo `q2`.
    #[must_use]
    pub fn mul_rounded(&mut self, a: &RoundedPoly<R>, b: &SmallPoly<R>) -> RoundedPoly<R> {
        R::mul_rounded(self, a, b)
    }
}

impl<R: Ring> Default for Multiplier<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Ring> fmt::Debug for Multiplier<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Multiplier<{:?}>(..)", R::default())
    }
}

/// `a * b` in `R_q` for a small `b`.
#[must_use]
pub fn mul_small<R: Ring>(a: &Poly<R>, b: &SmallPoly<R>) -> Poly<R> {
    Multiplier::new().mul_small(a, b)
}

/// `a * b` in `Z[x]/(x^n - x - 1)`, coefficients modulo `q2`.
#[must_use]
pub fn mul_rounded<R: Ring>(a: &RoundedPoly<R>, b: &SmallPoly<R>) -> RoundedPoly<R> {
    Multiplier::new().mul_rounded(a, b)
}

/// `a * b` in `R_q`.
#[must_use]
pub fn mul<R: Ring>(a: &Poly<R>, b: &Poly<R>) -> Poly<R> {
    R::mul(a, b)
}

pub(crate) fn mul_small_in<R: Ring>(
    room: &mut Multiplier<R>,
    a: &Poly<R>,
    b: &SmallPoly<R>,
) -> Poly<R> {
    let Multiplier { left, right } = room;
    let backend = backend::in_use();
    left.transform_poly(backend, a);
    right.transform_small(backend, b);
    left.multiply(right);
    left.take_poly(right)
}

pub(crate) fn mul_rounded_in<R: Ring>(
    room: &mut Multiplier<R>,
    a: &RoundedPoly<R>,
    b: &SmallPoly<R>,
) -> RoundedPoly<R> {
    let Multiplier { left, right } = room;
    let backend = backend::in_use();
    left.transform_rounded(backend, a);
    right.transform_small(backend, b);
    left.multiply(right);
    left.take_rounded(right)
}

pub(crate) fn mul_general<R: Ring>(a: &Poly<R>, b: &Poly<R>) -> Poly<R> {
    let backend = backend::in_use();
    let (mut left, mut right) = (WideSpectrum::zero(), WideSpectrum::zero());
    left.transform(backend, a);
    right.transform(backend, b);
    left.multiply(&right);
    left.take_poly(&mut right)
}
