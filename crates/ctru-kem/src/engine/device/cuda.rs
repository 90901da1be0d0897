//! The device engine on NVIDIA GPUs.

use ctru_gpu_kernels::ptx;
pub use ctru_gpu_runtime::cuda::{CudaDevice, DeviceInfo, cuda_version, devices};

use super::DeviceEngine;
use crate::engine::EngineError;

/// Runs batches on an NVIDIA GPU.
pub type CudaEngine<P> = DeviceEngine<P, CudaDevice>;

/// Opens GPU number `index` for engines of every parameter set. The driver compiles a kernel when an operation first needs it, once
/// for each process; so the first operation of a kind takes longer.
///
/// # Errors
/// [`EngineError::Device`] if there is no driver or no such GPU, or if the driver does not know the version of PTX.
pub fn open(index: u32) -> Result<CudaDevice, EngineError> {
    CudaDevice::open(index, ptx::TEXT).map_err(EngineError::device)
}
