//! Compares the products of polynomials on every backend with schoolbook products.

use crate::backends::on_every_backend;
use crate::strategies::{poly, rounded_poly, small_poly};
use ctru_math::mul::{self, schoolbook};
use ctru_math::{
    Arithmetic, NtruPrimeArithmetic, Poly, RoundedPoly, SmallPoly, for_each_ntru_prime_ring,
    for_each_ring,
};
use proptest::prelude::*;

/// Multiplies polynomials whose coefficients all have the same value, at the ends of each range.
/// Their products have the largest plain coefficients, of both signs.
fn extremes<R: NtruPrimeArithmetic>() {
    let q = R::Q as u16;
    let bound = SmallPoly::<R>::BOUND as i8;
    let polys =
        [q - 1, q / 2, q / 2 + 1, 1].map(|c| Poly::<R>::from_coefficients(&vec![c; R::N]).unwrap());
    let smalls = [bound, -bound, bound - 1, -1]
        .map(|c| SmallPoly::<R>::from_coefficients(&vec![c; R::N]).unwrap());
    for small in &smalls {
        for a in &polys {
            let expected = schoolbook::mul_small(a, small);
            on_every_backend(|| assert_eq!(mul::mul_small(a, small), expected));
        }
    }
    for a in &polys {
        for b in &polys {
            let expected = schoolbook::mul(a, b);
            on_every_backend(|| assert_eq!(mul::mul(a, b), expected));
        }
    }
}

/// Does the same modulo `q2`.
fn extremes_rounded<R: Arithmetic>() {
    let (bound, q2) = (SmallPoly::<R>::BOUND as i8, R::Q2 as u16);
    for small in [bound, -bound, bound - 1, -1] {
        let small = SmallPoly::<R>::from_coefficients(&vec![small; R::N]).unwrap();
        for c in [q2 - 1, q2 / 2, q2 / 2 - 1, q2 / 2 + 1] {
            let c = RoundedPoly::<R>::from_coefficients(&vec![c; R::N]).unwrap();
            let expected = schoolbook::mul_rounded(&c, &small);
            on_every_backend(|| assert_eq!(mul::mul_rounded(&c, &small), expected));
        }
    }
}

macro_rules! properties {
    ($ring:ident $n:literal $numbers:tt) => {
        #[allow(non_snake_case)]
        mod $ring {
            use super::*;
            use ctru_math::$ring;

            #[test]
            fn extremes() {
                super::extremes::<$ring>();
            }
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(48))]
                #[test]
                fn mul_small(a in poly::<$ring>(), b in small_poly::<$ring>()) {
                    let expected = schoolbook::mul_small(&a, &b);
                    on_every_backend(|| assert_eq!(mul::mul_small(&a, &b), expected));
                }
                #[test]
                fn mul(a in poly::<$ring>(), b in poly::<$ring>()) {
                    let expected = schoolbook::mul(&a, &b);
                    on_every_backend(|| assert_eq!(mul::mul(&a, &b), expected));
                }
            }
        }
    };
}
for_each_ntru_prime_ring!(properties);

/// Properties of the product modulo `q2`.
mod rounded {
    use super::*;

    macro_rules! properties {
        ($ring:ident $n:literal $numbers:tt) => {
            #[allow(non_snake_case)]
            mod $ring {
                use super::*;
                use ctru_math::$ring;

                #[test]
                fn extremes() {
                    extremes_rounded::<$ring>();
                }
                proptest! {
                    #![proptest_config(ProptestConfig::with_cases(48))]
                    #[test]
                    fn mul_rounded(a in rounded_poly::<$ring>(), b in small_poly::<$ring>()) {
                        let expected = schoolbook::mul_rounded(&a, &b);
                        on_every_backend(|| assert_eq!(mul::mul_rounded(&a, &b), expected));
                    }
                }
            }
        };
    }
    for_each_ring!(properties);
}
