//! The traits of devices and of their queues.

use core::fmt::Debug;
use core::ops::Range;

use ctru_gpu_kernels::descriptor::{Batch, Kernel};

use crate::error::RuntimeError;
use crate::memory::{Buffer, DeviceMemory, HostMemory, PinnedVec, Plain};

/// Bytes of a device's memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Free bytes.
    pub free: usize,
    /// All bytes.
    pub total: usize,
}

/// A copy to a device: of all bytes of the slice to the beginning of the array.
pub type Upload<'a, M> = (&'a [u8], &'a Buffer<u8, M>);

/// A copy from a device: from the beginning of the array to all bytes of the slice.
pub type Download<'a, M> = (&'a Buffer<u8, M>, &'a mut [u8]);

/// A device that runs kernels. Clones are the same device.
pub trait Device: Clone + Debug + Send + Sync {
    /// Its queues.
    type Queue: Queue;
    /// Keeps memory of the host pinned until it is dropped.
    type Registration: Debug + Send + Sync;

    /// Creates a queue.
    ///
    /// # Errors
    /// [`RuntimeError`] if the device has no room for one.
    fn queue(&self) -> Result<Self::Queue, RuntimeError>;

    /// Pins the memory of a vector in place, which takes some microseconds per page.
    ///
    /// # Errors
    /// [`RuntimeError`] if the memory cannot be pinned. The vector is lost.
    fn register<T: Send>(
        &self,
        content: Vec<T>,
    ) -> Result<PinnedVec<T, Self::Registration>, RuntimeError>;

    /// Returns how much memory the device has.
    ///
    /// # Errors
    /// [`RuntimeError`] if the device does not answer.
    fn memory_info(&self) -> Result<MemoryInfo, RuntimeError>;
}

/// Operations on a device, done in order. A call may return before its operation is done; see the
/// [rules](crate#rules).
pub trait Queue: Debug + Send + Sync {
    /// Memory of the device, for elements of any type.
    type Memory: DeviceMemory;
    /// Host memory for copies.
    type Pinned<T: Plain>: HostMemory<T>;

    /// Allocates memory for `len` elements on the device. Its content is undefined at first.
    ///
    /// # Errors
    /// [`RuntimeError::OutOfMemory`], among others.
    fn allocate<T: Plain>(&self, len: usize) -> Result<Buffer<T, Self::Memory>, RuntimeError>;

    /// Allocates memory for `len` elements on the host, all zero, for copies on this queue.
    ///
    /// # Errors
    /// [`RuntimeError::OutOfHostMemory`], among others.
    fn pinned<T: Plain>(&self, len: usize) -> Result<Self::Pinned<T>, RuntimeError>;

    /// Copies the elements `range` of host memory to the device, to the elements from `start` on.
    ///
    /// # Errors
    /// [`RuntimeError::Range`] if one of the two does not have these elements;
    /// [`RuntimeError::Foreign`] if one of the two does not belong to this queue or its device.
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

    /// Returns whether [`Device::register`] has pinned all of this memory.
    fn is_registered(&self, memory: &[u8]) -> bool;

    /// Copies bytes of the host to the device, and waits for these copies and all operations before
    /// them. Copies from [registered](Device::register) memory are fast; the driver moves other
    /// memory through a buffer of its own.
    ///
    /// # Errors
    /// Those of [`upload`](Self::upload), and those of operations before.
    fn upload_from(&self, copies: &[Upload<'_, Self::Memory>]) -> Result<(), RuntimeError>;

    /// Copies device memory to the host, and waits for these copies and all operations before them.
    /// Copies to [registered](Device::register) memory are fast. After an error, the content of the
    /// slices is undefined.
    ///
    /// # Errors
    /// Those of [`upload_from`](Self::upload_from).
    fn download_to(&self, copies: &mut [Download<'_, Self::Memory>]) -> Result<(), RuntimeError>;

    /// Overwrites device memory with zeros.
    ///
    /// # Errors
    /// [`RuntimeError`] if the operation cannot be issued.
    fn wipe(&self, memory: &Self::Memory) -> Result<(), RuntimeError>;

    /// Runs `kernel` on a batch. A batch without operations is no error as long as there are as
    /// many arrays as the kernel takes. Several arrays may be the same memory; if a kernel reads an
    /// element that it also writes, it reads an undefined value.
    ///
    /// # Errors
    /// [`RuntimeError::ArgumentCount`], [`RuntimeError::Argument`],
    /// [`RuntimeError::TooManyOperations`] or [`RuntimeError::Length`] if the kernel takes other
    /// arguments, or would touch more than the arrays have. [`RuntimeError::ForeignKernel`] or
    /// [`RuntimeError::UnknownKernel`] if the device has no such kernel. After these errors,
    /// nothing has been issued.
    fn launch(
        &self,
        kernel: &Kernel,
        memory: &[&Self::Memory],
        batch: Batch,
    ) -> Result<(), RuntimeError>;

    /// Makes the operations that follow on this queue wait for all operations that `other`, a queue
    /// of the same device, has been given so far. The host does not wait.
    ///
    /// # Errors
    /// [`RuntimeError`] if the operation cannot be issued.
    fn follow(&self, other: &Self) -> Result<(), RuntimeError>;

    /// Waits until all operations are done.
    ///
    /// # Errors
    /// Those of operations since the last call.
    fn synchronise(&self) -> Result<(), RuntimeError>;
}
