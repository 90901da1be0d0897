//! Plans of batches, without a device: what the engine would do.

use ctru_gpu_runtime::batch::plan::{Arrays, Request, plan};
use ctru_gpu_runtime::batch::tuning::Tuning;

pub use ctru_gpu_runtime::batch::plan::{Keys, Place, Plan};

use super::batch::machine;
use super::options::DeviceOptions;
use super::set::Set;
use crate::engine::EngineError;
use crate::parameters::Parameters;

/// An operation of a batch.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Both keys of each pair are generated.
    KeyPairs,
    /// Decapsulation keys are generated.
    PrivateKeys,
    /// Secrets are encapsulated, with seeds that are expanded.
    Encapsulation,
    /// Ciphertexts are decapsulated.
    Decapsulation,
}

/// Returns the plan of a batch of `count` operations on some GPUs of the kind with this name. All
/// rows are in this place, and keys are trusted.
///
/// ```
/// use ctru_kem::engine::DeviceOptions;
/// use ctru_kem::engine::device::plan::{Keys, Operation, Place, of_batch};
/// use ctru_kem::{CtruPrime761, ParameterSet};
///
/// let parameters = <CtruPrime761>::PARAMETERS;
/// let (options, gpus) = (DeviceOptions::default(), ("NVIDIA H100", 1));
/// let batch = (Operation::Encapsulation, 4096, Keys::Each, Place::Pageable);
/// let plan = of_batch(parameters, &options, gpus, batch)?;
/// assert!(plan.chunk == 512 && plan.len() == 8);
/// println!("{plan}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`EngineError::NoSlots`] or [`EngineError::Options`] if an engine would refuse the options.
pub fn of_batch(
    parameters: Parameters,
    options: &DeviceOptions,
    (gpu, gpus): (&str, usize),
    (operation, count, keys, place): (Operation, usize, Keys, Place),
) -> Result<Plan<'static>, EngineError> {
    if options.chunk == 0 || options.slots == 0 || gpus == 0 {
        return Err(EngineError::NoSlots);
    }
    let (set, tuning) = (Set::of(parameters), Tuning::of(gpu));
    let shape = match operation {
        Operation::KeyPairs => &set.shapes.key_pairs,
        Operation::PrivateKeys => &set.shapes.private_keys,
        Operation::Encapsulation => &set.shapes.encapsulation,
        Operation::Decapsulation => &set.shapes.decapsulation,
    };
    let request = Request {
        shape,
        count,
        keys,
        are_unchecked: false,
        are_expanded: shape.bytes.seeds != 0,
        places: Arrays { seeds: Place::Pageable, keys: place, rows: place, results: place },
        first: 0,
    };
    Ok(plan(request, &machine(set, options, tuning, gpus)?))
}
