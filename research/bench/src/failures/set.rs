//! The numbers of a parameter set on which the noise depends, and the laws of its small numbers.

use ctru_math::{Arithmetic, R653, R761, R1277};

/// The numbers of a parameter set.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Set {
    /// Degree of the ring.
    pub(super) n: usize,
    /// Modulus of public keys.
    pub(super) q: f64,
    /// Modulus of ciphertexts.
    pub(super) q2: f64,
    /// Parameter of the centred binomial law of `f'`, `g` and `r`.
    pub(super) eta: usize,
    /// Number of blocks of eight coefficients that carry the message.
    pub(super) blocks: usize,
}

impl Set {
    /// Returns the numbers of a ring.
    pub(super) const fn of<R: Arithmetic>() -> Self {
        Self {
            n: R::N,
            q: R::Q as f64,
            q2: R::Q2 as f64,
            eta: R::ETA as usize,
            blocks: R::CODED_COEFFS / 8,
        }
    }

    /// Returns the variance of a coefficient of `f'`, `g` or `r`: `eta/2`.
    pub(super) fn small_variance(&self) -> f64 {
        self.eta as f64 / 2.0
    }

    /// Returns the variance of a rounding error: it takes each multiple of `1/q` between `-1/2` and
    /// `1/2` with the same probability.
    pub(super) fn rounding_variance(&self) -> f64 {
        (1.0 - 1.0 / (self.q * self.q)) / 12.0
    }

    /// Returns the probability of each coefficient of `f'`, `g` or `r`, from `-eta` to `eta`.
    pub(super) fn small_law(&self) -> Vec<f64> {
        let mut law = vec![1.0];
        for _ in 0..2 * self.eta {
            let shifted = law.iter().map(|p| p / 2.0).chain([0.0]);
            law = shifted
                .zip([0.0].into_iter().chain(law.iter().map(|p| p / 2.0)))
                .map(|(a, b)| a + b)
                .collect();
        }
        law
    }

    /// Returns `ln E exp(t x)` of a coefficient `x` of `f'`, `g` or `r`, and its first two
    /// derivatives.
    pub(super) fn small_cumulants(&self, t: f64) -> [f64; 3] {
        let (eta, half) = (self.eta as f64, (t / 2.0).abs());
        let e = (-2.0 * half).exp();
        let tanh = (1.0 - e) / (1.0 + e);
        // ln cosh(x) = x + ln((1 + e^(-2x)) / 2), which does not overflow.
        let ln_cosh = half + (e / 2.0 + 0.5).ln();
        [2.0 * eta * ln_cosh, eta * tanh.copysign(t), eta * (1.0 - tanh * tanh) / 2.0]
    }

    /// Returns the same for a rounding error, taken as uniform between `-1/2` and `1/2`. Its steps
    /// of `1/q` change the variance by `1/q^2` of it.
    pub(super) fn rounding_cumulants(&self, t: f64) -> [f64; 3] {
        let x = t.abs() / 2.0;
        if x < 0.05 {
            // ln(sinh(x)/x) = x^2/6 - x^4/180 + x^6/2835 - ...
            let s = x * x;
            let value = s * (1.0 / 6.0 - s * (1.0 / 180.0 - s / 2835.0));
            let first = x * (1.0 / 3.0 - s * (4.0 / 180.0 - s * 6.0 / 2835.0));
            let second = 1.0 / 3.0 - s * (12.0 / 180.0 - s * 30.0 / 2835.0);
            return [value, (first / 2.0).copysign(t), second / 4.0];
        }
        let e = (-2.0 * x).exp();
        let coth = (1.0 + e) / (1.0 - e);
        let value = x + ((1.0 - e) / (2.0 * x)).ln();
        let second = 1.0 / (x * x) - (coth * coth - 1.0);
        [value, ((coth - 1.0 / x) / 2.0).copysign(t), second / 4.0]
    }
}

/// The three parameter sets, and their names in records.
pub(super) const SETS: [(&str, Set); 3] =
    [("653", Set::of::<R653>()), ("761", Set::of::<R761>()), ("1277", Set::of::<R1277>())];
