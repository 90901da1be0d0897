//! Small polynomials of Streamlined NTRU Prime: elements of `R_3 = Z_3[x]/(x^n - x - 1)` with
//! coefficients in `-1..=1`.
//!
//! `R_3` is no field: some polynomials other than zero have no inverse.

mod batch;
mod divsteps;
#[cfg(all(test, target_arch = "x86_64"))]
mod proofs;

use core::marker::PhantomData;

use subtle::{Choice, CtOption};

use crate::array::Array;
use crate::compiled::compiled;
use crate::mul::rns_ntt::{MulTernary, RnsRing};
use crate::poly::{Poly, SmallPoly};
use crate::ring::NtruPrimeRing;
use crate::simd::{Simd, WithSimd, dispatch};
pub use batch::invert_batch;
use divsteps::Inverse;

compiled! {
    RnsRing:

    /// Returns `a * b` in `R_3`, for coefficients in `-1..=1`.
    #[must_use]
    pub fn mul(a: &SmallPoly<R>, b: &SmallPoly<R>) -> SmallPoly<R> {
        debug_assert!([a, b].iter().all(|a| a.coefficients().iter().all(|c| c.abs() <= 1)));
        let mut product = SmallPoly::zero();
        dispatch(MulTernary {
            shape: PhantomData::<<R as RnsRing>::Shape>,
            factors: [a.operand(), b.operand()],
            product: product.coefficients_mut(),
        });
        product
    }

    /// Returns the inverse of `a`, and whether there is one. If not, the polynomial means nothing.
    fn inverse(a: &SmallPoly<R>) -> (SmallPoly<R>, Choice) {
        let mut inverse = SmallPoly::zero();
        let work = Inverse { a: a.coefficients(), inverse: inverse.coefficients_mut() };
        let exists = dispatch(work);
        (inverse, exists)
    }

    /// Returns `3 a` in `R_q`, centred, modulo 3.
    #[must_use]
    pub fn tripled(a: &Poly<R>) -> SmallPoly<R> {
        dispatch(Tripled(a))
    }

    /// Returns `a / 3` in `R_q`.
    #[must_use]
    pub fn third(a: &Poly<R>) -> Poly<R> {
        dispatch(Third(a))
    }

    /// Returns `a` if its weight is that of a short polynomial, [`NtruPrimeRing::WEIGHT`], or else
    /// the polynomial whose first coefficients are 1 and whose others are 0.
    #[must_use]
    pub fn short_or_ones(a: &SmallPoly<R>) -> SmallPoly<R> {
        dispatch(ShortOrOnes(a))
    }
}

/// Returns the inverse of `a` in `R_3`, or none if it has none. Constant time.
#[must_use]
pub fn invert<R: Compiled<R>>(a: &SmallPoly<R>) -> CtOption<SmallPoly<R>> {
    let (inverse, exists) = inverse(a);
    CtOption::new(inverse, exists)
}

/// Returns whether `a` has as many coefficients other than 0 as a short polynomial.
#[must_use]
pub fn is_short<R: NtruPrimeRing>(a: &SmallPoly<R>) -> Choice {
    let difference = weight(a.coefficients()).wrapping_sub(R::WEIGHT as u32);
    Choice::from((((difference | difference.wrapping_neg()) >> 31) ^ 1) as u8)
}

/// Returns the number of odd coefficients.
#[inline(always)]
fn weight(coefficients: &[i8]) -> u32 {
    coefficients.iter().map(|&c| (c & 1) as u32).sum()
}

/// Returns `factor * a` in `R_q`, for coefficients of `a` in `-1..=1` and a public factor in
/// `0..q`.
#[must_use]
pub fn scaled<R: NtruPrimeRing>(a: &SmallPoly<R>, factor: u16) -> Poly<R> {
    // The last term is `q` for a negative coefficient.
    let coefficient =
        |c: i8| (i16::from(c) * factor as i16 + (R::Q as i16 & i16::from(c >> 7))) as u16;
    Poly::from_array(R::Coeffs::from_fn(|i| coefficient(a.coefficients()[i])))
}

struct Tripled<'a, R: NtruPrimeRing>(&'a Poly<R>);

impl<R: NtruPrimeRing> WithSimd for Tripled<'_, R> {
    type Output = SmallPoly<R>;

    /// The centred `3 a` is `3 a - k q`, where `k` in `0..=3` is `3 a / q`, rounded. It is `-k`
    /// modulo 3, because `q` is 1 modulo 3.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> SmallPoly<R> {
        const { assert!(R::Q % 6 == 1 && R::Q < 1 << 15) };
        let mut result = SmallPoly::zero();
        // All ones if a / q is above the fraction.
        let above = |a: u16, sixths: u32| ((sixths * R::Q / 6) as i16 - a as i16) >> 15;
        for (result, &a) in result.coefficients_mut().iter_mut().zip(self.0.coefficients()) {
            *result = (above(a, 1) - 2 * above(a, 3) + above(a, 5)) as i8;
        }
        result
    }
}

struct Third<'a, R: NtruPrimeRing>(&'a Poly<R>);

impl<R: NtruPrimeRing> WithSimd for Third<'_, R> {
    type Output = Poly<R>;

    /// `q` is 1 modulo 3, so `a + 2 q (a mod 3)`, reduced modulo `3 q`, is a multiple of 3.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Poly<R> {
        const { assert!(R::Q % 3 == 1 && R::Q < 1 << 14) };
        let one_third = const { ((2 * R::Q + 1) / 3) as u16 };
        let two_thirds = const { R::Q.div_ceil(3) as u16 };
        let mut result = Poly::zero();
        for (result, &a) in result.coefficients_mut().iter_mut().zip(self.0.coefficients()) {
            // Exact, because the factor exceeds a third of 2^16 by less than 1.
            let quotient = ((u32::from(a) * (u16::MAX as u32 / 3 + 1)) >> 16) as u16;
            let remainder = a - 3 * quotient;
            *result = quotient + (remainder & 1) * one_third + (remainder >> 1) * two_thirds;
        }
        result
    }
}

struct ShortOrOnes<'a, R: NtruPrimeRing>(&'a SmallPoly<R>);

impl<R: NtruPrimeRing> WithSimd for ShortOrOnes<'_, R> {
    type Output = SmallPoly<R>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> SmallPoly<R> {
        let keep = core::hint::black_box((is_short(self.0).unwrap_u8() as i8).wrapping_neg());
        let mut result = SmallPoly::zero();
        let pairs = result.coefficients_mut().iter_mut().zip(self.0.coefficients());
        for (i, (result, &a)) in pairs.enumerate() {
            *result = (a & keep) | (i8::from(i < R::WEIGHT) & !keep);
        }
        result
    }
}
