//! Plain copies between the host and a GPU: the ceiling of what an engine can carry.

use ctru_gpu_runtime::cuda::{CudaDevice, CudaMemory, CudaPinned, CudaQueue};
use ctru_gpu_runtime::{Buffer, Device, Queue, RuntimeError};

/// Memory and queues for copies to and from a GPU at the same time.
pub(crate) struct Link {
    up: CudaQueue,
    down: CudaQueue,
    host_from: CudaPinned<u8>,
    device_to: Buffer<u8, CudaMemory>,
    device_from: Buffer<u8, CudaMemory>,
    host_to: CudaPinned<u8>,
}

impl Link {
    /// Allocates memory for copies of `to` bytes to the GPU and of `from` bytes back.
    pub(crate) fn new(device: &CudaDevice, to: usize, from: usize) -> Result<Self, RuntimeError> {
        let (up, down) = (device.queue()?, device.queue()?);
        let device_from = down.allocate(from)?;
        down.wipe(&device_from)?;
        Ok(Self {
            host_from: up.pinned(to)?,
            device_to: up.allocate(to)?,
            device_from,
            host_to: down.pinned(from)?,
            up,
            down,
        })
    }

    /// Begins to copy to the GPU.
    pub(crate) fn send(&mut self) -> Result<(), RuntimeError> {
        self.up.upload(&self.host_from, 0..self.device_to.len(), &self.device_to, 0)
    }

    /// Begins to copy from the GPU.
    pub(crate) fn fetch(&mut self) -> Result<(), RuntimeError> {
        self.down.download(&self.device_from, 0..self.device_from.len(), &mut self.host_to, 0)
    }

    /// Waits until all is copied.
    pub(crate) fn synchronise(&self) -> Result<(), RuntimeError> {
        self.up.synchronise()?;
        self.down.synchronise()
    }
}
