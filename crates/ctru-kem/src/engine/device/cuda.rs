//! The device engine on NVIDIA GPUs.

use std::string::String;

use ctru_gpu_kernels::ptx;
pub use ctru_gpu_runtime::cuda::{CudaDevice, DeviceInfo, cuda_version, devices};
use ctru_math::Ring;

use super::DeviceEngine;
use crate::engine::EngineError;

/// Runs batches on an NVIDIA GPU.
pub type CudaEngine<P> = DeviceEngine<P, CudaDevice>;

/// Opens GPU number `index` with the kernels of the ring `R`. The driver compiles them, once for each process.
///
/// # Errors
/// [`EngineError::Device`] if there is no driver or no such GPU, or if the driver does not compile the kernels.
pub fn open<R: Ring>(index: u32) -> Result<CudaDevice, EngineError> {
    CudaDevice::open(index, &ptx::of::<R>().collect::<String>()).map_err(EngineError::device)
}
