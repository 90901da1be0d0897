//! Draws rates and times of batches of all sizes.

use ctru_measure::chart::{Axis, Chart, Colour, Line, Scale};
use ctru_measure::{HostMemory, KeyUse, Operation, Record};

use crate::records::{Records, kind};

/// The parameter set of the pictures of batches.
pub(super) const SET: &str = "761";

/// The lines: an operation, its keys, its name and its colour.
pub(super) const LINES: [(Operation, KeyUse, &str, Colour); 6] = [
    (Operation::Keygen, KeyUse::Each, "keygen", Colour::Green),
    (Operation::Keygen, KeyUse::Private, "keygen, private", Colour::Sky),
    (Operation::Encaps, KeyUse::Each, "encaps, key each", Colour::Blue),
    (Operation::Encaps, KeyUse::One, "encaps, one key", Colour::Purple),
    (Operation::Decaps, KeyUse::Each, "decaps, key each", Colour::Vermillion),
    (Operation::Decaps, KeyUse::One, "decaps, one key", Colour::Orange),
];

/// Makes a chart for each kind of memory, with one line per operation.
fn charts(records: &Records, title: &str, unit: &str, value: fn(&Record) -> f64) -> Vec<Chart> {
    let chart = |memory: HostMemory| {
        let line = |(operation, keys, name, colour): (Operation, KeyUse, &str, Colour)| {
            let is_wanted = |record: &&Record| {
                record.engine == "gpu" && record.transfers == memory.name() && record.callers == 1
            };
            let mut of_memory: Vec<&Record> =
                records.of(kind::BATCH, SET, operation, keys).filter(is_wanted).collect();
            // The sort is stable. The second measurement of a batch belongs to another series.
            of_memory.sort_by_key(|record| record.batch);
            of_memory.dedup_by_key(|record| record.batch);
            let point = |record: &Record| (record.batch as f64, value(record));
            let points = of_memory.into_iter().map(point).collect();
            Line { name: name.to_owned(), colour, dashed: false, points }
        };
        Chart {
            title: format!(
                "{title}, {}\nn = 761, one NVIDIA H200, one caller, transfers included",
                memory.name()
            ),
            x: Axis { label: "operations per batch".to_owned(), scale: Scale::Log },
            y: Axis { label: unit.to_owned(), scale: Scale::Log },
            lines: LINES.map(line).into_iter().filter(|line| !line.points.is_empty()).collect(),
            ..Chart::default()
        }
    };
    [HostMemory::Pinned, HostMemory::Pageable].map(chart).into()
}

/// Draws operations per second against the size of the batch.
pub(super) fn rates(records: &Records) -> Vec<Chart> {
    charts(records, "Rates", "operations per second", |record| record.ops_per_s)
}

/// Draws the time of a call against the size of the batch.
pub(super) fn times(records: &Records) -> Vec<Chart> {
    let time = |record: &Record| record.median_ns_per_op * record.batch as f64 / 1e3;
    charts(records, "Times of batches", "microseconds per batch", time)
}
