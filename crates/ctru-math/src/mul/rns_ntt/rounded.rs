//! The product modulo `q2`, by which CTRU-Prime decrypts.

use super::plan::RnsRing;
use super::{Multiplier, crt};
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
        dispatch(MulRounded(room, a, b))
    }
}

/// Returns `a * b` in `Z[x]/(x^n - x - 1)`, coefficients modulo `q2`.
#[must_use]
pub fn mul_rounded<R: Compiled<R>>(a: &RoundedPoly<R>, b: &SmallPoly<R>) -> RoundedPoly<R> {
    Multiplier::new().mul_rounded(a, b)
}

/// The work of [`Multiplier::mul_rounded`].
struct MulRounded<'a, R: Ring + RnsRing>(
    &'a mut Multiplier<R>,
    &'a RoundedPoly<R>,
    &'a SmallPoly<R>,
);

impl<R: Ring + RnsRing> WithSimd for MulRounded<'_, R> {
    type Output = RoundedPoly<R>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> RoundedPoly<R> {
        let (r0, r1) = self.0.residues(simd, self.1, self.2);
        crt::two_primes_to_q2(simd, r0, r1)
    }
}
