//! Runs and times kernels on a GPU.

use std::time::Instant;

use ctru_gpu_kernels::descriptor::{Batch, Kernel, Parameter};
use ctru_gpu_runtime::cuda::{CudaMemory, CudaQueue};
use ctru_gpu_runtime::{Buffer, HostMemory, Plain, Queue, RuntimeError};
use ctru_kem::engine::cuda;
use ctru_measure::Statistics;

/// Returns whether there is a GPU that the engine can use.
pub(crate) fn is_there() -> bool {
    cuda::devices().is_ok_and(|devices| !devices.is_empty())
}

/// The number of samples.
const SAMPLES: usize = 15;
/// Operations per sample.
const OPERATIONS: u32 = 4;
/// The number of samples of single operations. It is larger because their times vary more.
const SINGLE_SAMPLES: usize = 101;

/// Measures several runs of `operation` in a row with events of the device. Returns the time of one
/// run.
pub(crate) fn time_in_a_row(
    queue: &CudaQueue,
    operation: impl Fn() -> Result<(), RuntimeError>,
) -> Result<Statistics, RuntimeError> {
    time_on_queues(queue, &[], operation)
}

/// The same for an operation that uses several queues, of which the first one has the events. A
/// queue begins its part of a run when it has finished its part of the run before.
pub(crate) fn time_on_queues(
    queue: &CudaQueue,
    others: &[CudaQueue],
    operation: impl Fn() -> Result<(), RuntimeError>,
) -> Result<Statistics, RuntimeError> {
    let sample = || -> Result<f64, RuntimeError> {
        let start = queue.record()?;
        others.iter().try_for_each(|other| other.follow(queue))?;
        for _ in 0..OPERATIONS {
            operation()?;
        }
        others.iter().try_for_each(|other| queue.follow(other))?;
        let end = queue.record()?;
        Ok(end.elapsed_since(&start)?.as_nanos() as f64 / f64::from(OPERATIONS))
    };
    sample()?;
    (0..SAMPLES).map(|_| sample()).collect::<Result<_, _>>().map(Statistics::of)
}

/// Measures single runs of `operation` with the host's clock, each from its call to its end.
pub(crate) fn time_alone<E: From<RuntimeError>>(
    queue: &CudaQueue,
    mut operation: impl FnMut() -> Result<(), E>,
) -> Result<Statistics, E> {
    let mut sample = || -> Result<f64, E> {
        let start = Instant::now();
        operation()?;
        queue.synchronise()?;
        Ok(start.elapsed().as_nanos() as f64)
    };
    sample()?;
    (0..SINGLE_SAMPLES).map(|_| sample()).collect::<Result<_, _>>().map(Statistics::of)
}

/// Makes an array of `len` elements on the device. `element` makes each of them from random bits.
pub(crate) fn random<T: Plain>(
    queue: &CudaQueue,
    len: usize,
    element: impl Fn(u64) -> T,
) -> Result<Buffer<T, CudaMemory>, RuntimeError> {
    let array = queue.allocate(len)?;
    // Long arrays repeat one piece, because only neighbouring rows must differ.
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

/// Copies `elements` into a new array on the device.
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

/// An upper bound of the bytes per row of a polynomial or of encoded data. The longest row is a
/// decapsulation key of n = 1277 in 13-bit encoding.
const ROW_BYTES: usize = 2752;

/// An array of random elements on the device.
pub(crate) enum Array {
    Bytes(Buffer<u8, CudaMemory>),
    Halves(Buffer<u16, CudaMemory>),
    Words(Buffer<u64, CudaMemory>),
}

impl Array {
    /// Makes an array of `rows` rows, each with room for the longest row.
    pub(crate) fn new(
        queue: &CudaQueue,
        element_bytes: u32,
        rows: u32,
    ) -> Result<Self, RuntimeError> {
        match element_bytes {
            1 => rows_of(queue, rows, |bits| bits as u8).map(Self::Bytes),
            2 => rows_of(queue, rows, |bits| bits as u16).map(Self::Halves),
            _ => rows_of(queue, rows, |bits| bits).map(Self::Words),
        }
    }

    pub(crate) fn memory(&self) -> &CudaMemory {
        match self {
            Self::Bytes(array) => array,
            Self::Halves(array) => array,
            Self::Words(array) => array,
        }
    }
}

fn rows_of<T: Plain>(
    queue: &CudaQueue,
    rows: u32,
    element: impl Fn(u64) -> T,
) -> Result<Buffer<T, CudaMemory>, RuntimeError> {
    random(queue, rows as usize * ROW_BYTES / T::BYTES as usize, element)
}

/// Measures launches of `kernel` in a row on random data. Returns the time of one launch.
pub(crate) fn time_kernel(
    queue: &CudaQueue,
    kernel: &Kernel,
    batch: u32,
) -> Result<Statistics, RuntimeError> {
    let batch = Batch::each(batch);
    let array = |parameter: &Parameter| {
        let bytes = kernel.elements(parameter, batch) * u64::from(parameter.element_bytes());
        Array::new(queue, parameter.element_bytes(), bytes.div_ceil(ROW_BYTES as u64) as u32)
    };
    let arrays: Vec<Array> = kernel.parameters().iter().map(array).collect::<Result<_, _>>()?;
    let memory: Vec<&CudaMemory> = arrays.iter().map(Array::memory).collect();
    time_in_a_row(queue, || queue.launch(kernel, &memory, batch))
}
