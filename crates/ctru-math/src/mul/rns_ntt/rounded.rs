//! The product modulo `q2`, by which CTRU-Prime decrypts.

use super::plan::{RnsRing, Shape};
use super::transform::{Canonical, Small};
use super::{Forms, Multiplier, crt};
use crate::compiled::compiled;
use crate::poly::{RoundedPoly, SmallPoly};
use crate::ring::Ring;
use crate::simd::{Simd, WithSimd, dispatch};

impl<R: Compiled<R>> Multiplier<R> {
    /// Multiplies `a` by `b` in `Z[x]/(x^n - x - 1)`, coefficients modulo `q2`.
    pub fn mul_rounded(&mut self, a: &mut RoundedPoly<R>, b: &SmallPoly<R>) {
        mul_rounded_in(self, a, b);
    }
}

compiled! {
    Ring + RnsRing:

    fn mul_rounded_in(room: &mut Multiplier<R>, a: &mut RoundedPoly<R>, b: &SmallPoly<R>) {
        let (forms, a) = (&mut room.forms, a.coefficients_mut());
        dispatch(MulRounded { forms, a, b: b.operand(), q2: R::Q2 });
    }
}

/// Returns `a * b` in `Z[x]/(x^n - x - 1)`, coefficients modulo `q2`.
#[must_use]
pub fn mul_rounded<R: Compiled<R>>(a: &RoundedPoly<R>, b: &SmallPoly<R>) -> RoundedPoly<R> {
    let mut product = a.clone();
    Multiplier::new().mul_rounded(&mut product, b);
    product
}

/// The work of [`Multiplier::mul_rounded`].
struct MulRounded<'a, T: Shape> {
    forms: &'a mut Forms<T>,
    a: &'a mut [u16],
    b: Small<'a>,
    q2: u32,
}

impl<T: Shape> WithSimd for MulRounded<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { forms, a, b, q2 } = self;
        let (r0, r1) = forms.residues(simd, &Canonical::new(a, q2), &b);
        crt::two_primes_to_q2(simd, r0, r1, q2, a);
    }
}
