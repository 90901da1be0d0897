//! Memory of a GPU, and host memory that a GPU can reach.
#![allow(unsafe_code)]

use core::ops::Range;
use core::ptr::{self, NonNull};
use core::{fmt, slice};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cust::sys::{CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE, CUdeviceptr};
use zeroize::Zeroize;

use super::device::CudaDevice;
use super::driver;
use super::stream::Stream;
use crate::error::RuntimeError;
use crate::memory::{DeviceMemory, HostMemory, Plain};
use crate::registered::{self, Registered};

/// Memory of a [`CudaDevice`]. Dropping it waits until the device has nothing left to do, so keep
/// it while the device works.
pub struct CudaMemory {
    pub(super) device: CudaDevice,
    /// 0 if there are no bytes.
    pub(super) pointer: CUdeviceptr,
    bytes: usize,
    element_bytes: u32,
}

impl CudaMemory {
    pub(super) fn allocate<T: Plain>(device: CudaDevice, len: usize) -> Result<Self, RuntimeError> {
        let bytes = len.saturating_mul(size_of::<T>());
        let out_of_memory = || {
            let free = device.memory()?.free;
            Err(RuntimeError::OutOfMemory { requested: bytes, free })
        };
        if bytes > isize::MAX as usize {
            return out_of_memory();
        }
        let mut pointer = 0;
        if bytes != 0 {
            let _current = device.enter()?;
            // SAFETY: `pointer` may be written, and a device is current.
            match unsafe { driver::cuMemAlloc_v2(&raw mut pointer, bytes) } {
                Err(error) if driver::is_out_of_memory(&error) => return out_of_memory(),
                result => result?,
            }
        }
        Ok(Self { device, pointer, bytes, element_bytes: T::BYTES })
    }
}

impl DeviceMemory for CudaMemory {
    fn element_bytes(&self) -> u32 {
        self.element_bytes
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for CudaMemory {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let Ok(_current) = self.device.enter() else { return };
        // Any queue of the device may be working on the memory, so that this waits for all. If it
        // cannot wait, the memory is not freed, so that nobody gets memory to which a queue still
        // writes. After another error the context does nothing any more, and the queue whose
        // operation failed reports it.
        // SAFETY: a context is current. The memory has this many bytes, and nobody uses it after
        // the first call.
        unsafe {
            if driver::cuCtxSynchronize().is_err_and(|error| driver::did_not_wait(&error)) {
                return;
            }
            let _ = driver::cuMemsetD8_v2(self.pointer, 0, self.bytes);
            let _ = driver::cuCtxSynchronize();
            let _ = driver::cuMemFree_v2(self.pointer);
        }
    }
}

impl fmt::Debug for CudaMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaMemory({} bytes, {:?})", self.bytes, self.device)
    }
}

/// Memory of the host that is pinned in place, for all devices.
static REGISTERED: Registered = Registered::new();

/// A registration of host memory with the driver.
#[derive(Debug)]
pub struct CudaRegistration {
    device: CudaDevice,
    range: Range<usize>,
}

impl CudaRegistration {
    /// Pins the memory of `content`. The registration must be dropped before that memory is freed;
    /// if it is not, the driver keeps pages pinned that hold something else.
    pub(super) fn new<T>(device: CudaDevice, content: &[T]) -> Result<Self, RuntimeError> {
        let range = registered::addresses(content);
        if !range.is_empty() {
            let _current = device.enter()?;
            // SAFETY: the memory exists. Pinning it lets nobody touch it: only copies do, each of
            // which borrows the memory that it touches and waits.
            unsafe {
                driver::cuMemHostRegister_v2(
                    content.as_ptr().cast_mut().cast(),
                    range.len(),
                    CU_MEMHOSTREGISTER_PORTABLE,
                )
            }?;
            REGISTERED.insert(range.clone());
        }
        Ok(Self { device, range })
    }

    /// Returns whether some registration has pinned all of this memory.
    pub(super) fn covers(memory: &[u8]) -> bool {
        REGISTERED.contains(&registered::addresses(memory))
    }
}

impl Drop for CudaRegistration {
    fn drop(&mut self) {
        if self.range.is_empty() {
            return;
        }
        REGISTERED.remove(&self.range);
        let Ok(_current) = self.device.enter() else { return };
        // SAFETY: the memory was registered, and no copy is under way: each copy has waited for
        // itself, or has ended the process.
        let _ = unsafe {
            driver::cuMemHostUnregister(ptr::with_exposed_provenance_mut(self.range.start))
        };
    }
}

/// Pinned host memory for copies of the [`CudaQueue`](super::CudaQueue) that allocated it.
pub struct CudaPinned<T: Plain> {
    pub(super) stream: Arc<Stream>,
    /// Dangling if there are no elements.
    pub(super) pointer: NonNull<T>,
    len: usize,
    /// The number of the queue's last operation on the memory.
    last_use: AtomicU64,
}

// SAFETY: it owns the memory, as a vector of numbers does, and the driver's functions take the
// memory from any thread.
unsafe impl<T: Plain> Send for CudaPinned<T> {}
// SAFETY: a shared reference only allows to read the memory and to let the device read it.
unsafe impl<T: Plain> Sync for CudaPinned<T> {}

impl<T: Plain> CudaPinned<T> {
    pub(super) fn new(stream: Arc<Stream>, len: usize) -> Result<Self, RuntimeError> {
        let bytes = len.saturating_mul(size_of::<T>());
        let pointer =
            if bytes == 0 { NonNull::dangling() } else { Self::allocate(&stream, bytes)? };
        Ok(Self { stream, pointer, len, last_use: AtomicU64::new(0) })
    }

    /// Allocates this many bytes, at least one, all zero.
    fn allocate(stream: &Stream, bytes: usize) -> Result<NonNull<T>, RuntimeError> {
        let out_of_memory = RuntimeError::OutOfHostMemory { requested: bytes };
        if bytes > isize::MAX as usize {
            return Err(out_of_memory);
        }
        let _current = stream.device.enter()?;
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` may be written, and a device is current.
        match unsafe { driver::cuMemHostAlloc(&raw mut raw, bytes, CU_MEMHOSTALLOC_PORTABLE) } {
            Err(error) if driver::is_out_of_memory(&error) => return Err(out_of_memory),
            result => result?,
        }
        // The driver allocates whole pages, which are aligned for every type of number.
        let pointer = NonNull::new(raw.cast::<T>()).ok_or(out_of_memory)?;
        // SAFETY: the memory has this many bytes, and nobody else has it.
        unsafe { raw.cast::<u8>().write_bytes(0, bytes) };
        Ok(pointer)
    }

    /// Notes that the queue's operation of this number works on the memory.
    pub(super) fn used_by(&self, operation: u64) {
        self.last_use.fetch_max(operation, Ordering::AcqRel);
    }

    fn wait(&self) -> Result<(), RuntimeError> {
        self.stream.wait(self.last_use.load(Ordering::Acquire))
    }
}

impl<T: Plain> HostMemory<T> for CudaPinned<T> {
    fn len(&self) -> usize {
        self.len
    }

    fn read(&self) -> Result<&[T], RuntimeError> {
        self.wait()?;
        // SAFETY: the memory has `len` numbers, at most `isize::MAX` bytes. The device does not
        // write to it: earlier operations are done, and an operation that writes needs `&mut self`.
        Ok(unsafe { slice::from_raw_parts(self.pointer.as_ptr(), self.len) })
    }

    fn write(&mut self) -> Result<&mut [T], RuntimeError> {
        self.wait()?;
        // SAFETY: the memory has `len` numbers, at most `isize::MAX` bytes. The device does not
        // touch it: earlier operations are done, and later ones need `&self`.
        Ok(unsafe { slice::from_raw_parts_mut(self.pointer.as_ptr(), self.len) })
    }
}

impl<T: Plain> Drop for CudaPinned<T> {
    fn drop(&mut self) {
        let bytes = self.len * size_of::<T>();
        if bytes == 0 {
            return;
        }
        // If the context cannot be entered or the queue cannot be waited for, the GPU may still
        // work on the memory, which is then not freed. A driver that is gone, at the end of the
        // process, has taken the memory with it. After other errors the context does nothing any
        // more.
        let Ok(_current) = self.stream.device.enter() else { return };
        if self.wait().is_err_and(|error| driver::did_not_wait(&error) || driver::is_gone(&error)) {
            return;
        }
        // SAFETY: the memory has this many bytes, and nobody else has it.
        unsafe { slice::from_raw_parts_mut(self.pointer.as_ptr().cast::<u8>(), bytes) }.zeroize();
        // SAFETY: the driver allocated the memory, and nobody uses it after this.
        let _ = unsafe { driver::cuMemFreeHost(self.pointer.as_ptr().cast()) };
    }
}

impl<T: Plain> fmt::Debug for CudaPinned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaPinned({} elements)", self.len)
    }
}
