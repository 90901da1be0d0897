//! `ctru kernels`: how fast every GPU kernel is on data that is on the device.

use std::io::Write;

use ctru_gpu_kernels::descriptor::{Batch, Kernel};
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::cuda::{CudaMemory, CudaQueue};
use ctru_gpu_runtime::{Buffer, Device, Plain, Queue, RuntimeError};
use ctru_kem::engine::EngineError;
use ctru_kem::engine::cuda::{self, CudaDevice};

use crate::error::Error;
use crate::info::new_table;
use crate::record::{self, KeyUse, Record, Statistics};
use crate::timing;

/// Measure every GPU kernel alone, on random data that is on the device
///
/// Each kernel runs on a batch in which every operation has data of its own. A sample is the time of some launches one
/// after the other, by the device's events.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of the GPU
    #[arg(long, default_value_t = 0, value_name = "N")]
    gpu: u32,
    /// Operations of a launch
    #[arg(long, default_value_t = 65536, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// Only kernels whose name contains this
    #[arg(default_value = "", hide_default_value = true)]
    name: String,
    /// Print one JSON object a measurement
    #[arg(long)]
    json: bool,
}

/// Bytes that no row of a kernel's array exceeds: a decapsulation key of n = 1277 in 13-bit encoding.
const ROW_BYTES: usize = 2752;

/// Runs the command.
///
/// # Errors
/// [`Error::Engine`] if there is no GPU or it fails, [`Error::Report`] if standard output does not take the report.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let device = cuda::open(args.gpu)?;
    let measured =
        measure(args, device).map_err(|error| EngineError::Device { error, done: Vec::new() })?;
    if args.json {
        for record in &measured {
            serde_json::to_writer(&mut *out, record).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
        return Ok(());
    }
    let mut table = new_table(["kernel", "n", "M/s", "ns", "spread"], 2..5);
    for record in &measured {
        table.add_row([
            record.op.clone(),
            record.set.clone(),
            format!("{:.1}", record.ops_per_s / 1e6),
            format!("{:.2}", record.median_ns_per_op),
            format!("{:.1} %", record.spread * 100.0),
        ]);
    }
    writeln!(out, "{table}")?;
    Ok(())
}

/// Measures the kernels of all rings.
fn measure(args: &Args, device: CudaDevice) -> Result<Vec<Record>, RuntimeError> {
    let queue = device.queue()?;
    let mut records = Vec::new();
    for kernels in table::ALL {
        for kernel in kernels.each() {
            if !kernel.name().contains(&args.name) {
                continue;
            }
            let statistics = time(&queue, kernel, args.batch)?;
            let (op, set) = kernel.name().rsplit_once('_').unwrap_or((kernel.name(), ""));
            let median = statistics.median / f64::from(args.batch);
            records.push(Record {
                bench: "kernel".to_owned(),
                engine: "gpu".to_owned(),
                device: device.info()?.name,
                backend: "cuda".to_owned(),
                set: set.to_owned(),
                pk_encoding: String::new(),
                op: op.to_owned(),
                keys: KeyUse::Each,
                batch: args.batch as usize,
                transfers: "none".to_owned(),
                threads: 1,
                callers: 1,
                ops_per_s: 1e9 / median,
                median_ns_per_op: median,
                spread: statistics.spread,
                samples: statistics.samples,
                commit: record::commit(),
                date: record::now(),
            });
        }
    }
    Ok(records)
}

/// An array of random elements.
pub(crate) enum Array {
    Bytes(Buffer<u8, CudaMemory>),
    Halves(Buffer<u16, CudaMemory>),
    Words(Buffer<u64, CudaMemory>),
}

impl Array {
    pub(crate) fn new(
        queue: &CudaQueue,
        element_bytes: u32,
        rows: u32,
    ) -> Result<Self, RuntimeError> {
        match element_bytes {
            1 => random(queue, rows, |bits| bits as u8).map(Self::Bytes),
            2 => random(queue, rows, |bits| bits as u16).map(Self::Halves),
            _ => random(queue, rows, |bits| bits).map(Self::Words),
        }
    }

    pub(crate) fn memory(&self) -> &CudaMemory {
        match self {
            Self::Bytes(array) => array,
            Self::Halves(array) => array,
            Self::Words(array) => array,
        }
    }
}

fn random<T: Plain>(
    queue: &CudaQueue,
    rows: u32,
    element: impl Fn(u64) -> T,
) -> Result<Buffer<T, CudaMemory>, RuntimeError> {
    timing::random(queue, rows as usize * ROW_BYTES / T::BYTES as usize, element)
}

/// Times of one launch.
pub(crate) fn time(
    queue: &CudaQueue,
    kernel: &Kernel,
    batch: u32,
) -> Result<Statistics, RuntimeError> {
    let arrays: Vec<Array> = kernel
        .parameters()
        .iter()
        .map(|parameter| Array::new(queue, parameter.element_bytes(), batch))
        .collect::<Result<_, _>>()?;
    let memory: Vec<&CudaMemory> = arrays.iter().map(Array::memory).collect();
    timing::on_device(queue, || queue.launch(kernel, &memory, Batch::each(batch)))
}
