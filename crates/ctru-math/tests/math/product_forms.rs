//! The Toeplitz and polyphase forms against the schoolbook.

use crate::strategies::{poly, rounded_poly, small_poly};
use ctru_math::kernel::{polyphase, toeplitz};
use ctru_math::mul::schoolbook;
use ctru_math::{Arithmetic, NtruPrimeRing, Poly, Ring, RoundedPoly, SmallPoly, for_each_ring};
use proptest::prelude::*;

fn monomial<R: Arithmetic>(power: usize) -> SmallPoly<R> {
    let mut coefficients = vec![0; R::N];
    coefficients[power] = 1;
    SmallPoly::from_coefficients(&coefficients).unwrap()
}

/// Checks the Toeplitz matrix `T(h)`: its column `j` must be `x^j h`.
fn check_columns<R: Arithmetic>() {
    let coefficients: Vec<u16> = (0..R::N).map(|i| (i * i % R::Q as usize) as u16).collect();
    let h = Poly::<R>::from_coefficients(&coefficients).unwrap();
    for j in [0, 1, 2, R::N / 2, R::N - 2, R::N - 1] {
        let expected = schoolbook::mul_small(&h, &monomial(j));
        for i in 0..R::N {
            let (wrapped, carried) = toeplitz::entry::<R>(i, j);
            let sum = coefficients[wrapped] + carried.map_or(0, |t| coefficients[t]);
            assert_eq!(
                u32::from(sum) % R::Q,
                u32::from(expected.coefficients()[i]),
                "row {i}, column {j}"
            );
        }
    }
}

/// Checks that each matrix `B_w` holds every coefficient once, and that `A_w` holds a coefficient
/// of phase `w` on the right diagonal.
fn check_polyphase_matrices<R: Arithmetic>() {
    let ramp: Vec<u16> = (0..R::N as u16).map(|i| i + 1).collect();
    for w in 0..polyphase::PHASES {
        let rows = polyphase::inner_rows::<R>();
        let row = |k| (0..polyphase::PHASES).map(move |v| (k, v));
        let mut seen: Vec<u16> =
            (0..rows).flat_map(row).map(|(k, v)| polyphase::large_entry(&ramp, w, k, v)).collect();
        assert_eq!(polyphase::large_entry(&ramp, w, rows, w), 0, "nothing is left for another row");
        seen.retain(|&c| c != 0);
        assert_eq!(seen, ramp);
    }
    // x^(8l + w) appears in phase w only, on the diagonal m - k = l.
    let r = monomial::<R>(8 * 5 + 3);
    for (w, m, k) in [(3, 5, 0), (3, 7, 2), (3, 4, 0), (3, 6, 0), (2, 5, 0), (4, 5, 0)] {
        assert_eq!(polyphase::small_entry(&r, w, m, k), i8::from(w == 3 && m == k + 5));
    }
    assert!(8 * polyphase::output_rows::<R>() >= 2 * R::N - 1);
}

#[test]
fn split_is_exact_for_13_bits() {
    for value in 0..1 << 13 {
        let (low, high) = polyphase::split(value);
        assert!((-64..=63).contains(&low));
        assert_eq!(i32::from(low) + 128 * i32::from(high), i32::from(value));
    }
}

macro_rules! ring_tests {
    ($ring:ident $n:literal $numbers:tt) => {
        #[allow(non_snake_case)]
        mod $ring {
            use super::*;
            use ctru_math::$ring;

            #[test]
            fn toeplitz_columns() {
                check_columns::<$ring>();
            }

            #[test]
            fn polyphase_matrices() {
                check_polyphase_matrices::<$ring>();
            }

            #[test]
            fn extreme_products() {
                let bound = SmallPoly::<$ring>::BOUND as i8;
                let largest = [<$ring>::Q as u16 - 1; <$ring>::N];
                let h = Poly::<$ring>::from_coefficients(&largest).unwrap();
                let largest = [<$ring>::Q2 as u16 - 1; <$ring>::N];
                let c = RoundedPoly::<$ring>::from_coefficients(&largest).unwrap();
                for b in [bound, -bound] {
                    let b = SmallPoly::from_coefficients(&[b; <$ring>::N]).unwrap();
                    assert_eq!(toeplitz::mul_small(&h, &b), schoolbook::mul_small(&h, &b));
                    assert_eq!(polyphase::mul_small(&h, &b), schoolbook::mul_small(&h, &b));
                    assert_eq!(toeplitz::mul_rounded(&c, &b), schoolbook::mul_rounded(&c, &b));
                    assert_eq!(polyphase::mul_rounded(&c, &b), schoolbook::mul_rounded(&c, &b));
                }
            }

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(12))]

                #[test]
                fn mul_small(a in poly::<$ring>(), b in small_poly::<$ring>()) {
                    let expected = schoolbook::mul_small(&a, &b);
                    prop_assert_eq!(&toeplitz::mul_small(&a, &b), &expected);
                    prop_assert_eq!(&polyphase::mul_small(&a, &b), &expected);
                }

                #[test]
                fn mul_rounded(c in rounded_poly::<$ring>(), f in small_poly::<$ring>()) {
                    let expected = schoolbook::mul_rounded(&c, &f);
                    prop_assert_eq!(&toeplitz::mul_rounded(&c, &f), &expected);
                    prop_assert_eq!(&polyphase::mul_rounded(&c, &f), &expected);
                }
            }
        }
    };
}

for_each_ring!(ring_tests);
