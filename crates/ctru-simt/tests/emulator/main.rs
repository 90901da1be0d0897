//! Tests that the emulator reports every kind of fault, and no fault where there is none.

mod atomics;
mod contents;
mod copies;
mod descriptor;
mod modules;
mod rules;

use ctru_simt::descriptor::{Batch, Kernel, Parameter, Rows, Shape};
use ctru_simt::emulator::{Buffer, Emulate, Emulator, Fault};

/// Returns a kernel with 64 threads, 256 bytes of shared memory and one operation per block. It
/// takes one array of `u32` with 64 elements per operation.
fn kernel(emulate: Emulate) -> Kernel {
    const ARRAY: &[Parameter] = &[Parameter::new("array", 4, Rows::EachOperation, 64)];
    Kernel::emulated("test", Shape::new(64, 1, 256), ARRAY, Box::leak(Box::new(emulate)))
}

/// Drops a value that a kernel only loads.
fn ignore<T>(_: T) {}

/// Runs two blocks of a kernel on an array of 128 elements.
fn run(emulate: Emulate) -> Result<Vec<u32>, Fault> {
    let array = Buffer::new(&[7u32; 128]);
    Emulator::new().launch(&kernel(emulate), &[&array], Batch::each(2))?;
    Ok(array.content())
}
