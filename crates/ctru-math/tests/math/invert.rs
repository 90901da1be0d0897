//! Inversion on every backend: products with the inverse are one, and batches equal single
//! inversions.

use crate::backends::on_every_backend;
use crate::strategies::{poly, small_poly};
use ctru_math::invert::{BatchNode, BatchTooShort, invert, invert_batch};
use ctru_math::mul::schoolbook;
use ctru_math::{NtruPrimeArithmetic, Poly, SmallPoly, for_each_ntru_prime_ring};
use proptest::collection::vec;
use proptest::prelude::*;

fn monomial<R: NtruPrimeArithmetic>(coefficient: u16, power: usize) -> Poly<R> {
    let mut c = vec![0; R::N];
    c[power] = coefficient;
    Poly::from_coefficients(&c).unwrap()
}

fn one<R: NtruPrimeArithmetic>() -> Poly<R> {
    monomial(1, 0)
}

fn check<R: NtruPrimeArithmetic>(a: &Poly<R>) {
    let inverse = Option::<Poly<R>>::from(invert(a));
    match &inverse {
        None => assert_eq!(*a, Poly::zero()),
        Some(inverse) => assert_eq!(schoolbook::mul(a, inverse), one()),
    }
    on_every_backend(|| assert_eq!(Option::from(invert(a)), inverse));
}

/// Checks zero, units of the base field, monomials, and polynomials whose low or high coefficients
/// are zero. Their division steps have long runs with swaps or without swaps.
fn special<R: NtruPrimeArithmetic>() {
    check(&Poly::<R>::zero());
    for coefficient in [1, 2, R::Q as u16 - 1, R::Q as u16 / 2] {
        for power in [0, 1, R::N / 2, R::N - 2, R::N - 1] {
            check(&monomial::<R>(coefficient, power));
        }
        check(&Poly::<R>::from_coefficients(&vec![coefficient; R::N]).unwrap());
    }
    let alternating: Vec<u16> =
        (0..R::N).map(|i| if i % 2 == 0 { 1 } else { R::Q as u16 - 1 }).collect();
    check(&Poly::<R>::from_coefficients(&alternating).unwrap());
}

fn nodes<R: NtruPrimeArithmetic>(count: usize) -> Vec<BatchNode<R>> {
    (0..count).map(|_| BatchNode::new()).collect()
}

fn batch<R: NtruPrimeArithmetic>(elements: &[SmallPoly<R>]) {
    let single = |a: &SmallPoly<R>| Option::from(invert(&Poly::from(a))).unwrap_or_else(Poly::zero);
    let expected: Vec<Poly<R>> = elements.iter().map(single).collect();
    let elements: Vec<&SmallPoly<R>> = elements.iter().collect();
    on_every_backend(|| {
        let mut inverses = vec![one(); elements.len()];
        invert_batch(&elements, &mut inverses, &mut nodes(elements.len())).unwrap();
        assert_eq!(inverses, expected);
    });
}

fn constant<R: NtruPrimeArithmetic>(c: i8) -> SmallPoly<R> {
    SmallPoly::from_coefficients(&vec![c; R::N]).unwrap()
}

/// Checks batches of zeros, of ones and of extreme constants. The tree of 13 elements has products
/// of two general factors, of two small ones, and of one of each kind.
fn extreme_batches<R: NtruPrimeArithmetic>() {
    let bound = SmallPoly::<R>::BOUND as i8;
    for size in 0..6 {
        batch(&vec![SmallPoly::<R>::zero(); size]);
        batch(&vec![SmallPoly::<R>::one(); size]);
    }
    for size in [2, 3, 13] {
        batch(&vec![constant::<R>(bound); size]);
        batch(&vec![constant::<R>(-bound); size]);
    }
    batch(&[SmallPoly::one(), SmallPoly::zero(), constant::<R>(1)]);
}

#[test]
fn too_little_room_changes_nothing() {
    let element = SmallPoly::<ctru_math::R761>::one();
    let elements = [&element; 3];
    let mut inverses = vec![monomial(2, 1); 3];
    let error = Err(BatchTooShort { needed: 3, given: 2 });
    assert_eq!(invert_batch(&elements, &mut inverses, &mut nodes(2)), error);
    assert_eq!(invert_batch(&elements, &mut inverses[..2], &mut nodes(3)), error);
    assert_eq!(inverses, vec![monomial(2, 1); 3]);
}

macro_rules! properties {
    ($ring:ident $n:literal $numbers:tt) => {
        #[allow(non_snake_case)]
        mod $ring {
            use super::*;
            use ctru_math::$ring;

            #[test]
            fn special_elements() {
                special::<$ring>();
            }

            #[test]
            fn batches_of_extremes() {
                extreme_batches::<$ring>();
            }

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(16))]
                #[test]
                fn single(a in poly::<$ring>()) {
                    check(&a);
                }
                #[test]
                fn any_batch(elements in vec(
                    prop_oneof![7 => small_poly::<$ring>(), 1 => Just(SmallPoly::zero())], 0..9,
                )) {
                    batch(&elements);
                }
            }
        }
    };
}
for_each_ntru_prime_ring!(properties);
