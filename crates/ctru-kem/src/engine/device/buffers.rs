//! The memory of keys and of a slot, on the device and on the host.

use ctru_gpu_kernels::kernels::{ID_BYTES, SEED_WORDS};
use ctru_gpu_runtime::{Buffer, Queue, RuntimeError};

use super::inversion::Tree;
use super::set::Set;

/// Words of a seed.
pub(super) const SEED: usize = SEED_WORDS as usize;

/// Device memory of elements `T`.
pub(super) type Array<T, Q> = Buffer<T, <Q as Queue>::Memory>;

/// Decoded encapsulation keys: rows of `h` and of `ID(pk)`.
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

/// Decoded decapsulation keys: rows of `f` and `z`, and the encapsulation keys.
#[derive(Debug)]
pub(super) struct DecapsulationKeyBuffers<Q: Queue> {
    pub(super) f: Array<u8, Q>,
    pub(super) z: Array<u64, Q>,
    pub(super) public: EncapsulationKeyBuffers<Q>,
}

impl<Q: Queue> DecapsulationKeyBuffers<Q> {
    pub(super) fn new(queue: &Q, set: &Set, keys: usize) -> Result<Self, RuntimeError> {
        Ok(Self {
            f: queue.allocate(keys * set.row)?,
            z: queue.allocate(keys * SEED)?,
            public: EncapsulationKeyBuffers::new(queue, set, keys)?,
        })
    }
}

/// Device memory of a slot, one row per operation where nothing else is said.
#[derive(Debug)]
pub(super) struct Buffers<Q: Queue> {
    /// Encoded keys of either kind.
    pub(super) keys: Array<u8, Q>,
    /// Decoded keys of either kind.
    pub(super) decoded: DecapsulationKeyBuffers<Q>,
    /// One master seed.
    pub(super) master_seed: Array<u64, Q>,
    /// The number of the chunk's first operation in its batch.
    pub(super) first: Array<u64, Q>,
    pub(super) seeds: Array<u64, Q>,
    pub(super) messages: Array<u64, Q>,
    /// Coins of encryption, or of `f`.
    pub(super) coins: Array<u64, Q>,
    /// Coins of `g`.
    pub(super) g_coins: Array<u64, Q>,
    pub(super) shared_secrets: Array<u64, Q>,
    pub(super) rejection_secrets: Array<u64, Q>,
    pub(super) ciphertexts: Array<u8, Q>,
    /// Ciphertexts of the second encryption, for comparison.
    pub(super) expected_ciphertexts: Array<u8, Q>,
    /// Sampled polynomials.
    pub(super) small: Array<u8, Q>,
    /// Operands of products.
    pub(super) operands: Array<u16, Q>,
    /// Results of products.
    pub(super) products: Array<u16, Q>,
    /// The product tree over the secret polynomials.
    pub(super) tree: Tree<Q>,
}

impl<Q: Queue> Buffers<Q> {
    /// Allocates memory for chunks of `chunk` operations.
    pub(super) fn new(queue: &Q, set: &Set, chunk: usize) -> Result<Self, RuntimeError> {
        let row = chunk * set.row;
        let coins = chunk * set.coin_words;
        // Kernels read whole words.
        let ciphertexts = (chunk * set.ciphertext_bytes).next_multiple_of(4);
        Ok(Self {
            keys: queue.allocate(chunk * set.decapsulation_key_bytes)?,
            decoded: DecapsulationKeyBuffers::new(queue, set, chunk)?,
            master_seed: queue.allocate(SEED)?,
            first: queue.allocate(1)?,
            seeds: queue.allocate(chunk * 2 * SEED)?,
            messages: queue.allocate(chunk * set.message_words)?,
            coins: queue.allocate(coins)?,
            g_coins: queue.allocate(coins)?,
            shared_secrets: queue.allocate(chunk * SEED)?,
            rejection_secrets: queue.allocate(chunk * SEED)?,
            ciphertexts: queue.allocate(ciphertexts)?,
            expected_ciphertexts: queue.allocate(ciphertexts)?,
            small: queue.allocate(row)?,
            operands: queue.allocate(row)?,
            products: queue.allocate(row)?,
            tree: Tree::new(queue, set, chunk)?,
        })
    }
}

/// Host memory of a slot, for copies.
#[derive(Debug)]
pub(super) struct Pinned<Q: Queue> {
    /// Keys of either kind.
    pub(super) keys: Q::Pinned<u8>,
    pub(super) ciphertexts: Q::Pinned<u8>,
    /// One seed per operation, or a master seed and the number of the first operation.
    pub(super) seeds: Q::Pinned<u64>,
    pub(super) shared_secrets: Q::Pinned<u64>,
}

impl<Q: Queue> Pinned<Q> {
    /// Allocates memory for chunks of `chunk` operations.
    pub(super) fn new(queue: &Q, set: &Set, chunk: usize) -> Result<Self, RuntimeError> {
        Ok(Self {
            keys: queue.pinned(chunk * set.decapsulation_key_bytes)?,
            ciphertexts: queue.pinned(chunk * set.ciphertext_bytes)?,
            seeds: queue.pinned(chunk * 2 * SEED + 1)?,
            shared_secrets: queue.pinned(chunk * SEED)?,
        })
    }
}

/// Bytes of a slot per operation.
#[derive(Copy, Clone, Debug)]
pub(super) struct Footprint {
    pub(super) device_bytes: usize,
    pub(super) pinned_bytes: usize,
}

impl Footprint {
    /// Returns the bytes of [`Buffers`] and [`Pinned`] per operation. Every operation counts the
    /// few bytes that a slot has only once.
    pub(super) fn of(set: &Set) -> Self {
        let Set { row, ciphertext_bytes, decapsulation_key_bytes: keys, .. } = *set;
        let seed = 8 * SEED;
        let decoded = row + seed + 2 * row + ID_BYTES as usize;
        let hashed =
            (seed + 8) + 2 * seed + 8 * (set.message_words + 2 * set.coin_words) + 2 * seed;
        // The levels of the tree have fewer nodes together than there are leaves.
        let polynomials = row + 2 * row + 2 * row + 2 * row;
        Self {
            device_bytes: keys + decoded + hashed + 2 * ciphertext_bytes + polynomials,
            pinned_bytes: keys + ciphertext_bytes + 2 * seed + 8 + seed,
        }
    }
}
