//! Kernels of the scheme that the engine does not launch, to be compared with those that it launches:
//! other ways to multiply, products alone, and encryption in more than one kernel.

#![allow(unsafe_code)]

pub mod ntt;
pub mod polyphase;
pub mod same_public_key;
pub mod same_secret_key;
pub mod schoolbook;
pub mod unfused;

use ctru_math::{R653, R761, R1277};

use super::MODULE;
use crate::kernel::Rows::{EachKey, EachOperation, One};
use crate::kernel::{Kernel, Kernels, Parameter};
pub use crate::kernels::sample;
use crate::kernels::{coin_words, message_words, row};
use crate::simt::Word;
use crate::table::{ciphertext_bytes, descriptors};

/// Calls the macro `$callback` with the list of these kernels, in the form of
/// [`for_each_kernel`](crate::for_each_kernel).
///
/// Two kernels of the engine stand here once more, `sample` and `polyphase_small`: they run before
/// others of this list, and the kernels of a device are of one module.
#[macro_export]
macro_rules! for_each_compared_kernel {
    ($callback:ident) => {
        $callback! {
            MULTIPLY_FOLDING "multiply_folding" =
                ntt::folding(
                    large: u16[EachKey; row::<R>()],
                    small: u8[EachOperation; row::<R>()],
                    product: u16[EachOperation; row::<R>()]);
            MULTIPLY_MULTIPLYING "multiply_multiplying" =
                ntt::multiplying(
                    large: u16[EachKey; row::<R>()],
                    small: u8[EachOperation; row::<R>()],
                    product: u16[EachOperation; row::<R>()]);
            POLYPHASE_SMALL "polyphase_small" =
                polyphase::multiply_small(
                    large: u16[EachKey; row::<R>()],
                    small: u8[EachOperation; row::<R>()],
                    product: u16[EachOperation; row::<R>()]);
            POLYPHASE_ROUNDED "polyphase_rounded" =
                polyphase::multiply_rounded(
                    large: u16[EachOperation; row::<R>()],
                    small: u8[EachKey; row::<R>()],
                    product: u16[EachOperation; row::<R>()]);
            SAME_PUBLIC_KEY_MULTIPLY "same_public_key_multiply" =
                same_public_key::multiply(
                    large: u16[One; row::<R>()],
                    small: u8[EachOperation; row::<R>()],
                    product: u16[EachOperation; row::<R>()]);
            SAME_SECRET_KEY_MULTIPLY "same_secret_key_multiply" =
                same_secret_key::multiply(
                    large: u16[EachOperation; row::<R>()],
                    small: u8[One; row::<R>()],
                    product: u16[EachOperation; row::<R>()]);
            SCHOOLBOOK_SMALL "schoolbook_small" =
                schoolbook::multiply_small(
                    large: u16[EachKey; row::<R>()],
                    small: u8[EachOperation; row::<R>()],
                    product: u16[EachOperation; row::<R>()]);
            SAMPLE "sample" =
                sample::sample(
                    coins: u64[EachOperation; coin_words::<R>()],
                    small: u8[EachOperation; row::<R>()]);
            UNFUSED_ENCODE_MESSAGE "unfused_encode_message" =
                unfused::encode_message(
                    messages: u64[EachOperation; message_words::<R>()],
                    encoded: u16[EachOperation; row::<R>()]);
            UNFUSED_COMPRESS_AND_ADD "unfused_compress_and_add" =
                unfused::compress_and_add(
                    sigma: u16[EachOperation; row::<R>()],
                    encoded: u16[EachOperation; row::<R>()],
                    coefficients: u16[EachOperation; row::<R>()]);
            UNFUSED_PACK_CIPHERTEXT "unfused_pack_ciphertext" =
                unfused::pack_ciphertext(
                    coefficients: u16[EachOperation; row::<R>()],
                    ciphertexts: u8[EachOperation; ciphertext_bytes::<R>()]);
        }
    };
}

for_each_compared_kernel!(descriptors);
