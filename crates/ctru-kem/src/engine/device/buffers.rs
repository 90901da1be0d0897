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

/// Decoded keys in memory of a device.
pub(super) trait Decoded<Q: Queue> {
    /// Returns one of the arrays of the keys. All of them belong to the same device.
    fn memory(&self) -> &Q::Memory;
}

impl<Q: Queue> Decoded<Q> for EncapsulationKeyBuffers<Q> {
    fn memory(&self) -> &Q::Memory {
        &self.h
    }
}

impl<Q: Queue> Decoded<Q> for DecapsulationKeyBuffers<Q> {
    fn memory(&self) -> &Q::Memory {
        &self.f
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
    /// Copies of keys and of ciphertexts that a kernel makes in a chunk of at most
    /// [`WHOLE_CHUNK`] operations.
    pub(super) copied_keys: Array<u8, Q>,
    pub(super) copied_ciphertexts: Array<u8, Q>,
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
            copied_keys: queue.allocate(whole * copied_bytes(set.decapsulation_key_bytes))?,
            copied_ciphertexts: queue.allocate(whole * copied_bytes(set.ciphertext_bytes))?,
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
            copied_keys,
            copied_ciphertexts,
            operands,
            products,
            tree,
        } = self;
        let DecapsulationKeyBuffers { f, z, encapsulation_key } = decoded;
        let EncapsulationKeyBuffers { h, ids } = encapsulation_key;
        let encoded = [keys, ciphertexts, copied_keys, copied_ciphertexts];
        let bytes = [f, ids].into_iter().chain(encoded).map(|array| &**array);
        let hashed = [z, expansion, seeds, messages, coins, g_coins];
        let secrets = [shared_secrets, rejection_secrets];
        let words = hashed.into_iter().chain(secrets).map(|array| &**array);
        let polynomials = [h, operands, products].into_iter().chain(tree.memory());
        bytes.chain(words).chain(polynomials.map(|array| &**array)).collect()
    }
}

/// Returns the length of an array of `chunk` encoded keys, rounded up to the whole words that
/// kernels read.
pub(super) fn keys_len(set: &Set, chunk: usize) -> usize {
    (chunk * set.decapsulation_key_bytes).next_multiple_of(4)
}

/// Returns the bytes of a row to which a kernel copies `bytes` bytes.
fn copied_bytes(bytes: usize) -> usize {
    whole::copied_bytes(bytes as u32) as usize
}

/// Returns the length of an array of `chunk` ciphertexts, rounded up to the whole words that
/// kernels read.
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

/// The bytes of the memory of slots: upper bounds, unless a chunk has a single operation.
#[derive(Copy, Clone, Debug)]
pub(super) struct Footprint {
    /// Bytes of [`Buffers`] per operation, without the following.
    each: usize,
    /// Bytes of [`Buffers`] per operation for the first [`WHOLE_CHUNK`] operations.
    copied: usize,
    /// Bytes of [`Pinned`] per operation.
    pinned: usize,
}

impl Footprint {
    pub(super) fn of(set: &Set) -> Self {
        let Set { row, ciphertext_bytes, decapsulation_key_bytes, .. } = *set;
        let (keys, ciphertext) = (keys_len(set, 1), ciphertexts_len(set, 1));
        let seed = 8 * SEED;
        let decoded = row + seed + 2 * row + ID_BYTES as usize;
        // The few bytes that a slot has only once are counted for every operation.
        let hashed =
            8 * EXPANSION + 2 * seed + 8 * (set.message_words + 2 * set.coin_words) + 2 * seed;
        // The last term is the product tree. It has about as many nodes as leaves: rounding up adds
        // less than one node to each level.
        let polynomials = 2 * row + 2 * row + 2 * row;
        Self {
            each: keys + ciphertext + decoded + hashed + polynomials,
            copied: copied_bytes(decapsulation_key_bytes) + copied_bytes(ciphertext_bytes),
            pinned: keys + ciphertext + 2 * seed + seed + 8,
        }
    }

    /// Returns the bytes of device memory of a slot for chunks of `chunk` operations.
    pub(super) fn device_bytes(self, chunk: usize) -> usize {
        chunk.saturating_mul(self.each) + chunk.min(WHOLE_CHUNK) * self.copied
    }

    /// Returns the bytes of pinned memory for this number of operations.
    pub(super) fn pinned_bytes(self, operations: usize) -> usize {
        operations * self.pinned
    }

    /// Returns the largest number of operations of a chunk whose slot takes at most `bytes` bytes
    /// of device memory.
    pub(super) fn largest_chunk(self, bytes: usize) -> usize {
        match bytes / (self.each + self.copied) {
            small @ ..WHOLE_CHUNK => small,
            _ => (bytes - WHOLE_CHUNK * self.copied) / self.each,
        }
    }
}

#[cfg(test)]
mod tests {
    use ctru_gpu_runtime::emulated::{EmulatedDevice, EmulatedQueue};
    use ctru_gpu_runtime::{Device, DeviceMemory, HostMemory};

    use super::super::cut::full_chunk;
    use super::super::options::DeviceOptions;
    use super::super::powers::SharedMaps;
    use super::*;
    use crate::{CtruPrime761, ParameterSet, Parameters};

    /// Checks that the footprint covers what a slot allocates, and little more.
    fn check(parameters: Parameters) {
        let set = Set::of(parameters);
        let queue: EmulatedQueue = EmulatedDevice::new().queue().unwrap();
        let footprint = Footprint::of(set);
        for chunk in [2, 3, 255, WHOLE_CHUNK, WHOLE_CHUNK + 1, 1000] {
            let roots = RootInversion { powers_max_chunk: 0, maps: SharedMaps::new() };
            let buffers = Buffers::new(&queue, set, chunk, roots).unwrap();
            let bytes: usize = buffers.memory().into_iter().map(DeviceMemory::bytes).sum();
            let bound = footprint.device_bytes(chunk);
            let range = bound - bound / 16..=bound;
            assert!(range.contains(&bytes), "{chunk}: {bytes}, {range:?}");
            assert_eq!(footprint.largest_chunk(bound), chunk);
            assert_eq!(footprint.largest_chunk(bound - 1), chunk - 1);

            let Pinned { keys, ciphertexts, seeds, shared_secrets, faults } =
                Pinned::new(&queue, set, chunk).unwrap();
            let words = seeds.len() + shared_secrets.len() + faults.len();
            let bytes = keys.len() + ciphertexts.len() + 8 * words;
            let bound = footprint.pinned_bytes(chunk);
            let range = bound - bound / 16..=bound;
            assert!(range.contains(&bytes), "{chunk}: {bytes}, {range:?}");
        }
    }

    /// Checks the sizes that `docs/performance.md` states for the default options.
    #[test]
    fn slots_have_the_sizes_of_the_documents() {
        let DeviceOptions { chunk, slots, memory_limit, merging, .. } = DeviceOptions::default();
        let of_761 = Footprint::of(Set::of(<CtruPrime761>::PARAMETERS));
        let mebibytes = |bytes: usize| (bytes + (1 << 19)) >> 20;
        assert_eq!(mebibytes(slots * of_761.device_bytes(chunk)), 1336);
        let staged = 2 * merging.under_way * merging.rows;
        assert_eq!(mebibytes(of_761.pinned_bytes(slots * chunk + staged)), 334);
        let [.., largest, _] = Parameters::ALL else { panic!("no sets") };
        let of_largest = Footprint::of(Set::of(*largest));
        assert_eq!(full_chunk(of_largest.largest_chunk(memory_limit / slots)), 7424);
    }

    #[test]
    fn footprints_are_those_of_slots() {
        Parameters::ALL.iter().copied().for_each(check);
    }
}
