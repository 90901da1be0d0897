//! Reads old files of measurements, in which each kind of measurement had its own form of line.

use ctru_measure::{KeyUse, Record, Statistics};
use serde::Deserialize;

use super::{figure, kind, watts};

/// Parses a line in the present form or in an earlier one.
pub(crate) fn parse(line: &str) -> Result<Record, serde_json::Error> {
    serde_json::from_str(line).map(|line| match line {
        Line::Record(record) => record,
        Line::Laboratory(old) => old.into(),
        Line::Cost(old) => old.into(),
        Line::Resources(old) => old.into(),
        Line::Load(old) => old.into(),
    })
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Record(Record),
    Laboratory(Laboratory),
    Cost(Cost),
    Resources(Resources),
    Load(Load),
}

/// A measurement of the reduction laboratory.
#[derive(Deserialize)]
struct Laboratory {
    step: String,
    engine: String,
    device: String,
    method: String,
    modulus: u32,
    len: usize,
    batch: usize,
    threads: usize,
    clock: String,
    /// The time of the whole launch.
    median_ns: f64,
    spread: f64,
    samples: usize,
    bytes: u64,
    commit: String,
    date: String,
}

impl From<Laboratory> for Record {
    fn from(old: Laboratory) -> Self {
        let alone = old.engine == "gpu" && old.clock == "host";
        let bench = match old.step.as_str() {
            "product" if alone => kind::CYCLIC_ALONE.to_owned(),
            "product" => kind::CYCLIC.to_owned(),
            _ => old.step,
        };
        let statistics =
            Statistics { median: old.median_ns, spread: old.spread, samples: old.samples };
        let record = Self {
            bench,
            engine: old.engine,
            device: old.device,
            op: old.method,
            batch: old.batch,
            transfers: "none".to_owned(),
            threads: old.threads,
            ..Self::default()
        };
        let record = record.timed(statistics, old.batch as f64).with_figures([
            (figure::MODULUS, f64::from(old.modulus)),
            (figure::LEN, old.len as f64),
            (figure::BYTES, old.bytes as f64),
        ]);
        Self { commit: old.commit, date: old.date, ..record }
    }
}

#[derive(Deserialize)]
struct Cost {
    set: String,
    op: String,
    keys: KeyUse,
    batch: usize,
    uploaded: f64,
    downloaded: f64,
    permutations: f64,
    byte_products: f64,
    memory_bytes: f64,
}

impl From<Cost> for Record {
    fn from(old: Cost) -> Self {
        let record = Self {
            bench: kind::COST.to_owned(),
            set: old.set,
            op: old.op,
            keys: old.keys,
            batch: old.batch,
            ..Self::default()
        };
        record.with_figures([
            (figure::UPLOADED, old.uploaded),
            (figure::DOWNLOADED, old.downloaded),
            (figure::PERMUTATIONS, old.permutations),
            (figure::BYTE_PRODUCTS, old.byte_products),
            (figure::MEMORY_BYTES, old.memory_bytes),
        ])
    }
}

#[derive(Deserialize)]
struct Resources {
    set: String,
    kernel: String,
    registers: u32,
    local_bytes: u32,
    shared_bytes: u32,
    threads: usize,
    blocks: u32,
}

impl From<Resources> for Record {
    fn from(old: Resources) -> Self {
        let record = Self {
            bench: kind::RESOURCES.to_owned(),
            set: old.set,
            op: old.kernel,
            threads: old.threads,
            ..Self::default()
        };
        record.with_figures([
            (figure::REGISTERS, f64::from(old.registers)),
            (figure::LOCAL_BYTES, f64::from(old.local_bytes)),
            (figure::SHARED_BYTES, f64::from(old.shared_bytes)),
            (figure::BLOCKS, f64::from(old.blocks)),
        ])
    }
}

#[derive(Deserialize)]
struct Load {
    set: String,
    op: String,
    device_bytes: f64,
    pinned_bytes: f64,
    watts: Vec<f64>,
}

impl From<Load> for Record {
    fn from(old: Load) -> Self {
        let record =
            Self { bench: kind::LOAD.to_owned(), set: old.set, op: old.op, ..Self::default() };
        record
            .with_figures([
                (figure::DEVICE_BYTES, old.device_bytes),
                (figure::PINNED_BYTES, old.pinned_bytes),
            ])
            .with_figures(watts(old.watts))
    }
}
