//! The sizes and kernels of a parameter set, as data.
//!
//! The code below the typed interface of the engine reads this description. This code is therefore
//! compiled once per type of device, not once per parameter set.

use core::ops::Range;
use std::vec::Vec;

use ctru_gpu_kernels::descriptor::{Kernel, RingKernels};
use ctru_gpu_kernels::kernels::{coin_words, message_words, row};
use ctru_gpu_kernels::table;
use ctru_math::{NtruPrimeRing, Ring};
use zeroize::Zeroizing;

use super::encoded::EncodedKeys;
use super::powers::Chain;
use super::rejection;
use crate::encoding::PublicKeyEncoding;
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidRow};
use crate::expand::Purpose;
use crate::keys::{DecapsulationKey, EncapsulationKey};
use crate::parameters::Parameters;
use crate::params::ParameterSet;

/// The largest chunk for which one kernel does whole encapsulations or decapsulations. On an H200,
/// this is faster for 512 operations, and separate kernels are faster for 1024.
pub(super) const WHOLE_CHUNK: usize = 512;

/// The largest batch of which each chunk is done by one kernel. On an H200, one kernel for each
/// chunk is faster for 1024 operations in four chunks, which the host copies, and separate kernels
/// are faster for 4096.
pub(super) const WHOLE_BATCH: usize = 1024;

/// The largest batch with one key for which one kernel does whole decapsulations. This kernel
/// decodes the key for each of them. On an H100, separate kernels take 17 % less time for 1024
/// operations in two chunks.
pub(super) const WHOLE_WITH_ONE_KEY: usize = 512;

/// The properties of a parameter set with one encoding of encapsulation keys: sizes, kernels and
/// functions.
pub(super) struct Set {
    /// The parameters that this describes.
    pub(super) parameters: Parameters,
    /// Bytes of an encoded encapsulation key.
    pub(super) encapsulation_key_bytes: usize,
    /// Bytes of an encoded decapsulation key.
    pub(super) decapsulation_key_bytes: usize,
    /// The range of bytes of a decapsulation key that are its encapsulation key.
    pub(super) encapsulation_key: Range<usize>,
    /// Bytes of a ciphertext.
    pub(super) ciphertext_bytes: usize,
    /// Elements per row of a polynomial on the device: the coefficients with padding.
    pub(super) row: usize,
    /// 64-bit words of the coins of one polynomial on the device.
    pub(super) coin_words: usize,
    /// 64-bit words of a message on the device.
    pub(super) message_words: usize,
    /// The purpose of seeds of key pairs.
    pub(super) key_generation: Purpose,
    /// The purpose of seeds of encapsulations.
    pub(super) encapsulation: Purpose,
    /// The inversion by powers.
    pub(super) chain: &'static Chain,
    /// The largest number of key generations of a chunk for which inversion by powers is faster
    /// than division steps on an H200, as far as it was measured.
    pub(super) itoh_tsujii_max_chunk: usize,
    /// The least number of operations of a chunk with one key that is encrypted by the matrix of
    /// this key. Smaller chunks have too few blocks of 16 operations to occupy an H200.
    pub(super) matrix_encryption: u32,
    /// The same for a chunk that is decapsulated.
    pub(super) matrix_decapsulation: u32,
    /// The kernels that depend on the encoding of encapsulation keys.
    pub(super) encoding: &'static EncodingKernels,
    /// Returns the rejection secrets of a batch of decapsulations, hashed on the host.
    pub(super) rejection_secrets: fn(&EncodedKeys<'_>, &[u8]) -> Zeroizing<Vec<u64>>,
    /// Overwrites rows of encapsulation keys with placeholders.
    pub(super) fill_encapsulation_keys: fn(&mut [u8]),
    /// Overwrites rows of decapsulation keys with placeholders.
    pub(super) fill_decapsulation_keys: fn(&mut [u8]),
    /// Checks rows of encapsulation keys on the host.
    pub(super) check_encapsulation_keys:
        fn(&[u8]) -> Result<(), InvalidRow<InvalidEncapsulationKey>>,
    /// Checks rows of decapsulation keys on the host.
    pub(super) check_decapsulation_keys:
        fn(&[u8]) -> Result<(), InvalidRow<InvalidDecapsulationKey>>,
    kernel: fn(&'static RingKernels) -> &'static Kernel,
}

impl Set {
    /// Returns the description of `parameters`.
    pub(super) fn of(parameters: Parameters) -> &'static Self {
        with_parameters!(parameters, P => Self::of_type::<P>())
    }

    const fn of_type<P: ParameterSet>() -> &'static Self {
        const {
            &Self {
                parameters: P::PARAMETERS,
                encapsulation_key_bytes: P::ENCAPSULATION_KEY_BYTES,
                decapsulation_key_bytes: P::DECAPSULATION_KEY_BYTES,
                encapsulation_key: P::Ring::SECRET_POLY_BYTES
                    ..P::Ring::SECRET_POLY_BYTES + P::ENCAPSULATION_KEY_BYTES,
                ciphertext_bytes: P::CIPHERTEXT_BYTES,
                row: row::<P::Ring>() as usize,
                coin_words: coin_words::<P::Ring>() as usize,
                message_words: message_words::<P::Ring>() as usize,
                key_generation: Purpose::key_generation::<P::Ring, P::Encoding>(),
                encapsulation: Purpose::encapsulation::<P::Ring, P::Encoding>(),
                chain: Chain::of::<P::Ring>(),
                itoh_tsujii_max_chunk: match P::Ring::N {
                    653 | 761 => 8192,
                    _ => 2048,
                },
                // For larger rings, blocks need twice as many threads, and have not been measured.
                matrix_encryption: if P::Ring::N > 1024 { u32::MAX } else { 8192 },
                matrix_decapsulation: if P::Ring::N > 1024 { u32::MAX } else { 4096 },
                encoding: EncodingKernels::of_name(P::Encoding::NAME),
                rejection_secrets: rejection::secrets::<P>,
                fill_encapsulation_keys: |rows| {
                    fill(rows, EncapsulationKey::<P>::placeholder().as_ref());
                },
                fill_decapsulation_keys: |rows| {
                    fill(rows, DecapsulationKey::<P>::placeholder().as_ref());
                },
                check_encapsulation_keys: EncapsulationKey::<P>::check_rows,
                check_decapsulation_keys: DecapsulationKey::<P>::check_rows,
                kernel: RingKernels::of::<P::Ring>,
            }
        }
    }

    /// Returns the kernel for the ring of the parameter set.
    pub(super) fn kernel(&self, kernels: &'static RingKernels) -> &'static Kernel {
        (self.kernel)(kernels)
    }

    /// Returns the largest number of operations that every kernel accepts in one launch.
    pub(super) fn most_operations(&self) -> usize {
        let most = table::ALL.iter().map(|kernels| self.kernel(kernels).most_operations());
        most.min().unwrap_or(0) as usize
    }
}

/// Overwrites each row of `rows` with `row`.
fn fill(rows: &mut [u8], row: &[u8]) {
    for to in rows.chunks_exact_mut(row.len()) {
        to.copy_from_slice(row);
    }
}

/// The kernels that depend on an encoding of encapsulation keys.
pub(super) struct EncodingKernels {
    /// Decodes encapsulation keys to `h` and `ID(pk)`.
    pub(super) decode: &'static RingKernels,
    /// Decodes decapsulation keys to `f`, `h`, `ID(pk)` and `z`.
    pub(super) unpack_decapsulation_key: &'static RingKernels,
    /// Encodes `h` to encapsulation keys.
    pub(super) encode: &'static RingKernels,
    /// Encodes `f`, `h` and `z` to decapsulation keys.
    pub(super) pack_decapsulation_key: &'static RingKernels,
    /// Copies encapsulation keys out of decapsulation keys.
    pub(super) copy_encapsulation_key: &'static RingKernels,
    /// Decodes as `decode` does, and checks rows of bytes that may not be keys.
    pub(super) check_encapsulation_key: &'static RingKernels,
    /// Decodes as `unpack_decapsulation_key` does, and checks rows of bytes that may not be keys.
    pub(super) check_decapsulation_key: &'static RingKernels,
    /// Encapsulates, with encoded keys and expanded seeds.
    pub(super) encapsulate: &'static RingKernels,
    /// Encapsulates, with encoded keys and a seed for each operation.
    pub(super) encapsulate_seeds: &'static RingKernels,
    /// Decapsulates, with encoded keys.
    pub(super) decapsulate: &'static RingKernels,
    /// Decapsulates, with encoded keys, and leaves the rejection to the host.
    pub(super) decapsulate_without_rejection: &'static RingKernels,
}

static MIXED_RADIX: EncodingKernels = EncodingKernels {
    decode: &table::DECODE_MIXED_RADIX,
    unpack_decapsulation_key: &table::UNPACK_SECRET_KEY_MIXED_RADIX,
    encode: &table::ENCODE_MIXED_RADIX,
    pack_decapsulation_key: &table::PACK_SECRET_KEY_MIXED_RADIX,
    copy_encapsulation_key: &table::WRITE_PUBLIC_KEY_MIXED_RADIX,
    check_encapsulation_key: &table::VALIDATE_PUBLIC_KEY_MIXED_RADIX,
    check_decapsulation_key: &table::VALIDATE_SECRET_KEY_MIXED_RADIX,
    encapsulate: &table::ENCAPSULATE_MIXED_RADIX,
    encapsulate_seeds: &table::ENCAPSULATE_SEEDS_MIXED_RADIX,
    decapsulate: &table::DECAPSULATE_MIXED_RADIX,
    decapsulate_without_rejection: &table::RECOVER_MIXED_RADIX,
};

static PACKED13: EncodingKernels = EncodingKernels {
    decode: &table::DECODE_PACKED13,
    unpack_decapsulation_key: &table::UNPACK_SECRET_KEY_PACKED13,
    encode: &table::ENCODE_PACKED13,
    pack_decapsulation_key: &table::PACK_SECRET_KEY_PACKED13,
    copy_encapsulation_key: &table::WRITE_PUBLIC_KEY_PACKED13,
    check_encapsulation_key: &table::VALIDATE_PUBLIC_KEY_PACKED13,
    check_decapsulation_key: &table::VALIDATE_SECRET_KEY_PACKED13,
    encapsulate: &table::ENCAPSULATE_PACKED13,
    encapsulate_seeds: &table::ENCAPSULATE_SEEDS_PACKED13,
    decapsulate: &table::DECAPSULATE_PACKED13,
    decapsulate_without_rejection: &table::RECOVER_PACKED13,
};

impl EncodingKernels {
    /// Returns the kernels of the encoding with this [name](PublicKeyEncoding::NAME).
    ///
    /// # Panics
    /// If there is no such encoding. [`Set::of_type`] calls this function at compile time, so that
    /// the compiler reports the panic.
    const fn of_name(name: &str) -> &'static Self {
        match name.as_bytes() {
            b"mixed-radix" => &MIXED_RADIX,
            b"packed13" => &PACKED13,
            _ => panic!("there are no kernels for this encoding"),
        }
    }
}
