//! Queues, memory and launches for GPU kernels, behind one trait with two implementations:
//!
//! - `cuda::CudaDevice` (feature `cuda`): NVIDIA GPUs through the driver. A queue is a CUDA stream:
//!   calls issue operations and return at once, and the GPU executes the operations in order.
//! - `emulated::EmulatedDevice` (feature `emulator`): the emulator of [`ctru_simt`]. Each
//!   call executes its operation before it returns, and the emulator checks rules that a GPU does
//!   not check. With the feature `interpreter`, it can run the PTX of the kernels by `ptx_check`
//!   instead.
//!
//! A pipeline is written once, generic over [`Queue`]:
//!
//! ```
//! use ctru_simt::descriptor::{Batch, Kernel};
//! use ctru_gpu_runtime::{HostMemory, Queue, RuntimeError};
//!
//! /// Runs a kernel that takes an array of `u8` and an array of `u16`.
//! fn run<Q: Queue>(
//!     queue: &Q,
//!     kernel: &Kernel,
//!     bytes: &[u8],
//!     output: &mut [u16],
//! ) -> Result<(), RuntimeError> {
//!     let mut staged = queue.pinned::<u8>(bytes.len())?;
//!     let mut result = queue.pinned::<u16>(output.len())?;
//!     let from = queue.allocate::<u8>(bytes.len())?;
//!     let to = queue.allocate::<u16>(output.len())?;
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
//! The module [`batch`] runs many equal operations: it plans chunks, copies and kernels, and
//! executes plans.
//!
//! # Rules
//!
//! - A queue executes its operations in the order of the calls. Only [`Queue::follow`] and waiting
//!   order the operations of different queues. Several queues may read the same memory.
//! - Copies that may continue after the call take pinned host memory; the types enforce this.
//!   [`HostMemory::read`] and [`HostMemory::write`] wait for the operations on the memory. Copies
//!   of the caller's own memory ([`Queue::upload_from`], [`Queue::download_to`]) belong to a
//!   [scope](Queue::scope), at whose end they are done. They are as fast as copies of pinned memory
//!   if the caller's memory is pinned in place ([`Device::register`]).
//! - [`SharedMemory`] is pinned host memory that several threads fill for one launch.
//! - All memory of [`Buffer`], [`HostMemory`] and [`SharedMemory`] is overwritten with zeros before
//!   it is freed.
//! - Every failure is a [`RuntimeError`]. The functions of this crate do not panic, with one
//!   exception: on an emulated device, a panic in the code of a kernel leaves the launch. In a
//!   program with `panic = "abort"`, such a panic ends the process, and so does a fault of a
//!   kernel's thread; see `ctru_simt::emulator`.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod arguments;
pub mod batch;
mod error;
#[cfg(feature = "interpreter")]
mod interpreted;
#[cfg(any(feature = "cuda", feature = "emulator"))]
mod lock;
mod memory;
mod queue;
#[cfg(any(feature = "cuda", feature = "emulator"))]
mod registered;
#[cfg(any(feature = "cuda", feature = "emulator"))]
mod taken;

#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(feature = "emulator")]
pub mod emulated;

pub use error::RuntimeError;
pub use memory::{Buffer, DeviceMemory, HostMemory, PinnedVec, Plain, SharedMemory, Slice};
pub use queue::{Device, Launch, MemoryInfo, Order, Queue};
