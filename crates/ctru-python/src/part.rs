//! Where the bytes of an array are, and the bytes for a call that has noted that it uses them.
#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use ctru_kem::engine::cuda::{CudaDevice, CudaMemory};
use ctru_kem::engine::device::Slice;

/// Where the memory of an array is.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Place {
    Host,
    Gpu(CudaDevice),
}

impl Place {
    /// Returns the number of the GPU, or `None` for the host.
    pub(crate) fn gpu(self) -> Option<u32> {
        match self {
            Self::Host => None,
            Self::Gpu(device) => Some(device.index()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.gpu() {
            None => f.write_str("on the host"),
            Some(number) => write!(f, "on GPU {number}"),
        }
    }
}

/// Bytes that a call reads.
#[derive(Copy, Clone)]
pub(crate) enum Part<'a> {
    Host(&'a [u8]),
    Gpu(GpuBytes<'a>),
}

/// Bytes that a call writes.
pub(crate) enum PartMut<'a> {
    Host(&'a mut [u8]),
    Gpu(GpuBytes<'a>),
}

/// Bytes in the memory of a GPU.
#[derive(Copy, Clone)]
pub(crate) struct GpuBytes<'a> {
    device: CudaDevice,
    address: usize,
    length: usize,
    allocated: PhantomData<&'a [u8]>,
}

impl<'a> Part<'a> {
    /// Returns a range of the bytes.
    ///
    /// # Panics
    /// If there is no such range.
    pub(crate) fn range(self, range: Range<usize>) -> Self {
        match self {
            Self::Host(bytes) => Self::Host(&bytes[range]),
            Self::Gpu(bytes) => Self::Gpu(bytes.range(range)),
        }
    }
}

impl PartMut<'_> {
    /// Returns a range of the bytes.
    ///
    /// # Panics
    /// If there is no such range.
    pub(crate) fn range(self, range: Range<usize>) -> Self {
        match self {
            Self::Host(bytes) => Self::Host(&mut bytes[range]),
            Self::Gpu(bytes) => Self::Gpu(bytes.range(range)),
        }
    }
}

impl<'a> GpuBytes<'a> {
    /// Returns `length` bytes at `address`.
    ///
    /// # Safety
    /// During `'a`, the bytes are mapped at these addresses of the device, and accessible in its
    /// primary context. No other call of this package uses them then, unless both only read them.
    pub(crate) unsafe fn new(device: CudaDevice, address: usize, length: usize) -> Self {
        Self { device, address, length, allocated: PhantomData }
    }

    /// Returns a range of the bytes.
    fn range(self, Range { start, end }: Range<usize>) -> Self {
        assert!(start <= end && end <= self.length, "the array has no such range");
        Self { address: self.address + start, length: end - start, ..self }
    }

    /// Returns the bytes as an argument of the engine.
    ///
    /// # Safety
    /// All operations to which the slice is passed are done before `'a` ends.
    pub(crate) unsafe fn lent(self) -> Slice<'a, u8, CudaMemory> {
        // SAFETY: the bytes are mapped and accessible during `'a`, as `new` requires, and the
        // caller promises that no operation outlasts it. `new` also requires that the other calls
        // of this package stay away. All other code must do so by the documentation of the package,
        // except work that the stream of the engine follows.
        unsafe { self.device.lend(self.address as u64, self.length) }
    }
}
