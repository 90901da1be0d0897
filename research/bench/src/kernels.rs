//! `ctru-research kernels`: measures every kernel of the KEM on data on the device.

use std::io::Write;
use std::path::PathBuf;

use ctru_gpu_kernels::table as kernel_table;
use ctru_gpu_runtime::Device;
use ctru_kem::engine::cuda::{self, CudaDevice};
use ctru_measure::{Record, table};

use crate::error::Error;
use crate::gpu;
use crate::records::{self, Report, kind};

/// Measure every kernel of the KEM on a GPU, on random data on the device
///
/// Each operation of a batch has its own data. A sample is the time of several launches in a row,
/// measured with events of the device.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of the GPU
    #[arg(long, default_value_t = 0, value_name = "N")]
    gpu: u32,
    /// Operations per launch
    #[arg(
        long,
        value_name = "N",
        default_value_t = 65536,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    batch: u32,
    /// Measure only kernels whose name contains this text
    #[arg(default_value = "", hide_default_value = true)]
    name: String,
    /// Write one JSON object per measurement to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let device = cuda::open(args.gpu)?;
    let measured = records::collect(args.json.as_deref(), |report| measure(args, device, report))?;
    let mut table = table::markdown(["kernel", "n", "M/s", "ns", "spread"], 2..5);
    for record in &measured.0 {
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
fn measure(args: &Args, device: CudaDevice, report: Report<'_>) -> Result<(), Error> {
    let queue = device.queue()?;
    let name = device.info()?.name;
    for kernel in kernel_table::ALL.iter().flat_map(|kernels| kernels.each()) {
        if !kernel.name().contains(&args.name) {
            continue;
        }
        let statistics = gpu::time_kernel(&queue, kernel, args.batch)?;
        let (op, set) = records::operation_and_set(kernel.name());
        let record = records::on_gpu(kind::KERNEL, &name, set, op);
        let record = Record { batch: args.batch as usize, ..record };
        report(record.timed(statistics, f64::from(args.batch)))?;
    }
    Ok(())
}
