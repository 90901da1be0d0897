//! Prints how many operations of the machine the emulator makes per second on one core, for some
//! kernels. An operation is an access to memory, a barrier, a shuffle, a vote or a matrix product
//! by one thread.

use std::error::Error;
use std::time::Instant;

use ctru_machine::{AXPY, HISTOGRAM, PRODUCT_S8, REVERSE_U32, SUMS_F32, VOTES};
use ctru_simt::descriptor::{Batch, Kernel};
use ctru_simt::emulator::{Buffer, Emulator};

/// Launches, of which the fastest counts.
const LAUNCHES: u32 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let axpy = AXPY.with(&[2f32.into()])?;
    let kernels = [
        ("loads and stores of global memory", &axpy, 64),
        ("through shared memory, with a barrier", &REVERSE_U32, 64),
        ("atomic updates", &HISTOGRAM, 64),
        ("atomic additions of floats", &SUMS_F32, 64),
        ("votes", &VOTES, 64),
        // Only the first block works.
        ("a matrix product", &PRODUCT_S8, 1),
    ];
    for (name, kernel, blocks) in kernels {
        println!("{:.1} million operations per second: {name}", speed(kernel, blocks)? / 1e6);
    }
    Ok(())
}

/// Returns the operations per second of the fastest launch.
fn speed(kernel: &Kernel, blocks: u32) -> Result<f64, Box<dyn Error>> {
    let batch = Batch::each(blocks * kernel.shape().per_block());
    let arrays: Vec<Buffer> = kernel
        .parameters()
        .iter()
        .map(|parameter| {
            let bytes = kernel.elements(parameter, batch) as usize;
            let element = parameter.element_bytes();
            Buffer::from_bytes(element, vec![0; bytes * element as usize])
        })
        .collect();
    let arrays: Vec<&Buffer> = arrays.iter().collect();
    let mut fastest = 0f64;
    for _ in 0..LAUNCHES {
        let start = Instant::now();
        let operations = Emulator::new().count(kernel, &arrays, batch)?;
        fastest = fastest.max(operations as f64 / start.elapsed().as_secs_f64());
    }
    Ok(fastest)
}
