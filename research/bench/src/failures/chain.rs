//! The law of a sum of four neighbouring noise coefficients, over random keys and messages.
//!
//! Let `S = E_p + E_(p+1) + E_(p+2) + E_(p+3)`. For a fixed key, `S` is a sum of independent terms:
//!
//! ```text
//! S = (q2/q) sum a_k r_k + sum b_k d_k,
//! ```
//!
//! where `a_k` is the sum of the coefficients `p` to `p + 3` of `x^k g`, and `b_k` that of `x^k f`.
//! So `E exp(t S)` for a fixed key is the product of the numbers `exp(R(t (q2/q) a_k))` and
//! `exp(D(t b_k))`, with `R` and `D` from [`Set::small_cumulants`] and [`Set::rounding_cumulants`].
//! Over random keys, the `a_k` depend on each other, but each only on few coefficients of `g`:
//!
//! - for `k <= p`: `a_k = g_m + g_(m+1) + g_(m+2) + g_(m+3)`, where `m = p - k`;
//! - for `k > p`: `a_k = g_(m-1) + 2 (g_m + g_(m+1) + g_(m+2)) + g_(m+3)`, where `m = p - k + n`.
//!
//! So the mean of the product over `g` is a product of matrices, whose indices are four
//! neighbouring coefficients of `g`. A step adds one coefficient, multiplies by the number of one
//! `a_k`, and sums over the oldest coefficient. This gives `ln E exp(t S)` over random `f'`, `g`,
//! `r` and `d`, with no assumption that anything is normal. Left out are only the few terms in
//! which the ends of `g` meet (`g_n` stands for a further independent coefficient), which change
//! the variance of `S` by less than one part in ten thousand; and the constant 1 in `f = 2 f' + 1`
//! counts as a variance.
//!
//! The same matrices give the law of a sum of squares of the `a_k`, which is the variance of `S`
//! for a fixed key; see [`spread`](super::spread).

use super::code::NEIGHBOURS;
use super::noise::Block;
use super::set::Set;

/// Values of `t` per table.
const STEPS: usize = 40;
/// Values of `t` up to the one at which a normal `S` would reach `q2`.
const STEPS_OF_NORMAL: f64 = 16.0;

/// `ln E exp(t S)` for the sums at all places of [`NEIGHBOURS`] in all blocks.
#[derive(Clone, Debug)]
pub(super) struct Averages {
    /// For each place, `ln E exp(t S) / t^2`.
    quotients: Vec<Table>,
}

impl Averages {
    /// Computes the values for the sums of all blocks.
    pub(super) fn new(set: &Set) -> Self {
        let variances: Vec<f64> = places(set).map(|place| variance(set, place)).collect();
        let largest = variances.iter().copied().fold(0.0, f64::max);
        let step = set.q2 / largest / STEPS_OF_NORMAL;
        // The quotient at 0 is half the variance.
        let mut quotients: Vec<Table> =
            variances.iter().map(|v| Table { step, values: vec![v / 2.0] }).collect();
        let law = set.small_law();
        for number in 1..=STEPS {
            let t = step * number as f64;
            let gr = ln_mean(set, &law, |a| set.small_cumulants(t * set.q2 / set.q * a)[0]);
            let df = ln_mean(set, &law, |a| set.rounding_cumulants(2.0 * t * a)[0]);
            let d = 4.0 * set.rounding_variance() * t * t / 2.0;
            for (table, (gr, df)) in quotients.iter_mut().zip(gr.into_iter().zip(df)) {
                table.values.push((gr + df + d) / (t * t));
            }
        }
        Self { quotients }
    }

    /// Returns `ln E exp(t S)` of the sum with this number in the list of all places, and its first
    /// two derivatives.
    pub(super) fn cumulants(&self, place: usize, t: f64) -> [f64; 3] {
        let [value, slope, curve] = self.quotients[place].at(t);
        [
            value * t * t,
            2.0 * value * t + slope * t * t,
            2.0 * value + 4.0 * slope * t + curve * t * t,
        ]
    }
}

/// Values of a smooth function at multiples of a step, the first one at 0.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) step: f64,
    pub(super) values: Vec<f64>,
}

impl Table {
    /// Returns the function and its first two derivatives, from a polynomial of degree 5. Takes the
    /// function as constant beyond the last value.
    pub(super) fn at(&self, t: f64) -> [f64; 3] {
        let last = self.values.len() - 1;
        let position = t / self.step;
        if position >= last as f64 {
            return [self.values[last], 0.0, 0.0];
        }
        let first = (position as usize).saturating_sub(2).min(last - 5);
        let mut newton: [f64; 6] = std::array::from_fn(|i| self.values[first + i]);
        for order in 1..6 {
            for i in (order..6).rev() {
                newton[i] = (newton[i] - newton[i - 1]) / order as f64;
            }
        }
        let [mut value, mut slope, mut curve] = [newton[5], 0.0, 0.0];
        for i in (0..5).rev() {
            let x = position - (first + i) as f64;
            curve = curve * x + 2.0 * slope;
            slope = slope * x + value;
            value = value * x + newton[i];
        }
        [value, slope / self.step, curve / (self.step * self.step)]
    }
}

/// Returns the variance of the sum of the coefficients `place` to `place + 3`.
pub(super) fn variance(set: &Set, place: usize) -> f64 {
    let mut weights = [0.0; 8];
    weights[place % 8..place % 8 + 4].fill(1.0);
    Block::of(set, place / 8).variance(&weights)
}

/// Returns the first of four neighbouring coefficients for each sum of [`NEIGHBOURS`], block by
/// block.
pub(super) fn places(set: &Set) -> impl Iterator<Item = usize> {
    (0..set.blocks).flat_map(|block| NEIGHBOURS.map(|start| 8 * block + start))
}

/// Returns, for each place, `ln E exp(sum of ln_factor(a_k))` over random `g`. `law` holds the
/// probabilities of the values of a coefficient: integers from `-eta` to `eta`.
pub(super) fn ln_mean(set: &Set, law: &[f64], ln_factor: impl Fn(f64) -> f64) -> Vec<f64> {
    let base = law.len();
    let eta = (base / 2) as i32;
    let states = base.pow(4);
    // |a_k| is at most 8 eta. One table serves all steps.
    let factors: Vec<f64> = (-8 * eta..=8 * eta).map(|a| ln_factor(f64::from(a)).exp()).collect();
    let factor = |a: i32| factors[(a + 8 * eta) as usize];

    let near_the_end = |m: usize| match set.n - m {
        1 => [1, 2, 1, 1, 1],
        2 => [1, 2, 2, 1, 1],
        _ => [1, 2, 2, 2, 1],
    };
    let after = means_of_later(set.n, law, factor, near_the_end);
    // At the place 0, the first coefficient has no g_(m-1).
    let after_first = means_of_later(set.n, law, factor, |m| {
        let [_, rest @ ..] = near_the_end(m);
        [0, rest[0], rest[1], rest[2], rest[3]]
    });

    // The weights of the states (g_p, ..., g_(p+3)), with the factors for k <= p.
    let plain: Vec<f64> =
        (0..states).map(|state| factor(digits(state, base).iter().sum())).collect();
    let probability = |state: usize| probability(law, &digits(state, base));
    let mut before: Vec<f64> = (0..states).map(|s| probability(s) * plain[s]).collect();
    let mut scale = 0.0;
    let mut wanted = places(set).peekable();
    let mut results = Vec::new();
    for p in 0.. {
        if wanted.next_if_eq(&p).is_some() {
            let (means, scale_after) = if p == 0 { &after_first[p] } else { &after[p] };
            let product: f64 = before.iter().zip(means).map(|(a, b)| a * b).sum();
            results.push(product.ln() + scale + scale_after);
        }
        if wanted.peek().is_none() {
            break;
        }
        let stride = states / base;
        let mut next = vec![0.0; states];
        for (state, value) in next.iter_mut().enumerate() {
            let kept = state / base;
            let oldest: f64 = (0..base).map(|x| before[x * stride + kept]).sum();
            *value = oldest * law[state % base] * plain[state];
        }
        scale += scaled_to_one(&mut next);
        before = next;
    }
    results
}

/// Returns the means over `g_(m+4)`, `g_(m+5)`, ... of the factors for `k > p`, for each `m` and
/// each state `(g_m, ..., g_(m+3))`, as numbers and the logarithm of a common factor. `weights_at`
/// returns, for each `m`, the weights of `g_(m-1)` to `g_(m+3)` in `a_k`.
pub(super) fn means_of_later(
    n: usize,
    law: &[f64],
    factor: impl Fn(i32) -> f64,
    weights_at: impl Fn(usize) -> [i32; 5],
) -> Vec<(Vec<f64>, f64)> {
    let base = law.len();
    let eta = (base / 2) as i32;
    let states = base.pow(4);
    let mut means = vec![(vec![1.0; states], 0.0); n];
    for m in (1..n).rev() {
        let weights = weights_at(m);
        let (later, scale) = &means[m];
        let mut now = vec![0.0; states];
        for (state, value) in now.iter_mut().enumerate() {
            let known: i32 = digits(state, base).iter().zip(&weights).map(|(x, w)| x * w).sum();
            let next = &later[state % (states / base) * base..][..base];
            for (newest, (p, mean)) in (-eta..).zip(law.iter().zip(next)) {
                *value += p * mean * factor(known + weights[4] * newest);
            }
        }
        let total = scaled_to_one(&mut now);
        means[m - 1] = (now, scale + total);
    }
    means
}

/// Returns the probability of these coefficients.
pub(super) fn probability(law: &[f64], coefficients: &[i32]) -> f64 {
    let eta = (law.len() / 2) as i32;
    coefficients.iter().map(|x| law[(x + eta) as usize]).product()
}

/// Returns the four coefficients of a state, the oldest first.
pub(super) fn digits(state: usize, base: usize) -> [i32; 4] {
    let eta = (base / 2) as i32;
    [3, 2, 1, 0].map(|place| (state / base.pow(place) % base) as i32 - eta)
}

/// Divides the numbers by their largest one and returns its logarithm.
fn scaled_to_one(values: &mut [f64]) -> f64 {
    let most = values.iter().copied().fold(0.0, f64::max);
    values.iter_mut().for_each(|value| *value /= most);
    most.ln()
}
