//! Times of operations on a GPU.

use std::time::Instant;

use ctru_gpu_runtime::cuda::{CudaMemory, CudaQueue};
use ctru_gpu_runtime::{Buffer, HostMemory, Plain, Queue, RuntimeError};

use crate::record::Statistics;

const SAMPLES: usize = 15;
/// Operations of a sample.
const OPERATIONS: u32 = 4;
/// Samples of single operations, which vary more.
const SINGLE_SAMPLES: usize = 101;

/// The time of one `operation` of those that follow one another, by the device's events.
pub(crate) fn on_device(
    queue: &CudaQueue,
    operation: impl Fn() -> Result<(), RuntimeError>,
) -> Result<Statistics, RuntimeError> {
    let sample = || -> Result<f64, RuntimeError> {
        let start = queue.record()?;
        for _ in 0..OPERATIONS {
            operation()?;
        }
        let end = queue.record()?;
        Ok(end.elapsed_since(&start)?.as_nanos() as f64 / f64::from(OPERATIONS))
    };
    sample()?;
    (0..SAMPLES).map(|_| sample()).collect::<Result<_, _>>().map(Statistics::of)
}

/// The time of one `operation` alone, by the host's clock: from its call to its end.
pub(crate) fn on_host(
    queue: &CudaQueue,
    operation: impl Fn() -> Result<(), RuntimeError>,
) -> Result<Statistics, RuntimeError> {
    let sample = || -> Result<f64, RuntimeError> {
        let start = Instant::now();
        operation()?;
        queue.synchronise()?;
        Ok(start.elapsed().as_nanos() as f64)
    };
    sample()?;
    (0..SINGLE_SAMPLES).map(|_| sample()).collect::<Result<_, _>>().map(Statistics::of)
}

/// `len` elements on the device, made of random bits.
pub(crate) fn random<T: Plain>(
    queue: &CudaQueue,
    len: usize,
    element: impl Fn(u64) -> T,
) -> Result<Buffer<T, CudaMemory>, RuntimeError> {
    let array = queue.allocate(len)?;
    // One piece again and again: the data only has to be different from row to row.
    let mut piece = queue.pinned(len.min(1 << 22))?;
    let mut state = 1u64;
    for number in piece.write()? {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *number = element(state >> 11);
    }
    for start in (0..len).step_by(piece.len()) {
        queue.upload(&piece, 0..piece.len().min(len - start), &array, start)?;
    }
    queue.synchronise()?;
    Ok(array)
}

/// These elements on the device.
pub(crate) fn upload<T: Plain>(
    queue: &CudaQueue,
    elements: &[T],
) -> Result<Buffer<T, CudaMemory>, RuntimeError> {
    let array = queue.allocate(elements.len())?;
    let mut pinned = queue.pinned(elements.len())?;
    pinned.write()?.copy_from_slice(elements);
    queue.upload(&pinned, 0..elements.len(), &array, 0)?;
    queue.synchronise()?;
    Ok(array)
}
