//! Kernels of the scheme for comparison with those that the engine launches: other methods to
//! multiply, products without the steps that the engine fuses with them, and encryption in several
//! kernels.

#![allow(unsafe_code)]

pub mod polyphase;
pub mod same_public_key;
pub mod same_secret_key;
pub mod schoolbook;
pub mod unfused;

use ctru_math::{R653, R761, R1277};

use super::compared;
use crate::descriptor::RingKernels;
use crate::descriptor::Rows::{EachOperation, EachOrShared, One};
use crate::kernels::{coin_words, message_words, row};
use crate::kernels::{product, scheme};
use crate::ptx::Module;
use crate::simt::U32x4;
use crate::table::{ciphertext_bytes, descriptors};

/// The module of these kernels. It is compiled with the same options as the engine's module.
pub static MODULE: Module = Module::new(include_str!("../../../ptx/compared.ptx"));

/// Calls the macro `$callback` with the list of these kernels, in the form of
/// [`for_each_kernel`](crate::for_each_kernel).
///
/// The list repeats four kernels of the engine: `sample`, `sample_secret`, `multiply_sampled` and
/// `encrypt`. Work in several kernels needs them together with others of this
/// list, and a device runs only the kernels of one module.
#[macro_export]
macro_rules! for_each_compared_kernel {
    ($callback:ident) => {
        $callback! {
            MULTIPLY_SAMPLED "multiply_sampled" =
                product::ntt::multiply_sampled(
                    large: u16[EachOrShared; row::<R>()],
                    small: u8[EachOperation; row::<R>()],
                    product: u16[EachOperation; row::<R>()]);
            POLYPHASE_SMALL "polyphase_small" =
                product::polyphase::multiply_small(
                    large: u16[EachOrShared; row::<R>()] as U32x4,
                    small: u8[EachOperation; row::<R>()] as u64,
                    product: u16[EachOperation; row::<R>()] as U32x4);
            POLYPHASE_ROUNDED "polyphase_rounded" =
                compared::polyphase::multiply_rounded(
                    large: u16[EachOperation; row::<R>()] as U32x4,
                    small: u8[EachOrShared; row::<R>()] as u64,
                    product: u16[EachOperation; row::<R>()] as U32x4);
            SAME_PUBLIC_KEY_MULTIPLY "same_public_key_multiply" =
                compared::same_public_key::multiply(
                    large: u16[One; row::<R>()],
                    small: u8[EachOperation; row::<R>()] as u64,
                    product: u16[EachOperation; row::<R>()] as U32x4);
            SAME_SECRET_KEY_MULTIPLY "same_secret_key_multiply" =
                compared::same_secret_key::multiply(
                    large: u16[EachOperation; row::<R>()] as U32x4,
                    small: u8[One; row::<R>()],
                    product: u16[EachOperation; row::<R>()] as U32x4);
            SCHOOLBOOK_SMALL "schoolbook_small" =
                compared::schoolbook::multiply_small(
                    large: u16[EachOrShared; row::<R>()],
                    small: u8[EachOperation; row::<R>()] as u64,
                    product: u16[EachOperation; row::<R>()] as U32x4);
            SAMPLE "sample" =
                scheme::sample::sample(
                    coins: u64[EachOperation; coin_words::<R>()],
                    small: u8[EachOperation; row::<R>()]);
            SAMPLE_SECRET "sample_secret" =
                scheme::sample::sample_secret(
                    coins: u64[EachOperation; coin_words::<R>()],
                    secret: u8[EachOperation; row::<R>()]);
            ENCRYPT "encrypt" =
                scheme::encrypt::encrypt(
                    sigma: u16[EachOperation; row::<R>()],
                    messages: u64[EachOperation; message_words::<R>()],
                    ciphertexts: u8[EachOperation; ciphertext_bytes::<R>()] as u32);
            UNFUSED_ENCODE_MESSAGE "unfused_encode_message" =
                compared::unfused::encode_message(
                    messages: u64[EachOperation; message_words::<R>()],
                    encoded: u16[EachOperation; row::<R>()]);
            UNFUSED_COMPRESS_AND_ADD "unfused_compress_and_add" =
                compared::unfused::compress_and_add(
                    sigma: u16[EachOperation; row::<R>()],
                    encoded: u16[EachOperation; row::<R>()],
                    coefficients: u16[EachOperation; row::<R>()]);
            UNFUSED_PACK_CIPHERTEXT "unfused_pack_ciphertext" =
                compared::unfused::pack_ciphertext(
                    coefficients: u16[EachOperation; row::<R>()],
                    ciphertexts: u8[EachOperation; ciphertext_bytes::<R>()]);
            UNFUSED_DOUBLE_AND_ADD_ONE "unfused_double_and_add_one" =
                compared::unfused::double_and_add_one(
                    small: u8[EachOperation; row::<R>()],
                    secret: u8[EachOperation; row::<R>()]);
        }
    };
}

for_each_compared_kernel!(descriptors);
