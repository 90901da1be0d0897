//! The memory of loaded keys, and the memory of slots on the device.

use ctru_gpu_kernels::kernels::{EXPANSION_WORDS, ID_BYTES, SEED_WORDS, whole};
use ctru_gpu_runtime::batch::tuning::Tuning;
use ctru_gpu_runtime::{Buffer, Queue, RuntimeError};

use super::set::{Kind, Set};

/// 64-bit words of a seed, of `z`, of a shared secret or of a rejection secret.
pub(super) const SEED: usize = SEED_WORDS as usize;

/// 64-bit words of the input from which seeds are expanded, without `ID(pk)`.
pub(super) const EXPANSION: usize = EXPANSION_WORDS as usize;

/// An array of elements `T` in device memory.
pub(super) type Array<T, Q> = Buffer<T, <Q as Queue>::Memory>;

/// Defines arrays in device memory, their lengths by the arguments that follow the name, and a
/// function that returns their bytes. So no array can be forgotten, when memory is wiped or
/// counted.
macro_rules! arrays {
    ($(#[$about:meta])* $name:ident, $bytes:ident($($argument:ident: $kind:ty),*) {
        $($(#[$doc:meta])* $array:ident: $type:ty = $len:expr,)*
    } $($part:ident: $part_type:ty,)?) => {
        $(#[$about])*
        #[derive(Debug)]
        pub(super) struct $name<Q: Queue> {
            $($(#[$doc])* pub(super) $array: Array<$type, Q>,)*
            $(pub(super) $part: $part_type,)?
        }

        impl<Q: Queue> $name<Q> {
            pub(super) fn new(
                queue: &Q, $($argument: $kind,)* $($part: $part_type,)?
            ) -> Result<Self, RuntimeError> {
                Ok(Self { $($array: queue.allocate($len)?,)* $($part,)? })
            }

            /// Returns all memory, for wiping.
            pub(super) fn memory(&self) -> impl Iterator<Item = &Q::Memory> {
                let arrays = [$(&*self.$array),*].into_iter();
                arrays$(.chain(self.$part.memory()))?
            }
        }

        pub(super) fn $bytes($($argument: $kind),*) -> usize {
            0 $(+ size_of::<$type>() * $len)*
        }
    };
}

arrays! {
    /// Decoded keys: one row of `h` and one of `ID(pk)` per key, and for decapsulation keys one row
    /// of `f` and one of `z`. NTRU Prime has rows of `f` and `1/g` in place of `f`, and in place of
    /// `z` the hash of the secret of implicit rejection.
    Decoded, decoded_bytes(set: &Set, kind: Kind, keys: usize) {
        f: u8 = if kind == Kind::Decapsulation { keys * set.secrets } else { 0 },
        z: u64 = if kind == Kind::Decapsulation { keys * SEED } else { 0 },
        h: u16 = keys * set.chain.row,
        ids: u8 = keys * ID_BYTES as usize,
    }
}

arrays! {
    /// The device memory of a slot that no row of a caller enters or leaves. Each array has one row
    /// per operation, unless its comment says otherwise.
    Scratch, scratch_bytes(set: &Set, tuning: &Tuning, chunk: usize) {
        /// The input from which the seed of the chunk's first operation is expanded, without
        /// `ID(pk)`: a single row.
        expansion: u64 = EXPANSION,
        messages: u64 = chunk * set.message_words,
        /// The short polynomials of NTRU Prime, or `g` in key generation.
        short: u8 = chunk * set.short,
        /// The inverses of `g` modulo 3.
        inverses: u8 = chunk * set.short,
        /// The ciphertexts of NTRU Prime that decapsulation encrypts again, or the public keys in
        /// key generation.
        encrypted: u8 = words(chunk * set.encrypted),
        /// The coins of encryption, or of `f` in key generation. For NTRU Prime, the random words
        /// of a short polynomial, and then the hashes of short polynomials.
        coins: u64 = chunk * set.coin_words,
        /// The coins of `g` in key generation, or `rho` of NTRU Prime.
        g_coins: u64 = chunk * set.g_coin_words,
        /// The shared secrets that operations return if their ciphertexts are rejected. For NTRU
        /// Prime, what is wrong with trusted keys, which nobody reads, or which `g` have inverses
        /// modulo 3.
        rejection_secrets: u64 = chunk * SEED,
        /// Copies of keys and of ciphertexts that a kernel for whole operations makes.
        copied_keys: u8 = copied_bytes(tuning, chunk, set.sizes.decapsulation_key),
        copied_ciphertexts: u8 = copied_bytes(tuning, chunk, set.sizes.ciphertext),
        /// Operands of products.
        operands: u16 = chunk * set.chain.row,
        /// Results of products.
        products: u16 = chunk * set.chain.row,
    }
    decoded: Decoded<Q>,
}

/// Returns the length of an array of `bytes` bytes, rounded up to the whole words that kernels
/// read.
pub(super) fn words(bytes: usize) -> usize {
    bytes.next_multiple_of(4)
}

/// Returns the bytes of the rows of `bytes` bytes that a kernel for whole operations copies.
fn copied_bytes(tuning: &Tuning, chunk: usize, bytes: usize) -> usize {
    chunk.min(tuning.whole_chunk) * whole::copied_bytes(bytes as u32) as usize
}
