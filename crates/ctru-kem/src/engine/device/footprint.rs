//! The bytes of memory that slots take.

use ctru_gpu_runtime::batch::tuning::Tuning;

use super::buffers::{EXPANSION, SEED, decoded_bytes, scratch_bytes, words};
use super::inversion::tree_bytes;
use super::set::{Kind, Set};

/// Returns the bytes of the memory of a slot through which rows of callers enter and leave the
/// device.
fn staged_bytes(set: &Set, chunk: usize) -> usize {
    let seeds = (chunk * 2 * SEED).max(EXPANSION);
    let rows = words(chunk * set.sizes.decapsulation_key) + words(chunk * set.sizes.ciphertext);
    rows + (seeds + chunk * SEED) * size_of::<u64>()
}

/// Returns the bytes of device memory of a slot for chunks of `chunk` operations.
pub(super) fn device_bytes(set: &Set, tuning: &Tuning, chunk: usize) -> usize {
    staged_bytes(set, chunk)
        + decoded_bytes(set, Kind::Decapsulation, chunk)
        + scratch_bytes(set, tuning, chunk)
        + tree_bytes(set, tuning, chunk)
}

/// Returns the bytes of pinned memory of a slot for chunks of `chunk` operations.
pub(super) fn pinned_bytes(set: &Set, chunk: usize) -> usize {
    // A word for each operation says what is wrong with its key.
    staged_bytes(set, chunk) + chunk * size_of::<u64>()
}

/// Returns the largest number of operations of a chunk whose slot takes at most `limit` bytes of
/// device memory. Every kernel accepts as many.
pub(super) fn largest_chunk(set: &Set, tuning: &Tuning, limit: usize) -> usize {
    let (mut fitting, mut too_many) = (0, set.most_operations() + 1);
    while fitting + 1 < too_many {
        let chunk = fitting.midpoint(too_many);
        let fits = device_bytes(set, tuning, chunk) <= limit;
        *(if fits { &mut fitting } else { &mut too_many }) = chunk;
    }
    fitting
}

#[cfg(test)]
mod tests {
    use ctru_gpu_runtime::batch::plan::full_chunk;
    use ctru_gpu_runtime::emulated::{EmulatedDevice, EmulatedQueue};
    use ctru_gpu_runtime::{Device, DeviceMemory, HostMemory};

    use super::*;
    use crate::engine::device::options::DeviceOptions;
    use crate::engine::device::powers::SharedMaps;
    use crate::engine::device::slot::Slot;
    use crate::{CtruPrime761, CtruPrime1277, ParameterSet, Parameters};

    /// Checks that a slot allocates the bytes that are counted.
    fn check(parameters: Parameters) {
        let (set, tuning) = (Set::of(parameters).unwrap(), Tuning::of(""));
        let whole = tuning.whole_chunk;
        for chunk in [1, 2, 3, 255, whole, whole + 1, 1000] {
            let queue: EmulatedQueue = EmulatedDevice::new().queue().unwrap();
            let slot = Slot::new(queue, set, chunk, tuning, SharedMaps::default()).unwrap();
            let bytes: usize = slot.device_memory().map(DeviceMemory::bytes).sum();
            assert_eq!(bytes, device_bytes(set, tuning, chunk));
            assert_eq!(largest_chunk(set, tuning, bytes), chunk);
            assert_eq!(largest_chunk(set, tuning, bytes - 1), chunk - 1);

            let words = [&slot.seeds.pinned, &slot.secrets.pinned, &slot.faults];
            let words: usize = words.map(HostMemory::len).into_iter().sum();
            let bytes = slot.keys.pinned.len() + slot.texts.pinned.len() + 8 * words;
            assert_eq!(bytes, pinned_bytes(set, chunk));
        }
    }

    /// Checks the sizes that `docs/performance.md` states for the default options.
    #[test]
    fn slots_have_the_sizes_of_the_documents() {
        let DeviceOptions { chunk, slots, memory_limit, .. } = DeviceOptions::default();
        let tuning = Tuning::of("");
        let of_761 = Set::of(<CtruPrime761>::PARAMETERS).unwrap();
        let mebibytes = |bytes: usize| (bytes + (1 << 19)) >> 20;
        assert_eq!(mebibytes(slots * device_bytes(of_761, tuning, chunk)), 1325);
        let staged = 2 * tuning.under_way * tuning.coalesced_rows;
        assert_eq!(
            mebibytes(slots * pinned_bytes(of_761, chunk) + pinned_bytes(of_761, staged)),
            334
        );
        let of_1277 = Set::of(<CtruPrime1277>::PARAMETERS).unwrap();
        assert_eq!(full_chunk(largest_chunk(of_1277, tuning, memory_limit / slots)), 7424);
    }

    #[test]
    fn all_memory_of_slots_is_counted() {
        let has_kernels = |parameters: &Parameters| Set::of(*parameters).is_ok();
        Parameters::ALL.iter().copied().filter(has_kernels).for_each(check);
    }
}
