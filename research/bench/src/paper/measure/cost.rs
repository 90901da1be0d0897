//! Lists the work of each kernel in the units of the ceilings.

use ctru_math::Ring;

use super::counting::Counts;

/// The work of an operation, without its accesses to arrays.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub(crate) struct Work {
    /// Permutations of Keccak-f\[1600\].
    pub(crate) permutations: f64,
    /// Products of polynomials whose coefficients are bytes. A coefficient modulo `q` or `q2`
    /// counts as two bytes; the product of two such polynomials counts as three products.
    pub(crate) byte_products: f64,
}

/// The bytes of `ID(pk)`.
const ID_BYTES: usize = 33;
/// The bytes of a seed.
const SEED_BYTES: usize = 32;

/// Returns the number of permutations of SHA3-512 for an input of `bytes` bytes.
const fn sha3_512(bytes: usize) -> usize {
    bytes / 72 + 1
}

/// Returns the number of permutations of SHAKE256 for `bytes` bytes of output and an input that is
/// shorter than one block.
const fn shake256(bytes: usize) -> usize {
    bytes.div_ceil(136)
}

/// Returns the work per operation of a kernel. `kernel` is its name, which ends with the ring's
/// degree unless the kernel is that of every ring. Returns `None` if the table does not list the
/// kernel.
pub(crate) fn of<R: Ring>(kernel: &str) -> Option<Work> {
    let secret_and_coins = sha3_512(ID_BYTES + R::MESSAGE_BYTES) + shake256(R::COIN_BYTES);
    let rejection = sha3_512(ID_BYTES + SEED_BYTES + R::CIPHERTEXT_BYTES);
    let (permutations, byte_products) =
        match kernel.strip_suffix(&format!("_{}", R::N)).unwrap_or(kernel) {
            "expand_seeds" | "expand_key_pair_seeds" => (1, 0.0),
            "derive_key_pair" => (shake256(2 * R::COIN_BYTES), 0.0),
            "derive_encapsulation" | "derive_encapsulation_middle" => (1 + secret_and_coins, 0.0),
            "derive_decapsulation" | "derive_decapsulation_middle" => (secret_and_coins, 0.0),
            "rejection_secret" | "rejection_secret_middle" => (rejection, 0.0),
            "encapsulate_mixed_radix" => (2 + secret_and_coins, 2.0),
            "encapsulate_seeds_mixed_radix" => (1 + secret_and_coins, 2.0),
            "decapsulate_mixed_radix" => (secret_and_coins + rejection, 4.0),
            "recover_mixed_radix" => (secret_and_coins, 4.0),
            "polyphase_small"
            | "polyphase_coins"
            | "polyphase_rounded"
            | "fused_encrypt"
            | "fused_verify"
            | "fused_decrypt"
            | "same_public_key_encrypt"
            | "same_public_key_verify"
            | "same_secret_key_decrypt" => (0, 2.0),
            // An operation is a leaf: one of the two factors of a product.
            "multiply_leaves" => (0, 0.5),
            "multiply_nodes" => (0, 1.5),
            "divide_nodes" => (0, 3.0),
            "divide_leaves" => (0, 2.0),
            // An operation is 16 coefficients of eight products of a matrix and a vector.
            "frobenius" => (0, 4.0 * 16.0 * 8.0 / R::N as f64),
            // NTRU Prime. Its other hashes are SHA-512, and it seldom draws again.
            "ntruprime_stream" => (shake256(4 * R::N), 0.0),
            "ntruprime_draw" => (shake256(8 * R::N + R::TERNARY_BYTES), 0.0),
            "ntruprime_encrypt" | "ntruprime_divide" => (0, 2.0),
            "ntruprime_decrypt" => (0, 3.0),
            "ntruprime_short"
            | "ntruprime_draw_again"
            | "ntruprime_invert"
            | "ntruprime_unpack"
            | "ntruprime_pack"
            | "ntruprime_hash_public_keys"
            | "ntruprime_hash_private_keys"
            | "ntruprime_confirm"
            | "ntruprime_shared_secret" => (0, 0.0),
            "multiply_sampled"
            | "multiply_rounded"
            | "sample"
            | "sample_secret"
            | "encrypt"
            | "unpack_ciphertext"
            | "decode_message"
            | "decode_mixed_radix"
            | "encode_mixed_radix"
            | "unpack_secret_key_mixed_radix"
            | "pack_secret_key_mixed_radix"
            | "decode_packed13"
            | "encode_packed13"
            | "unpack_secret_key_packed13"
            | "pack_secret_key_packed13"
            | "validate_public_key_mixed_radix"
            | "validate_secret_key_mixed_radix"
            | "validate_public_key_packed13"
            | "validate_secret_key_packed13"
            | "invert"
            | "multiply_pairs"
            | "divide_by_norm"
            | "select" => (0, 0.0),
            _ => return None,
        };
    Some(Work { permutations: permutations as f64, byte_products })
}

/// Returns the work per operation of a batch of `count` operations.
pub(crate) fn of_batch<R: Ring>(counts: &Counts, count: usize) -> Work {
    counts.launches.iter().fold(Work::default(), |sum, launch| {
        let work = of::<R>(launch.kernel).unwrap_or_default();
        let share = f64::from(launch.batch.operations()) / count as f64;
        Work {
            permutations: sum.permutations + share * work.permutations,
            byte_products: sum.byte_products + share * work.byte_products,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::measure::counting::CountingDevice;
    use ctru_gpu_kernels::table;
    use ctru_gpu_runtime::batch::tuning::AS_LARGE;
    use ctru_gpu_runtime::emulated::EmulatedDevice;
    use ctru_kem::engine::{
        Context, CpuEngine, DeviceEngine, DeviceOptions, Engine, Expand, Keys, Seeds,
    };
    use ctru_kem::{
        Ciphertext, CtruPrime761, DecapsulationKey, EncapsulationKey, MixedRadix, ParameterSet,
        SharedSecret,
    };
    use ctru_math::{R653, R761, R1277};

    /// Checks that the table lists every kernel.
    #[test]
    fn every_kernel_is_known() {
        for kernels in table::ALL {
            let names = [kernels.of::<R653>(), kernels.of::<R761>(), kernels.of::<R1277>()];
            let [of_653, of_761, of_1277] = names.map(|kernel| kernel.name());
            for work in [of::<R653>(of_653), of::<R761>(of_761), of::<R1277>(of_1277)] {
                assert!(work.is_some(), "{of_761}");
            }
        }
        assert_eq!(of::<R653>("select_761"), None);
    }

    type Set = CtruPrime761<MixedRadix>;
    /// So many operations that their keys and ciphertexts are copied to and from the device, unless
    /// one kernel does whole encapsulations. Their seeds and secrets stay in memory of the host.
    const COUNT: usize = 70;
    const SEEDS: Expand<'_> = Expand { seed: &[1; 32], context: Context::EMPTY, first: 0 };

    /// Checks that the counts of encapsulation and decapsulation, with one key per operation,
    /// follow from the scheme.
    #[test]
    fn chunks_cost_what_the_scheme_says() {
        // One kernel does a whole operation.
        check_chunks(true);
        // Separate kernels do the steps of an operation.
        check_chunks(false);
    }

    fn check_chunks(is_whole: bool) {
        // What the seeds of a chunk are expanded from.
        let expansion = 88;
        let device = CountingDevice::new(EmulatedDevice::new());
        let options = DeviceOptions {
            chunk: COUNT,
            slots: 1,
            tuning: (!is_whole).then_some(&AS_LARGE),
            ..DeviceOptions::default()
        };
        let engine = DeviceEngine::new(device.clone(), options).unwrap();
        let mut public = vec![EncapsulationKey::<Set>::placeholder(); COUNT];
        let mut private = vec![DecapsulationKey::placeholder(); COUNT];
        let (mut ciphertexts, mut secrets) =
            (vec![Ciphertext::default(); COUNT], vec![SharedSecret::default(); COUNT]);
        let cpu = CpuEngine::with_threads(1).unwrap();
        cpu.generate(Seeds::Expand(SEEDS), &mut public, &mut private).unwrap();

        let keys = Keys::Each(&public);
        engine.encapsulate(keys, Seeds::Expand(SEEDS), &mut ciphertexts, &mut secrets).unwrap();
        let expected = secrets.clone();
        let seen = device.take();
        // A kernel that does whole encapsulations reads and writes memory of the host.
        let copied = match is_whole {
            true => (expansion, 0),
            false => (COUNT * Set::ENCAPSULATION_KEY_BYTES, COUNT * Set::CIPHERTEXT_BYTES),
        };
        assert_eq!((seen.uploaded, seen.downloaded), copied);
        assert_eq!(seen.launches.len() == 1, is_whole);
        // The permutations: one for the seed, one for the message, two for the secret and three for
        // the coins.
        assert_eq!(of_batch::<R761>(&seen, COUNT), Work { permutations: 7.0, byte_products: 2.0 });
        // The encoded key is read. `h` and ID are written and read, and so are the seed, the
        // message and the coins. The expansion of the seed reads ID as well. The secret and the
        // ciphertext are written.
        let expected_bytes = 1158 + 2 * (1536 + 33) + 33 + 2 * (32 + 48 + 384) + 32 + 952;
        let bytes: usize = seen.launches.iter().map(|launch| launch.bytes).sum::<u64>() as usize;
        if !is_whole {
            assert_eq!(bytes, COUNT * expected_bytes + expansion);
        }

        engine.decapsulate(Keys::Each(&private), &ciphertexts, &mut secrets).unwrap();
        assert_eq!(secrets, expected);
        let seen = device.take();
        assert_eq!(seen.uploaded, COUNT * (Set::DECAPSULATION_KEY_BYTES + Set::CIPHERTEXT_BYTES));
        assert_eq!(seen.downloaded, 0);
        // The secret and the coins take five permutations, and the rejection secret takes fifteen.
        assert_eq!(of_batch::<R761>(&seen, COUNT), Work { permutations: 20.0, byte_products: 4.0 });
    }
}
