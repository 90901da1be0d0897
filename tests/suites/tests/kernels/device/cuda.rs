//! Runs kernels on GPU 0.

use ctru_gpu_kernels::descriptor::{Batch, Kernel};
use ctru_gpu_kernels::emulator::Buffer;
use ctru_gpu_kernels::simt::U32x4;
use ctru_gpu_runtime::cuda::{CudaDevice, CudaMemory, CudaQueue};
use ctru_gpu_runtime::{Buffer as Array, Device, HostMemory, Plain, Queue, RuntimeError};

/// Whether kernels run on the emulator, where long launches take seconds.
#[allow(dead_code, reason = "not every test that includes this file has long launches")]
pub(crate) const IS_EMULATED: bool = false;

/// Runs a kernel on copies of arrays of the host, and copies the results back.
///
/// # Panics
/// If there is no GPU, or the launch fails.
pub(crate) fn launch(kernel: &Kernel, buffers: &[&Buffer], batch: Batch) {
    run(kernel, buffers, batch).unwrap();
}

/// An array on the GPU. The variants differ in the size of the elements.
enum OnDevice {
    Bytes(Array<u8, CudaMemory>),
    Halves(Array<u16, CudaMemory>),
    Singles(Array<u32, CudaMemory>),
    Words(Array<u64, CudaMemory>),
    Quads(Array<U32x4, CudaMemory>),
}

impl OnDevice {
    fn memory(&self) -> &CudaMemory {
        match self {
            Self::Bytes(array) => array,
            Self::Halves(array) => array,
            Self::Singles(array) => array,
            Self::Words(array) => array,
            Self::Quads(array) => array,
        }
    }
}

fn run(kernel: &Kernel, buffers: &[&Buffer], batch: Batch) -> Result<(), RuntimeError> {
    let queue = CudaDevice::open(0, crate::MODULE)?.queue()?;
    let arrays: Vec<OnDevice> = buffers
        .iter()
        .map(|buffer| match buffer.element_bytes() {
            1 => upload(&queue, buffer).map(OnDevice::Bytes),
            2 => upload(&queue, buffer).map(OnDevice::Halves),
            4 => upload(&queue, buffer).map(OnDevice::Singles),
            8 => upload(&queue, buffer).map(OnDevice::Words),
            _ => upload(&queue, buffer).map(OnDevice::Quads),
        })
        .collect::<Result<_, _>>()?;
    let memory: Vec<&CudaMemory> = arrays.iter().map(OnDevice::memory).collect();
    queue.launch(kernel, &memory, batch)?;
    for (buffer, array) in buffers.iter().zip(&arrays) {
        match array {
            OnDevice::Bytes(array) => download(&queue, array, buffer)?,
            OnDevice::Halves(array) => download(&queue, array, buffer)?,
            OnDevice::Singles(array) => download(&queue, array, buffer)?,
            OnDevice::Words(array) => download(&queue, array, buffer)?,
            OnDevice::Quads(array) => download(&queue, array, buffer)?,
        }
    }
    Ok(())
}

fn upload<T: Plain>(
    queue: &CudaQueue,
    buffer: &Buffer,
) -> Result<Array<T, CudaMemory>, RuntimeError> {
    let content = buffer.content::<T>();
    let mut pinned = queue.pinned(content.len())?;
    pinned.write()?.copy_from_slice(&content);
    let array = queue.allocate(content.len())?;
    queue.upload(&pinned, 0..content.len(), &array, 0)?;
    queue.synchronise()?;
    Ok(array)
}

fn download<T: Plain>(
    queue: &CudaQueue,
    array: &Array<T, CudaMemory>,
    buffer: &Buffer,
) -> Result<(), RuntimeError> {
    let mut pinned = queue.pinned(array.len())?;
    queue.download(array, 0..array.len(), &mut pinned, 0)?;
    let content: &[T] = pinned.read()?;
    let bytes = content
        .iter()
        .flat_map(|word| word.to_bits().to_le_bytes().into_iter().take(T::BYTES as usize));
    buffer.set_bytes(&bytes.collect::<Vec<u8>>());
    Ok(())
}
