//! Plain copies between the host and a GPU: the ceiling of what an engine can carry.

use ctru_gpu_runtime::cuda::{CudaDevice, CudaMemory, CudaPinned, CudaQueue};
use ctru_gpu_runtime::{Buffer, Device, Queue, RuntimeError};

/// Memory and queues for copies to and from a GPU at the same time.
pub(crate) struct Link {
    up: CudaQueue,
    down: CudaQueue,
    given: CudaPinned<u8>,
    received: Buffer<u8, CudaMemory>,
    sent: Buffer<u8, CudaMemory>,
    taken: CudaPinned<u8>,
}

impl Link {
    /// Allocates memory for copies of `to` bytes to the GPU and of `from` bytes back.
    pub(crate) fn new(device: &CudaDevice, to: usize, from: usize) -> Result<Self, RuntimeError> {
        let (up, down) = (device.queue()?, device.queue()?);
        let sent = down.allocate(from)?;
        down.wipe(&sent)?;
        Ok(Self {
            given: up.pinned(to)?,
            received: up.allocate(to)?,
            sent,
            taken: down.pinned(from)?,
            up,
            down,
        })
    }

    /// Begins to copy to the GPU.
    pub(crate) fn send(&mut self) -> Result<(), RuntimeError> {
        self.up.upload(&self.given, 0..self.received.len(), &self.received, 0)
    }

    /// Begins to copy from the GPU.
    pub(crate) fn fetch(&mut self) -> Result<(), RuntimeError> {
        self.down.download(&self.sent, 0..self.sent.len(), &mut self.taken, 0)
    }

    /// Waits until all is copied.
    pub(crate) fn synchronise(&self) -> Result<(), RuntimeError> {
        self.up.synchronise()?;
        self.down.synchronise()
    }
}
