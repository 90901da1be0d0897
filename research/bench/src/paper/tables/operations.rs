//! The tables of the engine: table 7, rates with and without transfers, and latencies.

use std::io::Write;

use ctru_measure::{KeyUse, Operation, Record, table};

use super::{batch_us, digits, fixed, mega, ratio, section};
use crate::error::Error;
use crate::records::{Records, distinct, kind};
use crate::references;
use crate::sources;

/// The largest batch that counts as small. For small batches, the time matters, not the rate.
const SMALL: usize = 1024;

/// Returns the batches on GPUs.
fn batches(records: &Records) -> impl Iterator<Item = &Record> {
    records.of_kind(kind::BATCH).filter(|record| record.engine == "gpu")
}

/// Returns the measurement of the largest batch of an operation, if it is not small.
pub(super) fn rate<'a>(
    records: &'a Records,
    set: &str,
    operation: Operation,
    keys: KeyUse,
) -> Option<&'a Record> {
    let large = records.of(kind::BATCH, set, operation, keys);
    let large = large.filter(|record| record.engine == "gpu" && record.batch > SMALL);
    large.max_by_key(|record| record.batch)
}

/// Returns our thousands of operations per second on a GPU, each with its own key.
fn kilo_on_gpu(records: &Records, set: &str, op: &str) -> Option<f64> {
    let operation = Operation::ALL.into_iter().find(|operation| operation.name() == op)?;
    rate(records, set, operation, KeyUse::Each).map(|record| record.ops_per_s / 1e3)
}

/// Writes table 7: the paper's rates beside ours.
pub(super) fn table_7(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let header =
        ["n", "op", "paper C", "our CPU", "ratio CPU", "paper GPU", "our GPU", "ratio GPU"];
    let mut table = table::markdown(header, 2..8);
    for paper in &sources::paper().table_7.ctru_prime {
        let on_cpu = records.of_kind(kind::SINGLE).find(|record| {
            let is_it = record.set == paper.set && record.op == paper.op;
            is_it && record.engine == "cpu"
        });
        let on_cpu = on_cpu.map(|record| record.ops_per_s / 1e3);
        let on_gpu = kilo_on_gpu(records, &paper.set, &paper.op);
        table.add_row([
            paper.set.clone(),
            paper.op.clone(),
            fixed(paper.c, 3),
            digits(on_cpu),
            ratio(on_cpu, Some(paper.c)),
            fixed(paper.gpu, 3),
            digits(on_gpu),
            ratio(on_gpu, Some(paper.gpu)),
        ]);
    }
    section(
        "Table 7: 1000 operations per second. CPU: one core, one operation per call. GPU: \
         transfers included; ours with one key per operation, the largest batch; ratio: ours / \
         paper",
        &table,
        out,
    )
}

/// Writes the other schemes of table 7.
pub(super) fn others(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    /// The parameter set whose security is similar.
    const SET: &str = "761";
    let mut table = table::markdown(["scheme", "GPU", "op", "paper", "ours", "ratio"], 3..6);
    for other in &sources::paper().table_7.others {
        let ours = kilo_on_gpu(records, SET, &other.op);
        table.add_row([
            other.scheme.clone(),
            other.gpu.clone(),
            other.op.clone(),
            fixed(other.rate, 0),
            digits(ours),
            ratio(ours, Some(other.rate)),
        ]);
    }
    section(
        &format!(
            "Table 7, other schemes: 1000 operations per second, as the paper quotes them; ours: \
             CTRU-Prime, n = {SET}, on our GPU; ratio: ours / quoted"
        ),
        &table,
        out,
    )
}

/// Writes our rates of operations by use of keys, beside those of peers.
pub(super) fn rates(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let header = [
        "n",
        "op",
        "batch",
        "a key each",
        "one key",
        "loaded keys",
        "private keys alone",
        "authors, H200",
        "CUDA-PQC, H200",
    ];
    let mut table = table::markdown(header, 2..9);
    for set in distinct(batches(records).map(|record| record.set.clone())) {
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
                mega(known.as_ref().map(|known| known.authors)),
                mega(known.as_ref().and_then(|known| known.peer)),
            ]);
        }
    }
    section(
        "M operations per second by use of keys, transfers from and to pinned memory included",
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
    section("M operations per second on the device, without transfers", &table, out)
}

/// Writes the latencies of small batches.
pub(super) fn latencies(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let small = || batches(records).filter(|record| record.batch <= SMALL);
    let sizes = distinct(small().map(|record| record.batch));
    let names = sizes.iter().map(|batch| format!("us of {batch}"));
    let header: Vec<String> =
        ["n", "op", "keys"].map(str::to_owned).into_iter().chain(names).collect();
    let mut table = table::markdown(header, 3..3 + sizes.len());
    for (set, op, keys) in distinct(small().map(|r| (r.set.as_str(), r.op.as_str(), r.keys))) {
        let time = |&batch: &usize| {
            let found = small().find(|r| {
                (r.set.as_str(), r.op.as_str(), r.keys, r.batch) == (set, op, keys, batch)
            });
            digits(found.map(batch_us))
        };
        let cells = [set, op, keys.name()].map(str::to_owned);
        table.add_row(cells.into_iter().chain(sizes.iter().map(time)).collect::<Vec<_>>());
    }
    section(
        "Latency of small batches: us from the call to the result, transfers included",
        &table,
        out,
    )
}
