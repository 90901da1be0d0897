//! Measures CTRU-Prime and its peers in turn, on one thread, so that a noisy machine disturbs all of them alike.
//!
//! `cargo run --release -p ctru-bench [-- --backend NAME --json FILE]`

mod ctru;
mod ml_kem;
mod sntrup;

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use comfy_table::{Table, presets};
use ctru_cli::Error;
use ctru_cli::backend::BackendArgs;
use ctru_cli::engine::cpu_name;
use ctru_cli::record::{self, KeyUse, Operation, Record, Statistics};

/// Measure CTRU-Prime and its peers in turn
#[derive(Debug, Parser)]
struct Args {
    /// Rounds; every operation is sampled once in each
    #[arg(long, default_value_t = 301, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    #[command(flatten)]
    backend: BackendArgs,
    /// Write one JSON object a measurement to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Something to measure.
struct Subject {
    operation: Operation,
    /// The library.
    engine: &'static str,
    backend: &'static str,
    set: String,
    pk_encoding: &'static str,
    /// Operations of one call of `run`; more than 1 is a batch.
    batch: usize,
    run: Box<dyn FnMut()>,
}

/// Most calls in a sample: the fastest operations take a few microseconds, more than a clock's grain.
const MOST_CALLS: usize = 8;
/// Time that a sample is to take; slow operations are called once.
const SAMPLE_NS: f64 = 50_000.0;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), Error> {
    args.backend.select()?;
    let mut subjects: Vec<Subject> =
        sntrup::subjects().into_iter().chain(ctru::subjects()).chain(ml_kem::subjects()).collect();
    let calls: Vec<usize> = subjects
        .iter_mut()
        .map(|subject| ((SAMPLE_NS / time(1, &mut subject.run)) as usize).clamp(1, MOST_CALLS))
        .collect();
    let mut times = vec![Vec::new(); subjects.len()];
    for _ in 0..args.rounds {
        for ((subject, times), &calls) in subjects.iter_mut().zip(&mut times).zip(&calls) {
            // Once for the caches, which the others have filled.
            (subject.run)();
            times.push(time(calls, &mut subject.run) / (calls * subject.batch) as f64);
        }
    }
    let results: Vec<(Subject, Statistics)> = subjects
        .into_iter()
        .zip(times)
        .map(|(subject, times)| (subject, Statistics::of(times)))
        .collect();
    if let Some(path) = &args.json {
        let mut file = File::create(path)?;
        for (subject, statistics) in &results {
            serde_json::to_writer(&mut file, &to_record(subject, *statistics))
                .map_err(io::Error::from)?;
            writeln!(file)?;
        }
    }
    println!("{}", table(&results));
    Ok(())
}

/// Nanoseconds of so many calls.
fn time(calls: usize, run: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        run();
    }
    start.elapsed().as_nanos() as f64
}

fn to_record(subject: &Subject, statistics: Statistics) -> Record {
    Record {
        bench: if subject.batch == 1 { "single" } else { "batch" }.to_owned(),
        engine: subject.engine.to_owned(),
        device: cpu_name(),
        backend: subject.backend.to_owned(),
        set: subject.set.clone(),
        pk_encoding: subject.pk_encoding.to_owned(),
        op: subject.operation.name().to_owned(),
        keys: if subject.batch == 1 && subject.operation != Operation::Keygen {
            KeyUse::One
        } else {
            KeyUse::Each
        },
        batch: subject.batch,
        transfers: "none".to_owned(),
        threads: 1,
        callers: 1,
        ops_per_s: 1e9 / statistics.median,
        median_ns_per_op: statistics.median,
        spread: statistics.spread,
        samples: statistics.samples,
        commit: record::commit(),
        date: record::now(),
    }
}

/// Times, and ratios to the same operation of the first peer.
fn table(results: &[(Subject, Statistics)]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header([
        "op",
        "library",
        "set",
        "keys as",
        "batch",
        "median us/op",
        "spread",
        "ratio to sntrup761",
    ]);
    for operation in [Operation::Keygen, Operation::Encaps, Operation::Decaps] {
        let of_operation = || results.iter().filter(|(subject, _)| subject.operation == operation);
        let reference = of_operation().next().map_or(f64::NAN, |(_, statistics)| statistics.median);
        for (subject, statistics) in of_operation() {
            table.add_row([
                operation.name().to_owned(),
                format!("{} ({})", subject.engine, subject.backend),
                subject.set.clone(),
                subject.pk_encoding.to_owned(),
                subject.batch.to_string(),
                format!("{:.2}", statistics.median / 1000.0),
                format!("{:.1} %", statistics.spread * 100.0),
                format!("{:.2}", statistics.median / reference),
            ]);
        }
    }
    table
}
