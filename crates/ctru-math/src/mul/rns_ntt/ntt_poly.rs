//! Polynomials in NTT form, for products of any two elements and for factors of several products.
//!
//! The order of the numbers depends on the width of vectors, so callers must use the same backend
//! to transform a polynomial, to multiply its NTT form and to transform the product back.

use super::basemul::basemul;
use super::crt::{self, Target};
use super::plan::{Shape, ThirdPrime, TwoPrimes};
use super::transform::{Operand, forward, inverse};
use crate::array::Array;
use crate::simd::{Simd, WithSimd};
use crate::wipe::Scratch;

/// A polynomial in NTT form, wiped when dropped.
pub(crate) trait NttForm {
    /// Becomes a copy of `other`.
    fn copy_from(&mut self, other: &Self);

    /// Becomes the NTT form of `a`.
    fn transform<S: Simd>(&mut self, simd: S, a: &impl Operand);

    /// Multiplies by `b`.
    fn multiply<S: Simd>(&mut self, simd: S, b: &Self);

    /// Writes the product whose NTT form this is. Overwrites this form and `scratch`.
    fn take<S: Simd>(&mut self, simd: S, scratch: &mut Self, product: Target<'_>);
}

/// A polynomial in NTT form modulo two primes: enough if one factor of each product is small.
pub(crate) struct NttPoly2<T: Shape>(pub(super) Scratch<[i16; 2], T::Padded<[i16; 2]>>);

/// A polynomial in NTT form modulo three primes.
pub(crate) struct NttPoly3<T: Shape> {
    /// The form modulo the first two primes.
    pub(crate) two: NttPoly2<T>,
    pub(super) third: Scratch<i16, T::Padded<i16>>,
}

impl<T: Shape> NttPoly2<T> {
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
        let (r0, r1) = scratch.0.as_flattened_mut().split_at_mut(T::Padded::<i16>::LEN);
        inverse::<TwoPrimes<T>, S>(simd, self.0.as_flattened_mut(), r0, r1);
        (r0, r1)
    }
}

impl<T: Shape> NttForm for NttPoly2<T> {
    fn copy_from(&mut self, other: &Self) {
        self.0.copy_from_slice(&other.0);
    }

    #[inline(always)]
    fn transform<S: Simd>(&mut self, simd: S, a: &impl Operand) {
        forward::<TwoPrimes<T>, S>(simd, a, self.0.as_flattened_mut());
    }

    #[inline(always)]
    fn multiply<S: Simd>(&mut self, simd: S, b: &Self) {
        basemul::<TwoPrimes<T>, S>(simd, self.0.as_flattened_mut(), b.0.as_flattened());
    }

    #[inline(always)]
    fn take<S: Simd>(&mut self, simd: S, scratch: &mut Self, product: Target<'_>) {
        let (r0, r1) = self.residues(simd, scratch);
        crt::two_primes_to_q(simd, r0, r1, product);
    }
}

impl<T: Shape> NttPoly3<T> {
    /// Returns the NTT form of zero.
    pub(crate) fn zero() -> Self {
        Self { two: NttPoly2::zero(), third: Scratch::new() }
    }
}

impl<T: Shape> NttForm for NttPoly3<T> {
    fn copy_from(&mut self, other: &Self) {
        self.two.copy_from(&other.two);
        self.third.copy_from_slice(&other.third);
    }

    #[inline(always)]
    fn transform<S: Simd>(&mut self, simd: S, a: &impl Operand) {
        self.two.transform(simd, a);
        forward::<ThirdPrime<T>, S>(simd, a, &mut self.third);
    }

    #[inline(always)]
    fn multiply<S: Simd>(&mut self, simd: S, b: &Self) {
        self.two.multiply(simd, &b.two);
        basemul::<ThirdPrime<T>, S>(simd, &mut self.third, &b.third);
    }

    #[inline(always)]
    fn take<S: Simd>(&mut self, simd: S, scratch: &mut Self, product: Target<'_>) {
        let (r0, r1) = self.two.residues(simd, &mut scratch.two);
        let (minus, plus) = scratch.third.split_at_mut(T::Padded::<i16>::LEN / 2);
        inverse::<ThirdPrime<T>, S>(simd, &mut self.third, minus, plus);
        crt::three_primes_to_q::<T, S>(simd, r0, r1, minus, plus, product);
    }
}

/// The work of [`NttForm::transform`], to be compiled as a function of its own.
pub(crate) struct Transform<'a, F, A>(pub(crate) &'a mut F, pub(crate) &'a A);

/// The work of [`NttForm::multiply`], to be compiled as a function of its own.
pub(crate) struct Multiply<'a, F>(pub(crate) &'a mut F, pub(crate) &'a F);

/// The work of [`NttForm::take`], to be compiled as a function of its own.
pub(crate) struct Take<'a, F> {
    pub(crate) form: &'a mut F,
    pub(crate) scratch: &'a mut F,
    pub(crate) product: Target<'a>,
}

macro_rules! work {
    ($($form:ident)+) => {$(
        impl<T: Shape, A: Operand> WithSimd for Transform<'_, $form<T>, A> {
            type Output = ();

            #[inline(always)]
            fn with_simd<S: Simd>(self, simd: S) {
                self.0.transform(simd, self.1);
            }
        }

        impl<T: Shape> WithSimd for Multiply<'_, $form<T>> {
            type Output = ();

            #[inline(always)]
            fn with_simd<S: Simd>(self, simd: S) {
                self.0.multiply(simd, self.1);
            }
        }

        impl<T: Shape> WithSimd for Take<'_, $form<T>> {
            type Output = ();

            #[inline(always)]
            fn with_simd<S: Simd>(self, simd: S) {
                self.form.take(simd, self.scratch, self.product);
            }
        }
    )+};
}

work! { NttPoly2 NttPoly3 }
