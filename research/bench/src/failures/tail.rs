//! Probabilities of large values, by the saddlepoint method.
//!
//! Let `K(t) = ln E exp(t S)` for a random number `S`, and let `t` solve `K'(t) = x`. Lugannani and
//! Rice approximate `P(S >= x)` by
//!
//! ```text
//! Q(w) + phi(w) (1/u - 1/w),    w^2 = 2 (t x - K(t)),    u^2 = t^2 K''(t),
//! ```
//!
//! where `phi` is the density of the standard normal law and `Q` its upper tail. The formula is
//! exact for a normal `S`. For sums of many small independent numbers its relative error is small
//! everywhere, also where the probability is 2^-300. Results are natural logarithms, because such
//! probabilities squared are too small for floating point.
//!
//! Source: Lugannani, Rice, "Saddle point approximation for the distribution of the sum of
//! independent random variables" (1980).

use std::f64::consts::TAU;

/// Returns `ln P(S >= x)` for `x` above the mean of `S`. The arguments are those of [`saddle`].
pub(super) fn ln_tail(cumulants: impl Fn(f64) -> [f64; 3], guess: f64, x: f64) -> f64 {
    let t = saddle(&cumulants, guess, x);
    ln_tail_at(cumulants(t), t, x)
}

/// Returns the `t` that solves `K'(t) = x`, for `x` above the mean of `S`.
///
/// `cumulants` returns `K`, `K'` and `K''`. `guess` is any positive number; the search begins
/// there.
pub(super) fn saddle(cumulants: impl Fn(f64) -> [f64; 3], guess: f64, x: f64) -> f64 {
    // K' grows, so Newton steps that leave the known interval are replaced by halving it.
    let (mut low, mut high, mut t) = (0.0, f64::INFINITY, guess);
    for _ in 0..200 {
        let [_, first, second] = cumulants(t);
        if first < x {
            low = t;
        } else {
            high = t;
        }
        let newton = t + (x - first) / second;
        let next = if newton > low && newton < high {
            newton
        } else if high.is_finite() {
            f64::midpoint(low, high)
        } else {
            2.0 * t
        };
        if (next - t).abs() <= 1e-12 * t {
            break;
        }
        t = next;
    }
    t
}

/// Returns `ln P(S >= x)` from `K`, `K'` and `K''` at the `t` that solves `K'(t) = x`.
pub(super) fn ln_tail_at([value, _, second]: [f64; 3], t: f64, x: f64) -> f64 {
    let w = (2.0 * (t * x - value)).sqrt();
    ln_density(w) + (mills(w) + 1.0 / (t * second.sqrt()) - 1.0 / w).ln()
}

/// Returns `ln P(Z >= x)` for a standard normal `Z` and `x >= 1`.
pub(super) fn ln_normal_tail(x: f64) -> f64 {
    ln_density(x) + mills(x).ln()
}

fn ln_density(x: f64) -> f64 {
    -x * x / 2.0 - TAU.ln() / 2.0
}

/// Returns the upper tail of the normal law divided by its density, for `x >= 1`, by Laplace's
/// continued fraction.
fn mills(x: f64) -> f64 {
    (1..200).rev().fold(x, |denominator, k| x + f64::from(k) / denominator).recip()
}

/// Returns the logarithm of the sum of numbers that are given by their logarithms.
pub(super) fn ln_sum(logarithms: impl IntoIterator<Item = f64>) -> f64 {
    let all: Vec<f64> = logarithms.into_iter().collect();
    let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    most + all.iter().map(|x| (x - most).exp()).sum::<f64>().ln()
}

/// Converts natural logarithms to binary ones.
pub(super) trait Log2OfExp {
    /// Returns `log2(exp(self))`.
    fn log2_of_exp(self) -> f64;
}

impl Log2OfExp for f64 {
    fn log2_of_exp(self) -> f64 {
        self / std::f64::consts::LN_2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_tails() {
        // Table values of the upper tail.
        for (x, tail) in [(1.0, 0.158_655_253_931_457_f64), (3.0, 1.349_898_031_630_095e-3)] {
            assert!((ln_normal_tail(x) - tail.ln()).abs() < 1e-9, "{x}");
        }
        // With the cumulants of the normal law, the formula is exact.
        let normal = |t: f64| [t * t / 2.0, t, 1.0];
        assert!((ln_tail(normal, 1.0, 12.0) - ln_normal_tail(12.0)).abs() < 1e-9);
    }

    #[test]
    fn tail_of_a_sum() {
        // The sum of two exponential numbers exceeds x with probability (1 + x) e^-x. The method
        // is near it, although two summands are few.
        let gamma = |t: f64| {
            let rest = (1.0 - t).max(1e-300);
            [-2.0 * rest.ln(), 2.0 / rest, 2.0 / (rest * rest)]
        };
        let x = 40.0_f64;
        assert!((ln_tail(gamma, 0.5, x) - ((1.0 + x).ln() - x)).abs() < 0.05);
    }

    #[test]
    fn sums() {
        assert!((ln_sum([0.5_f64.ln(), 0.25_f64.ln()]) - 0.75_f64.ln()).abs() < 1e-12);
        assert_eq!(ln_sum([]), f64::NEG_INFINITY);
    }
}
