//! Arithmetic modulo 3 and the encodings of Streamlined NTRU Prime against plain oracles.

use crate::backends::on_every_backend;
use crate::strategies::{numbers, poly};
use ctru_math::array::Array;
use ctru_math::codec::{mixed_radix, ternary as packed};
use ctru_math::{NtruPrimeArithmetic, Poly, SmallPoly, for_each_ntru_prime_ring, ternary};
use proptest::prelude::*;

/// Generates polynomials with coefficients in `-1..=1`.
fn ternary_poly<R: NtruPrimeArithmetic>() -> impl Strategy<Value = SmallPoly<R>> {
    numbers(R::N, -1, 1).prop_map(|c| of(&c))
}

fn of<R: NtruPrimeArithmetic>(coefficients: &[i64]) -> SmallPoly<R> {
    let coefficients: Vec<i8> = coefficients.iter().map(|&c| c as i8).collect();
    SmallPoly::from_coefficients(&coefficients).unwrap()
}

/// Returns the representative in `-(m - 1)/2..=(m - 1)/2` for an odd `m`.
fn centred(c: i64, m: i64) -> i64 {
    (c + m / 2).rem_euclid(m) - m / 2
}

/// Returns the product in `Z[x]/(x^n - x - 1)`, modulo 3.
fn product<R: NtruPrimeArithmetic>(a: &SmallPoly<R>, b: &SmallPoly<R>) -> SmallPoly<R> {
    let mut c = vec![0i64; 2 * R::N - 1];
    for (i, &a) in a.coefficients().iter().enumerate() {
        for (c, &b) in c[i..].iter_mut().zip(b.coefficients()) {
            *c += i64::from(a) * i64::from(b);
        }
    }
    for k in (R::N..2 * R::N - 1).rev() {
        c[k - R::N] += c[k];
        c[k - R::N + 1] += c[k];
    }
    c.truncate(R::N);
    of(&c.iter().map(|&c| centred(c, 3)).collect::<Vec<_>>())
}

/// Returns whether `a` and `x^n - x - 1` have no common factor modulo 3, by Euclid's algorithm.
fn has_inverse<R: NtruPrimeArithmetic>(a: &SmallPoly<R>) -> bool {
    fn trim(a: &mut Vec<i64>) {
        while a.last() == Some(&0) {
            a.pop();
        }
    }
    let mut f = vec![0; R::N + 1];
    (f[0], f[1], f[R::N]) = (2, 2, 1);
    let mut g: Vec<i64> = a.coefficients().iter().map(|&c| i64::from(c).rem_euclid(3)).collect();
    trim(&mut g);
    while !g.is_empty() {
        while f.len() >= g.len() {
            // Each number other than 0 is its own inverse modulo 3.
            let factor = f[f.len() - 1] * g[g.len() - 1];
            let shift = f.len() - g.len();
            for (f, &g) in f[shift..].iter_mut().zip(&g) {
                *f = (*f - factor * g).rem_euclid(3);
            }
            trim(&mut f);
        }
        std::mem::swap(&mut f, &mut g);
    }
    f.len() == 1
}

fn check_inverse<R: NtruPrimeArithmetic>(a: &SmallPoly<R>) {
    let expected = has_inverse(a);
    let inverse = Option::<SmallPoly<R>>::from(ternary::invert(a));
    assert_eq!(inverse.is_some(), expected);
    if let Some(inverse) = &inverse {
        assert_eq!(product(a, inverse), SmallPoly::one());
    }
    on_every_backend(|| assert_eq!(Option::from(ternary::invert(a)), inverse));
}

fn check_batch<R: NtruPrimeArithmetic>(elements: &[SmallPoly<R>]) {
    let inverse = |a| Option::from(ternary::invert(a)).unwrap_or_else(SmallPoly::zero);
    let expected: Vec<SmallPoly<R>> = elements.iter().map(inverse).collect();
    on_every_backend(|| {
        let mut nodes = [elements, elements].concat();
        ternary::invert_batch(&mut nodes);
        assert_eq!(nodes[elements.len()..], expected);
    });
}

fn check_product<R: NtruPrimeArithmetic>(a: &SmallPoly<R>, b: &SmallPoly<R>) {
    let expected = product(a, b);
    on_every_backend(|| assert_eq!(ternary::mul(a, b), expected));
}

fn sparse<R: NtruPrimeArithmetic>(terms: &[(usize, i64)]) -> SmallPoly<R> {
    let mut c = vec![0; R::N];
    for &(power, coefficient) in terms {
        c[power] = coefficient;
    }
    of(&c)
}

/// Checks zero, monomials, constants throughout, and all polynomials of degree 3.
fn special<R: NtruPrimeArithmetic>() {
    check_inverse(&SmallPoly::<R>::zero());
    for c in [1, -1] {
        for power in [0, 1, R::N / 2, R::N - 1] {
            check_inverse(&sparse::<R>(&[(power, c)]));
        }
        check_inverse(&of::<R>(&vec![c; R::N]));
    }
    for a in [-1, 0, 1] {
        for b in [-1, 0, 1] {
            for c in [-1, 0, 1] {
                check_inverse(&sparse::<R>(&[(0, a), (1, b), (2, c), (3, 1)]));
            }
        }
    }
    // The second and the fourth have no inverse, and the third has none in some rings.
    let elements =
        [&[(2, 1)][..], &[], &[(0, -1), (1, -1), (3, 1)], &[], &[(1, 1)], &[(3, 1)], &[(0, -1)]];
    let elements = elements.map(sparse::<R>);
    for count in 0..=elements.len() {
        check_batch(&elements[..count]);
    }
    let all = [1, -1].map(|c| of::<R>(&vec![c; R::N]));
    let signs = of::<R>(&(0..R::N).map(|i| 1 - 2 * (i as i64 % 2)).collect::<Vec<_>>());
    for a in [&all[0], &all[1], &signs] {
        for b in [&all[0], &all[1], &signs] {
            check_product(a, b);
        }
    }
}

/// Checks multiples of factors of `x^n - x - 1` modulo 3, which have no inverse.
#[test]
fn multiples_of_factors_have_no_inverse() {
    fn check<R: NtruPrimeArithmetic>(factor: &[(usize, i64)]) {
        let (factor, mut multiple) = (sparse::<R>(factor), SmallPoly::one());
        for _ in 0..20 {
            multiple = product(&multiple, &factor);
            assert!(!has_inverse(&multiple));
            check_inverse(&multiple);
        }
    }
    check::<ctru_math::R653>(&[(0, -1), (1, -1), (3, 1)]);
    check::<ctru_math::R953>(&[(0, 1), (2, -1), (3, 1), (5, 1)]);
    check::<ctru_math::R1013>(&[(0, -1), (1, 1), (4, 1)]);
    check::<ctru_math::R1277>(&[(0, -1), (1, -1), (3, 1)]);
}

/// Checks `tripled` and the numbers of encodings for all coefficients.
fn every_coefficient<R: NtruPrimeArithmetic>() {
    let q = i64::from(R::Q);
    for first in (0..q).step_by(R::N) {
        let c: Vec<i64> = (first..first + R::N as i64).map(|c| c % q).collect();
        let poly: Poly<R> =
            Poly::from_coefficients(&c.iter().map(|&c| c as u16).collect::<Vec<_>>()).unwrap();
        let tripled: Vec<i64> = c.iter().map(|&c| centred(centred(3 * c, q), 3)).collect();
        let rounded = c.iter().map(|&c| centred(c, q) - centred(centred(c, q), 3));
        let third = ternary::third(&poly);
        let tripled_third = third.coefficients().iter().map(|&c| i64::from(c) * 3 % q);
        assert!(tripled_third.eq(c.iter().copied()));
        let rounded: Vec<u16> = rounded.map(|c| c.rem_euclid(q) as u16).collect();
        on_every_backend(|| {
            assert_eq!(ternary::tripled(&poly), of(&tripled));
            assert_eq!(ternary::third(&poly), third);
            let bytes = mixed_radix::encode_rounded(&poly);
            assert_eq!(mixed_radix::decode_rounded::<R>(&bytes).coefficients(), rounded);
            let bytes = mixed_radix::encode_shifted(&poly);
            assert_eq!(mixed_radix::decode_shifted::<R>(&bytes), poly);
        });
    }
}

/// Encodes numbers below `radix` as the specification does, with lists that grow shorter.
fn encoded(numbers: Vec<u64>, radix: u64) -> Vec<u8> {
    let (mut r, mut m) = (numbers.clone(), vec![radix; numbers.len()]);
    let mut bytes = Vec::new();
    let mut write = |x: &mut u64, y: &mut u64, limit: u64| {
        while *y >= limit {
            bytes.push(*x as u8);
            (*x, *y) = (*x >> 8, y.div_ceil(256));
        }
    };
    while r.len() > 1 {
        let (mut next_r, mut next_m) = (Vec::new(), Vec::new());
        for i in (0..r.len()).step_by(2) {
            if i + 1 == r.len() {
                next_r.push(r[i]);
                next_m.push(m[i]);
            } else {
                let (mut x, mut y) = (r[i] + m[i] * r[i + 1], m[i] * m[i + 1]);
                write(&mut x, &mut y, 16384);
                next_r.push(x);
                next_m.push(y);
            }
        }
        (r, m) = (next_r, next_m);
    }
    let (mut x, mut y) = (r[0], m[0]);
    write(&mut x, &mut y, 2);
    bytes
}

fn check_encodings<R: NtruPrimeArithmetic>(poly: &Poly<R>) {
    let q = i64::from(R::Q);
    let shifted = poly.coefficients().iter().map(|&c| (centred(i64::from(c), q) + q / 2) as u64);
    let thirds = shifted.clone().map(|c| (c + 1) / 3).collect();
    let (public, rounded) =
        (encoded(shifted.collect(), q as u64), encoded(thirds, (q as u64).div_ceil(3)));
    on_every_backend(|| {
        assert_eq!(mixed_radix::encode_shifted(poly).as_ref(), public);
        assert_eq!(mixed_radix::encode_rounded(poly).as_ref(), rounded);
    });
}

fn check_packing<R: NtruPrimeArithmetic>(a: &SmallPoly<R>) {
    on_every_backend(|| {
        let mut bytes = R::TernaryBytes::zeroed();
        packed::pack(a, &mut bytes);
        for (i, &c) in a.coefficients().iter().enumerate() {
            assert_eq!(bytes.as_ref()[i / 4] >> (2 * (i % 4)) & 3, (c + 1) as u8);
        }
        assert_eq!(packed::unpack::<R>(&bytes).as_ref(), Ok(a));
        // Each pair of bits but one of padding is refused if it is 3, and padding if it is not 0.
        for i in [0, 1, 2, 3, R::N / 2, R::N - 1, R::N, 4 * R::TERNARY_BYTES - 1] {
            for pair in if i < R::N { 3..4 } else { 1..4 } {
                let mut wrong = bytes;
                wrong.as_mut()[i / 4] |= pair << (2 * (i % 4));
                assert_eq!(packed::unpack::<R>(&wrong), Err(packed::InvalidTernary));
            }
        }
    });
}

fn check_weight<R: NtruPrimeArithmetic>(a: &SmallPoly<R>) {
    let is_short = a.coefficients().iter().filter(|&&c| c != 0).count() == R::WEIGHT;
    assert_eq!(bool::from(ternary::is_short(a)), is_short);
    let ones = of(&(0..R::N).map(|i| i64::from(i < R::WEIGHT)).collect::<Vec<_>>());
    let expected = if is_short { a } else { &ones };
    on_every_backend(|| {
        assert_eq!(ternary::short_or_ones(a), *expected);
        let mut bytes = R::TernaryBytes::zeroed();
        packed::pack(a, &mut bytes);
        let unpacked = packed::unpack_short::<R>(&bytes);
        assert_eq!(unpacked.as_ref(), if is_short { Ok(a) } else { Err(&packed::InvalidTernary) });
    });
}

macro_rules! properties {
    ($ring:ident $n:literal $numbers:tt) => {
        #[allow(non_snake_case)]
        mod $ring {
            use super::*;
            use ctru_math::{NtruPrimeRing, $ring};

            #[test]
            fn special() {
                super::special::<$ring>();
            }
            #[test]
            fn every_coefficient() {
                super::every_coefficient::<$ring>();
            }
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(24))]
                #[test]
                fn product(a in ternary_poly::<$ring>(), b in ternary_poly::<$ring>()) {
                    check_product(&a, &b);
                }
                #[test]
                fn inverse(a in ternary_poly::<$ring>()) {
                    check_inverse(&a);
                }
                #[test]
                fn encodings(a in poly::<$ring>()) {
                    check_encodings(&a);
                }
                #[test]
                fn packing(a in ternary_poly::<$ring>()) {
                    check_packing(&a);
                }
                #[test]
                fn weight(
                    first in -1..=1i64,
                    places in Just((0..$n).collect::<Vec<usize>>()).prop_shuffle(),
                    more in -1..=1isize,
                ) {
                    let mut c = vec![0; $n];
                    for &i in &places[..<$ring>::WEIGHT.strict_add_signed(more)] {
                        c[i] = if i % 2 == 0 { 1 } else { -1 };
                    }
                    c[0] = first;
                    check_weight(&of::<$ring>(&c));
                }
            }
        }
    };
}
for_each_ntru_prime_ring!(properties);
