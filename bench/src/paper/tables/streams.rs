//! The table of figure 7: chunks in parallel streams, and the same chunks one after the other.

use std::io::Write;

use ctru_measure::{Operation, Record, table};

use super::{batch_us, saving, section};
use crate::error::Error;
use crate::records::{Records, distinct, kind};
use crate::references;

/// The times of operations that are cut into one chunk per stream.
pub(crate) struct Comparison {
    pub(crate) streams: usize,
    /// The number of operations in all chunks together.
    operations: usize,
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
    let of = |bench| records.of_kind(bench).filter(move |record| record.op == operation.name());
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

/// Writes the table of figure 7.
pub(super) fn write(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let header = [
        "op",
        "streams",
        "operations",
        "sequential us",
        "streams us",
        "saved %",
        "authors, H200 %",
    ];
    let mut table = table::markdown(header, 1..7);
    for operation in Operation::ALL {
        for comparison in comparisons(records, operation) {
            let Comparison { streams, operations, sequential_us, streams_us } = comparison;
            let known =
                (streams == references::STREAMS).then(|| references::streams_save(operation));
            table.add_row([
                operation.name().to_owned(),
                streams.to_string(),
                operations.to_string(),
                format!("{sequential_us:.0}"),
                format!("{streams_us:.0}"),
                format!("{:.0}", comparison.saving()),
                known.map_or_else(String::new, |saved| format!("{saved:.0}")),
            ]);
        }
    }
    let sets =
        distinct(records.of_kind(kind::STREAMS).map(|record| record.set.as_str())).join(", ");
    section(
        &format!(
            "Figure 7: streams compared with the same number of sequential runs, n = {sets}, each \
             operation with its own key, transfers included"
        ),
        &table,
        out,
    )
}
