//! NVIDIA GPUs through the CUDA driver.
//!
//! The driver is loaded at the first use. So a program with this module starts on every machine.
//! Where there is no usable GPU, [`devices`] returns
//! [`RuntimeError::NoDriver`](crate::RuntimeError::NoDriver) or
//! [`RuntimeError::NoDevice`](crate::RuntimeError::NoDevice).
//!
//! The driver compiles a kernel when the kernel is first launched on a [`CudaDevice`], once per
//! process. It keeps compiled kernels on disk (`~/.nv/ComputeCache`), so that later processes start
//! faster.
//!
//! A device stays open until the process ends. Every call restores the calling thread's current
//! CUDA context, so other users of CUDA in the process are not disturbed.
//!
//! The submodules, from top to bottom. No submodule uses one that is above it in this list:
//!
//! - `interop`: devices and queues for contexts and streams of the crate `cust`
//! - `queue`: `CudaQueue`, and the traits [`Device`](crate::Device) and [`Queue`](crate::Queue)
//! - `memory`: memory of the device, pinned memory, registrations of the caller's memory
//! - `scope`: the copies for which a call waits because they use borrowed memory
//! - `stream`: a CUDA stream that tracks which operations are done; events
//! - `graph`: several launches that one call issues
//! - `counter`: the numbers of a stream's operations
//! - `device`: GPUs, contexts, kernels (`ptx` extracts them from the text of a module)
//! - `driver`: the functions of the driver
//! - `sys`: its types and constants

mod counter;
mod device;
mod driver;
mod graph;
#[cfg(feature = "cust")]
mod interop;
mod memory;
mod ptx;
mod queue;
mod scope;
mod stream;
mod sys;

// The module `counter` takes what threads share from here.
use std::sync;

pub use device::{CudaDevice, DeviceInfo, KernelResources, cuda_version, devices};
pub use memory::{CudaMemory, CudaPinned, CudaRegistration, CudaShared};
pub use queue::CudaQueue;
pub use scope::CudaScope;
pub use stream::CudaEvent;
