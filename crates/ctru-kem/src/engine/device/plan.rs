//! Plans of batches, without a device: what the engine would do.

use ctru_gpu_runtime::batch::plan::{Arrays, Request, plan};
use ctru_gpu_runtime::batch::tuning::Tuning;

pub use super::set::Operation;
pub use ctru_gpu_runtime::batch::plan::{Keys, Place, Plan};

use super::batch::machine;
use super::options::DeviceOptions;
use super::set::Set;
use crate::engine::EngineError;
use crate::parameters::Parameters;

/// Returns the plan of a batch of `count` operations on some GPUs of the kind with this name. All
/// rows are in this place, keys are trusted, and seeds are expanded.
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
/// [`EngineError::NoKernels`] if there are no kernels for the parameters. [`EngineError::NoSlots`]
/// or [`EngineError::Options`] if an engine would refuse the options.
pub fn of_batch(
    parameters: Parameters,
    options: &DeviceOptions,
    (gpu, gpus): (&str, usize),
    (operation, count, keys, place): (Operation, usize, Keys, Place),
) -> Result<Plan<'static>, EngineError> {
    if options.chunk == 0 || options.slots == 0 || gpus == 0 {
        return Err(EngineError::NoSlots);
    }
    let set = Set::of(parameters)?;
    let tuning = options.tuning.unwrap_or_else(|| Tuning::of(gpu));
    let shape = set.shape(operation);
    let request = Request {
        shape,
        count,
        keys,
        has_rows: shape.has_whole,
        are_unchecked: false,
        are_expanded: shape.bytes.seeds != 0,
        places: Arrays { seeds: Place::Pageable, keys: place, rows: place, results: place },
        first: 0,
    };
    Ok(plan(request, &machine(set, options, tuning, gpus)?))
}

#[cfg(test)]
mod tests {
    use super::super::footprint::device_bytes;
    use super::*;

    #[test]
    fn slots_of_all_sets_stay_within_memory() {
        // Not all sets have kernels.
        for set in Parameters::ALL.iter().filter_map(|&parameters| Set::of(parameters).ok()) {
            let tuning = Tuning::of("NVIDIA H100");
            for memory_limit in [10 << 20, 200 << 20, 2 << 30] {
                let options = DeviceOptions { memory_limit, ..DeviceOptions::default() };
                let chunk = machine(set, &options, tuning, 1).unwrap().chunk;
                let bytes = options.slots * device_bytes(set, tuning, chunk);
                assert!(chunk > 0 && bytes <= memory_limit);
            }
        }
    }

    #[test]
    fn options_that_an_engine_refuses_are_refused() {
        let of = |options: DeviceOptions, gpus| {
            let batch = (Operation::Encapsulation, 1, Keys::One, Place::Pinned);
            of_batch(Parameters::ALL[0], &options, ("", gpus), batch).map(|_| ()).unwrap_err()
        };
        let usual = DeviceOptions::default();
        assert_eq!(of(DeviceOptions { slots: 0, ..usual }, 1), EngineError::NoSlots);
        assert_eq!(of(DeviceOptions { chunk: 0, ..usual }, 1), EngineError::NoSlots);
        assert_eq!(of(usual, 0), EngineError::NoSlots);
        let small = of(DeviceOptions { memory_limit: 1, ..usual }, 1);
        assert!(matches!(small, EngineError::Options { .. }));
    }
}
