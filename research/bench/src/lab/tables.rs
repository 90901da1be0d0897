//! Formats the tables of the reduction laboratory.

use std::collections::BTreeMap;
use std::io::Write;

use ctru_measure::{Record, table};
use research_reductions::chain::LENGTH;

use super::{Bench, ELEMENTS};
use crate::error::Error;
use crate::records::{Records, distinct, figure, kind};

/// A table. A cell shows the best value of the records that belong to its row and its column. Rows
/// and columns have the order in which the records first name them.
struct Pivot {
    title: &'static str,
    row: fn(&Record) -> String,
    column: fn(&Record) -> String,
    value: fn(&Record) -> f64,
    best: fn(f64, f64) -> f64,
}

/// Returns the modulus of a measurement, or 0.
pub(crate) fn modulus(record: &Record) -> f64 {
    record.figure(figure::MODULUS).unwrap_or_default()
}

/// Returns the number of elements or coefficients of a measurement.
pub(crate) fn len(record: &Record) -> usize {
    record.figure(figure::LEN).unwrap_or_default() as usize
}

/// Returns the modular products of a chain in units of 10^9 per second.
pub(crate) fn giga_products(record: &Record) -> f64 {
    (len(record) * LENGTH) as f64 * record.ops_per_s / 1e9
}

fn microseconds(record: &Record) -> f64 {
    record.median_ns_per_op / 1000.0
}

/// Returns the rate at which a launch reads and writes arrays.
fn gigabytes_per_second(record: &Record) -> f64 {
    let bytes = record.figure(figure::BYTES).unwrap_or_default();
    bytes / (record.median_ns_per_op * record.batch as f64)
}

const BY_MODULUS: Pivot = Pivot {
    title: "10^9 products per second by modulus, with the best number of threads per block",
    row: |record| record.op.clone(),
    column: |record| modulus(record).to_string(),
    value: giga_products,
    best: f64::max,
};

const BY_THREADS: Pivot = Pivot {
    title: "10^9 products per second by threads per block, modulo 268369921",
    column: |record| record.threads.to_string(),
    ..BY_MODULUS
};

const RATES: Pivot = Pivot {
    title: "Copies: GB/s, read and written, by numbers copied, with the best number of threads",
    row: |record| record.op.clone(),
    column: |record| format!("{} x{}", len(record), record.batch),
    value: gigabytes_per_second,
    best: f64::max,
};

/// Returns the method and the modulus of a chain whose launches Nsight Compute has counted. The
/// name of its kernel is `chain_METHOD_MODULUS`.
fn counted_chain(record: &Record) -> Option<(&str, &str)> {
    record.op.strip_prefix("chain_")?.rsplit_once('_')
}

const INSTRUCTIONS: Pivot = Pivot {
    title: "Instructions that a thread executes per product, by modulus, as Nsight Compute counts",
    row: |record| counted_chain(record).unwrap_or_default().0.to_owned(),
    column: |record| counted_chain(record).unwrap_or_default().1.to_owned(),
    value: |record| {
        let executed = record.figure(figure::THREAD_INSTRUCTIONS).unwrap_or_default();
        executed / (ELEMENTS * LENGTH) as f64
    },
    best: f64::min,
};

const WARP_INSTRUCTIONS: Pivot = Pivot {
    title: "Instructions that warps execute in one launch, by modulus, as Nsight Compute counts",
    value: |record| record.figure(figure::WARP_INSTRUCTIONS).unwrap_or_default(),
    ..INSTRUCTIONS
};

const PRODUCTS: Pivot = Pivot {
    title: "Microseconds per product by modulus, length and batch, with the best number of threads",
    row: |record| record.op.clone(),
    column: |record| format!("{} {} x{}", modulus(record), len(record), record.batch),
    value: microseconds,
    best: f64::min,
};

const PRODUCTS_BY_THREADS: Pivot = Pivot {
    title: "Microseconds per product by threads, modulo 469762049, n = 131072, one at a time",
    column: |record| record.threads.to_string(),
    ..PRODUCTS
};

const PRODUCT_RATES: Pivot = Pivot {
    title: "Products: GB/s of the passes' arrays, read and written, n = 131072",
    column: |record| format!("{} x{}", modulus(record), record.batch),
    ..RATES
};

const CHUNKS: Pivot = Pivot {
    title: "Microseconds per product in batches of 256, n = 131072, by products per launch and \
            queues",
    row: |record| {
        let passes = if record.bench == kind::CYCLIC_MIXED { ", two passes at once" } else { "" };
        format!("{} {}{passes}", record.op, modulus(record))
    },
    column: |record| {
        let number = |name| record.figure(name).unwrap_or_default();
        format!("{} on {}", number(figure::CHUNK), number(figure::QUEUES))
    },
    ..PRODUCTS
};

const GRAPHS: Pivot = Pivot {
    title: "Microseconds of one product whose launches one call issues, n = 131072",
    column: |record| format!("{}, {}", modulus(record), record.bench),
    ..PRODUCTS
};

const ALONE: Pivot = Pivot {
    title: "Microseconds of one product alone by the host's clock, n = 131072",
    column: |record| modulus(record).to_string(),
    ..PRODUCTS
};

const CALLS: Pivot = Pivot {
    title: "Microseconds of one call by the host's clock, n = 131072: launches; what it contains \
            besides; modulus, with the best number of threads per block",
    row: |record| format!("{}; {}; {}", record.bench, record.transfers, modulus(record)),
    column: |record| record.op.clone(),
    ..PRODUCTS
};

const CALLS_BY_THREADS: Pivot = Pivot {
    title: "Microseconds of one call with one launch per layer, a synchronisation after each, \
            transfers, allocation and factors per layer, by threads per block",
    row: |record| format!("{} {}", record.op, modulus(record)),
    column: |record| record.threads.to_string(),
    ..PRODUCTS
};

const STEPS: Pivot = Pivot {
    title: "Microseconds per product by step, with Shoup's method modulo 469762049, n = 131072",
    row: |record| record.bench.clone(),
    column: |record| format!("x{}", record.batch),
    ..PRODUCTS
};

/// Writes the tables of a measurement.
pub(super) fn write(bench: Bench, records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    if let Some(Record { engine, device, commit, date, .. }) = records.0.last() {
        writeln!(out, "{engine}: {device}, commit {commit}, {date}")?;
    }
    let is_long = |record: &&Record| len(record) == 1 << 17;
    let is_largest = |record: &&Record| modulus(record) == 469_762_049.0;
    match bench {
        Bench::Reductions => {
            let chains = || records.of_kind(kind::CHAIN);
            BY_MODULUS.write(chains(), out)?;
            BY_THREADS.write(chains().filter(|record| modulus(record) == 268_369_921.0), out)?;
            RATES.write(records.of_kind(kind::COPY), out)?;
            let counted = |figure| {
                let chains = records.of_kind(kind::COUNTERS);
                chains.filter(move |record| {
                    counted_chain(record).is_some() && record.figure(figure).is_some()
                })
            };
            INSTRUCTIONS.write(counted(figure::THREAD_INSTRUCTIONS), out)?;
            WARP_INSTRUCTIONS.write(counted(figure::WARP_INSTRUCTIONS), out)
        }
        Bench::Ntt => {
            let products = || records.of_kind(kind::CYCLIC);
            let longest = || products().filter(is_long).filter(is_largest);
            PRODUCTS.write(products(), out)?;
            PRODUCTS_BY_THREADS.write(longest().filter(|record| record.batch == 1), out)?;
            RATES.write(records.of_kind(kind::COPY), out)?;
            PRODUCT_RATES.write(products().filter(is_long), out)?;
            let in_chunks = [kind::CYCLIC_CHUNKS, kind::CYCLIC_MIXED];
            let chunks = in_chunks.iter().flat_map(|kind| records.of_kind(kind));
            CHUNKS.write(chunks.filter(is_long), out)?;
            let alone = || records.of_kind(kind::CYCLIC_ALONE).filter(is_long);
            ALONE.write(alone().filter(|record| record.transfers == "none"), out)?;
            let graphs = [kind::CYCLIC_GRAPH, kind::CYCLIC_GRAPH_ALONE];
            GRAPHS
                .write(graphs.iter().flat_map(|kind| records.of_kind(kind)).filter(is_long), out)?;
            let by_host = [kind::LAYERS_ALONE, kind::LAYERS_SYNCHRONISED, kind::CYCLIC_ALONE];
            let calls = by_host.iter().flat_map(|kind| records.of_kind(kind)).filter(is_long);
            CALLS.write(calls, out)?;
            let synchronised = records.of_kind(kind::LAYERS_SYNCHRONISED);
            let whole = synchronised.filter(|record| record.transfers.ends_with("per layer"));
            CALLS_BY_THREADS.write(whole, out)?;
            let all = records.0.iter().filter(is_long).filter(is_largest);
            let steps = all.filter(|record| !by_host.contains(&record.bench.as_str()));
            let steps = steps.filter(|record| !graphs.contains(&record.bench.as_str()));
            let steps = steps.filter(|record| !in_chunks.contains(&record.bench.as_str()));
            STEPS.write(steps.filter(|record| record.op == "shoup"), out)
        }
    }
}

impl Pivot {
    fn write<'a>(
        &self,
        records: impl Iterator<Item = &'a Record>,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        let (mut cells, mut values) = (Vec::new(), BTreeMap::new());
        for record in records {
            let cell = ((self.row)(record), (self.column)(record));
            let value = (self.value)(record);
            let best = values.entry(cell.clone()).or_insert(value);
            *best = (self.best)(*best, value);
            cells.push(cell);
        }
        if cells.is_empty() {
            return Ok(());
        }
        let (rows, columns) = (
            distinct(cells.iter().map(|(row, _)| row)),
            distinct(cells.iter().map(|(_, column)| column)),
        );
        let header = std::iter::once("").chain(columns.iter().map(|column| column.as_str()));
        let mut table = table::markdown(header.collect::<Vec<_>>(), 1..columns.len() + 1);
        for row in rows {
            let value = |column: &&String| {
                let value = values.get(&(row.clone(), (*column).clone()));
                value.map_or_else(String::new, |value| format!("{value:.2}"))
            };
            table.add_row(std::iter::once(row.clone()).chain(columns.iter().map(value)));
        }
        writeln!(out, "\n{}\n\n{table}", self.title)?;
        Ok(())
    }
}
