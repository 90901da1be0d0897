//! Draws figures 6 and 7 of the paper.

use ctru_measure::chart::{Axis, Chart, Line, Scale};
use ctru_measure::{Operation, Record};

use super::{level, palette};
use crate::paper::comparisons;
use crate::records::{Records, distinct, kind, method};
use crate::references::{self, KnownProducts};
use crate::sources::{self, TensorProducts};

/// What the lines of products are.
const OURS: &str = "Solid: ctru on one NVIDIA H200, data on the GPU";

/// Returns the name of a method without the device that computes it.
fn short(method: &str) -> String {
    method.trim_end_matches(", tensor cores").to_owned()
}

/// Returns each parameter set with its chart, which has one line per method.
fn charts(
    records: &Records,
    kind: &str,
    title: &str,
    unit: &str,
    value: fn(&Record) -> f64,
) -> Vec<(String, Chart)> {
    let sets = distinct(records.of_kind(kind).map(|record| record.set.clone()));
    let chart = |set: String| {
        let of_set = || records.of_kind(kind).filter(|record| record.set == set);
        let line = |method: &str| Line {
            name: short(method),
            colour: palette::method(method),
            dashed: false,
            points: of_set()
                .filter(|record| record.op == method)
                .map(|record| (record.batch as f64, value(record)))
                .collect(),
        };
        let lines = distinct(of_set().map(|record| record.op.as_str())).into_iter().map(line);
        let chart = Chart {
            title: format!("{title}, n = {set}\n{OURS}"),
            x: Axis { label: "products per launch".to_owned(), scale: Scale::Log },
            y: Axis { label: unit.to_owned(), scale: Scale::Log },
            lines: lines.collect(),
            ..Chart::default()
        };
        (set, chart)
    };
    sets.into_iter().map(chart).collect()
}

/// Returns the name of a known result.
fn known_name(author: &str, method: &str) -> String {
    format!("{author}: {}", short(method))
}

/// Draws the rates of products: figure 6.
pub(super) fn throughput(records: &Records) -> Vec<Chart> {
    let rate = |record: &Record| record.ops_per_s;
    let mut charts = charts(records, kind::PRODUCTS, "Products", "products per second", rate);
    for (set, chart) in &mut charts {
        chart.title.push_str("\nDashed: the authors' code on an H200, the paper on an RTX 3060 Ti");
        let line = |known: KnownProducts| {
            let name = known_name(known.author, known.method);
            let (colour, value) = (palette::method(known.method), known.per_second);
            match known.batch {
                None => level(name, colour, &chart.lines, value),
                Some(batch) => {
                    Line { name, colour, dashed: true, points: vec![(batch as f64, value)] }
                }
            }
        };
        let known: Vec<Line> = references::products(set).into_iter().map(line).collect();
        chart.lines.extend(known);
    }
    charts.into_iter().map(|(_, chart)| chart).collect()
}

/// Draws the times of single launches: figure 6 and table 4.
pub(super) fn latency(records: &Records) -> Vec<Chart> {
    let time = |record: &Record| record.median_ns_per_op * record.batch as f64 / 1e3;
    let title = "One launch from its call to its end";
    let mut charts = charts(records, kind::PRODUCTS_ALONE, title, "microseconds", time);
    let paper = &sources::paper().table_4;
    let line = |(method, rows): (&'static str, &[TensorProducts])| Line {
        name: known_name("paper", method),
        colour: palette::method(method),
        dashed: true,
        points: rows.iter().map(|row| (row.batch as f64, row.total_us())).collect(),
    };
    for (_, chart) in charts.iter_mut().filter(|(set, _)| *set == paper.set) {
        chart.title.push_str("\nDashed: the paper's table 4, on an RTX 3060 Ti");
        let known: [(_, &[TensorProducts]); 2] =
            [(method::SCHOOLBOOK, &paper.general), (method::ONE_KEY, &paper.same_key)];
        chart.lines.extend(known.map(line));
    }
    charts.into_iter().map(|(_, chart)| chart).collect()
}

/// Draws the time that streams save: figure 7.
pub(super) fn streams(records: &Records) -> Vec<Chart> {
    let (operations, streams) = references::STREAMED;
    let chart = |operation: Operation| {
        let comparisons = comparisons(records, operation);
        let of_all = comparisons.iter().filter(|c| c.operations == operations);
        let points = of_all.map(|c| (c.streams as f64, 100.0 - c.saving()));
        let known = 100.0 - references::streams_save(operation);
        let lines = vec![
            Line {
                name: "ctru".to_owned(),
                colour: palette::OURS,
                dashed: false,
                points: points.collect(),
            },
            Line {
                name: "authors".to_owned(),
                colour: palette::AUTHORS,
                dashed: true,
                points: vec![(streams as f64, known)],
            },
        ];
        Chart {
            title: format!(
                "{} in as many chunks as streams\n\
                 16,384 operations, n = 761, one NVIDIA H200\n\
                 A key each, transfers included",
                operation.name()
            ),
            x: Axis { label: "streams".to_owned(), scale: Scale::Linear },
            y: Axis { label: "% of the time without streams".to_owned(), scale: Scale::Linear },
            lines,
            ..Chart::default()
        }
    };
    Operation::ALL.map(chart).into()
}
