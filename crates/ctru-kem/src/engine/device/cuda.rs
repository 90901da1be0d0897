//! The device engine on NVIDIA GPUs.
//!
//! ```no_run
//! use ctru_kem::engine::{
//!     Context, DeviceEngine, DeviceOptions, Engine, Expand, Keys, Seeds, cuda,
//! };
//! use ctru_kem::{Ciphertext, CtruPrime761, DecapsulationKey, SharedSecret};
//!
//! type P = CtruPrime761;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! const COUNT: usize = 1 << 20;
//! let engine = DeviceEngine::new(cuda::open(0)?, DeviceOptions::default())?;
//! // The engine takes any slices. It transfers keys and ciphertexts in pinned memory without
//! // another copy.
//! let mut keys = engine.pin(vec![DecapsulationKey::<P>::placeholder(); COUNT])?;
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
//!
//! # Memory of other CUDA code
//!
//! [`DeviceEngine::resident`] takes data in device memory. Memory and streams of other CUDA code in
//! the process, such as arrays of PyTorch or CuPy, become its arguments by two unsafe functions,
//! whose contracts this section summarises.
//!
//! - [`CudaDevice::lend`] takes a device pointer and a length in bytes. The memory belongs to the
//!   GPU of the engine and is accessible in its primary context. It stays allocated until the calls
//!   that use it have returned. [`Resident`](super::Resident#arrays) says how many bytes each array
//!   has, and which addresses are allowed; it refuses others with an error.
//! - [`CudaQueue::from_stream`] takes the caller's stream: the handle as a number, or 1 or 2 for
//!   the default streams, as in DLPack. The stream belongs to the primary context, exists as long
//!   as the queue, and captures no graph.
//! - Order: a call records an event on the stream when it begins, and the engine's queues wait for
//!   it on the GPU. So work that was issued to the stream before the call is done before the engine
//!   reads or writes. **When the call returns, the engine is done with all arrays**, and the
//!   results are complete for every stream and for the host. Until then no other stream writes to
//!   the inputs, or reads or writes the outputs.
//!
//! A consumer in Python calls `array.__dlpack__(stream=s)` with the number of a stream `s`, or 1,
//! and passes the same number here; the protocol makes `s` wait for the array's producer.
//!
//! ```no_run
//! use ctru_kem::engine::cuda::{self, CudaEngine, CudaQueue};
//! use ctru_kem::engine::device::{ResidentKeys, ResidentSeeds};
//! use ctru_kem::Parameters;
//!
//! /// Encapsulates `count` times to keys at `keys`, with seeds at `seeds`.
//! ///
//! /// # Safety
//! /// The pointers refer to arrays of this many rows in memory of GPU 0. Before the function
//! /// returns, nothing frees them, and no other code uses them, except work that was issued to
//! /// `stream` before. The stream belongs to the primary context of GPU 0 and captures no graph.
//! unsafe fn encapsulate(
//!     engine: &CudaEngine,
//!     parameters: Parameters,
//!     [keys, seeds, ciphertexts, secrets]: [u64; 4],
//!     count: usize,
//!     stream: usize,
//! ) -> Result<(), Box<dyn std::error::Error>> {
//!     let device = cuda::open(0)?;
//!     // SAFETY: the caller promises it.
//!     let after = unsafe { CudaQueue::from_stream(device, stream) }?;
//!     // SAFETY: the caller promises it.
//!     let lend = |pointer, row| unsafe { device.lend(pointer, count * row) };
//!     let sizes = parameters.sizes();
//!     let keys = lend(keys, sizes.encapsulation_key);
//!     let seeds = lend(seeds, 32);
//!     let ciphertexts = lend(ciphertexts, sizes.ciphertext);
//!     let secrets = lend(secrets, 32);
//!
//!     let resident = engine.resident(parameters, &after)?;
//!     let (keys, seeds) = (ResidentKeys::Unchecked(&*keys), ResidentSeeds::Each(&*seeds));
//!     Ok(resident.encapsulate(keys, seeds, &ciphertexts, &secrets)?)
//! }
//! ```

use ctru_gpu_kernels::ptx;
pub use ctru_gpu_runtime::cuda::{
    CudaDevice, CudaMemory, CudaQueue, DeviceInfo, cuda_version, devices,
};

use super::DeviceEngine;
use crate::engine::EngineError;

/// Runs batches on an NVIDIA GPU.
pub type CudaEngine = DeviceEngine<CudaDevice>;

/// Opens GPU number `index`, from 0, for engines of every parameter set.
///
/// The driver compiles each kernel once per process, when an operation first needs it. The first
/// operation of each kind therefore takes longer.
///
/// # Errors
/// [`EngineError::Device`] if there is no driver or no GPU with this number, if the driver does not
/// support the version of PTX, or if the GPU is too old.
pub fn open(index: u32) -> Result<CudaDevice, EngineError> {
    CudaDevice::open(index, &ptx::MODULE).map_err(EngineError::from)
}
