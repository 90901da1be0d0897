//! Division steps modulo 3 on small rings: all elements, on every backend of this CPU.
//!
//! An element has an inverse or it is a zero divisor: it has a common factor with `x^n - x - 1`. So
//! each result is shown by a product, and the number of inverses by the factors.

use ctru_tests::exhaust;
use ctru_tests::exhaust::Extent;

use super::divsteps::Inverse;
use crate::array::Array;
use crate::backend;
use crate::poly::SmallPoly;
use crate::ring::NtruPrimeRing;
use crate::ring::small::{R3Mod29, R5Mod79, R7Mod199, R11Mod59, R13Mod257};
use crate::simd::dispatch_to;

/// Returns whether the product of two elements is 1.
fn are_inverse<R: NtruPrimeRing>(a: &[i8], b: &[i8]) -> bool {
    let mut product = R::Coeffs::<i16>::zeroed();
    let product = product.as_mut();
    for (i, &a) in a.iter().enumerate() {
        for (j, &b) in b.iter().enumerate() {
            let term = i16::from(a * b);
            match (i + j).checked_sub(R::N) {
                None => product[i + j] += term,
                Some(folded) => {
                    product[folded] += term;
                    product[folded + 1] += term;
                }
            }
        }
    }
    product.iter().enumerate().all(|(i, c)| (c - i16::from(i == 0)) % 3 == 0)
}

/// Returns whether an element has a common factor with `x^n - x - 1`, by Euclid's algorithm.
fn has_common_factor<R: NtruPrimeRing>(a: &[i8]) -> bool {
    let n = R::N;
    let (mut f, mut g) = ([0_i8; 16], [0_i8; 16]);
    (f[0], f[1], f[n]) = (-1, -1, 1);
    g[..n].copy_from_slice(a);
    loop {
        let degree = |f: &[i8; 16]| f.iter().rposition(|&c| c != 0);
        match (degree(&f), degree(&g)) {
            (_, Some(0)) => return false,
            (_, None) => return true,
            (Some(high), Some(low)) if high >= low => {
                let factor = f[high] * g[low];
                for i in 0..=low {
                    let c = f[high - low + i] - factor * g[i];
                    f[high - low + i] = (c + 4) % 3 - 1;
                }
            }
            _ => core::mem::swap(&mut f, &mut g),
        }
    }
}

fn every<R: NtruPrimeRing>(extent: Extent) -> u64 {
    let mut count = 0;
    for number in extent.some(0..=3_i64.pow(R::N as u32) - 1, 1000) {
        let coefficient = |i| (number / 3_i64.pow(i as u32) % 3) as i8 - 1;
        let a = SmallPoly::<R>::from_array(R::Coeffs::from_fn(coefficient));
        let has_inverse = !has_common_factor::<R>(a.coefficients());
        for backend in backend::available() {
            let a = a.coefficients();
            let mut inverse = R::Coeffs::zeroed();
            let inverse = inverse.as_mut();
            let exists = dispatch_to(backend, Inverse { a, inverse });
            assert!(bool::from(exists) == has_inverse, "on {backend}: {a:?}");
            assert!(!has_inverse || are_inverse::<R>(a, inverse), "on {backend}: {a:?}");
            count += 1;
        }
    }
    count
}

exhaust! {
    all_3: every::<R3Mod29>,
    all_5: every::<R5Mod79>,
    all_7: every::<R7Mod199>,
    all_11: every::<R11Mod59>,
    all_13: every::<R13Mod257>,
}
