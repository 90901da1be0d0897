//! The kernels that hash, by the size of a batch: one warp, two threads or one thread hold each
//! Keccak state.
//!
//! One thread needs the fewest instructions, but takes the longest time. So it is best for batches
//! that fill the GPU with other work. The size of the batch counts and not that of its chunks,
//! because the other chunks fill the GPU.

use ctru_gpu_kernels::descriptor::RingKernels;
use ctru_gpu_kernels::table;

/// The largest batch of encapsulations in which a warp holds each state. On an H200, pairs of
/// threads take as long for 2048 operations, and 10 % longer for 1024.
const WARPS_ENCAPSULATE: usize = 1024;

/// The largest batch of decapsulations in which a warp holds each state. On an H200, whole
/// decapsulations take 10 % less with pairs of threads for 1024 operations, and 30 % less for 2048.
const WARPS_DECAPSULATE: usize = 512;

/// The largest batch in which two threads hold each state. On an H200, whole operations take up to
/// 15 % less so for 4096 to 16,384 operations, and as long for 65,536.
const PAIRS: usize = 32768;

/// Kernels with the same result, of which the size of a batch decides.
pub(super) struct BySize {
    /// Kernels in ascending order of the largest batches that they serve.
    smaller: &'static [(usize, &'static RingKernels)],
    /// The kernels for all other batches.
    others: &'static RingKernels,
}

pub(super) static DERIVE_KEY_PAIR: BySize =
    BySize { smaller: &[(PAIRS, &table::DERIVE_KEY_PAIR_MIDDLE)], others: &table::DERIVE_KEY_PAIR };

pub(super) static DERIVE_ENCAPSULATION: BySize = BySize {
    smaller: &[
        (WARPS_ENCAPSULATE, &table::DERIVE_ENCAPSULATION_SMALL),
        (PAIRS, &table::DERIVE_ENCAPSULATION_MIDDLE),
    ],
    others: &table::DERIVE_ENCAPSULATION,
};

pub(super) static DERIVE_DECAPSULATION: BySize = BySize {
    smaller: &[
        (WARPS_DECAPSULATE, &table::DERIVE_DECAPSULATION_SMALL),
        (PAIRS, &table::DERIVE_DECAPSULATION_MIDDLE),
    ],
    others: &table::DERIVE_DECAPSULATION,
};

pub(super) static REJECTION_SECRET: BySize = BySize {
    smaller: &[
        (WARPS_DECAPSULATE, &table::REJECTION_SECRET_SMALL),
        (PAIRS, &table::REJECTION_SECRET_MIDDLE),
    ],
    others: &table::REJECTION_SECRET,
};

impl BySize {
    /// Returns the kernels for a batch of `whole` operations.
    pub(super) fn of(&self, whole: usize) -> &'static RingKernels {
        let serves = |(most, _): &&(usize, _)| whole <= *most;
        self.smaller.iter().find(serves).map_or(self.others, |(_, kernels)| kernels)
    }
}

#[cfg(test)]
mod tests {
    use ctru_math::R761;

    use super::*;

    #[test]
    fn larger_batches_hash_with_fewer_threads() {
        let name = |hash: &BySize, whole| hash.of(whole).of::<R761>().name();
        for (whole, derive) in [
            (0, "derive_encapsulation_small_761"),
            (WARPS_ENCAPSULATE, "derive_encapsulation_small_761"),
            (WARPS_ENCAPSULATE + 1, "derive_encapsulation_middle_761"),
            (PAIRS, "derive_encapsulation_middle_761"),
            (PAIRS + 1, "derive_encapsulation_761"),
        ] {
            assert_eq!(name(&DERIVE_ENCAPSULATION, whole), derive);
        }
        assert_eq!(name(&DERIVE_KEY_PAIR, 1), "derive_key_pair_middle_761");
        assert_eq!(name(&DERIVE_KEY_PAIR, PAIRS + 1), "derive_key_pair_761");
        for (whole, decapsulate) in
            [(WARPS_DECAPSULATE, "small_761"), (WARPS_DECAPSULATE + 1, "middle_761")]
        {
            for hash in [&DERIVE_DECAPSULATION, &REJECTION_SECRET] {
                assert!(name(hash, whole).ends_with(decapsulate));
            }
        }
    }
}
