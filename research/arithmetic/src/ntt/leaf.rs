//! Products of the leaves of the incomplete transform: polynomials modulo `x^D - zeta`.

use crate::reduce::ReduceSum;

/// Returns `a * b mod x^D - zeta`, divided by [`ReduceSum::RADIX`].
///
/// The function uses Karatsuba's method for each pair of indices: `a_i b_j + a_j b_i = (a_i + a_j)
/// (b_i + b_j) - a_i b_i - a_j b_j` takes one product instead of two. Sums stay in `i64`, and each
/// of the `2 D - 1` coefficients of the plain product is reduced once.
///
/// Input: `|a_i|, |b_i| <= x` with `2 x < 2^31` and `D x^2 + OUTPUT_BOUND * MODULUS <= SUM_BOUND`.
/// Output: up to `OUTPUT_BOUND` in absolute value.
/// Cost: `D (D + 1) / 2` products and `2 D - 1` reductions, besides `D - 1` products by `zeta`.
#[must_use]
#[inline(always)]
pub fn product<M: ReduceSum, const D: usize>(
    a: [i32; D],
    b: [i32; D],
    zeta: M::Factor,
) -> [i32; D] {
    // Coefficients k and D + k of the plain product.
    let (mut low, mut high) = ([0i64; D], [0i64; D]);
    let mut add = |k: usize, term: i64| if k < D { low[k] += term } else { high[k - D] += term };

    let mut squares = [0i64; D];
    for i in 0..D {
        squares[i] = i64::from(a[i]) * i64::from(b[i]);
        add(2 * i, squares[i]);
    }
    for i in 0..D {
        for j in i + 1..D {
            add(i + j, i64::from(a[i] + a[j]) * i64::from(b[i] + b[j]) - squares[i] - squares[j]);
        }
    }

    let mut result = [0; D];
    for k in 0..D - 1 {
        result[k] = M::reduce(low[k] + M::product(M::reduce(high[k]), zeta));
    }
    result[D - 1] = M::reduce(low[D - 1]);
    result
}
