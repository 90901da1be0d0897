//! Rare keys and messages, sampled.
//!
//! Of keys that one can draw, none is one in 2^64. But keys can be drawn from another law under
//! which those are common, and each of them then counts by its weight: its probability divided by
//! that under the other law. The chance that a sum `S` of neighbours reaches `q2` for a fixed key
//! is nearly `exp(K(t) - t q2)`, where `K` has the cumulants of `S` for this key and `t` solves
//! `K'(t) = q2`. `K(t)` is a sum over the `a_k` and `b_k` of [`chain`](super::chain). So the other
//! law is the first one multiplied by `exp(l K(t))`, for the `t` of keys of the wanted rarity by
//! [`spread`](super::spread), and for the `l` that makes this rarity common.
//!
//! The matrices of `chain` give the law of each coefficient when the ones before it are known, so
//! polynomials can be drawn one coefficient after the other, and their weights are exact. It does
//! not matter that `K` is that of one sum, that `t` is an estimate, and that terms at the ends are
//! left out: these decide only how well the samples are spread. The failure rate of each sample is
//! that of [`keys`](super::keys), which knows the sample itself and not only its variance.

use super::chain::{digits, means_of_later, probability};
use super::keys::{of_key, of_message};
use super::random::Random;
use super::set::Set;
use super::spread::{Fixed, Spread};
use super::tail::{ln_sum, ln_tail_at};

/// What samples say of keys, or messages, that are rarer than one in `2^k`. Rates are natural
/// logarithms.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Rare {
    /// The failure rate that they exceed.
    pub(super) least: f64,
    /// The mean of their failure rates.
    pub(super) mean: f64,
    /// How many equally likely samples would say as much.
    pub(super) samples: f64,
}

/// The number of equal intervals that a rounding error is drawn from, before it gets its place in
/// the interval.
const INTERVALS: usize = 5;

/// Samples keys, or messages, of one in `2^rarity`. Returns `None` if there are too few samples.
pub(super) fn sample(
    spread: &Spread,
    rarity: f64,
    count: usize,
    random: &mut Random,
) -> Option<Rare> {
    let (set, fixed) = (spread.set(), spread.fixed());
    let tilt = Tilt::of(spread, rarity);
    let [first, second] = tilt.samplers(set, fixed);
    let samples = (0..count).map(|_| {
        let ((a, weight_a), (b, weight_b)) = (first.draw(random), second.draw(random));
        let (rate, weight) = match fixed {
            Fixed::Key => (of_key(set, 1.0, &b, &a), 0.0),
            Fixed::Message => {
                let (d, weight) = tilt.within_intervals(set, &b, random);
                (of_message(set, &a, &d), weight)
            }
        };
        (rate, weight_a + weight_b + weight)
    });
    rare(samples.collect(), rarity)
}

/// The numbers `t` and `l` of the law from which samples are drawn.
#[derive(Copy, Clone, Debug)]
struct Tilt {
    t: f64,
    l: f64,
}

impl Tilt {
    /// Returns the numbers for which keys, or messages, of this rarity are common.
    fn of(spread: &Spread, rarity: f64) -> Self {
        let t = spread.saddle(rarity);
        // ln E exp(l K(t)), whose derivatives come from differences.
        let total = |l: f64| {
            let samplers = Self { t, l }.samplers(spread.set(), spread.fixed());
            samplers.iter().map(|sampler| sampler.total).sum::<f64>()
        };
        let tail = |l: f64| {
            let h = l / 32.0;
            let [below, at, above] = [l - h, l, l + h].map(total);
            let slope = (above - below) / (2.0 * h);
            ln_tail_at([at, slope, (above - 2.0 * at + below) / (h * h)], l, slope)
        };
        let wanted = -rarity * std::f64::consts::LN_2;
        // Logarithms to the base 2 of `l`. The tail falls with `l`.
        let (mut low, mut high) = (-6.0, 6.0);
        for _ in 0..10 {
            let middle = f64::midpoint(low, high);
            if tail(f64::exp2(middle)) > wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        Self { t, l: f64::exp2(low) }
    }

    /// Returns samplers of `g` and `f'`, or of `r` and the intervals of `d`.
    fn samplers(&self, set: &Set, fixed: Fixed) -> [Sampler; 2] {
        let (t, l) = (self.t, self.l);
        let small = set.small_law();
        let ratio = set.q2 / set.q;
        let first = Sampler::new(set.n, &small, |a| l * set.small_cumulants(t * ratio * a)[0]);
        let second = match fixed {
            Fixed::Key => {
                Sampler::new(set.n, &small, |a| l * set.rounding_cumulants(2.0 * t * a)[0])
            }
            Fixed::Message => {
                let law = [1.0 / INTERVALS as f64; INTERVALS];
                Sampler::new(set.n, &law, |a| l * set.small_cumulants(self.per_interval() * a)[0])
            }
        };
        [first, second]
    }

    /// Returns what an interval adds to the argument of the cumulants of a coefficient of `f'`.
    fn per_interval(&self) -> f64 {
        2.0 * self.t / INTERVALS as f64
    }

    /// Draws rounding errors from their intervals, and returns them with the logarithm of their
    /// weight. The change of `l K(t)` is taken as linear in the places within the intervals.
    fn within_intervals(
        &self,
        set: &Set,
        intervals: &[i32],
        random: &mut Random,
    ) -> (Vec<f64>, f64) {
        let mut slopes = vec![0.0; intervals.len()];
        for (m, known) in intervals.windows(WEIGHTS.len()).enumerate() {
            let a: i32 = known.iter().zip(WEIGHTS).map(|(x, w)| x * w).sum();
            let [_, slope, _] = set.small_cumulants(self.per_interval() * f64::from(a));
            for (sum, w) in slopes[m..].iter_mut().zip(WEIGHTS) {
                *sum += self.l * self.per_interval() * slope * f64::from(w);
            }
        }
        let mut weight = 0.0;
        let errors = intervals.iter().zip(slopes).map(|(&interval, slope)| {
            // A place x between -1/2 and 1/2 has a density that is proportional to exp(slope x).
            let x = if slope.abs() < 1e-6 {
                random.unit() - 0.5
            } else {
                let grown = (random.unit() * slope.exp_m1()).ln_1p() / slope - 0.5;
                weight += (2.0 * (slope / 2.0).sinh() / slope).ln() - slope * grown;
                grown
            };
            (f64::from(interval) + x) / INTERVALS as f64
        });
        (errors.collect(), weight)
    }
}

/// Returns what samples, given by rate and weight, say of one in `2^rarity`.
fn rare(mut samples: Vec<(f64, f64)>, rarity: f64) -> Option<Rare> {
    let wanted = -rarity * std::f64::consts::LN_2 + (samples.len() as f64).ln();
    samples.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut total = f64::NEG_INFINITY;
    let beyond = samples.iter().position(|(_, weight)| {
        total = ln_sum([total, *weight]);
        total > wanted
    })?;
    // The rarest samples alone decide nothing.
    if beyond < 16 {
        return None;
    }
    let failing = ln_sum(samples[..beyond].iter().map(|(rate, weight)| rate + weight));
    let weight = ln_sum(samples[..beyond].iter().map(|(_, weight)| *weight));
    let squares = ln_sum(samples[..beyond].iter().map(|(_, weight)| 2.0 * weight));
    let count = (2.0 * weight - squares).exp();
    Some(Rare { least: samples[beyond].0, mean: failing - weight, samples: count })
}

/// Draws the coefficients of a polynomial from their law multiplied by a factor for each `a_k`.
struct Sampler {
    law: Vec<f64>,
    /// The factors of the values of an `a_k`, from the smallest value on.
    factors: Vec<f64>,
    /// See [`means_of_later`].
    means: Vec<(Vec<f64>, f64)>,
    /// The weights of the states of the first four coefficients.
    first: Vec<f64>,
    /// The logarithm of the mean of the product of the factors.
    total: f64,
}

/// The weights of `g_(m-1)` to `g_(m+3)` in an `a_k`.
const WEIGHTS: [i32; 5] = [1, 2, 2, 2, 1];

impl Sampler {
    fn new(n: usize, law: &[f64], ln_factor: impl Fn(f64) -> f64) -> Self {
        let (base, limit) = (law.len(), 4 * (law.len() - 1) as i32);
        let factors: Vec<f64> = (-limit..=limit).map(|a| ln_factor(a.into()).exp()).collect();
        // Terms with coefficients beyond the last one are left out.
        let means = means_of_later(n - 3, law, |a| factors[(a + limit) as usize], |_| WEIGHTS);
        let (of_first, scale) = &means[0];
        let first: Vec<f64> = (0..base.pow(4))
            .map(|state| probability(law, &digits(state, base)) * of_first[state])
            .collect();
        let total = first.iter().sum::<f64>().ln() + scale;
        Self { law: law.to_vec(), factors, means, first, total }
    }

    /// Draws coefficients, and returns them with the logarithm of their weight.
    fn draw(&self, random: &mut Random) -> (Vec<i32>, f64) {
        let base = self.law.len();
        let (eta, limit) = ((base / 2) as i32, self.factors.len() / 2);
        let states = base.pow(4);
        let (mut state, chance) = choose(&self.first, random);
        let mut weight = (probability(&self.law, &digits(state, base)) / chance).ln();
        let mut coefficients = digits(state, base).to_vec();
        for (means, _) in &self.means[1..] {
            let known: i32 = digits(state, base).iter().zip(WEIGHTS).map(|(x, w)| x * w).sum();
            let kept = state % (states / base) * base;
            let tilted: Vec<f64> = (0..base)
                .map(|x| {
                    let a = known + WEIGHTS[4] * (x as i32 - eta);
                    let factor = self.factors[(a + limit as i32) as usize];
                    self.law[x] * factor * means[kept + x]
                })
                .collect();
            let (newest, chance) = choose(&tilted, random);
            weight += (self.law[newest] / chance).ln();
            coefficients.push(newest as i32 - eta);
            state = kept + newest;
        }
        (coefficients, weight)
    }
}

/// Chooses an index with a chance that is proportional to the numbers, and returns the chance.
fn choose(numbers: &[f64], random: &mut Random) -> (usize, f64) {
    let total: f64 = numbers.iter().sum();
    let mut rest = random.unit() * total;
    for (index, number) in numbers.iter().enumerate() {
        if rest < *number {
            return (index, number / total);
        }
        rest -= number;
    }
    // Rounding has used up the numbers.
    let last = numbers.len() - 1;
    (last, numbers[last] / total)
}

#[cfg(test)]
mod tests {
    use ctru_math::R761;

    use super::*;

    const SET: Set = Set { n: 61, ..Set::of::<R761>() };

    /// The weights of samples from another law add up as the samples of the law itself do: one in
    /// 2^5 has a sum of squares that plain samples give, too.
    #[test]
    fn weights_are_exact() {
        let mut random = Random::new(7);
        let law = SET.small_law();
        let squares = |g: &[i32]| {
            let a = |w: &[i32]| w.iter().zip(WEIGHTS).map(|(x, w)| x * w).sum::<i32>();
            g.windows(5).map(|window| f64::from(a(window).pow(2))).sum::<f64>()
        };
        let count = 4096;
        let tilted = |per_square: f64, random: &mut Random| {
            let sampler = Sampler::new(SET.n, &law, |a| per_square * a * a);
            let samples = (0..count).map(|_| {
                let (g, weight) = sampler.draw(random);
                (squares(&g), weight)
            });
            rare(samples.collect(), 5.0).unwrap()
        };
        let (plain, rare) = (tilted(0.0, &mut random), tilted(0.002, &mut random));
        assert!((plain.least / rare.least - 1.0).abs() < 0.05, "{plain:?} {rare:?}");
        assert!((plain.samples - 128.0).abs() < 1.5, "{plain:?}");
        assert!(rare.samples > 200.0, "{rare:?}");
    }

    #[test]
    fn errors_within_intervals_have_the_weight_of_their_density() {
        let tilt = Tilt { t: 0.3, l: 2.0 };
        let mut random = Random::new(8);
        let intervals: Vec<i32> = (0..61).map(|i| i % 5 - 2).collect();
        // The mean of the weights of all samples is 1.
        let weights: Vec<f64> = (0..4096)
            .map(|_| {
                let (errors, weight) = tilt.within_intervals(&SET, &intervals, &mut random);
                let inside = |(error, interval): (&f64, &i32)| {
                    (error * 5.0 - f64::from(*interval)).abs() <= 0.5
                };
                assert!(errors.iter().zip(&intervals).all(inside));
                weight.exp()
            })
            .collect();
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        assert!((mean - 1.0).abs() < 0.1, "{mean}");
    }
}
