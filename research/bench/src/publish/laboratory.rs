//! Draws the pictures of the reduction laboratory.

use ctru_measure::Record;
use ctru_measure::chart::{Axis, Chart, Colour, Line, Scale};

use super::level;
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
        Line { name: name(method), colour: palette::method(method), dashed: false, points }
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
pub(super) fn chains(records: &Records) -> Vec<Chart> {
    let bits = |record: &Record| modulus(record).log2().ceil();
    let point = |record: &Record| (bits(record), giga_products(record) * 1e9);
    // The picture leaves out the forms of other programs and the moduli that few methods take.
    let is_wanted = |record: &Record| bits(record) <= 30.0 && !record.op.starts_with("unsigned_");
    vec![Chart {
        title: "Chains of 16 modular products by method\n\
                One NVIDIA H200, best number of threads"
            .to_owned(),
        x: Axis { label: "bits of the modulus".to_owned(), scale: Scale::Linear },
        y: Axis { label: "products per second".to_owned(), scale: Scale::Log },
        lines: lines(records, kind::CHAIN, is_wanted, point, f64::max),
        ..Chart::default()
    }]
}

/// Draws the times of products of long polynomials.
pub(super) fn products(records: &Records) -> Vec<Chart> {
    let is_wanted = |record: &Record| {
        len(record) == 1 << 17 && modulus(record) == 469_762_049.0 && record.op != "rounding_shoup"
    };
    let point = |record: &Record| (record.batch as f64, record.median_ns_per_op / 1e3);
    let mut lines = lines(records, kind::CYCLIC, is_wanted, point, f64::min);
    let known = sources::cyclic().map(|(gpu, milliseconds)| {
        level(format!("report, {gpu}"), Colour::Grey, &lines, 1000.0 * milliseconds)
    });
    lines.extend(known);
    vec![Chart {
        title: "Products modulo x^131072 - 1 and 469762049 by method\n\
                Solid: NVIDIA H200, data on the GPU, best number of threads\n\
                Dashed: two student reports, each with its best time for one product"
            .to_owned(),
        x: Axis { label: "products per launch".to_owned(), scale: Scale::Log },
        y: Axis { label: "microseconds per product".to_owned(), scale: Scale::Log },
        lines,
        ..Chart::default()
    }]
}
