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
use core::marker::PhantomData;

use crate::compiled::compiled;
use crate::poly::{Poly, SmallPoly};
use crate::simd::{Simd, WithSimd, dispatch};
pub(crate) use crt::Target;
pub(crate) use ntt_poly::{Multiply, NttForm, NttPoly2, NttPoly3, Take, Transform};
pub(crate) use plan::{RnsRing, Shape};
pub use rounded::{Compiled as CompiledRounded, mul_rounded};
pub(crate) use ternary::MulTernary;
use transform::{Canonical, Small};

/// Working memory for products by small elements, wiped when dropped. Operations with several
/// products share one `Multiplier`, so that it is cleared and wiped only once.
pub struct Multiplier<R: RnsRing> {
    forms: Forms<R::Shape>,
    product: Poly<R>,
}

/// The NTT forms of both factors of a product.
struct Forms<T: Shape> {
    left: NttPoly2<T>,
    right: NttPoly2<T>,
}

impl<R: RnsRing> Multiplier<R> {
    /// Returns a cleared `Multiplier`.
    #[must_use]
    pub fn new() -> Self {
        let forms = Forms { left: NttPoly2::zero(), right: NttPoly2::zero() };
        Self { forms, product: Poly::zero() }
    }
}

impl<T: Shape> Forms<T> {
    /// Returns the plain product modulo the first two primes.
    #[inline(always)]
    fn residues<S: Simd>(
        &mut self,
        simd: S,
        a: &Canonical<'_>,
        b: &Small<'_>,
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
    pub fn mul_small(&mut self, a: &Poly<R>, b: &SmallPoly<R>) -> &Poly<R> {
        mul_small_in(self, a, b);
        &self.product
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

    fn mul_small_in(room: &mut Multiplier<R>, a: &Poly<R>, b: &SmallPoly<R>) {
        let Multiplier { forms, product } = room;
        dispatch(MulSmall { forms, a: a.operand(), b: b.operand(), product: product.target() });
    }

    /// Returns `a * b` in `R_q`.
    #[must_use]
    pub fn mul(a: &Poly<R>, b: &Poly<R>) -> Poly<R> {
        let mut product = Poly::zero();
        dispatch(Mul {
            shape: PhantomData::<<R as RnsRing>::Shape>,
            factors: [a.operand(), b.operand()],
            product: product.target(),
        });
        product
    }
}

/// Returns `a * b` in `R_q` for a small `b`.
#[must_use]
pub fn mul_small<R: Compiled<R>>(a: &Poly<R>, b: &SmallPoly<R>) -> Poly<R> {
    let mut multiplier = Multiplier::new();
    mul_small_in(&mut multiplier, a, b);
    multiplier.product
}

/// The work of [`Multiplier::mul_small`].
struct MulSmall<'a, T: Shape> {
    forms: &'a mut Forms<T>,
    a: Canonical<'a>,
    b: Small<'a>,
    product: Target<'a>,
}

impl<T: Shape> WithSimd for MulSmall<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (r0, r1) = self.forms.residues(simd, &self.a, &self.b);
        crt::two_primes_to_q(simd, r0, r1, self.product);
    }
}

/// The work of [`mul`].
struct Mul<'a, T> {
    shape: PhantomData<T>,
    factors: [Canonical<'a>; 2],
    product: Target<'a>,
}

impl<T: Shape> WithSimd for Mul<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { factors: [a, b], product, .. } = self;
        let (mut left, mut right) = (NttPoly3::<T>::zero(), NttPoly3::zero());
        simd.vectorize(Transform(&mut left, &a));
        simd.vectorize(Transform(&mut right, &b));
        simd.vectorize(Multiply(&mut left, &right));
        simd.vectorize(Take { form: &mut left, scratch: &mut right, product });
    }
}
