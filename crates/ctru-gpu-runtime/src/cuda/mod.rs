//! NVIDIA GPUs through the CUDA driver.
//!
//! The driver is looked for when it is first needed: a program with this module starts on every
//! machine, and [`devices`] returns [`RuntimeError::NoDriver`](crate::RuntimeError::NoDriver) or
//! [`RuntimeError::NoDevice`](crate::RuntimeError::NoDevice) where there is no GPU to use.
//!
//! The driver compiles a kernel when it is first launched on a [`CudaDevice`], once in a process. It keeps what it has compiled on
//! disk (`~/.nv/ComputeCache`), so that later processes start faster.
//!
//! A device stays open until the process ends. The calling thread's current CUDA context is left as it was, so that other
//! users of CUDA in the process are not disturbed.

mod device;
mod driver;
mod memory;
mod ptx;
mod resources;
mod stream;

pub use device::{CudaDevice, DeviceInfo, cuda_version, devices};
pub use memory::{CudaMemory, CudaPinned, CudaRegistration};
pub use resources::KernelResources;
pub use stream::{CudaEvent, CudaQueue};
