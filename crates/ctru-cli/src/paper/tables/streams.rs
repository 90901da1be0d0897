//! The numbers of figure 7: chunks side by side against the same chunks one after the other.

use std::io::Write;

use super::{OPERATIONS, batch_us, saving, section};
use crate::error::Error;
use crate::info::new_table;
use crate::paper::line::{Lines, SEQUENTIAL, STREAMS, distinct};
use crate::paper::references;
use crate::record::{Operation, Record};

/// The times of operations in as many chunks as there are streams.
pub(in crate::paper) struct Comparison {
    pub(in crate::paper) streams: usize,
    /// Operations of all chunks.
    operations: usize,
    /// Microseconds of the chunks one after the other.
    sequential_us: f64,
    /// Microseconds of the chunks side by side.
    streams_us: f64,
}

impl Comparison {
    /// What streams save, in percent.
    pub(in crate::paper) fn saving(&self) -> f64 {
        saving(self.sequential_us, self.streams_us)
    }
}

/// What was measured of an operation, by streams.
pub(in crate::paper) fn comparisons(lines: &Lines, operation: Operation) -> Vec<Comparison> {
    let of = |bench| lines.times(bench).filter(move |record| record.op == operation.name());
    // A chunk of a batch is what a record calls a batch; both have as many of them.
    let compare = |streams: &Record| {
        let sequential = of(SEQUENTIAL).find(|sequential| sequential.batch == streams.batch)?;
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
    of(STREAMS).filter_map(compare).collect()
}

pub(super) fn write(lines: &Lines, out: &mut dyn Write) -> Result<(), Error> {
    let header = [
        "op",
        "streams",
        "operations",
        "sequential us",
        "streams us",
        "saved %",
        "authors, H200 %",
    ];
    let mut table = new_table(header, 1..7);
    for operation in OPERATIONS {
        for comparison in comparisons(lines, operation) {
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
    let sets = distinct(lines.times(STREAMS).map(|record| record.set.as_str())).join(", ");
    section(
        &format!(
            "Figure 7: streams against as many sequential runs, n = {sets}, a key each, transfers included"
        ),
        &table,
        out,
    )
}
