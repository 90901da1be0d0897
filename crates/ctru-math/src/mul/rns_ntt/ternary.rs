//! The product modulo 3 of polynomials with coefficients in `-1..=1`.
//!
//! The coefficients of the plain product are at most `n` in absolute value, so one prime is enough:
//! the third, whose transform is half as long as that modulo two primes.

use core::marker::PhantomData;

use super::basemul::basemul;
use super::crt::{HALF_2, fold};
use super::plan::{MODULI, Shape, ThirdPrime};
use super::transform::{Small, forward, inverse};
use crate::array::Array;
use crate::ring::for_each_ntru_prime_ring;
use crate::simd::{Simd, Vector, WithSimd};
use crate::wipe::Scratch;

/// The work of [`ternary::mul`](crate::ternary::mul).
pub(crate) struct MulTernary<'a, T> {
    pub(crate) shape: PhantomData<T>,
    pub(crate) factors: [Small<'a>; 2],
    pub(crate) product: &'a mut [i8],
}

impl<T: Shape> WithSimd for MulTernary<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { factors: [a, b], product, .. } = self;
        let (mut left, mut right) =
            (Scratch::<i16, T::Padded<i16>>::new(), Scratch::<i16, T::Padded<i16>>::new());
        forward::<ThirdPrime<T>, S>(simd, &a, &mut left);
        forward::<ThirdPrime<T>, S>(simd, &b, &mut right);
        basemul::<ThirdPrime<T>, S>(simd, &mut left, &right);
        let (minus, plus) = right.split_at_mut(T::Padded::<i16>::LEN / 2);
        inverse::<ThirdPrime<T>, S>(simd, &mut left, minus, plus);
        separate::<T, S>(simd, minus, plus, &mut left);
        reduced(simd, &mut left, &mut right, product);
    }
}

macro_rules! check {
    ($ring:ident $n:literal $numbers:tt) => {
        const _: () = {
            // A plain coefficient is at most `n`, so it equals its centred residue.
            assert!($n <= MODULI[2].half());
            // A third, rounded, of a sum of three is exact: its error is below 1/6.
            assert!(3 * $n < (3 << 15) / 6);
        };
    };
}
for_each_ntru_prime_ring!(check);

/// Writes the plain product whose residues modulo `x^(N/2) - 1` and `x^(N/2) + 1` are given.
#[inline(always)]
pub(super) fn separate<T: Shape, S: Simd>(
    simd: S,
    minus: &[i16],
    plus: &[i16],
    product: &mut [i16],
) {
    let half = const { T::LEN / 2 };
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

/// Reduces the plain product modulo `x^n - x - 1` and 3. Overwrites `plain` and `scratch`.
#[inline(always)]
pub(super) fn reduced<S: Simd>(
    simd: S,
    plain: &mut [i16],
    scratch: &mut [i16],
    product: &mut [i8],
) {
    let third = simd.splat(i16::MAX / 3 + 1);
    let three = simd.splat(3);
    let n = product.len();
    plain[0] -= plain[n - 1];
    for at in (0..n).step_by(S::LANES) {
        // The last vector overlaps the one before.
        let at = at.min(n - S::LANES);
        let sum = fold(simd, plain, n, at);
        sum.sub(sum.mul_round(third).mul_low(three)).store(&mut scratch[at..]);
    }
    for (c, &wide) in product.iter_mut().zip(&*scratch) {
        *c = wide as i8;
    }
}
