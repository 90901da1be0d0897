//! `ctru-research paper`: measures the tables and figures of the founding paper on this machine.

#[cfg(any(feature = "cuda", test))]
mod measure;
mod tables;

use std::io::Write;
use std::path::PathBuf;

use crate::error::Error;
use crate::records::Records;

pub(crate) use tables::comparisons;

/// Measure the tables and figures of the paper on a GPU, and print them beside known results
///
/// The tables cover products, fused and unfused encryption, streams, resources, power, all
/// operations with and without transfers, latencies and inversions. Each figure of the paper stands
/// beside ours, with the ratio. A roofline table compares the time of each
/// operation with the ceilings of transfer, hashing, tensor cores and memory, which are measured in
/// the same run. The command needs an NVIDIA GPU, or --from.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Read measurements from a file instead of measuring; repeat for several files
    #[arg(long = "from", value_name = "FILE")]
    from: Vec<PathBuf>,
    /// Write one JSON object per measurement to this file
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    json: Option<PathBuf>,
    #[cfg(feature = "cuda")]
    #[command(flatten)]
    options: measure::Options,
}

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let records = if args.from.is_empty() { measured(args)? } else { Records::read(&args.from)? };
    tables::write(&records, out)
}

#[cfg(feature = "cuda")]
fn measured(args: &Args) -> Result<Records, Error> {
    if let Err(error) = ctru_kem::engine::cuda::devices() {
        return Err(Error::NeedsGpu(Box::new(error.into())));
    }
    let measure = |report: crate::records::Report<'_>| measure::run(&args.options, report);
    crate::records::collect(args.json.as_deref(), measure)
}

#[cfg(not(feature = "cuda"))]
fn measured(args: &Args) -> Result<Records, Error> {
    let _ = &args.json;
    Err(Error::NeedsGpu(Box::new(Error::WithoutGpu)))
}
