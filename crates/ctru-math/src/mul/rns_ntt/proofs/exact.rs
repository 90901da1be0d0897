//! Exactness: the code runs once on ranges, for all operands. Operands at the ends of their ranges
//! show that the bounds hold, and how near numbers come to them.

extern crate std;

use std::vec::Vec;
use std::{println, vec};

use ctru_tests::exhaust;
use ctru_tests::exhaust::Extent;

use super::Centred;
use crate::array::Array;
use crate::mul::rns_ntt::basemul::basemul;
use crate::mul::rns_ntt::crt;
use crate::mul::rns_ntt::plan::{
    MODULI, OUTPUT_BOUND, Plan, RnsRing, Shape, ThirdPrime, TwoPrimes,
};
use crate::mul::rns_ntt::ternary::{reduced, separate};
use crate::mul::rns_ntt::transform::{forward, inverse};
use crate::poly::Poly;
use crate::ring::{Ring, for_each_ntru_prime_ring, for_each_ring};
use crate::simd::{Checked, Modulus, Ranges, Simd, traced};

/// Returns the residues of the plain product of two polynomials.
fn residues<P: Plan, S: Simd>(simd: S, a: &[i16], b: &[i16]) -> [Vec<i16>; 2] {
    let room = <P::Shape as Shape>::Padded::<i16>::LEN;
    let (mut left, mut right) = (vec![0; 2 * room], vec![0; 2 * room]);
    forward::<P, S>(simd, &Centred(a), &mut left);
    forward::<P, S>(simd, &Centred(b), &mut right);
    basemul::<P, S>(simd, &mut left, &right);
    let room = if P::WHOLE { room } else { room / 2 };
    let (mut low, mut high) = (vec![0; room], vec![0; room]);
    inverse::<P, S>(simd, &mut left, &mut low, &mut high);
    [low, high]
}

/// Returns ranges of residues for operands of `n` coefficients up to the given bounds.
fn ranges<P: Plan, const LANES: usize>(n: usize, a: u32, b: u32) -> [Vec<i16>; 2] {
    let [a, b] = [a, b].map(|bound| vec![bound as i16; n]);
    let ranges = residues::<P, _>(Ranges::<LANES>, &a, &b);
    assert!(ranges.iter().flatten().all(|&bound| (0..=OUTPUT_BOUND).contains(&bound.into())));
    ranges
}

/// Checks that a folded coefficient, the sum of at most four, fits a lane and is reduced below the
/// modulus. Plain code subtracts from the coefficient of `x^0`, so its range means nothing.
fn folds_fit(plain: &[i16], modulus: u32) {
    let largest = plain[1..].iter().map(|&bound| i32::from(bound)).max().unwrap_or(0);
    assert!(plain[1..].iter().all(|&bound| bound >= 0) && 4 * largest <= i16::MAX.into());
    assert!(modulus == 3 || Modulus::new(modulus).reduce_bound(4 * largest) < modulus as i32);
}

/// Checks all products of a ring with vectors of so many lanes.
fn check_products<R: RnsRing, const LANES: usize>() {
    let simd = Ranges::<LANES>;
    let end = R::Shape::OPERAND_BOUND as u32;
    let mut product = Poly::<R>::zero();
    for (a, b) in [(end, end), (end, R::SMALL)] {
        let [mut r0, r1] = ranges::<TwoPrimes<R::Shape>, LANES>(R::N, a, b);
        crt::two_primes_to_q(simd, &mut r0, &r1, product.target());
        folds_fit(&r0, R::Q);
        assert!(product.coefficients().iter().all(|&bound| u32::from(bound) < R::Q));
    }
    let [mut r0, r1] = ranges::<TwoPrimes<R::Shape>, LANES>(R::N, end, end);
    let [minus, plus] = ranges::<ThirdPrime<R::Shape>, LANES>(R::N, end, end);
    crt::three_primes_to_q::<R::Shape, _>(simd, &mut r0, &r1, &minus, &plus, product.target());
    folds_fit(&r0, R::Q);
    assert!(product.coefficients().iter().all(|&bound| u32::from(bound) < R::Q));

    let [minus, plus] = ranges::<ThirdPrime<R::Shape>, LANES>(R::N, 1, 1);
    let mut plain = vec![0; <R::Shape as Shape>::Padded::<i16>::LEN];
    separate::<R::Shape, _>(simd, &minus, &plus, &mut plain);
    assert!(plain.iter().all(|&bound| bound <= MODULI[2].half()));
    // The centred residues are the plain coefficients, which are at most `n`.
    plain.fill(R::N as i16);
    let mut product = vec![0; R::N];
    let mut scratch = plain.clone();
    reduced(simd, &mut plain, &mut scratch, &mut product);
    assert!(product.iter().all(|&bound: &i8| bound <= 1));
    folds_fit(&plain, 3);
}

/// Checks products modulo `q2`, whose last steps are modulo `2^16`.
fn check_rounded<R: Ring + RnsRing, const LANES: usize>() {
    let [mut r0, r1] = ranges::<TwoPrimes<R::Shape>, LANES>(R::N, R::Q2 / 2, R::SMALL);
    let mut product = vec![0; R::N];
    crt::two_primes_to_q2(Ranges::<LANES>, &mut r0, &r1, R::Q2, &mut product);
    assert!(product.iter().all(|&bound| u32::from(bound) < R::Q2));
}

fn every_step_of_products(_: Extent) -> u64 {
    let ((), trace) = traced(|| {
        macro_rules! check {
            ($ring:ident $n:literal $numbers:tt) => {
                check_products::<crate::ring::$ring, 8>();
                check_products::<crate::ring::$ring, 16>();
                check_products::<crate::ring::$ring, 32>();
            };
        }
        for_each_ntru_prime_ring!(check);
        macro_rules! check_rounded {
            ($ring:ident $n:literal $numbers:tt) => {
                check_rounded::<crate::ring::$ring, 8>();
                check_rounded::<crate::ring::$ring, 16>();
                check_rounded::<crate::ring::$ring, 32>();
            };
        }
        for_each_ring!(check_rounded);
    });
    trace.len() as u64
}

/// Runs operands with ends of the range as coefficients, and compares each operation's largest
/// result with its bound.
fn reach<P: Plan>(n: usize) -> u64 {
    let end = P::Shape::OPERAND_BOUND as i16;
    let (_, bounds) = traced(|| ranges::<P, 8>(n, end as u32, end as u32));
    let runs = |length: usize| {
        (0..n).map(|i| if (i / length).is_multiple_of(2) { end } else { -end }).collect::<Vec<_>>()
    };
    let mut random = crate::testing::Random::new();
    let mut random =
        || (0..n).map(|_| if random.next() >> 31 == 0 { end } else { -end }).collect::<Vec<_>>();
    let half = P::Shape::LEN / 2;
    let lengths = [n, 1, 2, 3, P::LEAF_DEGREE, n / 32, n / 16, n / 4, n / 2, half];
    let mut inputs: Vec<_> = lengths.into_iter().map(runs).collect();
    inputs.extend([random(), random(), random()]);
    let mut reached = vec![0; bounds.len()];
    for (i, a) in inputs.iter().enumerate() {
        let b = &inputs[(5 * i + 1) % inputs.len()];
        let (_, results) = traced(|| residues::<P, _>(Checked, a, b));
        assert_eq!(results.len(), bounds.len());
        for ((reached, result), bound) in reached.iter_mut().zip(results).zip(&bounds) {
            assert!(result <= *bound, "{result} is above {bound}");
            *reached = result.max(*reached);
        }
    }
    for (limit, what) in [(i16::MAX.into(), "16 bits"), (i32::MAX, "32 bits")] {
        let of_limit = || {
            let pairs = bounds.iter().zip(&reached);
            pairs.filter(|(bound, _)| (limit == i32::MAX) == (**bound > i16::MAX.into()))
        };
        let bound = of_limit().map(|(bound, _)| bound).max().unwrap_or(&0);
        let most = of_limit().map(|(_, reached)| reached).max().unwrap_or(&0);
        println!("  {n}, numbers of {what}: bound {bound}, reached {most}");
    }
    (inputs.len() * bounds.len()) as u64
}

fn reach_in<R: RnsRing>() -> u64 {
    reach::<TwoPrimes<R::Shape>>(R::N) + reach::<ThirdPrime<R::Shape>>(R::N)
}

fn bounds_are_nearly_reached(_: Extent) -> u64 {
    let mut count = 0;
    macro_rules! reach {
        ($ring:ident $n:literal $numbers:tt) => {
            count += reach_in::<crate::ring::$ring>();
        };
    }
    for_each_ntru_prime_ring!(reach);
    count
}

exhaust! {
    ranges_of_every_step: every_step_of_products,
    reached: bounds_are_nearly_reached,
}
