//! `ctru-research peers`: compares CTRU-Prime and Streamlined NTRU Prime of this workspace with
//! those of others, and with other KEMs, on one thread of the CPU.
//!
//! The libraries take turns, so that other load on the machine disturbs all of them alike.

mod ctru;
mod ml_kem;
mod sntrup;

use std::hint::black_box;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use comfy_table::Table;
use ctru_measure::{KeyUse, Operation, Record, Statistics, cpu_name, table};

use crate::error::Error;
use crate::records;

/// Measure CTRU-Prime and other KEMs in turn, on one thread
///
/// The ratios are relative to the fastest sntrup761 of others. It has the n and q of
/// CTRU-Prime-761.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Rounds; each round takes one sample of every operation
    #[arg(
        long,
        value_name = "N",
        default_value_t = 301,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    rounds: u32,
    /// Measure only this set
    #[arg(long, value_name = "SET")]
    set: Option<String>,
    /// Write one JSON object per measurement to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// An operation of a library, or a batch of operations.
struct Subject {
    operation: Operation,
    /// The name of the library.
    engine: &'static str,
    backend: &'static str,
    set: String,
    pk_encoding: &'static str,
    /// Operations per call of `run`: 1, or the size of a batch.
    batch: usize,
    run: Run,
}

/// Calls an operation, or a batch of them.
type Run = Box<dyn FnMut()>;

/// Returns calls whose results the compiler does not drop.
fn calls<T>(mut call: impl FnMut() -> T + 'static) -> Run {
    Box::new(move || {
        black_box(call());
    })
}

impl Subject {
    /// Returns the three operations of a library.
    fn of_library(
        (engine, backend): (&'static str, &'static str),
        (set, pk_encoding): (&str, &'static str),
        batch: usize,
        operations: [Run; 3],
    ) -> Vec<Self> {
        let subject = |(operation, run)| Self {
            operation,
            engine,
            backend,
            set: set.to_owned(),
            pk_encoding,
            batch,
            run,
        };
        Operation::ALL.into_iter().zip(operations).map(subject).collect()
    }

    fn record(&self, statistics: Statistics) -> Record {
        let single = self.batch == 1;
        let one_key = single && self.operation != Operation::Keygen;
        let record = Record {
            bench: if single { "single" } else { "batch" }.to_owned(),
            engine: self.engine.to_owned(),
            device: cpu_name(),
            backend: self.backend.to_owned(),
            set: self.set.clone(),
            pk_encoding: self.pk_encoding.to_owned(),
            op: self.operation.name().to_owned(),
            keys: if one_key { KeyUse::One } else { KeyUse::Each },
            batch: self.batch,
            transfers: "none".to_owned(),
            threads: 1,
            ..Record::default()
        };
        record.timed(statistics, self.batch as f64)
    }
}

/// The largest number of calls per sample. Few calls are enough, because even the fastest operation
/// takes a few microseconds, much longer than the resolution of the clock.
const MOST_CALLS: usize = 8;
/// The intended time of a sample in nanoseconds. A slow operation is called once per sample.
const SAMPLE_NS: f64 = 50_000.0;

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let mut subjects: Vec<Subject> =
        sntrup::subjects().into_iter().chain(ctru::subjects()).chain(ml_kem::subjects()).collect();
    subjects.retain(|subject| args.set.as_ref().is_none_or(|set| *set == subject.set));
    let calls: Vec<usize> = subjects
        .iter_mut()
        .map(|subject| ((SAMPLE_NS / time(1, &mut subject.run)) as usize).clamp(1, MOST_CALLS))
        .collect();
    let mut times = vec![Vec::new(); subjects.len()];
    for _ in 0..args.rounds {
        for ((subject, times), &calls) in subjects.iter_mut().zip(&mut times).zip(&calls) {
            // An unmeasured call fills the caches, which hold the data of the previous subject.
            (subject.run)();
            times.push(time(calls, &mut subject.run) / calls as f64);
        }
    }
    let records = records::collect(args.json.as_deref(), |report| {
        subjects
            .iter()
            .zip(times)
            .try_for_each(|(subject, times)| report(subject.record(Statistics::of(times))))
    })?;
    writeln!(out, "{}", table(&records.0))?;
    Ok(())
}

/// Calls `run` several times, and returns the nanoseconds of all calls.
fn time(calls: usize, run: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        run();
    }
    start.elapsed().as_nanos() as f64
}

/// Makes a table of times, and of their ratios to the same operation of the fastest sntrup761 of
/// others.
fn table(records: &[Record]) -> Table {
    let header = [
        "op",
        "library",
        "set",
        "keys as",
        "batch",
        "median us/op",
        "spread",
        "ratio to sntrup761",
    ];
    let mut table = table::markdown(header, 4..8);
    for operation in Operation::ALL {
        let of_operation = || records.iter().filter(|record| record.op == operation.name());
        let reference = of_operation()
            .filter(|record| record.set == sntrup::SET && record.engine != "ctru")
            .map(|record| record.median_ns_per_op)
            .fold(f64::NAN, f64::min);
        for record in of_operation() {
            table.add_row([
                operation.name().to_owned(),
                format!("{} ({})", record.engine, record.backend),
                record.set.clone(),
                record.pk_encoding.clone(),
                record.batch.to_string(),
                format!("{:.2}", record.median_ns_per_op / 1000.0),
                format!("{:.1} %", record.spread * 100.0),
                format!("{:.2}", record.median_ns_per_op / reference),
            ]);
        }
    }
    table
}
