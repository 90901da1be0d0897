//! `ctru-research counters`: makes records of what Nsight Compute counted.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use csv::{ReaderBuilder, StringRecord};
use ctru_measure::{Record, Statistics};

use crate::error::Error;
use crate::records::{figure, kind, on_gpu, operation_and_set};

/// Convert counters of Nsight Compute to records, one for each kernel and launch configuration
///
/// The command reads the output of `ncu --csv --page raw --print-units base`. Each record has the
/// medians of the chosen metrics over the launches. The records go to standard output, one JSON
/// object per line. The output of ncu has no date and no commit, so both are options.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Output of ncu; lines before the table are skipped
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// Metric to keep, by the name of its column; repeat for several metrics
    #[arg(long = "metric", value_name = "NAME", required = true)]
    metrics: Vec<String>,
    /// Commit of the program that ncu ran
    #[arg(long)]
    commit: String,
    /// Date and time of ncu's run in UTC, ISO 8601
    #[arg(long)]
    date: String,
}

/// A record without its metrics, and the values of the metrics in each launch.
type Launches = (Record, Vec<Vec<f64>>);

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    for (record, launches) in read(args)? {
        let median = |metric: usize| {
            Statistics::of(launches.iter().map(|values| values[metric]).collect()).median
        };
        let medians = args.metrics.iter().enumerate().map(|(i, name)| (name.as_str(), median(i)));
        let record = record.with_figures([(figure::LAUNCHES, launches.len() as f64)]);
        record.with_figures(medians).write_line(&mut *out)?;
    }
    Ok(())
}

/// Reads the launches of each kernel and launch configuration.
fn read(args: &Args) -> Result<Vec<Launches>, Error> {
    let file = args.from.display().to_string();
    let text = fs::read_to_string(&args.from).map_err(Error::read(&args.from))?;
    // The messages of ncu and the output of the program that it ran come before the table.
    let start = text.find("\"ID\",").unwrap_or(text.len());
    let mut table = ReaderBuilder::new().from_reader(&text.as_bytes()[start..]);
    let failed = |source| Error::Table { file: file.clone(), source };
    let header = table.headers().map_err(failed)?.clone();
    let column = |name: &str| {
        let found = header.iter().position(|column| column == name);
        found.ok_or_else(|| Error::Column { file: file.clone(), column: name.to_owned() })
    };
    let number = |row: &StringRecord, column: usize| {
        // ncu separates groups of three digits.
        let number = row[column].replace(',', "").parse().ok();
        number.filter(|number: &f64| number.is_finite()).ok_or_else(|| Error::Counter {
            file: file.clone(),
            launch: row[0].to_owned(),
            column: header[column].to_owned(),
            text: row[column].to_owned(),
        })
    };
    let (device, kernel) = (column("device__attribute_display_name")?, column("Kernel Name")?);
    let (blocks, threads) = (column("launch__grid_size")?, column("launch__block_size")?);
    let metrics: Vec<usize> =
        args.metrics.iter().map(|name| column(name)).collect::<Result<_, _>>()?;
    let mut all: Vec<Launches> = Vec::new();
    for row in table.records() {
        let row = &row.map_err(failed)?;
        // The row of the units belongs to no launch.
        if row[0].is_empty() {
            continue;
        }
        let (op, set) = operation_and_set(&row[kernel]);
        let record = Record {
            batch: number(row, blocks)? as usize,
            threads: number(row, threads)? as usize,
            commit: args.commit.clone(),
            date: args.date.clone(),
            ..on_gpu(kind::COUNTERS, &row[device], set, op)
        };
        let values = metrics.iter().map(|&metric| number(row, metric)).collect::<Result<_, _>>()?;
        let configuration = |r: &Record| (r.op.clone(), r.set.clone(), r.batch, r.threads);
        let wanted = configuration(&record);
        match all.iter_mut().find(|(record, _)| configuration(record) == wanted) {
            Some((_, launches)) => launches.push(values),
            None => all.push((record, vec![values])),
        }
    }
    Ok(all)
}
