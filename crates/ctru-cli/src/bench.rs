//! `ctru bench`: measures the speed of every operation.

use std::hint::black_box;
use std::io::Write;
use std::time::Duration;

use ctru_kem::engine::BatchEngine;
use ctru_kem::{Encoding, Parameters, Set};
use ctru_measure::{
    CASES, HostMemory, KeyUse, Operation, Record, SeedUse, Workload, cpu_name, parse_seconds, table,
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::engine::{Chosen, EngineArgs};
use crate::error::Error;
use crate::parameters::{encoding_parser, set_parser};

/// Measure every operation, one at a time and in batches
///
/// "single" measurements call the methods of the key types on one thread. These methods decode the
/// key each time. "batch" measurements give batches to the engine: all operations use one key
/// ("one"), each operation has its own key that the engine decodes each time ("each"), or its own
/// key that the engine has decoded before ("resident"). Key generation returns both keys of each
/// pair ("each"), or only the private keys, which contain the public ones ("private").
///
/// With --callers, several threads give batches to one engine at the same time. The operations per
/// second are then those of all threads together; the median time is the one that each thread sees.
///
/// Each measurement repeats its operation or batch for --seconds after a warm-up. The time of an
/// operation is the median over the repetitions. The spread is the distance between their 10th and
/// 90th percentiles, divided by the median.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Parameter sets to measure; repeat for several [default: all that the engine has]
    #[arg(long = "set", value_parser = set_parser(), value_name = "SET")]
    sets: Vec<Set>,
    /// Public-key encodings to measure; repeat for both
    #[arg(
        long = "encoding",
        value_parser = encoding_parser(),
        value_name = "ENCODING",
        default_value = "mixed-radix"
    )]
    encodings: Vec<Encoding>,
    /// Operations to measure; repeat for several [default: all]
    #[arg(long = "op", value_enum, value_name = "OP")]
    operations: Vec<Operation>,
    #[command(flatten)]
    engine: EngineArgs,
    /// Operations per batch; repeat for several sizes. The keys and results of all operations must
    /// fit into memory
    #[arg(
        long = "batch",
        value_name = "N",
        default_value = "512",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    batches: Vec<u32>,
    /// Whether the engine derives the seeds of a batch from one, or each key generation and each
    /// encapsulation has its own, in memory like that of the rest of the batch
    #[arg(long, value_enum, value_name = "SEEDS", default_value_t)]
    seeds: SeedUse,
    /// Keep the batches in pageable memory. By default the engine pins their memory, which lets a
    /// GPU read and write it directly
    #[arg(long)]
    pageable: bool,
    /// Keep the batches in the memory of the GPU, so that no transfers are measured. Needs exactly
    /// one GPU
    #[arg(long, conflicts_with_all = ["pageable", "callers", "seeds"])]
    on_device: bool,
    /// Threads that give batches to the engine at the same time
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=1024)
    )]
    callers: u16,
    /// Seconds that each measurement may take
    #[arg(long, value_name = "S", default_value_t = 0.3, value_parser = parse_seconds)]
    seconds: f64,
    /// Print one JSON object per measurement
    #[arg(long)]
    json: bool,
}

/// Returns the parameters to measure: those that the command line names, or all that the engine
/// supports with one of the encodings.
///
/// # Errors
/// [`Error::Parameters`] if a named set does not have a named encoding.
fn all_parameters(args: &Args, engine: &dyn BatchEngine) -> Result<Vec<Parameters>, Error> {
    let sets = if args.sets.is_empty() { Set::ALL } else { &args.sets };
    let pairs =
        sets.iter().flat_map(|&set| args.encodings.iter().map(move |&encoding| (set, encoding)));
    if args.sets.is_empty() {
        let existing = pairs.filter_map(|(set, encoding)| Parameters::new(set, encoding).ok());
        return Ok(existing.filter(|&parameters| engine.supports(parameters)).collect());
    }
    Ok(pairs.map(|(set, encoding)| Parameters::new(set, encoding)).collect::<Result<_, _>>()?)
}

/// Runs the command.
///
/// # Errors
/// [`Error`] if the engine or standard output fails.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let chosen = args.engine.start()?;
    if args.on_device && chosen.devices != 1 {
        return Err(Error::OnDeviceWithoutDevice);
    }
    let operations =
        if args.operations.is_empty() { &Operation::ALL[..] } else { &args.operations };
    let cases: Vec<Case> = operations.iter().flat_map(|&operation| Case::of(operation)).collect();
    let all_parameters = all_parameters(args, chosen.open()?.engine())?;

    let singles = cases.iter().filter(|case| case.batch.is_none()).count();
    let batches = args.batches.len() * (cases.len() - singles);
    let steps = all_parameters.len() * (singles + batches);
    let progress = progress_bar(steps, args.json);
    let mut records = Vec::new();
    for parameters in all_parameters {
        let mut report = |record: Record| -> Result<(), Error> {
            if args.json {
                record.write_line(&mut *out)?;
            }
            records.push(record);
            Ok(())
        };
        measure_set(args, &chosen, parameters, &cases, &progress, &mut report)?;
    }
    progress.finish_and_clear();
    if !args.json {
        print_table(&records, out)?;
    }
    Ok(())
}

fn progress_bar(steps: usize, hidden: bool) -> ProgressBar {
    // The target itself hides the bar if standard error is not a terminal.
    let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} {eta} {msg}").expect("a valid template");
    ProgressBar::with_draw_target(Some(steps as u64), target).with_style(style)
}

fn print_table(records: &[Record], out: &mut dyn Write) -> Result<(), Error> {
    let header = [
        "set",
        "encoding",
        "op",
        "bench",
        "keys",
        "seeds",
        "batch",
        "threads",
        "callers",
        "ops/s",
        "median us/op",
        "spread",
    ];
    let mut table = table::markdown(header, 6..12);
    for record in records {
        table.add_row([
            record.set.clone(),
            record.pk_encoding.clone(),
            record.op.clone(),
            record.bench.clone(),
            record.keys.name().to_owned(),
            // Single operations and decapsulations have none.
            if record.seeds == SeedUse::Each { "each" } else { "-" }.to_owned(),
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

/// Checks that the system would give the memory for batches of `batch` operations. Without this
/// check, the allocation would fail in a place where the program can only abort.
///
/// # Errors
/// [`Error::BatchMemory`].
fn check_memory(
    parameters: Parameters,
    cases: &[Case],
    seeds: SeedUse,
    batch: usize,
    callers: usize,
) -> Result<(), Error> {
    let fits = cases.iter().all(|case| {
        let bytes = Workload::host_bytes(parameters, case.operation, seeds, batch, callers);
        bytes.is_some_and(|bytes| {
            let mut memory = Vec::<u8>::new();
            let reserved = memory.try_reserve_exact(bytes);
            // Otherwise the compiler may leave out an allocation that nothing uses.
            black_box(&mut memory);
            reserved.is_ok()
        })
    });
    if fits { Ok(()) } else { Err(Error::BatchMemory { batch, callers }) }
}

/// One measurement of a parameter set.
#[derive(Copy, Clone, Debug)]
struct Case {
    operation: Operation,
    /// The keys of a batch, or `None` for the methods of the key types.
    batch: Option<KeyUse>,
}

impl Case {
    fn of(operation: Operation) -> impl Iterator<Item = Self> {
        let batches = CASES.into_iter().filter(move |(of, _)| *of == operation);
        let batches = batches.map(|(_, keys)| Some(keys));
        std::iter::once(None).chain(batches).map(move |batch| Self { operation, batch })
    }
}

/// Measures all cases of one parameter set and encoding.
fn measure_set(
    args: &Args,
    chosen: &Chosen,
    parameters: Parameters,
    cases: &[Case],
    progress: &ProgressBar,
    report: &mut dyn FnMut(Record) -> Result<(), Error>,
) -> Result<(), Error> {
    let callers = args.callers.into();
    let memory = if args.pageable { HostMemory::Pageable } else { HostMemory::Pinned };
    let budget = Duration::from_secs_f64(args.seconds);
    let opened = chosen.open()?;
    for (index, &batch) in args.batches.iter().enumerate() {
        let batch = batch as usize;
        progress.set_message(format!("{parameters}: keys"));
        // With the data on the device, only single operations take keys from the host.
        let prepared = if args.on_device { 1 } else { batch };
        check_memory(parameters, cases, args.seeds, prepared, callers)?;
        let workload = Workload::new(opened.engine(), parameters, prepared, memory)?;
        let workload = workload.with_seeds(args.seeds);
        // Single operations do not depend on the size of batches.
        let cases = cases.iter().filter(|case| index == 0 || case.batch.is_some());
        for &Case { operation, batch: keys } in cases {
            progress.set_message(format!("{parameters} {}", operation.name()));
            let record = Record {
                set: parameters.set().id().to_owned(),
                pk_encoding: parameters.encoding().name().to_owned(),
                op: operation.name().to_owned(),
                ..Record::default()
            };
            report(match keys {
                Some(keys) => {
                    let statistics = if args.on_device {
                        opened.on_device(parameters, (operation, keys), batch, budget)?
                    } else {
                        workload.batch(operation, keys, budget, callers)?
                    };
                    let transfers = match chosen.devices {
                        0 => "none",
                        _ if args.on_device => "none, data on the device",
                        _ => memory.name(),
                    };
                    let record = Record {
                        bench: "batch".to_owned(),
                        engine: chosen.name.to_owned(),
                        device: chosen.device.clone(),
                        backend: chosen.backend.to_owned(),
                        keys,
                        seeds: match operation {
                            Operation::Keygen | Operation::Encaps => args.seeds,
                            Operation::Decaps => SeedUse::default(),
                        },
                        batch,
                        transfers: transfers.to_owned(),
                        threads: chosen.threads,
                        callers,
                        ..record
                    };
                    record.timed(statistics, batch as f64)
                }
                None => {
                    let statistics = workload.single(operation, budget);
                    let is_keygen = operation == Operation::Keygen;
                    let record = Record {
                        bench: "single".to_owned(),
                        engine: "cpu".to_owned(),
                        device: cpu_name(),
                        backend: ctru_math::backend::in_use().name().to_owned(),
                        keys: if is_keygen { KeyUse::Each } else { KeyUse::One },
                        batch: 1,
                        transfers: "none".to_owned(),
                        threads: 1,
                        ..record
                    };
                    record.timed(statistics, 1.0)
                }
            })?;
            progress.inc(1);
        }
    }
    Ok(())
}
