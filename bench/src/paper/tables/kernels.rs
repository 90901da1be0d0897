//! The tables of kernels on data on the device: tables 4, 5 and 6 and the numbers of figure 6.

use std::io::Write;

use ctru_measure::{Record, table};

use super::{batch_us, digits, mega, saving, section};
use crate::error::Error;
use crate::records::{Records, distinct, figure, kind};
use crate::references;

/// Makes a table row with a name and one value per batch.
fn row(name: &str, batches: &[usize], value: impl Fn(usize) -> String) -> Vec<String> {
    std::iter::once(name.to_owned()).chain(batches.iter().map(|&batch| value(batch))).collect()
}

fn find<'a>(records: &[&'a Record], op: &str, batch: usize) -> Option<&'a Record> {
    records.iter().find(|record| record.op == op && record.batch == batch).copied()
}

/// Writes table 4 and the numbers of figure 6: one row per method of multiplication, one column per
/// size of batch.
pub(super) fn products(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    for set in distinct(records.of_kind(kind::PRODUCTS).map(|record| record.set.clone())) {
        let of =
            |bench| records.of_kind(bench).filter(|record| record.set == set).collect::<Vec<_>>();
        let (rates, alone) = (of(kind::PRODUCTS), of(kind::PRODUCTS_ALONE));
        let batches = distinct(rates.iter().map(|record| record.batch));
        let methods = distinct(rates.iter().map(|record| record.op.as_str()));
        let header = row("", &batches, |batch| batch.to_string());
        let columns = 1..batches.len() + 2;

        let mut table = table::markdown(
            [header.clone(), vec!["batch unknown".to_owned()]].concat(),
            columns.clone(),
        );
        for method in &methods {
            let rate = |batch| mega(find(&rates, method, batch).map(|record| record.ops_per_s));
            table.add_row([row(method, &batches, rate), vec![String::new()]].concat());
        }
        for known in references::PRODUCTS.iter().filter(|known| known.set == set) {
            let rate = |batch: Option<usize>| {
                if known.batch == batch { mega(Some(known.per_second)) } else { String::new() }
            };
            let row = row(known.who, &batches, |batch| rate(Some(batch)));
            table.add_row([row, vec![rate(None)]].concat());
        }
        let title = format!(
            "Table 4 and figure 6, n = {set}: M products per second by batch, launches in a row"
        );
        section(&title, &table, out)?;

        let mut table = table::markdown(header, columns);
        for method in &methods {
            table.add_row(row(method, &batches, |batch| {
                digits(find(&alone, method, batch).map(batch_us))
            }));
        }
        let title = format!("Table 4 and figure 6, n = {set}: us of a launch alone by batch");
        section(&title, &table, out)?;
    }
    Ok(())
}

/// Writes table 5: encryption in one kernel and in several.
pub(super) fn fusion(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let records: Vec<&Record> = records.of_kind(kind::ENCRYPTION).collect();
    let batches = distinct(records.iter().map(|record| record.batch));
    let paths = distinct(records.iter().map(|record| record.op.as_str()));
    let names = batches.iter().flat_map(|batch| [format!("us of {batch}"), "saved %".to_owned()]);
    let header: Vec<String> =
        ["n".to_owned(), "encryption".to_owned()].into_iter().chain(names).collect();
    let mut table = table::markdown(header, 2..2 + 2 * batches.len());
    for set in distinct(records.iter().map(|record| record.set.as_str())) {
        let time = |path: &str, batch| {
            let found = records.iter().find(|r| r.set == set && r.op == path && r.batch == batch);
            found.map(|record| batch_us(record))
        };
        for path in &paths {
            // The first path is the reference, so it has no savings.
            let values = batches.iter().flat_map(|&batch| {
                let (before, now) = (time(paths[0], batch), time(path, batch));
                let saved = before
                    .zip(now)
                    .filter(|_| path != &paths[0])
                    .map(|(before, now)| saving(before, now));
                [digits(now), saved.map_or_else(String::new, |saved| format!("{saved:.0}"))]
            });
            table.add_row(
                [set.to_owned(), (*path).to_owned()].into_iter().chain(values).collect::<Vec<_>>(),
            );
        }
    }
    if !records.is_empty() {
        let values = batches.iter().flat_map(|batch| {
            let known = references::FUSION_SAVES.iter().find(|(known, _)| known == batch);
            [String::new(), known.map_or_else(String::new, |(_, saved)| format!("{saved:.0}"))]
        });
        let name = "authors, H200: fused against unfused".to_owned();
        table.add_row([String::new(), name].into_iter().chain(values).collect::<Vec<_>>());
    }
    section(
        "Table 5: encryption on the device, and the time saved against the first path of each n",
        &table,
        out,
    )
}

/// Writes the first half of table 6: the resources that kernels use.
pub(super) fn resources(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let header =
        ["kernel", "n", "threads", "registers", "local bytes", "shared KB", "blocks per SM"];
    let mut table = table::markdown(header, 1..7);
    let kilobytes = |bytes: f64| format!("{:.1}", bytes / 1e3);
    for kernel in records.of_kind(kind::RESOURCES) {
        let figure = |name| kernel.figure(name).unwrap_or_default();
        table.add_row([
            kernel.op.clone(),
            kernel.set.clone(),
            kernel.threads.to_string(),
            figure(figure::REGISTERS).to_string(),
            figure(figure::LOCAL_BYTES).to_string(),
            kilobytes(figure(figure::SHARED_BYTES)),
            figure(figure::BLOCKS).to_string(),
        ]);
    }
    if table.row_count() > 0 {
        let references::KnownResources { registers, shared_kilobytes, blocks } =
            references::RESOURCES;
        table.add_row([
            "authors, H200: product".to_owned(),
            String::new(),
            String::new(),
            registers.to_string(),
            String::new(),
            shared_kilobytes.to_string(),
            blocks.to_string(),
        ]);
    }
    section("Table 6: resources of kernels, from the driver", &table, out)
}
