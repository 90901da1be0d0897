//! `ctru plan`: prints what an engine on GPUs does with a batch, without a GPU.

use std::io::Write;

use ctru_kem::Set;
use ctru_kem::engine::DeviceOptions;
use ctru_kem::engine::device::plan::{self, Keys, Place, of_batch};
use ctru_measure::Operation;

use crate::error::Error;
use crate::parameters::set_parser;

/// Print what the engine does with a batch on GPUs: chunks, kernels, and how rows travel
///
/// This needs no GPU.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Parameter set
    #[arg(long, value_parser = set_parser())]
    set: Set,
    /// Operation
    #[arg(long, value_enum)]
    op: Operation,
    /// Number of operations
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// Use one key for all operations, not one for each
    #[arg(long)]
    one_key: bool,
    /// The rows are in memory that is not pinned
    #[arg(long)]
    pageable: bool,
    /// The rows are on the GPU
    #[arg(long, conflicts_with = "pageable")]
    resident: bool,
    /// Kind of the GPUs
    #[arg(long, value_name = "NAME", default_value = "NVIDIA H100")]
    gpu: String,
    /// Number of GPUs
    #[arg(long, value_name = "N", default_value_t = 1)]
    gpus: u16,
}

/// Runs the command.
///
/// # Errors
/// [`Error::Engine`] if the set has no kernels or the number of GPUs is 0, [`Error::Report`] if
/// standard output fails.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Error> {
    let operation = match args.op {
        Operation::Keygen => plan::Operation::KeyPairs,
        Operation::Encaps => plan::Operation::Encapsulation,
        Operation::Decaps => plan::Operation::Decapsulation,
    };
    let place = match (args.pageable, args.resident) {
        (true, _) => Place::Pageable,
        (_, true) => Place::Device,
        _ => Place::Pinned,
    };
    let keys = if args.one_key { Keys::One } else { Keys::Each };
    let parameters = args.set.into();
    let gpus = (args.gpu.as_str(), args.gpus.into());
    let batch = (operation, args.batch as usize, keys, place);
    let plan = of_batch(parameters, &DeviceOptions::default(), gpus, batch)?;
    write!(out, "{plan}")?;
    Ok(())
}
