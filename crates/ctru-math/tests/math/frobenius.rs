//! Inversion by powers: its maps are powers, and its inverses equal those of division steps.

use crate::strategies::poly;
use ctru_math::invert;
use ctru_math::kernel::frobenius;
use ctru_math::mul::{self, schoolbook};
use ctru_math::{Arithmetic, Poly, for_each_ring};
use proptest::prelude::*;

fn matrices<R: Arithmetic>() -> Vec<u16> {
    let mut matrices = vec![0; frobenius::maps::<R>() * R::N * R::N];
    frobenius::fill::<R>(&mut matrices);
    matrices
}

fn constant<R: Arithmetic>(c: u16) -> Poly<R> {
    Poly::from_coefficients(&vec![c; R::N]).unwrap()
}

/// Returns `a^q` by squares and products.
fn power_q<R: Arithmetic>(a: &Poly<R>) -> Poly<R> {
    (0..R::Q.ilog2()).rev().fold(a.clone(), |power, bit| {
        let square = mul::mul(&power, &power);
        if R::Q >> bit & 1 == 1 { mul::mul(&square, a) } else { square }
    })
}

/// Checks the maps whose exponents double: map 0 is a power by definition, and each of the next
/// ones is the one before it, applied twice.
fn check_maps<R: Arithmetic>(matrices: &[u16], a: &Poly<R>) {
    let maps: Vec<_> = matrices.chunks_exact(R::N * R::N).collect();
    assert_eq!(frobenius::apply(maps[0], a), power_q(a));
    for pair in maps[..6].windows(2) {
        let twice = frobenius::apply(pair[0], &frobenius::apply(pair[0], a));
        assert_eq!(frobenius::apply(pair[1], a), twice);
    }
}

fn check_inverse<R: Arithmetic>(matrices: &[u16], a: &Poly<R>) {
    let inverse = frobenius::invert(matrices, a);
    assert_eq!(inverse, Option::from(invert::invert(a)).unwrap_or_else(Poly::zero));
    if *a != Poly::zero() {
        assert_eq!(schoolbook::mul(a, &inverse), Poly::one());
    }
}

fn extremes<R: Arithmetic>(matrices: &[u16]) {
    let largest = R::Q as u16 - 1;
    for a in [Poly::zero(), Poly::one(), constant(1), constant(largest), constant(largest / 2)] {
        check_maps::<R>(matrices, &a);
        check_inverse(matrices, &a);
    }
    let mut last = vec![0; R::N];
    last[R::N - 1] = largest;
    check_inverse(matrices, &Poly::<R>::from_coefficients(&last).unwrap());
}

macro_rules! rings {
    ($ring:ident $n:literal $numbers:tt) => {
        #[allow(non_snake_case)]
        #[test]
        fn $ring() {
            use ctru_math::$ring;
            let matrices = matrices::<$ring>();
            extremes::<$ring>(&matrices);
            proptest!(ProptestConfig::with_cases(4), |(a in poly::<$ring>())| {
                check_maps(&matrices, &a);
                check_inverse(&matrices, &a);
            });
        }
    };
}
for_each_ring!(rings);
