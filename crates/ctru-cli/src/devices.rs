//! `ctru devices`: lists the GPUs of this machine.

use std::io::Write;

use ctru_kem::engine::cuda;
use ctru_measure::table;

use crate::error::Error;

/// Runs the command.
///
/// # Errors
/// [`Error::Engine`] if there is no driver or no GPU, [`Error::Report`] if standard output fails.
pub(crate) fn run(out: &mut dyn Write) -> Result<(), Error> {
    let devices = cuda::devices()?;
    let mut table = table::markdown(
        ["gpu", "name", "compute capability", "multiprocessors", "memory MiB"],
        2..5,
    );
    for device in devices {
        table.add_row([
            device.index.to_string(),
            device.name,
            format!("{}.{}", device.compute_capability.0, device.compute_capability.1),
            device.multiprocessors.to_string(),
            (device.memory_bytes >> 20).to_string(),
        ]);
    }
    let (major, minor) = cuda::cuda_version()?;
    writeln!(out, "The driver knows CUDA {major}.{minor}.\n\n{table}")?;
    Ok(())
}
