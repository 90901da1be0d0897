//! Collects the rates that the page on performance shows.

use std::path::Path;

use ctru_measure::Record;

use super::tables::{digits, rows};
use crate::error::Error;
use crate::records::{Records, figure, kind};

/// The files of the rates.
const FILES: [&str; 6] = [
    "zen5/peers.jsonl",
    "zen5/peers-avx2.jsonl",
    "h100/paper.jsonl",
    "h100/gpus.jsonl",
    "h200/paper.jsonl",
    "h200/batches.jsonl",
];

const HEADER: [&str; 12] = [
    "record",
    "engine",
    "backend",
    "set",
    "bench",
    "transfers",
    "op",
    "keys",
    "batch",
    "gpus",
    "callers",
    "ops_per_s",
];

/// Returns a table of the operations of the KEM per second, one row for each record.
pub(super) fn table(folder: &Path) -> Result<String, Error> {
    let mut table = vec![HEADER.map(str::to_owned)];
    for file in FILES {
        let path = folder.join(file);
        let records = Records::read(std::slice::from_ref(&path))?;
        let before = table.len();
        table.extend(records.0.iter().filter(|record| is_wanted(record)).map(|r| row(file, r)));
        if table.len() == before {
            return Err(Error::missing(&path, "rates.csv"));
        }
    }
    Ok(rows(table))
}

fn is_wanted(record: &Record) -> bool {
    let kinds = [kind::SINGLE, kind::BATCH, kind::ON_DEVICE];
    kinds.contains(&record.bench.as_str()) && record.pk_encoding != "packed13"
}

fn row(file: &str, record: &Record) -> [String; 12] {
    [
        file.to_owned(),
        record.engine.clone(),
        record.backend.clone(),
        record.set.clone(),
        record.bench.clone(),
        record.transfers.clone(),
        record.op.clone(),
        record.keys.name().to_owned(),
        record.batch.to_string(),
        record.figure(figure::GPUS).map(digits).unwrap_or_default(),
        record.callers.to_string(),
        digits(record.ops_per_s),
    ]
}
