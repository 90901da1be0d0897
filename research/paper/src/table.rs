//! The list of this crate's kernels, with their descriptors.

#![allow(unsafe_code)]

use ctru_gpu_kernels::descriptor::Rows::{EachOperation, EachOrShared, One};
use ctru_gpu_kernels::kernels::*;
use ctru_gpu_kernels::ptx::Module;
use ctru_gpu_kernels::ring_descriptors;
use ctru_gpu_kernels::simt::U32x4;
use ctru_gpu_kernels::table::ciphertext_bytes;

use crate::{product, steps};

/// The module of these kernels. It is compiled with the same options as the engine's module.
pub static MODULE: Module = Module::new(include_str!("../ptx/research_paper.ptx"));

/// Calls the macro `$callback` with the list of these kernels, in the form of
/// [`for_each_kernel`](ctru_gpu_kernels::for_each_kernel).
///
/// The last entries are kernels of the engine that a whole KEM needs, because a device runs the
/// kernels of one module only.
macro_rules! for_each_kernel {
    ($callback:ident) => {
        $callback! {
            MULTIPLY_SAMPLED "multiply_sampled" =
                product::ntt::multiply_sampled(
                    large: u16[EachOrShared; row::<R>(); 8],
                    small: u8[EachOperation; row::<R>(); 8],
                    product: u16[EachOperation; row::<R>(); 8]);
            MULTIPLY_ROUNDED "multiply_rounded" =
                product::ntt::multiply_rounded(
                    large: u16[EachOperation; row::<R>(); 8],
                    small: u8[EachOrShared; row::<R>(); 8],
                    product: u16[EachOperation; row::<R>(); 8]);
            POLYPHASE_SMALL "polyphase_small" =
                product::polyphase::multiply_small(
                    large: u16[EachOrShared; row::<R>()] as U32x4,
                    small: u8[EachOperation; row::<R>()] as u64,
                    product: u16[EachOperation; row::<R>()] as U32x4);
            POLYPHASE_ROUNDED "polyphase_rounded" =
                product::polyphase::multiply_rounded(
                    large: u16[EachOperation; row::<R>()] as U32x4,
                    small: u8[EachOrShared; row::<R>()] as u64,
                    product: u16[EachOperation; row::<R>()] as U32x4);
            SAME_PUBLIC_KEY_MULTIPLY "same_public_key_multiply" =
                product::same_public_key::multiply(
                    large: u16[One; row::<R>()],
                    small: u8[EachOperation; row::<R>()] as u64,
                    product: u16[EachOperation; row::<R>()] as U32x4);
            SAME_SECRET_KEY_MULTIPLY "same_secret_key_multiply" =
                product::same_secret_key::multiply(
                    large: u16[EachOperation; row::<R>()] as U32x4,
                    small: u8[One; row::<R>()],
                    product: u16[EachOperation; row::<R>()] as U32x4);
            SCHOOLBOOK_SMALL "schoolbook_small" =
                product::schoolbook::multiply_small(
                    large: u16[EachOrShared; row::<R>()],
                    small: u8[EachOperation; row::<R>()] as u64,
                    product: u16[EachOperation; row::<R>()] as U32x4);
            SAMPLE "sample" =
                steps::sample::sample(
                    coins: u64[EachOperation; coin_words::<R>()],
                    small: u8[EachOperation; row::<R>(); 8]);
            SAMPLE_SECRET "sample_secret" =
                scheme::sample::sample_secret(
                    coins: u64[EachOperation; coin_words::<R>()],
                    secret: u8[EachOperation; row::<R>(); 8]);
            ENCRYPT "encrypt" =
                steps::encrypt::encrypt(
                    sigma: u16[EachOperation; row::<R>(); 8],
                    messages: u64[EachOperation; message_words::<R>()],
                    ciphertexts: u8[EachOperation; ciphertext_bytes::<R>()] as u32);
            UNPACK_CIPHERTEXT "unpack_ciphertext" =
                steps::unpack_ciphertext::unpack_ciphertext(
                    ciphertexts: u8[EachOperation; ciphertext_bytes::<R>()],
                    coefficients: u16[EachOperation; row::<R>(); 8]);
            DECODE_MESSAGE "decode_message" =
                steps::decode_message::decode_message(
                    decrypted: u16[EachOperation; row::<R>(); 8],
                    messages: u64[EachOperation; message_words::<R>()]);
            SELECT "select" =
                steps::select::select(
                    received: u8[EachOperation; ciphertext_bytes::<R>()],
                    expected: u8[EachOperation; ciphertext_bytes::<R>()],
                    rejection_secrets: u64[EachOperation; SEED_WORDS],
                    shared_secrets: u64[EachOperation; SEED_WORDS]);
            UNFUSED_ENCODE_MESSAGE "unfused_encode_message" =
                steps::unfused::encode_message(
                    messages: u64[EachOperation; message_words::<R>()],
                    encoded: u16[EachOperation; row::<R>()]);
            UNFUSED_COMPRESS_AND_ADD "unfused_compress_and_add" =
                steps::unfused::compress_and_add(
                    sigma: u16[EachOperation; row::<R>()],
                    encoded: u16[EachOperation; row::<R>()],
                    coefficients: u16[EachOperation; row::<R>()]);
            UNFUSED_PACK_CIPHERTEXT "unfused_pack_ciphertext" =
                steps::unfused::pack_ciphertext(
                    coefficients: u16[EachOperation; row::<R>()],
                    ciphertexts: u8[EachOperation; ciphertext_bytes::<R>()]);
            UNFUSED_DOUBLE_AND_ADD_ONE "unfused_double_and_add_one" =
                steps::unfused::double_and_add_one(
                    small: u8[EachOperation; row::<R>()],
                    secret: u8[EachOperation; row::<R>()]);
            DECODE_MIXED_RADIX "decode_mixed_radix" =
                keys::mixed_radix::decode(
                    keys: u8[EachOperation; keys::mixed_radix::public_key_bytes::<R>(); 4],
                    h: u16[EachOperation; row::<R>(); 8],
                    ids: u8[EachOperation; ID_BYTES]);
            UNPACK_SECRET_KEY_MIXED_RADIX "unpack_secret_key_mixed_radix" =
                keys::mixed_radix::unpack_secret_key(
                    keys: u8[EachOperation; keys::mixed_radix::secret_key_bytes::<R>(); 4],
                    f: u8[EachOperation; row::<R>(); 8],
                    h: u16[EachOperation; row::<R>(); 8],
                    ids: u8[EachOperation; ID_BYTES],
                    z: u64[EachOperation; SEED_WORDS]);
            ENCODE_MIXED_RADIX "encode_mixed_radix" =
                keys::mixed_radix::encode(
                    h: u16[EachOperation; row::<R>(); 8],
                    keys: u8[EachOperation; keys::mixed_radix::public_key_bytes::<R>()] as u32);
            PACK_SECRET_KEY_MIXED_RADIX "pack_secret_key_mixed_radix" =
                keys::mixed_radix::pack_secret_key(
                    f: u8[EachOperation; row::<R>(); 8],
                    h: u16[EachOperation; row::<R>(); 8],
                    z: u64[EachOperation; SEED_WORDS],
                    keys: u8[EachOperation; keys::mixed_radix::secret_key_bytes::<R>()] as u32);
            INVERT "invert" =
                invert::divsteps::invert(
                    elements: u16[EachOperation; row::<R>(); 8],
                    inverses: u16[EachOperation; row::<R>(); 8]);
            DERIVE_KEY_PAIR "derive_key_pair" =
                hash::middle_batch::derive_key_pair(
                    seeds: u64[EachOperation; 2 * SEED_WORDS],
                    f_coins: u64[EachOperation; coin_words::<R>()],
                    g_coins: u64[EachOperation; coin_words::<R>()],
                    z: u64[EachOperation; SEED_WORDS]);
            DERIVE_ENCAPSULATION "derive_encapsulation" =
                hash::derive::derive_encapsulation(
                    seeds: u64[EachOperation; SEED_WORDS],
                    ids: u8[EachOrShared; ID_BYTES],
                    messages: u64[EachOperation; message_words::<R>()],
                    shared_secrets: u64[EachOperation; SEED_WORDS],
                    coins: u64[EachOperation; coin_words::<R>()]);
            DERIVE_DECAPSULATION "derive_decapsulation" =
                hash::derive::derive_decapsulation(
                    messages: u64[EachOperation; message_words::<R>()],
                    ids: u8[EachOrShared; ID_BYTES],
                    shared_secrets: u64[EachOperation; SEED_WORDS],
                    coins: u64[EachOperation; coin_words::<R>()]);
            REJECTION_SECRET "rejection_secret" =
                hash::reject::rejection_secret(
                    ids: u8[EachOrShared; ID_BYTES],
                    z: u64[EachOrShared; SEED_WORDS],
                    ciphertexts: u8[EachOperation; ciphertext_bytes::<R>(); 4],
                    rejection_secrets: u64[EachOperation; SEED_WORDS]);
        }
    };
}
#[cfg(all(feature = "entry-points", target_arch = "nvptx64"))]
pub(crate) use for_each_kernel;

for_each_kernel!(ring_descriptors);
