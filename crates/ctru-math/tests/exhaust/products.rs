//! Products of all pairs of powers of `x`, and operands with each value of each coefficient.
//!
//! Products are bilinear: `mul::rns_ntt::proofs` in the crate says why. Only the loads of operands
//! are not, so here the coefficients of the pairs run through all their values, and each value
//! stands at each place of an operand, beside other values.

use ctru_math::mul::{self, Multiplier};
use ctru_math::{
    Arithmetic, NtruPrimeArithmetic, NtruPrimeRing, Poly, R653, R761, R857, R953, R1013, R1277,
    RoundedPoly, SmallPoly, ternary,
};
use ctru_tests::backends::on_every_backend;
use ctru_tests::exhaust;
use ctru_tests::exhaust::Extent;

/// Calls the function with each pair of exponents, and `(i, j)`, and the places in the product of
/// `x^i x^j` that are not 0.
fn all_pairs<R: NtruPrimeRing>(
    extent: Extent,
    mut check: impl FnMut(usize, usize, &[usize]),
) -> u64 {
    let mut count = 0;
    on_every_backend(|| {
        for i in extent.some(0..=R::N as i64 - 1, 4) {
            for j in extent.some(0..=R::N as i64 - 1, 4) {
                let (i, j) = (i as usize, j as usize);
                match (i + j).checked_sub(R::N) {
                    None => check(i, j, &[i + j]),
                    Some(folded) => check(i, j, &[folded, folded + 1]),
                }
                count += 1;
            }
        }
    });
    count
}

/// Returns whether all coefficients are 0 but those at the places, which are `value`.
fn is_only<T: Copy + PartialEq + Default>(product: &[T], places: &[usize], value: T) -> bool {
    let nonzero = product.iter().filter(|&&c| c != T::default()).count();
    nonzero == places.len() && places.iter().all(|&place| product[place] == value)
}

fn monomial<T: Copy + Default>(n: usize, power: usize, c: T) -> Vec<T> {
    let mut coefficients = vec![T::default(); n];
    coefficients[power] = c;
    coefficients
}

/// Returns a number from 1 to `most` that depends on the pair.
fn number(i: usize, j: usize, most: u32) -> u16 {
    ((i * 1009 + j * 7 + i * j) % most as usize + 1) as u16
}

/// Returns a number from `-bound` to `bound`, but not 0, that depends on the pair.
fn small<R: NtruPrimeRing>(i: usize, j: usize) -> i8 {
    let bound = R::SMALL as i32;
    let c = ((i + 3 * j) % (2 * bound as usize)) as i32 - bound;
    (c + i32::from(c >= 0)) as i8
}

fn modulo(product: i64, modulus: u32) -> u16 {
    product.rem_euclid(modulus.into()) as u16
}

fn general<R: NtruPrimeArithmetic>(extent: Extent) -> u64 {
    let poly = |i, c| Poly::<R>::from_coefficients(&monomial(R::N, i, c)).unwrap();
    let pairs = all_pairs::<R>(extent, |i, j, places| {
        let (a, b) = (number(i, j, R::Q - 1), number(j, i + 1, R::Q - 1));
        let product = mul::mul(&poly(i, a), &poly(j, b));
        let expected = modulo(i64::from(a) * i64::from(b), R::Q);
        assert!(is_only(product.coefficients(), places, expected), "{a} x^{i} {b} x^{j}");
    });
    pairs
        + values::<R>(extent, R::Q, |a| {
            let a = Poly::<R>::from_coefficients(a).unwrap();
            assert!(mul::mul(&a, &Poly::one()) == a);
            assert!(mul::mul(&Poly::one(), &a) == a);
        })
}

/// Calls the function with operands, so that each value stands at each place.
fn values<R: NtruPrimeRing>(extent: Extent, modulus: u32, mut check: impl FnMut(&[u16])) -> u64 {
    let mut count = 0;
    on_every_backend(|| {
        for first in extent.some(0..=i64::from(modulus) - 1, 5) {
            let value = |i| ((first as usize + 11 * i) % modulus as usize) as u16;
            check(&(0..R::N).map(value).collect::<Vec<_>>());
            count += R::N as u64;
        }
    });
    count
}

/// Calls the function with small operands, so that each value up to `bound` stands at each place.
fn small_values<R: NtruPrimeRing>(bound: i32, mut check: impl FnMut(&SmallPoly<R>)) -> u64 {
    let mut count = 0;
    on_every_backend(|| {
        for first in 0..2 * bound + 1 {
            let value = |i| ((first + i as i32) % (2 * bound + 1) - bound) as i8;
            let values: Vec<i8> = (0..R::N).map(value).collect();
            check(&SmallPoly::from_coefficients(&values).unwrap());
            count += R::N as u64;
        }
    });
    count
}

fn by_small<R: NtruPrimeArithmetic>(extent: Extent) -> u64 {
    let mut room = Multiplier::<R>::new();
    let pairs = all_pairs::<R>(extent, |i, j, places| {
        let (a, b) = (number(i, j, R::Q - 1), small::<R>(i, j));
        let product = room.mul_small(
            &Poly::from_coefficients(&monomial(R::N, i, a)).unwrap(),
            &SmallPoly::from_coefficients(&monomial(R::N, j, b)).unwrap(),
        );
        let expected = modulo(i64::from(a) * i64::from(b), R::Q);
        assert!(is_only(product.coefficients(), places, expected), "{a} x^{i} {b} x^{j}");
    });
    let values = values::<R>(extent, R::Q, |a| {
        let a = Poly::<R>::from_coefficients(a).unwrap();
        assert!(mul::mul_small(&a, &SmallPoly::one()) == a);
    });
    pairs
        + values
        + small_values::<R>(R::SMALL as i32, |b| {
            assert!(mul::mul_small(&Poly::one(), b) == Poly::from(b));
        })
}

fn rounded<R: Arithmetic>(extent: Extent) -> u64 {
    let mut room = Multiplier::<R>::new();
    let pairs = all_pairs::<R>(extent, |i, j, places| {
        // The product of 2^(log q2 - 1) and an even number would be 0.
        let (a, b) = (number(i, j, R::Q2 / 2 - 1) * 2 - 1, small::<R>(i, j));
        let mut product = RoundedPoly::from_coefficients(&monomial(R::N, i, a)).unwrap();
        let b_poly = SmallPoly::from_coefficients(&monomial(R::N, j, b)).unwrap();
        room.mul_rounded(&mut product, &b_poly);
        let expected = modulo(i64::from(a) * i64::from(b), R::Q2);
        assert!(is_only(product.coefficients(), places, expected), "{a} x^{i} {b} x^{j}");
    });
    let values = values::<R>(extent, R::Q2, |a| {
        let a = RoundedPoly::<R>::from_coefficients(a).unwrap();
        assert!(mul::mul_rounded(&a, &SmallPoly::one()) == a);
    });
    pairs
        + values
        + small_values::<R>(R::SMALL as i32, |b| {
            let one = RoundedPoly::from_coefficients(&monomial(R::N, 0, 1)).unwrap();
            let expected = b.coefficients().iter().map(|&c| modulo(c.into(), R::Q2));
            let product = mul::mul_rounded(&one, b);
            assert!(product.coefficients().iter().copied().eq(expected));
        })
}

fn modulo_3<R: NtruPrimeArithmetic>(extent: Extent) -> u64 {
    let poly = |i, c| SmallPoly::<R>::from_coefficients(&monomial(R::N, i, c)).unwrap();
    let pairs = all_pairs::<R>(extent, |i, j, places| {
        let [a, b] = [i + j, i / 2 + j].map(|k| if k % 2 == 0 { 1 } else { -1 });
        let product = ternary::mul(&poly(i, a), &poly(j, b));
        assert!(is_only(product.coefficients(), places, a * b), "{a} x^{i} {b} x^{j}");
    });
    pairs
        + small_values::<R>(1, |a| {
            assert!(ternary::mul(a, &SmallPoly::one()) == *a);
            assert!(ternary::mul(&SmallPoly::one(), a) == *a);
        })
}

exhaust! {
    general_653: general::<R653>,
    general_761: general::<R761>,
    general_857: general::<R857>,
    general_953: general::<R953>,
    general_1013: general::<R1013>,
    general_1277: general::<R1277>,
    by_small_653: by_small::<R653>,
    by_small_761: by_small::<R761>,
    by_small_857: by_small::<R857>,
    by_small_953: by_small::<R953>,
    by_small_1013: by_small::<R1013>,
    by_small_1277: by_small::<R1277>,
    rounded_653: rounded::<R653>,
    rounded_761: rounded::<R761>,
    rounded_1277: rounded::<R1277>,
    modulo_3_653: modulo_3::<R653>,
    modulo_3_761: modulo_3::<R761>,
    modulo_3_857: modulo_3::<R857>,
    modulo_3_953: modulo_3::<R953>,
    modulo_3_1013: modulo_3::<R1013>,
    modulo_3_1277: modulo_3::<R1277>,
}
