//! Tells what single mechanisms of the engine gain.

use std::path::Path;

use serde::Deserialize;

use super::tables::{digits, rows};
use crate::error::Error;
use crate::records;

const FILE: &str = "h100/mechanisms.jsonl";

/// Smaller gains and losses are not shown.
const LEAST: f64 = 0.05;

const HEADER: [&str; 12] = [
    "off",
    "set",
    "run",
    "op",
    "keys",
    "batch",
    "transfers",
    "callers",
    "pairs",
    "median_ratio",
    "low",
    "high",
];

/// Pairs of measurements without some mechanisms and with all.
#[derive(Deserialize)]
struct Pairs {
    off: Vec<String>,
    set: String,
    run: String,
    op: String,
    keys: String,
    batch: usize,
    transfers: String,
    callers: usize,
    pairs: usize,
    median_ratio: f64,
    low: f64,
    high: f64,
}

/// Returns a table of the operations that take another time without some mechanisms.
pub(super) fn table(folder: &Path) -> Result<String, Error> {
    let all: Vec<Pairs> = records::lines(&folder.join(FILE))?;
    let shown = all.iter().filter(|pairs| (pairs.median_ratio - 1.0).abs() >= LEAST).map(row);
    Ok(rows([HEADER.map(str::to_owned)].into_iter().chain(shown)))
}

fn row(pairs: &Pairs) -> [String; 12] {
    [
        pairs.off.join(" "),
        pairs.set.clone(),
        pairs.run.clone(),
        pairs.op.clone(),
        pairs.keys.clone(),
        pairs.batch.to_string(),
        pairs.transfers.clone(),
        pairs.callers.to_string(),
        pairs.pairs.to_string(),
        digits(pairs.median_ratio),
        digits(pairs.low),
        digits(pairs.high),
    ]
}
