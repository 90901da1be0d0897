//! Typed memory of the device and of the host.

use core::fmt::{self, Debug};
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut, Range};

use ctru_simt::simt::{U32x4, Word};

use crate::error::RuntimeError;

mod sealed {
    pub trait Sealed {}
}

/// Numbers that copies move. They have no padding, and every bit pattern is a valid value. The
/// trait is sealed because memory that a device has written is read as such numbers.
pub trait Plain: Word + sealed::Sealed {}

macro_rules! plain {
    ($($number:ty),*) => {$(
        impl sealed::Sealed for $number {}
        impl Plain for $number {}
    )*};
}
plain!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64, U32x4);

/// Memory of a device. Dropping it waits for all operations on it, overwrites it with zeros and
/// frees it.
pub trait DeviceMemory: Debug + Send + Sync {
    /// Returns the number of bytes per element.
    fn element_bytes(&self) -> u32;

    /// Returns the number of bytes of all elements.
    fn bytes(&self) -> usize;
}

/// Host memory for copies and for kernels. Dropping it waits for all operations on it, overwrites
/// it with zeros and frees it.
pub trait HostMemory<T>: Debug + Send + Sync {
    /// The type of the device's memory.
    type Device: DeviceMemory;

    /// Returns the number of elements.
    fn len(&self) -> usize;

    /// Returns whether there are no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits for the operations on the memory and returns its content.
    ///
    /// # Errors
    /// Returns errors of the operations of all queues that have used the memory.
    fn read(&self) -> Result<&[T], RuntimeError>;

    /// Waits for the operations on the memory and returns its content for writing.
    ///
    /// # Errors
    /// Returns errors of the operations of all queues that have used the memory.
    fn write(&mut self) -> Result<&mut [T], RuntimeError>;

    /// Waits for the operations on the memory and overwrites it with zeros. This holds even if an
    /// operation has failed. But if the driver refuses to wait, operations may still use the
    /// memory; then it is left as it is until it is dropped.
    ///
    /// # Errors
    /// Returns errors of the operations of all queues that have used the memory.
    fn wipe(&mut self) -> Result<(), RuntimeError>;

    /// Returns this memory as an argument of launches. Kernels then read and write it over the link
    /// between host and device, without a copy.
    ///
    /// For a few kilobytes this is faster than a copy, because it needs no operation of its own.
    /// Only [`Queue::follow`](crate::Queue::follow) orders operations of several queues on the
    /// memory.
    fn on_device(&mut self) -> &Self::Device;
}

/// Host memory for kernels that several threads fill and read at the same time, each thread other
/// elements. Dropping it waits for all operations on it, overwrites it with zeros and frees it.
pub trait SharedMemory<T>: Debug + Send + Sync {
    /// The type of the device's memory.
    type Device: DeviceMemory;

    /// Returns the number of elements.
    fn len(&self) -> usize;

    /// Returns whether there are no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits for the operations on the memory, and calls `work` with the elements `range`. `work`
    /// may use other elements of the memory by further calls.
    ///
    /// # Errors
    /// [`RuntimeError::Range`] if there are no such elements, [`RuntimeError::Overlap`] if a call
    /// that has not returned has one of them, and errors of the operations of all queues that have
    /// used the memory.
    fn with<V>(
        &self,
        range: Range<usize>,
        work: impl FnOnce(&mut [T]) -> V,
    ) -> Result<V, RuntimeError>;

    /// Waits for the operations on the memory and overwrites it with zeros, as [`HostMemory::wipe`]
    /// does.
    ///
    /// # Errors
    /// [`RuntimeError::Overlap`] if a call of [`with`](Self::with) has elements. Nothing is
    /// overwritten then. Errors of the operations of all queues that have used the memory.
    fn wipe(&self) -> Result<(), RuntimeError>;

    /// Returns this memory as an argument of launches, as [`HostMemory::on_device`] does.
    fn on_device(&mut self) -> &Self::Device;
}

/// Device memory that holds elements of type `T`. It dereferences to the [memory](DeviceMemory)
/// that launches take.
pub struct Buffer<T, M> {
    memory: M,
    element: PhantomData<fn() -> T>,
}

/// A part of device memory, borrowed, as elements of type `T`. It dereferences to the
/// [memory](DeviceMemory) that launches take. [`Queue::slice`](crate::Queue::slice) creates it.
///
/// Operations on a slice may go on after it is dropped. They never outlive the memory, because
/// dropping that memory waits for them.
pub struct Slice<'a, T, M> {
    memory: M,
    borrowed: PhantomData<&'a M>,
    element: PhantomData<fn() -> T>,
}

/// Implements what memory of elements of type `T` does.
macro_rules! typed {
    ($name:ident<$($lifetime:lifetime,)? T, M> { $($borrowed:ident)? }) => {
        impl<T: Plain, M: DeviceMemory> $name<$($lifetime,)? T, M> {
            /// Wraps memory for elements of type `T`.
            #[cfg(any(feature = "cuda", feature = "emulator"))]
            pub(crate) fn new(memory: M) -> Self {
                Self { memory, $($borrowed: PhantomData,)? element: PhantomData }
            }

            /// Returns the number of elements.
            #[must_use]
            pub fn len(&self) -> usize {
                self.memory.bytes() / size_of::<T>()
            }

            /// Returns whether there are no elements.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }

        impl<T, M> Deref for $name<$($lifetime,)? T, M> {
            type Target = M;

            fn deref(&self) -> &M {
                &self.memory
            }
        }

        impl<T, M: Debug> Debug for $name<$($lifetime,)? T, M> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.memory.fmt(f)
            }
        }
    };
}
typed!(Buffer < T, M > {});
typed!(Slice<'_, T, M> { borrowed });

/// A vector whose memory is pinned in place, so that the device copies directly from and to it.
/// [`Device::register`](crate::Device::register) creates it.
pub struct PinnedVec<T, G> {
    // Fields are dropped in order, and the registration must end before the memory is freed.
    registration: G,
    content: Vec<T>,
}

impl<T, G> PinnedVec<T, G> {
    /// Combines a vector with the registration of its memory.
    #[cfg(any(feature = "cuda", feature = "emulator"))]
    pub(crate) fn new(registration: G, content: Vec<T>) -> Self {
        Self { registration, content }
    }

    /// Ends the registration and returns the vector.
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

/// Shows the length only, because the content may be secret.
impl<T, G> Debug for PinnedVec<T, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedVec({} elements)", self.content.len())
    }
}
