//! Transformed polynomials, and how they are made, multiplied and turned back on the backend that they are for.

use core::marker::PhantomData;

use super::combine::{Crt, three_primes_to_q, two_primes_to_q, two_primes_to_q2};
use super::leaf::multiply;
use super::shape::Shape;
use super::transform::{Input, forward, inverse};
use super::tree::{Forest, OfShape, Primes, ThirdPrime, TwoPrimes};
use crate::array::Array;
use crate::backend::Backend;
use crate::lanes::{Lanes, Vectorised, dispatch_to};
use crate::poly::{Poly, RoundedPoly, SmallPoly};
use crate::ring::Ring;
use crate::wipe::Scratch;

/// A polynomial transformed modulo the first two primes: enough for products with small elements.
///
/// How it lies in memory depends on the backend, so it stays on the one that it is made for.
pub(crate) struct NarrowSpectrum<R: Ring> {
    backend: Backend,
    rows: Scratch<[i16; 2], R::Padded<[i16; 2]>>,
}

/// A polynomial transformed modulo three primes.
pub(crate) struct WideSpectrum<R: Ring> {
    /// Modulo the first two.
    pub(crate) narrow: NarrowSpectrum<R>,
    third: Scratch<i16, R::Padded<i16>>,
}

impl<R: Ring> NarrowSpectrum<R> {
    /// The spectrum of zero, which is the same on every backend.
    pub(crate) fn zero() -> Self {
        let () = Crt::<R>::EXACT;
        Self { backend: Backend::Portable, rows: Scratch::new() }
    }

    /// Becomes the spectrum of `a`.
    pub(crate) fn transform_poly(&mut self, backend: Backend, a: &Poly<R>) {
        self.transform(backend, Input::Canonical(a.coefficients(), R::Q));
    }

    /// Becomes the spectrum of `a`.
    pub(crate) fn transform_rounded(&mut self, backend: Backend, a: &RoundedPoly<R>) {
        self.transform(backend, Input::Canonical(a.coefficients(), R::Q2));
    }

    /// Becomes the spectrum of `a`.
    pub(crate) fn transform_small(&mut self, backend: Backend, a: &SmallPoly<R>) {
        self.transform(backend, Input::Centred(a.coefficients()));
    }

    fn transform(&mut self, backend: Backend, input: Input<'_>) {
        self.backend = backend;
        let rows = self.rows.as_flattened_mut();
        perform::<R, TwoPrimes>(backend, Step::Forward { input, rows });
    }

    /// Becomes a copy.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.backend = other.backend;
        self.rows.copy_from_slice(&other.rows);
    }

    /// Multiplies by `b`, which is for the same backend.
    pub(crate) fn multiply(&mut self, b: &Self) {
        let (a, b) = (self.rows.as_flattened_mut(), b.rows.as_flattened());
        perform::<R, TwoPrimes>(self.backend, Step::Multiply { a, b });
    }

    /// The product in `R_q` that this is the spectrum of, if one factor was small. Both spectra lose what they hold.
    pub(crate) fn take_poly(&mut self, scratch: &mut Self) -> Poly<R> {
        let backend = self.backend;
        let (r0, r1) = self.residues(scratch);
        combine(backend, r0, r1, None)
    }

    /// The product modulo `q2` that this is the spectrum of, if one factor was small. Both spectra lose what they hold.
    pub(crate) fn take_rounded(&mut self, scratch: &mut Self) -> RoundedPoly<R> {
        let backend = self.backend;
        let (r0, r1) = self.residues(scratch);
        combine(backend, r0, r1, None)
    }

    /// The plain product modulo both primes.
    fn residues<'a>(&mut self, scratch: &'a mut Self) -> (&'a mut [i16], &'a mut [i16]) {
        let (low, high) = scratch.rows.as_flattened_mut().split_at_mut(R::Padded::<i16>::LEN);
        let rows = self.rows.as_flattened_mut();
        perform::<R, TwoPrimes>(self.backend, Step::Inverse { rows, low, high });
        (low, high)
    }
}

impl<R: Ring> WideSpectrum<R> {
    /// The spectrum of zero, which is the same on every backend.
    pub(crate) fn zero() -> Self {
        Self { narrow: NarrowSpectrum::zero(), third: Scratch::new() }
    }

    /// Becomes the spectrum of `a`.
    pub(crate) fn transform(&mut self, backend: Backend, a: &Poly<R>) {
        let input = Input::Canonical(a.coefficients(), R::Q);
        self.narrow.transform(backend, input);
        perform::<R, ThirdPrime>(backend, Step::Forward { input, rows: &mut self.third });
    }

    /// Becomes a copy.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.narrow.copy_from(&other.narrow);
        self.third.copy_from_slice(&other.third);
    }

    /// Multiplies by `b`, which is for the same backend.
    pub(crate) fn multiply(&mut self, b: &Self) {
        self.narrow.multiply(&b.narrow);
        let (a, b) = (&mut self.third[..], &b.third[..]);
        perform::<R, ThirdPrime>(self.narrow.backend, Step::Multiply { a, b });
    }

    /// The product in `R_q` that this is the spectrum of. Both spectra lose what they hold.
    pub(crate) fn take_poly(&mut self, scratch: &mut Self) -> Poly<R> {
        let backend = self.narrow.backend;
        let (r0, r1) = self.narrow.residues(&mut scratch.narrow);
        let (low, high) = scratch.third.split_at_mut(R::Padded::<i16>::LEN / 2);
        perform::<R, ThirdPrime>(backend, Step::Inverse { rows: &mut self.third, low, high });
        combine(backend, r0, r1, Some([low, high]))
    }
}

/// What is done to rows of leaves.
enum Step<'a> {
    Forward { input: Input<'a>, rows: &'a mut [i16] },
    Multiply { a: &'a mut [i16], b: &'a [i16] },
    Inverse { rows: &'a mut [i16], low: &'a mut [i16], high: &'a mut [i16] },
}

/// A step on leaves of a degree; rings of the same shape share it.
struct StepOf<'a, F, const DEGREE: usize> {
    step: Step<'a>,
    forest: PhantomData<F>,
}

impl<F: Forest, const DEGREE: usize> Vectorised for StepOf<'_, F, DEGREE> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        match self.step {
            Step::Forward { input, rows } => forward::<F, V, DEGREE>(input, rows),
            Step::Multiply { a, b } => multiply::<F, V, DEGREE>(a, b),
            Step::Inverse { rows, low, high } => inverse::<F, V, DEGREE>(rows, low, high),
        }
    }
}

fn perform<R: Ring, P: Primes>(backend: Backend, step: Step<'_>) {
    let Shape { layers, degree, wrapped } = const { Shape::of::<R>() };
    match (layers, degree, wrapped) {
        (8, 5, 25) => {
            dispatch_to(backend, StepOf::<OfShape<P, 8, 25>, 5> { step, forest: PhantomData });
        }
        (9, 3, 0) => {
            dispatch_to(backend, StepOf::<OfShape<P, 9, 0>, 3> { step, forest: PhantomData });
        }
        shape => {
            debug_assert_eq!(shape, (9, 5, 0));
            dispatch_to(backend, StepOf::<OfShape<P, 9, 0>, 5> { step, forest: PhantomData });
        }
    }
}

/// Back to the ring from residues modulo two primes, and modulo the third one if `third` has them.
struct Combine<'a, T> {
    r0: &'a mut [i16],
    r1: &'a [i16],
    third: Option<[&'a [i16]; 2]>,
    product: PhantomData<T>,
}

impl<R: Ring> Vectorised for Combine<'_, Poly<R>> {
    type Output = Poly<R>;

    #[inline(always)]
    fn run<V: Lanes>(self) -> Poly<R> {
        match self.third {
            None => two_primes_to_q::<R, V>(self.r0, self.r1),
            Some([minus, plus]) => three_primes_to_q::<R, V>(self.r0, self.r1, minus, plus),
        }
    }
}

impl<R: Ring> Vectorised for Combine<'_, RoundedPoly<R>> {
    type Output = RoundedPoly<R>;

    #[inline(always)]
    fn run<V: Lanes>(self) -> RoundedPoly<R> {
        two_primes_to_q2::<R, V>(self.r0, self.r1)
    }
}

fn combine<'a, T>(
    backend: Backend,
    r0: &'a mut [i16],
    r1: &'a [i16],
    third: Option<[&'a [i16]; 2]>,
) -> T
where
    Combine<'a, T>: Vectorised<Output = T>,
{
    dispatch_to(backend, Combine { r0, r1, third, product: PhantomData })
}
