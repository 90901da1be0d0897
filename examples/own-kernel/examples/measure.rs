//! Measures a kernel on GPU 0: `measure scan` or `measure product`.
//!
//! Checks the result and prints the median time of a run as a line of JSON.

use std::error::Error;

use ctru_gpu_runtime::cuda::{CudaDevice, CudaMemory, CudaQueue};
use ctru_gpu_runtime::{Buffer, Device, HostMemory, Plain, Queue, RuntimeError};
use ctru_simt::descriptor::Batch;
use ctru_simt::simt::U32x4;
use own_kernel::{MODULE, MULTIPLY, SCAN, product, scan};

/// The runs between two events, and how often they are measured.
const RUNS: u32 = 10;
const TIMES: usize = 31;

/// Numbers of the scan.
const NUMBERS: u32 = 1 << 26;
/// Rows and columns of the matrices.
const SIDE: u32 = 4096;

/// An array on the GPU.
type Array<T> = Buffer<T, CudaMemory>;

fn main() -> Result<(), Box<dyn Error>> {
    let queue = CudaDevice::open(0, &MODULE)?.queue()?;
    match std::env::args().nth(1).as_deref() {
        Some("scan") => measure_scan(&queue),
        Some("product") => measure_product(&queue),
        _ => Err("usage: measure scan|product".into()),
    }
}

/// Prints the median time of a run.
fn report(
    queue: &CudaQueue,
    kernel: &str,
    run: impl Fn() -> Result<(), RuntimeError>,
) -> Result<(), RuntimeError> {
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let start = queue.record()?;
        for _ in 0..RUNS {
            run()?;
        }
        times.push(queue.record()?.elapsed_since(&start)?.as_nanos() / u128::from(RUNS));
    }
    times.sort_unstable();
    let (least, median, most) = (times[0], times[TIMES / 2], times[TIMES - 1]);
    println!(
        "{{\"kernel\": \"{kernel}\", \"program\": \"rust\", \"median_ns\": {median}, \
         \"least_ns\": {least}, \"most_ns\": {most}}}"
    );
    Ok(())
}

/// Copies numbers to the GPU.
fn upload<T: Plain>(queue: &CudaQueue, content: &[T]) -> Result<Array<T>, RuntimeError> {
    let mut pinned = queue.pinned(content.len())?;
    pinned.write()?.copy_from_slice(content);
    let array = queue.allocate(content.len())?;
    queue.upload(&pinned, 0..content.len(), &array, 0)?;
    queue.synchronise()?;
    Ok(array)
}

/// Copies numbers from the GPU.
fn download<T: Plain>(queue: &CudaQueue, array: &Array<T>) -> Result<Vec<T>, RuntimeError> {
    let mut pinned = queue.pinned(array.len())?;
    queue.download(array, 0..array.len(), &mut pinned, 0)?;
    Ok(pinned.read()?.to_vec())
}

fn measure_scan(queue: &CudaQueue) -> Result<(), Box<dyn Error>> {
    let number = |i: u32| i.wrapping_mul(2_654_435_761);
    let vector = |i: u32| U32x4([0, 1, 2, 3].map(|k| number(4 * i + k)));
    let numbers = upload(queue, &(0..NUMBERS / 4).map(vector).collect::<Vec<_>>())?;
    let sums = queue.allocate::<U32x4>(numbers.len())?;
    let states = queue.allocate::<u64>((NUMBERS / scan::TILE) as usize)?;
    let run = || {
        queue.wipe(&states)?;
        queue.launch(&SCAN, &[&numbers, &sums, &states], Batch::each(NUMBERS))
    };
    run()?;
    let mut before = 0u32;
    for (i, sum) in (0..).zip(download(queue, &sums)?.into_iter().flat_map(|U32x4(sums)| sums)) {
        if sum != before {
            return Err(format!("number {i} is wrong").into());
        }
        before = before.wrapping_add(number(i));
    }
    Ok(report(queue, "scan", run)?)
}

fn measure_product(queue: &CudaQueue) -> Result<(), Box<dyn Error>> {
    let (side, count) = (SIDE as usize, SIDE as usize * SIDE as usize);
    let factors: Vec<i8> = (0..2 * count).map(|i| (i.wrapping_mul(i) + i / 7) as i8).collect();
    let vector = |bytes: &[i8]| {
        U32x4(
            [0, 4, 8, 12]
                .map(|at| u32::from_le_bytes([0, 1, 2, 3].map(|k| bytes[at + k].cast_unsigned()))),
        )
    };
    let vectors = |bytes: &[i8]| bytes.chunks_exact(16).map(vector).collect::<Vec<_>>();
    let (rows, columns) = factors.split_at(count);
    let (a, b) = (upload(queue, &vectors(rows))?, upload(queue, &vectors(columns))?);
    let c = queue.allocate::<i32>(count)?;
    let kernel = MULTIPLY.with(&[(SIDE / product::SLAB).into()])?;
    let kernel = kernel.in_grid(SIDE / product::TILE, 1)?;
    let run = || queue.launch(&kernel, &[&a, &b, &c], Batch::each(SIDE));
    run()?;
    let elements = download(queue, &c)?;
    for at in (0..count).step_by(4099) {
        let (row, column) = (&rows[at / side * side..], &columns[at % side * side..]);
        let products = row.iter().zip(column).take(side);
        let sum: i32 = products.map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
        if elements[at] != sum {
            return Err(format!("element {at} is wrong").into());
        }
    }
    Ok(report(queue, "product", run)?)
}
