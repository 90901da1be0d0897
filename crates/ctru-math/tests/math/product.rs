//! Compares the products of polynomials on every backend with schoolbook products.

use crate::backends::on_every_backend;
use crate::strategies::{poly, rounded_poly, small_poly};
use ctru_math::mul::{self, schoolbook};
use ctru_math::{Arithmetic, Poly, RoundedPoly, SmallPoly, for_each_ring};
use proptest::prelude::*;

/// Multiplies polynomials whose coefficients all have the same value, at the ends of each range.
/// Their products have the largest plain coefficients, of both signs.
fn extremes<R: Arithmetic>() {
    let q = R::Q as u16;
    let bound = SmallPoly::<R>::BOUND as i8;
    let polys =
        [q - 1, q / 2, q / 2 + 1, 1].map(|c| Poly::<R>::from_coefficients(&vec![c; R::N]).unwrap());
    let smalls = [bound, -bound, bound - 1, -1]
        .map(|c| SmallPoly::<R>::from_coefficients(&vec![c; R::N]).unwrap());
    let q2 = R::Q2 as u16;
    let rounded = [q2 - 1, q2 / 2, q2 / 2 - 1, q2 / 2 + 1]
        .map(|c| RoundedPoly::<R>::from_coefficients(&vec![c; R::N]).unwrap());
    for small in &smalls {
        for a in &polys {
            let expected = schoolbook::mul_small(a, small);
            on_every_backend(|| assert_eq!(mul::mul_small(a, small), expected));
        }
        for c in &rounded {
            let expected = schoolbook::mul_rounded(c, small);
            on_every_backend(|| assert_eq!(mul::mul_rounded(c, small), expected));
        }
    }
    for a in &polys {
        for b in &polys {
            let expected = schoolbook::mul(a, b);
            on_every_backend(|| assert_eq!(mul::mul(a, b), expected));
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
