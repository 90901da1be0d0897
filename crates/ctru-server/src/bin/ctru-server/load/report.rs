//! The results of a load, as a table.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use comfy_table::{Table, presets};
use hdrhistogram::Histogram;
use tonic::Status;

/// The latencies of calls, and the errors.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    duration: Duration,
    /// The latencies in microseconds, or `None` if nothing was measured.
    latencies: Option<Histogram<u64>>,
    /// The number of errors by status code.
    errors: BTreeMap<String, u64>,
}

/// The percentiles of the table.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 100.0];

impl Measured {
    pub(super) fn new(duration: Duration) -> Self {
        // From a microsecond to a minute with three digits.
        let latencies = Histogram::new_with_bounds(1, 60_000_000, 3).ok();
        Self { duration, latencies, errors: BTreeMap::new() }
    }

    /// Notes the end of a call.
    pub(super) fn note(&mut self, latency: Duration, result: Result<(), Status>) {
        match (result, &mut self.latencies) {
            (Ok(()), Some(latencies)) => {
                latencies.saturating_record(latency.as_micros().try_into().unwrap_or(u64::MAX));
            }
            (Ok(()), None) => {}
            (Err(status), _) => {
                *self.errors.entry(format!("{:?}", status.code())).or_insert(0) += 1;
            }
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        if let (Some(own), Some(other)) = (&mut self.latencies, &other.latencies) {
            // Both have the same bounds, so adding does not fail.
            let _ = own.add(other);
        }
        for (code, count) in &other.errors {
            *self.errors.entry(code.clone()).or_insert(0) += count;
        }
    }

    /// Returns the number of calls that have succeeded.
    pub(super) fn calls(&self) -> u64 {
        self.latencies.as_ref().map_or(0, Histogram::len)
    }

    /// Returns the latency that a part of the calls does not exceed.
    fn percentile(&self, percentile: f64) -> Duration {
        let value = self.latencies.as_ref().map_or(0, |all| all.value_at_percentile(percentile));
        Duration::from_micros(value)
    }

    /// Prints a table.
    ///
    /// # Errors
    /// If standard output fails.
    pub(super) fn print(&self, operations: u32) -> io::Result<()> {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN).set_header(["what", "value"]);
        let mut row = |name: String, value: String| {
            table.add_row([name, value]);
        };
        row("calls".into(), self.calls().to_string());
        let rate = self.calls() as f64 / self.duration.as_secs_f64();
        row("calls/s".into(), format!("{rate:.0}"));
        row("operations/s".into(), format!("{:.0}", rate * f64::from(operations)));
        for percentile in PERCENTILES {
            let latency = self.percentile(percentile).as_secs_f64() * 1e3;
            row(format!("latency, {percentile} %"), format!("{latency:.2} ms"));
        }
        for (code, count) in &self.errors {
            row(format!("errors, {code}"), count.to_string());
        }
        writeln!(ctru_program::stdout()?, "{table}")
    }
}
