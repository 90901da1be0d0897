//! The operations of vectors on all pairs of 16-bit numbers, and the steps modulo a prime on all
//! numbers, on every backend of this CPU.

extern crate std;

use std::vec::Vec;

use ctru_tests::exhaust;
use ctru_tests::exhaust::Extent;

use super::{Modulus, Simd, Sums, Vector, WithSimd, dispatch_to};
use crate::backend;

const OPERATIONS: usize = 15;
const BLOCK: usize = 1 << 10;

/// Computes all operations of `x` with each of the numbers.
struct Operations<'a>(i16, &'a [i16; BLOCK], &'a mut [[i16; BLOCK]; OPERATIONS]);

impl WithSimd for Operations<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(x, numbers, results) = self;
        let (x, zero) = (simd.splat(x), simd.splat(0));
        for at in (0..BLOCK).step_by(S::LANES) {
            let y = simd.load(&numbers[at..]);
            let first = simd.no_sums().add_products([x, zero], [y, zero]);
            let second = simd.no_sums().add_products([zero, y], [zero, x]);
            let [[a, b], [c, d]] = [first.split(), second.split()];
            let [e, f] = first.add_products([x, y], [y, x]).split();
            let values = [
                x.add(y),
                x.sub(y),
                x.mul_low(y),
                x.mul_high(y),
                x.mul_round(y),
                x.min_unsigned(y),
                x.and(y),
                x.or(y),
                x.xor(y),
                a,
                b,
                c,
                d,
                e,
                f,
            ];
            for (value, results) in values.iter().zip(results.iter_mut()) {
                value.store(&mut results[at..]);
            }
        }
    }
}

/// Returns the results of the operations by definition.
fn defined(x: i16, y: i16) -> [i16; OPERATIONS] {
    let product = i32::from(x) * i32::from(y);
    let (low, high) = (product as i16, (product >> 16) as i16);
    let tripled = product.wrapping_mul(3);
    [
        x.wrapping_add(y),
        x.wrapping_sub(y),
        low,
        high,
        ((product + (1 << 14)) >> 15) as i16,
        (x as u16).min(y as u16) as i16,
        x & y,
        x | y,
        x ^ y,
        low,
        high,
        low,
        high,
        tripled as i16,
        (tripled >> 16) as i16,
    ]
}

fn operations(extent: Extent) -> u64 {
    let mut count = 0;
    let mut results = [[0; BLOCK]; OPERATIONS];
    for backend in backend::available() {
        for first in extent.some(0..=(1 << 6) - 1, 4) {
            let y = core::array::from_fn(|i| ((first as usize * BLOCK + i) as u16) as i16);
            for x in extent.some(i16::MIN.into()..=i16::MAX.into(), 300) {
                let x = x as i16;
                dispatch_to(backend, Operations(x, &y, &mut results));
                let mut differences = [0; OPERATIONS];
                for (i, &y) in y.iter().enumerate() {
                    // Backends disagree on this pair, and no caller has it.
                    let excluded = x == i16::MIN && y == i16::MIN;
                    let defined = defined(x, y);
                    for (operation, difference) in differences.iter_mut().enumerate() {
                        let wrong = results[operation][i] ^ defined[operation];
                        let counts = !(excluded && (operation == 3 || operation == 4));
                        *difference |= wrong & -i16::from(counts);
                    }
                }
                assert_eq!(differences, [0; OPERATIONS], "on {backend}, {x}, block {first}");
                count += (OPERATIONS * BLOCK) as u64;
            }
        }
    }
    count
}

/// The primes of the transforms and of all rings, and one of a small ring.
const PRIMES: [u32; 10] = [7681, 10753, 11777, 4591, 4621, 5167, 6343, 7177, 7879, 59];

/// A divisibility by an odd number, without a division.
struct Divisor {
    inverse: i32,
    limit: u32,
}

impl Divisor {
    fn new(m: i32) -> Self {
        let mut inverse = m;
        for _ in 0..4 {
            inverse = inverse.wrapping_mul(2i32.wrapping_sub(m.wrapping_mul(inverse)));
        }
        Self { inverse, limit: i32::MAX as u32 / m as u32 }
    }
    fn divides(&self, x: i32) -> bool {
        x.wrapping_mul(self.inverse).unsigned_abs() <= self.limit
    }
}

/// Multiplies all numbers by a constant and by a variable.
struct Products<'a>(&'a Modulus, i16, &'a [i16], [&'a mut [i16]; 2]);

impl WithSimd for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(modulus, w, numbers, [by_constant, by_variable]) = self;
        let lanes = modulus.splat(simd);
        let factor = modulus.factor(w.into()).splat(simd);
        let variable = lanes.variable(simd.splat(w));
        for at in (0..numbers.len()).step_by(S::LANES) {
            let a = simd.load(&numbers[at..]);
            lanes.mul(a, factor).store(&mut by_constant[at..]);
            lanes.mul(a, variable).store(&mut by_variable[at..]);
        }
    }
}

/// Checks products of all numbers by all centred constants and variables.
fn products(extent: Extent) -> u64 {
    let numbers: Vec<i16> =
        extent.some(i16::MIN.into()..=i16::MAX.into(), 1 << 10).map(|a| a as i16).collect();
    let numbers = &numbers[..numbers.len() / 32 * 32];
    let (mut first, mut second) = (numbers.to_vec(), numbers.to_vec());
    let mut count = 0;
    for modulus in PRIMES.map(Modulus::new) {
        let (m, half) = (i32::from(modulus.m), i64::from(modulus.half()));
        let divisor = Divisor::new(m);
        for w in extent.some(-half..=half, 30) {
            let factor = modulus.factor(w);
            let bounds = [i32::from(factor.zeta).abs(), w.abs() as i32].map(|w| {
                let bounds = numbers.iter().map(|&a| modulus.product_bound(i32::from(a).abs(), w));
                bounds.collect::<Vec<_>>()
            });
            for backend in backend::available() {
                let results = [&mut first[..], &mut second[..]];
                dispatch_to(backend, Products(&modulus, w as i16, numbers, results));
                let mut all = true;
                for (i, &a) in numbers.iter().enumerate() {
                    let (x, y) = (i32::from(first[i]), i32::from(second[i]));
                    let product = i32::from(a) * w as i32;
                    all &= divisor.divides(product - x) & (x.abs() <= bounds[0][i]);
                    all &= divisor.divides(product - (y << 16)) & (y.abs() <= bounds[1][i]);
                }
                assert!(all, "on {backend}, modulo {m}, times {w}");
                count += 2 * numbers.len() as u64;
            }
        }
    }
    count
}

/// Reduces the sums `2^16 high + low` for all `low`.
struct SumsOf<'a>(&'a Modulus, i16, &'a [i16], &'a mut [i16]);

impl WithSimd for SumsOf<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(modulus, high, numbers, results) = self;
        let lanes = modulus.splat(simd);
        let (high, quarter, zero) = (simd.splat(high), simd.splat(1 << 14), simd.splat(0));
        let upper = simd.no_sums().add_products([high; 2], [quarter; 2]);
        let upper = upper.add_products([high; 2], [quarter; 2]);
        for at in (0..numbers.len()).step_by(S::LANES) {
            let low = simd.load(&numbers[at..]);
            let sums = upper.add_products([low, zero], [simd.splat(1), zero]);
            lanes.reduce_sums(sums).store(&mut results[at..]);
        }
    }
}

/// Checks reduced sums for all low halves. The high half is only added.
fn sums(_: Extent) -> u64 {
    let numbers: Vec<i16> = (i16::MIN..=i16::MAX).collect();
    let mut results = numbers.clone();
    let mut count = 0;
    for modulus in PRIMES.map(Modulus::new) {
        let divisor = Divisor::new(modulus.m.into());
        for backend in backend::available() {
            for high in [-8192, -8191, -1, 0, 1, 2, 8191] {
                dispatch_to(backend, SumsOf(&modulus, high, &numbers, &mut results));
                for (&low, &result) in numbers.iter().zip(&results) {
                    let (sum, result) = ((i32::from(high) << 16) + i32::from(low), result.into());
                    assert!(divisor.divides(sum - (result << 16)), "on {backend}: {sum}");
                    assert!(i32::abs(result) <= modulus.sum_bound(sum.abs()), "{backend}: {sum}");
                    count += 1;
                }
            }
        }
    }
    count
}

exhaust! {
    every_pair_of_lanes: operations,
    every_constant_factor: products,
    every_low_half_of_a_sum: sums,
}
