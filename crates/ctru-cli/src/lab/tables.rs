//! Measurements as tables for people.

use std::collections::BTreeMap;
use std::io::Write;

use ctru_gpu_kernels::lab::chain::LENGTH;

use super::{Bench, Measurement};
use crate::error::Error;
use crate::info::new_table;

/// The best value of every row and column, in the order in which they come.
struct Pivot {
    title: &'static str,
    row: fn(&Measurement) -> String,
    column: fn(&Measurement) -> String,
    value: fn(&Measurement) -> f64,
    best: fn(f64, f64) -> f64,
}

/// Products modulo one number, in units of 1e9 a second.
pub(super) fn giga_products(measurement: &Measurement) -> f64 {
    (measurement.len * LENGTH) as f64 / measurement.median_ns
}

/// Microseconds of a product of polynomials.
pub(super) fn microseconds(measurement: &Measurement) -> f64 {
    measurement.median_ns / measurement.batch as f64 / 1000.0
}

const BY_MODULUS: Pivot = Pivot {
    title: "10^9 products a second, with the best number of threads",
    row: |m| m.method.clone(),
    column: |m| m.modulus.to_string(),
    value: giga_products,
    best: f64::max,
};

const BY_THREADS: Pivot = Pivot {
    title: "10^9 products a second by threads of a block, modulo 268369921",
    column: |m| m.threads.to_string(),
    ..BY_MODULUS
};

const PRODUCTS: Pivot = Pivot {
    title: "Microseconds a product by modulus, length and batch, with the best number of threads",
    row: |m| m.method.clone(),
    column: |m| format!("{} {} x{}", m.modulus, m.len, m.batch),
    value: microseconds,
    best: f64::min,
};

const PRODUCTS_BY_THREADS: Pivot = Pivot {
    title: "Microseconds a product by threads, modulo 469762049, n = 131072, one at a time",
    column: |m| m.threads.to_string(),
    ..PRODUCTS
};

const ALONE: Pivot = Pivot {
    title: "Microseconds of one product alone by the host's clock, n = 131072",
    column: |m| m.modulus.to_string(),
    ..PRODUCTS
};

const STEPS: Pivot = Pivot {
    title: "Microseconds a product by step, by Shoup's products modulo 469762049, n = 131072",
    row: |m| m.step.clone(),
    column: |m| format!("x{}", m.batch),
    ..PRODUCTS
};

/// Writes the tables of a benchmark.
pub(super) fn write(
    bench: Bench,
    measurements: &[Measurement],
    out: &mut dyn Write,
) -> Result<(), Error> {
    if let Some(Measurement { engine, device, commit, date, .. }) = measurements.last() {
        writeln!(out, "{engine}: {device}, commit {commit}, {date}")?;
    }
    let long = |m: &&Measurement| m.len == 1 << 17;
    let last = |m: &&Measurement| m.modulus == 469_762_049;
    let all = || measurements.iter();
    match bench {
        Bench::Reductions => {
            let chains = || all().filter(|m| m.step == "chain");
            BY_MODULUS.write(chains(), out)?;
            BY_THREADS.write(chains().filter(|m| m.modulus == 268_369_921), out)
        }
        Bench::Ntt => {
            let products = || all().filter(|m| m.step == "product");
            let by_device = || products().filter(|m| m.clock == "device" || m.engine == "cpu");
            PRODUCTS.write(by_device(), out)?;
            PRODUCTS_BY_THREADS
                .write(by_device().filter(long).filter(last).filter(|m| m.batch == 1), out)?;
            ALONE.write(
                products().filter(long).filter(|m| m.clock == "host" && m.batch == 1),
                out,
            )?;
            STEPS.write(
                all()
                    .filter(long)
                    .filter(last)
                    .filter(|m| m.method == "shoup" && m.clock == "device"),
                out,
            )
        }
    }
}

impl Pivot {
    fn write<'a>(
        &self,
        measurements: impl Iterator<Item = &'a Measurement>,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), BTreeMap::new());
        for measurement in measurements {
            let (row, column) = ((self.row)(measurement), (self.column)(measurement));
            let value = (self.value)(measurement);
            let best = values.entry((row.clone(), column.clone())).or_insert(value);
            *best = (self.best)(*best, value);
            if !rows.contains(&row) {
                rows.push(row);
            }
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        let header =
            std::iter::once("").chain(columns.iter().map(String::as_str)).collect::<Vec<_>>();
        let mut table = new_table(header, 1..columns.len() + 1);
        for row in rows {
            let value = |column: &String| {
                let value = values.get(&(row.clone(), column.clone()));
                value.map_or_else(String::new, |value| format!("{value:.2}"))
            };
            let cells: Vec<_> = columns.iter().map(value).collect();
            table.add_row(std::iter::once(row.clone()).chain(cells));
        }
        writeln!(out, "\n{}\n\n{table}", self.title)?;
        Ok(())
    }
}
