//! The products of polynomials on data on the device: rates and latencies by batch, known rates of
//! the authors' code, and the paper's table 4.

use std::io::Write;

use ctru_measure::{Record, table};

use super::{batch_us, digits, fixed, mega, ratio, section};
use crate::error::Error;
use crate::records::{Records, distinct, kind, method};
use crate::references;
use crate::sources::{self, TensorProducts};

/// Returns the microseconds of a launch of products, measured in a row.
pub(super) fn launch_us(records: &Records, set: &str, method: &str, batch: usize) -> Option<f64> {
    let mut products = records.of_kind(kind::PRODUCTS);
    let found = products.find(|r| (r.set.as_str(), r.op.as_str(), r.batch) == (set, method, batch));
    found.map(batch_us)
}

/// Returns how many times as fast as the paper's product in C our launch of `batch` products is.
pub(super) fn factor(records: &Records, set: &str, method: &str, batch: usize) -> Option<f64> {
    sources::paper().factor(set, batch, launch_us(records, set, method, batch)?)
}

/// Writes our rates and latencies by batch, and the rates of the authors' code beside ours.
pub(super) fn measured(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    for set in distinct(records.of_kind(kind::PRODUCTS).map(|record| record.set.as_str())) {
        let rate = |record: &Record| record.ops_per_s / 1e6;
        let title = format!("Products, n = {set}: M per second by batch, launches in a row");
        by_batch(records, kind::PRODUCTS, set, &title, rate, out)?;
        let title = format!("Products, n = {set}: us of a launch alone by batch");
        by_batch(records, kind::PRODUCTS_ALONE, set, &title, batch_us, out)?;
        known(records, set, out)?;
    }
    Ok(())
}

/// Writes one value of our products: one row per batch, one column per method.
fn by_batch(
    records: &Records,
    kind: &str,
    set: &str,
    title: &str,
    value: fn(&Record) -> f64,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let of_set: Vec<&Record> = records.of_kind(kind).filter(|record| record.set == set).collect();
    let methods = distinct(of_set.iter().map(|record| record.op.as_str()));
    let mut batches = distinct(of_set.iter().map(|record| record.batch));
    batches.sort_unstable();
    let header: Vec<&str> = std::iter::once("batch").chain(methods.iter().copied()).collect();
    let mut table = table::markdown(header, 0..methods.len() + 1);
    for batch in batches {
        let cell = |method: &&str| {
            let found = of_set.iter().find(|r| r.op == *method && r.batch == batch);
            digits(found.map(|record| value(record)))
        };
        table.add_row(std::iter::once(batch.to_string()).chain(methods.iter().map(cell)));
    }
    section(title, &table, out)
}

/// Writes the rates of the authors' code. Each rate has its own row, which names its batch.
fn known(records: &Records, set: &str, out: &mut dyn Write) -> Result<(), Error> {
    let header = ["who", "method", "batch", "M per second", "ours", "ratio"];
    let mut table = table::markdown(header, 2..6);
    for known in references::authors_products(set) {
        let of_method = records.of_kind(kind::PRODUCTS);
        let ours = of_method
            .filter(|record| record.set == set && record.op == known.method)
            .filter(|record| known.batch.is_none_or(|batch| batch == record.batch))
            .map(|record| record.ops_per_s)
            .max_by(f64::total_cmp);
        table.add_row([
            format!("{}, H200", known.author),
            known.method.to_owned(),
            known.batch.map_or_else(|| "not known".to_owned(), |batch| batch.to_string()),
            mega(Some(known.per_second)),
            mega(ours),
            ratio(ours, Some(known.per_second)),
        ]);
    }
    section(
        &format!(
            "Products of the authors' code on an H200, n = {set}; ours: the same method and batch, \
             or our best batch if theirs is not known; ratio: ours / theirs"
        ),
        &table,
        out,
    )
}

/// Writes table 4: the paper's products beside ours.
pub(super) fn table_4(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let paper = &sources::paper().table_4;
    let set = &paper.set;
    let (general, same) = (&paper.general, &paper.same_key);
    tensor_products(records, "general product", method::SCHOOLBOOK, general, out)?;
    tensor_products(records, "same key", method::ONE_KEY, same, out)?;

    let rate = &paper.same_key_rate;
    let operations = set.parse::<f64>().ok().map(|n| 4.0 * n * n * rate.batch as f64);
    let us = launch_us(records, set, method::ONE_KEY, rate.batch);
    let ours = operations.zip(us).map(|(operations, us)| operations / us / 1e6);
    let mut table = table::markdown(["batch", "paper TOPS", "our TOPS", "ratio"], 0..4);
    table.add_row([
        rate.batch.to_string(),
        fixed(rate.tops, 1),
        digits(ours),
        ratio(ours, Some(rate.tops)),
    ]);
    section(
        &format!(
            "Table 4, n = {set}, same key: 10^12 operations per second. Ours counts 4 n^2 per \
             product: a multiplication and an addition for each pair of coefficients and each of \
             two bytes. How the paper counts is not known. Ratio: ours / paper"
        ),
        &table,
        out,
    )?;

    let header = ["batch", "paper x", "our NTT x", "ratio", "our polyphase x", "ratio polyphase"];
    let mut table = table::markdown(header, 0..6);
    for row in &paper.cuda_cores {
        let [ntt, polyphase] =
            [method::NTT, method::POLYPHASE].map(|of| factor(records, set, of, row.batch));
        table.add_row([
            row.batch.to_string(),
            fixed(row.factor, 2),
            digits(ntt),
            ratio(ntt, Some(row.factor)),
            digits(polyphase),
            ratio(polyphase, Some(row.factor)),
        ]);
    }
    section(
        &format!(
            "Table 4, n = {set}, CUDA cores: x, the factor against the paper's product in C, and \
             that of our product on tensor cores; ratio: ours / paper"
        ),
        &table,
        out,
    )
}

/// Writes one half of table 4: the paper's four kernels, and our single kernel by the same method.
fn tensor_products(
    records: &Records,
    name: &str,
    method: &str,
    rows: &[TensorProducts],
    out: &mut dyn Write,
) -> Result<(), Error> {
    let set = &sources::paper().table_4.set;
    let header = [
        "batch", "initMA", "initMB", "Twmma", "Merge", "paper us", "our us", "ratio", "paper x",
        "our x", "ratio x",
    ];
    let mut table = table::markdown(header, 0..11);
    for row in rows {
        let us = launch_us(records, set, method, row.batch);
        let factor = factor(records, set, method, row.batch);
        let kernels = row.us.map(|us| fixed(us, 2));
        table.add_row(std::iter::once(row.batch.to_string()).chain(kernels).chain([
            fixed(row.total_us(), 2),
            digits(us),
            ratio(Some(row.total_us()), us),
            fixed(row.factor, 2),
            digits(factor),
            ratio(factor, Some(row.factor)),
        ]));
    }
    section(
        &format!(
            "Table 4, n = {set}, {name} on tensor cores: us of the paper's four kernels and of \
             their sum, and of our one kernel ({method}), launches in a row; x: factor against the \
             paper's product in C; ratio: paper / ours in us, ours / paper in x; above 1, ours is \
             faster"
        ),
        &table,
        out,
    )
}
