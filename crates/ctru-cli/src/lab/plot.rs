//! `ctru bench plot`: measurements as drawings.

use std::fs;
use std::path::{Path, PathBuf};

use super::Measurement;
use super::tables::{giga_products, microseconds};
use crate::chart::{Chart, Lines};
use crate::error::Error;

/// Options of the drawings.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Files of measurements, one JSON object a line
    #[arg(required = true, value_name = "FILE")]
    records: Vec<PathBuf>,
    /// Folder of the drawings
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    out: PathBuf,
}

/// A drawing: a line for each method.
struct Drawing {
    file: &'static str,
    chart: Chart,
    is_part: fn(&Measurement) -> bool,
    point: fn(&Measurement) -> (f64, f64),
    /// Whether the larger of two values at one place is the better one.
    larger_is_better: bool,
}

const DRAWINGS: [Drawing; 3] = [
    Drawing {
        file: "reductions.svg",
        chart: Chart {
            title: "Chains of 16 products, best number of threads",
            x: "bits of the modulus",
            y: "10^9 products a second",
        },
        is_part: |m| m.step == "chain",
        point: |m| (f64::from(m.modulus).log2(), giga_products(m)),
        larger_is_better: true,
    },
    Drawing {
        file: "ntt-threads.svg",
        chart: Chart {
            title: "One product modulo x^131072 - 1 and 469762049",
            x: "threads of a block (log2)",
            y: "microseconds",
        },
        is_part: |m| is_long(m) && m.batch == 1,
        point: |m| ((m.threads as f64).log2(), microseconds(m)),
        larger_is_better: false,
    },
    Drawing {
        file: "ntt-batches.svg",
        chart: Chart {
            title: "Products modulo x^131072 - 1 and 469762049, best number of threads",
            x: "products in a launch (log2)",
            y: "microseconds a product",
        },
        is_part: is_long,
        point: |m| ((m.batch as f64).log2(), microseconds(m)),
        larger_is_better: false,
    },
];

fn is_long(m: &Measurement) -> bool {
    m.step == "product" && m.clock == "device" && m.len == 1 << 17 && m.modulus == 469_762_049
}

pub(super) fn run(options: &Options) -> Result<(), Error> {
    let mut measurements = Vec::new();
    for path in &options.records {
        let file = || path.display().to_string();
        let text =
            fs::read_to_string(path).map_err(|source| Error::Read { file: file(), source })?;
        for line in text.lines() {
            let measurement: Measurement = serde_json::from_str(line)
                .map_err(|error| Error::Drawing { file: file(), reason: error.to_string() })?;
            measurements.push(measurement);
        }
    }
    DRAWINGS.iter().try_for_each(|drawing| drawing.draw(&measurements, &options.out))
}

impl Drawing {
    /// The best value at every place of every line.
    fn lines(&self, measurements: &[Measurement]) -> Lines {
        let mut lines = Lines::new();
        for measurement in measurements.iter().filter(|m| m.engine == "gpu" && (self.is_part)(m)) {
            let (x, y) = (self.point)(measurement);
            let line = lines.entry(measurement.method.clone()).or_default();
            match line.iter_mut().find(|point| point.0 == x) {
                Some(point) if (point.1 < y) == self.larger_is_better => point.1 = y,
                Some(_) => {}
                None => line.push((x, y)),
            }
        }
        lines.values_mut().for_each(|line| line.sort_by(|a, b| a.0.total_cmp(&b.0)));
        lines
    }

    fn draw(&self, measurements: &[Measurement], folder: &Path) -> Result<(), Error> {
        self.chart.draw(&self.lines(measurements), &folder.join(self.file))
    }
}
