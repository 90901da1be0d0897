//! The results of a load, as a table and as a picture.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use comfy_table::{Table, presets};
use hdrhistogram::Histogram;
use plotters::prelude::*;
use tonic::Status;

use crate::Result;

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
    pub(super) fn note(&mut self, latency: Duration, result: std::result::Result<(), Status>) {
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

    /// Draws the latency of each percentile, both on logarithmic axes.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn draw(&self, path: &Path) -> Result<()> {
        let Some(latencies) = &self.latencies else { return Ok(()) };
        // The number of calls of which one is slower.
        let one_of = |percentile: f64| 1.0 / (1.0 - percentile / 100.0);
        let last = one_of(100.0 - 100.0 / (self.calls().max(10) as f64));
        let points: Vec<(f64, f64)> = latencies
            .iter_quantiles(5)
            .map(|step| {
                (one_of(step.percentile()).min(last), step.value_iterated_to() as f64 / 1e3)
            })
            .collect();
        let highest = points.iter().map(|point| point.1).fold(1.0, f64::max);
        let lowest = points.iter().map(|point| point.1).fold(highest, f64::min).max(1e-3);
        let area = SVGBackend::new(path, (800, 450)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(20)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(
                (1.0..last).log_scale(),
                (lowest / 1.2..highest * 1.2).log_scale(),
            )?;
        chart
            .configure_mesh()
            .x_desc("one of this many calls is slower")
            .y_desc("latency in ms")
            .draw()?;
        chart.draw_series(LineSeries::new(points, BLUE.stroke_width(2)))?;
        area.present()?;
        Ok(())
    }
}
