//! The CPU's product: NTTs modulo two or three 14-bit primes in 16-bit lanes (RNS), and the Chinese
//! remainder theorem.
//!
//! `R_q` has no NTT of its own, because `q - 1` has few factors. The product is therefore computed
//! over the integers, in four steps:
//!
//! ```text
//! transform   a, b  ->  a mod (p_i, x^d - zeta), b mod (p_i, x^d - zeta)   for all i and zeta
//! basemul     the products of these leaves
//! transform   the inverse: the plain product modulo each p_i
//! crt         the plain product, folded by x^n = x + 1, modulo q or q2
//! ```
//!
//! Operands are centred first. The coefficients of a product by a small element are then below
//! `p0 p1 / 2` (41.3 million) and those of a product of any two elements are below `p0 p1 p2 / 2`,
//! so products are exact for every input. For `n = 653` the transform is 25 coefficients shorter
//! than the plain product; these 25 aliased coefficients are computed separately.
//!
//! A vector holds residues modulo two primes side by side, one prime in each half. For the third
//! prime, the halves of a vector hold the residues modulo `x^(N/2) - 1` and modulo `x^(N/2) + 1`.
//!
//! Sources: incomplete NTTs for NTRU-type rings: C.-M. M. Chung, V. Hwang, M. J. Kannwischer, G.
//! Seiler, C.-J. Shih, B.-Y. Yang, "NTT multiplication for NTT-unfriendly rings", TCHES 2021 (2);
//! D. J. Bernstein, B. B. Brumley, M.-S. Chen, N. Tuveri, "OpenSSLNTRU", USENIX Security 2022. The
//! layout of two primes in each vector is ours.

mod basemul;
mod crt;
mod ntt_poly;
mod plan;
#[cfg(all(test, target_arch = "x86_64"))]
mod proofs;
mod rounded;
mod ternary;
mod transform;

use core::fmt;

use crate::compiled::compiled;
use crate::poly::{Poly, SmallPoly};
use crate::simd::{Simd, WithSimd, dispatch};
pub(crate) use ntt_poly::{Multiply, NttForm, NttPoly2, NttPoly3, Take, Transform};
pub(crate) use plan::RnsRing;
pub use rounded::{Compiled as CompiledRounded, mul_rounded};
pub(crate) use ternary::MulTernary;
use transform::Operand;

/// Working memory for products by small elements, wiped when dropped. Operations with several
/// products share one `Multiplier`, so that it is cleared and wiped only once.
pub struct Multiplier<R: RnsRing> {
    left: NttPoly2<R>,
    right: NttPoly2<R>,
}

impl<R: RnsRing> Multiplier<R> {
    /// Returns a cleared `Multiplier`.
    #[must_use]
    pub fn new() -> Self {
        Self { left: NttPoly2::zero(), right: NttPoly2::zero() }
    }

    /// Returns the plain product modulo the first two primes.
    #[inline(always)]
    fn residues<S: Simd>(
        &mut self,
        simd: S,
        a: &impl Operand,
        b: &SmallPoly<R>,
    ) -> (&mut [i16], &mut [i16]) {
        let Self { left, right } = self;
        left.transform(simd, a);
        right.transform(simd, b);
        left.multiply(simd, right);
        left.residues(simd, right)
    }
}

impl<R: Compiled<R>> Multiplier<R> {
    /// Returns `a * b` in `R_q` for a small `b`.
    #[must_use]
    pub fn mul_small(&mut self, a: &Poly<R>, b: &SmallPoly<R>) -> Poly<R> {
        mul_small_in(self, a, b)
    }
}

impl<R: RnsRing> Default for Multiplier<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: RnsRing> fmt::Debug for Multiplier<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Multiplier<{:?}>(..)", R::default())
    }
}

compiled! {
    RnsRing:

    fn mul_small_in(room: &mut Multiplier<R>, a: &Poly<R>, b: &SmallPoly<R>) -> Poly<R> {
        dispatch(MulSmall(room, a, b))
    }

    /// Returns `a * b` in `R_q`.
    #[must_use]
    pub fn mul(a: &Poly<R>, b: &Poly<R>) -> Poly<R> {
        dispatch(Mul(a, b))
    }
}

/// Returns `a * b` in `R_q` for a small `b`.
#[must_use]
pub fn mul_small<R: Compiled<R>>(a: &Poly<R>, b: &SmallPoly<R>) -> Poly<R> {
    Multiplier::new().mul_small(a, b)
}

/// The work of [`Multiplier::mul_small`].
struct MulSmall<'a, R: RnsRing>(&'a mut Multiplier<R>, &'a Poly<R>, &'a SmallPoly<R>);

impl<R: RnsRing> WithSimd for MulSmall<'_, R> {
    type Output = Poly<R>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Poly<R> {
        let (r0, r1) = self.0.residues(simd, self.1, self.2);
        crt::two_primes_to_q(simd, r0, r1)
    }
}

/// The work of [`mul`].
struct Mul<'a, R: RnsRing>(&'a Poly<R>, &'a Poly<R>);

impl<R: RnsRing> WithSimd for Mul<'_, R> {
    type Output = Poly<R>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Poly<R> {
        let (mut left, mut right) = (NttPoly3::zero(), NttPoly3::zero());
        simd.vectorize(Transform(&mut left, self.0));
        simd.vectorize(Transform(&mut right, self.1));
        simd.vectorize(Multiply(&mut left, &right));
        simd.vectorize(Take(&mut left, &mut right))
    }
}
