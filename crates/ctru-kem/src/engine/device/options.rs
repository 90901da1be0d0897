//! The options of a device engine.

use ctru_gpu_runtime::batch::tuning::Tuning;

/// The options of a device engine: the size and number of its slots, and the limit of their memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DeviceOptions {
    /// The largest number of operations of a chunk.
    ///
    /// Kernels compute indices in 32 bits. An engine therefore takes at most about 2.6 million
    /// operations for n = 761, and fewer for larger rings, even if this number is larger. If the
    /// memory limit makes chunks smaller, chunks of 256 and more have a multiple of 256 operations.
    pub chunk: usize,
    /// The largest number of chunks that are under way at the same time on each device. Each slot
    /// has its own memory and its own queue.
    pub slots: usize,
    /// The largest number of bytes of device memory that the slots take on each device. Loaded keys
    /// take further memory. So does inversion by powers, when it first needs it: up to 30 MB on
    /// each device and up to 1.4 MB for each slot, and some 20 to 90 ms on the host. Without this
    /// memory, key generation inverts by division steps.
    pub memory_limit: usize,
    /// The table by which plans choose, in place of that of the device's kind. In tests, small
    /// batches take the kernels of large ones, because a large batch takes minutes on the emulator.
    /// Not part of the stable interface.
    #[doc(hidden)]
    pub tuning: Option<&'static Tuning>,
}

impl Default for DeviceOptions {
    /// Returns 16 slots of 8192 operations, and at most 2 GiB.
    fn default() -> Self {
        Self { chunk: 8192, slots: 16, memory_limit: 2 << 30, tuning: None }
    }
}
