//! From residues back to the ring: the Chinese remainder theorem, and the fold by `x^n = x + 1`.
//!
//! A plain coefficient `x` with the residues `r0`, `r1`, `r2` modulo `p0`, `p1`, `p2` is
//!
//! ```text
//! x = r0 + p0 u + p0 p1 v,   u = (r1 - r0) / p0 mod p1,   v = ((r2 - r0) / p0 - u) / p1 mod p2.
//! ```
//!
//! These are mixed-radix digits (Garner). A product by a small element needs only `r0` and `u`. The
//! digits are signed and lazily reduced; [`check`] proves that the sum is `x` nevertheless, because
//! `x` is small. The code computes the sum modulo `q` or `q2`.
//!
//! Source: H. L. Garner, "The residue number system", IRE Transactions on Electronic Computers,
//! 1959.

use super::plan::{MODULI, OUTPUT_BOUND, RnsRing, Shape};
use crate::poly::{Poly, SmallPoly};
use crate::powers::inverse_mod;
use crate::ring::{NtruPrimeRing, Ring, for_each_ntru_prime_ring, for_each_ring};
use crate::simd::{LaneModulus, Modulus, Simd, Twiddle, Vector};

const P0: i64 = MODULI[0].m as i64;
const P1: i64 = MODULI[1].m as i64;
const P2: i64 = MODULI[2].m as i64;
/// `p0^-1 mod p1`.
const P0_INVERSE_1: Twiddle<i16> = MODULI[1].factor(inverse_mod(P0 as u64, P1 as u64) as i64);
/// `p0^-1 mod p2`.
const P0_INVERSE_2: Twiddle<i16> = MODULI[2].factor(inverse_mod(P0 as u64, P2 as u64) as i64);
/// `p1^-1 mod p2`.
const P1_INVERSE_2: Twiddle<i16> = MODULI[2].factor(inverse_mod(P1 as u64, P2 as u64) as i64);
/// `1/2 mod p2`.
pub(super) const HALF_2: Twiddle<i16> = MODULI[2].factor((P2 + 1) / 2);

/// Largest absolute value of the digit `u`.
const DIGIT_BOUND: i32 = MODULI[1].reduce_bound(MODULI[1].mul_bound(2 * OUTPUT_BOUND));

/// The modulus `q` of a ring, and the factors of the digits modulo `q`.
struct Constants {
    q: Modulus,
    p0: Twiddle<i16>,
    p0_p1: Twiddle<i16>,
}

/// Where a product in `R_q` is written.
pub(crate) struct Target<'a> {
    ring: &'static Constants,
    coefficients: &'a mut [u16],
}

impl<R: NtruPrimeRing> Poly<R> {
    /// Returns these coefficients as the place for a product.
    pub(crate) fn target(&mut self) -> Target<'_> {
        let ring = const {
            let q = Modulus::new(R::Q);
            &Constants { q, p0: q.factor(P0), p0_p1: q.factor(P0 * P1) }
        };
        Target { ring, coefficients: self.coefficients_mut() }
    }
}

macro_rules! check {
    ($ring:ident $n:literal $numbers:tt) => {
        const _: () = check::<crate::ring::$ring>();
    };
}
for_each_ntru_prime_ring!(check);

macro_rules! check_rounded {
    ($ring:ident $n:literal $numbers:tt) => {
        const _: () = {
            type R = crate::ring::$ring;
            check_small::<R>(<R as Ring>::Q2);
        };
    };
}
for_each_ring!(check_rounded);

/// Fails to compile unless the product of a polynomial modulo `modulus` and a small one is exact.
///
/// The last digit is exact: the exact one is `(x - r0) / p0`. The computed one is congruent to it
/// modulo `p1`. As `x` is small, the two differ by less than `p1`, so they are equal.
const fn check_small<R: RnsRing>(modulus: u32) {
    let half = modulus as i64 / 2;
    let two_primes = P0 * (P1 - DIGIT_BOUND as i64) - OUTPUT_BOUND as i64;
    assert!(R::N as i64 * half * (SmallPoly::<R>::BOUND as i64) < two_primes);
    assert!(half <= R::Shape::OPERAND_BOUND as i64);
}

/// Fails to compile unless products are exact and no sum in this module overflows a lane.
const fn check<R: RnsRing>() {
    check_small::<R>(R::Q);
    // The last digit of general operands, (x - r0 - p0 u) / (p0 p1), is exact for the same reason.
    let half_q = R::Q as i64 / 2;
    assert!(R::N as i64 * half_q * half_q < P0 * P1 * (P2 / 2 - 3));

    // A folded coefficient is the sum of at most four reduced ones, and is reduced below q.
    let q = Modulus::new(R::Q);
    let two_digits = OUTPUT_BOUND + q.mul_bound(DIGIT_BOUND);
    let digits = two_digits + q.mul_bound(MODULI[2].half() as i32);
    let sum = 4 * q.reduce_bound(digits);
    assert!(digits <= i16::MAX as i32 && sum <= i16::MAX as i32);
    assert!(q.reduce_bound(sum) < R::Q as i32);
}

/// Returns the digit `u`, up to [`DIGIT_BOUND`] in absolute value.
#[inline(always)]
fn second_digit<S: Simd>(simd: S, r0: S::Vector, r1: S::Vector) -> S::Vector {
    let p1 = MODULI[1].splat(simd);
    p1.reduce(p1.mul(r1.sub(r0), P0_INVERSE_1.splat(simd)))
}

/// Writes the folded product modulo `q` from residues modulo two primes. `r0` is scratch.
#[cfg_attr(target_family = "wasm", inline(never))]
#[cfg_attr(not(target_family = "wasm"), inline(always))]
pub(super) fn two_primes_to_q<S: Simd>(simd: S, r0: &mut [i16], r1: &[i16], product: Target<'_>) {
    let Target { ring, coefficients } = product;
    let (q, p0) = (ring.q.splat(simd), ring.p0.splat(simd));
    // A loop over `zip` would divide to compute its length.
    for at in (0..r1.len()).step_by(S::LANES) {
        let low = simd.load(&r0[at..]);
        let u = second_digit(simd, low, simd.load(&r1[at..]));
        q.reduce(low.add(q.mul(u, p0))).store(&mut r0[at..]);
    }
    fold_to_q(simd, &q, r0, coefficients);
}

/// Writes the folded product modulo `q2` from residues modulo two primes. `r0` is scratch.
#[inline(always)]
pub(super) fn two_primes_to_q2<S: Simd>(
    simd: S,
    r0: &mut [i16],
    r1: &[i16],
    q2: u32,
    product: &mut [u16],
) {
    let p0 = simd.splat(MODULI[0].m);
    // A loop over `zip` would divide to compute its length.
    for at in (0..r1.len()).step_by(S::LANES) {
        // Lanes may wrap, because q2 divides 2^16.
        let low = simd.load(&r0[at..]);
        let u = second_digit(simd, low, simd.load(&r1[at..]));
        low.add(u.mul_low(p0)).store(&mut r0[at..]);
    }
    let mask = simd.splat((q2 - 1) as i16);
    let n = product.len();
    r0[0] = r0[0].wrapping_sub(r0[n - 1]);
    for at in (0..n).step_by(S::LANES) {
        // The last vector overlaps the one before.
        let at = at.min(n - S::LANES);
        fold(simd, r0, n, at).and(mask).store_unsigned(&mut product[at..]);
    }
}

/// Computes a product in `R_q` from the residues of its plain product modulo three primes.
///
/// Input: `r0` and `r1`, the residues modulo the first two primes; `minus` and `plus`, the residues
/// modulo the third prime and the polynomials `x^(N/2) - 1` and `x^(N/2) + 1`. The function
/// overwrites `r0`.
#[inline(always)]
pub(super) fn three_primes_to_q<T: Shape, S: Simd>(
    simd: S,
    r0: &mut [i16],
    r1: &[i16],
    minus: &[i16],
    plus: &[i16],
    product: Target<'_>,
) {
    let half = const { T::LEN / 2 };
    let Target { ring, coefficients } = product;
    let digits = Digits::new(simd, ring);
    for at in (0..minus.len()).step_by(S::LANES) {
        let (minus, plus) = (simd.load(&minus[at..]), simd.load(&plus[at..]));
        if at < half {
            digits.add_third(simd, &mut r0[at..], &r1[at..], minus.add(plus));
            digits.add_third(simd, &mut r0[half + at..], &r1[half + at..], minus.sub(plus));
        } else {
            // Aliased coefficients: both arrays hold the same ones, so their sum is twice the
            // residues.
            digits.add_third(simd, &mut r0[half + at..], &r1[half + at..], minus.add(plus));
        }
    }
    fold_to_q(simd, &digits.q, r0, coefficients);
}

/// [`Constants`] in each lane.
struct Digits<V> {
    q: LaneModulus<V>,
    p0: Twiddle<V>,
    p0_p1: Twiddle<V>,
}

impl<V: Vector> Digits<V> {
    #[inline(always)]
    fn new<S: Simd<Vector = V>>(simd: S, ring: &Constants) -> Self {
        Self { q: ring.q.splat(simd), p0: ring.p0.splat(simd), p0_p1: ring.p0_p1.splat(simd) }
    }

    /// Replaces a vector of residues modulo the first prime by the plain coefficients modulo `q`.
    /// `r1` holds their residues modulo the second prime, `twice_r2` holds twice their residues
    /// modulo the third prime.
    #[cfg_attr(target_family = "wasm", inline(never))]
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn add_third<S: Simd<Vector = V>>(&self, simd: S, r0: &mut [i16], r1: &[i16], twice_r2: V) {
        let p2 = MODULI[2].splat(simd);
        let low = simd.load(r0);
        let u = second_digit(simd, low, simd.load(r1));
        let r2 = p2.mul(twice_r2, HALF_2.splat(simd));
        let above_low = p2.mul(r2.sub(low), P0_INVERSE_2.splat(simd));
        let v = p2.centre(p2.mul(above_low.sub(u), P1_INVERSE_2.splat(simd)));
        let upper = self.q.mul(u, self.p0).add(self.q.mul(v, self.p0_p1));
        self.q.reduce(low.add(upper)).store(r0);
    }
}

/// Reduces the plain product `plain` modulo `x^n - x - 1` and `q`. Overwrites `plain`.
#[cfg_attr(target_family = "wasm", inline(never))]
#[cfg_attr(not(target_family = "wasm"), inline(always))]
fn fold_to_q<S: Simd>(simd: S, q: &LaneModulus<S::Vector>, plain: &mut [i16], product: &mut [u16]) {
    let n = product.len();
    plain[0] = plain[0].wrapping_sub(plain[n - 1]);
    for at in (0..n).step_by(S::LANES) {
        // The last vector overlaps the one before.
        let at = at.min(n - S::LANES);
        let sum = q.reduce(fold(simd, plain, n, at));
        q.canonical(sum).store_unsigned(&mut product[at..]);
    }
}

/// Returns a vector of folded coefficients, from `x^at` on.
///
/// Coefficient `i` is the sum of the plain coefficients `i`, `n + i` and `n + i - 1`. For `i = 0`
/// the last of these three, coefficient `n - 1`, does not belong to the sum, so callers subtract it
/// from `plain[0]` before the call.
#[inline(always)]
pub(super) fn fold<S: Simd>(simd: S, plain: &[i16], n: usize, at: usize) -> S::Vector {
    let above = simd.load(&plain[n + at..]).add(simd.load(&plain[n + at - 1..]));
    simd.load(&plain[at..]).add(above)
}
