//! Draws figures 6 and 7 of the paper.

use ctru_measure::{Operation, Record};

use super::chart::{self, Axis, Layout, Line, Panel};
use super::palette;
use crate::paper::comparisons;
use crate::records::{Records, distinct, kind, method};
use crate::references::{self, KnownProducts};
use crate::sources::{self, TensorProducts};

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

/// Returns each parameter set with its panel, which has one line per method.
fn panels(
    records: &Records,
    kind: &str,
    unit: &str,
    y: &Axis,
    value: fn(&Record) -> f64,
) -> Vec<(String, Panel)> {
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
        let panel = Panel { title, x: batches(), y: y.clone(), lines: lines.collect() };
        (set, panel)
    };
    sets.into_iter().map(panel).collect()
}

/// Draws the panels of all parameter sets, if there are any.
fn draw(title: &str, panels: Vec<(String, Panel)>, caption: &[&str]) -> Option<String> {
    let panels: Vec<Panel> = panels.into_iter().map(|(_, panel)| panel).collect();
    (!panels.is_empty()).then(|| chart::draw(title, &panels, LAYOUT, caption))
}

/// Returns the name of a known result.
fn known_name(author: &str, method: &str) -> String {
    format!("{author}: {}", short(method))
}

/// Draws the rates of products: figure 6.
pub(super) fn throughput(records: &Records) -> Option<String> {
    let y = Axis::logarithmic("", &[0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]);
    let rate = |record: &Record| record.ops_per_s / 1e6;
    let mut panels = panels(records, kind::PRODUCTS, "million products per second", &y, rate);
    for (set, panel) in &mut panels {
        let line = |known: KnownProducts| {
            let name = known_name(known.author, known.method);
            let (colour, value) = (palette::method(known.method), known.per_second / 1e6);
            match known.batch {
                None => Line::level(&name, colour, &panel.x, value),
                Some(batch) => {
                    Line { name, colour, known: true, points: vec![(batch as f64, value)] }
                }
            }
        };
        let known: Vec<Line> = references::products(set).into_iter().map(line).collect();
        panel.lines.extend(known);
    }
    let caption = [
        OURS,
        "Authors: the paper's public code, repaired, measured by us on the same kind of card. \
         Paper: its best rates, on an RTX 3060 Ti.",
    ];
    let title = "Products of a polynomial and a small polynomial modulo q, launches in a row";
    draw(title, panels, &caption)
}

/// Draws the times of single launches: figure 6 and table 4.
pub(super) fn latency(records: &Records) -> Option<String> {
    let y = Axis::logarithmic("", &[10.0, 100.0, 1000.0, 10000.0]);
    let time = |record: &Record| record.median_ns_per_op * record.batch as f64 / 1e3;
    let mut panels = panels(records, kind::PRODUCTS_ALONE, "microseconds", &y, time);
    let paper = &sources::paper().table_4;
    let line = |(method, rows): (&'static str, &[TensorProducts])| Line {
        name: known_name("paper", method),
        colour: palette::method(method),
        known: true,
        points: rows.iter().map(|row| (row.batch as f64, row.total_us())).collect(),
    };
    for (_, panel) in panels.iter_mut().filter(|(set, _)| *set == paper.set) {
        let known: [(_, &[TensorProducts]); 2] =
            [(method::SCHOOLBOOK, &paper.general), (method::ONE_KEY, &paper.same_key)];
        panel.lines.extend(known.map(line));
    }
    let caption = [OURS, "Paper: its table 4, the sum over four kernels, on an RTX 3060 Ti."];
    let title = "One launch of products from its call to its end";
    draw(title, panels, &caption)
}

/// Draws the time that streams save: figure 7.
pub(super) fn streams(records: &Records) -> Option<String> {
    let (operations, streams) = references::STREAMED;
    let panel = |operation: Operation| {
        let comparisons = comparisons(records, operation);
        let of_all = comparisons.iter().filter(|c| c.operations == operations);
        let points = of_all.map(|c| (c.streams as f64, 100.0 - c.saving()));
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
                points: vec![(streams as f64, known)],
            },
        ];
        let mut x = Axis::logarithmic("streams", &[2.0, 4.0, 8.0, 16.0]);
        x.from = 1.8;
        let y = Axis::linear("", &[0.0, 25.0, 50.0, 75.0, 100.0]);
        Panel { title: format!("{}, % of sequential time", operation.name()), x, y, lines }
    };
    records.of_kind(kind::STREAMS).next()?;
    let layout = Layout { width: 290.0, height: 220.0, names: 70.0 };
    let paper = sources::paper();
    let left = 100.0 - paper.figure_7.saved.percent;
    let known = format!(
        "Authors: the paper's public code, repaired, measured by us on the same card. \
         Paper, {}, {} streams: decapsulation in {left:.0} %.",
        paper.setting.gpu, paper.figure_7.saved.streams
    );
    let caption = [
        "n = 761, a key each, transfers included, on one NVIDIA H200. 100 %: the same chunks one \
         after the other.",
        &known,
    ];
    let title = "16,384 operations in as many chunks as streams";
    Some(chart::draw(title, &Operation::ALL.map(panel), layout, &caption))
}
