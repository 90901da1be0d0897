//! Collects the measurements that `ctru report` can draw beside those of its reader: a part of the
//! records, and known results of others as records.

use std::path::Path;

use ctru_measure::{Operation, Record};

use crate::error::Error;
use crate::records::{Records, kind, method};
use crate::references;
use crate::sources::{self, TensorProducts};

/// Returns the measurements as lines of JSON.
pub(super) fn lines(folder: &Path) -> Result<String, Error> {
    let mut lines = Vec::new();
    for record in ours(folder)?.iter().chain(&known()) {
        record.write_line(&mut lines)?;
    }
    Ok(String::from_utf8(lines).expect("JSON is text"))
}

/// Returns the measurements of this project that the figures show.
fn ours(folder: &Path) -> Result<Vec<Record>, Error> {
    let paper_set = &sources::paper().table_4.set;
    let mut chosen = Vec::new();
    let mut choose = |file: &str, wanted: &dyn Fn(&Record) -> bool| -> Result<(), Error> {
        let records = Records::read(&[folder.join(file)])?;
        let before = chosen.len();
        chosen.extend(records.0.into_iter().filter(wanted));
        if chosen.len() == before {
            return Err(Error::missing(&folder.join(file), "published.jsonl"));
        }
        Ok(())
    };
    choose("zen5/1-thread.jsonl", &|_| true)?;
    choose("zen5/peers.jsonl", &|record| {
        record.bench == kind::SINGLE && record.pk_encoding != "packed13"
    })?;
    choose("h200/batches.jsonl", &|record| {
        record.transfers != "pageable host memory" && record.callers == 1
    })?;
    choose("h200/paper.jsonl", &|record| match record.bench.as_str() {
        // h200/batches.jsonl has more batches of 761.
        kind::BATCH => record.set != "761",
        kind::PRODUCTS_ALONE | kind::AFTER_PRODUCT => record.set == *paper_set,
        _ => false,
    })?;
    Ok(chosen)
}

/// Returns the known results as records. The field `engine` says whose results they are. The number
/// of operations per batch is 0 if it is not known, and so is the number of repetitions.
fn known() -> Vec<Record> {
    let mut records = authors_and_peer();
    records.extend(paper_rates());
    records.extend(paper_kernels());
    records
}

/// Returns a record of a known rate in operations per second.
fn rate(bench: &str, [engine, device]: [&str; 2], [set, op]: [&str; 2], per_second: f64) -> Record {
    Record {
        bench: bench.to_owned(),
        engine: engine.to_owned(),
        device: device.to_owned(),
        set: set.to_owned(),
        op: op.to_owned(),
        callers: 1,
        ops_per_s: per_second,
        median_ns_per_op: 1e9 / per_second,
        ..Record::default()
    }
}

/// Returns the rates of the authors' code and of the best peer that we measured on an H200.
fn authors_and_peer() -> Vec<Record> {
    let mut records = Vec::new();
    for set in ["653", "761", "1277"] {
        for operation in Operation::ALL {
            let Some(known) = references::operations(set, operation) else { continue };
            let of = |engine: &str, set: &str, per_second| {
                let names = [set, operation.name()];
                let record = rate(kind::BATCH, [engine, "NVIDIA H200"], names, per_second);
                Record { backend: "cuda".to_owned(), ..record }
            };
            records.push(of("authors' code", set, known.authors));
            records.extend(known.peer.map(|peer| of("CUDA-PQC", "ML-KEM-768", peer)));
        }
    }
    records
}

/// Returns the rates of the paper's table 7.
fn paper_rates() -> Vec<Record> {
    let paper = sources::paper();
    let mut records = Vec::new();
    let mut push = |engine: &str, device: &str, set: &str, op: &str, thousands: f64| {
        records.push(rate(kind::BATCH, [engine, device], [set, op], thousands * 1e3));
    };
    for row in &paper.table_7.ctru_prime {
        push("paper, C code", &paper.setting.cpu, &row.set, &row.op, row.c);
        push("paper", &paper.setting.gpu, &row.set, &row.op, row.gpu);
    }
    for row in &paper.table_7.others {
        push("quoted by the paper", &row.gpu, &row.scheme, &row.op, row.rate);
    }
    records
}

/// Returns the times of the paper's tables 4 and 5.
fn paper_kernels() -> Vec<Record> {
    let paper = sources::paper();
    let of = |bench: &str, set: &str, method: &str, batch: usize, us: f64| {
        let names = ["paper", paper.setting.gpu.as_str()];
        Record { batch, ..rate(bench, names, [set, method], batch as f64 * 1e6 / us) }
    };
    let table_4 = &paper.table_4;
    let methods: [(_, &[TensorProducts]); 2] =
        [(method::SCHOOLBOOK, &table_4.general), (method::ONE_KEY, &table_4.same_key)];
    let products = methods.into_iter().flat_map(|(method, rows)| {
        rows.iter().map(move |row| {
            of(kind::PRODUCTS_ALONE, &table_4.set, method, row.batch, row.total_us())
        })
    });
    let table_5 = &paper.table_5;
    let fusion = table_5.rows.iter().flat_map(|row| {
        let times = [(method::FUSED, row.fused_us), (method::UNFUSED, row.unfused_us)];
        times.map(|(method, us)| of(kind::AFTER_PRODUCT, &table_5.set, method, row.batch, us))
    });
    products.chain(fusion).collect()
}
