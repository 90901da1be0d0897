//! The product by definition: multiplies over the integers, folds by `x^n = x + 1` and reduces. It
//! is slow and serves as the oracle: tests compare all other products with it.

use crate::array::Array;
use crate::poly::{Poly, RoundedPoly, SmallPoly};
use crate::ring::{NtruPrimeRing, Ring};

/// Returns `a * b` in `R_q`.
#[must_use]
pub fn mul<R: NtruPrimeRing>(a: &Poly<R>, b: &Poly<R>) -> Poly<R> {
    let product =
        folded_product::<R>(|i| i64::from(a.coefficients()[i]), |i| i64::from(b.coefficients()[i]));
    Poly::from_array(R::Coeffs::from_fn(|i| product.as_ref()[i].rem_euclid(i64::from(R::Q)) as u16))
}

/// Returns `a * b` in `R_q` for a small `b`.
#[must_use]
pub fn mul_small<R: NtruPrimeRing>(a: &Poly<R>, b: &SmallPoly<R>) -> Poly<R> {
    let product =
        folded_product::<R>(|i| i64::from(a.coefficients()[i]), |i| i64::from(b.coefficients()[i]));
    Poly::from_array(R::Coeffs::from_fn(|i| product.as_ref()[i].rem_euclid(i64::from(R::Q)) as u16))
}

/// Returns `a * b` in `Z[x]/(x^n - x - 1)`, coefficients modulo `q2`.
#[must_use]
pub fn mul_rounded<R: Ring>(a: &RoundedPoly<R>, b: &SmallPoly<R>) -> RoundedPoly<R> {
    let product =
        folded_product::<R>(|i| i64::from(a.coefficients()[i]), |i| i64::from(b.coefficients()[i]));
    RoundedPoly::from_array(R::Coeffs::from_fn(|i| {
        product.as_ref()[i].rem_euclid(i64::from(R::Q2)) as u16
    }))
}

/// Returns `a * b` in `Z[x]/(x^n - x - 1)`: coefficient `k >= n` of the plain product is added to
/// the coefficients `k - n` and `k - n + 1`.
fn folded_product<R: NtruPrimeRing>(
    a: impl Fn(usize) -> i64,
    b: impl Fn(usize) -> i64,
) -> R::Coeffs<i64> {
    let mut sum = R::Coeffs::<i64>::zeroed();
    let c = sum.as_mut();
    for i in 0..R::N {
        for j in 0..R::N {
            let term = a(i) * b(j);
            if i + j < R::N {
                c[i + j] += term;
            } else {
                c[i + j - R::N] += term;
                c[i + j - R::N + 1] += term;
            }
        }
    }
    sum
}
