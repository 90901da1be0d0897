//! Table 5: the kernels of an encryption after the product, fused and unfused. Further tables show
//! whole encryptions, and the sampling of secret polynomials, in one kernel and in several.

use std::io::Write;

use ctru_measure::{Record, table};

use super::{batch_us, digits, fixed, ratio, saving, section};
use crate::error::Error;
use crate::records::{Records, distinct, kind, method};
use crate::references;
use crate::sources;

/// Writes table 5 for the paper's n.
pub(super) fn after_product(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let paper = &sources::paper().table_5;
    let of_set = || records.of_kind(kind::AFTER_PRODUCT).filter(|r| r.set == paper.set);
    let ours = |path: &str, batch: usize| {
        let mut found = of_set();
        found.find(|record| record.op == path && record.batch == batch).map(batch_us)
    };
    // A batch has a row if any of the three columns of results has it.
    let known = references::FUSION_SAVES.iter().map(|(batch, _)| *batch);
    let all = paper.rows.iter().map(|row| row.batch).chain(known);
    let mut batches = distinct(all.chain(of_set().map(|record| record.batch)));
    batches.sort_unstable();
    let header =
        ["batch", "paper fused", "our fused", "ratio", "paper unfused", "our unfused", "ratio"];
    let mut times = table::markdown(header, 0..7);
    let header = ["batch", "paper %", "our %", "ratio", "authors, H200 %"];
    let mut savings = table::markdown(header, 0..5);
    let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| fixed(value, 2));
    for batch in batches {
        let theirs = paper.rows.iter().find(|row| row.batch == batch);
        let [their_fused, their_unfused, their_saved] = [
            theirs.map(|row| row.fused_us),
            theirs.map(|row| row.unfused_us),
            theirs.map(|row| row.saved_percent),
        ];
        let [fused, unfused] = [method::FUSED, method::UNFUSED].map(|path| ours(path, batch));
        times.add_row([
            batch.to_string(),
            cell(their_fused),
            digits(fused),
            ratio(their_fused, fused),
            cell(their_unfused),
            digits(unfused),
            ratio(their_unfused, unfused),
        ]);
        let saved = unfused.zip(fused).map(|(before, now)| saving(before, now));
        let authors = references::FUSION_SAVES.iter().find(|(known, _)| *known == batch);
        savings.add_row([
            batch.to_string(),
            cell(their_saved),
            digits(saved),
            ratio(saved, their_saved),
            authors.map_or_else(|| "-".to_owned(), |(_, saved)| fixed(*saved, 0)),
        ]);
    }
    section(
        &format!(
            "Table 5, n = {}: us of the kernels after the product, launches in a row. Fused: one \
             kernel encodes the message, compresses the sum and packs it. Unfused: three kernels. \
             Ratio: paper / ours, above 1 where ours is faster",
            paper.set
        ),
        &times,
        out,
    )?;
    section(
        &format!(
            "Table 5, n = {}: % of the time of the unfused kernels that fusion saves; ratio: ours \
             / paper",
            paper.set
        ),
        &savings,
        out,
    )
}

/// Writes whole encryptions in one kernel and in several.
pub(super) fn encryption(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let title = "Encryption on the device, from coins to ciphertexts, and the time saved against \
                 the first path of each n";
    paths(records, kind::ENCRYPTION, title, out)
}

/// Writes the sampling of secret polynomials in one kernel and in two.
pub(super) fn sampling(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let title = "Section 4.2.2: secret polynomials 2 f' + 1 from coins, and the time saved against \
                 the first path of each n";
    paths(records, kind::SAMPLING, title, out)
}

/// Writes the times of one kind of records, of which `op` names sequences of kernels.
fn paths(records: &Records, kind: &str, title: &str, out: &mut dyn Write) -> Result<(), Error> {
    let records: Vec<&Record> = records.of_kind(kind).collect();
    let batches = distinct(records.iter().map(|record| record.batch));
    let paths = distinct(records.iter().map(|record| record.op.as_str()));
    let names = batches.iter().flat_map(|batch| [format!("us of {batch}"), "saved %".to_owned()]);
    let header: Vec<String> =
        ["n".to_owned(), "path".to_owned()].into_iter().chain(names).collect();
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
    section(title, &table, out)
}
