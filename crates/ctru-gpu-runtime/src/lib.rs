//! Queues, memory and launches for GPU kernels, behind one trait with two implementations:
//!
//! - `cuda::CudaDevice` (feature `cuda`): NVIDIA GPUs through the driver. A queue is a stream: operations are issued and
//!   return at once, the GPU does them in order.
//! - `emulated::EmulatedDevice` (feature `emulator`): the emulator of [`ctru_gpu_kernels`]. A queue does every operation at
//!   once, and checks what a GPU does not.
//!
//! Pipelines are written once, generic over [`Queue`]:
//!
//! ```
//! use ctru_gpu_kernels::descriptor::{Batch, Kernel};
//! use ctru_gpu_runtime::{HostMemory, Queue, RuntimeError};
//!
//! /// Runs a kernel that takes an array of `u8` and an array of `u16`.
//! fn run<Q: Queue>(queue: &Q, kernel: &Kernel, bytes: &[u8], output: &mut [u16]) -> Result<(), RuntimeError> {
//!     let mut staged = queue.pinned::<u8>(bytes.len())?;
//!     let mut result = queue.pinned::<u16>(output.len())?;
//!     let (from, to) = (queue.allocate::<u8>(bytes.len())?, queue.allocate::<u16>(output.len())?);
//!
//!     staged.write()?.copy_from_slice(bytes);
//!     queue.upload(&staged, 0..bytes.len(), &from, 0)?;
//!     queue.launch(kernel, &[&from, &to], Batch::each(1))?;
//!     queue.download(&to, 0..output.len(), &mut result, 0)?;
//!     output.copy_from_slice(result.read()?); // waits for the queue
//!     Ok(())
//! }
//! ```
//!
//! # Rules
//!
//! - Operations of one queue happen in the order of the calls. Between queues nothing is ordered until one of them is
//!   synchronised: what one queue writes, another may use after that. Reading the same memory from many queues is fine.
//! - Copies that go on while the host does take pinned host memory only, which a GPU can reach by itself; the types say so.
//!   Looking at it ([`HostMemory::read`], [`HostMemory::write`]) waits for the queue's operations on it, so the host never
//!   sees it half done. Copies of the caller's own memory ([`Queue::upload_from`], [`Queue::download_to`]) wait, and are as
//!   fast where it has been pinned ([`Device::register`]).
//! - All memory, host and device, is overwritten with zeros before it is given back.
//! - Every failure is a [`RuntimeError`]; nothing here panics.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod arguments;
mod error;
mod memory;
mod queue;
#[cfg(any(feature = "cuda", feature = "emulator"))]
mod registered;

#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(feature = "emulator")]
pub mod emulated;

pub use error::RuntimeError;
pub use memory::{Buffer, DeviceMemory, HostMemory, PinnedVec, Plain};
pub use queue::{Device, Download, MemoryInfo, Queue, Upload};
