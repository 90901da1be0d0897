//! The device engine on NVIDIA GPUs.
//!
//! ```no_run
//! use ctru_kem::engine::{
//!     Context, DeviceEngine, DeviceOptions, Engine, Expand, Keys, Seeds, cuda,
//! };
//! use ctru_kem::{Ciphertext, CtruPrime761, DecapsulationKey, SharedSecret};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! const COUNT: usize = 1 << 20;
//! let engine = DeviceEngine::<CtruPrime761, _>::new(cuda::open(0)?, DeviceOptions::default())?;
//! // The engine takes any slices. It transfers keys and ciphertexts in pinned memory without
//! // another copy.
//! let mut keys = engine.pin(vec![DecapsulationKey::placeholder(); COUNT])?;
//! let mut ciphertexts = engine.pin(vec![Ciphertext::default(); COUNT])?;
//! let mut secrets = vec![SharedSecret::default(); COUNT];
//! let mut answers = vec![SharedSecret::default(); COUNT];
//!
//! // A real master seed is 32 random bytes. The context names the job.
//! let seeds = Expand { seed: &[1; 32], context: Context::literal(b"example"), first: 0 };
//! engine.generate_decapsulation_keys(Seeds::Expand(seeds), &mut keys)?;
//! // All operations use the first key. It is loaded once and can serve any number of batches.
//! let loaded = engine.load_encapsulation_keys(&[keys[0].encapsulation_key()])?;
//! let one = Keys::Loaded(&loaded);
//! engine.encapsulate(one, Seeds::Expand(seeds), &mut ciphertexts, &mut secrets)?;
//! engine.decapsulate(Keys::One(&keys[0]), &ciphertexts, &mut answers)?;
//! assert!(answers == secrets);
//! # Ok(())
//! # }
//! ```

use ctru_gpu_kernels::ptx;
pub use ctru_gpu_runtime::cuda::{CudaDevice, DeviceInfo, cuda_version, devices};

use super::DeviceEngine;
use crate::engine::EngineError;

/// Runs batches on an NVIDIA GPU.
pub type CudaEngine<P> = DeviceEngine<P, CudaDevice>;

/// Opens GPU number `index`, from 0, for engines of every parameter set.
///
/// The driver compiles each kernel once per process, when an operation first needs it. The first
/// operation of each kind therefore takes longer.
///
/// # Errors
/// [`EngineError::Device`] if there is no driver or no GPU with this number, if the driver does not
/// support the version of PTX, or if the GPU is too old.
pub fn open(index: u32) -> Result<CudaDevice, EngineError> {
    CudaDevice::open(index, &ptx::MODULE).map_err(EngineError::device)
}
