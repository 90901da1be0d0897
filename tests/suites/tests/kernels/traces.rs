//! Tests that the addresses that a kernel's threads access do not depend on secrets.

use ctru_gpu_kernels::descriptor::{Batch, Kernel, Parameter, Rows, Shape};
use ctru_gpu_kernels::emulator::{Buffer, Emulate, Emulator};
use ctru_gpu_kernels::simt::Simt;

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

#[test]
#[should_panic(expected = "look_up: the trace depends on the secret")]
fn a_leaked_address_is_found() {
    /// A table lookup with a secret index: every thread uses its own word as an index.
    const LOOK_UP: Emulate = |s, arrays, _| {
        let secret = s.load::<u32>(arrays[0].view(), s.thread());
        s.load::<u32>(arrays[0].view(), secret);
    };
    const ARRAY: &[Parameter] = &[Parameter::new("array", 4, Rows::One, 64)];
    let kernel = Kernel::emulated("look_up", Shape::new(64, 1, 0), ARRAY, &LOOK_UP);
    // The two secrets differ in one word.
    let other: Vec<u32> = (0..64).map(|i| u32::from(i == 40)).collect();
    let secrets = [vec![0u32; 64], other].map(|secret| vec![Buffer::new(&secret)]);
    assert_same_trace(&kernel, secrets, Batch::each(1));
}
