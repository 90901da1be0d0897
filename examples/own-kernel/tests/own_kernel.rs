//! Tests the kernels on the emulator or, with the feature `cuda`, on GPU 0.

use ctru_gpu_runtime::{Buffer, Device, HostMemory, Plain, Queue, RuntimeError};
use ctru_simt::descriptor::Batch;
use ctru_simt::simt::U32x4;
use own_kernel::{HISTOGRAM, MULTIPLY, SCAN, product, scan};

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
fn sums_before_each_number() -> Result<(), RuntimeError> {
    // More tiles than a warp looks at together.
    let count = 40 * scan::TILE;
    let numbers: Vec<u32> = (0..count).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let mut sum = 0u32;
    let mut before = |&number: &u32| {
        let before = sum;
        sum = sum.wrapping_add(number);
        before
    };
    let expected: Vec<u32> = numbers.iter().map(&mut before).collect();
    let queue = queue()?;
    let (from, to) = (upload(&queue, &vectors(&numbers))?, queue.allocate(numbers.len() / 4)?);
    let states = upload(&queue, &[0u64; 40])?;
    queue.launch(&SCAN, &[&from, &to, &states], Batch::each(count))?;
    let sums = download::<_, U32x4>(&queue, &to)?;
    assert!(sums.into_iter().flat_map(|U32x4(sums)| sums).eq(expected));
    Ok(())
}

/// Groups numbers into vectors.
fn vectors(numbers: &[u32]) -> Vec<U32x4> {
    let vector = |i: usize| U32x4([0, 1, 2, 3].map(|k| numbers[4 * i + k]));
    (0..numbers.len() / 4).map(vector).collect()
}

#[test]
fn multiplies_matrices() -> Result<(), Box<dyn std::error::Error>> {
    let (rows, columns, slabs) = (128, 256, 5);
    let inner = slabs * product::SLAB as usize;
    let number = |i: usize| (i * i + i / 7) as i8;
    let matrix = |count: usize, first: usize| -> Vec<U32x4> {
        let word = |i: usize| u32::from_le_bytes([0, 1, 2, 3].map(|k| number(i + k) as u8));
        let words: Vec<u32> = (0..count / 4).map(|i| word(first + 4 * i)).collect();
        vectors(&words)
    };
    let expected: Vec<i32> = (0..rows * columns)
        .map(|at| {
            let (row, column) = (at / columns * inner, 100 + at % columns * inner);
            (0..inner).map(|k| i32::from(number(row + k)) * i32::from(number(column + k))).sum()
        })
        .collect();
    let queue = queue()?;
    let a = upload(&queue, &matrix(rows * inner, 0))?;
    let b = upload(&queue, &matrix(columns * inner, 100))?;
    let c = queue.allocate::<i32>(rows * columns)?;
    let kernel =
        MULTIPLY.with(&[(slabs as u32).into()])?.in_grid(rows as u32 / product::TILE, 2)?;
    queue.launch(&kernel, &[&a, &b, &c], Batch::each(columns as u32))?;
    assert!(download(&queue, &c)? == expected);
    Ok(())
}
