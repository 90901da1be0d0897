//! The table of figure 7: chunks in parallel streams, and the same chunks one after the other.

use std::io::Write;

use ctru_measure::{Operation, Record, table};

use super::{batch_us, digits, fixed, ratio, saving, section};
use crate::error::Error;
use crate::records::{Records, distinct, kind};
use crate::references;
use crate::sources;

/// The times of operations that are cut into one chunk per stream.
pub(crate) struct Comparison {
    pub(crate) streams: usize,
    /// The number of operations in all chunks together.
    pub(crate) operations: usize,
    /// The microseconds with one chunk after the other.
    sequential_us: f64,
    /// The microseconds with all chunks in parallel.
    streams_us: f64,
}

impl Comparison {
    /// Returns the percentage of time that streams save.
    pub(crate) fn saving(&self) -> f64 {
        saving(self.sequential_us, self.streams_us)
    }
}

/// Returns the measurements of an operation by number of streams.
pub(crate) fn comparisons(records: &Records, operation: Operation) -> Vec<Comparison> {
    let of = |bench| {
        let of_set = records.of_kind(bench).filter(|r| r.set == sources::paper().figure_7.set);
        of_set.filter(move |record| record.op == operation.name())
    };
    // The field `batch` of these records is the size of a chunk. Both measurements have as many
    // chunks as the parallel one has threads.
    let compare = |streams: &Record| {
        let sequential =
            of(kind::SEQUENTIAL).find(|sequential| sequential.batch == streams.batch)?;
        let Record { threads, batch, .. } = *streams;
        let [sequential_us, streams_us] =
            [sequential, streams].map(|record| threads as f64 * batch_us(record));
        Some(Comparison {
            streams: threads,
            operations: threads * batch,
            sequential_us,
            streams_us,
        })
    };
    of(kind::STREAMS).filter_map(compare).collect()
}

/// Writes the tables of figure 7.
pub(super) fn write(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    savings(records, out)?;
    labels(records, out)
}

/// Writes what streams save by operation, number of operations, and number of streams.
fn savings(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let paper = &sources::paper().figure_7;
    let header = [
        "op",
        "operations",
        "streams",
        "chunk",
        "sequential us",
        "streams us",
        "paper %",
        "our %",
        "ratio",
        "authors, H200 %",
    ];
    let mut table = table::markdown(header, 1..10);
    for operation in Operation::ALL {
        let comparisons = comparisons(records, operation);
        let measured = comparisons.iter().map(|ours| (ours.operations, ours.streams));
        let all = paper.streams.iter().map(|&streams| (paper.operations, streams)).chain(measured);
        for (operations, streams) in distinct(all) {
            let ours = comparisons
                .iter()
                .find(|ours| (ours.operations, ours.streams) == (operations, streams));
            let of_paper = operations == paper.operations && paper.streams.contains(&streams);
            let saved = paper.streams_save(operation, streams).filter(|_| of_paper);
            let theirs = match saved {
                Some(saved) => fixed(saved, 2),
                None if of_paper && streams == paper.loses_with_streams => "below 0".to_owned(),
                None if of_paper => "no number".to_owned(),
                None => "-".to_owned(),
            };
            let authors = (operations, streams) == references::STREAMED;
            table.add_row([
                operation.name().to_owned(),
                operations.to_string(),
                streams.to_string(),
                (operations / streams).to_string(),
                digits(ours.map(|ours| ours.sequential_us)),
                digits(ours.map(|ours| ours.streams_us)),
                theirs,
                ours.map_or_else(|| "-".to_owned(), |ours| fixed(ours.saving(), 1)),
                ratio(ours.map(Comparison::saving), saved),
                if authors {
                    fixed(references::streams_save(operation), 0)
                } else {
                    "-".to_owned()
                },
            ]);
        }
    }
    section(
        &format!(
            "Figure 7, n = {}: % of time that streams save against the same chunks one after the \
             other, transfers included. Ours: each operation has its own key. The paper's text \
             gives one number, and says that more streams and more bytes to copy save more; \
             ratio: ours / paper",
            paper.set
        ),
        &table,
        out,
    )
}

/// Writes the labels of the figure's bars in rising order, each beside the saving of ours that has
/// the same rank.
fn labels(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let paper = &sources::paper().figure_7;
    let mut table = table::markdown(["streams", "rank", "paper %", "our %", "ours"], 1..4);
    for labels in &paper.labels {
        let streams: Vec<String> = labels.streams.iter().map(usize::to_string).collect();
        let mut ours: Vec<(Operation, Comparison)> = Operation::ALL
            .into_iter()
            .flat_map(|operation| {
                comparisons(records, operation).into_iter().map(move |c| (operation, c))
            })
            .filter(|(_, ours)| {
                ours.operations == paper.operations && labels.streams.contains(&ours.streams)
            })
            .collect();
        ours.sort_by(|(_, a), (_, b)| a.saving().total_cmp(&b.saving()));
        for (rank, percent) in labels.percent.iter().enumerate() {
            let ours = ours.get(rank);
            table.add_row([
                streams.join(", "),
                (rank + 1).to_string(),
                percent.to_string(),
                ours.map_or_else(|| "-".to_owned(), |(_, ours)| fixed(ours.saving(), 1)),
                ours.map_or_else(
                    || "-".to_owned(),
                    |(operation, ours)| format!("{}, {}", operation.name(), ours.streams),
                ),
            ]);
        }
    }
    section(
        &format!(
            "Figure 7's labels: % of time saved with {} operations, in rising order, beside ours \
             in rising order. The paper's largest label belongs to decapsulation with 8 streams; \
             which bars have the others is not known, and the last digits of 20.8 are not readable",
            paper.operations
        ),
        &table,
        out,
    )
}
