//! The memory of loaded keys and of slots, on the device and on the host.

use std::vec::Vec;

use ctru_gpu_kernels::kernels::{EXPANSION_WORDS, ID_BYTES, SEED_WORDS, whole};
use ctru_gpu_runtime::{Buffer, Queue, RuntimeError};

use super::inversion::{RootInversion, Tree};
use super::set::{Set, WHOLE_CHUNK};

/// 64-bit words of a seed, of `z`, of a shared secret or of a rejection secret.
pub(super) const SEED: usize = SEED_WORDS as usize;

/// 64-bit words of the input from which seeds are expanded, without `ID(pk)`.
pub(super) const EXPANSION: usize = EXPANSION_WORDS as usize;

/// An array of elements `T` in device memory.
pub(super) type Array<T, Q> = Buffer<T, <Q as Queue>::Memory>;

/// Decoded encapsulation keys: one row of `h` and one of `ID(pk)` per key.
#[derive(Debug)]
pub(super) struct EncapsulationKeyBuffers<Q: Queue> {
    pub(super) h: Array<u16, Q>,
    pub(super) ids: Array<u8, Q>,
}

impl<Q: Queue> EncapsulationKeyBuffers<Q> {
    pub(super) fn new(queue: &Q, set: &Set, keys: usize) -> Result<Self, RuntimeError> {
        Ok(Self {
            h: queue.allocate(keys * set.row)?,
            ids: queue.allocate(keys * ID_BYTES as usize)?,
        })
    }
}

/// Decoded decapsulation keys: one row of `f` and one of `z` per key, and the decoded encapsulation
/// keys.
#[derive(Debug)]
pub(super) struct DecapsulationKeyBuffers<Q: Queue> {
    pub(super) f: Array<u8, Q>,
    pub(super) z: Array<u64, Q>,
    pub(super) encapsulation_key: EncapsulationKeyBuffers<Q>,
}

impl<Q: Queue> DecapsulationKeyBuffers<Q> {
    pub(super) fn new(queue: &Q, set: &Set, keys: usize) -> Result<Self, RuntimeError> {
        Ok(Self {
            f: queue.allocate(keys * set.row)?,
            z: queue.allocate(keys * SEED)?,
            encapsulation_key: EncapsulationKeyBuffers::new(queue, set, keys)?,
        })
    }
}

/// The device memory of a slot. Each array has one row per operation, unless its comment says
/// otherwise.
#[derive(Debug)]
pub(super) struct Buffers<Q: Queue> {
    /// Encoded encapsulation keys or decapsulation keys.
    pub(super) keys: Array<u8, Q>,
    /// Decoded encapsulation keys or decapsulation keys.
    pub(super) decoded: DecapsulationKeyBuffers<Q>,
    /// The input from which the seed of the chunk's first operation is expanded, without `ID(pk)`:
    /// a single row.
    pub(super) expansion: Array<u64, Q>,
    pub(super) seeds: Array<u64, Q>,
    pub(super) messages: Array<u64, Q>,
    /// The coins of encryption, or of `f` in key generation.
    pub(super) coins: Array<u64, Q>,
    /// The coins of `g` in key generation.
    pub(super) g_coins: Array<u64, Q>,
    pub(super) shared_secrets: Array<u64, Q>,
    /// The shared secrets that operations return if their ciphertexts are rejected.
    pub(super) rejection_secrets: Array<u64, Q>,
    pub(super) ciphertexts: Array<u8, Q>,
    /// The ciphertexts of the second encryption in decapsulation, for the comparison.
    pub(super) expected_ciphertexts: Array<u8, Q>,
    /// Copies of keys and of ciphertexts that a kernel makes in a chunk of at most
    /// [`WHOLE_CHUNK`] operations.
    pub(super) copied_keys: Array<u8, Q>,
    pub(super) copied_ciphertexts: Array<u8, Q>,
    /// Sampled small polynomials, for products by NTTs only.
    pub(super) small: Array<u8, Q>,
    /// Operands of products.
    pub(super) operands: Array<u16, Q>,
    /// Results of products.
    pub(super) products: Array<u16, Q>,
    /// The product tree of the secret polynomials.
    pub(super) tree: Tree<Q>,
}

impl<Q: Queue> Buffers<Q> {
    /// Allocates memory for chunks of `chunk` operations.
    pub(super) fn new(
        queue: &Q,
        set: &Set,
        chunk: usize,
        roots: RootInversion<Q>,
    ) -> Result<Self, RuntimeError> {
        let row = chunk * set.row;
        let coins = chunk * set.coin_words;
        let ciphertexts = ciphertexts_len(set, chunk);
        let whole = chunk.min(WHOLE_CHUNK);
        Ok(Self {
            keys: queue.allocate(keys_len(set, chunk))?,
            decoded: DecapsulationKeyBuffers::new(queue, set, chunk)?,
            expansion: queue.allocate(EXPANSION)?,
            seeds: queue.allocate(chunk * 2 * SEED)?,
            messages: queue.allocate(chunk * set.message_words)?,
            coins: queue.allocate(coins)?,
            g_coins: queue.allocate(coins)?,
            shared_secrets: queue.allocate(chunk * SEED)?,
            rejection_secrets: queue.allocate(chunk * SEED)?,
            ciphertexts: queue.allocate(ciphertexts)?,
            expected_ciphertexts: queue.allocate(ciphertexts)?,
            copied_keys: queue.allocate(whole * copied_bytes(set.decapsulation_key_bytes))?,
            copied_ciphertexts: queue.allocate(whole * copied_bytes(set.ciphertext_bytes))?,
            small: queue.allocate(row)?,
            operands: queue.allocate(row)?,
            products: queue.allocate(row)?,
            tree: Tree::new(queue, set, chunk, roots)?,
        })
    }

    /// Returns all memory, for wiping.
    pub(super) fn memory(&self) -> Vec<&Q::Memory> {
        // Without `..`, so that no array can be forgotten.
        let Self {
            keys,
            decoded,
            expansion,
            seeds,
            messages,
            coins,
            g_coins,
            shared_secrets,
            rejection_secrets,
            ciphertexts,
            expected_ciphertexts,
            copied_keys,
            copied_ciphertexts,
            small,
            operands,
            products,
            tree,
        } = self;
        let DecapsulationKeyBuffers { f, z, encapsulation_key } = decoded;
        let EncapsulationKeyBuffers { h, ids } = encapsulation_key;
        let encoded = [keys, ciphertexts, expected_ciphertexts, copied_keys, copied_ciphertexts];
        let bytes = [f, ids, small].into_iter().chain(encoded).map(|array| &**array);
        let hashed = [z, expansion, seeds, messages, coins, g_coins];
        let secrets = [shared_secrets, rejection_secrets];
        let words = hashed.into_iter().chain(secrets).map(|array| &**array);
        let polynomials = [h, operands, products].into_iter().chain(tree.memory());
        bytes.chain(words).chain(polynomials.map(|array| &**array)).collect()
    }
}

/// Returns the length of an array of `chunk` encoded keys, of which kernels read whole words.
pub(super) fn keys_len(set: &Set, chunk: usize) -> usize {
    (chunk * set.decapsulation_key_bytes).next_multiple_of(4)
}

/// Returns the bytes of a row to which a kernel copies `bytes` bytes.
fn copied_bytes(bytes: usize) -> usize {
    whole::copied_bytes(bytes as u32) as usize
}

/// Returns the length of an array of `chunk` ciphertexts, of which kernels read whole words.
pub(super) fn ciphertexts_len(set: &Set, chunk: usize) -> usize {
    (chunk * set.ciphertext_bytes).next_multiple_of(4)
}

/// The pinned host memory of a slot, in which copies are staged and which kernels use directly.
#[derive(Debug)]
pub(super) struct Pinned<Q: Queue> {
    /// Encoded encapsulation keys or decapsulation keys.
    pub(super) keys: Q::Pinned<u8>,
    pub(super) ciphertexts: Q::Pinned<u8>,
    /// One seed per operation, or the input from which seeds are expanded.
    pub(super) seeds: Q::Pinned<u64>,
    pub(super) shared_secrets: Q::Pinned<u64>,
    /// One word for each key, which says what is wrong with it.
    pub(super) faults: Q::Pinned<u64>,
}

impl<Q: Queue> Pinned<Q> {
    /// Allocates memory for chunks of `chunk` operations.
    pub(super) fn new(queue: &Q, set: &Set, chunk: usize) -> Result<Self, RuntimeError> {
        Ok(Self {
            keys: queue.pinned(keys_len(set, chunk))?,
            ciphertexts: queue.pinned(ciphertexts_len(set, chunk))?,
            seeds: queue.pinned((chunk * 2 * SEED).max(EXPANSION))?,
            shared_secrets: queue.pinned(chunk * SEED)?,
            faults: queue.pinned(chunk)?,
        })
    }
}

/// The bytes that a slot takes per operation.
#[derive(Copy, Clone, Debug)]
pub(super) struct Footprint {
    pub(super) device_bytes: usize,
    pub(super) pinned_bytes: usize,
}

impl Footprint {
    /// Returns the bytes of [`Buffers`] and [`Pinned`] per operation.
    ///
    /// The result is an upper bound for chunks of two or more operations, because it counts the few
    /// bytes that a slot has only once for every operation.
    pub(super) fn of(set: &Set) -> Self {
        let Set { row, ciphertext_bytes, decapsulation_key_bytes: keys, .. } = *set;
        let seed = 8 * SEED;
        let decoded = row + seed + 2 * row + ID_BYTES as usize;
        let hashed =
            8 * EXPANSION + 2 * seed + 8 * (set.message_words + 2 * set.coin_words) + 2 * seed;
        let copied = copied_bytes(keys) + copied_bytes(ciphertext_bytes);
        // The last term is the product tree. It has about as many nodes as leaves: rounding up adds
        // less than one node to each level.
        let polynomials = row + 2 * row + 2 * row + 2 * row;
        Self {
            device_bytes: keys + decoded + hashed + 2 * ciphertext_bytes + copied + polynomials,
            pinned_bytes: keys + ciphertext_bytes + 2 * seed + seed + 8,
        }
    }
}
