//! Runs kernels on the emulator.

use ctru_gpu_kernels::descriptor::{Batch, Kernel};
use ctru_gpu_kernels::emulator::{Buffer, Emulator};

/// Whether the device is the emulator, on which long launches take seconds.
#[allow(dead_code, reason = "not every test that includes this file has long launches")]
pub(crate) const IS_EMULATED: bool = true;

/// Runs a kernel on arrays of the emulator.
///
/// # Panics
/// If the kernel violates a rule of the machine.
pub(crate) fn launch(kernel: &Kernel, buffers: &[&Buffer], batch: Batch) {
    Emulator::new().launch(kernel, buffers, batch).unwrap();
}
