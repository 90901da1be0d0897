//! Tests the kernels on the emulator or, with the feature `cuda`, on GPU 0.

use ctru_gpu_runtime::{Buffer, Device, HostMemory, Plain, Queue, RuntimeError};
use ctru_simt::descriptor::Batch;
use own_kernel::{HISTOGRAM, MULTIPLY, SCAN};

fn queue() -> Result<impl Queue, RuntimeError> {
    #[cfg(not(feature = "cuda"))]
    let device = ctru_gpu_runtime::emulated::EmulatedDevice::new();
    #[cfg(feature = "cuda")]
    let device = ctru_gpu_runtime::cuda::CudaDevice::open(0, &own_kernel::MODULE)?;
    device.queue()
}

/// Copies numbers to the device.
fn upload<Q: Queue, T: Plain>(
    queue: &Q,
    content: &[T],
) -> Result<Buffer<T, Q::Memory>, RuntimeError> {
    let mut pinned = queue.pinned(content.len())?;
    pinned.write()?.copy_from_slice(content);
    let array = queue.allocate(content.len())?;
    queue.upload(&pinned, 0..content.len(), &array, 0)?;
    Ok(array)
}

/// Copies numbers from the device.
fn download<Q: Queue, T: Plain>(
    queue: &Q,
    array: &Buffer<T, Q::Memory>,
) -> Result<Vec<T>, RuntimeError> {
    let mut pinned = queue.pinned(array.len())?;
    queue.download(array, 0..array.len(), &mut pinned, 0)?;
    Ok(pinned.read()?.to_vec())
}

#[test]
fn counts_bytes() -> Result<(), RuntimeError> {
    let bytes: Vec<u8> = (0..1000u32).map(|i| (i * i % 251) as u8).collect();
    let mut expected = [0u32; 256];
    bytes.iter().for_each(|&byte| expected[usize::from(byte)] += 1);
    let queue = queue()?;
    let (from, counts) = (upload(&queue, &bytes)?, upload(&queue, &[0u32; 256])?);
    queue.launch(&HISTOGRAM, &[&from, &counts], Batch::each(1000))?;
    assert_eq!(download(&queue, &counts)?, expected);
    Ok(())
}

#[test]
fn sums_up_to_each_number() -> Result<(), RuntimeError> {
    let numbers: Vec<u32> = (0..512u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let expected: Vec<u32> = numbers
        .chunks(256)
        .flat_map(|part| {
            part.iter().scan(0u32, |sum, &number| {
                *sum = sum.wrapping_add(number);
                Some(*sum)
            })
        })
        .collect();
    let queue = queue()?;
    let (from, sums) = (upload(&queue, &numbers)?, upload(&queue, &[0u32; 512])?);
    queue.launch(&SCAN, &[&from, &sums], Batch::each(512))?;
    assert_eq!(download(&queue, &sums)?, expected);
    Ok(())
}

#[test]
fn multiplies_matrices() -> Result<(), Box<dyn std::error::Error>> {
    let (rows, columns, steps) = (32, 24, 3);
    let inner = 16 * steps;
    // Small integers, whose sums are exact.
    let number = |i: usize| ((i * 7 + i / 5) % 13) as f32 - 6.0;
    let words = |count: usize, first: usize| -> Vec<u32> {
        let bits = |i: usize| number(first + i).to_bits() >> 16;
        (0..count / 2).map(|i| bits(2 * i) | bits(2 * i + 1) << 16).collect()
    };
    let expected: Vec<f32> = (0..rows * columns)
        .map(|at| {
            let (row, column) = (at / columns * inner, 100 + at % columns * inner);
            (0..inner).map(|k| number(row + k) * number(column + k)).sum()
        })
        .collect();
    let queue = queue()?;
    let (a, b) =
        (upload(&queue, &words(rows * inner, 0))?, upload(&queue, &words(columns * inner, 100))?);
    let c = upload(&queue, &vec![0f32; rows * columns])?;
    let kernel = MULTIPLY.with(&[(steps as u32).into()])?.in_grid(rows as u32 / 16, 2)?;
    queue.launch(&kernel, &[&a, &b, &c], Batch::each(columns as u32))?;
    assert_eq!(download(&queue, &c)?, expected);
    Ok(())
}
