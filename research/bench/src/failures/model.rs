//! The failure rate over random keys and messages.
//!
//! The rate is at most the sum, over all blocks and over the 224 sums of [`code`](super::code), of
//! the probability that the sum reaches `q2`. Sums of four neighbours with equal signs have the
//! largest variance, and [`Averages`] gives their law. The other sums hardly matter: their normal
//! probability is corrected by the factor by which the probability of a sum of neighbours differs
//! from the normal one at the same number of standard deviations.

use super::chain::{Averages, places};
use super::code::{adds_neighbours, sums};
use super::noise::Block;
use super::set::Set;
use super::tail::{ln_normal_tail, ln_sum, ln_tail};

/// The model of a parameter set.
#[derive(Debug)]
pub(super) struct Model {
    set: Set,
    averages: Averages,
}

/// A rate, as natural logarithms.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Rate {
    /// The sum of the probabilities of all events, an upper bound.
    pub(super) union: f64,
    /// The probability of the most likely event, a lower bound.
    pub(super) largest: f64,
}

impl Model {
    /// Computes the law of the sums.
    pub(super) fn new(set: Set) -> Self {
        Self { set, averages: Averages::new(&set) }
    }

    /// Returns the chance that a decapsulation with a random key fails if the noise is multiplied
    /// by `scale`.
    pub(super) fn rate(&self, scale: f64) -> Rate {
        let threshold = self.set.q2 / scale;
        let mut tails: Vec<f64> = (0..places(&self.set).count())
            // A sum and its negative.
            .flat_map(|place| [self.ln_tail(place, threshold); 2])
            .collect();
        let largest = tails.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sums: Vec<_> = sums().into_iter().filter(|weights| !adds_neighbours(weights)).collect();
        let corrections = self.corrections();
        for number in 0..self.set.blocks {
            let block = Block::of(&self.set, number);
            tails.extend(sums.iter().map(|weights| {
                let deviations = threshold / block.variance(weights).sqrt();
                ln_normal_tail(deviations) + at(&corrections, deviations)
            }));
        }
        Rate { union: ln_sum(tails), largest }
    }

    /// Returns `ln P(S >= threshold)` of a sum of neighbours.
    fn ln_tail(&self, place: usize, threshold: f64) -> f64 {
        let [_, _, variance] = self.averages.cumulants(place, 0.0);
        ln_tail(|t| self.averages.cumulants(place, t), threshold / variance / 2.0, threshold)
    }

    /// Returns, for each number of standard deviations, by how much the logarithm of the
    /// probability of the first sum of neighbours of the second block differs from the normal one.
    fn corrections(&self) -> Vec<f64> {
        let place = 3;
        let [_, _, variance] = self.averages.cumulants(place, 0.0);
        let correction = |deviations: usize| match deviations {
            0 => 0.0,
            _ => {
                let deviations = deviations as f64;
                self.ln_tail(place, deviations * variance.sqrt()) - ln_normal_tail(deviations)
            }
        };
        (0..64).map(correction).collect()
    }
}

/// Returns the value of a list at a position between its elements.
fn at(values: &[f64], position: f64) -> f64 {
    let index = (position as usize).min(values.len() - 2);
    let rest = position - index as f64;
    values[index] + rest * (values[index + 1] - values[index])
}
