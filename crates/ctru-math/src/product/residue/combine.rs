//! From residues back to the ring: the Chinese remainder theorem, and the fold by `x^n = x + 1`.

use super::bounds::{OUTPUT_BOUND, input_bound};
use super::prime::{MODULI, inverse_mod};
use super::shape::Shape;
use crate::lanes::{Factor, LaneModulus, Lanes, Modulus};
use crate::poly::{Poly, RoundedPoly, SmallPoly};
use crate::ring::Ring;

const P0: i64 = MODULI[0].m as i64;
const P1: i64 = MODULI[1].m as i64;
const P2: i64 = MODULI[2].m as i64;
/// `p0^-1 mod p1`.
const P0_INVERSE_1: Factor<i16> = MODULI[1].factor(inverse_mod(P0 as u64, P1 as u64) as i64);
/// `p0^-1 mod p2`.
const P0_INVERSE_2: Factor<i16> = MODULI[2].factor(inverse_mod(P0 as u64, P2 as u64) as i64);
/// `p1^-1 mod p2`.
const P1_INVERSE_2: Factor<i16> = MODULI[2].factor(inverse_mod(P1 as u64, P2 as u64) as i64);

/// Bound of the second digit, see [`second_digit`].
const DIGIT_BOUND: i32 = MODULI[1].reduce_bound(MODULI[1].mul_bound(2 * OUTPUT_BOUND));

/// Constants of the way back to `R_q`.
pub(super) struct Crt<R>(core::marker::PhantomData<R>);

impl<R: Ring> Crt<R> {
    const Q: Modulus = Modulus::new(R::Q);
    /// `p0 mod q`.
    const P0_Q: Factor<i16> = Self::Q.factor(P0);
    /// `p0 p1 mod q`.
    const P0_P1_Q: Factor<i16> = Self::Q.factor(P0 * P1);

    /// Plain coefficients `x` are so small that their last digit, about `x / p0` or for two general operands `x / (p0 p1)`,
    /// is the only number of its residue class that [`second_digit`] or centring can give.
    pub(super) const EXACT: () = {
        let (n, q, q2, small) =
            (R::N as i64, R::Q as i64, R::Q2 as i64, SmallPoly::<R>::BOUND as i64);
        let two_primes = P0 * (P1 - DIGIT_BOUND as i64) - OUTPUT_BOUND as i64;
        assert!(n * (q / 2) * small < two_primes);
        assert!(n * (q2 / 2) * small < two_primes);
        assert!(n * (q / 2) * (q / 2) < P0 * P1 * (P2 / 2 - 3));
        assert!(
            q / 2 <= input_bound(Shape::of::<R>().length()) as i64
                && q2 / 2 <= input_bound(Shape::of::<R>().length()) as i64
        );
    };

    /// Sums of four of the reduced coefficients below stay in a lane, and their reduction below `q`.
    const FOLD: () = {
        let q = &Self::Q;
        let two_digits = OUTPUT_BOUND + q.mul_bound(DIGIT_BOUND);
        let digits = two_digits + q.mul_bound(MODULI[2].half() as i32);
        let sum = 4 * q.reduce_bound(digits);
        assert!(
            digits <= i16::MAX as i32
                && sum <= i16::MAX as i32
                && q.reduce_bound(sum) < R::Q as i32
        );
    };
}

/// The second mixed-radix digit of the number `x` with the residues `r0` and `r1`: `u`, at most `DIGIT_BOUND` in absolute
/// value, with `x = r0 + p0 u` modulo `p0 p1`. That is `(x - r0) / p0` if the two differ by less than `p1`.
#[inline(always)]
fn second_digit<V: Lanes>(r0: V, r1: V) -> V {
    let p1 = MODULI[1].splat::<V>();
    p1.reduce(p1.mul(r1.sub(r0), P0_INVERSE_1.splat()))
}

/// Folded products modulo `q` from residues modulo two primes. `r0` is used as scratch.
#[inline(always)]
pub(super) fn two_primes_to_q<R: Ring, V: Lanes>(r0: &mut [i16], r1: &[i16]) -> Poly<R> {
    let q = const { Crt::<R>::Q }.splat::<V>();
    for (r0, r1) in r0.chunks_exact_mut(V::LANES).zip(r1.chunks_exact(V::LANES)) {
        let low = V::load(r0);
        let u = second_digit(low, V::load(r1));
        q.reduce(low.add(q.mul(u, const { Crt::<R>::P0_Q }.splat()))).store(r0);
    }
    fold_to_q::<R, V>(&q, r0)
}

/// Folded products modulo `q` from residues modulo two primes, and modulo a third one and `x^(N/2) - 1` and `x^(N/2) + 1`.
/// `r0` is used as scratch.
#[inline(always)]
pub(super) fn three_primes_to_q<R: Ring, V: Lanes>(
    r0: &mut [i16],
    r1: &[i16],
    minus: &[i16],
    plus: &[i16],
) -> Poly<R> {
    let q = const { Crt::<R>::Q }.splat::<V>();
    let half = const { Shape::of::<R>().length() / 2 };
    for at in (0..minus.len()).step_by(V::LANES) {
        let (minus, plus) = (V::load(&minus[at..]), V::load(&plus[at..]));
        if at < half {
            add_third_digit::<R, V>(&mut r0[at..], &r1[at..], minus.add(plus));
            add_third_digit::<R, V>(&mut r0[half + at..], &r1[half + at..], minus.sub(plus));
        } else {
            // What wrapped is the same in both.
            add_third_digit::<R, V>(&mut r0[half + at..], &r1[half + at..], minus.add(plus));
        }
    }
    fold_to_q::<R, V>(&q, r0)
}

/// Replaces a vector of residues modulo the first prime by the numbers modulo `q`; `twice_r2` are their doubles modulo the third
/// prime.
#[inline(always)]
fn add_third_digit<R: Ring, V: Lanes>(r0: &mut [i16], r1: &[i16], twice_r2: V) {
    let (q, p2) = (const { Crt::<R>::Q }.splat::<V>(), MODULI[2].splat::<V>());
    let halving = const { MODULI[2].factor((MODULI[2].m as i64 + 1) / 2) }.splat();
    let low = V::load(r0);
    let u = second_digit(low, V::load(r1));
    // Mixed radix: x = r0 + p0 u + p0 p1 v.
    let above_low = p2.mul(p2.mul(twice_r2, halving).sub(low), P0_INVERSE_2.splat());
    let v = p2.centre(p2.mul(above_low.sub(u), P1_INVERSE_2.splat()));
    let upper = q
        .mul(u, const { Crt::<R>::P0_Q }.splat())
        .add(q.mul(v, const { Crt::<R>::P0_P1_Q }.splat()));
    q.reduce(low.add(upper)).store(r0);
}

/// Folded products modulo `q2` from residues modulo two primes. `r0` is used as scratch.
#[inline(always)]
pub(super) fn two_primes_to_q2<R: Ring, V: Lanes>(r0: &mut [i16], r1: &[i16]) -> RoundedPoly<R> {
    for (r0, r1) in r0.chunks_exact_mut(V::LANES).zip(r1.chunks_exact(V::LANES)) {
        // q2 divides 2^16.
        let low = V::load(r0);
        let u = second_digit(low, V::load(r1));
        low.add(u.mul_low(V::splat(MODULI[0].m))).store(r0);
    }
    let mask = V::splat((R::Q2 - 1) as i16);
    let mut product = RoundedPoly::zero();
    fold::<R, V>(r0, product.coefficients_mut(), |sum| sum.and(mask));
    product
}

#[inline(always)]
fn fold_to_q<R: Ring, V: Lanes>(q: &LaneModulus<V>, plain: &mut [i16]) -> Poly<R> {
    let () = Crt::<R>::FOLD;
    let mut product = Poly::zero();
    fold::<R, V>(plain, product.coefficients_mut(), |sum| q.canonical(q.reduce(sum)));
    product
}

/// `finish` of each folded coefficient: that of `x^i` takes those of `x^(n + i)` and, but for `i = 0`, `x^(n + i - 1)`.
#[inline(always)]
fn fold<R: Ring, V: Lanes>(plain: &mut [i16], folded: &mut [u16], finish: impl Fn(V) -> V) {
    let n = R::N;
    plain[0] = plain[0].wrapping_sub(plain[n - 1]);
    for at in (0..n).step_by(V::LANES) {
        // The last vector overlaps the one before.
        let at = at.min(n - V::LANES);
        let above = V::load(&plain[n + at..]).add(V::load(&plain[n + at - 1..]));
        finish(V::load(&plain[at..]).add(above)).store_unsigned(&mut folded[at..]);
    }
}
