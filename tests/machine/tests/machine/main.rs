//! Tests the methods of the machine on the emulator or, with the feature `interpreter`, their PTX
//! on the interpreter or, with the feature `cuda`, on GPU 0.

// A failure in a helper is a failed test.
#![allow(clippy::unwrap_used)]

mod atomics;
mod faults;
mod launches;
mod memory;
mod warps;

use ctru_gpu_runtime::{Buffer, Device, HostMemory, Plain, Queue};

#[cfg(not(feature = "cuda"))]
type Q = ctru_gpu_runtime::emulated::EmulatedQueue;
#[cfg(feature = "cuda")]
type Q = ctru_gpu_runtime::cuda::CudaQueue;

/// An array of the device.
type Array<T> = Buffer<T, <Q as Queue>::Memory>;

/// Returns a queue of the device.
///
/// # Panics
/// If there is no GPU, with the feature `cuda`.
fn queue() -> Q {
    #[cfg(not(any(feature = "cuda", feature = "interpreter")))]
    let device = ctru_gpu_runtime::emulated::EmulatedDevice::new();
    #[cfg(all(feature = "interpreter", not(feature = "cuda")))]
    let device = ctru_gpu_runtime::emulated::EmulatedDevice::of_ptx(&ctru_machine::MODULE).unwrap();
    #[cfg(feature = "cuda")]
    let device = ctru_gpu_runtime::cuda::CudaDevice::open(0, &ctru_machine::MODULE).unwrap();
    device.queue().unwrap()
}

/// Copies numbers to the device.
fn upload<T: Plain>(queue: &Q, content: &[T]) -> Array<T> {
    let mut pinned = queue.pinned(content.len()).unwrap();
    pinned.write().unwrap().copy_from_slice(content);
    let array = queue.allocate(content.len()).unwrap();
    queue.upload(&pinned, 0..content.len(), &array, 0).unwrap();
    queue.synchronise().unwrap();
    array
}

/// Copies numbers from the device.
fn download<T: Plain>(queue: &Q, array: &Array<T>) -> Vec<T> {
    let mut pinned = queue.pinned(array.len()).unwrap();
    queue.download(array, 0..array.len(), &mut pinned, 0).unwrap();
    pinned.read().unwrap().to_vec()
}

/// Returns numbers that look random, the same in every run.
fn numbers(count: usize) -> Vec<u64> {
    let mut state = 1u64;
    let mut next = || {
        // xorshift64*, by Vigna.
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    (0..count).map(|_| next()).collect()
}
