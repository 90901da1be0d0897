//! Memory of a GPU, and host memory that a GPU can access.
#![allow(unsafe_code)]

use core::ops::Range;
use core::ptr::{self, NonNull};
use core::{fmt, slice};
use std::sync::{Arc, Mutex};

use ctru_simt::simt::Word;
use zeroize::Zeroize;

use super::device::CudaDevice;
use super::driver;
use super::stream::Stream;
use super::sys::{CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE, CUdeviceptr};
use crate::arguments;
use crate::error::RuntimeError;
use crate::lock::lock;
use crate::memory::{DeviceMemory, HostMemory, Plain, SharedMemory, Slice};
use crate::registered::Registered;
use crate::taken::TakenRanges;

/// Memory that kernels of a [`CudaDevice`] use: memory of the device, pinned memory of the host
/// ([`HostMemory::on_device`]), or a [`Slice`] of either. Dropping memory of the device waits for
/// all operations of the device, so keep it while the device works.
pub struct CudaMemory {
    pub(super) device: CudaDevice,
    /// The device address, or 0 if the memory is empty.
    pub(super) pointer: CUdeviceptr,
    bytes: usize,
    element_bytes: u32,
    /// The uses of host memory that kernels access, or `None` for memory of the device.
    pub(super) host: Option<Arc<Uses>>,
    /// Whether other code or another value owns the memory.
    is_lent: bool,
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
        Ok(Self { device, pointer, bytes, element_bytes: T::BYTES, host: None, is_lent: false })
    }

    /// Returns the address on the device, for other CUDA code, or 0 if the memory is empty.
    ///
    /// Accesses of other code must end before the memory is dropped, and must not overlap with
    /// those of this library.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.pointer
    }

    /// Returns the bytes `range` of this memory as elements of type `T`.
    pub(super) fn slice<T: Plain>(
        &self,
        range: &Range<usize>,
    ) -> Result<Slice<'_, T, Self>, RuntimeError> {
        arguments::check_slice::<T>(self, self.pointer, range)?;
        Ok(Slice::new(Self {
            device: self.device,
            pointer: self.pointer + range.start as CUdeviceptr,
            bytes: range.len(),
            element_bytes: T::BYTES,
            host: self.host.clone(),
            is_lent: true,
        }))
    }
}

impl CudaDevice {
    /// Returns memory of this device that other code has allocated, for example an array of Python
    /// that was passed by DLPack.
    ///
    /// # Safety
    /// - All of `pointer..pointer + bytes` is mapped memory of the device that its primary context
    ///   (which the CUDA runtime, PyTorch, CuPy and JAX use) can access. It may consist of several
    ///   allocations. `pointer` needs no alignment. If `bytes` is 0, it may have any value.
    /// - The memory stays mapped during `'a`, and until all operations are done to which the
    ///   slice, or a slice of it, was passed. [`Queue::synchronise`](crate::Queue::synchronise) and
    ///   [`Queue::settle`](crate::Queue::settle) wait for them.
    /// - Until then, no other code writes to the memory, nor reads it if these operations write to
    ///   it, unless the operations of a stream or events order these accesses.
    #[must_use]
    pub unsafe fn lend<'a>(&self, pointer: u64, bytes: usize) -> Slice<'a, u8, CudaMemory> {
        Slice::new(CudaMemory {
            device: *self,
            pointer,
            bytes,
            element_bytes: u8::BYTES,
            host: None,
            is_lent: true,
        })
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
        // `CudaPinned` frees host memory.
        if self.bytes == 0 || self.host.is_some() || self.is_lent {
            return;
        }
        let Ok(_current) = self.device.enter() else { return };
        // Any queue of the device may be using the memory, so these calls wait for all queues. If
        // the driver refuses to wait, the memory is not freed, because a queue could still write to
        // it. After other errors the context has stopped, and the queue whose operation failed
        // reports the error. Memory that cannot be overwritten is not freed, because it could hold
        // secrets. SAFETY: a context is current. The memory has `bytes` bytes, and no operation
        // uses it after the first call.
        unsafe {
            if driver::cuCtxSynchronize().is_err_and(|error| driver::did_not_wait(&error)) {
                return;
            }
            let wiped = driver::cuMemsetD8_v2(self.pointer, 0, self.bytes);
            if wiped.and_then(|()| driver::cuCtxSynchronize()).is_ok() {
                let _ = driver::cuMemFree_v2(self.pointer);
            }
        }
    }
}

impl fmt::Debug for CudaMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaMemory({} bytes, {:?})", self.bytes, self.device)
    }
}

/// A registration of host memory with the driver.
#[derive(Debug)]
pub struct CudaRegistration {
    device: CudaDevice,
    memory: Registered,
}

impl CudaRegistration {
    /// Pins the memory of `content`. The registration must be dropped before this memory is freed.
    /// Otherwise the driver keeps the pages pinned after they are reused.
    pub(super) fn new<T>(device: CudaDevice, content: &[T]) -> Result<Self, RuntimeError> {
        let bytes = size_of_val(content);
        if bytes != 0 {
            let _current = device.enter()?;
            // SAFETY: the memory exists. Pinning alone does not access it. Only copies do, and each
            // copy borrows the memory until its scope ends, which waits for the copy or aborts.
            unsafe {
                driver::cuMemHostRegister_v2(
                    content.as_ptr().cast_mut().cast(),
                    bytes,
                    CU_MEMHOSTREGISTER_PORTABLE,
                )
            }?;
        }
        Ok(Self { device, memory: Registered::new(content) })
    }
}

impl Drop for CudaRegistration {
    fn drop(&mut self) {
        let addresses = self.memory.addresses();
        if addresses.is_empty() {
            return;
        }
        let Ok(_current) = self.device.enter() else { return };
        // SAFETY: the memory was registered, and no copy is running: each copy borrows the memory
        // until its scope has waited for it or has aborted the process.
        let _ = unsafe {
            driver::cuMemHostUnregister(ptr::with_exposed_provenance_mut(addresses.start))
        };
    }
}

/// Pinned host memory for copies of the [`CudaQueue`](super::CudaQueue) that allocated it, and for
/// kernels on all queues of the device.
pub struct CudaPinned<T: Plain> {
    pub(super) stream: Arc<Stream>,
    /// The address of the elements. Dangling if there are none.
    pub(super) pointer: NonNull<T>,
    len: usize,
    uses: Arc<Uses>,
    /// The same memory as kernels see it.
    memory: CudaMemory,
}

/// The last operation of each queue that uses a piece of host memory.
#[derive(Default)]
pub(super) struct Uses(Mutex<Vec<(Arc<Stream>, u64)>>);

impl Uses {
    /// Records that the operation with this number of `stream` uses the memory.
    pub(super) fn record(&self, stream: &Arc<Stream>, operation: u64) {
        let mut uses = lock(&self.0);
        match uses.iter_mut().find(|(known, _)| Arc::ptr_eq(known, stream)) {
            Some((_, last)) => *last = operation.max(*last),
            None => uses.push((Arc::clone(stream), operation)),
        }
    }

    /// Records that the operation that was issued last to `stream` uses each of these pieces.
    pub(super) fn record_all<'a>(
        stream: &Arc<Stream>,
        pieces: impl Iterator<Item = &'a Arc<Self>>,
    ) {
        let mut pieces = pieces.peekable();
        if pieces.peek().is_some() {
            let operation = stream.count();
            pieces.for_each(|piece| piece.record(stream, operation));
        }
    }

    /// Returns what has been recorded, and forgets it.
    pub(super) fn take(&self) -> Vec<(Arc<Stream>, u64)> {
        core::mem::take(&mut *lock(&self.0))
    }

    /// Waits for all recorded operations.
    fn wait(&self) -> Result<(), RuntimeError> {
        let mut uses = lock(&self.0);
        uses.iter().try_for_each(|(stream, operation)| stream.wait(*operation))?;
        uses.clear();
        Ok(())
    }
}

// SAFETY: the value owns the memory, as a vector of numbers does, and the driver's functions may be
// called with the memory from any thread.
unsafe impl<T: Plain> Send for CudaPinned<T> {}
// SAFETY: a shared reference permits only reads of the memory, by the host and by the device.
unsafe impl<T: Plain> Sync for CudaPinned<T> {}

impl<T: Plain> CudaPinned<T> {
    pub(super) fn new(stream: Arc<Stream>, len: usize) -> Result<Self, RuntimeError> {
        let bytes = len.saturating_mul(size_of::<T>());
        let pointer =
            if bytes == 0 { NonNull::dangling() } else { Self::allocate(&stream, bytes)? };
        let uses = Arc::<Uses>::default();
        let memory = CudaMemory {
            device: stream.device,
            // A device sees pinned memory of the host at the address that the host uses.
            pointer: if bytes == 0 {
                0
            } else {
                pointer.as_ptr().expose_provenance() as CUdeviceptr
            },
            bytes,
            element_bytes: T::BYTES,
            host: Some(Arc::clone(&uses)),
            is_lent: false,
        };
        Ok(Self { stream, pointer, len, uses, memory })
    }

    /// Allocates `bytes > 0` bytes and sets them to zero.
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
        // The driver allocates whole pages, which are sufficiently aligned for every type of
        // number.
        let pointer = NonNull::new(raw.cast::<T>()).ok_or(out_of_memory)?;
        // SAFETY: the memory has `bytes` bytes, and nothing else refers to it.
        unsafe { raw.cast::<u8>().write_bytes(0, bytes) };
        Ok(pointer)
    }

    /// Waits for the operations on the memory and overwrites it with zeros, unless an operation may
    /// still use it. Returns the result of the wait, and whether the memory is overwritten.
    ///
    /// If the driver refuses to wait for the queue, the GPU may still use the memory. If the driver
    /// has shut down at the end of the process, it has already freed the memory. After other errors
    /// the context has stopped.
    ///
    /// # Safety
    /// Nothing on the host refers to the content.
    unsafe fn overwrite(&self) -> (Result<(), RuntimeError>, bool) {
        let waited = self.uses.wait();
        let is_over = !waited
            .as_ref()
            .is_err_and(|error| driver::did_not_wait(error) || driver::is_gone(error));
        if is_over {
            let bytes = self.len * size_of::<T>();
            // SAFETY: the memory has `bytes` bytes, no operation uses it, and the caller promises
            // the rest.
            unsafe { slice::from_raw_parts_mut(self.pointer.as_ptr().cast::<u8>(), bytes) }
                .zeroize();
        }
        (waited, is_over)
    }

    /// Records that the operation with this number of the memory's own queue uses the memory.
    pub(super) fn used_by(&self, operation: u64) {
        self.uses.record(&self.stream, operation);
    }
}

impl<T: Plain> HostMemory<T> for CudaPinned<T> {
    type Device = CudaMemory;

    fn len(&self) -> usize {
        self.len
    }

    fn read(&self) -> Result<&[T], RuntimeError> {
        self.uses.wait()?;
        // SAFETY: the memory has `len` numbers, at most `isize::MAX` bytes. The device does not
        // write to it: earlier operations are done, and an operation that writes needs `&mut self`,
        // as does `on_device`, whose result cannot outlive that borrow.
        Ok(unsafe { slice::from_raw_parts(self.pointer.as_ptr(), self.len) })
    }

    fn write(&mut self) -> Result<&mut [T], RuntimeError> {
        self.uses.wait()?;
        // SAFETY: the memory has `len` numbers, at most `isize::MAX` bytes. The device does not
        // access it: earlier operations are done, and later ones need `&self`.
        Ok(unsafe { slice::from_raw_parts_mut(self.pointer.as_ptr(), self.len) })
    }

    fn wipe(&mut self) -> Result<(), RuntimeError> {
        // SAFETY: references to the content borrow `self`.
        let (waited, _) = unsafe { self.overwrite() };
        waited
    }

    fn on_device(&mut self) -> &CudaMemory {
        &self.memory
    }
}

impl<T: Plain> Drop for CudaPinned<T> {
    fn drop(&mut self) {
        if self.memory.bytes == 0 {
            return;
        }
        // If the context cannot be entered, the GPU may still use the memory, so it is not freed.
        let Ok(_current) = self.stream.device.enter() else { return };
        // SAFETY: nothing else refers to the memory.
        let (_, is_overwritten) = unsafe { self.overwrite() };
        if !is_overwritten {
            return;
        }
        // SAFETY: the driver allocated the memory, and nothing uses it after this call.
        let _ = unsafe { driver::cuMemFreeHost(self.pointer.as_ptr().cast()) };
    }
}

impl<T: Plain> fmt::Debug for CudaPinned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaPinned({} elements)", self.len)
    }
}

/// Pinned host memory that several threads fill and read at the same time.
pub struct CudaShared<T: Plain> {
    pinned: CudaPinned<T>,
    taken: TakenRanges,
}

impl<T: Plain> CudaShared<T> {
    pub(super) fn new(pinned: CudaPinned<T>) -> Self {
        Self { pinned, taken: TakenRanges::default() }
    }
}

impl<T: Plain> SharedMemory<T> for CudaShared<T> {
    type Device = CudaMemory;

    fn len(&self) -> usize {
        self.pinned.len
    }

    fn with<V>(
        &self,
        range: Range<usize>,
        work: impl FnOnce(&mut [T]) -> V,
    ) -> Result<V, RuntimeError> {
        let taken = self.taken.take(range, self.pinned.len)?;
        self.pinned.uses.wait()?;
        let Range { start, end } = taken.range();
        // SAFETY: the memory has these numbers, at most `isize::MAX` bytes. No other call has
        // them, because `taken` lasts until `work` has returned, and nothing else gives access to
        // the numbers of `pinned`. The device does not access the memory: earlier operations are
        // done, and later ones need `&mut self`.
        let elements = unsafe {
            slice::from_raw_parts_mut(self.pinned.pointer.as_ptr().add(start), end - start)
        };
        Ok(work(elements))
    }

    fn wipe(&self) -> Result<(), RuntimeError> {
        let _taken = self.taken.take(0..self.pinned.len, self.pinned.len)?;
        // SAFETY: nobody has elements, because `_taken` has all of them.
        let (waited, _) = unsafe { self.pinned.overwrite() };
        waited
    }

    fn on_device(&mut self) -> &CudaMemory {
        self.pinned.on_device()
    }
}

impl<T: Plain> fmt::Debug for CudaShared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaShared({} elements)", self.pinned.len)
    }
}
