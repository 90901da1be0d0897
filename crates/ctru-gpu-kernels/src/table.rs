//! The list of all kernels, from which device entry points and host descriptors are made.

use ctru_math::{R653, R761, R1277};

use crate::kernel::{Kernel, Kernels, Parameter};
use crate::kernels::*;
use crate::simt::Word;

/// Calls the macro `$callback` with the list of all kernels.
///
/// An entry `NAME "name" = module::function(array: element, ...);` stands for three entry points, `name_653`, `name_761`
/// and `name_1277`: the function [`module::function`](crate::kernels) for each ring, in blocks of the shape
/// `module::shape::<Ring>()`.
#[macro_export]
macro_rules! for_each_kernel {
    ($callback:ident) => {
        $callback! {
            MULTIPLY_SAMPLED "multiply_sampled" =
                product::multiply_sampled(large: u16, small: u8, product: u16);
            MULTIPLY_ROUNDED "multiply_rounded" =
                product::multiply_rounded(large: u16, small: u8, product: u16);
            POLYPHASE_SMALL "polyphase_small" =
                polyphase::multiply_small(large: u16, small: u8, product: u16);
            POLYPHASE_ROUNDED "polyphase_rounded" =
                polyphase::multiply_rounded(large: u16, small: u8, product: u16);
            FUSED_ENCRYPT "fused_encrypt" =
                fused::encrypt(h: u16, coins: u64, messages: u64, ciphertexts: u8);
            FUSED_VERIFY "fused_verify" =
                fused::verify(
                    h: u16, coins: u64, messages: u64, received: u8, rejection_secrets: u64, shared_secrets: u64);
            FUSED_DECRYPT "fused_decrypt" =
                fused::decrypt(ciphertexts: u8, f: u8, messages: u64);
            SAME_PUBLIC_KEY_MULTIPLY "same_public_key_multiply" =
                same_public_key::multiply(large: u16, small: u8, product: u16);
            SAME_PUBLIC_KEY_ENCRYPT "same_public_key_encrypt" =
                same_public_key::encrypt(h: u16, coins: u64, messages: u64, ciphertexts: u8);
            SAME_PUBLIC_KEY_VERIFY "same_public_key_verify" =
                same_public_key::verify(
                    h: u16, coins: u64, messages: u64, received: u8, rejection_secrets: u64, shared_secrets: u64);
            SAME_SECRET_KEY_MULTIPLY "same_secret_key_multiply" =
                same_secret_key::multiply(large: u16, small: u8, product: u16);
            SAME_SECRET_KEY_DECRYPT "same_secret_key_decrypt" =
                same_secret_key::decrypt(ciphertexts: u8, f: u8, messages: u64);
            SCHOOLBOOK_SMALL "schoolbook_small" =
                schoolbook::multiply_small(large: u16, small: u8, product: u16);
            SCHOOLBOOK_ROUNDED "schoolbook_rounded" =
                schoolbook::multiply_rounded(large: u16, small: u8, product: u16);
            SAMPLE "sample" =
                sample::sample(coins: u64, small: u8);
            SAMPLE_SECRET "sample_secret" =
                sample::sample_secret(coins: u64, secret: u8);
            ENCRYPT "encrypt" =
                encrypt::encrypt(sigma: u16, messages: u64, ciphertexts: u8);
            UNFUSED_ENCODE_MESSAGE "unfused_encode_message" =
                unfused::encode_message(messages: u64, encoded: u16);
            UNFUSED_COMPRESS_AND_ADD "unfused_compress_and_add" =
                unfused::compress_and_add(sigma: u16, encoded: u16, coefficients: u16);
            UNFUSED_PACK_CIPHERTEXT "unfused_pack_ciphertext" =
                unfused::pack_ciphertext(coefficients: u16, ciphertexts: u8);
            UNPACK_CIPHERTEXT "unpack_ciphertext" =
                unpack_ciphertext::unpack_ciphertext(ciphertexts: u8, coefficients: u16);
            DECODE_MESSAGE "decode_message" =
                decode_message::decode_message(decrypted: u16, messages: u64);
            DECODE_MIXED_RADIX "decode_mixed_radix" =
                mixed_radix::decode(keys: u8, h: u16, ids: u8);
            ENCODE_MIXED_RADIX "encode_mixed_radix" =
                mixed_radix::encode(h: u16, keys: u8);
            UNPACK_SECRET_KEY_MIXED_RADIX "unpack_secret_key_mixed_radix" =
                mixed_radix::unpack_secret_key(keys: u8, f: u8, h: u16, ids: u8, z: u64);
            PACK_SECRET_KEY_MIXED_RADIX "pack_secret_key_mixed_radix" =
                mixed_radix::pack_secret_key(f: u8, h: u16, z: u64, keys: u8);
            DECODE_PACKED13 "decode_packed13" =
                packed13::decode(keys: u8, h: u16, ids: u8);
            ENCODE_PACKED13 "encode_packed13" =
                packed13::encode(h: u16, keys: u8);
            UNPACK_SECRET_KEY_PACKED13 "unpack_secret_key_packed13" =
                packed13::unpack_secret_key(keys: u8, f: u8, h: u16, ids: u8, z: u64);
            PACK_SECRET_KEY_PACKED13 "pack_secret_key_packed13" =
                packed13::pack_secret_key(f: u8, h: u16, z: u64, keys: u8);
            INVERT "invert" =
                invert::invert(elements: u16, inverses: u16);
            MULTIPLY_LEAVES "multiply_leaves" =
                tree_up::multiply_leaves(leaves: u8, parents: u16);
            MULTIPLY_NODES "multiply_nodes" =
                tree_up::multiply_nodes(nodes: u16, parents: u16);
            DIVIDE_NODES "divide_nodes" =
                tree_down::divide_nodes(parents: u16, nodes: u16, inverses: u16);
            DIVIDE_LEAVES "divide_leaves" =
                tree_down::divide_leaves(parents: u16, leaves: u8, inverses: u16);
            EXPAND_SEEDS "expand_seeds" =
                derive::expand_seeds(master: u64, first: u64, seeds: u64);
            EXPAND_KEY_PAIR_SEEDS "expand_key_pair_seeds" =
                derive::expand_key_pair_seeds(master: u64, first: u64, seeds: u64);
            DERIVE_KEY_PAIR "derive_key_pair" =
                derive::derive_key_pair(seeds: u64, f_coins: u64, g_coins: u64, z: u64);
            DERIVE_ENCAPSULATION "derive_encapsulation" =
                derive::derive_encapsulation(
                    seeds: u64, ids: u8, messages: u64, shared_secrets: u64, coins: u64);
            DERIVE_ENCAPSULATION_SMALL "derive_encapsulation_small" =
                small_batch::derive_encapsulation(
                    seeds: u64, ids: u8, messages: u64, shared_secrets: u64, coins: u64);
            DERIVE_DECAPSULATION "derive_decapsulation" =
                derive::derive_decapsulation(messages: u64, ids: u8, shared_secrets: u64, coins: u64);
            DERIVE_DECAPSULATION_SMALL "derive_decapsulation_small" =
                small_batch::derive_decapsulation(messages: u64, ids: u8, shared_secrets: u64, coins: u64);
            REJECTION_SECRET "rejection_secret" =
                reject::rejection_secret(ids: u8, z: u64, ciphertexts: u8, rejection_secrets: u64);
            REJECTION_SECRET_SMALL "rejection_secret_small" =
                small_batch::rejection_secret(ids: u8, z: u64, ciphertexts: u8, rejection_secrets: u64);
            SELECT "select" =
                select::select(received: u8, expected: u8, rejection_secrets: u64, shared_secrets: u64);
        }
    };
}

macro_rules! descriptors {
    ($($name:ident $text:literal = $module:ident::$function:ident($($array:ident: $element:ty),*);)*) => {
        $(
            #[doc = concat!("[`", stringify!($module), "::", stringify!($function), "`]")]
            pub static $name: Kernels = Kernels {
                of_653: descriptors!(@kernel R653, $text, "_653", $module, $function, $($array: $element),*),
                of_761: descriptors!(@kernel R761, $text, "_761", $module, $function, $($array: $element),*),
                of_1277: descriptors!(@kernel R1277, $text, "_1277", $module, $function, $($array: $element),*),
            };
        )*

        /// Every kernel.
        pub static ALL: &[&Kernels] = &[$(&$name),*];
    };
    (@kernel $ring:ident, $text:literal, $suffix:literal, $module:ident, $function:ident,
        $($array:ident: $element:ty),*) => {
        Kernel {
            name: concat!($text, $suffix),
            shape: $module::shape::<$ring>(),
            parameters: &[$(Parameter { name: stringify!($array), element_bytes: <$element as Word>::BYTES }),*],
            #[cfg(feature = "emulator")]
            emulate: |thread, buffers, batch| {
                let &[$($array),*] = buffers else { unreachable!("the launch has checked the arguments") };
                $module::$function::<_, $ring>(thread, $($array.view::<$element>(),)* batch);
            },
        }
    };
}

for_each_kernel!(descriptors);
