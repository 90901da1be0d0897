//! From residues to coefficients modulo `q` and `q2`: each coefficient that a product by a small
//! element can have, with each of its representatives, and each value of each digit of the others.

extern crate std;

use std::vec;
use std::vec::Vec;

use ctru_tests::exhaust;
use ctru_tests::exhaust::Extent;

use super::Classes;
use crate::array::Array;
use crate::backend;
use crate::mul::rns_ntt::crt;
use crate::mul::rns_ntt::plan::{MODULI, OUTPUT_BOUND, RnsRing, Shape};
use crate::poly::Poly;
use crate::ring::{NtruPrimeRing, R653, R761, R857, R953, R1013, R1277, Ring};
use crate::simd::{Simd, WithSimd, dispatch_to};

struct ToQ<'a, R>(&'a mut [i16], &'a [i16], R);

impl<R: NtruPrimeRing> WithSimd for ToQ<'_, R> {
    type Output = Vec<u16>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<u16> {
        let mut product = Poly::<R>::zero();
        crt::two_primes_to_q(simd, self.0, self.1, product.target());
        product.coefficients().to_vec()
    }
}

struct ToQ2<'a, R>(&'a mut [i16], &'a [i16], R);

impl<R: Ring> WithSimd for ToQ2<'_, R> {
    type Output = Vec<u16>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<u16> {
        let mut product = vec![0; R::N];
        crt::two_primes_to_q2(simd, self.0, self.1, R::Q2, &mut product);
        product
    }
}

/// The residues modulo the first two primes, and those modulo the third prime.
struct Three<'a, R>(&'a mut [i16], &'a [i16], &'a [i16], &'a [i16], R);

impl<R: RnsRing> WithSimd for Three<'_, R> {
    type Output = Poly<R>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Poly<R> {
        let mut product = Poly::zero();
        let Self(r0, r1, minus, plus, _) = self;
        crt::three_primes_to_q::<R::Shape, S>(simd, r0, r1, minus, plus, product.target());
        product
    }
}

/// Returns a representative of `x`: the centred one plus `shift` times the modulus if it may stand
/// in a residue, or else the centred one.
fn representative(classes: &Classes, x: i64, shift: i32) -> i16 {
    let centred = classes.centred(x);
    let shifted = i32::from(centred) + shift * classes.m;
    if shifted.abs() <= OUTPUT_BOUND { shifted as i16 } else { centred }
}

/// Joins residues modulo two primes. `x` runs through all coefficients of products by small
/// elements of operands up to `half`, and through all representatives.
fn two_primes<R: RnsRing>(
    extent: Extent,
    modulus: u32,
    join: impl Fn(backend::Backend, &mut [i16], &[i16]) -> Vec<u16>,
) -> u64 {
    let room = <R::Shape as Shape>::Padded::<i16>::LEN;
    let [first, second] = [Classes::of(&MODULI[0]), Classes::of(&MODULI[1])];
    let most = R::N as i64 * i64::from(modulus / 2) * i64::from(R::SMALL);
    let calls = (2 * most + 1) as u64 / R::N as u64;
    let mut count = 0;
    let (mut r0, mut r1) = (vec![0; room], vec![0; room]);
    let mut joined = vec![0; room];
    let mut expected = vec![0; R::N];
    for call in extent.some(0..=calls as i64, 4) {
        let start = (call * R::N as i64 - most).min(most + 1 - R::N as i64);
        for (i, expected) in expected.iter_mut().enumerate() {
            *expected = (start + i as i64).rem_euclid(modulus.into()) as u16;
        }
        for shift0 in -2..=2 {
            for (i, r0) in r0[..R::N].iter_mut().enumerate() {
                *r0 = representative(&first, start + i as i64, shift0);
            }
            for shift1 in -2..=2 {
                for (i, r1) in r1[..R::N].iter_mut().enumerate() {
                    *r1 = representative(&second, start + i as i64, shift1);
                }
                for backend in backend::available() {
                    joined.copy_from_slice(&r0);
                    let product = join(backend, &mut joined, &r1);
                    assert!(product == expected, "on {backend}: {start}, {shift0}, {shift1}");
                    count += R::N as u64;
                }
            }
        }
    }
    count
}

fn to_q<R: RnsRing>(extent: Extent) -> u64 {
    two_primes::<R>(extent, R::Q, |backend, r0, r1| dispatch_to(backend, ToQ(r0, r1, R::default())))
}

fn to_q2<R: RnsRing + Ring>(extent: Extent) -> u64 {
    two_primes::<R>(extent, R::Q2, |backend, r0, r1| {
        dispatch_to(backend, ToQ2(r0, r1, R::default()))
    })
}

/// Joins residues modulo three primes: `x = a + p0 u + p0 p1 v`, where one of the digits takes all
/// values and the others are at the ends of their ranges or near 0.
fn three_primes<R: RnsRing>(extent: Extent) -> u64 {
    let [p0, p1] = [0, 1].map(|i| i64::from(MODULI[i].m));
    let most = R::N as i64 * i64::from(R::Q / 2).pow(2);
    let ends = |p: i64| vec![-(p / 2), 1 - p / 2, -1, 0, 1, p / 2 - 1, p / 2];
    let all = |p: i64| extent.some(-(p / 2)..=p / 2, 60).collect::<Vec<_>>();
    let last = most / (p0 * p1) + 1;
    let ends_of_last = vec![-last, 1 - last, -1, 0, 1, last - 1, last];
    let mut numbers = Vec::new();
    for [a, u, v] in [
        [all(p0), ends(p1), ends_of_last.clone()],
        [ends(p0), all(p1), ends_of_last],
        [ends(p0), ends(p1), extent.some(-last..=last, 60).collect()],
    ] {
        for v in v {
            for &u in &u {
                numbers.extend(a.iter().map(|a| a + p0 * u + p0 * p1 * v));
            }
        }
    }
    numbers.retain(|x| x.abs() <= most);
    numbers.extend([-most, most]);
    let (room, half) = (<R::Shape as Shape>::Padded::<i16>::LEN, R::Shape::LEN / 2);
    let [first, second, third] = [0, 1, 2].map(|i| Classes::of(&MODULI[i]));
    let (mut r0, mut r1, mut joined) = (vec![0; room], vec![0; room], vec![0; room]);
    let (mut minus, mut plus) = (vec![0; room / 2], vec![0; room / 2]);
    let mut count = 0;
    for numbers in numbers.chunks(R::N) {
        let x = |i: usize| numbers.get(i).copied().unwrap_or(0);
        let expected: Vec<u16> = (0..R::N).map(|i| x(i).rem_euclid(R::Q.into()) as u16).collect();
        for [shift0, shift1, shift2] in [[0, 0, 0], [1, -1, 1], [-1, 1, -1], [2, 0, 1], [-2, 1, 0]]
        {
            for i in 0..R::N {
                r0[i] = representative(&first, x(i), shift0);
                r1[i] = representative(&second, x(i), shift1);
            }
            for i in 0..half {
                minus[i] = representative(&third, x(i) + x(half + i), shift2);
                plus[i] = representative(&third, x(i) - x(half + i), -shift2);
            }
            for backend in backend::available() {
                joined.copy_from_slice(&r0);
                let residues = Three(&mut joined, &r1, &minus, &plus, R::default());
                let product = dispatch_to(backend, residues);
                assert!(product.coefficients() == expected, "on {backend}: {:?}", &numbers[..1]);
                count += numbers.len() as u64;
            }
        }
    }
    count
}

exhaust! {
    two_primes_653: to_q::<R653>,
    two_primes_761: to_q::<R761>,
    two_primes_857: to_q::<R857>,
    two_primes_953: to_q::<R953>,
    two_primes_1013: to_q::<R1013>,
    two_primes_1277: to_q::<R1277>,
    two_primes_q2_653: to_q2::<R653>,
    two_primes_q2_761: to_q2::<R761>,
    two_primes_q2_1277: to_q2::<R1277>,
    three_primes_653: three_primes::<R653>,
    three_primes_761: three_primes::<R761>,
    three_primes_857: three_primes::<R857>,
    three_primes_953: three_primes::<R953>,
    three_primes_1013: three_primes::<R1013>,
    three_primes_1277: three_primes::<R1277>,
}
