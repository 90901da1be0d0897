//! The tables of the engine: table 7, the second half of table 6, and latencies.

use std::io::Write;

use ctru_measure::{KeyUse, Operation, Record, table};

use super::{batch_us, digits, mega, section};
use crate::error::Error;
use crate::records::{Records, distinct, figure, kind};
use crate::references;

/// The largest batch that counts as small. For small batches, the time matters, not the rate.
const SMALL: usize = 1024;

/// Returns the parameter sets whose batches were measured.
fn sets(records: &Records) -> Vec<String> {
    distinct(records.of_kind(kind::BATCH).map(|record| record.set.clone()))
}

/// Returns the measurement of the largest batch of an operation, if it is not small.
pub(super) fn rate<'a>(
    records: &'a Records,
    set: &str,
    operation: Operation,
    keys: KeyUse,
) -> Option<&'a Record> {
    let large = records.of(kind::BATCH, set, operation, keys).filter(|record| record.batch > SMALL);
    large.max_by_key(|record| record.batch)
}

/// Writes table 7: the rates of operations, transfers included.
pub(super) fn rates(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
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
    let mut table = table::markdown(header, 2..10);
    for set in sets(records) {
        for operation in Operation::ALL {
            let known = references::operations(&set, operation);
            let Some(each) = rate(records, &set, operation, KeyUse::Each) else { continue };
            let of =
                |keys| mega(rate(records, &set, operation, keys).map(|record| record.ops_per_s));
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
        "Table 7: M operations per second, transfers from and to pinned memory included",
        &table,
        out,
    )
}

/// Writes the rates of operations without transfers.
pub(super) fn on_device(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let header =
        ["n", "op", "a key each", "one key", "loaded keys", "authors, H200", "CUDA-PQC, H200"];
    let mut table = table::markdown(header, 2..7);
    for set in distinct(records.of_kind(kind::ON_DEVICE).map(|record| record.set.clone())) {
        for operation in Operation::ALL {
            let rate = |keys| {
                records
                    .of(kind::ON_DEVICE, &set, operation, keys)
                    .next()
                    .map(|record| record.ops_per_s)
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
        "M operations per second on the device without transfers, chunks one after the other",
        &table,
        out,
    )
}

/// Writes the latencies of small batches.
pub(super) fn latencies(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let small = || records.of_kind(kind::BATCH).filter(|record| record.batch <= SMALL);
    let batches = distinct(small().map(|record| record.batch));
    let names = batches.iter().map(|batch| format!("us of {batch}"));
    let header: Vec<String> =
        ["n", "op", "keys"].map(str::to_owned).into_iter().chain(names).collect();
    let mut table = table::markdown(header, 3..3 + batches.len());
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
        "Latency of small batches: us from the call to the result, transfers included",
        &table,
        out,
    )
}

/// Writes the second half of table 6: power and memory of the engine.
pub(super) fn loads(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let mut table =
        table::markdown(["n", "op", "W, median", "W, most", "device MiB", "pinned MiB"], 2..6);
    let mebibytes = |bytes: Option<f64>| format!("{:.0}", bytes.unwrap_or_default() / 1048576.0);
    let watt = |value: Option<f64>| {
        value.map_or_else(|| "no nvidia-smi".to_owned(), |watts| format!("{watts:.0}"))
    };
    for load in records.of_kind(kind::LOAD) {
        table.add_row([
            load.set.clone(),
            load.op.clone(),
            watt(load.figure(figure::WATTS)),
            watt(load.figure(figure::MOST_WATTS)),
            mebibytes(load.figure(figure::DEVICE_BYTES)),
            mebibytes(load.figure(figure::PINNED_BYTES)),
        ]);
    }
    if table.row_count() > 0 {
        let (least, most) = references::WATTS;
        let power = format!("{least} to {most}");
        table.add_row(["", "authors, H200", &power, "", "", ""]);
    }
    section(
        "Table 6: power and memory of the engine under load, each operation with its own key",
        &table,
        out,
    )
}
