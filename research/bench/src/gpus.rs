//! `ctru-research gpus`: measures how rates grow with the number of GPUs of one host.
//!
//! Three measurements belong to each operation and number of GPUs: an engine over these GPUs with
//! batches in pinned memory, plain copies of the same bytes, which are the ceiling of such batches,
//! and engines on data that stays on the GPUs, one for each GPU.

use std::io::Write;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use ctru_kem::engine::cuda::{self, CudaDevice, CudaEngine};
use ctru_kem::engine::{DeviceEngine, DeviceOptions, EngineError};
use ctru_kem::{CtruPrime761, ParameterSet};
use ctru_measure::{
    CASES, HostMemory, KeyUse, Operation, Record, ResidentWorkload, Statistics, Workload,
    parse_seconds, sample, table,
};

use crate::copies::bytes_of;
use crate::error::Error;
use crate::link::Link;
use crate::power;
use crate::records::{self, Records, Report, figure, kind, watts};

/// Measure how the rates of CTRU-Prime-761 grow with the number of GPUs of this host
///
/// For each operation and number of GPUs: an engine with batches in pinned memory, plain copies of
/// the same bytes, and engines on data that stays on the GPUs. The GPUs should be of one kind.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A number of GPUs to measure; repeat for several [default: 1, 2, 4 and so on, and all]
    #[arg(long = "gpus", value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    counts: Vec<u16>,
    /// Operations per batch and GPU
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1 << 20,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    batch: u32,
    /// Seconds that each measurement may take
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = parse_seconds)]
    seconds: f64,
    /// Write one JSON object per measurement to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The parameter set that is measured, and its name in records.
type Set = CtruPrime761;
const SET: &str = "761";

/// The most operations per GPU whose bytes plain copies move. More take longer to allocate, and
/// these take some milliseconds.
const MOST_COPIED: usize = 1 << 18;

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let found = cuda::devices()?;
    let counts = if args.counts.is_empty() {
        powers_of_two(found.len())
    } else {
        args.counts.iter().copied().map(usize::from).collect()
    };
    let most = counts.iter().copied().max().unwrap_or_default() as u32;
    let devices: Vec<CudaDevice> = (0..most).map(cuda::open).collect::<Result<_, _>>()?;
    let name = &found.first().ok_or(EngineError::NoSlots)?.name;
    let measured = records::collect(args.json.as_deref(), |report| {
        for &count in &counts {
            Host { args, devices: &devices[..count], name, report: &mut *report }.measure()?;
        }
        Ok(())
    })?;
    write(&measured, out)
}

/// Returns the powers of two below `most`, and `most`.
fn powers_of_two(most: usize) -> Vec<usize> {
    let powers = (0..usize::BITS).map(|exponent| 1 << exponent);
    powers.take_while(|&power| power < most).chain([most]).collect()
}

/// The GPUs that are measured together, and the receiver of the results.
struct Host<'a> {
    args: &'a Args,
    devices: &'a [CudaDevice],
    /// The name of one GPU.
    name: &'a str,
    report: Report<'a>,
}

impl Host<'_> {
    /// Measures everything on these GPUs.
    fn measure(mut self) -> Result<(), Error> {
        self.measure_engine()?;
        self.measure_link()?;
        self.measure_resident()
    }

    /// Measures one engine over all GPUs, with batches in pinned memory.
    fn measure_engine(&mut self) -> Result<(), Error> {
        let engine = DeviceEngine::over(self.devices.to_vec(), DeviceOptions::default())?;
        let batch = self.args.batch as usize;
        let slots = engine.prepare(Set::PARAMETERS)?.slots;
        let workload = Workload::new(
            &engine,
            Set::PARAMETERS,
            batch * self.devices.len(),
            HostMemory::Pinned,
        )?;
        for case @ (operation, keys) in CASES {
            let (statistics, readings) = workload.with_batch(operation, keys, |run| {
                let statistics = sample(self.budget(), &mut *run)?;
                // The power is read during a separate run, because reading it takes time of the
                // host.
                let load = || sample(power::LEAST, run);
                let (load, readings) = power::during(&self.numbers(), load);
                load.map(|_| (statistics, readings))
            })?;
            self.report(kind::BATCH, case, batch, slots, statistics, watts(readings))?;
        }
        Ok(())
    }

    /// Measures plain copies of all GPUs at the same time.
    fn measure_link(&mut self) -> Result<(), Error> {
        let batch = (self.args.batch as usize).min(MOST_COPIED);
        for case @ (operation, keys) in CASES {
            let bytes = bytes_of::<Set>(operation, keys);
            let [to, from] = bytes.map(|bytes| bytes * batch);
            let link = |device| Link::new(device, to, from);
            let mut links: Vec<Link> = self.devices.iter().map(link).collect::<Result<_, _>>()?;
            let statistics = sample(self.budget(), || {
                links.iter_mut().try_for_each(|link| link.send().and_then(|()| link.fetch()))?;
                links.iter().try_for_each(Link::synchronise)
            })?;
            let [inputs, results] = bytes.map(|bytes| bytes as f64);
            let figures = vec![(figure::UPLOADED, inputs), (figure::DOWNLOADED, results)];
            self.report(kind::LINK, case, batch, 1, statistics, figures)?;
        }
        Ok(())
    }

    /// Measures one engine for each GPU, with data on that GPU.
    fn measure_resident(&mut self) -> Result<(), Error> {
        let engine = |&device| DeviceEngine::new(device, DeviceOptions::default());
        let engines: Vec<CudaEngine> = self.devices.iter().map(engine).collect::<Result<_, _>>()?;
        let batch = self.args.batch as usize;
        let workloads: Vec<ResidentWorkload<'_, _>> = engines
            .iter()
            .zip(self.devices)
            .map(|(engine, device)| ResidentWorkload::new(engine, Set::PARAMETERS, device, batch))
            .collect::<Result<_, _>>()?;
        for case in CASES {
            let statistics = at_the_same_time(&workloads, case, self.budget())?;
            let load = || at_the_same_time(&workloads, case, power::LEAST);
            let (load, readings) = power::during(&self.numbers(), load);
            load?;
            self.report(kind::ON_DEVICE, case, batch, engines.len(), statistics, watts(readings))?;
        }
        Ok(())
    }

    /// Reports the time of a batch with `batch` operations for each GPU.
    fn report(
        &mut self,
        kind: &str,
        (operation, keys): (Operation, KeyUse),
        batch: usize,
        threads: usize,
        statistics: Statistics,
        figures: Vec<(&'static str, f64)>,
    ) -> Result<(), Error> {
        let batch = batch * self.devices.len();
        let transfers = if kind == kind::ON_DEVICE { "none" } else { HostMemory::Pinned.name() };
        let record = Record {
            pk_encoding: Set::PARAMETERS.encoding().name().to_owned(),
            keys,
            batch,
            transfers: transfers.to_owned(),
            threads,
            ..records::on_gpu(kind, self.name, SET, operation.name())
        };
        let gpus = [(figure::GPUS, self.devices.len() as f64)];
        let record = record.timed(statistics, batch as f64);
        (self.report)(record.with_figures(figures).with_figures(gpus))
    }

    fn budget(&self) -> Duration {
        Duration::from_secs_f64(self.args.seconds)
    }

    /// Returns the numbers of the GPUs.
    fn numbers(&self) -> Vec<u32> {
        (0..self.devices.len() as u32).collect()
    }
}

/// Measures all workloads, each with a thread of its own. Returns the time of a batch that consists
/// of a batch of each, at the sum of their rates.
fn at_the_same_time(
    workloads: &[ResidentWorkload<'_, CudaDevice>],
    (operation, keys): (Operation, KeyUse),
    budget: Duration,
) -> Result<Statistics, Error> {
    let begin = Barrier::new(workloads.len());
    let measure = |workload: &ResidentWorkload<'_, CudaDevice>| {
        begin.wait();
        workload.batch(operation, keys, budget)
    };
    let measured: Vec<Statistics> = thread::scope(|scope| {
        let measure = &measure;
        let threads: Vec<_> =
            workloads.iter().map(|workload| scope.spawn(move || measure(workload))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect::<Result<_, _>>()
    })?;
    let rates: f64 = measured.iter().map(|statistics| statistics.median.recip()).sum();
    Ok(Statistics {
        median: workloads.len() as f64 / rates,
        spread: measured.iter().map(|statistics| statistics.spread).fold(0.0, f64::max),
        samples: measured.iter().map(|statistics| statistics.samples).min().unwrap_or_default(),
    })
}

/// Writes a table with a row for each operation and number of GPUs: the rates, how many times that
/// of one GPU they are, and which part of plain copies the batches in pinned memory reach.
fn write(measured: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let header = [
        "op",
        "keys",
        "GPUs",
        "M/s",
        "times one",
        "of copies",
        "W",
        "on GPUs, M/s",
        "times one",
        "W",
    ];
    let mut table = table::markdown(header, 2..10);
    let number = |value: Option<f64>, digits| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    for (operation, keys) in CASES {
        let rate = |kind, gpus: Option<f64>| {
            let mut of_case = measured.of(kind, SET, operation, keys);
            of_case.find(|record| record.figure(figure::GPUS) == gpus)
        };
        for record in measured.of(kind::BATCH, SET, operation, keys) {
            let gpus = record.figure(figure::GPUS);
            let times = |kind| {
                let [this, one] = [gpus, Some(1.0)].map(|gpus| rate(kind, gpus));
                Some(this?.ops_per_s / one?.ops_per_s)
            };
            let resident = rate(kind::ON_DEVICE, gpus);
            let carried = rate(kind::LINK, gpus).map(|link| record.ops_per_s / link.ops_per_s);
            table.add_row([
                operation.name().to_owned(),
                keys.name().to_owned(),
                number(gpus, 0),
                number(Some(record.ops_per_s / 1e6), 1),
                number(times(kind::BATCH), 2),
                number(carried.map(|part| 100.0 * part), 0) + " %",
                number(record.figure(figure::WATTS), 0),
                number(resident.map(|resident| resident.ops_per_s / 1e6), 1),
                number(times(kind::ON_DEVICE), 2),
                number(resident.and_then(|resident| resident.figure(figure::WATTS)), 0),
            ]);
        }
    }
    writeln!(out, "{table}")?;
    Ok(())
}
