//! Memory on the device and on the host, with types.

use core::fmt::{self, Debug};
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use ctru_gpu_kernels::simt::{U32x4, Word};

use crate::error::RuntimeError;

mod sealed {
    pub trait Sealed {}
}

/// What copies move: numbers without padding, of which every pattern of bits is one. The trait is sealed, because memory
/// that a device has written is read as such numbers.
pub trait Plain: Word + sealed::Sealed {}

macro_rules! plain {
    ($($number:ty),*) => {$(
        impl sealed::Sealed for $number {}
        impl Plain for $number {}
    )*};
}
plain!(u8, u16, u32, u64, U32x4);

/// Memory on a device. It is overwritten with zeros when it is dropped, after all operations on it.
pub trait DeviceMemory: Debug + Send + Sync {
    /// Bytes of an element.
    fn element_bytes(&self) -> u32;

    /// Bytes in all.
    fn bytes(&self) -> usize;
}

/// Host memory that copies take and fill. It is overwritten with zeros when it is dropped, after all operations on it.
pub trait HostMemory<T>: Debug + Send + Sync {
    /// Elements.
    fn len(&self) -> usize;

    /// Whether there are no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The content. Waits for the operations on it.
    ///
    /// # Errors
    /// What went wrong in the queue's operations.
    fn read(&self) -> Result<&[T], RuntimeError>;

    /// The content, to be changed. Waits for the operations on it.
    ///
    /// # Errors
    /// What went wrong in the queue's operations.
    fn write(&mut self) -> Result<&mut [T], RuntimeError>;
}

/// Device memory that holds elements `T`. Launches take the [memory](DeviceMemory) that it dereferences to.
pub struct Buffer<T, M> {
    memory: M,
    element: PhantomData<fn() -> T>,
}

impl<T: Plain, M: DeviceMemory> Buffer<T, M> {
    /// `memory` must have been allocated for elements `T`.
    #[cfg(any(feature = "cuda", feature = "emulator"))]
    pub(crate) fn new(memory: M) -> Self {
        Self { memory, element: PhantomData }
    }

    /// Elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.memory.bytes() / size_of::<T>()
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T, M> Deref for Buffer<T, M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.memory
    }
}

impl<T, M: Debug> Debug for Buffer<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.memory.fmt(f)
    }
}

/// A vector whose memory the device reaches where it lies: copies from and to it need no other memory of the host. Made by
/// [`Device::register`](crate::Device::register).
#[derive(Debug)]
pub struct PinnedVec<T, G> {
    // Before the content, so that it ends before the memory is freed.
    registration: G,
    content: Vec<T>,
}

impl<T, G> PinnedVec<T, G> {
    /// `registration` holds for the memory of `content`.
    #[cfg(any(feature = "cuda", feature = "emulator"))]
    pub(crate) fn new(registration: G, content: Vec<T>) -> Self {
        Self { registration, content }
    }

    /// The vector, pinned no more.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        drop(self.registration);
        self.content
    }
}

impl<T, G> Deref for PinnedVec<T, G> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.content
    }
}

impl<T, G> DerefMut for PinnedVec<T, G> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.content
    }
}
