//! Draws the pictures of the reduction laboratory.

use ctru_measure::Record;

use super::chart::{self, Axis, Layout, Line, Panel};
use super::palette;
use crate::lab::{giga_products, len, modulus};
use crate::records::{Records, distinct, kind};
use crate::sources;

/// Returns one line per method, with the best value for each position on the horizontal axis.
fn lines(
    records: &Records,
    kind: &str,
    is_wanted: impl Fn(&Record) -> bool,
    point: impl Fn(&Record) -> (f64, f64),
    best: fn(f64, f64) -> f64,
) -> Vec<Line> {
    let wanted = || {
        let of_kind = records.of_kind(kind).filter(|record| record.engine == "gpu");
        of_kind.filter(|&record| is_wanted(record))
    };
    let line = |method: &str| {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (x, y) in wanted().filter(|record| record.op == method).map(&point) {
            match points.iter_mut().find(|point| point.0 == x) {
                Some(point) => point.1 = best(point.1, y),
                None => points.push((x, y)),
            }
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Line { name: name(method), colour: palette::method(method), known: false, points }
    };
    distinct(wanted().map(|record| record.op.as_str())).into_iter().map(line).collect()
}

/// Returns the name of a method as the pictures show it.
fn name(method: &str) -> String {
    match method {
        "runtime_division" => "%, run-time modulus",
        "constant_division" => "%, constant modulus",
        "barrett" => "Barrett",
        "montgomery" => "Montgomery",
        "shoup" => "Shoup",
        "plantard" => "Plantard",
        "pseudo_mersenne" => "pseudo-Mersenne",
        "proth" => "Proth",
        "float" => "floating point",
        other => other,
    }
    .to_owned()
}

/// Draws the rates of chains of modular products.
pub(super) fn chains(records: &Records) -> Option<String> {
    let bits = |record: &Record| modulus(record).log2().ceil();
    let point = |record: &Record| (bits(record), giga_products(record));
    // The picture leaves out the forms of other programs and the moduli that few methods take.
    let is_wanted = |record: &Record| bits(record) <= 30.0 && !record.op.starts_with("unsigned_");
    let lines = lines(records, kind::CHAIN, is_wanted, point, f64::max);
    let mut x = Axis::linear("bits of the modulus", &[16.0, 20.0, 24.0, 28.0]);
    x.from = 15.5;
    let panel = Panel {
        title: "billion products per second".to_owned(),
        x,
        y: Axis::logarithmic("", &[300.0, 500.0, 1000.0, 2000.0, 4000.0]),
        lines,
    };
    let layout = Layout { width: 620.0, height: 320.0, names: 150.0 };
    let caption = ["16 dependent products per element, best number of threads, NVIDIA H200."];
    let title = "Chains of modular products by method";
    let draw = || chart::draw(title, std::slice::from_ref(&panel), layout, &caption);
    (!panel.lines.is_empty()).then(draw)
}

/// Draws the times of products of long polynomials.
pub(super) fn products(records: &Records) -> Option<String> {
    let is_wanted = |record: &Record| {
        len(record) == 1 << 17 && modulus(record) == 469_762_049.0 && record.op != "rounding_shoup"
    };
    let point = |record: &Record| (record.batch as f64, record.median_ns_per_op / 1e3);
    let mut lines = lines(records, kind::CYCLIC, is_wanted, point, f64::min);
    if lines.is_empty() {
        return None;
    }
    let x = Axis::logarithmic("products per launch", &[1.0, 4.0, 16.0, 64.0, 256.0]);
    lines.extend(sources::cyclic().map(|(gpu, milliseconds)| {
        Line::level(&format!("report, {gpu}"), palette::GREY, &x, 1000.0 * milliseconds)
    }));
    let panel = Panel {
        title: "microseconds per product".to_owned(),
        x,
        y: Axis::logarithmic("", &[1.0, 10.0, 100.0, 1000.0, 10000.0, 30000.0]),
        lines,
    };
    let layout = Layout { width: 620.0, height: 380.0, names: 150.0 };
    let caption = [
        "Solid: NVIDIA H200, data on the device, best number of threads. Dashed: two student \
         reports,",
        "each with its best time for one product; what those times contain is not known.",
    ];
    let title = "Products modulo x^131072 - 1 and 469762049 by method";
    Some(chart::draw(title, &[panel], layout, &caption))
}
