//! Polynomials in NTT form, for products of any two elements and for factors of several products.
//!
//! The order of the numbers depends on the width of vectors, so callers must use the same token to
//! transform a polynomial, to multiply its NTT form and to transform the product back.

use super::basemul::basemul;
use super::crt;
use super::plan::{RnsRing, ThirdPrime, TwoPrimes};
use super::transform::{Operand, forward, inverse};
use crate::array::Array;
use crate::poly::Poly;
use crate::simd::{Simd, WithSimd};
use crate::wipe::Scratch;

/// A polynomial in NTT form, wiped when dropped.
pub(crate) trait NttForm<R: RnsRing> {
    /// Becomes a copy of `other`.
    fn copy_from(&mut self, other: &Self);

    /// Becomes the NTT form of `a`.
    fn transform<S: Simd>(&mut self, simd: S, a: &impl Operand);

    /// Multiplies by `b`.
    fn multiply<S: Simd>(&mut self, simd: S, b: &Self);

    /// Returns the product in `R_q` whose NTT form this is. Overwrites this form and `scratch`.
    fn take<S: Simd>(&mut self, simd: S, scratch: &mut Self) -> Poly<R>;
}

/// A polynomial in NTT form modulo two primes: enough if one factor of each product is small.
pub(crate) struct NttPoly2<R: RnsRing>(pub(super) Scratch<[i16; 2], R::Padded<[i16; 2]>>);

/// A polynomial in NTT form modulo three primes.
pub(crate) struct NttPoly3<R: RnsRing> {
    /// The form modulo the first two primes.
    pub(crate) two: NttPoly2<R>,
    pub(super) third: Scratch<i16, R::Padded<i16>>,
}

impl<R: RnsRing> NttPoly2<R> {
    /// Returns the NTT form of zero.
    pub(crate) fn zero() -> Self {
        Self(Scratch::new())
    }

    /// Transforms back: writes the plain product modulo each of the two primes to `scratch`, and
    /// returns both.
    #[inline(always)]
    pub(super) fn residues<'a, S: Simd>(
        &mut self,
        simd: S,
        scratch: &'a mut Self,
    ) -> (&'a mut [i16], &'a mut [i16]) {
        let (r0, r1) = scratch.0.as_flattened_mut().split_at_mut(R::Padded::<i16>::LEN);
        inverse::<TwoPrimes<R>, S>(simd, self.0.as_flattened_mut(), r0, r1);
        (r0, r1)
    }
}

impl<R: RnsRing> NttForm<R> for NttPoly2<R> {
    fn copy_from(&mut self, other: &Self) {
        self.0.copy_from_slice(&other.0);
    }

    #[inline(always)]
    fn transform<S: Simd>(&mut self, simd: S, a: &impl Operand) {
        forward::<TwoPrimes<R>, S>(simd, a, self.0.as_flattened_mut());
    }

    #[inline(always)]
    fn multiply<S: Simd>(&mut self, simd: S, b: &Self) {
        basemul::<TwoPrimes<R>, S>(simd, self.0.as_flattened_mut(), b.0.as_flattened());
    }

    #[inline(always)]
    fn take<S: Simd>(&mut self, simd: S, scratch: &mut Self) -> Poly<R> {
        let (r0, r1) = self.residues(simd, scratch);
        crt::two_primes_to_q(simd, r0, r1)
    }
}

impl<R: RnsRing> NttPoly3<R> {
    /// Returns the NTT form of zero.
    pub(crate) fn zero() -> Self {
        Self { two: NttPoly2::zero(), third: Scratch::new() }
    }
}

impl<R: RnsRing> NttForm<R> for NttPoly3<R> {
    fn copy_from(&mut self, other: &Self) {
        self.two.copy_from(&other.two);
        self.third.copy_from_slice(&other.third);
    }

    #[inline(always)]
    fn transform<S: Simd>(&mut self, simd: S, a: &impl Operand) {
        self.two.transform(simd, a);
        forward::<ThirdPrime<R>, S>(simd, a, &mut self.third);
    }

    #[inline(always)]
    fn multiply<S: Simd>(&mut self, simd: S, b: &Self) {
        self.two.multiply(simd, &b.two);
        basemul::<ThirdPrime<R>, S>(simd, &mut self.third, &b.third);
    }

    #[inline(always)]
    fn take<S: Simd>(&mut self, simd: S, scratch: &mut Self) -> Poly<R> {
        let (r0, r1) = self.two.residues(simd, &mut scratch.two);
        let (minus, plus) = scratch.third.split_at_mut(R::Padded::<i16>::LEN / 2);
        inverse::<ThirdPrime<R>, S>(simd, &mut self.third, minus, plus);
        crt::three_primes_to_q(simd, r0, r1, minus, plus)
    }
}

/// The work of [`NttForm::transform`], to be compiled as a function of its own.
pub(crate) struct Transform<'a, T, A>(pub(crate) &'a mut T, pub(crate) &'a A);

/// The work of [`NttForm::multiply`], to be compiled as a function of its own.
pub(crate) struct Multiply<'a, T>(pub(crate) &'a mut T, pub(crate) &'a T);

/// The work of [`NttForm::take`], to be compiled as a function of its own.
pub(crate) struct Take<'a, T>(pub(crate) &'a mut T, pub(crate) &'a mut T);

macro_rules! work {
    ($($form:ident)+) => {$(
        impl<R: RnsRing, A: Operand> WithSimd for Transform<'_, $form<R>, A> {
            type Output = ();

            #[inline(always)]
            fn with_simd<S: Simd>(self, simd: S) {
                self.0.transform(simd, self.1);
            }
        }

        impl<R: RnsRing> WithSimd for Multiply<'_, $form<R>> {
            type Output = ();

            #[inline(always)]
            fn with_simd<S: Simd>(self, simd: S) {
                self.0.multiply(simd, self.1);
            }
        }

        impl<R: RnsRing> WithSimd for Take<'_, $form<R>> {
            type Output = Poly<R>;

            #[inline(always)]
            fn with_simd<S: Simd>(self, simd: S) -> Poly<R> {
                self.0.take(simd, self.1)
            }
        }
    )+};
}

work! { NttPoly2 NttPoly3 }
