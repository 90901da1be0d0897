//! The memory of a slot, and of keys on the device.

use core::marker::PhantomData;
use std::vec::Vec;

use ctru_gpu_kernels::kernels::{ID_BYTES, SEED_WORDS, coin_words, message_words, row};
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::{Buffer, Queue, RuntimeError};
use ctru_math::Ring;

use super::options::Products;
use crate::params::ParameterSet;

/// Device memory of elements `T`.
pub(super) type Array<T, Q> = Buffer<T, <Q as Queue>::Memory>;

/// Encapsulation keys on a device: rows of `h` and of `ID(pk)`.
#[derive(Debug)]
pub struct PublicArrays<Q: Queue> {
    pub(super) h: Array<u16, Q>,
    pub(super) ids: Array<u8, Q>,
}

/// Decapsulation keys on a device: rows of `f` and `z`, and the public part.
#[derive(Debug)]
pub struct PrivateArrays<Q: Queue> {
    pub(super) f: Array<u8, Q>,
    pub(super) z: Array<u64, Q>,
    pub(super) public: PublicArrays<Q>,
}

impl<Q: Queue> PublicArrays<Q> {
    pub(super) fn new<P: ParameterSet>(queue: &Q, keys: usize) -> Result<Self, RuntimeError> {
        Ok(Self {
            h: queue.allocate(keys * row::<P::Ring>() as usize)?,
            ids: queue.allocate(keys * ID_BYTES as usize)?,
        })
    }
}

impl<Q: Queue> PrivateArrays<Q> {
    pub(super) fn new<P: ParameterSet>(queue: &Q, keys: usize) -> Result<Self, RuntimeError> {
        Ok(Self {
            f: queue.allocate(keys * row::<P::Ring>() as usize)?,
            z: queue.allocate(keys * SEED_WORDS as usize)?,
            public: PublicArrays::new::<P>(queue, keys)?,
        })
    }
}

/// What one chunk needs, on the host and on the device.
#[derive(Debug)]
pub(super) struct Slot<P: ParameterSet, Q: Queue> {
    pub(super) queue: Q,
    /// For what depends on nothing that the queue does at the same time.
    pub(super) side: Q,
    pub(super) pinned: Pinned<Q>,
    pub(super) arrays: Arrays<Q>,
    pub(super) products: Products,
    parameter_set: PhantomData<P>,
}

/// Host memory that copies take and fill.
#[derive(Debug)]
pub(super) struct Pinned<Q: Queue> {
    /// Keys of either kind.
    pub(super) keys: Q::Pinned<u8>,
    pub(super) ciphertexts: Q::Pinned<u8>,
    /// One seed an operation, or a master seed and the number of the first operation.
    pub(super) seeds: Q::Pinned<u64>,
    pub(super) shared_secrets: Q::Pinned<u64>,
}

/// Device memory, one row an operation.
#[derive(Debug)]
pub(super) struct Arrays<Q: Queue> {
    /// Encoded keys of either kind.
    pub(super) keys: Array<u8, Q>,
    /// Decoded keys.
    pub(super) private: PrivateArrays<Q>,
    pub(super) master_seed: Array<u64, Q>,
    pub(super) first: Array<u64, Q>,
    pub(super) seeds: Array<u64, Q>,
    pub(super) messages: Array<u64, Q>,
    pub(super) coins: Array<u64, Q>,
    pub(super) more_coins: Array<u64, Q>,
    pub(super) shared_secrets: Array<u64, Q>,
    pub(super) rejection_secrets: Array<u64, Q>,
    pub(super) ciphertexts: Array<u8, Q>,
    pub(super) expected_ciphertexts: Array<u8, Q>,
    /// Sampled polynomials.
    pub(super) small: Array<u8, Q>,
    /// Operands and results of products.
    pub(super) operands: Array<u16, Q>,
    pub(super) products: Array<u16, Q>,
    /// Products of secrets, the levels of a tree: half as many in each as in the one before.
    pub(super) tree: Vec<Array<u16, Q>>,
}

/// Bytes for one operation of a slot.
#[derive(Copy, Clone, Debug)]
pub(super) struct Footprint {
    pub(super) device_bytes: usize,
    pub(super) pinned_bytes: usize,
}

impl Footprint {
    /// What [`Slot::new`] allocates for an operation, the few bytes that it allocates once counted with each.
    pub(super) const fn of<P: ParameterSet>() -> Self {
        let row = row::<P::Ring>() as usize;
        let seed = 8 * SEED_WORDS as usize;
        let keys = P::DECAPSULATION_KEY_BYTES;
        let decoded = row + seed + 2 * row + ID_BYTES as usize;
        let coins = 8 * coin_words::<P::Ring>() as usize;
        let hashed =
            seed + 8 + 2 * seed + 8 * message_words::<P::Ring>() as usize + 2 * coins + 2 * seed;
        // The levels of the tree have less nodes together than there are leaves.
        let polynomials = row + 2 * row + 2 * row + 2 * row;
        Self {
            device_bytes: keys + decoded + hashed + 2 * P::CIPHERTEXT_BYTES + polynomials,
            pinned_bytes: keys + P::CIPHERTEXT_BYTES + 2 * seed + 8 + seed,
        }
    }
}

/// Operations of a chunk at the most: as many as every kernel takes in a launch.
pub(super) fn most_operations<R: Ring>() -> usize {
    table::ALL.iter().map(|kernels| kernels.of::<R>().most_operations()).min().unwrap_or(0) as usize
}

/// Roots of a chunk's product tree, about: so many inversions go on side by side.
const ROOTS: usize = 16;

/// Nodes of every level of the product tree over `leaves` elements, from the level above the leaves to the roots. The levels end
/// where about [`ROOTS`] are left, which are inverted side by side; there is one level at least.
pub(super) fn level_sizes(leaves: usize) -> impl ExactSizeIterator<Item = usize> {
    let levels = (leaves / ROOTS).checked_ilog2().unwrap_or(0).max(1);
    (1..levels + 1).map(move |level| leaves.div_ceil(1 << level))
}

impl<P: ParameterSet, Q: Queue> Slot<P, Q> {
    /// Memory for chunks of `chunk` operations.
    pub(super) fn new(
        [queue, side]: [Q; 2],
        chunk: usize,
        products: Products,
    ) -> Result<Self, RuntimeError> {
        let row_elements = row::<P::Ring>() as usize;
        let row = chunk * row_elements;
        let seed = SEED_WORDS as usize;
        // Kernels read whole words.
        let ciphertexts = (chunk * P::CIPHERTEXT_BYTES).next_multiple_of(4);
        let coins = chunk * coin_words::<P::Ring>() as usize;
        // The device first: it says at once that there is no room, where pinning takes seconds.
        let arrays = Arrays {
            keys: queue.allocate(chunk * P::DECAPSULATION_KEY_BYTES)?,
            private: PrivateArrays::new::<P>(&queue, chunk)?,
            master_seed: queue.allocate(seed)?,
            first: queue.allocate(1)?,
            seeds: queue.allocate(chunk * 2 * seed)?,
            messages: queue.allocate(chunk * message_words::<P::Ring>() as usize)?,
            coins: queue.allocate(coins)?,
            more_coins: queue.allocate(coins)?,
            shared_secrets: queue.allocate(chunk * seed)?,
            rejection_secrets: queue.allocate(chunk * seed)?,
            ciphertexts: queue.allocate(ciphertexts)?,
            expected_ciphertexts: queue.allocate(ciphertexts)?,
            small: queue.allocate(row)?,
            operands: queue.allocate(row)?,
            products: queue.allocate(row)?,
            tree: level_sizes(chunk)
                .map(|nodes| queue.allocate(nodes * row_elements))
                .collect::<Result<_, _>>()?,
        };
        let pinned = Pinned {
            keys: queue.pinned(chunk * P::DECAPSULATION_KEY_BYTES)?,
            ciphertexts: queue.pinned(chunk * P::CIPHERTEXT_BYTES)?,
            seeds: queue.pinned(chunk * 2 * seed + 1)?,
            shared_secrets: queue.pinned(chunk * seed)?,
        };
        Ok(Self { queue, side, pinned, arrays, products, parameter_set: PhantomData })
    }

    /// Does `work`. If it fails, waits for what has been issued until then, on both queues: whoever
    /// takes the slot next finds nothing under way in its memory.
    pub(super) fn settled<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, RuntimeError>,
    ) -> Result<T, RuntimeError> {
        let result = work(self);
        if result.is_err() {
            // Their own errors come from the same failure, or from what the batch had not waited
            // for yet: it has failed.
            let _ = self.queue.synchronise();
            let _ = self.side.synchronise();
        }
        result
    }
}
