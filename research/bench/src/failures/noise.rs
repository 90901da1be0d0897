//! The noise of a decryption, and its covariance.
//!
//! Encryption computes `sigma = h r` modulo `q`, rounds, and adds the codewords `e`:
//! `c = (q2/q) sigma + d + (q2/2) e` modulo `q2`, where `d` holds the rounding errors. `q` and `q2`
//! have no common factor, so a uniform `sigma_i` gives each of the `q` multiples of `1/q` between
//! `-1/2` and `1/2` as `d_i` with the same probability. Decryption multiplies by `f = 2 f' + 1`:
//!
//! - `h f = g` modulo `q`, so `sigma f = g r + q k` for some integers `k`, and `(q2/q) sigma f`
//!   equals `(q2/q) g r` modulo `q2`.
//! - `(q2/2) e f = (q2/2) e + q2 e f'` equals `(q2/2) e` modulo `q2`.
//!
//! So the decoder gets `(q2/2) e + E` modulo `q2`, with the noise
//!
//! ```text
//! E = (q2/q) g r + d f = (q2/q) g r + 2 d f' + d,
//! ```
//!
//! whose products are those of `Z[x]/(x^n - x - 1)`. The derivation is exact. The model adds one
//! assumption: `d` is uniform and independent of `f'`, `g` and `r`, as if `sigma` were uniform.
//!
//! A product `a b` of the ring has `c_0 = s_0 + s_n` and `c_i = s_i + s_(n+i-1) + s_(n+i)`, where
//! `s_k` is the sum of `a_j b_(k-j)`. Let the coefficients be independent with mean 0 and variances
//! `A` and `B`. Products of different pairs of coefficients are uncorrelated, so `s_k` has the
//! variance `A B` times its number of terms, `c_i` has the variance `(2n - i) A B` for `i > 0` and
//! `n A B` for `i = 0`, and neighbours share one sum:
//!
//! ```text
//! Cov(c_i, c_(i+1)) = Var(s_(n+i)) = (n - 1 - i) A B.
//! ```
//!
//! Other pairs are uncorrelated. The first coefficients have the largest variance, and a
//! correlation of nearly 1/2 with each neighbour.

use super::random::Random;
use super::set::Set;

/// The covariance of the eight noise coefficients of a block.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Block {
    /// Variances.
    pub(super) variances: [f64; 8],
    /// Covariances of neighbours: element `j` belongs to the coefficients `j` and `j + 1`.
    pub(super) covariances: [f64; 7],
}

impl Block {
    /// Returns the covariance of block `number`.
    pub(super) fn of(set: &Set, number: usize) -> Self {
        let (small, rounding) = (set.small_variance(), set.rounding_variance());
        let per_pair = (set.q2 / set.q).powi(2) * small * small + 4.0 * small * rounding;
        let pairs = |i: usize| if i == 0 { set.n } else { 2 * set.n - i };
        let variance = |i| pairs(i) as f64 * per_pair + rounding;
        let covariance = |i: usize| (set.n - 1 - i) as f64 * per_pair;
        Self {
            variances: std::array::from_fn(|j| variance(8 * number + j)),
            covariances: std::array::from_fn(|j| covariance(8 * number + j)),
        }
    }

    /// Returns the variance of the sum of the coefficients with these weights.
    pub(super) fn variance(&self, weights: &[f64; 8]) -> f64 {
        let squares = self.variances.iter().zip(weights).map(|(v, w)| v * w * w);
        let products = self.covariances.iter().zip(weights.windows(2));
        squares.sum::<f64>() + products.map(|(c, w)| 2.0 * c * w[0] * w[1]).sum::<f64>()
    }
}

/// Returns the first 16 coefficients of the noise of a random key and message of the model.
pub(super) fn sample(set: &Set, random: &mut Random) -> [f64; 16] {
    let mut small =
        || -> Vec<f64> { (0..set.n).map(|_| f64::from(random.small(set.eta))).collect() };
    let (f, g, r) = (small(), small(), small());
    let d: Vec<f64> = (0..set.n).map(|_| random.unit() - 0.5).collect();
    let gr = first_coefficients(&g, &r);
    let df = first_coefficients(&d, &f);
    std::array::from_fn(|i| set.q2 / set.q * gr[i] + 2.0 * df[i] + d[i])
}

/// Returns the coefficients 0 to 15 of a product in the ring.
fn first_coefficients(a: &[f64], b: &[f64]) -> [f64; 16] {
    let n = a.len();
    // s(k) = sum of a_j b_(k-j).
    let s = |k: usize| -> f64 {
        (k.saturating_sub(n - 1)..=k.min(n - 1)).map(|j| a[j] * b[k - j]).sum()
    };
    let high: Vec<f64> = (0..16).map(|i| s(n + i)).collect();
    std::array::from_fn(|i| s(i) + high[i] + if i > 0 { high[i - 1] } else { 0.0 })
}

/// Returns the largest deviation of sampled variances and covariances of the first two blocks from
/// [`Block::of`], in standard errors of the sample, and the number of values compared.
pub(super) fn check(set: &Set, samples: usize, random: &mut Random) -> (f64, usize) {
    let blocks = [Block::of(set, 0), Block::of(set, 1)];
    let expected = |i: usize, j: usize| match j - i {
        0 => blocks[i / 8].variances[i % 8],
        1 => blocks[i / 8].covariances.get(i % 8).copied().unwrap_or_else(|| {
            let first = Block::of(set, 0).covariances;
            // Between two blocks, covariances go on falling by the same step.
            first[6] + (first[6] - first[5])
        }),
        _ => 0.0,
    };
    let pairs: Vec<(usize, usize)> =
        (0..16).flat_map(|i| (i..16.min(i + 4)).map(move |j| (i, j))).collect();
    let mut sums = vec![[0.0; 2]; pairs.len()];
    for _ in 0..samples {
        let noise = sample(set, random);
        for (sum, &(i, j)) in sums.iter_mut().zip(&pairs) {
            let product = noise[i] * noise[j];
            *sum = [sum[0] + product, sum[1] + product * product];
        }
    }
    let count = samples as f64;
    let deviation = |(sum, &(i, j)): (&[f64; 2], &(usize, usize))| {
        let mean = sum[0] / count;
        let error = ((sum[1] / count - mean * mean) / count).sqrt();
        (mean - expected(i, j)).abs() / error
    };
    (sums.iter().zip(&pairs).map(deviation).fold(0.0, f64::max), pairs.len())
}
