//! The product modulo `q2`, by which CTRU-Prime decrypts.

use super::plan::{RnsRing, Shape};
use super::transform::{Canonical, Small};
use super::{Forms, Multiplier, crt};
use crate::compiled::compiled;
use crate::poly::{RoundedPoly, SmallPoly};
use crate::ring::Ring;
use crate::simd::{Simd, WithSimd, dispatch};

impl<R: Compiled<R>> Multiplier<R> {
    /// Returns `a * b` in `Z[x]/(x^n - x - 1)`, coefficients modulo `q2`.
    #[must_use]
    pub fn mul_rounded(&mut self, a: &RoundedPoly<R>, b: &SmallPoly<R>) -> RoundedPoly<R> {
        mul_rounded_in(self, a, b)
    }
}

compiled! {
    Ring + RnsRing:

    fn mul_rounded_in(
        room: &mut Multiplier<R>,
        a: &RoundedPoly<R>,
        b: &SmallPoly<R>,
    ) -> RoundedPoly<R> {
        let mut product = RoundedPoly::zero();
        dispatch(MulRounded {
            forms: &mut room.0,
            a: a.operand(),
            b: b.operand(),
            q2: R::Q2,
            product: product.coefficients_mut(),
        });
        product
    }
}

/// Returns `a * b` in `Z[x]/(x^n - x - 1)`, coefficients modulo `q2`.
#[must_use]
pub fn mul_rounded<R: Compiled<R>>(a: &RoundedPoly<R>, b: &SmallPoly<R>) -> RoundedPoly<R> {
    Multiplier::new().mul_rounded(a, b)
}

/// The work of [`Multiplier::mul_rounded`].
struct MulRounded<'a, T: Shape> {
    forms: &'a mut Forms<T>,
    a: Canonical<'a>,
    b: Small<'a>,
    q2: u32,
    product: &'a mut [u16],
}

impl<T: Shape> WithSimd for MulRounded<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (r0, r1) = self.forms.residues(simd, &self.a, &self.b);
        crt::two_primes_to_q2(simd, r0, r1, self.q2, self.product);
    }
}
