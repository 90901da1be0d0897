//! Chooses the kernels that hash by the size of a batch: two threads or one thread hold each Keccak
//! state.
//!
//! One thread needs fewer instructions for a hash, and takes longer. It is best in batches that
//! give the GPU other work in the meantime. The size of the batch counts and not that of its
//! chunks, because this work is that of the other chunks.

use ctru_gpu_kernels::descriptor::RingKernels;
use ctru_gpu_kernels::table;

/// The largest batch in which two threads hold each state. Tests of this module have a smaller one,
/// because the emulator takes long for large batches.
const PAIRS: usize = if cfg!(test) { 3 } else { 32768 };

/// Kernels with the same results, of which the size of a batch chooses one.
pub(super) struct BySize {
    /// The kernels for batches of at most [`PAIRS`] operations.
    pairs: &'static RingKernels,
    /// The kernels for larger batches.
    threads: &'static RingKernels,
}

pub(super) static DERIVE_KEY_PAIR: BySize =
    BySize { pairs: &table::DERIVE_KEY_PAIR_MIDDLE, threads: &table::DERIVE_KEY_PAIR };

pub(super) static DERIVE_ENCAPSULATION: BySize =
    BySize { pairs: &table::DERIVE_ENCAPSULATION_MIDDLE, threads: &table::DERIVE_ENCAPSULATION };

pub(super) static DERIVE_DECAPSULATION: BySize =
    BySize { pairs: &table::DERIVE_DECAPSULATION_MIDDLE, threads: &table::DERIVE_DECAPSULATION };

pub(super) static REJECTION_SECRET: BySize =
    BySize { pairs: &table::REJECTION_SECRET_MIDDLE, threads: &table::REJECTION_SECRET };

impl BySize {
    /// Returns the kernels for a batch of `batch_len` operations.
    pub(super) fn of(&self, batch_len: usize) -> &'static RingKernels {
        if batch_len <= PAIRS { self.pairs } else { self.threads }
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
        for (hash, pairs, threads) in [
            (&DERIVE_KEY_PAIR, "derive_key_pair_middle_653", "derive_key_pair_653"),
            (&DERIVE_ENCAPSULATION, "derive_encapsulation_middle_653", "derive_encapsulation_653"),
            (&DERIVE_DECAPSULATION, "derive_decapsulation_middle_653", "derive_decapsulation_653"),
            (&REJECTION_SECRET, "rejection_secret_middle_653", "rejection_secret_653"),
        ] {
            let name = |batch_len| hash.of(batch_len).of::<R653>().name();
            assert_eq!([0, PAIRS, PAIRS + 1].map(name), [pairs, pairs, threads]);
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

    /// Compares encapsulations to encoded keys with the CPU.
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
