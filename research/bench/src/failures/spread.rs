//! Keys and messages that are rarer than those that one can sample.
//!
//! For a fixed key, the sum `S` of four neighbouring noise coefficients has the variance
//!
//! ```text
//! V = (q2/q)^2 (eta/2) sum a_k^2 + 1/12 sum b_k^2
//! ```
//!
//! in the notation of [`chain`](super::chain). `V` differs from key to key, and the failure rate of
//! a key depends on nearly nothing else: the sums of the first blocks have nearly the same `V`. The
//! matrices of `chain` give the law of `V`, so they give the `V` that one key in 2^20, say,
//! exceeds. From `V` follows the rate, if the `a_k` and the `b_k` of a key look like normal
//! numbers. What remains, the number of events that add up, is the same for all keys: it is set so
//! that the middle one of the sampled keys comes out right.
//!
//! For a fixed message, `V = (eta/2) ((q2/q)^2 sum a_k(r)^2 + 4 sum a_k(d)^2)`. The law of the
//! rounding errors is replaced by five values with the same variance.

use super::chain::{Table, ln_mean, variance};
use super::keys::add;
use super::set::Set;
use super::tail::{ln_tail, ln_tail_at, saddle};

/// What is fixed while the other part of the noise is random.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Fixed {
    /// `f` and `g`.
    Key,
    /// `r` and `d`.
    Message,
}

/// The law of `V` for the first sum of neighbours of the block 0 whose first coefficient is not
/// that of `x^0`.
#[derive(Debug)]
pub(super) struct Spread {
    set: Set,
    fixed: Fixed,
    mean: f64,
    /// `ln E exp(u V) / u`.
    quotients: Table,
}

/// The number of the sum in the list of all places.
const PLACE: usize = 1;
/// Values of `u`, enough for keys of one in 2^128.
const STEPS: usize = 32;
/// Steps of `u` per inverse of the standard deviation of `V`.
const STEPS_PER_DEVIATION: f64 = 2.0;

impl Spread {
    /// Computes the law.
    pub(super) fn new(set: Set, fixed: Fixed) -> Self {
        let mean = variance(&set, super::code::NEIGHBOURS[PLACE]);
        // The relative variance of a sum of squares of these correlated a_k, if they were normal,
        // is 6.6/n; here it only sets the range of `u`.
        let step = 1.0 / (STEPS_PER_DEVIATION * mean * (6.6 / set.n as f64).sqrt());
        let small = set.small_law();
        let (ratio, small_variance) = ((set.q2 / set.q).powi(2), set.small_variance());
        let (second_law, second) = match fixed {
            Fixed::Key => (small.clone(), 4.0 * set.rounding_variance()),
            // Five values with the distance 1 have the variance 2.
            Fixed::Message => (vec![0.2; 5], 4.0 * small_variance * set.rounding_variance() / 2.0),
        };
        let mut values = vec![mean];
        for number in 1..=STEPS {
            let u = step * number as f64;
            let first = ln_mean(&set, &small, |a| u * ratio * small_variance * a * a);
            let second = ln_mean(&set, &second_law, |a| u * second * a * a);
            values.push((first[PLACE] + second[PLACE]) / u);
        }
        Self { set, fixed, mean, quotients: Table { step, values } }
    }

    /// Returns the natural logarithm of the failure rate of one key, or message, in `2^rarity`.
    /// `median` is that of the middle one.
    pub(super) fn rate(&self, rarity: f64, median: f64) -> f64 {
        let middle = self.ln_event(self.mean);
        median + self.ln_event(self.quantile(rarity)) - middle
    }

    /// Returns the parameter set.
    pub(super) fn set(&self) -> &Set {
        &self.set
    }

    /// Returns what is fixed.
    pub(super) fn fixed(&self) -> Fixed {
        self.fixed
    }

    /// Returns the `t` of the saddlepoint of a key, or message, of one in `2^rarity`.
    pub(super) fn saddle(&self, rarity: f64) -> f64 {
        let v = self.quantile(rarity);
        saddle(self.event(v), self.set.q2 / v, self.set.q2)
    }

    /// Returns the `V` that one key in `2^rarity` exceeds. `rarity` is at least 3, because the
    /// saddlepoint method is for tails.
    fn quantile(&self, rarity: f64) -> f64 {
        let wanted = -rarity * std::f64::consts::LN_2;
        let cumulants = |u: f64| {
            let [value, slope, curve] = self.quotients.at(u);
            [value * u, value + slope * u, 2.0 * slope + curve * u]
        };
        // The tail beyond K'(u) falls with u.
        let (mut low, mut high) = (0.0, self.quotients.step * (STEPS as f64 - 1.0));
        for _ in 0..60 {
            let u = f64::midpoint(low, high);
            let at_u = cumulants(u);
            if ln_tail_at(at_u, u, at_u[1]) > wanted {
                low = u;
            } else {
                high = u;
            }
        }
        cumulants(low)[1]
    }

    /// Returns the logarithm of the probability that a sum of variance `v` reaches `q2`.
    fn ln_event(&self, v: f64) -> f64 {
        ln_tail(self.event(v), self.set.q2 / v, self.set.q2)
    }

    /// Returns the cumulants of a sum of variance `v`. The `a_k` and `b_k` are taken as normal.
    fn event(&self, v: f64) -> impl Fn(f64) -> [f64; 3] {
        let (set, fixed) = (self.set, self.fixed);
        let (small, rounding) = (set.small_variance(), set.rounding_variance());
        // The shares of `g r` and `d f` in the variance.
        let gr = (set.q2 / set.q).powi(2) * small * small;
        let df = 4.0 * small * rounding;
        // The variance of the factor of one random coefficient.
        let per_term = |share: f64, variance: f64| share / (gr + df) * v / set.n as f64 / variance;
        let of_r = per_term(gr, small).sqrt();
        let of_d = match fixed {
            Fixed::Key => per_term(df, rounding),
            Fixed::Message => per_term(df, small),
        }
        .sqrt();
        let normal: Vec<f64> = (-24..=24).map(|i| f64::from(i) / 4.0).collect();
        let weight = |z: f64| (-z * z / 2.0).exp();
        let total: f64 = normal.iter().map(|&z| weight(z)).sum();
        move |t: f64| {
            let mut sum = [0.0; 3];
            for &z in &normal {
                let count = set.n as f64 * weight(z) / total;
                add(&mut sum, of_r * z, count, |x| set.small_cumulants(x), t);
                match fixed {
                    Fixed::Key => add(&mut sum, of_d * z, count, |x| set.rounding_cumulants(x), t),
                    Fixed::Message => add(&mut sum, of_d * z, count, |x| set.small_cumulants(x), t),
                }
            }
            sum
        }
    }
}
