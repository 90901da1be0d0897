//! Figures 6 and 7 as drawings.

use std::fs;
use std::path::Path;

use super::line::{Lines as Measurements, PRODUCTS, PRODUCTS_ALONE};
use super::tables::{OPERATIONS, comparisons};
use crate::chart::{Chart, Lines};
use crate::error::Error;
use crate::record::Record;

const THROUGHPUT: Chart = Chart {
    title: "Figure 6: throughput of products on the device",
    x: "products in a launch (log2)",
    y: "10^6 products a second",
};

const LATENCY: Chart = Chart {
    title: "Figure 6: time of a launch of products alone",
    x: "products in a launch (log2)",
    y: "microseconds (log2)",
};

const STREAMS: Chart = Chart {
    title: "Figure 7: streams against as many sequential runs",
    x: "streams (log2)",
    y: "time that they need, in percent of that of sequential runs",
};

/// Draws into `folder`, which is made if it is not there.
pub(super) fn draw(measurements: &Measurements, folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder)
        .map_err(|source| Error::Write { file: folder.display().to_string(), source })?;
    let file = |name: &str| folder.join(name);
    let rate = |record: &Record| record.ops_per_s / 1e6;
    let log_time = |record: &Record| (record.median_ns_per_op * record.batch as f64 / 1e3).log2();
    THROUGHPUT
        .draw(&products(measurements, PRODUCTS, rate), &file("paper-figure-6-throughput.svg"))?;
    LATENCY.draw(
        &products(measurements, PRODUCTS_ALONE, log_time),
        &file("paper-figure-6-latency.svg"),
    )?;
    STREAMS.draw(&streams(measurements), &file("paper-figure-7.svg"))
}

/// A line for each set and method.
fn products(measurements: &Measurements, bench: &str, value: impl Fn(&Record) -> f64) -> Lines {
    let mut lines = Lines::new();
    for record in measurements.times(bench) {
        let line = lines.entry(format!("n = {}, {}", record.set, record.op)).or_default();
        line.push(((record.batch as f64).log2(), value(record)));
    }
    lines
}

/// A line for each operation.
fn streams(measurements: &Measurements) -> Lines {
    let line = |operation| {
        let points = comparisons(measurements, operation);
        points
            .iter()
            .map(|point| ((point.streams as f64).log2(), 100.0 - point.saving()))
            .collect::<Vec<_>>()
    };
    let lines = OPERATIONS.map(|operation| (operation.name().to_owned(), line(operation)));
    lines.into_iter().filter(|(_, line)| !line.is_empty()).collect()
}
