//! The CPU's product: the plain product modulo two or three 14-bit primes by NTTs in 16-bit lanes, put together by the
//! Chinese remainder theorem, folded by `x^n = x + 1`.
//!
//! A product by a small element has plain coefficients below `p0 p1 / 2 = 41.3` million, a product of any two elements
//! below `p0 p1 p2 / 2`; both are exact for every input, because operands are centred first.
//!
//! Sources: incomplete NTTs for NTRU-type rings: Chung, Hwang, Kannwischer, Seiler, Shih, Yang (CHES 2021) and
//! Bernstein, Brumley, Chen, Tuveri (OpenSSLNTRU, USENIX Security 2022); the layout in columns, then rows, is ours.

mod prime;
mod transform;

use crate::array::Array;
use crate::lanes::{Baseline, Factor, Lanes, Modulus};
use crate::poly::{Poly, RoundedPoly, SmallPoly};
use crate::ring::Ring;
use crate::wipe::Scratch;
use prime::{INPUT_BOUND, MODULI, PRIMES};

/// Room for a plain product.
type Plain<R> = Scratch<i16, <R as Ring>::Padded<i16>>;

/// Constants of the way back from residues to the ring.
struct Crt<R>(core::marker::PhantomData<R>);

impl<R: Ring> Crt<R> {
    const Q: Modulus = Modulus::new(R::Q);
    const P0: i64 = MODULI[0].m as i64;
    const P1: i64 = MODULI[1].m as i64;
    const P2: i64 = MODULI[2].m as i64;
    /// `p0^-1 mod p1`.
    const P0_INVERSE_1: Factor<i16> =
        MODULI[1].factor(prime::inverse_mod(Self::P0 as u64, Self::P1 as u64) as i64);
    /// `p0^-1 mod p2`.
    const P0_INVERSE_2: Factor<i16> =
        MODULI[2].factor(prime::inverse_mod(Self::P0 as u64, Self::P2 as u64) as i64);
    /// `p1^-1 mod p2`.
    const P1_INVERSE_2: Factor<i16> =
        MODULI[2].factor(prime::inverse_mod(Self::P1 as u64, Self::P2 as u64) as i64);
    /// `p0 mod q`.
    const P0_Q: Factor<i16> = Self::Q.factor(Self::P0);
    /// `p0 p1 mod q`.
    const P0_P1_Q: Factor<i16> = Self::Q.factor(Self::P0 * Self::P1);

    /// Plain coefficients that two and three primes tell apart, and what products need.
    const EXACT: () = {
        let (n, q, q2, small) = (R::N as i64, R::Q as i64, R::Q2 as i64, SmallPoly::<R>::BOUND as i64);
        assert!(2 * n * (q / 2) * small < Self::P0 * Self::P1);
        assert!(2 * n * (q2 / 2) * small < Self::P0 * Self::P1);
        assert!(2 * n * (q / 2) * (q / 2) < Self::P0 * Self::P1 * Self::P2);
        assert!(q / 2 <= INPUT_BOUND as i64 && q2 / 2 <= INPUT_BOUND as i64);
    };
}

/// `a * b` in `R_q` for a small `b`.
#[must_use]
pub fn mul_small<R: Ring>(a: &Poly<R>, b: &SmallPoly<R>) -> Poly<R> {
    let [mut r0, mut r1] = residues::<R, 2>(|x| centred(a.coefficients(), R::Q, x), |x| widened(b, x));
    combine_two::<R>(&mut r0, &mut r1);
    for (x0, u) in each_vector(&mut r0, &r1) {
        let x = Baseline::load(x0).add(Crt::<R>::Q.mul(Baseline::load(u), Crt::<R>::P0_Q.splat()));
        Crt::<R>::Q.reduce(x).store(x0);
    }
    folded::<R>(&r0)
}

/// `a * b` in `R_q`.
#[must_use]
pub fn mul<R: Ring>(a: &Poly<R>, b: &Poly<R>) -> Poly<R> {
    let [mut r0, mut r1, mut r2] =
        residues::<R, 3>(|x| centred(a.coefficients(), R::Q, x), |x| centred(b.coefficients(), R::Q, x));
    combine_two::<R>(&mut r0, &mut r1);
    for ((x0, u), r2) in each_vector(&mut r0, &r1).zip(r2.chunks_exact_mut(Baseline::LANES)) {
        // Mixed radix: x = x0 + p0 u + p0 p1 v, each digit centred.
        let [_, _, p2] = MODULI;
        let (low, middle) = (Baseline::load(x0), Baseline::load(u));
        let above_low = p2.mul(Baseline::load(r2).sub(low), Crt::<R>::P0_INVERSE_2.splat());
        let v = p2.centre(p2.mul(above_low.sub(middle), Crt::<R>::P1_INVERSE_2.splat()));
        let q = Crt::<R>::Q;
        let upper = q.mul(middle, Crt::<R>::P0_Q.splat()).add(q.mul(v, Crt::<R>::P0_P1_Q.splat()));
        q.reduce(low.add(upper)).store(x0);
    }
    folded::<R>(&r0)
}

/// `a * b` in `Z[x]/(x^n - x - 1)`, coefficients modulo `q2`.
#[must_use]
pub fn mul_rounded<R: Ring>(a: &RoundedPoly<R>, b: &SmallPoly<R>) -> RoundedPoly<R> {
    let [mut r0, mut r1] = residues::<R, 2>(|x| centred(a.coefficients(), R::Q2, x), |x| widened(b, x));
    combine_two::<R>(&mut r0, &mut r1);
    for (x0, u) in each_vector(&mut r0, &r1) {
        // q2 divides 2^16.
        let x = Baseline::load(x0).add(Baseline::load(u).mul_low(Baseline::splat(MODULI[0].m)));
        x.store(x0);
    }
    let (c, n) = (&r0, R::N);
    let mask = (R::Q2 - 1) as u16;
    let fold = |i: usize| {
        let above = if i + 1 < n { c[n + i] } else { 0 }.wrapping_add(if i > 0 { c[n + i - 1] } else { 0 });
        c[i].wrapping_add(above) as u16 & mask
    };
    RoundedPoly::from_array(R::Coeffs::from_fn(fold))
}

/// The representatives nearest to 0 of coefficients in `0..modulus`. (Half of an even modulus stays as it is.)
#[inline(always)]
fn centred(coefficients: &[u16], modulus: u32, x: &mut [i16]) {
    // `reduce::centre` in 16 bits, so that a vector has as many lanes as everywhere here.
    let (modulus, half) = (modulus as i16, (modulus / 2) as i16);
    for (x, &c) in x.iter_mut().zip(coefficients) {
        *x = c as i16 - (modulus & ((half - c as i16) >> 15));
    }
}

#[inline(always)]
fn widened<R: Ring>(b: &SmallPoly<R>, x: &mut [i16]) {
    for (x, &c) in x.iter_mut().zip(b.coefficients()) {
        *x = i16::from(c);
    }
}

/// The plain product modulo each of the first `PRIME_COUNT` primes, centred. The operands are written by closures.
#[inline(always)]
fn residues<R: Ring, const PRIME_COUNT: usize>(
    a: impl Fn(&mut [i16]),
    b: impl Fn(&mut [i16]),
) -> [Plain<R>; PRIME_COUNT] {
    let () = Crt::<R>::EXACT;
    let (mut scratch, mut left, mut right) = (Plain::<R>::new(), Plain::<R>::new(), Plain::<R>::new());
    core::array::from_fn(|i| {
        let prime = &PRIMES[i];
        scratch.fill(0);
        a(&mut scratch);
        transform::forward::<Baseline>(prime, &mut scratch, &mut left);
        scratch.fill(0);
        b(&mut scratch);
        transform::forward::<Baseline>(prime, &mut scratch, &mut right);
        transform::multiply_leaves::<Baseline>(prime, &mut left, &right);
        let mut product = Plain::<R>::new();
        transform::inverse::<Baseline>(prime, &mut left, &mut product);
        product
    })
}

/// From residues modulo `p0` and `p1` to `x = r0 + p0 u`: leaves the centred `u` in `r1`.
#[inline(always)]
fn combine_two<R: Ring>(r0: &mut [i16], r1: &mut [i16]) {
    let p1 = MODULI[1];
    for (r1, r0) in each_vector(r1, r0) {
        let difference = Baseline::load(r1).sub(Baseline::load(r0));
        p1.centre(p1.mul(difference, Crt::<R>::P0_INVERSE_1.splat())).store(r1);
    }
}

#[inline(always)]
fn each_vector<'a>(x: &'a mut [i16], y: &'a [i16]) -> impl Iterator<Item = (&'a mut [i16], &'a [i16])> {
    x.chunks_exact_mut(Baseline::LANES).zip(y.chunks_exact(Baseline::LANES))
}

/// Folds a plain product of representatives modulo `q` below 0.6 q in absolute value, and reduces to `0..q`.
#[inline(always)]
fn folded<R: Ring>(c: &[i16]) -> Poly<R> {
    let n = R::N;
    let q = Crt::<R>::Q;
    let mut folded = Plain::<R>::new();
    folded[..n].copy_from_slice(&c[..n]);
    for (x, &y) in folded[..n - 1].iter_mut().zip(&c[n..]) {
        *x += y;
    }
    for (x, &y) in folded[1..n].iter_mut().zip(&c[n..]) {
        *x += y;
    }
    for x in folded.chunks_exact_mut(Baseline::LANES) {
        q.canonical(q.reduce(Baseline::load(x))).store(x);
    }
    Poly::from_array(R::Coeffs::from_fn(|i| folded[i] as u16))
}
