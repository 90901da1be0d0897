//! Operations repeated for a given time.

use std::time::{Duration, Instant};

use crate::record::Statistics;

/// Reads a time.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if seconds > 0.0 && seconds <= 3600.0 {
        Ok(seconds)
    } else {
        Err("not between 0 and 3600".to_owned())
    }
}

/// Fewer repetitions than this have no percentiles to speak of.
const LEAST_SAMPLES: usize = 5;

/// Repeats `operation` for the time of `budget`, after a tenth of that to warm up.
pub(crate) fn sample<E>(
    budget: Duration,
    operation: impl FnMut() -> Result<(), E>,
) -> Result<Statistics, E> {
    times(budget, operation).map(Statistics::of)
}

/// The same, with the nanoseconds of each repetition.
pub(crate) fn times<E>(
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
