//! Table 7, the second half of table 6, and latencies: the engine, transfers included.

use std::io::Write;

use super::{OPERATIONS, batch_us, digits, mega, section};
use crate::error::Error;
use crate::info::new_table;
use crate::paper::line::{BATCH, Lines, ON_DEVICE, distinct};
use crate::paper::references;
use crate::record::{KeyUse, Operation, Record};

/// Batches up to this one are small: their time matters, not their rate.
const SMALL: usize = 1024;

/// The sets of which batches were measured.
fn sets(lines: &Lines) -> Vec<String> {
    distinct(lines.times(BATCH).map(|record| record.set.clone()))
}

/// The rate of the largest batch.
pub(super) fn rate<'a>(
    lines: &'a Lines,
    set: &str,
    operation: Operation,
    keys: KeyUse,
) -> Option<&'a Record> {
    let large = lines.of(BATCH, set, operation, keys).filter(|record| record.batch > SMALL);
    large.max_by_key(|record| record.batch)
}

/// Table 7.
pub(super) fn rates(lines: &Lines, out: &mut dyn Write) -> Result<(), Error> {
    let header = [
        "n",
        "op",
        "batch",
        "a key each",
        "one key",
        "loaded keys",
        "private keys alone",
        "paper, RTX 3060 Ti",
        "authors, H200",
        "CUDA-PQC, H200",
    ];
    let mut table = new_table(header, 2..10);
    for set in sets(lines) {
        for operation in OPERATIONS {
            let known = references::operations(&set, operation);
            let Some(each) = rate(lines, &set, operation, KeyUse::Each) else { continue };
            let of = |keys| mega(rate(lines, &set, operation, keys).map(|record| record.ops_per_s));
            table.add_row([
                set.clone(),
                operation.name().to_owned(),
                each.batch.to_string(),
                of(KeyUse::Each),
                of(KeyUse::One),
                of(KeyUse::Resident),
                of(KeyUse::Private),
                mega(known.as_ref().map(|known| known.paper)),
                mega(known.as_ref().map(|known| known.authors)),
                mega(known.as_ref().and_then(|known| known.peer)),
            ]);
        }
    }
    section(
        "Table 7: M operations a second, transfers from and to pinned memory included",
        &table,
        out,
    )
}

/// Table 7 without transfers.
pub(super) fn on_device(lines: &Lines, out: &mut dyn Write) -> Result<(), Error> {
    let header =
        ["n", "op", "a key each", "one key", "loaded keys", "authors, H200", "CUDA-PQC, H200"];
    let mut table = new_table(header, 2..7);
    for set in distinct(lines.times(ON_DEVICE).map(|record| record.set.clone())) {
        for operation in OPERATIONS {
            let rate = |keys| {
                lines.of(ON_DEVICE, &set, operation, keys).next().map(|record| record.ops_per_s)
            };
            let Some(each) = rate(KeyUse::Each) else { continue };
            let known = references::operations(&set, operation);
            table.add_row([
                set.clone(),
                operation.name().to_owned(),
                mega(Some(each)),
                mega(rate(KeyUse::One)),
                mega(rate(KeyUse::Resident)),
                mega(known.as_ref().map(|known| known.authors_on_device)),
                mega(known.as_ref().and_then(|known| known.peer_on_device)),
            ]);
        }
    }
    section(
        "M operations a second on the device, no transfers, chunks one after the other",
        &table,
        out,
    )
}

/// Small batches.
pub(super) fn latencies(lines: &Lines, out: &mut dyn Write) -> Result<(), Error> {
    let small = || lines.times(BATCH).filter(|record| record.batch <= SMALL);
    let batches = distinct(small().map(|record| record.batch));
    let names = batches.iter().map(|batch| format!("us of {batch}"));
    let header: Vec<String> =
        ["n", "op", "keys"].map(str::to_owned).into_iter().chain(names).collect();
    let mut table = new_table(header, 3..3 + batches.len());
    for (set, op, keys) in distinct(small().map(|r| (r.set.as_str(), r.op.as_str(), r.keys))) {
        let time = |&batch: &usize| {
            let found = small().find(|r| {
                (r.set.as_str(), r.op.as_str(), r.keys, r.batch) == (set, op, keys, batch)
            });
            digits(found.map(batch_us))
        };
        let cells = [set, op, keys.name()].map(str::to_owned);
        table.add_row(cells.into_iter().chain(batches.iter().map(time)).collect::<Vec<_>>());
    }
    section(
        "Latency: us from the call to the result of small batches, transfers included",
        &table,
        out,
    )
}

/// The second half of table 6: power and memory of the engine.
pub(super) fn loads(lines: &Lines, out: &mut dyn Write) -> Result<(), Error> {
    let mut table =
        new_table(["n", "op", "W, median", "W, most", "device MiB", "pinned MiB"], 2..6);
    let mebibytes = |bytes: usize| (bytes >> 20).to_string();
    for load in lines.loads() {
        let mut watts = load.watts.clone();
        watts.sort_by(f64::total_cmp);
        let watt = |value: Option<&f64>| {
            value.map_or_else(|| "no nvidia-smi".to_owned(), |w| format!("{w:.0}"))
        };
        table.add_row([
            load.set.clone(),
            load.op.clone(),
            watt(watts.get(watts.len() / 2)),
            watt(watts.last()),
            mebibytes(load.device_bytes),
            mebibytes(load.pinned_bytes),
        ]);
    }
    if table.row_count() > 0 {
        let (least, most) = references::WATTS;
        let power = format!("{least} to {most}");
        table.add_row(["", "authors, H200", &power, "", "", ""]);
    }
    section("Table 6: power and memory of the engine at work, a key each", &table, out)
}
