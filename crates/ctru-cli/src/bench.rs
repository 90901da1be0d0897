//! `ctru bench`: how fast every operation is.

use std::io::Write;
use std::time::Duration;

use clap::ValueEnum;
use ctru_kem::ParameterSet;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::budget::seconds;
use crate::engine::{AnySetEngine, EngineArgs, cpu_name, with_engine};
use crate::error::Error;
use crate::fixture::Fixture;
use crate::info::new_table;
use crate::lab::Laboratory;
use crate::paper;
use crate::record::{self, KeyUse, Operation, Record};
use crate::set::{Encoding, Set, Suite, Task};

/// Measure every operation, one at a time and in batches
///
/// "single" measurements call the methods of the key types, which decode the key each time, on one thread. "batch"
/// measurements give batches to the engine: with one key for all operations ("one"), with a key for each operation that
/// the engine decodes each time ("each"), or with a key for each that it has decoded before ("resident"). Keys of key
/// generation are its results: both of each pair ("each"), or the private ones, which contain the public ones ("private").
///
/// With --callers, several threads do that to one engine at the same time: operations a second are those of all of them, the
/// median time of an operation is that which one of them sees.
///
/// Each measurement repeats its operation or batch for --seconds after a warm-up; the time of an operation is the
/// median over the repetitions, and the spread is the distance between their 10th and 90th percentiles, divided by the
/// median.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    special: Option<Special>,
    /// Parameter sets to measure; repeat for several [default: all]
    #[arg(long = "set", value_enum, value_name = "SET")]
    sets: Vec<Set>,
    /// Public-key encodings to measure; repeat for both
    #[arg(long = "encoding", value_enum, value_name = "ENCODING", default_value = "mixed-radix")]
    encodings: Vec<Encoding>,
    /// Operations to measure; repeat for several [default: all]
    #[arg(long = "op", value_enum, value_name = "OP")]
    operations: Vec<Operation>,
    #[command(flatten)]
    engine: EngineArgs,
    /// Operations of a batch
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// Threads that give batches to the engine at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    callers: u16,
    /// Seconds that each measurement may take
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds)]
    seconds: f64,
    /// Print one JSON object a measurement
    #[arg(long)]
    json: bool,
}

/// What else is measured.
#[derive(Debug, clap::Subcommand)]
enum Special {
    #[command(flatten)]
    Laboratory(Laboratory),
    Paper(paper::Args),
}

/// Runs the command.
///
/// # Errors
/// [`Error`] if the engine fails or standard output does.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    match &args.special {
        Some(Special::Laboratory(laboratory)) => laboratory.run(out),
        Some(Special::Paper(paper)) => paper::run(paper, out),
        None => with_engine!(args.engine, |engine| measure(args, engine, out)),
    }
}

fn measure<E: AnySetEngine>(args: &Args, engine: &E, out: &mut dyn Write) -> Result<(), Error> {
    let all_sets = if args.sets.is_empty() { &Set::ALL[..] } else { &args.sets };
    let operations =
        if args.operations.is_empty() { Operation::value_variants() } else { &args.operations };
    let cases: Vec<Case> = operations.iter().flat_map(|&operation| Case::of(operation)).collect();
    let suites: Vec<Suite> = all_sets
        .iter()
        .flat_map(|&set| args.encodings.iter().map(move |&encoding| Suite { set, encoding }))
        .collect();

    let progress = progress_bar(suites.len() * cases.len(), args.json);
    let mut records = Vec::new();
    for suite in suites {
        let mut report = |record: Record| -> Result<(), Error> {
            if args.json {
                serde_json::to_writer(&mut *out, &record).map_err(std::io::Error::from)?;
                writeln!(out)?;
            }
            records.push(record);
            Ok(())
        };
        let budget = Duration::from_secs_f64(args.seconds);
        let (batch, callers, progress, report) =
            (args.batch as usize, args.callers.into(), &progress, &mut report);
        suite.run(Measure {
            suite,
            engine,
            cases: &cases,
            batch,
            callers,
            budget,
            progress,
            report,
        })?;
    }
    progress.finish_and_clear();
    if !args.json {
        print_table(&records, out)?;
    }
    Ok(())
}

fn progress_bar(steps: usize, hidden: bool) -> ProgressBar {
    // Standard error hides the bar by itself where it is no terminal.
    let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} {eta} {msg}").expect("a valid template");
    ProgressBar::with_draw_target(Some(steps as u64), target).with_style(style)
}

fn print_table(records: &[Record], out: &mut dyn Write) -> Result<(), Error> {
    let mut table = new_table(
        [
            "set",
            "encoding",
            "op",
            "bench",
            "keys",
            "batch",
            "threads",
            "callers",
            "ops/s",
            "median us/op",
            "spread",
        ],
        5..11,
    );
    for record in records {
        table.add_row([
            record.set.clone(),
            record.pk_encoding.clone(),
            record.op.clone(),
            record.bench.clone(),
            record.keys.name().to_owned(),
            record.batch.to_string(),
            record.threads.to_string(),
            record.callers.to_string(),
            format!("{:.0}", record.ops_per_s),
            format!("{:.2}", record.median_ns_per_op / 1000.0),
            format!("{:.1} %", record.spread * 100.0),
        ]);
    }
    if let Some(Record { engine, device, backend, commit, date, .. }) = records.last() {
        writeln!(
            out,
            "{engine} engine on {device} ({backend}), commit {commit}, {date}\n\n{table}"
        )?;
    }
    Ok(())
}

/// What is measured.
#[derive(Copy, Clone, Debug)]
struct Case {
    operation: Operation,
    /// Keys of a batch; none for the methods of the key types.
    batch: Option<KeyUse>,
}

impl Case {
    fn of(operation: Operation) -> impl Iterator<Item = Self> {
        let batches: &[KeyUse] = match operation {
            Operation::Keygen => &[KeyUse::Each, KeyUse::Private],
            Operation::Encaps | Operation::Decaps => &[KeyUse::One, KeyUse::Each, KeyUse::Resident],
        };
        let batches = batches.iter().map(|&keys| Some(keys));
        std::iter::once(None).chain(batches).map(move |batch| Self { operation, batch })
    }
}

/// Measures all cases for one suite.
struct Measure<'a, E> {
    suite: Suite,
    engine: &'a E,
    cases: &'a [Case],
    batch: usize,
    callers: usize,
    budget: Duration,
    progress: &'a ProgressBar,
    report: &'a mut dyn FnMut(Record) -> Result<(), Error>,
}

impl<E: AnySetEngine> Task for Measure<'_, E> {
    type Output = Result<(), Error>;

    fn run<P: ParameterSet>(self) -> Result<(), Error> {
        let Self {
            suite: Suite { set, encoding },
            engine,
            cases,
            batch,
            callers,
            budget,
            progress,
            report,
        } = self;
        progress.set_message(format!("{set} {encoding}: keys"));
        let fixture = Fixture::<P, _>::new(engine.engine::<P>()?, batch)?;
        for &Case { operation, batch: keys } in cases {
            progress.set_message(format!("{set} {encoding} {}", operation.name()));
            let (statistics, on_engine) = match keys {
                None => (fixture.single(operation, budget)?, false),
                Some(keys) => (fixture.batch(operation, keys, budget, callers)?, true),
            };
            let callers = if on_engine { callers } else { 1 };
            let median = statistics.median / if on_engine { batch as f64 } else { 1.0 };
            let single_keys =
                if operation == Operation::Keygen { KeyUse::Each } else { KeyUse::One };
            report(Record {
                bench: if on_engine { "batch" } else { "single" }.to_owned(),
                engine: if on_engine { engine.name() } else { "cpu" }.to_owned(),
                device: if on_engine { engine.device() } else { cpu_name() },
                backend: if on_engine {
                    engine.backend()
                } else {
                    ctru_math::backend::in_use().name()
                }
                .to_owned(),
                set: set.degree().to_owned(),
                pk_encoding: encoding.name().to_owned(),
                op: operation.name().to_owned(),
                keys: keys.unwrap_or(single_keys),
                batch: if on_engine { batch } else { 1 },
                transfers: if on_engine { engine.transfers() } else { "none" }.to_owned(),
                threads: if on_engine { engine.threads() } else { 1 },
                callers,
                ops_per_s: callers as f64 * 1e9 / median,
                median_ns_per_op: median,
                spread: statistics.spread,
                samples: statistics.samples,
                commit: record::commit(),
                date: record::now(),
            })?;
            progress.inc(1);
        }
        Ok(())
    }
}
