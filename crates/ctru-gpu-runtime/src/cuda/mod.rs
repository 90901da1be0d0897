//! NVIDIA GPUs through the CUDA driver.
//!
//! The driver is looked for when it is first needed: a program with this module starts on every
//! machine, and [`devices`] returns [`RuntimeError::NoDriver`](crate::RuntimeError::NoDriver) or
//! [`RuntimeError::NoDevice`](crate::RuntimeError::NoDevice) where there is no GPU to use.
//!
//! The driver compiles a kernel when it is first launched on a [`CudaDevice`], once per process. It
//! keeps compiled kernels on disk (`~/.nv/ComputeCache`), so that later processes start faster.
//!
//! A device stays open until the process ends. A call leaves the calling thread's current CUDA
//! context as it was, so that other users of CUDA in the process are not disturbed.
//!
//! No module uses one above it in this list:
//!
//! - `queue`: `CudaQueue`, and the traits [`Device`](crate::Device) and [`Queue`](crate::Queue)
//! - `memory`: memory of the device, pinned memory, registrations of the caller's memory
//! - `stream`: a CUDA stream that knows which operations are done; events
//! - `device`: GPUs, contexts, kernels (`ptx` cuts them out of a module)
//! - `driver`: the functions of the driver

mod device;
mod driver;
mod memory;
mod ptx;
mod queue;
mod stream;

pub use device::{CudaDevice, DeviceInfo, KernelResources, cuda_version, devices};
pub use memory::{CudaMemory, CudaPinned, CudaRegistration};
pub use queue::CudaQueue;
pub use stream::CudaEvent;
