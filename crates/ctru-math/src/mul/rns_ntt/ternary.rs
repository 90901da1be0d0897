//! The product modulo 3 of polynomials with coefficients in `-1..=1`.
//!
//! The coefficients of the plain product are at most `n` in absolute value, so one prime is enough:
//! the third, whose transform is half as long as that modulo two primes.

use super::basemul::basemul;
use super::crt::{HALF_2, fold};
use super::plan::{MODULI, RnsRing, ThirdPrime};
use super::transform::{forward, inverse};
use crate::array::Array;
use crate::poly::SmallPoly;
use crate::simd::{Simd, Vector, WithSimd};
use crate::wipe::Scratch;

/// The work of [`ternary::mul`](crate::ternary::mul).
pub(crate) struct MulTernary<'a, R: RnsRing>(
    pub(crate) &'a SmallPoly<R>,
    pub(crate) &'a SmallPoly<R>,
);

impl<R: RnsRing> WithSimd for MulTernary<'_, R> {
    type Output = SmallPoly<R>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> SmallPoly<R> {
        let Self(a, b) = self;
        debug_assert!([a, b].iter().all(|a| a.coefficients().iter().all(|c| c.abs() <= 1)));
        let (mut left, mut right) = (Room::<R>::new(), Room::<R>::new());
        forward::<ThirdPrime<R>, S>(simd, a, &mut left);
        forward::<ThirdPrime<R>, S>(simd, b, &mut right);
        basemul::<ThirdPrime<R>, S>(simd, &mut left, &right);
        let (minus, plus) = right.split_at_mut(R::Padded::<i16>::LEN / 2);
        inverse::<ThirdPrime<R>, S>(simd, &mut left, minus, plus);
        separate::<R, S>(simd, minus, plus, &mut left);
        reduced(simd, &mut left)
    }
}

/// A buffer for one polynomial, wiped when dropped.
type Room<R> = Scratch<i16, <R as RnsRing>::Padded<i16>>;

/// Writes the plain product whose residues modulo `x^(N/2) - 1` and `x^(N/2) + 1` are given.
#[inline(always)]
pub(super) fn separate<R: RnsRing, S: Simd>(
    simd: S,
    minus: &[i16],
    plus: &[i16],
    product: &mut [i16],
) {
    const { assert!(R::N <= MODULI[2].half() as usize) };
    let half = const { R::SHAPE.len() / 2 };
    for at in (0..minus.len()).step_by(S::LANES) {
        let (minus, plus) = (simd.load(&minus[at..]), simd.load(&plus[at..]));
        if at < half {
            halved(simd, minus.add(plus)).store(&mut product[at..]);
            halved(simd, minus.sub(plus)).store(&mut product[half + at..]);
        } else {
            // Aliased coefficients: both arrays hold the same ones.
            halved(simd, minus.add(plus)).store(&mut product[half + at..]);
        }
    }
}

/// Returns half the number of which each lane is a representative, centred.
#[inline(always)]
fn halved<S: Simd>(simd: S, twice: S::Vector) -> S::Vector {
    let p2 = MODULI[2].splat(simd);
    p2.centre(p2.mul(twice, HALF_2.splat(simd)))
}

/// Reduces the plain product modulo `x^n - x - 1` and 3. Overwrites `plain`.
#[inline(always)]
pub(super) fn reduced<R: RnsRing, S: Simd>(simd: S, plain: &mut [i16]) -> SmallPoly<R> {
    // A third, rounded, of a sum of three coefficients is exact: its error is below 1/6.
    const { assert!(3 * R::N < (3 << 15) / 6) };
    let third = simd.splat(i16::MAX / 3 + 1);
    let three = simd.splat(3);
    let mut coefficients = Scratch::<i16, R::Coeffs<i16>>::new();
    plain[0] -= plain[R::N - 1];
    for at in (0..R::N).step_by(S::LANES) {
        // The last vector overlaps the one before.
        let at = at.min(R::N - S::LANES);
        let sum = fold::<R, S>(simd, plain, at);
        sum.sub(sum.mul_round(third).mul_low(three)).store(&mut coefficients[at..]);
    }
    let mut product = SmallPoly::zero();
    for (c, &wide) in product.coefficients_mut().iter_mut().zip(&*coefficients) {
        *c = wide as i8;
    }
    product
}
