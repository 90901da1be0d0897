//! The product as eight products of byte matrices, for tensor cores. This form is an oracle for
//! kernels.
//!
//! Write the exponents of `x` as `8l + w` in the small operand `r` and as `8m + v` in the plain
//! product `r * h`, `0 <= w, v < 8`. The coefficients of `r` with the same `w` are a phase of `r`.
//! Then the coefficient at `8m + v` is the sum over `w` and `l` of
//! `r[8l + w] * h[8(m - l) + v - w]`, which is
//!
//! ```text
//! sum over w of (A_w B_w)[m][v],   A_w[m][k] = r[8 (m - k) + w],   B_w[k][v] = h[8 k + v - w],
//! ```
//!
//! with zeros outside both operands. `A_w` is the Toeplitz matrix of phase `w` of `r`; `B_w` is `h`
//! in rows of eight, shifted by `w`. `A_w` has [`output_rows`] rows, `B_w` has [`inner_rows`]. The
//! entries of `B_w` have up to 13 bits. Each entry is split into two signed bytes ([`split`]), so
//! `A_w B_w` takes two products of byte matrices, whose sums fit in 32 bits.

use crate::array::Array;
use crate::poly::{Poly, RoundedPoly, SmallPoly};
use crate::ring::{NtruPrimeRing, Ring};

/// Number of phases, and of columns of `B_w`.
pub const PHASES: usize = 8;

/// Returns the number of rows of `A_w`: the rows of eight that hold the `2n - 1` coefficients of
/// the plain product.
#[must_use]
pub const fn output_rows<R: NtruPrimeRing>() -> usize {
    (2 * R::N - 1).div_ceil(PHASES)
}

/// Returns the number of columns of `A_w` and of rows of `B_w`: the rows that `n` coefficients need
/// if they are shifted by up to seven places.
#[must_use]
pub const fn inner_rows<R: NtruPrimeRing>() -> usize {
    (R::N - 1).div_ceil(PHASES) + 1
}

/// Returns the bytes `(low, high)` with `value = low + 128 * high`, `low` in `-64..=63`, for
/// `value` below 2^13.
#[must_use]
#[inline(always)]
pub const fn split(value: u16) -> (i8, i8) {
    debug_assert!(value < 1 << 13);
    let low = ((value as i32 + 64) & 127) - 64;
    (low as i8, ((value as i32 - low) >> 7) as i8)
}

/// Returns `A_w[m][k]`, entry `(m, k)` of phase `w` of the small operand.
#[must_use]
pub fn small_entry<R: NtruPrimeRing>(r: &SmallPoly<R>, w: usize, m: usize, k: usize) -> i8 {
    let index = m.checked_sub(k).map(|l| PHASES * l + w);
    index.and_then(|t| r.coefficients().get(t).copied()).unwrap_or(0)
}

/// Returns `B_w[k][v]`, entry `(k, v)` of the large operand shifted by `w`.
#[must_use]
pub fn large_entry(h: &[u16], w: usize, k: usize, v: usize) -> u16 {
    let index = (PHASES * k + v).checked_sub(w);
    index.and_then(|t| h.get(t).copied()).unwrap_or(0)
}

/// Returns `a * b` in `R_q` for a small `b`.
#[must_use]
pub fn mul_small<R: NtruPrimeRing>(a: &Poly<R>, b: &SmallPoly<R>) -> Poly<R> {
    let product = |i| folded(a.coefficients(), b, i).rem_euclid(R::Q as i32) as u16;
    Poly::from_array(R::Coeffs::from_fn(product))
}

/// Returns `c * f` in `Z[x]/(x^n - x - 1)`, coefficients modulo `q2`.
#[must_use]
pub fn mul_rounded<R: Ring>(c: &RoundedPoly<R>, f: &SmallPoly<R>) -> RoundedPoly<R> {
    let product = |i| folded(c.coefficients(), f, i).rem_euclid(R::Q2 as i32) as u16;
    RoundedPoly::from_array(R::Coeffs::from_fn(product))
}

/// Returns coefficient `i` of `h * r` after the fold by `x^n = x + 1`.
fn folded<R: NtruPrimeRing>(h: &[u16], r: &SmallPoly<R>, i: usize) -> i32 {
    let carried = if i > 0 { coefficient(h, r, R::N + i - 1) } else { 0 };
    coefficient(h, r, i) + coefficient(h, r, R::N + i) + carried
}

/// Returns coefficient `i < 2n` of the plain product.
fn coefficient<R: NtruPrimeRing>(h: &[u16], r: &SmallPoly<R>, i: usize) -> i32 {
    let (m, v) = (i / PHASES, i % PHASES);
    let (mut low_sum, mut high_sum) = (0i32, 0i32);
    for w in 0..PHASES {
        for k in 0..inner_rows::<R>() {
            let a = i32::from(small_entry(r, w, m, k));
            let (low, high) = split(large_entry(h, w, k, v));
            low_sum += a * i32::from(low);
            high_sum += a * i32::from(high);
        }
    }
    low_sum + 128 * high_sum
}
