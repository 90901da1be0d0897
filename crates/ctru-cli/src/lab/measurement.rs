//! Measurements of the laboratory as they are written down.

use serde::{Deserialize, Serialize};

use crate::record::{self, Statistics};

/// One measurement: one line of `--json`, and of the files under `docs/benchmarks`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Measurement {
    /// "reductions" or "ntt".
    pub bench: String,
    /// What was done: "chain", "copy", "product", "layers apart" or a kernel of a product.
    pub step: String,
    /// "cpu" or "gpu".
    pub engine: String,
    /// The device that computes.
    pub device: String,
    /// The method of multiplication; empty where there is none.
    pub method: String,
    /// The modulus; 0 where there is none.
    pub modulus: u32,
    /// Elements of a chain's array, or coefficients of a polynomial.
    pub len: usize,
    /// Products of polynomials in a launch.
    pub batch: usize,
    /// Threads of a block on a GPU, of the host on a CPU.
    pub threads: usize,
    /// "device" for operations one after the other by the device's clock, "host" for one alone, from its call to its end.
    pub clock: String,
    /// Median time of the whole.
    pub median_ns: f64,
    /// From the 10th to the 90th percentile, in medians.
    pub spread: f64,
    /// Repetitions of which the median was taken.
    pub samples: usize,
    /// Bytes of the arrays that are read and written, tables of factors not counted.
    pub bytes: u64,
    /// Commit that the program was built from.
    pub commit: String,
    /// When it was measured, ISO 8601.
    pub date: String,
}

impl Measurement {
    /// What the repetitions say, of a program of this commit and at this moment; of what is for the caller to say.
    pub(super) fn now(statistics: Statistics) -> Self {
        let Statistics { median, spread, samples } = statistics;
        Self {
            median_ns: median,
            spread,
            samples,
            commit: record::commit(),
            date: record::now(),
            ..Self::default()
        }
    }

    /// The same of another step, by this clock.
    #[cfg(feature = "cuda")]
    pub(super) fn with(&self, statistics: Statistics, step: &str, clock: &str) -> Self {
        let Self { median_ns, spread, samples, commit, date, .. } = Self::now(statistics);
        let (step, clock) = (step.to_owned(), clock.to_owned());
        Self { median_ns, spread, samples, commit, date, step, clock, ..self.clone() }
    }
}
