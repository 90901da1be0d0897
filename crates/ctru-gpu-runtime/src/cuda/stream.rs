//! Queues, and moments in them.
#![allow(unsafe_code)]

use core::ffi::c_void;
use core::ops::Range;
use core::time::Duration;
use core::{fmt, ptr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ctru_gpu_kernels::descriptor::{Batch, Kernel};
use cust::sys::{CUdeviceptr, CUevent, CUstream};

use super::calls;
use super::device::{CudaDevice, Current};
use super::memory::{CudaMemory, CudaPinned, CudaRegistration};
use crate::arguments;
use crate::error::RuntimeError;
use crate::memory::{Buffer, DeviceMemory, HostMemory, Plain};
use crate::queue::{Download, Queue, Upload};

/// Does not wait for work on the default stream: `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;
/// An event that knows its time: `CU_EVENT_DEFAULT`.
const TIMED: u32 = 0;
/// An event that only orders: `CU_EVENT_DISABLE_TIMING`.
const UNTIMED: u32 = 2;

/// A stream, and which of its operations on host memory are known to be done.
pub(super) struct Stream {
    pub(super) device: CudaDevice,
    raw: CUstream,
    /// Where the stream was when another one began to follow it. One for all times: with events that come and go, threads wait for one
    /// another in the driver.
    followed: CudaEvent,
    /// Operations that have been issued.
    issued: AtomicU64,
    /// How many of them are known to be done.
    done: AtomicU64,
}

// SAFETY: the driver's functions take a stream from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above; calls at the same time are ordered by the driver.
unsafe impl Sync for Stream {}

impl Stream {
    /// Counts an operation, after the driver has taken it, and returns its number.
    ///
    /// In that order, because [`wait`](Self::wait) must only count operations that the driver waits for.
    fn count(&self) -> u64 {
        self.issued.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Waits for the operations up to this number, if they are not known to be done.
    pub(super) fn wait(&self, operation: u64) -> Result<(), RuntimeError> {
        if self.done.load(Ordering::Acquire) >= operation { Ok(()) } else { self.synchronise() }
    }

    fn synchronise(&self) -> Result<(), RuntimeError> {
        self.synchronise_in(&self.device.enter()?)
    }

    /// Waits for all operations, in a context that has been entered.
    fn synchronise_in(&self, _: &Current) -> Result<(), RuntimeError> {
        let issued = self.issued.load(Ordering::Acquire);
        // SAFETY: the stream lives as long as `self`.
        unsafe { calls::cuStreamSynchronize(self.raw) }?;
        self.done.fetch_max(issued, Ordering::AcqRel);
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // Errors of operations have been reported where they were waited for, or nobody wanted to know.
        let Ok(_current) = self.device.enter() else { return };
        // SAFETY: nobody else has the stream; the driver finishes its operations first.
        let _ = unsafe { calls::cuStreamDestroy_v2(self.raw) };
    }
}

/// A queue of a [`CudaDevice`]: a stream. Clones are the same queue.
#[derive(Clone)]
pub struct CudaQueue(Arc<Stream>);

impl CudaQueue {
    pub(super) fn new(device: CudaDevice) -> Result<Self, RuntimeError> {
        let followed = CudaEvent::new(device, UNTIMED)?;
        let _current = device.enter()?;
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` may be written, a device is current.
        unsafe { calls::cuStreamCreate(&raw mut raw, NON_BLOCKING) }?;
        let (issued, done) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self(Arc::new(Stream { device, raw, followed, issued, done })))
    }

    /// The device that it belongs to.
    #[must_use]
    pub fn device(&self) -> CudaDevice {
        self.0.device
    }

    /// Marks this moment: the event happens when all operations issued so far are done.
    ///
    /// # Errors
    /// [`RuntimeError::Driver`] if the operation cannot be issued.
    pub fn record(&self) -> Result<CudaEvent, RuntimeError> {
        let event = CudaEvent::new(self.0.device, TIMED)?;
        event.record(&self.0)?;
        Ok(event)
    }

    /// Lets the operations that follow on this queue begin only after `event`, which another queue may have recorded.
    /// The host does not wait.
    ///
    /// # Errors
    /// [`RuntimeError::Driver`] if the operation cannot be issued.
    pub fn wait_for(&self, event: &CudaEvent) -> Result<(), RuntimeError> {
        let _current = self.0.device.enter()?;
        // SAFETY: event and stream live; the driver keeps what it needs of the event.
        unsafe { calls::cuStreamWaitEvent(self.0.raw, event.raw, 0) }
    }

    /// Calls `issue` for each copy of memory that is borrowed no longer than this call, and waits for all of them.
    fn issue_and_wait<C>(
        &self,
        mut copies: impl Iterator<Item = C>,
        issue: impl FnMut(C) -> Result<(), RuntimeError>,
    ) -> Result<(), RuntimeError> {
        let current = self.0.device.enter()?;
        let issued = copies.try_for_each(issue);
        // Whatever has been issued, nothing may be on its way when the borrow ends.
        let done = self.0.synchronise_in(&current);
        if done.as_ref().is_err_and(calls::did_not_wait) {
            // The GPU may still read or write memory that the caller has back as soon as this
            // returns, and may free or give to others. There is no other way to keep it from that.
            std::process::abort();
        }
        issued.and(done)
    }

    fn check_device(&self, memory: &CudaMemory) -> Result<(), RuntimeError> {
        match self.0.device.is(&memory.device) {
            true => Ok(()),
            false => Err(RuntimeError::Foreign { what: "device memory", owner: "device" }),
        }
    }

    fn check_queue<T: Plain>(&self, pinned: &CudaPinned<T>) -> Result<(), RuntimeError> {
        match Arc::ptr_eq(&self.0, &pinned.stream) {
            true => Ok(()),
            false => Err(RuntimeError::Foreign { what: "pinned memory", owner: "queue" }),
        }
    }
}

impl fmt::Debug for CudaQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaQueue({:?})", self.0.device)
    }
}

impl Queue for CudaQueue {
    type Memory = CudaMemory;
    type Pinned<T: Plain> = CudaPinned<T>;

    fn allocate<T: Plain>(&self, len: usize) -> Result<Buffer<T, CudaMemory>, RuntimeError> {
        CudaMemory::allocate::<T>(self.0.device, len).map(Buffer::new)
    }

    fn pinned<T: Plain>(&self, len: usize) -> Result<CudaPinned<T>, RuntimeError> {
        CudaPinned::new(Arc::clone(&self.0), len)
    }

    fn upload<T: Plain>(
        &self,
        from: &CudaPinned<T>,
        range: Range<usize>,
        to: &Buffer<T, CudaMemory>,
        start: usize,
    ) -> Result<(), RuntimeError> {
        self.check_queue(from)?;
        self.check_device(to)?;
        arguments::check_copy(&range, from.len(), start, to.len())?;
        if range.is_empty() {
            return Ok(());
        }
        let _current = self.0.device.enter()?;
        // SAFETY: the elements exist on both sides. Until the copy is done `from` does not hand out its content to be
        // changed and is not freed, since it waits for the operation counted below; dropping `to` waits for the device.
        let result = unsafe {
            let source = from.pointer.add(range.start);
            let target = to.pointer + (start * size_of::<T>()) as CUdeviceptr;
            calls::cuMemcpyHtoDAsync_v2(
                target,
                source.as_ptr().cast(),
                range.len() * size_of::<T>(),
                self.0.raw,
            )
        };
        from.used_by(self.0.count());
        result
    }

    fn download<T: Plain>(
        &self,
        from: &Buffer<T, CudaMemory>,
        range: Range<usize>,
        to: &mut CudaPinned<T>,
        start: usize,
    ) -> Result<(), RuntimeError> {
        self.check_queue(to)?;
        self.check_device(from)?;
        arguments::check_copy(&range, from.len(), start, to.len())?;
        if range.is_empty() {
            return Ok(());
        }
        let _current = self.0.device.enter()?;
        // SAFETY: the elements exist on both sides, and any bits are elements. Nobody looks at `to`, which is borrowed
        // exclusively; until the copy is done it does not hand out its content and is not freed, since it waits for
        // the operation counted below.
        let result = unsafe {
            let source = from.pointer + (range.start * size_of::<T>()) as CUdeviceptr;
            let target = to.pointer.add(start);
            calls::cuMemcpyDtoHAsync_v2(
                target.as_ptr().cast(),
                source,
                range.len() * size_of::<T>(),
                self.0.raw,
            )
        };
        to.used_by(self.0.count());
        result
    }

    fn is_registered(&self, memory: &[u8]) -> bool {
        CudaRegistration::covers(memory)
    }

    fn upload_from(&self, copies: &[Upload<'_, CudaMemory>]) -> Result<(), RuntimeError> {
        for (from, to) in copies {
            self.check_device(to)?;
            arguments::check_copy(&(0..from.len()), from.len(), 0, to.len())?;
        }
        self.issue_and_wait(copies.iter().filter(|(from, _)| !from.is_empty()), |(from, to)| {
            // SAFETY: the bytes exist on both sides, and `from` is borrowed until the copy is done.
            unsafe {
                calls::cuMemcpyHtoDAsync_v2(
                    to.pointer,
                    from.as_ptr().cast(),
                    from.len(),
                    self.0.raw,
                )
            }
        })
    }

    fn download_to(&self, copies: &mut [Download<'_, CudaMemory>]) -> Result<(), RuntimeError> {
        for (from, to) in &*copies {
            self.check_device(from)?;
            arguments::check_copy(&(0..to.len()), from.len(), 0, to.len())?;
        }
        self.issue_and_wait(copies.iter_mut().filter(|(_, to)| !to.is_empty()), |(from, to)| {
            // SAFETY: the bytes exist on both sides, any bits are bytes, and `to` is borrowed until the copy is done.
            unsafe {
                calls::cuMemcpyDtoHAsync_v2(
                    to.as_mut_ptr().cast(),
                    from.pointer,
                    to.len(),
                    self.0.raw,
                )
            }
        })
    }

    fn wipe(&self, memory: &CudaMemory) -> Result<(), RuntimeError> {
        self.check_device(memory)?;
        if memory.bytes() == 0 {
            return Ok(());
        }
        let _current = self.0.device.enter()?;
        // SAFETY: the memory has this many bytes, and dropping it waits for the device.
        unsafe { calls::cuMemsetD8Async(memory.pointer, 0, memory.bytes(), self.0.raw) }
    }

    fn launch(
        &self,
        kernel: &Kernel,
        memory: &[&CudaMemory],
        batch: Batch,
    ) -> Result<(), RuntimeError> {
        memory.iter().try_for_each(|memory| self.check_device(memory))?;
        arguments::check(kernel, memory, batch)?;
        if batch.operations() == 0 {
            return Ok(());
        }
        let _current = self.0.device.enter()?;
        let function = self.0.device.function(kernel)?;
        let mut pointers: Vec<CUdeviceptr> = memory.iter().map(|memory| memory.pointer).collect();
        let mut numbers = batch.arguments();
        let mut parameters: Vec<*mut c_void> = pointers
            .iter_mut()
            .map(|pointer| ptr::from_mut(pointer).cast())
            .chain(numbers.iter_mut().map(|number| ptr::from_mut(number).cast()))
            .collect();
        // SAFETY: the function belongs to the current device and to the module of the descriptor,
        // so it takes the descriptor's arrays and then the two numbers, which the driver copies
        // before it returns. The arrays are at least as long as the descriptor says, so the kernel
        // touches nothing else: that is what whoever made the descriptor has promised, see
        // `Kernel::new`. It matters, because a GPU reaches all memory of the device and pinned
        // memory of the host. Dropping the memory waits for the device.
        unsafe {
            calls::cuLaunchKernel(
                function,
                kernel.blocks(batch.operations()),
                1,
                1,
                kernel.shape().threads(),
                1,
                1,
                kernel.shape().shared_bytes(),
                self.0.raw,
                parameters.as_mut_ptr(),
                ptr::null_mut(),
            )
        }
    }

    fn follow(&self, other: &Self) -> Result<(), RuntimeError> {
        // If a third queue follows `other` at the same time and records the event again, this one waits for a little more.
        other.0.followed.record(&other.0)?;
        self.wait_for(&other.0.followed)
    }

    fn synchronise(&self) -> Result<(), RuntimeError> {
        self.0.synchronise()
    }
}

/// A moment in a [`CudaQueue`].
pub struct CudaEvent {
    device: CudaDevice,
    raw: CUevent,
}

// SAFETY: the driver's functions take an event from any thread.
unsafe impl Send for CudaEvent {}
// SAFETY: as above; calls at the same time are ordered by the driver.
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    fn new(device: CudaDevice, flags: u32) -> Result<Self, RuntimeError> {
        let _current = device.enter()?;
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` may be written, a device is current.
        unsafe { calls::cuEventCreate(&raw mut raw, flags) }?;
        Ok(Self { device, raw })
    }

    /// Happens when all operations issued to the stream so far are done.
    fn record(&self, stream: &Stream) -> Result<(), RuntimeError> {
        let _current = self.device.enter()?;
        // SAFETY: event and stream live.
        unsafe { calls::cuEventRecord(self.raw, stream.raw) }
    }

    /// Waits until it has happened.
    ///
    /// # Errors
    /// What went wrong in an operation before it.
    pub fn synchronise(&self) -> Result<(), RuntimeError> {
        let _current = self.device.enter()?;
        // SAFETY: the event lives.
        unsafe { calls::cuEventSynchronize(self.raw) }
    }

    /// Time from `earlier` to this event, by the GPU's clock, to about half a microsecond. Waits for both.
    ///
    /// # Errors
    /// What went wrong in an operation before either; [`RuntimeError::Driver`] if they are of different devices.
    pub fn elapsed_since(&self, earlier: &Self) -> Result<Duration, RuntimeError> {
        earlier.synchronise()?;
        self.synchronise()?;
        let _current = self.device.enter()?;
        let mut milliseconds = 0.0f32;
        // SAFETY: `milliseconds` may be written, both events live and have happened.
        unsafe { calls::cuEventElapsedTime(&raw mut milliseconds, earlier.raw, self.raw) }?;
        Ok(Duration::from_nanos((f64::from(milliseconds) * 1e6) as u64))
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        let Ok(_current) = self.device.enter() else { return };
        // SAFETY: nobody else has the event; if it has not happened yet, the driver keeps it until then.
        let _ = unsafe { calls::cuEventDestroy_v2(self.raw) };
    }
}

impl fmt::Debug for CudaEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaEvent({:?})", self.device)
    }
}
