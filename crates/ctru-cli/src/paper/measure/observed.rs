//! A device that counts what an engine does with it, and can leave the copies out: what is left are the kernels of an operation,
//! on data that is on the device.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ctru_gpu_kernels::descriptor::{Batch, Kernel, Parameter};
use ctru_gpu_runtime::{
    Buffer, Device, Download, MemoryInfo, PinnedVec, Plain, Queue, RuntimeError, Upload,
};

/// Kernels and copies of an operation, one at a time: an engine on it must have one slot.
#[derive(Clone, Debug)]
pub(crate) struct Observed<D> {
    device: D,
    log: Log,
}

/// A queue of an [`Observed`] device.
#[derive(Debug)]
pub(crate) struct ObservedQueue<Q> {
    queue: Q,
    log: Log,
}

/// What has been done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observation {
    /// Bytes copied to the device, or that would have been.
    pub(crate) uploaded: usize,
    /// Bytes copied from the device, or that would have been.
    pub(crate) downloaded: usize,
    /// Launches in their order.
    pub(crate) launches: Vec<Launch>,
    /// From the first launch to the end of the last one, by the host's clock. It means something where copies are left out.
    pub(crate) kernels: Duration,
}

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) kernel: &'static str,
    pub(crate) batch: Batch,
    /// Bytes of the arrays that it touches.
    pub(crate) bytes: u64,
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    leaves_out_copies: bool,
    /// The first launch after which nobody has waited.
    started: Option<Instant>,
    observation: Observation,
}

impl Log {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Numbers only: what a thread that panicked has left is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

impl<D> Observed<D> {
    pub(crate) fn new(device: D) -> Self {
        Self { device, log: Log::default() }
    }

    /// What has been done since the last call.
    pub(crate) fn take(&self) -> Observation {
        let mut log = self.log.lock();
        log.started = None;
        std::mem::take(&mut log.observation)
    }

    /// Whether copies are left out from now on. Then an engine's results mean nothing.
    pub(crate) fn leave_out_copies(&self, leave_out: bool) {
        self.log.lock().leaves_out_copies = leave_out;
    }
}

impl<D: Device> Device for Observed<D> {
    type Queue = ObservedQueue<D::Queue>;
    type Registration = D::Registration;

    fn queue(&self) -> Result<Self::Queue, RuntimeError> {
        Ok(ObservedQueue { queue: self.device.queue()?, log: self.log.clone() })
    }

    fn register<T: Send>(
        &self,
        content: Vec<T>,
    ) -> Result<PinnedVec<T, D::Registration>, RuntimeError> {
        self.device.register(content)
    }

    fn memory_info(&self) -> Result<MemoryInfo, RuntimeError> {
        self.device.memory_info()
    }
}

impl<Q: Queue> ObservedQueue<Q> {
    /// Counts bytes to the device, and says whether they are to be copied.
    fn uploads(&self, bytes: usize) -> bool {
        let mut log = self.log.lock();
        log.observation.uploaded += bytes;
        !log.leaves_out_copies
    }

    /// Counts bytes from the device, and says whether they are to be copied. The first such copy ends an operation's kernels.
    fn downloads(&self, bytes: usize) -> Result<bool, RuntimeError> {
        let mut log = self.log.lock();
        log.observation.downloaded += bytes;
        if let Some(started) = log.started.take() {
            self.queue.synchronise()?;
            log.observation.kernels += started.elapsed();
        }
        Ok(!log.leaves_out_copies)
    }
}

impl<Q: Queue> Queue for ObservedQueue<Q> {
    type Memory = Q::Memory;
    type Pinned<T: Plain> = Q::Pinned<T>;

    fn allocate<T: Plain>(&self, len: usize) -> Result<Buffer<T, Q::Memory>, RuntimeError> {
        self.queue.allocate(len)
    }

    fn pinned<T: Plain>(&self, len: usize) -> Result<Q::Pinned<T>, RuntimeError> {
        self.queue.pinned(len)
    }

    fn upload<T: Plain>(
        &self,
        from: &Q::Pinned<T>,
        range: Range<usize>,
        to: &Buffer<T, Q::Memory>,
        start: usize,
    ) -> Result<(), RuntimeError> {
        if self.uploads(range.len() * size_of::<T>()) {
            self.queue.upload(from, range, to, start)?;
        }
        Ok(())
    }

    fn download<T: Plain>(
        &self,
        from: &Buffer<T, Q::Memory>,
        range: Range<usize>,
        to: &mut Q::Pinned<T>,
        start: usize,
    ) -> Result<(), RuntimeError> {
        if self.downloads(range.len() * size_of::<T>())? {
            self.queue.download(from, range, to, start)?;
        }
        Ok(())
    }

    fn is_registered(&self, memory: &[u8]) -> bool {
        self.queue.is_registered(memory)
    }

    fn upload_from(&self, copies: &[Upload<'_, Q::Memory>]) -> Result<(), RuntimeError> {
        if self.uploads(copies.iter().map(|(from, _)| from.len()).sum()) {
            self.queue.upload_from(copies)?;
        }
        Ok(())
    }

    fn download_to(&self, copies: &mut [Download<'_, Q::Memory>]) -> Result<(), RuntimeError> {
        if self.downloads(copies.iter().map(|(_, to)| to.len()).sum())? {
            self.queue.download_to(copies)?;
        }
        Ok(())
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
        {
            let mut log = self.log.lock();
            log.started.get_or_insert_with(Instant::now);
            let bytes = |array: &Parameter| {
                kernel.elements(array, batch) * u64::from(array.element_bytes())
            };
            let bytes = kernel.parameters().iter().map(bytes).sum();
            let kernel = kernel.name();
            log.observation.launches.push(Launch { kernel, batch, bytes });
        }
        self.queue.launch(kernel, memory, batch)
    }

    fn follow(&self, other: &Self) -> Result<(), RuntimeError> {
        self.queue.follow(&other.queue)
    }

    fn synchronise(&self) -> Result<(), RuntimeError> {
        self.queue.synchronise()
    }
}
