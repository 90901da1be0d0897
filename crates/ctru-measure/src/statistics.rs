//! Repeats operations for a given time, and summarises their times.

use std::time::{Duration, Instant};

/// A summary of the times of repetitions.
#[derive(Copy, Clone, Debug)]
pub struct Statistics {
    /// The median time of a repetition in nanoseconds. Between two times, percentiles are
    /// interpolated.
    pub median: f64,
    /// The distance between the 10th and the 90th percentile, divided by the median.
    pub spread: f64,
    /// The number of repetitions.
    pub samples: usize,
}

impl Statistics {
    /// Returns the summary of `times` in nanoseconds.
    ///
    /// # Panics
    /// If `times` is empty.
    #[must_use]
    pub fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let percentile = |percent: usize| {
            let (at, part) = ((times.len() - 1) * percent / 100, (times.len() - 1) * percent % 100);
            let next = times[(at + 1).min(times.len() - 1)];
            times[at] + (next - times[at]) * part as f64 / 100.0
        };
        let median = percentile(50);
        Self { median, spread: (percentile(90) - percentile(10)) / median, samples: times.len() }
    }
}

/// The least number of repetitions. With fewer, percentiles mean nothing.
const LEAST_SAMPLES: usize = 5;

/// Repeats `operation` and returns the summary of the times.
///
/// First, `operation` runs for a tenth of `budget`, at least once, to warm up. Then the measured
/// repetitions take the time `budget`, or longer if five of them need more.
///
/// # Errors
/// The first error of `operation`.
pub fn sample<E>(
    budget: Duration,
    operation: impl FnMut() -> Result<(), E>,
) -> Result<Statistics, E> {
    times(budget, operation).map(Statistics::of)
}

/// Repeats `operation` as [`sample`] does, and returns the time of each repetition in nanoseconds.
///
/// # Errors
/// The first error of `operation`.
pub fn times<E>(
    budget: Duration,
    mut operation: impl FnMut() -> Result<(), E>,
) -> Result<Vec<f64>, E> {
    let start = Instant::now();
    loop {
        operation()?;
        if start.elapsed() >= budget / 10 {
            break;
        }
    }
    let mut samples = Vec::new();
    let start = Instant::now();
    while samples.len() < LEAST_SAMPLES || start.elapsed() < budget {
        let before = Instant::now();
        operation()?;
        samples.push(before.elapsed().as_nanos() as f64);
    }
    Ok(samples)
}

/// Parses a number of seconds from a command line: more than 0 and at most 3600.
///
/// # Errors
/// A message for the user, if the text is not such a number.
pub fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if seconds > 0.0 && seconds <= 3600.0 {
        Ok(seconds)
    } else {
        Err("not between 0 and 3600".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_few_times() {
        let Statistics { median, spread, samples } = Statistics::of(vec![10.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!((median, samples), (1.0, 5));
        assert!((spread - 5.4).abs() < 1e-9);
        assert!((Statistics::of(vec![4.0, 2.0]).median - 3.0).abs() < 1e-9);
    }
}
