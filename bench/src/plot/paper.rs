//! Draws figures 6 and 7 of the paper.

use ctru_measure::{Operation, Record};

use super::chart::{self, Axis, Layout, Line, Panel};
use super::palette;
use crate::paper::comparisons;
use crate::records::{Records, distinct, kind};
use crate::references::{self, KnownLaunches, KnownProducts};

const LAYOUT: Layout = Layout { width: 330.0, height: 300.0, names: 128.0 };

const OURS: &str = "Solid: this project on one NVIDIA H200, data on the device. \
                    One key: all products share one large operand. Dashed: known results.";

fn batches() -> Axis {
    let ticks = [1.0, 256.0, 65536.0];
    Axis::logarithmic("products per launch", &ticks)
}

/// Returns the name of a method without the device that computes it.
fn short(method: &str) -> String {
    method.trim_end_matches(", tensor cores").to_owned()
}

/// Returns one panel per parameter set, with one line per method.
fn panels(
    records: &Records,
    kind: &str,
    unit: &str,
    y: &Axis,
    value: fn(&Record) -> f64,
) -> Vec<Panel> {
    let sets = distinct(records.of_kind(kind).map(|record| record.set.clone()));
    let panel = |set: String| {
        let of_set = || records.of_kind(kind).filter(|record| record.set == set);
        let line = |method: &str| Line {
            name: short(method),
            colour: palette::method(method),
            known: false,
            points: of_set()
                .filter(|record| record.op == method)
                .map(|record| (record.batch as f64, value(record)))
                .collect(),
        };
        let lines = distinct(of_set().map(|record| record.op.as_str())).into_iter().map(line);
        let title = format!("n = {set}, {unit}");
        Panel { title, x: batches(), y: y.clone(), lines: lines.collect() }
    };
    sets.into_iter().map(panel).collect()
}

/// Returns the name of a known result: its author and its method.
fn known_name(who: &str, method: &str) -> String {
    let author = who.split(',').next().unwrap_or(who);
    format!("{author}: {}", short(method))
}

/// Draws the rates of products: figure 6.
pub(super) fn throughput(records: &Records) -> Option<String> {
    let y = Axis::logarithmic("", &[0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]);
    let rate = |record: &Record| record.ops_per_s / 1e6;
    let mut panels = panels(records, kind::PRODUCTS, "million products per second", &y, rate);
    for panel in &mut panels {
        let is_here = |known: &&KnownProducts| panel.title.contains(&format!("{},", known.set));
        let line = |known: &KnownProducts| {
            let name = known_name(known.who, known.method);
            let (colour, value) = (palette::method(known.method), known.per_second / 1e6);
            match known.batch {
                None => Line::level(&name, colour, &panel.x, value),
                Some(batch) => {
                    Line { name, colour, known: true, points: vec![(batch as f64, value)] }
                }
            }
        };
        let known: Vec<Line> = references::PRODUCTS.iter().filter(is_here).map(line).collect();
        panel.lines.extend(known);
    }
    let caption = [
        OURS,
        "Authors: the paper's public code, repaired, measured by us on the same kind of card. \
         Paper: its best rates, on an RTX 3060 Ti.",
    ];
    let title = "Products of a polynomial and a small polynomial modulo q, launches in a row";
    (!panels.is_empty()).then(|| chart::draw(title, &panels, LAYOUT, &caption))
}

/// Draws the times of single launches: figure 6 and table 4.
pub(super) fn latency(records: &Records) -> Option<String> {
    let y = Axis::logarithmic("", &[10.0, 100.0, 1000.0, 10000.0]);
    let time = |record: &Record| record.median_ns_per_op * record.batch as f64 / 1e3;
    let mut panels = panels(records, kind::PRODUCTS_ALONE, "microseconds", &y, time);
    for panel in &mut panels {
        let is_here = |known: &&KnownLaunches| panel.title.contains(&format!("{},", known.set));
        let line = |known: &KnownLaunches| Line {
            name: known_name(known.who, known.method),
            colour: palette::method(known.method),
            known: true,
            points: known.microseconds.iter().map(|&(batch, us)| (batch as f64, us)).collect(),
        };
        panel.lines.extend(references::LAUNCHES.iter().filter(is_here).map(line));
    }
    let caption = [OURS, "Paper: its table 4, the sum over four kernels, on an RTX 3060 Ti."];
    let title = "One launch of products from its call to its end";
    (!panels.is_empty()).then(|| chart::draw(title, &panels, LAYOUT, &caption))
}

/// Draws the time that streams save: figure 7.
pub(super) fn streams(records: &Records) -> Option<String> {
    let panel = |operation: Operation| {
        let comparisons = comparisons(records, operation);
        let points = comparisons.iter().map(|c| (c.streams as f64, 100.0 - c.saving()));
        let known = 100.0 - references::streams_save(operation);
        let lines = vec![
            Line {
                name: "ctru".to_owned(),
                colour: palette::OURS,
                known: false,
                points: points.collect(),
            },
            Line {
                name: "authors".to_owned(),
                colour: palette::AUTHORS,
                known: true,
                points: vec![(references::STREAMS as f64, known)],
            },
        ];
        let mut x = Axis::logarithmic("streams", &[2.0, 4.0, 8.0, 16.0]);
        x.from = 1.8;
        let y = Axis::linear("", &[0.0, 25.0, 50.0, 75.0, 100.0]);
        Panel { title: format!("{}, % of sequential time", operation.name()), x, y, lines }
    };
    records.of_kind(kind::STREAMS).next()?;
    let layout = Layout { width: 290.0, height: 220.0, names: 70.0 };
    let caption = [
        "n = 761, a key each, transfers included, on one NVIDIA H200. 100 %: the same chunks one \
         after the other.",
        "Authors: the paper's public code, repaired, measured by us on the same card. \
         Paper, RTX 3060 Ti, 8 streams: decapsulation in 27 %.",
    ];
    let title = "16,384 operations in as many chunks as streams";
    Some(chart::draw(title, &Operation::ALL.map(panel), layout, &caption))
}
