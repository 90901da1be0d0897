//! Tests that the addresses that a kernel's threads access do not depend on secrets.

use ctru_gpu_kernels::descriptor::{Batch, Kernel};
use ctru_gpu_kernels::emulator::{Buffer, Emulator};

/// Checks that the threads of a kernel access the same addresses in the same order for two secrets.
///
/// # Panics
/// If the traces differ, or if the kernel violates a rule of the machine.
pub(crate) fn assert_same_trace(kernel: &Kernel, secrets: [Vec<Buffer>; 2], batch: Batch) {
    let [first, second] = secrets.map(|buffers| {
        let buffers: Vec<&Buffer> = buffers.iter().collect();
        Emulator::new().trace(kernel, &buffers, batch).unwrap()
    });
    assert!(
        !first.is_empty() && first == second,
        "{}: the trace depends on the secret",
        kernel.name()
    );
}
