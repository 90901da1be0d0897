//! The product of a matrix and a vector: `h * r = T(h) r`, where the `n x n` matrix `T(h)` contains
//! the fold by `x^n = x + 1`. This form is an oracle for kernels. It reduces only at the end.
//!
//! Column `j` of `T(h)` is `x^j h mod x^n - x - 1`. The coefficient `h_t` lands on `x^(j + t)`, and
//! if `j + t >= n`, on `x^(j + t - n)` and `x^(j + t - n + 1)` instead. So entry `(i, j)` is
//! `h_((i - j) mod n)`, plus `h_(n - 1 + i - j)` if `1 <= i <= j`. In all rows except row 0, an
//! entry depends on `i - j` only.
//!
//! Source: CTRU-Prime paper, equation (4).

use crate::array::Array;
use crate::poly::{Poly, RoundedPoly, SmallPoly};
use crate::ring::{NtruPrimeRing, Ring};

/// Returns the indices of the coefficients of `h` whose sum is entry `(row, column)` of `T(h)`.
///
/// # Panics
/// Panics if `row` or `column` is not below `n`.
#[must_use]
pub fn entry<R: NtruPrimeRing>(row: usize, column: usize) -> (usize, Option<usize>) {
    assert!(row < R::N && column < R::N, "the matrix has n rows and columns");
    let wrapped = if column <= row { row - column } else { R::N + row - column };
    let carried = (1 <= row && row <= column).then(|| R::N - 1 + row - column);
    (wrapped, carried)
}

/// Returns `T(a) b` modulo `q`: the product `a * b` in `R_q` for a small `b`.
#[must_use]
pub fn mul_small<R: NtruPrimeRing>(a: &Poly<R>, b: &SmallPoly<R>) -> Poly<R> {
    let product = |i| row_product::<R>(a.coefficients(), b, i).rem_euclid(i64::from(R::Q)) as u16;
    Poly::from_array(R::Coeffs::from_fn(product))
}

/// Returns `T(c) f` modulo `q2`: the product `c * f` in `Z[x]/(x^n - x - 1)`, coefficients modulo
/// `q2`.
#[must_use]
pub fn mul_rounded<R: Ring>(c: &RoundedPoly<R>, f: &SmallPoly<R>) -> RoundedPoly<R> {
    let product = |i| row_product::<R>(c.coefficients(), f, i).rem_euclid(i64::from(R::Q2)) as u16;
    RoundedPoly::from_array(R::Coeffs::from_fn(product))
}

/// Returns row `row` of `T(h)` times `r`, over the integers.
fn row_product<R: NtruPrimeRing>(h: &[u16], r: &SmallPoly<R>, row: usize) -> i64 {
    let column = |(j, &r): (usize, &i8)| {
        let (wrapped, carried) = entry::<R>(row, j);
        (i64::from(h[wrapped]) + carried.map_or(0, |t| i64::from(h[t]))) * i64::from(r)
    };
    r.coefficients().iter().enumerate().map(column).sum()
}
