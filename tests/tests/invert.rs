//! Inversion: products with the inverse are one, and batches equal single inversions.

// An input that cannot be built is a failed test.
#![allow(clippy::unwrap_used)]

use ctru_math::invert::{ScratchTooShort, invert, invert_batch};
use ctru_math::product::schoolbook;
use ctru_math::{Poly, R653, R761, R1277, Ring};
use ctru_tests::strategies::poly;
use proptest::collection::vec;
use proptest::prelude::*;

fn monomial<R: Ring>(coefficient: u16, power: usize) -> Poly<R> {
    let mut c = vec![0; R::N];
    c[power] = coefficient;
    Poly::from_coefficients(&c).unwrap()
}

fn one<R: Ring>() -> Poly<R> {
    monomial(1, 0)
}

fn check<R: Ring>(a: &Poly<R>) {
    let inverse = Option::<Poly<R>>::from(invert(a));
    if *a == Poly::zero() {
        assert_eq!(inverse, None);
    } else {
        assert_eq!(schoolbook::mul(a, &inverse.unwrap()), one());
    }
}

/// Zero, units of the base field, monomials and polynomials whose low or high coefficients vanish: division steps
/// with long runs of swaps or of none.
fn special<R: Ring>() {
    check(&Poly::<R>::zero());
    for coefficient in [1, 2, R::Q as u16 - 1, R::Q as u16 / 2] {
        for power in [0, 1, R::N / 2, R::N - 2, R::N - 1] {
            check(&monomial::<R>(coefficient, power));
        }
        check(&Poly::<R>::from_coefficients(&vec![coefficient; R::N]).unwrap());
    }
    let alternating: Vec<u16> = (0..R::N).map(|i| if i % 2 == 0 { 1 } else { R::Q as u16 - 1 }).collect();
    check(&Poly::<R>::from_coefficients(&alternating).unwrap());
}

fn batch<R: Ring>(elements: &[Poly<R>]) {
    let mut inverses = elements.to_vec();
    let mut scratch = vec![Poly::zero(); elements.len()];
    invert_batch(&mut inverses, &mut scratch).unwrap();
    for (a, inverse) in elements.iter().zip(&inverses) {
        assert_eq!(*inverse, Option::<Poly<R>>::from(invert(a)).unwrap_or_else(Poly::zero));
    }
}

#[test]
fn special_elements() {
    special::<R653>();
    special::<R761>();
    special::<R1277>();
}

#[test]
fn batches_of_zeros_and_ones() {
    for size in 0..6 {
        batch(&vec![Poly::<R761>::zero(); size]);
        batch(&vec![one::<R761>(); size]);
    }
    batch(&[one::<R653>(), Poly::zero(), monomial(3, 7)]);
}

#[test]
fn short_scratch_changes_nothing() {
    let mut elements = vec![monomial::<R761>(2, 1); 3];
    let error = invert_batch(&mut elements, &mut [Poly::zero(), Poly::zero()]);
    assert_eq!(error, Err(ScratchTooShort { needed: 3, given: 2 }));
    assert_eq!(elements, vec![monomial::<R761>(2, 1); 3]);
}

macro_rules! properties {
    ($($name:ident: $ring:ty),*) => {$(
        mod $name {
            use super::*;
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(16))]
                #[test]
                fn single(a in poly::<$ring>()) {
                    check(&a);
                }
                #[test]
                fn any_batch(elements in vec(prop_oneof![7 => poly::<$ring>(), 1 => Just(Poly::zero())], 0..9)) {
                    batch(&elements);
                }
            }
        }
    )*};
}
properties!(r653: R653, r761: R761, r1277: R1277);
