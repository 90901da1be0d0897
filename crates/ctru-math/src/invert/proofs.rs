//! Division steps on small rings: the inverses of all their elements, on every backend of this CPU.
//!
//! The number of steps that is enough, `2n - 1`, is Theorem 6.2 of Bernstein and Yang. It holds for
//! every degree and every field, and the code is generic over both. A multiple of an element takes
//! the same steps, because the code only asks which coefficients are zero.

use ctru_tests::exhaust;
use ctru_tests::exhaust::Extent;

use super::divsteps::Inverse;
use crate::array::Array;
use crate::backend;
use crate::poly::Poly;
use crate::ring::small::{R3Mod29, R3Mod31, R3Mod41, R5Mod79, R7Mod199, R11Mod59, R13Mod257};
use crate::ring::{NtruPrimeRing, R653};
use crate::simd::dispatch_to;
use crate::testing::Random;

/// Returns whether the product of two elements is 1.
fn are_inverse<R: NtruPrimeRing>(a: &[u16], b: &[u16]) -> bool {
    let mut product = R::Coeffs::<u32>::zeroed();
    let product = product.as_mut();
    for (i, &a) in a.iter().enumerate() {
        for (j, &b) in b.iter().enumerate() {
            let term = u32::from(a) * u32::from(b);
            match (i + j).checked_sub(R::N) {
                None => product[i + j] += term,
                Some(folded) => {
                    product[folded] += term;
                    product[folded + 1] += term;
                }
            }
        }
    }
    product.iter().enumerate().all(|(i, c)| c % R::Q == u32::from(i == 0))
}

fn check<R: NtruPrimeRing>(a: R::Coeffs<u16>) -> u64 {
    let a = Poly::<R>::from_array(a);
    let mut count = 0;
    for backend in backend::available() {
        let inverse = dispatch_to(backend, Inverse(&a));
        let (a, inverse) = (a.coefficients(), inverse.coefficients());
        let is_zero = a.iter().all(|&c| c == 0);
        let right = if is_zero { inverse == a } else { are_inverse::<R>(a, inverse) };
        assert!(right, "on {backend}: {a:?}");
        count += 1;
    }
    count
}

/// Returns a digit of a number.
fn digit(number: i64, base: i64, place: usize) -> u16 {
    (number / base.pow(place as u32) % base) as u16
}

/// Checks all elements.
fn every<R: NtruPrimeRing>(extent: Extent) -> u64 {
    let q = i64::from(R::Q);
    let elements = extent.some(0..=q.pow(R::N as u32) - 1, 1000);
    elements.map(|number| check::<R>(R::Coeffs::from_fn(|i| digit(number, q, i)))).sum()
}

/// Checks the multiple of each element whose last coefficient other than 0 is 1.
fn up_to_multiples<R: NtruPrimeRing>(extent: Extent) -> u64 {
    let q = i64::from(R::Q);
    let mut count = 0;
    for degree in 0..R::N {
        for number in extent.some(0..=q.pow(degree as u32) - 1, 1000) {
            count += check::<R>(R::Coeffs::from_fn(|i| match i {
                _ if i < degree => digit(number, q, i),
                _ => u16::from(i == degree),
            }));
        }
    }
    count
}

/// Checks all elements with coefficients 0, 1 and -1.
fn small<R: NtruPrimeRing>(extent: Extent) -> u64 {
    let elements = extent.some(0..=3_i64.pow(R::N as u32) - 1, 1000);
    let coefficient = |number, i| [0, 1, R::Q as u16 - 1][usize::from(digit(number, 3, i))];
    elements.map(|number| check::<R>(R::Coeffs::from_fn(|i| coefficient(number, i)))).sum()
}

exhaust! {
    all_3_29: every::<R3Mod29>,
    all_3_31: every::<R3Mod31>,
    all_3_41: every::<R3Mod41>,
    up_to_multiples_5_79: up_to_multiples::<R5Mod79>,
    small_7_199: small::<R7Mod199>,
    small_11_59: small::<R11Mod59>,
    small_13_257: small::<R13Mod257>,
}

/// On a Zen 4, tests that select AVX-512 invert by AVX2.
#[test]
fn a_ring_of_the_kem_on_every_backend() {
    let mut random = Random::new();
    for weight in [0, 1, 652, 653, 653] {
        let a = Poly::<R653>::from_array(core::array::from_fn(|i| {
            let c = (random.next() >> 8) % R653::Q;
            if i < weight { c as u16 } else { 0 }
        }));
        let expected = dispatch_to(backend::Backend::Portable, Inverse(&a));
        for backend in backend::available() {
            assert!(dispatch_to(backend, Inverse(&a)) == expected, "{weight} on {backend}");
        }
    }
}
