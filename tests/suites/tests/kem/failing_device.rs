//! A device on which one call fails or waits. It counts the queues with work that nobody has waited
//! for.

use core::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use ctru_gpu_kernels::descriptor::{Batch, Kernel};
use ctru_gpu_runtime::emulated::{
    EmulatedDevice, EmulatedMemory, EmulatedPinned, EmulatedQueue, EmulatedScope, EmulatedShared,
};
use ctru_gpu_runtime::{
    Buffer, Device, HostMemory, Launch, MemoryInfo, PinnedVec, Plain, Queue, RuntimeError,
    SharedMemory, Slice,
};

type Memory<T> = Buffer<T, EmulatedMemory>;

/// Returns the error of the call that fails.
pub(crate) fn failure() -> RuntimeError {
    let (name, log) = ("on purpose".to_owned(), String::new());
    RuntimeError::Compilation { kernel: None, code: 218, name, log }
}

#[derive(Clone, Debug)]
pub(crate) struct FailingDevice {
    device: EmulatedDevice,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    /// The number of calls before the one that fails. The calls are those of [`Device`], [`Queue`]
    /// and [`HostMemory`] that reach the driver.
    left: AtomicUsize,
    has_failed: AtomicBool,
    /// Whether the call that has failed was the end of a scope.
    has_failed_at_an_end: AtomicBool,
    /// The number of calls so far.
    calls: AtomicUsize,
    /// Whether the call waits instead of failing, and the signal that it need not any more.
    holds: Mutex<bool>,
    released: Condvar,
    /// The number of launches.
    launches: AtomicUsize,
    /// For each queue, whether it has work that nobody has waited for.
    under_way: Mutex<Vec<Arc<AtomicBool>>>,
}

impl FailingDevice {
    pub(crate) fn new() -> Self {
        let state = State {
            left: AtomicUsize::new(usize::MAX),
            has_failed: AtomicBool::new(false),
            has_failed_at_an_end: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
            holds: Mutex::new(false),
            released: Condvar::new(),
            launches: AtomicUsize::new(0),
            under_way: Mutex::default(),
        };
        Self { device: EmulatedDevice::new(), state: Arc::new(state) }
    }

    /// Makes one call fail, after `calls` others.
    pub(crate) fn fail_after(&self, calls: usize) {
        self.state.left.store(calls, Ordering::Relaxed);
        self.state.has_failed.store(false, Ordering::Relaxed);
        self.state.has_failed_at_an_end.store(false, Ordering::Relaxed);
    }

    /// Makes no call fail. Returns whether one has failed since [`fail_after`](Self::fail_after).
    pub(crate) fn heal(&self) -> bool {
        self.state.left.store(usize::MAX, Ordering::Relaxed);
        self.state.has_failed.load(Ordering::Relaxed)
    }

    /// Returns whether the call that has failed was the end of a scope. All work inside the scope
    /// had succeeded then.
    pub(crate) fn has_failed_at_an_end(&self) -> bool {
        self.state.has_failed_at_an_end.load(Ordering::Relaxed)
    }

    /// Makes one call wait, after `calls` others, until [`release`](Self::release) is called.
    pub(crate) fn hold_after(&self, calls: usize) {
        *self.state.holds.lock().unwrap() = true;
        self.state.left.store(calls, Ordering::Relaxed);
    }

    /// Makes no call wait any more.
    pub(crate) fn release(&self) {
        *self.state.holds.lock().unwrap() = false;
        self.state.released.notify_all();
    }

    /// Returns the number of calls so far, with one that waits.
    pub(crate) fn calls(&self) -> usize {
        self.state.calls.load(Ordering::Relaxed)
    }

    /// Returns the number of launches so far.
    pub(crate) fn launches(&self) -> usize {
        self.state.launches.load(Ordering::Relaxed)
    }

    /// Returns the number of queues with work that nobody has waited for.
    pub(crate) fn busy_queues(&self) -> usize {
        let under_way = self.state.under_way.lock().unwrap();
        under_way.iter().filter(|queue| queue.load(Ordering::Relaxed)).count()
    }
}

impl State {
    /// Counts a call, and makes it fail or wait if it is its turn. Whoever sees it counted releases
    /// it only when it waits: the lock is held until then.
    fn call(&self) -> Done {
        let holds = self.holds.lock().unwrap();
        self.calls.fetch_add(1, Ordering::Relaxed);
        if self.left.fetch_sub(1, Ordering::Relaxed) != 0 {
            return Ok(());
        }
        if *holds {
            drop(self.released.wait_while(holds, |holds| *holds).unwrap());
            return Ok(());
        }
        self.has_failed.store(true, Ordering::Relaxed);
        Err(failure())
    }
}

impl Device for FailingDevice {
    type Queue = FailingQueue;
    type Registration = <EmulatedDevice as Device>::Registration;

    fn queue(&self) -> Result<FailingQueue, RuntimeError> {
        self.state.call()?;
        let under_way = Arc::new(AtomicBool::new(false));
        self.state.under_way.lock().unwrap().push(Arc::clone(&under_way));
        let queue = self.device.queue()?;
        Ok(FailingQueue { queue, state: Arc::clone(&self.state), under_way })
    }

    fn register<T: Send>(
        &self,
        content: Vec<T>,
    ) -> Result<PinnedVec<T, Self::Registration>, RuntimeError> {
        self.state.call()?;
        self.device.register(content)
    }

    fn owns(&self, memory: &EmulatedMemory) -> bool {
        self.device.owns(memory)
    }

    fn memory_info(&self) -> Result<MemoryInfo, RuntimeError> {
        self.state.call()?;
        self.device.memory_info()
    }
}

#[derive(Debug)]
pub(crate) struct FailingQueue {
    queue: EmulatedQueue,
    state: Arc<State>,
    under_way: Arc<AtomicBool>,
}

impl FailingQueue {
    /// Notes that the queue has work.
    fn given<T>(&self, result: T) -> T {
        self.under_way.store(true, Ordering::Relaxed);
        result
    }

    /// Notes that the queue has finished its work.
    fn waited_for<T>(&self, result: T) -> T {
        self.under_way.store(false, Ordering::Relaxed);
        result
    }
}

/// Host memory of a [`FailingQueue`].
#[derive(Debug)]
pub(crate) struct FailingPinned<T: Plain> {
    pinned: EmulatedPinned<T>,
    state: Arc<State>,
}

impl<T: Plain> HostMemory<T> for FailingPinned<T> {
    type Device = EmulatedMemory;

    fn len(&self) -> usize {
        self.pinned.len()
    }

    fn read(&self) -> Result<&[T], RuntimeError> {
        self.state.call()?;
        self.pinned.read()
    }

    fn write(&mut self) -> Result<&mut [T], RuntimeError> {
        self.state.call()?;
        self.pinned.write()
    }

    /// Wipes even if it fails, as after an operation that has failed.
    fn wipe(&mut self) -> Done {
        self.pinned.wipe()?;
        self.state.call()
    }

    fn on_device(&mut self) -> &EmulatedMemory {
        self.pinned.on_device()
    }
}

/// Host memory of a [`FailingQueue`] that several threads fill.
#[derive(Debug)]
pub(crate) struct FailingShared<T: Plain> {
    shared: EmulatedShared<T>,
    state: Arc<State>,
}

impl<T: Plain> SharedMemory<T> for FailingShared<T> {
    type Device = EmulatedMemory;

    fn len(&self) -> usize {
        self.shared.len()
    }

    fn with<V>(
        &self,
        range: Range<usize>,
        work: impl FnOnce(&mut [T]) -> V,
    ) -> Result<V, RuntimeError> {
        self.state.call()?;
        self.shared.with(range, work)
    }

    /// Wipes even if it fails, as after an operation that has failed.
    fn wipe(&self) -> Done {
        self.shared.wipe()?;
        self.state.call()
    }

    fn on_device(&mut self) -> &EmulatedMemory {
        self.shared.on_device()
    }
}

type Done = Result<(), RuntimeError>;

impl Queue for FailingQueue {
    type Memory = EmulatedMemory;
    type Pinned<T: Plain> = FailingPinned<T>;
    type Shared<T: Plain> = FailingShared<T>;
    type Scope<'env> = EmulatedScope<'env>;

    fn allocate<T: Plain>(&self, len: usize) -> Result<Memory<T>, RuntimeError> {
        self.state.call()?;
        self.queue.allocate(len)
    }

    fn pinned<T: Plain>(&self, len: usize) -> Result<FailingPinned<T>, RuntimeError> {
        self.state.call()?;
        Ok(FailingPinned { pinned: self.queue.pinned(len)?, state: Arc::clone(&self.state) })
    }

    fn shared<T: Plain>(&self, len: usize) -> Result<FailingShared<T>, RuntimeError> {
        self.state.call()?;
        Ok(FailingShared { shared: self.queue.shared(len)?, state: Arc::clone(&self.state) })
    }

    fn upload<T: Plain>(
        &self,
        from: &FailingPinned<T>,
        range: Range<usize>,
        to: &Memory<T>,
        start: usize,
    ) -> Done {
        self.state.call()?;
        self.given(self.queue.upload(&from.pinned, range, to, start))
    }

    fn download<T: Plain>(
        &self,
        from: &Memory<T>,
        range: Range<usize>,
        to: &mut FailingPinned<T>,
        start: usize,
    ) -> Done {
        self.state.call()?;
        self.given(self.queue.download(from, range, &mut to.pinned, start))
    }

    fn is_registered(&self, memory: &[u8]) -> bool {
        self.queue.is_registered(memory)
    }

    /// Does the work and waits even if it fails, as a driver does that reports a failed operation.
    fn scope<'env, T>(
        &self,
        work: impl FnOnce(&EmulatedScope<'env>) -> Result<T, RuntimeError>,
    ) -> Result<T, RuntimeError> {
        let result = self.waited_for(self.queue.scope(work))?;
        self.state
            .call()
            .inspect_err(|_| self.state.has_failed_at_an_end.store(true, Ordering::Relaxed))?;
        Ok(result)
    }

    fn upload_from<'env>(
        &self,
        scope: &EmulatedScope<'env>,
        from: &'env [u8],
        to: &Memory<u8>,
    ) -> Done {
        self.state.call()?;
        self.given(self.queue.upload_from(scope, from, to))
    }

    fn download_to<'env>(
        &self,
        scope: &EmulatedScope<'env>,
        from: &Memory<u8>,
        to: &'env mut [u8],
    ) -> Done {
        self.state.call()?;
        self.given(self.queue.download_to(scope, from, to))
    }

    fn slice<'a, T: Plain>(
        &self,
        memory: &'a EmulatedMemory,
        bytes: Range<usize>,
    ) -> Result<Slice<'a, T, EmulatedMemory>, RuntimeError> {
        self.queue.slice(memory, bytes)
    }

    fn copy(&self, from: &EmulatedMemory, to: &EmulatedMemory) -> Done {
        self.state.call()?;
        self.given(self.queue.copy(from, to))
    }

    fn wipe(&self, memory: &EmulatedMemory) -> Done {
        self.state.call()?;
        self.given(self.queue.wipe(memory))
    }

    fn launch(&self, kernel: &Kernel, memory: &[&EmulatedMemory], batch: Batch) -> Done {
        self.state.call()?;
        self.state.launches.fetch_add(1, Ordering::Relaxed);
        self.given(self.queue.launch(kernel, memory, batch))
    }

    fn launch_all(&self, launches: &[Launch<'_, EmulatedMemory>]) -> Done {
        launches.iter().try_for_each(|Launch { kernel, memory, batch, .. }| {
            self.launch(kernel, memory, *batch)
        })
    }

    fn follow(&self, other: &Self) -> Done {
        self.state.call()?;
        self.given(self.queue.follow(&other.queue))
    }

    /// Waits even if it fails, as a driver does that reports a failed operation.
    fn synchronise(&self) -> Done {
        self.waited_for(());
        self.state.call()?;
        self.queue.synchronise()
    }

    fn settle(&self) {
        self.queue.settle();
        self.waited_for(());
    }
}
