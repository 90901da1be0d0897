//! A device that counts the copies and launches of an engine.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ctru_gpu_kernels::descriptor::{Batch, Kernel, Parameter};
use ctru_gpu_runtime::{Buffer, Device, MemoryInfo, PinnedVec, Plain, Queue, RuntimeError, Slice};

/// A device that counts launches and copies and passes them on. An engine on it must have one slot.
#[derive(Clone, Debug)]
pub(crate) struct CountingDevice<D> {
    device: D,
    log: Log,
}

/// A queue of a [`CountingDevice`].
#[derive(Debug)]
pub(crate) struct CountingQueue<Q> {
    queue: Q,
    log: Log,
}

/// The counts since the last call of [`CountingDevice::take`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// Bytes copied to the device.
    pub(crate) uploaded: usize,
    /// Bytes copied from the device.
    pub(crate) downloaded: usize,
    /// All launches in order.
    pub(crate) launches: Vec<Launch>,
}

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) kernel: &'static str,
    pub(crate) batch: Batch,
    /// Bytes of the arrays that the kernel reads and writes.
    pub(crate) bytes: u64,
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Counts>>);

impl Log {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        // The counts are numbers, so a panic cannot leave it inconsistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

impl<D> CountingDevice<D> {
    pub(crate) fn new(device: D) -> Self {
        Self { device, log: Log::default() }
    }

    /// Returns the counts since the last call.
    pub(crate) fn take(&self) -> Counts {
        std::mem::take(&mut *self.log.lock())
    }
}

impl<D: Device> Device for CountingDevice<D> {
    type Queue = CountingQueue<D::Queue>;
    type Registration = D::Registration;

    fn queue(&self) -> Result<Self::Queue, RuntimeError> {
        Ok(CountingQueue { queue: self.device.queue()?, log: self.log.clone() })
    }

    fn register<T: Send>(
        &self,
        content: Vec<T>,
    ) -> Result<PinnedVec<T, D::Registration>, RuntimeError> {
        self.device.register(content)
    }

    fn owns(&self, memory: &<D::Queue as Queue>::Memory) -> bool {
        self.device.owns(memory)
    }

    fn memory_info(&self) -> Result<MemoryInfo, RuntimeError> {
        self.device.memory_info()
    }
}

impl<Q: Queue> CountingQueue<Q> {
    /// Counts a launch.
    fn counts_launch(&self, kernel: &Kernel, batch: Batch) {
        let bytes =
            |array: &Parameter| kernel.elements(array, batch) * u64::from(array.element_bytes());
        let bytes = kernel.parameters().iter().map(bytes).sum();
        self.log.lock().launches.push(Launch { kernel: kernel.name(), batch, bytes });
    }
}

impl<Q: Queue> Queue for CountingQueue<Q> {
    type Memory = Q::Memory;
    type Pinned<T: Plain> = Q::Pinned<T>;
    type Shared<T: Plain> = Q::Shared<T>;
    type Scope<'env> = Q::Scope<'env>;

    fn allocate<T: Plain>(&self, len: usize) -> Result<Buffer<T, Q::Memory>, RuntimeError> {
        self.queue.allocate(len)
    }

    fn pinned<T: Plain>(&self, len: usize) -> Result<Q::Pinned<T>, RuntimeError> {
        self.queue.pinned(len)
    }

    fn shared<T: Plain>(&self, len: usize) -> Result<Q::Shared<T>, RuntimeError> {
        self.queue.shared(len)
    }

    fn upload<T: Plain>(
        &self,
        from: &Q::Pinned<T>,
        range: Range<usize>,
        to: &Buffer<T, Q::Memory>,
        start: usize,
    ) -> Result<(), RuntimeError> {
        self.log.lock().uploaded += range.len() * size_of::<T>();
        self.queue.upload(from, range, to, start)
    }

    fn download<T: Plain>(
        &self,
        from: &Buffer<T, Q::Memory>,
        range: Range<usize>,
        to: &mut Q::Pinned<T>,
        start: usize,
    ) -> Result<(), RuntimeError> {
        self.log.lock().downloaded += range.len() * size_of::<T>();
        self.queue.download(from, range, to, start)
    }

    fn is_registered(&self, memory: &[u8]) -> bool {
        self.queue.is_registered(memory)
    }

    fn scope<'env, T>(
        &self,
        work: impl FnOnce(&Q::Scope<'env>) -> Result<T, RuntimeError>,
    ) -> Result<T, RuntimeError> {
        self.queue.scope(work)
    }

    fn upload_from<'env>(
        &self,
        scope: &Q::Scope<'env>,
        from: &'env [u8],
        to: &Buffer<u8, Q::Memory>,
    ) -> Result<(), RuntimeError> {
        self.log.lock().uploaded += from.len();
        self.queue.upload_from(scope, from, to)
    }

    fn download_to<'env>(
        &self,
        scope: &Q::Scope<'env>,
        from: &Buffer<u8, Q::Memory>,
        to: &'env mut [u8],
    ) -> Result<(), RuntimeError> {
        self.log.lock().downloaded += to.len();
        self.queue.download_to(scope, from, to)
    }

    fn slice<'a, T: Plain>(
        &self,
        memory: &'a Q::Memory,
        bytes: Range<usize>,
    ) -> Result<Slice<'a, T, Q::Memory>, RuntimeError> {
        self.queue.slice(memory, bytes)
    }

    fn copy(&self, from: &Q::Memory, to: &Q::Memory) -> Result<(), RuntimeError> {
        self.queue.copy(from, to)
    }

    fn wipe(&self, memory: &Q::Memory) -> Result<(), RuntimeError> {
        self.queue.wipe(memory)
    }

    fn launch(
        &self,
        kernel: &Kernel,
        memory: &[&Q::Memory],
        batch: Batch,
    ) -> Result<(), RuntimeError> {
        self.counts_launch(kernel, batch);
        self.queue.launch(kernel, memory, batch)
    }

    fn launch_all(
        &self,
        launches: &[ctru_gpu_runtime::Launch<'_, Q::Memory>],
    ) -> Result<(), RuntimeError> {
        launches.iter().for_each(|launch| self.counts_launch(launch.kernel, launch.batch));
        self.queue.launch_all(launches)
    }

    fn follow(&self, other: &Self) -> Result<(), RuntimeError> {
        self.queue.follow(&other.queue)
    }

    fn synchronise(&self) -> Result<(), RuntimeError> {
        self.queue.synchronise()
    }

    fn settle(&self) {
        self.queue.settle();
    }
}
