//! The device on the CPU. Kernels run on the [emulator], and each call returns when its operation
//! is done.
//!
//! The copies of memory that a launch makes are overwritten, too, but not the stacks of the
//! emulated threads; see [`emulator`].

use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;
use core::time::Duration;
#[cfg(feature = "interpreter")]
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use ctru_simt::descriptor::{Batch, Kernel};
use ctru_simt::emulator::{self, Emulator, Event};
#[cfg(feature = "interpreter")]
use ctru_simt::ptx::Module;
use zeroize::{Zeroize, Zeroizing};

use crate::arguments;
use crate::error::RuntimeError;
#[cfg(feature = "interpreter")]
use crate::interpreted::Interpreter;
use crate::lock::lock;
use crate::memory::{Buffer, DeviceMemory, HostMemory, PinnedVec, Plain, SharedMemory, Slice};
use crate::queue::{Device, Launch, MemoryInfo, Order, Queue};
use crate::registered::Registered;
use crate::taken::{Taken, TakenRanges};

/// The byte that fills new memory. The content of new memory is undefined, and this pattern makes
/// its use conspicuous.
const UNDEFINED: u8 = 0xa5;

/// A device on the CPU.
#[derive(Clone)]
pub struct EmulatedDevice(Arc<State>);

struct State {
    total: usize,
    used: AtomicUsize,
    /// The recorded events of threads, or `None` if launches are not traced.
    trace: Option<Mutex<Vec<Event>>>,
    emulator: Emulator,
    /// What runs the PTX of kernels in place of the emulator.
    #[cfg(feature = "interpreter")]
    interpreter: Option<Interpreter>,
    /// The number of copies, wipes and launches that remain until the device is lost.
    left: AtomicUsize,
}

impl State {
    /// Counts a copy, a wipe or a launch. Returns an error if the device is lost.
    fn work(&self) -> Result<(), RuntimeError> {
        let left = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        // A driver returns this code from every call after an exception in a kernel, because the
        // process can then no longer use the GPU.
        let lost = |_| RuntimeError::Driver {
            call: "EmulatedDevice::lost_after",
            code: 719,
            name: "CUDA_ERROR_LAUNCH_FAILED".to_owned(),
        };
        left.map(|_| ()).map_err(lost)
    }

    /// Runs a kernel on a copy of the content of arrays, and returns what it has made of the copy.
    /// `which` has, for each argument of the kernel, an index into the arrays.
    fn run(
        &self,
        kernel: &Kernel,
        arrays: &[&EmulatedMemory],
        before: &[Vec<u8>],
        which: &[usize],
        batch: Batch,
    ) -> Result<Zeroizing<Vec<Vec<u8>>>, RuntimeError> {
        #[cfg(feature = "interpreter")]
        if let Some(interpreter) = &self.interpreter {
            let mut contents = Zeroizing::new(before.to_vec());
            interpreter.launch(kernel, &mut contents, which, batch)?;
            return Ok(contents);
        }
        let buffers = arrays.iter().zip(before).map(|(memory, content)| {
            emulator::Buffer::from_bytes(memory.element_bytes, content.clone())
        });
        let buffers: Vec<_> = buffers.collect();
        let arguments: Vec<_> = which.iter().map(|&index| &buffers[index]).collect();
        match &self.trace {
            None => self.emulator.launch(kernel, &arguments, batch)?,
            Some(trace) => {
                let events = self.emulator.trace(kernel, &arguments, batch)?;
                lock(trace).extend(events);
            }
        }
        Ok(Zeroizing::new(buffers.iter().map(emulator::Buffer::bytes).collect()))
    }
}

impl EmulatedDevice {
    /// Creates a device whose memory is limited only by that of the host. A launch may take two
    /// minutes, as on each device whose constructor names no other limit.
    #[must_use]
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    /// Creates a device with `total` bytes of memory.
    #[must_use]
    pub fn with_memory(total: usize) -> Self {
        Self::with(|state| state.total = total)
    }

    /// Creates a device on which a launch may take this long. A launch that takes longer stops at
    /// one of the next operations of a thread, and is the error
    /// [`Fault::TimeLimit`](emulator::Fault::TimeLimit) in [`RuntimeError::Emulator`].
    #[must_use]
    pub fn with_time_limit(limit: Duration) -> Self {
        Self::with(|state| state.emulator = Emulator::with_time_limit(limit))
    }

    /// Creates a device that records the events of the threads of every launch.
    #[must_use]
    pub fn traced() -> Self {
        Self::with(|state| state.trace = Some(Mutex::default()))
    }

    /// Creates a device that executes `operations` copies, wipes and launches. All later ones fail,
    /// as on a GPU after an exception in a kernel.
    #[must_use]
    pub fn lost_after(operations: usize) -> Self {
        Self::with(|state| state.left = AtomicUsize::new(operations))
    }

    /// Creates a device that runs the PTX of this module by [`ptx_check::run`] instead of the
    /// sources by the emulator. It is for tests: the interpreter does not wipe what it copies.
    ///
    /// # Errors
    /// [`RuntimeError::Interpreter`] if the module is no PTX.
    #[cfg(feature = "interpreter")]
    pub fn of_ptx(module: &'static Module) -> Result<Self, RuntimeError> {
        let interpreter = Some(Interpreter::new(module)?);
        Ok(Self::with(|state| state.interpreter = interpreter))
    }

    /// Creates a device with what `change` changes.
    fn with(change: impl FnOnce(&mut State)) -> Self {
        let mut state = State {
            total: isize::MAX as usize,
            used: AtomicUsize::new(0),
            trace: None,
            emulator: Emulator::new(),
            #[cfg(feature = "interpreter")]
            interpreter: None,
            left: AtomicUsize::new(usize::MAX),
        };
        change(&mut state);
        Self(Arc::new(state))
    }

    /// Returns the names of the kernels that a device [`of_ptx`](Self::of_ptx) has launched.
    #[cfg(feature = "interpreter")]
    #[must_use]
    pub fn launched(&self) -> BTreeSet<&'static str> {
        self.0.interpreter.as_ref().map(Interpreter::launched).unwrap_or_default()
    }

    /// Returns the events that threads have caused since the last call, ordered by launch, then by
    /// block, then by thread. Returns none if the device is not [traced](Self::traced).
    #[must_use]
    pub fn take_trace(&self) -> Vec<Event> {
        self.0.trace.as_ref().map(|trace| core::mem::take(&mut *lock(trace))).unwrap_or_default()
    }
}

impl Default for EmulatedDevice {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for EmulatedDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EmulatedDevice")
    }
}

impl Device for EmulatedDevice {
    type Queue = EmulatedQueue;
    type Registration = EmulatedRegistration;

    fn queue(&self) -> Result<EmulatedQueue, RuntimeError> {
        Ok(EmulatedQueue { device: self.clone(), identity: Arc::default() })
    }

    fn register<T: Send>(
        &self,
        content: Vec<T>,
    ) -> Result<PinnedVec<T, EmulatedRegistration>, RuntimeError> {
        let registration = EmulatedRegistration { _memory: Registered::new(&content) };
        Ok(PinnedVec::new(registration, content))
    }

    fn owns(&self, memory: &EmulatedMemory) -> bool {
        Arc::ptr_eq(&self.0, &memory.device.0)
    }

    fn memory_info(&self) -> Result<MemoryInfo, RuntimeError> {
        let State { total, used, .. } = &*self.0;
        Ok(MemoryInfo { free: total.saturating_sub(used.load(Ordering::Relaxed)), total: *total })
    }
}

/// A registration of host memory with an [`EmulatedDevice`].
#[derive(Debug)]
pub struct EmulatedRegistration {
    _memory: Registered,
}

/// Memory of an [`EmulatedDevice`].
pub struct EmulatedMemory {
    device: EmulatedDevice,
    content: Arc<Mutex<Vec<u8>>>,
    /// The place of the first byte in `content`.
    start: usize,
    bytes: usize,
    element_bytes: u32,
    kind: Kind,
}

/// What dropping a piece of memory does.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Kind {
    /// Memory of the device: wipes the content and frees memory of the device.
    Device,
    /// Memory of the host: wipes the content.
    Host,
    /// A part of other memory: does nothing.
    Slice,
}

impl EmulatedMemory {
    /// Returns the range of its bytes in `content`.
    fn range(&self) -> Range<usize> {
        self.start..self.start + self.bytes
    }

    /// Writes the bytes that a kernel has changed. Other queues may have written to other bytes in
    /// the meantime.
    fn change(&self, before: &[u8], after: &[u8]) {
        let mut content = lock(&self.content);
        for ((byte, before), after) in content[self.range()].iter_mut().zip(before).zip(after) {
            if before != after {
                *byte = *after;
            }
        }
    }
}

impl DeviceMemory for EmulatedMemory {
    fn element_bytes(&self) -> u32 {
        self.element_bytes
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for EmulatedMemory {
    fn drop(&mut self) {
        if self.kind == Kind::Slice {
            return;
        }
        lock(&self.content).zeroize();
        if self.kind == Kind::Device {
            self.device.0.used.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for EmulatedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EmulatedMemory({} bytes)", self.bytes)
    }
}

/// Host memory of an [`EmulatedQueue`].
///
/// The content is either in `content` or, after [`on_device`](HostMemory::on_device), in `memory`.
pub struct EmulatedPinned<T: Plain> {
    /// The identity of the queue.
    queue: Arc<()>,
    content: OnceLock<Vec<T>>,
    memory: EmulatedMemory,
}

impl<T: Plain> EmulatedPinned<T> {
    /// Returns the content. Takes it from `memory` if it is there.
    fn content(&self) -> &Vec<T> {
        self.content.get_or_init(|| elements(&lock(&self.memory.content)))
    }

    /// Returns the content for writing, and leaves no copy of it in `memory`.
    fn in_host_form(&mut self) -> &mut [T] {
        self.content();
        // The host may wipe its memory in this way, so no copy stays.
        lock(&self.memory.content).zeroize();
        self.content.get_mut().map_or(&mut [], Vec::as_mut_slice)
    }
}

impl<T: Plain> HostMemory<T> for EmulatedPinned<T> {
    type Device = EmulatedMemory;

    fn len(&self) -> usize {
        self.memory.bytes / size_of::<T>()
    }

    fn read(&self) -> Result<&[T], RuntimeError> {
        Ok(self.content())
    }

    fn write(&mut self) -> Result<&mut [T], RuntimeError> {
        Ok(self.in_host_form())
    }

    fn wipe(&mut self) -> Result<(), RuntimeError> {
        zero(self.in_host_form());
        Ok(())
    }

    fn on_device(&mut self) -> &EmulatedMemory {
        if let Some(content) = self.content.take() {
            let content = Wiped(content);
            let mut bytes = lock(&self.memory.content);
            bytes.zeroize();
            bytes.resize(self.memory.bytes, 0);
            write_bytes(&content.0, &mut bytes);
        }
        &self.memory
    }
}

impl<T: Plain> Drop for EmulatedPinned<T> {
    fn drop(&mut self) {
        self.content.take().map(Wiped);
    }
}

impl<T: Plain> fmt::Debug for EmulatedPinned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EmulatedPinned({} elements)", self.len())
    }
}

/// The scope of copies of memory that is borrowed for `'env`. On this device, every copy is done
/// when its call returns.
// The type is invariant in `'env` and not `Send`, so that the emulator accepts only programs that a
// GPU accepts.
#[derive(Debug)]
pub struct EmulatedScope<'env>(PhantomData<*mut &'env ()>);

/// Host memory of an [`EmulatedQueue`] that several threads fill and read at the same time.
pub struct EmulatedShared<T: Plain> {
    memory: EmulatedMemory,
    taken: TakenRanges,
    element: PhantomData<fn() -> T>,
}

/// A copy of elements of shared memory that a caller changes. Dropping it writes the copy back,
/// also after a panic, because a GPU's shared memory has what the caller has written until then.
struct Changing<'a, T: Plain> {
    memory: &'a EmulatedMemory,
    taken: Taken<'a>,
    copy: Wiped<T>,
}

impl<T: Plain> Drop for Changing<'_, T> {
    fn drop(&mut self) {
        let start = self.taken.range().start * size_of::<T>();
        write_bytes(&self.copy.0, &mut lock(&self.memory.content)[start..]);
    }
}

impl<T: Plain> SharedMemory<T> for EmulatedShared<T> {
    type Device = EmulatedMemory;

    fn len(&self) -> usize {
        self.memory.bytes / size_of::<T>()
    }

    fn with<V>(
        &self,
        range: Range<usize>,
        work: impl FnOnce(&mut [T]) -> V,
    ) -> Result<V, RuntimeError> {
        let taken = self.taken.take(range, self.len())?;
        let Range { start, end } = taken.range();
        // The caller gets a copy, and no lock is held while it works, because other calls may use
        // other elements during this time.
        let bytes = start * size_of::<T>()..end * size_of::<T>();
        let copy = Wiped(elements(&lock(&self.memory.content)[bytes]));
        let mut changing = Changing { memory: &self.memory, taken, copy };
        Ok(work(&mut changing.copy.0))
    }

    fn wipe(&self) -> Result<(), RuntimeError> {
        let _taken = self.taken.take(0..self.len(), self.len())?;
        lock(&self.memory.content).fill(0);
        Ok(())
    }

    fn on_device(&mut self) -> &EmulatedMemory {
        &self.memory
    }
}

impl<T: Plain> fmt::Debug for EmulatedShared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EmulatedShared({} elements)", self.len())
    }
}

/// Numbers that are overwritten when dropped.
struct Wiped<T: Plain>(Vec<T>);

impl<T: Plain> Drop for Wiped<T> {
    fn drop(&mut self) {
        zero(&mut self.0);
    }
}

/// Overwrites numbers with zeros.
fn zero<T: Plain>(numbers: &mut [T]) {
    numbers.fill(T::default());
    // Without this use of the elements, the compiler could remove the writes.
    core::hint::black_box(numbers);
}

/// Returns `len` times `element`, or `None` if the memory does not suffice.
fn filled<T: Clone>(len: usize, element: T) -> Option<Vec<T>> {
    let mut elements = Vec::new();
    elements.try_reserve_exact(len).ok()?;
    elements.resize(len, element);
    Some(elements)
}

/// Writes numbers as a device stores them.
fn write_bytes<T: Plain>(numbers: &[T], bytes: &mut [u8]) {
    let bytes = bytes.chunks_exact_mut(size_of::<T>());
    for (bytes, number) in bytes.zip(numbers) {
        bytes.copy_from_slice(&number.to_bits().to_le_bytes()[..size_of::<T>()]);
    }
}

/// Returns the numbers that a device stores as these bytes.
fn elements<T: Plain>(bytes: &[u8]) -> Vec<T> {
    let number = |bytes: &[u8]| {
        T::from_bits(bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u128::from(byte)))
    };
    bytes.chunks_exact(size_of::<T>()).map(number).collect()
}

/// A queue of an [`EmulatedDevice`]. A call returns when its operation is done. Clones refer to the
/// same queue.
#[derive(Clone)]
pub struct EmulatedQueue {
    device: EmulatedDevice,
    /// An allocation that only this queue, its clones and its pinned memory share.
    identity: Arc<()>,
}

impl EmulatedQueue {
    /// Returns these bytes of `content` as memory for elements of type `T`.
    fn memory<T: Plain>(
        &self,
        content: Arc<Mutex<Vec<u8>>>,
        Range { start, end }: Range<usize>,
        kind: Kind,
    ) -> EmulatedMemory {
        let (device, bytes, element_bytes) = (self.device.clone(), end - start, T::BYTES);
        EmulatedMemory { device, content, start, bytes, element_bytes, kind }
    }

    fn check_owner(&self, memory: &EmulatedMemory) -> Result<(), RuntimeError> {
        match self.device.owns(memory) {
            true => Ok(()),
            false => Err(RuntimeError::Foreign { what: "device memory", owner: "device" }),
        }
    }

    fn check_queue<T: Plain>(&self, pinned: &EmulatedPinned<T>) -> Result<(), RuntimeError> {
        match Arc::ptr_eq(&self.identity, &pinned.queue) {
            true => Ok(()),
            false => Err(RuntimeError::Foreign { what: "pinned memory", owner: "queue" }),
        }
    }
}

impl fmt::Debug for EmulatedQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EmulatedQueue")
    }
}

impl Queue for EmulatedQueue {
    type Memory = EmulatedMemory;
    type Pinned<T: Plain> = EmulatedPinned<T>;
    type Shared<T: Plain> = EmulatedShared<T>;
    type Scope<'env> = EmulatedScope<'env>;

    fn allocate<T: Plain>(&self, len: usize) -> Result<Buffer<T, EmulatedMemory>, RuntimeError> {
        let State { total, used, .. } = &*self.device.0;
        let requested = len.saturating_mul(size_of::<T>());
        let reserve = |used: usize| used.checked_add(requested).filter(|used| used <= total);
        used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve).map_err(|used| {
            RuntimeError::OutOfMemory { requested, free: total.saturating_sub(used) }
        })?;
        let Some(content) = filled(requested, UNDEFINED) else {
            used.fetch_sub(requested, Ordering::Relaxed);
            return Err(RuntimeError::OutOfMemory { requested, free: 0 });
        };
        let content = Arc::new(Mutex::new(content));
        Ok(Buffer::new(self.memory::<T>(content, 0..requested, Kind::Device)))
    }

    fn pinned<T: Plain>(&self, len: usize) -> Result<EmulatedPinned<T>, RuntimeError> {
        let requested = len.saturating_mul(size_of::<T>());
        let content =
            filled(len, T::default()).ok_or(RuntimeError::OutOfHostMemory { requested })?;
        Ok(EmulatedPinned {
            queue: Arc::clone(&self.identity),
            content: OnceLock::from(content),
            memory: self.memory::<T>(Arc::default(), 0..requested, Kind::Host),
        })
    }

    fn shared<T: Plain>(&self, len: usize) -> Result<EmulatedShared<T>, RuntimeError> {
        let requested = len.saturating_mul(size_of::<T>());
        let content = filled(requested, 0).ok_or(RuntimeError::OutOfHostMemory { requested })?;
        let memory = self.memory::<T>(Arc::new(Mutex::new(content)), 0..requested, Kind::Host);
        Ok(EmulatedShared { memory, taken: TakenRanges::default(), element: PhantomData })
    }

    fn upload<T: Plain>(
        &self,
        from: &EmulatedPinned<T>,
        range: Range<usize>,
        to: &Buffer<T, EmulatedMemory>,
        start: usize,
    ) -> Result<(), RuntimeError> {
        self.check_queue(from)?;
        self.check_owner(to)?;
        arguments::check_copy(&range, from.len(), start, to.len())?;
        self.device.0.work()?;
        let mut to = lock(&to.content);
        write_bytes(&from.content()[range], &mut to[start * size_of::<T>()..]);
        Ok(())
    }

    fn download<T: Plain>(
        &self,
        from: &Buffer<T, EmulatedMemory>,
        range: Range<usize>,
        to: &mut EmulatedPinned<T>,
        start: usize,
    ) -> Result<(), RuntimeError> {
        self.check_queue(to)?;
        self.check_owner(from)?;
        arguments::check_copy(&range, from.len(), start, to.len())?;
        self.device.0.work()?;
        let bytes = range.start * size_of::<T>()..range.end * size_of::<T>();
        let copied = Wiped(elements::<T>(&lock(&from.content)[bytes]));
        to.write()?[start..][..range.len()].copy_from_slice(&copied.0);
        Ok(())
    }

    fn is_registered(&self, memory: &[u8]) -> bool {
        Registered::covers(memory)
    }

    fn scope<'env, T>(
        &self,
        work: impl FnOnce(&EmulatedScope<'env>) -> Result<T, RuntimeError>,
    ) -> Result<T, RuntimeError> {
        work(&EmulatedScope(PhantomData))
    }

    fn upload_from<'env>(
        &self,
        _: &EmulatedScope<'env>,
        from: &'env [u8],
        to: &Buffer<u8, EmulatedMemory>,
    ) -> Result<(), RuntimeError> {
        self.check_owner(to)?;
        arguments::check_copy(&(0..from.len()), from.len(), 0, to.len())?;
        self.device.0.work()?;
        lock(&to.content)[..from.len()].copy_from_slice(from);
        Ok(())
    }

    fn download_to<'env>(
        &self,
        _: &EmulatedScope<'env>,
        from: &Buffer<u8, EmulatedMemory>,
        to: &'env mut [u8],
    ) -> Result<(), RuntimeError> {
        self.check_owner(from)?;
        arguments::check_copy(&(0..to.len()), from.len(), 0, to.len())?;
        self.device.0.work()?;
        to.copy_from_slice(&lock(&from.content)[..to.len()]);
        Ok(())
    }

    fn slice<'a, T: Plain>(
        &self,
        memory: &'a EmulatedMemory,
        bytes: Range<usize>,
    ) -> Result<Slice<'a, T, EmulatedMemory>, RuntimeError> {
        self.check_owner(memory)?;
        // The beginning of an allocation is aligned for every element.
        arguments::check_slice::<T>(memory, memory.start as u64, &bytes)?;
        let range = memory.start + bytes.start..memory.start + bytes.end;
        Ok(Slice::new(self.memory::<T>(Arc::clone(&memory.content), range, Kind::Slice)))
    }

    fn copy(&self, from: &EmulatedMemory, to: &EmulatedMemory) -> Result<(), RuntimeError> {
        self.check_owner(from)?;
        self.check_owner(to)?;
        arguments::check_copy(&(0..from.bytes), from.bytes, 0, to.bytes)?;
        self.device.0.work()?;
        let copied = Zeroizing::new(lock(&from.content)[from.range()].to_vec());
        lock(&to.content)[to.range()][..from.bytes].copy_from_slice(&copied);
        Ok(())
    }

    fn wipe(&self, memory: &EmulatedMemory) -> Result<(), RuntimeError> {
        self.check_owner(memory)?;
        self.device.0.work()?;
        lock(&memory.content)[memory.range()].fill(0);
        Ok(())
    }

    fn launch(
        &self,
        kernel: &Kernel,
        memory: &[&EmulatedMemory],
        batch: Batch,
    ) -> Result<(), RuntimeError> {
        memory.iter().try_for_each(|memory| self.check_owner(memory))?;
        arguments::check(kernel, memory, |memory| memory.start as u64, batch)?;
        self.device.0.work()?;
        if batch.operations() == 0 {
            return Ok(());
        }
        // If the same memory occurs twice, it must become one array.
        let mut arrays: Vec<&EmulatedMemory> = Vec::new();
        let mut which = Vec::new();
        for &memory in memory {
            let known = arrays.iter().position(|known| core::ptr::eq(*known, memory));
            which.push(known.unwrap_or(arrays.len()));
            if known.is_none() {
                arrays.push(memory);
            }
        }
        let content = |memory: &&EmulatedMemory| lock(&memory.content)[memory.range()].to_vec();
        let before: Zeroizing<Vec<_>> = Zeroizing::new(arrays.iter().map(content).collect());
        let after = self.device.0.run(kernel, &arrays, &before, &which, batch)?;
        for (memory, (before, after)) in arrays.iter().zip(before.iter().zip(after.iter())) {
            memory.change(before, after);
        }
        Ok(())
    }

    /// Runs a launch that is [`Beside`](Order::Beside) others as late as possible, so that a
    /// launch that should wait for it and does not reads old values.
    fn launch_all(&self, launches: &[Launch<'_, EmulatedMemory>]) -> Result<(), RuntimeError> {
        for Launch { kernel, memory, batch, .. } in launches {
            memory.iter().try_for_each(|memory| self.check_owner(memory))?;
            arguments::check(kernel, memory, |memory| memory.start as u64, *batch)?;
        }
        let run = |launch: &Launch<'_, _>| self.launch(launch.kernel, &launch.memory, launch.batch);
        let mut beside = Vec::new();
        let launches = launches.iter().filter(|launch| launch.batch.operations() != 0);
        for launch in launches {
            match launch.order {
                Order::Beside => beside.push(launch),
                Order::Next => run(launch)?,
                Order::Join => {
                    beside.drain(..).try_for_each(run)?;
                    run(launch)?;
                }
            }
        }
        beside.into_iter().try_for_each(run)
    }

    fn follow(&self, _: &Self) -> Result<(), RuntimeError> {
        // Every operation of the other queue is already done, because each call waits for its
        // operation.
        Ok(())
    }

    fn synchronise(&self) -> Result<(), RuntimeError> {
        Ok(())
    }

    fn settle(&self) {}
}
