//! Chooses the kernels that hash by the size of a batch: a warp, two threads or one thread hold
//! each Keccak state.
//!
//! The fewer threads hold a state, the fewer instructions a hash needs, and the longer it takes.
//! One thread is best in batches that give the GPU other work in the meantime. The size of the
//! batch counts and not that of its chunks, because this work is that of the other chunks.

use ctru_gpu_kernels::descriptor::RingKernels;
use ctru_gpu_kernels::table;

/// The largest batch of encapsulations in which a warp holds each state. The limits measured best
/// on an H200.
const WARPS_ENCAPSULATE: usize = for_tests(1, 1024);

/// The largest batch of decapsulations in which a warp holds each state.
const WARPS_DECAPSULATE: usize = for_tests(2, 255);

/// The largest batch in which two threads hold each state.
const PAIRS: usize = for_tests(3, 32768);

/// Returns whether one kernel expands and uses the seeds of `batch_len` encapsulations. It reads
/// the encoded keys while another kernel decodes them. Two threads hold each state.
pub(super) fn derive_from_encoded_keys(batch_len: usize) -> bool {
    (WARPS_ENCAPSULATE + 1..=PAIRS).contains(&batch_len)
}

/// Returns a limit. Tests of this module have a smaller one, because the emulator takes long for
/// large batches.
const fn for_tests(in_tests: usize, limit: usize) -> usize {
    if cfg!(test) { in_tests } else { limit }
}

/// Kernels with the same results, of which the size of a batch chooses one.
pub(super) struct BySize {
    /// The kernels for small batches, each with the largest batch that it serves, in ascending
    /// order.
    smaller: &'static [(usize, &'static RingKernels)],
    /// The kernels for all larger batches.
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
    /// Returns the kernels for a batch of `batch_len` operations.
    pub(super) fn of(&self, batch_len: usize) -> &'static RingKernels {
        let serves = |(most, _): &&(usize, _)| batch_len <= *most;
        self.smaller.iter().find(serves).map_or(self.others, |(_, kernels)| kernels)
    }
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use ctru_gpu_runtime::emulated::EmulatedDevice;
    use ctru_math::R653;

    use super::*;
    use crate::engine::{
        Context, CpuEngine, DeviceEngine, DeviceOptions, Engine, Expand, Keys, Seeds,
    };
    use crate::{Ciphertext, CtruPrime653, DecapsulationKey, EncapsulationKey, SharedSecret};

    type Set = CtruPrime653;

    #[test]
    fn larger_batches_hash_with_fewer_threads() {
        for (hash, batch_len, name) in [
            (&DERIVE_KEY_PAIR, 0, "derive_key_pair_middle_653"),
            (&DERIVE_KEY_PAIR, PAIRS, "derive_key_pair_middle_653"),
            (&DERIVE_KEY_PAIR, PAIRS + 1, "derive_key_pair_653"),
            (&DERIVE_ENCAPSULATION, 0, "derive_encapsulation_small_653"),
            (&DERIVE_ENCAPSULATION, WARPS_ENCAPSULATE, "derive_encapsulation_small_653"),
            (&DERIVE_ENCAPSULATION, WARPS_ENCAPSULATE + 1, "derive_encapsulation_middle_653"),
            (&DERIVE_ENCAPSULATION, PAIRS, "derive_encapsulation_middle_653"),
            (&DERIVE_ENCAPSULATION, PAIRS + 1, "derive_encapsulation_653"),
            (&DERIVE_DECAPSULATION, WARPS_DECAPSULATE, "derive_decapsulation_small_653"),
            (&DERIVE_DECAPSULATION, WARPS_DECAPSULATE + 1, "derive_decapsulation_middle_653"),
            (&DERIVE_DECAPSULATION, PAIRS, "derive_decapsulation_middle_653"),
            (&DERIVE_DECAPSULATION, PAIRS + 1, "derive_decapsulation_653"),
            (&REJECTION_SECRET, WARPS_DECAPSULATE, "rejection_secret_small_653"),
            (&REJECTION_SECRET, WARPS_DECAPSULATE + 1, "rejection_secret_middle_653"),
            (&REJECTION_SECRET, PAIRS, "rejection_secret_middle_653"),
            (&REJECTION_SECRET, PAIRS + 1, "rejection_secret_653"),
        ] {
            assert_eq!(hash.of(batch_len).of::<R653>().name(), name);
        }
    }

    /// Compares batches of each size, which all kernels of this module hash, with the CPU. Every
    /// second ciphertext is rejected.
    #[test]
    fn batches_of_all_sizes_equal_the_cpu() {
        let seeds = Expand { seed: &[7; 32], context: Context::literal(b"sizes"), first: 3 };
        let options = DeviceOptions { chunk: 4, slots: 1, ..DeviceOptions::default() };
        let device = DeviceEngine::new(EmulatedDevice::new(), options).unwrap();
        let cpu = CpuEngine::with_threads(1).unwrap();
        for count in 1..=PAIRS + 1 {
            assert!(results(&device, seeds, count) == results(&cpu, seeds, count), "{count}");
        }
    }

    /// Compares encapsulations to encoded keys with the CPU. In some of these batches, one kernel
    /// expands seeds and derives secrets from them.
    #[test]
    fn encapsulations_to_encoded_keys_equal_the_cpu() {
        let expand = Expand { seed: &[9; 32], context: Context::EMPTY, first: 5 };
        let cpu = CpuEngine::with_threads(1).unwrap();
        let mut public = vec![EncapsulationKey::placeholder(); PAIRS + 1];
        let mut private = vec![DecapsulationKey::placeholder(); PAIRS + 1];
        cpu.generate(Seeds::Expand(expand), &mut public, &mut private).unwrap();
        let options =
            DeviceOptions { chunk: 2, slots: 1, as_large: true, ..DeviceOptions::default() };
        let device = DeviceEngine::new(EmulatedDevice::new(), options).unwrap();
        for count in 1..=PAIRS + 1 {
            let keys = &public[..count];
            let expected = [true, false].map(|one| encapsulated(&cpu, keys, one, expand));
            let results = [true, false].map(|one| encapsulated(&device, keys, one, expand));
            assert!(results == expected, "{count}");
        }
    }

    /// Returns the results of one encapsulation for each key, to the first key or to this key.
    fn encapsulated<E: Engine<Set>>(
        engine: &E,
        keys: &[EncapsulationKey<Set>],
        has_one_key: bool,
        expand: Expand<'_>,
    ) -> (Vec<Ciphertext<Set>>, Vec<Vec<u8>>) {
        let mut ciphertexts = vec![Ciphertext::default(); keys.len()];
        let mut secrets = vec![SharedSecret::default(); keys.len()];
        let keys = if has_one_key { Keys::One(&keys[0]) } else { Keys::Each(keys) };
        let seeds = Seeds::Expand(expand);
        engine.encapsulate(keys, seeds, &mut ciphertexts, &mut secrets).unwrap();
        (ciphertexts, secrets.iter().map(|secret| secret.as_ref().to_vec()).collect())
    }

    /// Returns the results of all operations. Keys are loaded, because a few operations with other
    /// keys take one kernel, which does not hash with kernels of this module.
    fn results<E: Engine<Set>>(engine: &E, seeds: Expand<'_>, count: usize) -> Vec<Vec<u8>> {
        let mut public = vec![EncapsulationKey::placeholder(); count];
        let mut private = vec![DecapsulationKey::placeholder(); count];
        engine.generate(Seeds::Expand(seeds), &mut public, &mut private).unwrap();
        let mut ciphertexts = vec![Ciphertext::default(); count];
        let mut secrets = vec![SharedSecret::default(); count];
        let keys = engine.load_encapsulation_keys(&public).unwrap();
        let seeds = Seeds::Expand(seeds);
        engine.encapsulate(Keys::Loaded(&keys), seeds, &mut ciphertexts, &mut secrets).unwrap();
        for ciphertext in ciphertexts.iter_mut().step_by(2) {
            let mut bytes = ciphertext.as_ref().to_vec();
            bytes[0] ^= 1;
            *ciphertext = Ciphertext::from_bytes(&bytes).unwrap();
        }
        let mut received = vec![SharedSecret::default(); count];
        let keys = engine.load_decapsulation_keys(&private).unwrap();
        engine.decapsulate(Keys::Loaded(&keys), &ciphertexts, &mut received).unwrap();
        for (i, (received, secret)) in received.iter().zip(&secrets).enumerate() {
            assert_eq!(received == secret, i % 2 == 1);
        }
        let mut rows: Vec<Vec<u8>> = public.iter().map(|key| key.as_ref().to_vec()).collect();
        rows.extend(private.iter().map(|key| key.as_ref().to_vec()));
        rows.extend(ciphertexts.iter().map(|ciphertext| ciphertext.as_ref().to_vec()));
        rows.extend(secrets.iter().chain(&received).map(|secret| secret.as_ref().to_vec()));
        rows
    }
}
