//! The queue of a GPU, and the implementations of [`Device`] and [`Queue`] for GPUs.
#![allow(unsafe_code)]

use core::ops::Range;
use core::{fmt, ptr};
use std::sync::Arc;

use ctru_simt::descriptor::{Batch, Kernel};

use super::device::CudaDevice;
use super::driver;
use super::graph::Described;
use super::memory::{CudaMemory, CudaPinned, CudaRegistration, CudaShared, Uses};
use super::scope::CudaScope;
use super::stream::{CudaEvent, Stream};
use super::sys::CUdeviceptr;
use crate::arguments;
use crate::error::RuntimeError;
use crate::lock::lock;
use crate::memory::{Buffer, DeviceMemory, HostMemory, PinnedVec, Plain, Slice};
use crate::queue::{Device, Launch, MemoryInfo, Queue};
use crate::registered::Registered;

impl Device for CudaDevice {
    type Queue = CudaQueue;
    type Registration = CudaRegistration;

    fn queue(&self) -> Result<CudaQueue, RuntimeError> {
        Ok(CudaQueue(Arc::new(Stream::new(*self)?)))
    }

    fn register<T: Send>(
        &self,
        content: Vec<T>,
    ) -> Result<PinnedVec<T, CudaRegistration>, RuntimeError> {
        Ok(PinnedVec::new(CudaRegistration::new(*self, &content)?, content))
    }

    fn name(&self) -> String {
        self.info().map(|info| info.name).unwrap_or_default()
    }

    fn owns(&self, memory: &CudaMemory) -> bool {
        self.is(&memory.device)
    }

    fn memory_info(&self) -> Result<MemoryInfo, RuntimeError> {
        self.memory()
    }
}

/// A queue of a [`CudaDevice`], which is a CUDA stream. Clones refer to the same queue.
#[derive(Clone)]
pub struct CudaQueue(pub(super) Arc<Stream>);

impl CudaQueue {
    /// Returns the device of the queue.
    #[must_use]
    pub fn device(&self) -> CudaDevice {
        self.0.device
    }

    /// Returns a queue for a stream that other code has created, so that operations can follow
    /// those of the stream: [`Queue::follow`]. Dropping the queue does not destroy the stream.
    ///
    /// `stream` is the stream's handle (`CUstream` or `cudaStream_t`). As in DLPack, 0 and 1 stand
    /// for the legacy default stream and 2 for the default stream of the calling thread.
    ///
    /// # Errors
    /// [`RuntimeError::Driver`] if the driver creates no event.
    ///
    /// # Safety
    /// The stream belongs to the primary context of the device, and it exists until the queue, its
    /// clones and all memory that was used with them are dropped, and the scopes have ended in
    /// which they have issued copies. During each call with the queue, no code captures a graph
    /// from the stream. If `stream` is 2, which stands for another stream in each thread, the
    /// queue, its clones and the memory that is used with them stay on the calling thread, and only
    /// this thread calls with them. The queue may wait for the stream when such a scope ends, and
    /// when the last of its clones and of the memory that was used with it is dropped, so no code
    /// captures a graph from the stream then.
    pub unsafe fn from_stream(device: CudaDevice, stream: usize) -> Result<Self, RuntimeError> {
        let raw = ptr::with_exposed_provenance_mut(stream);
        // SAFETY: the caller keeps the promises of this function. 0, 1 and 2 are handles of the
        // driver for default streams.
        Ok(Self(Arc::new(unsafe { Stream::lent(device, raw, Box::new(())) }?)))
    }

    /// Returns the handle of the stream (`CUstream`) as a number, for other CUDA code. The stream
    /// exists as long as the queue or one of its clones.
    #[must_use]
    pub fn stream(&self) -> usize {
        self.0.raw.expose_provenance()
    }

    /// Records an event that happens when all operations issued so far are done, and returns it.
    ///
    /// # Errors
    /// [`RuntimeError::Driver`] if the operation cannot be issued.
    pub fn record(&self) -> Result<CudaEvent, RuntimeError> {
        self.0.record()
    }

    /// Makes all later operations of this queue wait for `event`, which any queue may have
    /// recorded. The host does not wait.
    ///
    /// # Errors
    /// [`RuntimeError::Driver`] if the operation cannot be issued.
    pub fn wait_for(&self, event: &CudaEvent) -> Result<(), RuntimeError> {
        self.0.wait_for(event)
    }

    /// Checks a launch and describes it, unless it has no operations. The device is current.
    fn describe(
        &self,
        kernel: &Kernel,
        memory: &[&CudaMemory],
        batch: Batch,
    ) -> Result<Option<Described>, RuntimeError> {
        memory.iter().try_for_each(|memory| self.check_device(memory))?;
        arguments::check(kernel, memory, |memory| memory.pointer, batch)?;
        if batch.operations() == 0 {
            return Ok(None);
        }
        Ok(Some(Described {
            function: self.0.device.function(kernel)?,
            grid: kernel.grid(batch.operations()),
            threads: kernel.shape().threads(),
            shared_bytes: kernel.shape().shared_bytes(),
            pointers: memory.iter().map(|memory| memory.pointer).collect(),
            numbers: batch.arguments(),
            scalars: kernel.values().iter().map(|value| value.bits()).collect(),
        }))
    }

    /// Records that the operation that was issued last uses this memory, as far as it is memory of
    /// the host.
    fn count_use(&self, memory: &[&CudaMemory]) {
        Uses::record_all(&self.0, memory.iter().filter_map(|memory| memory.host.as_ref()));
    }

    fn check_device(&self, memory: &CudaMemory) -> Result<(), RuntimeError> {
        match self.0.device.owns(memory) {
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
    type Shared<T: Plain> = CudaShared<T>;
    type Scope<'env> = CudaScope<'env>;

    fn allocate<T: Plain>(&self, len: usize) -> Result<Buffer<T, CudaMemory>, RuntimeError> {
        CudaMemory::allocate::<T>(self.0.device, len).map(Buffer::new)
    }

    fn pinned<T: Plain>(&self, len: usize) -> Result<CudaPinned<T>, RuntimeError> {
        CudaPinned::new(Arc::clone(&self.0), len)
    }

    fn shared<T: Plain>(&self, len: usize) -> Result<CudaShared<T>, RuntimeError> {
        self.pinned(len).map(CudaShared::new)
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
        // SAFETY: the elements exist on both sides. Until the copy is done, `from` gives no mutable
        // access to its content and is not freed, because both wait for the operation that is
        // counted below. Dropping `to` waits for the device.
        let result = unsafe {
            let source = from.pointer.add(range.start);
            let target = to.pointer + (start * size_of::<T>()) as CUdeviceptr;
            driver::cuMemcpyHtoDAsync_v2(
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
        // SAFETY: the elements exist on both sides, and every bit pattern is a valid element. `to`
        // is borrowed exclusively, so nothing reads it during this call. Until the copy is done,
        // `to` gives no access to its content and is not freed, because both wait for the operation
        // that is counted below.
        let result = unsafe {
            let source = from.pointer + (range.start * size_of::<T>()) as CUdeviceptr;
            let target = to.pointer.add(start);
            driver::cuMemcpyDtoHAsync_v2(
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
        Registered::covers(memory)
    }

    fn scope<'env, T>(
        &self,
        work: impl FnOnce(&CudaScope<'env>) -> Result<T, RuntimeError>,
    ) -> Result<T, RuntimeError> {
        let scope = CudaScope::new(self.0.device)?;
        let result = work(&scope);
        let done = scope.wait();
        result.and_then(|result| done.map(|()| result))
    }

    fn upload_from<'env>(
        &self,
        scope: &CudaScope<'env>,
        from: &'env [u8],
        to: &Buffer<u8, CudaMemory>,
    ) -> Result<(), RuntimeError> {
        self.check_device(to)?;
        arguments::check_copy(&(0..from.len()), from.len(), 0, to.len())?;
        if from.is_empty() {
            return Ok(());
        }
        let _current = self.0.device.enter()?;
        // SAFETY: the bytes exist on both sides. `from` is borrowed until the scope ends, which
        // waits for the copy that is recorded below. Dropping `to` waits for the device.
        let issued = unsafe {
            driver::cuMemcpyHtoDAsync_v2(to.pointer, from.as_ptr().cast(), from.len(), self.0.raw)
        };
        scope.record(&self.0);
        issued
    }

    fn download_to<'env>(
        &self,
        scope: &CudaScope<'env>,
        from: &Buffer<u8, CudaMemory>,
        to: &'env mut [u8],
    ) -> Result<(), RuntimeError> {
        self.check_device(from)?;
        arguments::check_copy(&(0..to.len()), from.len(), 0, to.len())?;
        if to.is_empty() {
            return Ok(());
        }
        let _current = self.0.device.enter()?;
        // SAFETY: the bytes exist on both sides. `to` is borrowed until the scope ends, which waits
        // for the copy that is recorded below. Dropping `from` waits for the device.
        let issued = unsafe {
            driver::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from.pointer, to.len(), self.0.raw)
        };
        scope.record(&self.0);
        issued
    }

    fn slice<'a, T: Plain>(
        &self,
        memory: &'a CudaMemory,
        bytes: Range<usize>,
    ) -> Result<Slice<'a, T, CudaMemory>, RuntimeError> {
        self.check_device(memory)?;
        memory.slice(&bytes)
    }

    fn copy(&self, from: &CudaMemory, to: &CudaMemory) -> Result<(), RuntimeError> {
        self.check_device(from)?;
        self.check_device(to)?;
        arguments::check_copy(&(0..from.bytes()), from.bytes(), 0, to.bytes())?;
        if from.bytes() == 0 {
            return Ok(());
        }
        let _current = self.0.device.enter()?;
        // SAFETY: the bytes exist on both sides. Dropping memory of the device waits for the
        // device, and memory of the host waits for the operation that is counted below.
        let copied = unsafe {
            driver::cuMemcpyDtoDAsync_v2(to.pointer, from.pointer, from.bytes(), self.0.raw)
        };
        self.count_use(&[from, to]);
        copied
    }

    fn wipe(&self, memory: &CudaMemory) -> Result<(), RuntimeError> {
        self.check_device(memory)?;
        if memory.bytes() == 0 {
            return Ok(());
        }
        let _current = self.0.device.enter()?;
        // SAFETY: the memory has this many bytes. Dropping memory of the device waits for the
        // device, and memory of the host waits for the operation that is counted below.
        let wiped =
            unsafe { driver::cuMemsetD8Async(memory.pointer, 0, memory.bytes(), self.0.raw) };
        self.count_use(&[memory]);
        wiped
    }

    fn launch(
        &self,
        kernel: &Kernel,
        memory: &[&CudaMemory],
        batch: Batch,
    ) -> Result<(), RuntimeError> {
        let _current = self.0.device.enter()?;
        let Some(launch) = self.describe(kernel, memory, batch)? else { return Ok(()) };
        // SAFETY: the function belongs to the current device and to the module of the descriptor.
        // So it takes the arrays of the descriptor, then the numbers of the batch, then the
        // scalars. The driver copies these arguments before it returns. The arrays are at least as
        // long as the descriptor requires, so by the promise of `Kernel::new` the kernel accesses
        // nothing else. Dropping memory of the device waits for the device. Memory of the host
        // gives no access to its content and is not freed until the launch is done, because both
        // wait for the operation that is counted below.
        let launched = launch.with(|launch| unsafe {
            driver::cuLaunchKernel(
                launch.func,
                launch.gridDimX,
                launch.gridDimY,
                launch.gridDimZ,
                launch.blockDimX,
                launch.blockDimY,
                launch.blockDimZ,
                launch.sharedMemBytes,
                self.0.raw,
                launch.kernelParams,
                launch.extra,
            )
        });
        self.count_use(memory);
        launched
    }

    fn launch_all(&self, launches: &[Launch<'_, CudaMemory>]) -> Result<(), RuntimeError> {
        if let [Launch { kernel, memory, batch, .. }] = launches {
            return self.launch(kernel, memory, *batch);
        }
        let _current = self.0.device.enter()?;
        let mut described = Vec::with_capacity(launches.len());
        for Launch { kernel, memory, batch, order } in launches {
            let launch = self.describe(kernel, memory, *batch)?;
            described.extend(launch.map(|launch| (launch, *order)));
        }
        if described.is_empty() {
            return Ok(());
        }
        let mut graphs = lock(&self.0.graphs);
        // SAFETY: `describe` has checked each launch, as in `launch`: the function belongs to the
        // current device and takes these arrays, numbers and scalars, and the arrays are as long as
        // the descriptor requires, so the kernel accesses nothing else. Memory of the device waits
        // for the device when it is dropped, and memory of the host waits for the operation that is
        // counted below. A graph keeps arguments longer than this call. But each run first sets the
        // arguments of every launch to those given here, and does not start if it cannot set them.
        let launched = unsafe { graphs.launch(self.0.raw, described) };
        let memory = launches.iter().flat_map(|launch| &launch.memory);
        Uses::record_all(&self.0, memory.filter_map(|memory| memory.host.as_ref()));
        launched
    }

    fn follow(&self, other: &Self) -> Result<(), RuntimeError> {
        self.0.follow(&other.0)
    }

    fn synchronise(&self) -> Result<(), RuntimeError> {
        self.0.synchronise()
    }

    fn settle(&self) {
        if self.0.synchronise().is_err_and(|error| driver::did_not_wait(&error)) {
            // The GPU may still read or write memory that its owner frees when it learns of the
            // failure. Only an abort prevents such an access.
            std::process::abort();
        }
    }
}
