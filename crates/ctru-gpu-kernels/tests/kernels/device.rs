//! Where the tests of kernels run: on the emulator. `ctru-tests` has a file of this name that runs
//! them on a GPU.

use ctru_gpu_kernels::descriptor::{Batch, Kernel};
use ctru_gpu_kernels::emulator::{Buffer, Emulator};

/// Whether long launches take seconds.
#[allow(dead_code, reason = "not all that include this file have long launches")]
pub(crate) const IS_EMULATED: bool = true;

/// Runs a kernel on arrays that the host holds.
///
/// # Panics
/// If the kernel breaks a rule of the machine.
pub(crate) fn launch(kernel: &Kernel, buffers: &[&Buffer], batch: Batch) {
    Emulator::new().launch(kernel, buffers, batch).unwrap();
}
