//! What a device can do.

use core::fmt::Debug;
use core::ops::Range;

use ctru_gpu_kernels::descriptor::{Batch, Kernel};

use crate::error::RuntimeError;
use crate::memory::{Buffer, DeviceMemory, HostMemory, PinnedVec, Plain};

/// Bytes of a device's memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes that nobody holds.
    pub free: usize,
    /// Bytes that the device has.
    pub total: usize,
}

/// A copy to a device: of the bytes to the array's first ones.
pub type Upload<'a, M> = (&'a [u8], &'a Buffer<u8, M>);

/// A copy from a device: of the array's first bytes, as many as the slice has, to the slice.
pub type Download<'a, M> = (&'a Buffer<u8, M>, &'a mut [u8]);

/// A device that runs kernels. Clones are the same device.
pub trait Device: Clone + Debug + Send + Sync {
    /// Its queues.
    type Queue: Queue;
    /// That some memory of the host is pinned; until it is dropped.
    type Registration: Debug + Send + Sync;

    /// A new queue.
    ///
    /// # Errors
    /// [`RuntimeError`] if the device has no room for one.
    fn queue(&self) -> Result<Self::Queue, RuntimeError>;

    /// Pins the memory of a vector where it lies, which takes some microseconds a page.
    ///
    /// # Errors
    /// [`RuntimeError`] if the memory cannot be pinned. The vector is lost.
    fn register<T: Send>(
        &self,
        content: Vec<T>,
    ) -> Result<PinnedVec<T, Self::Registration>, RuntimeError>;

    /// How much memory there is.
    ///
    /// # Errors
    /// [`RuntimeError`] if the device does not answer.
    fn memory_info(&self) -> Result<MemoryInfo, RuntimeError>;
}

/// Operations on a device, done in order. The calls may return before the operation is done; see the
/// [rules](crate#rules).
pub trait Queue: Debug + Send + Sync {
    /// Memory of the device, whatever its elements.
    type Memory: DeviceMemory;
    /// Host memory that copies take and fill.
    type Pinned<T: Plain>: HostMemory<T>;

    /// Memory for `len` elements on the device. What it holds at first is undefined.
    ///
    /// # Errors
    /// [`RuntimeError::OutOfMemory`], among others.
    fn allocate<T: Plain>(&self, len: usize) -> Result<Buffer<T, Self::Memory>, RuntimeError>;

    /// Memory for `len` elements on the host, zeros at first, for copies on this queue.
    ///
    /// # Errors
    /// [`RuntimeError::OutOfHostMemory`], among others.
    fn pinned<T: Plain>(&self, len: usize) -> Result<Self::Pinned<T>, RuntimeError>;

    /// Copies elements `range` of host memory to the device, to `start` and following.
    ///
    /// # Errors
    /// [`RuntimeError::Range`] if either does not have these elements; [`RuntimeError::Foreign`] if one is not of this
    /// queue or device.
    fn upload<T: Plain>(
        &self,
        from: &Self::Pinned<T>,
        range: Range<usize>,
        to: &Buffer<T, Self::Memory>,
        start: usize,
    ) -> Result<(), RuntimeError>;

    /// Copies elements `range` of device memory to the host, to `start` and following.
    ///
    /// # Errors
    /// As [`upload`](Self::upload).
    fn download<T: Plain>(
        &self,
        from: &Buffer<T, Self::Memory>,
        range: Range<usize>,
        to: &mut Self::Pinned<T>,
        start: usize,
    ) -> Result<(), RuntimeError>;

    /// Whether [`Device::register`] has pinned this memory.
    fn is_registered(&self, memory: &[u8]) -> bool;

    /// Copies bytes of the host to the device, and waits for that and all operations before. Fast from
    /// [registered](Device::register) memory; from other memory the driver copies them once more.
    ///
    /// # Errors
    /// As [`upload`](Self::upload), and what went wrong in an operation before.
    fn upload_from(&self, copies: &[Upload<'_, Self::Memory>]) -> Result<(), RuntimeError>;

    /// Copies device memory to the host, and waits for that and all operations before. Fast to [registered](Device::register) memory.
    /// After an error, any bytes may be there.
    ///
    /// # Errors
    /// As [`upload_from`](Self::upload_from).
    fn download_to(&self, copies: &mut [Download<'_, Self::Memory>]) -> Result<(), RuntimeError>;

    /// Overwrites device memory with zeros.
    ///
    /// # Errors
    /// [`RuntimeError`] if the operation cannot be issued.
    fn wipe(&self, memory: &Self::Memory) -> Result<(), RuntimeError>;

    /// Runs `kernel` on a batch. A batch without operations is no error, whatever the
    /// arrays are, as long as there are as many arrays as the kernel takes. Some of the arrays may
    /// be the same memory; what a kernel reads where it also writes is undefined.
    ///
    /// # Errors
    /// [`RuntimeError::ArgumentCount`], [`RuntimeError::Argument`],
    /// [`RuntimeError::TooManyOperations`] or [`RuntimeError::Length`] if the kernel takes
    /// something else, or would touch more than the arrays have. [`RuntimeError::ForeignKernel`] or
    /// [`RuntimeError::UnknownKernel`] if the device has no such kernel. Nothing has been issued
    /// then.
    fn launch(
        &self,
        kernel: &Kernel,
        memory: &[&Self::Memory],
        batch: Batch,
    ) -> Result<(), RuntimeError>;

    /// Lets the operations that follow on this queue begin only after those that `other`, a queue of the same device, has been
    /// given so far. The host does not wait.
    ///
    /// # Errors
    /// [`RuntimeError`] if the operation cannot be issued.
    fn follow(&self, other: &Self) -> Result<(), RuntimeError>;

    /// Waits until all operations are done.
    ///
    /// # Errors
    /// What went wrong in an operation since the last call.
    fn synchronise(&self) -> Result<(), RuntimeError>;
}
