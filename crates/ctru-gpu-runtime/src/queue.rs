//! The traits of devices and of their queues.

use core::fmt::Debug;
use core::ops::Range;
use std::string::String;
use std::vec::Vec;

use ctru_simt::descriptor::{Batch, Kernel};

use crate::error::RuntimeError;
use crate::memory::{Buffer, DeviceMemory, HostMemory, PinnedVec, Plain, SharedMemory, Slice};

/// The size of a device's memory in bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Free bytes.
    pub free: usize,
    /// Total bytes.
    pub total: usize,
}

/// One of the launches that [`Queue::launch_all`] issues together.
#[derive(Debug)]
pub struct Launch<'a, M> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The arrays of the kernel.
    pub memory: Vec<&'a M>,
    /// The operations.
    pub batch: Batch,
    /// The launches of the same call for which this one waits.
    pub order: Order,
}

impl<M> Clone for Launch<'_, M> {
    fn clone(&self) -> Self {
        Self { memory: self.memory.clone(), ..*self }
    }
}

/// The place of a launch among the launches of a call: for which earlier ones it waits, and which
/// later ones wait for it. Together they form a graph that can fork and join. A launch without
/// operations waits for nothing, and nothing waits for it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// In sequence: waits for the last launch that is not [`Beside`](Self::Beside). All later ones
    /// wait for it.
    Next,
    /// A fork: waits like [`Next`](Self::Next), but only a launch with [`Join`](Self::Join) waits
    /// for it.
    Beside,
    /// A join: waits for all earlier launches, and all later ones wait for it.
    Join,
}

/// A device that runs kernels. Clones refer to the same device.
pub trait Device: Clone + Debug + Send + Sync {
    /// The type of the device's queues.
    type Queue: Queue + 'static;
    /// A registration, which keeps memory of the host pinned until it is dropped.
    type Registration: Debug + Send + Sync + 'static;

    /// Creates a queue.
    ///
    /// # Errors
    /// [`RuntimeError`] if the device cannot create another queue.
    fn queue(&self) -> Result<Self::Queue, RuntimeError>;

    /// Pins the memory of a vector in place. This takes some microseconds per page.
    ///
    /// # Errors
    /// [`RuntimeError`] if the memory cannot be pinned. The vector is then dropped.
    fn register<T: Send>(
        &self,
        content: Vec<T>,
    ) -> Result<PinnedVec<T, Self::Registration>, RuntimeError>;

    /// Returns the name of the device's kind, by which [tables](crate::batch::tuning) are found.
    fn name(&self) -> String {
        String::new()
    }

    /// Returns whether the memory belongs to this device.
    fn owns(&self, memory: &<Self::Queue as Queue>::Memory) -> bool;

    /// Returns the total and the free memory of the device.
    ///
    /// # Errors
    /// [`RuntimeError`] if the device does not answer.
    fn memory_info(&self) -> Result<MemoryInfo, RuntimeError>;
}

/// A queue of operations, which a device executes in order. A call may return before its operation
/// is done; see the [rules](crate#rules).
pub trait Queue: Debug + Send + Sync {
    /// The type of the device's memory, for elements of any type.
    type Memory: DeviceMemory;
    /// The type of host memory for copies and kernels.
    type Pinned<T: Plain>: HostMemory<T, Device = Self::Memory>;
    /// The type of host memory that several threads fill.
    type Shared<T: Plain>: SharedMemory<T, Device = Self::Memory>;
    /// The type of a scope, in which copies use memory that is borrowed for `'env`.
    type Scope<'env>: Debug;

    /// Allocates memory for `len` elements on the device. Its initial content is undefined.
    ///
    /// # Errors
    /// [`RuntimeError::OutOfMemory`] if the memory does not suffice, and errors of the driver.
    fn allocate<T: Plain>(&self, len: usize) -> Result<Buffer<T, Self::Memory>, RuntimeError>;

    /// Allocates memory for `len` elements on the host, for copies on this queue and for kernels on
    /// all queues of the device. All elements are zero.
    ///
    /// # Errors
    /// [`RuntimeError::OutOfHostMemory`] if the memory does not suffice, and errors of the driver.
    fn pinned<T: Plain>(&self, len: usize) -> Result<Self::Pinned<T>, RuntimeError>;

    /// Allocates memory for `len` elements on the host, for kernels on all queues of the device and
    /// for several threads at the same time. All elements are zero.
    ///
    /// # Errors
    /// Those of [`pinned`](Self::pinned).
    fn shared<T: Plain>(&self, len: usize) -> Result<Self::Shared<T>, RuntimeError>;

    /// Copies the elements `range` of host memory to the device, to the elements from `start` on.
    ///
    /// # Errors
    /// [`RuntimeError::Range`] if the source or the target does not have these elements;
    /// [`RuntimeError::Foreign`] if `from` belongs to another queue or `to` to another device.
    fn upload<T: Plain>(
        &self,
        from: &Self::Pinned<T>,
        range: Range<usize>,
        to: &Buffer<T, Self::Memory>,
        start: usize,
    ) -> Result<(), RuntimeError>;

    /// Copies the elements `range` of device memory to the host, to the elements from `start` on.
    ///
    /// # Errors
    /// Those of [`upload`](Self::upload).
    fn download<T: Plain>(
        &self,
        from: &Buffer<T, Self::Memory>,
        range: Range<usize>,
        to: &mut Self::Pinned<T>,
        start: usize,
    ) -> Result<(), RuntimeError>;

    /// Returns whether a single call of [`Device::register`] has pinned all of this memory. Returns
    /// false if `memory` is empty.
    fn is_registered(&self, memory: &[u8]) -> bool;

    /// Calls `work`. Inside it, [`upload_from`](Self::upload_from) and
    /// [`download_to`](Self::download_to) may issue copies of borrowed memory of the host, on this
    /// queue and others. Waits for these copies, and for all operations before them on the same
    /// queues, and returns the result of `work`. Waits also if `work` panics. Aborts the process if
    /// the device refuses to wait, because the copies could then use memory after the end of its
    /// borrow.
    ///
    /// ```
    /// # use ctru_gpu_runtime::{Buffer, Queue, RuntimeError};
    /// fn there_and_back<Q: Queue>(
    ///     queue: &Q,
    ///     memory: &Buffer<u8, Q::Memory>,
    ///     from: &[u8],
    ///     to: &mut [u8],
    /// ) -> Result<(), RuntimeError> {
    ///     queue.scope(|scope| {
    ///         queue.upload_from(scope, from, memory)?;
    ///         queue.download_to(scope, memory, to)
    ///     })
    /// }
    /// ```
    ///
    /// Memory that ends before the scope is refused:
    ///
    /// ```compile_fail,E0597
    /// # use ctru_gpu_runtime::{Buffer, Queue, RuntimeError};
    /// # fn up<Q: Queue>(queue: &Q, memory: &Buffer<u8, Q::Memory>) -> Result<(), RuntimeError> {
    /// queue.scope(|scope| {
    ///     let from = [7; 16];
    ///     queue.upload_from(scope, &from, memory)
    /// })
    /// # }
    /// ```
    ///
    /// So is a use of memory to which a copy may still write:
    ///
    /// ```compile_fail,E0503
    /// # use ctru_gpu_runtime::{Buffer, Queue, RuntimeError};
    /// # fn down<Q: Queue>(queue: &Q, memory: &Buffer<u8, Q::Memory>) -> Result<u8, RuntimeError> {
    /// let mut to = [0; 16];
    /// queue.scope(|scope| {
    ///     queue.download_to(scope, memory, &mut to)?;
    ///     Ok(to[0])
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of `work`, and those of the operations for which it waits.
    fn scope<'env, T>(
        &self,
        work: impl FnOnce(&Self::Scope<'env>) -> Result<T, RuntimeError>,
    ) -> Result<T, RuntimeError>;

    /// Copies all bytes of `from` to the beginning of `to`. The copy is done at the end of the
    /// [scope](Self::scope).
    ///
    /// Copies from [registered](Device::register) memory are fast, because the driver copies other
    /// memory through its own buffer.
    ///
    /// # Errors
    /// Those of [`upload`](Self::upload).
    fn upload_from<'env>(
        &self,
        scope: &Self::Scope<'env>,
        from: &'env [u8],
        to: &Buffer<u8, Self::Memory>,
    ) -> Result<(), RuntimeError>;

    /// Fills `to` from the beginning of `from`. The copy is done at the end of the
    /// [scope](Self::scope). If the scope returns an error, the content of `to` is unspecified.
    /// Copies to [registered](Device::register) memory are fast.
    ///
    /// # Errors
    /// Those of [`upload`](Self::upload).
    fn download_to<'env>(
        &self,
        scope: &Self::Scope<'env>,
        from: &Buffer<u8, Self::Memory>,
        to: &'env mut [u8],
    ) -> Result<(), RuntimeError>;

    /// Returns a part of device memory as elements of type `T`, for example some rows of an array.
    /// `bytes` counts from the beginning of `memory`.
    ///
    /// # Errors
    /// [`RuntimeError::Slice`] if `memory` does not have these bytes, if they are not whole
    /// elements, or if the address of the first element is not a multiple of its size.
    /// [`RuntimeError::Foreign`] if `memory` belongs to another device.
    fn slice<'a, T: Plain>(
        &self,
        memory: &'a Self::Memory,
        bytes: Range<usize>,
    ) -> Result<Slice<'a, T, Self::Memory>, RuntimeError>;

    /// Copies all bytes of `from` to the beginning of `to`, both in device memory. Does not wait.
    ///
    /// # Errors
    /// [`RuntimeError::Range`] if `to` has fewer bytes; [`RuntimeError::Foreign`] if one of the
    /// two belongs to another device.
    fn copy(&self, from: &Self::Memory, to: &Self::Memory) -> Result<(), RuntimeError>;

    /// Overwrites device memory with zeros.
    ///
    /// # Errors
    /// [`RuntimeError::Foreign`] if the memory belongs to another device, and errors of the driver
    /// if the operation cannot be issued.
    fn wipe(&self, memory: &Self::Memory) -> Result<(), RuntimeError>;

    /// Runs `kernel` on a batch. If the batch has no operations, the arrays may have any length and
    /// no kernel runs. Several arrays may be the same memory. If a kernel then reads an element
    /// that it also writes, the value that it reads is unspecified.
    ///
    /// # Errors
    /// [`RuntimeError::ArgumentCount`], [`RuntimeError::UnsetScalars`],
    /// [`RuntimeError::Argument`], [`RuntimeError::TooManyOperations`], [`RuntimeError::Length`] or
    /// [`RuntimeError::Alignment`] if the arguments do not match the kernel's parameters or if an
    /// array is too short or not aligned. [`RuntimeError::Foreign`] if an
    /// array belongs to another device. [`RuntimeError::ForeignKernel`] or
    /// [`RuntimeError::UnknownKernel`] if the device does not have the kernel.
    /// [`RuntimeError::Compilation`] if the driver rejects the kernel, and
    /// [`RuntimeError::SharedMemory`] if the device has too little for a block. After these errors,
    /// no operation has been issued.
    ///
    /// `RuntimeError::Emulator` or `RuntimeError::Interpreter`, on an emulated device alone, if the
    /// kernel violates a rule of the machine or takes longer than the device's limit. The arrays
    /// are unchanged then.
    ///
    /// # Panics
    /// On an emulated device, if the code of the kernel panics.
    fn launch(
        &self,
        kernel: &Kernel,
        memory: &[&Self::Memory],
        batch: Batch,
    ) -> Result<(), RuntimeError>;

    /// Runs several kernels like [`launch`](Self::launch). Each begins after those earlier ones
    /// that its [order](Launch::order) names. All operations before this call are done before the
    /// first launch, and all launches are done before the operations after this call.
    ///
    /// On a GPU this takes the host less time than calls of `launch`. The first call with a
    /// sequence of kernels takes longer than later ones, which may have other memory and other
    /// batches. If a queue has had many different sequences, the call waits for the queue.
    ///
    /// # Errors
    /// Those of [`launch`](Self::launch) for each of the launches. If arguments are wrong, no
    /// operation has been issued.
    ///
    /// # Panics
    /// On an emulated device, if the code of one of the kernels panics.
    fn launch_all(&self, launches: &[Launch<'_, Self::Memory>]) -> Result<(), RuntimeError>;

    /// Makes all later operations of this queue wait for the operations that have been issued to
    /// `other` so far. `other` is a queue of the same device. The host does not wait.
    ///
    /// # Errors
    /// [`RuntimeError`] if the operation cannot be issued.
    fn follow(&self, other: &Self) -> Result<(), RuntimeError>;

    /// Waits until all operations of the queue are done.
    ///
    /// # Errors
    /// Errors of operations since the last call.
    fn synchronise(&self) -> Result<(), RuntimeError>;

    /// Waits until no operation of the queue is running any more, whether the operations succeed or
    /// not. Aborts the process if the driver refuses to wait, because operations could then use
    /// memory that its owner frees.
    fn settle(&self);
}
