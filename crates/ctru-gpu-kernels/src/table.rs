//! The list of the kernels that the engine launches. Macros generate the entry points for the
//! device and the descriptors for the host from this list.

#![allow(unsafe_code)]

use ctru_math::{NtruPrimeRing, Ring};

use crate::descriptor::Rows::{EachOperation, EachOrShared, EachPair, InWholeBlocks, One};
use crate::kernels::*;
use crate::ptx::MODULE;
use crate::simt::U32x4;

/// Returns the number of bytes per row of an array of ciphertexts.
#[must_use]
pub const fn ciphertext_bytes<R: Ring>() -> u32 {
    R::CIPHERTEXT_BYTES as u32
}

/// Calls the macro `$callback` with the list of the kernels that the engine launches.
///
/// An entry `NAME "name" = room::module::function(array: element[rows; row], ...);` describes one
/// entry point per ring, such as `name_761`. It runs the function
/// [`room::module::function`](crate::kernels) for the ring `R`, in blocks of the shape
/// `room::module::shape::<R>()`. With `for every ring` before the equals sign, the function does
/// not depend on the ring, and there is one entry point, `name`. After the arrays, it can take
/// scalars, as in `; scalar: number = value`, whose values may depend on the ring. `rows` is one of
/// [`Rows`](crate::descriptor::Rows), and `row` is the number of elements in a row. A number `m`
/// after `row` declares that the kernel accesses whole groups of `m` elements. A type after the
/// bracket, as in `[rows; row] as u32`, declares that the kernel casts the array to elements of
/// this type, which are larger than a group.
#[macro_export]
macro_rules! for_each_kernel {
    ($callback:ident) => {
        $callback! {
            POLYPHASE_COINS "polyphase_coins" =
                product::polyphase::multiply_coins(
                    large: u16[EachOrShared; row::<R>(); 8],
                    coins: u64[EachOperation; coin_words::<R>()],
                    product: u16[EachOperation; row::<R>(); 8]);
            FUSED_ENCRYPT "fused_encrypt" =
                scheme::fused::encrypt(
                    h: u16[EachOrShared; row::<R>(); 8],
                    coins: u64[EachOperation; coin_words::<R>()],
                    messages: u64[EachOperation; message_words::<R>()],
                    ciphertexts: u8[EachOperation; ciphertext_bytes::<R>()] as u32);
            FUSED_VERIFY "fused_verify" =
                scheme::fused::verify(
                    h: u16[EachOrShared; row::<R>(); 8],
                    coins: u64[EachOperation; coin_words::<R>()],
                    messages: u64[EachOperation; message_words::<R>()],
                    received: u8[EachOperation; ciphertext_bytes::<R>(); 4],
                    rejection_secrets: u64[EachOperation; SEED_WORDS],
                    shared_secrets: u64[EachOperation; SEED_WORDS]);
            FUSED_DECRYPT "fused_decrypt" =
                scheme::fused::decrypt(
                    ciphertexts: u8[EachOperation; ciphertext_bytes::<R>(); 4],
                    f: u8[EachOrShared; row::<R>(); 8],
                    messages: u64[EachOperation; message_words::<R>()]);
            SAME_PUBLIC_KEY_ENCRYPT "same_public_key_encrypt" =
                scheme::same_public_key::encrypt(
                    h: u16[One; row::<R>(); 8],
                    coins: u64[EachOperation; coin_words::<R>()],
                    messages: u64[EachOperation; message_words::<R>()],
                    ciphertexts: u8[EachOperation; ciphertext_bytes::<R>()] as u32);
            SAME_PUBLIC_KEY_VERIFY "same_public_key_verify" =
                scheme::same_public_key::verify(
                    h: u16[One; row::<R>(); 8],
                    coins: u64[EachOperation; coin_words::<R>()],
                    messages: u64[EachOperation; message_words::<R>()],
                    received: u8[EachOperation; ciphertext_bytes::<R>(); 4],
                    rejection_secrets: u64[EachOperation; SEED_WORDS],
                    shared_secrets: u64[EachOperation; SEED_WORDS]);
            SAME_SECRET_KEY_DECRYPT "same_secret_key_decrypt" =
                scheme::same_secret_key::decrypt(
                    ciphertexts: u8[EachOperation; ciphertext_bytes::<R>(); 4],
                    f: u8[One; row::<R>(); 8],
                    messages: u64[EachOperation; message_words::<R>()]);
            SAMPLE_SECRET "sample_secret" =
                scheme::sample::sample_secret(
                    coins: u64[EachOperation; coin_words::<R>()],
                    secret: u8[EachOperation; row::<R>(); 8]);
            DECODE_MIXED_RADIX "decode_mixed_radix" =
                keys::mixed_radix::decode(
                    keys: u8[EachOperation; keys::mixed_radix::public_key_bytes::<R>(); 4],
                    h: u16[EachOperation; row::<R>(); 8],
                    ids: u8[EachOperation; ID_BYTES]);
            ENCODE_MIXED_RADIX "encode_mixed_radix" =
                keys::mixed_radix::encode(
                    h: u16[EachOperation; row::<R>(); 8],
                    keys: u8[EachOperation; keys::mixed_radix::public_key_bytes::<R>()] as u32);
            UNPACK_SECRET_KEY_MIXED_RADIX "unpack_secret_key_mixed_radix" =
                keys::mixed_radix::unpack_secret_key(
                    keys: u8[EachOperation; keys::mixed_radix::secret_key_bytes::<R>(); 4],
                    f: u8[EachOperation; row::<R>(); 8],
                    h: u16[EachOperation; row::<R>(); 8],
                    ids: u8[EachOperation; ID_BYTES],
                    z: u64[EachOperation; SEED_WORDS]);
            PACK_SECRET_KEY_MIXED_RADIX "pack_secret_key_mixed_radix" =
                keys::mixed_radix::pack_secret_key(
                    f: u8[EachOperation; row::<R>(); 8],
                    h: u16[EachOperation; row::<R>(); 8],
                    z: u64[EachOperation; SEED_WORDS],
                    keys: u8[EachOperation; keys::mixed_radix::secret_key_bytes::<R>()] as u32);
            DECODE_PACKED13 "decode_packed13" =
                keys::packed13::decode(
                    keys: u8[EachOperation; keys::packed13::public_key_bytes::<R>(); 4],
                    h: u16[EachOperation; row::<R>(); 8],
                    ids: u8[EachOperation; ID_BYTES]);
            ENCODE_PACKED13 "encode_packed13" =
                keys::packed13::encode(
                    h: u16[EachOperation; row::<R>(); 8],
                    keys: u8[EachOperation; keys::packed13::public_key_bytes::<R>()] as u32);
            UNPACK_SECRET_KEY_PACKED13 "unpack_secret_key_packed13" =
                keys::packed13::unpack_secret_key(
                    keys: u8[EachOperation; keys::packed13::secret_key_bytes::<R>(); 4],
                    f: u8[EachOperation; row::<R>(); 8],
                    h: u16[EachOperation; row::<R>(); 8],
                    ids: u8[EachOperation; ID_BYTES],
                    z: u64[EachOperation; SEED_WORDS]);
            PACK_SECRET_KEY_PACKED13 "pack_secret_key_packed13" =
                keys::packed13::pack_secret_key(
                    f: u8[EachOperation; row::<R>(); 8],
                    h: u16[EachOperation; row::<R>(); 8],
                    z: u64[EachOperation; SEED_WORDS],
                    keys: u8[EachOperation; keys::packed13::secret_key_bytes::<R>()] as u32);
            INVERT "invert" =
                invert::divsteps::invert(
                    elements: u16[EachOperation; row::<R>(); 8],
                    inverses: u16[EachOperation; row::<R>(); 8]);
            MULTIPLY_LEAVES "multiply_leaves" =
                invert::tree_up::multiply_leaves(
                    leaves: u8[EachOperation; row::<R>(); 8],
                    parents: u16[EachPair; row::<R>(); 8]);
            MULTIPLY_NODES "multiply_nodes" =
                invert::tree_up::multiply_nodes(
                    nodes: u16[EachOperation; row::<R>(); 8],
                    parents: u16[EachPair; row::<R>(); 8]);
            DIVIDE_NODES "divide_nodes" =
                invert::tree_down::divide_nodes(
                    parents: u16[EachPair; row::<R>(); 8],
                    nodes: u16[EachOperation; row::<R>(); 8],
                    inverses: u16[EachOperation; row::<R>(); 8]);
            DIVIDE_LEAVES "divide_leaves" =
                invert::tree_down::divide_leaves(
                    parents: u16[EachPair; row::<R>(); 8],
                    leaves: u8[EachOperation; row::<R>(); 8],
                    inverses: u16[EachOperation; row::<R>(); 8]);
            FROBENIUS "frobenius" =
                invert::frobenius::map(
                    matrix: u8[One; invert::frobenius::matrix_bytes::<R>()] as U32x4,
                    elements: u16[InWholeBlocks(invert::frobenius::operations::<R>());
                        invert::frobenius::ELEMENTS * row::<R>()] as U32x4,
                    factors: u16[InWholeBlocks(invert::frobenius::operations::<R>());
                        invert::frobenius::ELEMENTS * row::<R>()],
                    pairs: u16[InWholeBlocks(invert::frobenius::operations::<R>());
                        2 * invert::frobenius::ELEMENTS * row::<R>()]);
            MULTIPLY_PAIRS "multiply_pairs" =
                product::rows::multiply_pairs(
                    pairs: u16[InWholeBlocks(product::rows::operations::<R>()); 2 * row::<R>()],
                    products: u16[InWholeBlocks(product::rows::operations::<R>()); row::<R>()]);
            DIVIDE_BY_NORM "divide_by_norm" =
                invert::norm::divide_by_norm(
                    pairs: u16[InWholeBlocks(1); row::<R>()],
                    inverses: u16[EachPair; row::<R>(); 8]);
            EXPAND_SEEDS "expand_seeds" for every ring =
                hash::derive::expand_seeds(
                    expansion: u64[One; EXPANSION_WORDS],
                    ids: u8[EachOrShared; ID_BYTES],
                    seeds: u64[EachOperation; SEED_WORDS]);
            EXPAND_KEY_PAIR_SEEDS "expand_key_pair_seeds" for every ring =
                hash::derive::expand_key_pair_seeds(
                    expansion: u64[One; EXPANSION_WORDS],
                    seeds: u64[EachOperation; 2 * SEED_WORDS]);
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
            DERIVE_ENCAPSULATION_MIDDLE "derive_encapsulation_middle" =
                hash::middle_batch::derive_encapsulation(
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
            DERIVE_DECAPSULATION_MIDDLE "derive_decapsulation_middle" =
                hash::middle_batch::derive_decapsulation(
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
            REJECTION_SECRET_MIDDLE "rejection_secret_middle" =
                hash::middle_batch::rejection_secret(
                    ids: u8[EachOrShared; ID_BYTES],
                    z: u64[EachOrShared; SEED_WORDS],
                    ciphertexts: u8[EachOperation; ciphertext_bytes::<R>(); 4],
                    rejection_secrets: u64[EachOperation; SEED_WORDS]);
            ENCAPSULATE_MIXED_RADIX "encapsulate_mixed_radix" =
                whole::encapsulation::encapsulate(
                    seeds: u64[One; EXPANSION_WORDS],
                    keys: u8[EachOrShared; keys::mixed_radix::public_key_bytes::<R>(); 4],
                    copied_keys: u8[EachOperation;
                        whole::copied_bytes(keys::mixed_radix::public_key_bytes::<R>())] as u32,
                    ids: u8[EachOperation; ID_BYTES],
                    h: u16[EachOperation; row::<R>(); 8],
                    messages: u64[EachOperation; message_words::<R>()],
                    coins: u64[EachOperation; coin_words::<R>()],
                    shared_secrets: u64[EachOperation; SEED_WORDS],
                    ciphertexts: u8[EachOperation; ciphertext_bytes::<R>()] as u32);
            ENCAPSULATE_SEEDS_MIXED_RADIX "encapsulate_seeds_mixed_radix" =
                whole::encapsulation::encapsulate_seeds(
                    seeds: u64[EachOperation; SEED_WORDS],
                    keys: u8[EachOrShared; keys::mixed_radix::public_key_bytes::<R>(); 4],
                    copied_keys: u8[EachOperation;
                        whole::copied_bytes(keys::mixed_radix::public_key_bytes::<R>())] as u32,
                    ids: u8[EachOperation; ID_BYTES],
                    h: u16[EachOperation; row::<R>()] as U32x4,
                    messages: u64[EachOperation; message_words::<R>()],
                    coins: u64[EachOperation; coin_words::<R>()],
                    shared_secrets: u64[EachOperation; SEED_WORDS],
                    ciphertexts: u8[EachOperation; ciphertext_bytes::<R>()] as u32);
            RECOVER_MIXED_RADIX "recover_mixed_radix" =
                whole::decapsulation::recover(
                    keys: u8[EachOrShared; keys::mixed_radix::secret_key_bytes::<R>(); 4],
                    ciphertexts: u8[EachOperation; ciphertext_bytes::<R>(); 4],
                    copied_keys: u8[EachOperation;
                        whole::copied_bytes(keys::mixed_radix::secret_key_bytes::<R>())] as u32,
                    copied_ciphertexts: u8[EachOperation;
                        whole::copied_bytes(ciphertext_bytes::<R>())] as u32,
                    f: u8[EachOperation; row::<R>(); 8],
                    h: u16[EachOperation; row::<R>(); 8],
                    messages: u64[EachOperation; message_words::<R>()],
                    coins: u64[EachOperation; coin_words::<R>()],
                    shared_secrets: u64[EachOperation; SEED_WORDS],
                    rejected: u64[EachOperation; 1]);
            DECAPSULATE_MIXED_RADIX "decapsulate_mixed_radix" =
                whole::decapsulation::decapsulate(
                    keys: u8[EachOrShared; keys::mixed_radix::secret_key_bytes::<R>(); 4],
                    ciphertexts: u8[EachOperation; ciphertext_bytes::<R>(); 4],
                    copied_keys: u8[EachOperation;
                        whole::copied_bytes(keys::mixed_radix::secret_key_bytes::<R>())] as u32,
                    copied_ciphertexts: u8[EachOperation;
                        whole::copied_bytes(ciphertext_bytes::<R>())] as u32,
                    f: u8[EachOperation; row::<R>(); 8],
                    h: u16[EachOperation; row::<R>(); 8],
                    messages: u64[EachOperation; message_words::<R>()],
                    coins: u64[EachOperation; coin_words::<R>()],
                    rejection_secrets: u64[EachOperation; SEED_WORDS],
                    shared_secrets: u64[EachOperation; SEED_WORDS],
                    results: u64[EachOperation; SEED_WORDS]);
            VALIDATE_PUBLIC_KEY_MIXED_RADIX "validate_public_key_mixed_radix" =
                keys::mixed_radix::validate(
                    keys: u8[EachOperation; keys::mixed_radix::public_key_bytes::<R>(); 4],
                    h: u16[EachOperation; row::<R>(); 8],
                    ids: u8[EachOperation; ID_BYTES],
                    faults: u64[EachOperation; 1]);
            VALIDATE_SECRET_KEY_MIXED_RADIX "validate_secret_key_mixed_radix" =
                keys::mixed_radix::validate_secret_key(
                    keys: u8[EachOperation; keys::mixed_radix::secret_key_bytes::<R>(); 4],
                    f: u8[EachOperation; row::<R>(); 8],
                    h: u16[EachOperation; row::<R>(); 8],
                    ids: u8[EachOperation; ID_BYTES],
                    z: u64[EachOperation; SEED_WORDS],
                    faults: u64[EachOperation; 1]);
            VALIDATE_PUBLIC_KEY_PACKED13 "validate_public_key_packed13" =
                keys::packed13::validate(
                    keys: u8[EachOperation; keys::packed13::public_key_bytes::<R>(); 4],
                    h: u16[EachOperation; row::<R>(); 8],
                    ids: u8[EachOperation; ID_BYTES],
                    faults: u64[EachOperation; 1]);
            VALIDATE_SECRET_KEY_PACKED13 "validate_secret_key_packed13" =
                keys::packed13::validate_secret_key(
                    keys: u8[EachOperation; keys::packed13::secret_key_bytes::<R>(); 4],
                    f: u8[EachOperation; row::<R>(); 8],
                    h: u16[EachOperation; row::<R>(); 8],
                    ids: u8[EachOperation; ID_BYTES],
                    z: u64[EachOperation; SEED_WORDS],
                    faults: u64[EachOperation; 1]);
            NTRUPRIME_DRAW "ntruprime_draw" =
                ntruprime::draw::draw(
                    seeds: u64[EachOperation; 2 * SEED_WORDS],
                    g: u8[EachOperation; row::<R>(); 8],
                    f: u64[EachOperation; ntruprime::stream::words::<R>(1)],
                    rho: u64[EachOperation; ntruprime::draw::rho_words::<R>()]);
            NTRUPRIME_INVERT "ntruprime_invert" =
                ntruprime::invert::invert(
                    elements: u8[EachOperation; row::<R>(); 8],
                    inverses: u8[EachOperation; row::<R>(); 8],
                    invertible: u64[EachOperation; 1]);
            NTRUPRIME_DIVIDE "ntruprime_divide" =
                ntruprime::divide::divide(
                    inverses: u16[EachOperation; row::<R>(); 8],
                    small: u8[EachOperation; row::<R>(); 8],
                    h: u16[EachOperation; row::<R>(); 8]);
            NTRUPRIME_DRAW_AGAIN "ntruprime_draw_again" =
                ntruprime::again::draw_again(
                    seeds: u64[EachOperation; 2 * SEED_WORDS],
                    g: u8[EachOperation; row::<R>(); 8],
                    f: u64[EachOperation; ntruprime::stream::words::<R>(1)],
                    rho: u64[EachOperation; ntruprime::draw::rho_words::<R>()],
                    inverses: u8[EachOperation; row::<R>(); 8],
                    invertible: u64[EachOperation; 1]);
            NTRUPRIME_PACK "ntruprime_pack" for every ring =
                ntruprime::pack::private_keys(
                    f: u8[EachOperation; row::<R>(); 8],
                    inverses: u8[EachOperation; row::<R>(); 8],
                    public: u8[EachOperation; ntruprime::public_key_bytes::<R>(); 4],
                    ids: u8[EachOperation; ID_BYTES],
                    rho: u64[EachOperation; ntruprime::draw::rho_words::<R>()],
                    keys: u8[EachOperation; ntruprime::private_key_bytes::<R>()] as u32;
                    degree: u32 = R::N as u32,
                    encoded: u32 = ntruprime::public_key_bytes::<R>());
            NTRUPRIME_STREAM "ntruprime_stream" for every ring =
                ntruprime::stream::encapsulation(
                    seeds: u64[EachOperation; SEED_WORDS],
                    stream: u64[EachOperation; ntruprime::stream::words::<R>(1)];
                    first: u64 = ntruprime::stream::Before::encapsulation::<R>().words[0],
                    second: u64 = ntruprime::stream::Before::encapsulation::<R>().words[1],
                    third: u64 = ntruprime::stream::Before::encapsulation::<R>().words[2],
                    length: u32 = ntruprime::stream::Before::encapsulation::<R>().length,
                    row: u32 = ntruprime::stream::words::<R>(1));
            NTRUPRIME_SHORT "ntruprime_short" =
                ntruprime::sample::short(
                    stream: u64[EachOperation; ntruprime::stream::words::<R>(1)],
                    short: u8[EachOperation; row::<R>()]);
            NTRUPRIME_UNPACK "ntruprime_unpack" =
                ntruprime::keys::unpack(
                    keys: u8[EachOperation; ntruprime::private_key_bytes::<R>(); 4],
                    secrets: u8[EachOperation; 2 * row::<R>(); 8],
                    h: u16[EachOperation; row::<R>(); 8],
                    ids: u8[EachOperation; ID_BYTES],
                    faults: u64[EachOperation; 1]);
            NTRUPRIME_ENCRYPT "ntruprime_encrypt" =
                ntruprime::encrypt::encrypt(
                    h: u16[EachOrShared; row::<R>(); 8],
                    short: u8[EachOperation; row::<R>(); 8],
                    hashes: u64[EachOperation; ntruprime::hash::TWO_HASHES],
                    ciphertexts: u8[EachOperation; ntruprime::ciphertext_bytes::<R>()] as u32);
            NTRUPRIME_DECRYPT "ntruprime_decrypt" =
                ntruprime::decrypt::decrypt(
                    ciphertexts: u8[EachOperation; ntruprime::ciphertext_bytes::<R>(); 4],
                    secrets: u8[EachOrShared; 2 * row::<R>(); 8],
                    short: u8[EachOperation; row::<R>(); 8]);
            NTRUPRIME_HASH_PUBLIC_KEYS "ntruprime_hash_public_keys" for every ring =
                ntruprime::hash::public_keys(
                    keys: u8[EachOperation; ntruprime::public_key_bytes::<R>(); 4],
                    ids: u8[EachOperation; ID_BYTES];
                    bytes: u32 = ntruprime::public_key_bytes::<R>());
            NTRUPRIME_HASH_PRIVATE_KEYS "ntruprime_hash_private_keys" for every ring =
                ntruprime::hash::private_keys(
                    keys: u8[EachOperation; ntruprime::private_key_bytes::<R>(); 4],
                    rejections: u64[EachOperation; SEED_WORDS],
                    faults: u64[EachOperation; 1];
                    packed: u32 = R::TERNARY_BYTES as u32,
                    encoded: u32 = ntruprime::public_key_bytes::<R>());
            NTRUPRIME_CONFIRM "ntruprime_confirm" for every ring =
                ntruprime::hash::confirm(
                    short: u8[EachOperation; row::<R>(); 8],
                    ids: u8[EachOrShared; ID_BYTES],
                    hashes: u64[EachOperation; ntruprime::hash::TWO_HASHES];
                    degree: u32 = R::N as u32);
            NTRUPRIME_SHARED_SECRET "ntruprime_shared_secret" for every ring =
                ntruprime::hash::shared_secret(
                    hashes: u64[EachOperation; ntruprime::hash::TWO_HASHES],
                    rejections: u64[EachOrShared; SEED_WORDS],
                    received: u8[EachOperation; ntruprime::ciphertext_bytes::<R>(); 4],
                    encrypted: u8[EachOperation; ntruprime::ciphertext_bytes::<R>(); 4],
                    shared_secrets: u64[EachOperation; SEED_WORDS];
                    bytes: u32 = ntruprime::ciphertext_bytes::<R>());
        }
    };
}

/// Defines a descriptor for each entry of a list, and a type of the same name, its
/// [`NamedArrays`](crate::descriptor::NamedArrays). The scope of the call must contain `MODULE`,
/// the modules that the entries name, and the functions that give the lengths of rows.
///
/// This macro is for the crates of this workspace. It may change at any time.
#[doc(hidden)]
#[macro_export]
macro_rules! ring_descriptors {
    ($($name:ident $text:literal $(for $every:ident ring)? =
        $room:ident::$module:ident::$function:ident(
        $($array:ident: $element:ty [$rows:expr; $row:expr $(; $multiple:expr)?] $(as $wider:ty)?),*
        $(; $($scalar:ident: $number:ident = $value:expr),*)?
    );)*) => {
        $(
            #[doc = concat!("[`",
                stringify!($room), "::", stringify!($module), "::", stringify!($function), "`]")]
            pub static $name: $crate::descriptor::RingKernels = {
                macro_rules! of_ring {
                    ($ring:ident $n:literal $numbers:tt) => {{
                        type R = ctru_math::$ring;
                        // SAFETY: the entry point is generated from the same entry of the list, so
                        // it takes these arrays, and it is written for this shape. It stays inside
                        // the rows: the tests run every kernel on arrays of exactly these lengths
                        // on the emulator, which stops at the first access outside. Scalars have
                        // no other values than these. The indices
                        // that it accesses depend on the batch and not on the content of the
                        // arrays; `cargo xtask ptx-flow` checks this on the compiled PTX. Where a
                        // content decides a branch, all threads of a warp agree (`draw_again`). So
                        // it also stays inside the rows for other content, for arrays that are the
                        // same memory, and while other code writes to them.
                        unsafe {
                            ctru_simt::descriptor!(MODULE, [$text, $crate::suffix!($n $($every)?)],
                                $room::$module::shape::<R>(),
                                $room::$module::$function::<_, R>,
                                ($($array: $element [$rows; $row $(; $multiple)?]
                                    $(as $wider)?),*)
                                $(, ($($scalar: $number),*))?)
                        }$(.fixed_to(&[$(ctru_simt::scalar::Value::$number($value)),*]))?
                    }};
                }
                $crate::descriptor::RingKernels::new(ctru_math::for_each_ring!([of_ring]))
            };

            #[doc = concat!("The arrays of `", $text, "`.")]
            #[allow(non_camel_case_types, reason = "the name is that of the kernels")]
            #[derive(Copy, Clone, Debug)]
            pub struct $name<'a, M> {
                $(#[allow(missing_docs, reason = "the list describes it")] pub $array: &'a M),*
            }

            impl<'a, M> $crate::descriptor::NamedArrays<'a, M> for $name<'a, M> {
                const KERNELS: &'static $crate::descriptor::RingKernels = &$name;

                fn in_order(self) -> impl AsRef<[&'a M]> {
                    [$(self.$array),*]
                }
            }
        )*

        /// All kernels of the list.
        pub static ALL: &[&$crate::descriptor::RingKernels] = &[$(&$name),*];
    };
}

/// Makes entry points from each entry of a list, one for each ring. The modules that the
/// entries name must be in scope.
///
/// This macro is for the crates of this workspace. It may change at any time.
#[doc(hidden)]
#[macro_export]
macro_rules! ring_entry_points {
    ($($name:ident $text:literal $(for $every:ident ring)? =
        $room:ident::$module:ident::$function:ident(
        $($array:ident: $element:ty [$($length:tt)*] $(as $wider:ty)?),*
        $(; $($scalar:ident: $number:ident = $value:expr),*)?
    );)*) => {
        $(
            macro_rules! of_ring {
                ($ring:ident $n:literal $numbers:tt) => {
                    // SAFETY: the kernel keeps the rules of the machine. The tests run it on the
                    // emulator with arrays of exactly the lengths that the list states, and the
                    // emulator stops at every violation.
                    ctru_simt::entry_point!(unsafe [$text, $crate::suffix!($n $($every)?)],
                        $room::$module::$function::<_, ctru_math::$ring>,
                        ($($array: $element),*) $(, ($($scalar: $number),*))?);
                };
            }
            $crate::rings_of_entry_points!(of_ring $($every)?);
        )*
    };
}

/// The end of the name of an entry point.
#[doc(hidden)]
#[macro_export]
macro_rules! suffix {
    ($n:literal) => {
        concat!("_", $n)
    };
    ($n:literal every) => {
        ""
    };
}

/// Calls the macro `$callback` for each ring, or for one if its kernel is that of every ring.
#[doc(hidden)]
#[macro_export]
macro_rules! rings_of_entry_points {
    ($callback:ident) => {
        ctru_math::for_each_ring!($callback);
    };
    ($callback:ident every) => {
        $callback! { R653 653 {} }
    };
}

for_each_kernel!(ring_descriptors);
