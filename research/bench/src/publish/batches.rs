//! Draws rates and times of batches of all sizes.

use ctru_measure::{HostMemory, KeyUse, Operation, Record};

use super::chart::{self, Axis, Layout, Line, Panel};
use super::palette;
use crate::records::{Records, kind};

/// The parameter set of the pictures of batches.
pub(super) const SET: &str = "761";

/// The lines: an operation, its keys, its name and its colour.
pub(super) const LINES: [(Operation, KeyUse, &str, &str); 6] = [
    (Operation::Keygen, KeyUse::Each, "keygen", palette::GREEN),
    (Operation::Keygen, KeyUse::Private, "keygen, private", palette::SKY),
    (Operation::Encaps, KeyUse::Each, "encaps, key per op", palette::BLUE),
    (Operation::Encaps, KeyUse::One, "encaps, one key", palette::PURPLE),
    (Operation::Decaps, KeyUse::Each, "decaps, key per op", palette::VERMILLION),
    (Operation::Decaps, KeyUse::One, "decaps, one key", palette::ORANGE),
];

/// Draws a panel for each kind of memory, with one line per operation. Returns `None` if the
/// records have no batches in one of them.
fn draw(
    records: &Records,
    title: &str,
    unit: &str,
    y: &Axis,
    value: fn(&Record) -> f64,
) -> Option<String> {
    let x = Axis::logarithmic("operations per batch", &[1.0, 32.0, 1024.0, 32768.0, 1048576.0]);
    let panel = |memory: HostMemory| {
        let line = |(operation, keys, name, colour): (Operation, KeyUse, &str, &'static str)| {
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
            Line { name: name.to_owned(), colour, known: false, points }
        };
        let lines = LINES.map(line).into_iter().filter(|line| !line.points.is_empty()).collect();
        Panel { title: format!("{}, {unit}", memory.name()), x: x.clone(), y: y.clone(), lines }
    };
    let panels = [HostMemory::Pinned, HostMemory::Pageable].map(panel);
    let caption = [
        "n = 761, one NVIDIA H200, transfers included, one caller. Pinned: memory that the engine \
         has pinned. Pageable: other memory, which the host copies.",
    ];
    let layout = Layout { width: 440.0, height: 320.0, names: 130.0 };
    let has_lines = panels.iter().all(|panel| !panel.lines.is_empty());
    has_lines.then(|| chart::draw(title, &panels, layout, &caption))
}

/// Draws operations per second against the size of the batch.
pub(super) fn rates(records: &Records) -> Option<String> {
    let y = Axis::logarithmic("", &[0.006, 0.06, 0.6, 6.0, 60.0]);
    let rate = |record: &Record| record.ops_per_s / 1e6;
    draw(records, "Rates of batches", "million operations per second", &y, rate)
}

/// Draws the time of a call against the size of the batch.
pub(super) fn times(records: &Records) -> Option<String> {
    let y = Axis::logarithmic("", &[0.03, 0.1, 1.0, 10.0, 100.0]);
    let time = |record: &Record| record.median_ns_per_op * record.batch as f64 / 1e6;
    draw(records, "Times of batches", "milliseconds per batch", &y, time)
}
