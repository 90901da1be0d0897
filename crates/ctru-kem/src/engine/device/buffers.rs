//! The memory of loaded keys, and the memory of slots on the device.

use std::vec::Vec;

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_kernels::kernels::{EXPANSION_WORDS, ID_BYTES, SEED_WORDS, whole};
use ctru_gpu_runtime::batch::travel::Rows;
use ctru_gpu_runtime::batch::tuning::Tuning;
use ctru_gpu_runtime::{Buffer, Queue, RuntimeError};

use super::inversion::Tree;
use super::launches::Launches;
use super::powers::SharedMaps;
use super::set::{Kind, Set};

/// 64-bit words of a seed, of `z`, of a shared secret or of a rejection secret.
pub(super) const SEED: usize = SEED_WORDS as usize;

/// 64-bit words of the input from which seeds are expanded, without `ID(pk)`.
pub(super) const EXPANSION: usize = EXPANSION_WORDS as usize;

/// An array of elements `T` in device memory.
pub(super) type Array<T, Q> = Buffer<T, <Q as Queue>::Memory>;

/// Decoded keys: one row of `h` and one of `ID(pk)` per key, and for decapsulation keys one row of
/// `f` and one of `z`. NTRU Prime has rows of `f` and `1/g` in place of `f`, and in place of `z`
/// the hash of the secret of implicit rejection.
#[derive(Debug)]
pub(super) struct Decoded<Q: Queue> {
    pub(super) f: Array<u8, Q>,
    pub(super) z: Array<u64, Q>,
    pub(super) h: Array<u16, Q>,
    pub(super) ids: Array<u8, Q>,
}

impl<Q: Queue> Decoded<Q> {
    pub(super) fn new(queue: &Q, set: &Set, kind: Kind, keys: usize) -> Result<Self, RuntimeError> {
        let secret = if kind == Kind::Decapsulation { keys } else { 0 };
        Ok(Self {
            f: queue.allocate(secret * set.secrets)?,
            z: queue.allocate(secret * SEED)?,
            h: queue.allocate(keys * set.row)?,
            ids: queue.allocate(keys * ID_BYTES as usize)?,
        })
    }

    /// Returns all memory, for wiping.
    fn memory(&self) -> [&Q::Memory; 4] {
        let Self { f, z, h, ids } = self;
        [f, z, h, ids]
    }
}

/// The list of launches that the steps of a chunk join, their memory, and the operations.
pub(super) struct Steps<'s, 'a, Q: Queue> {
    pub(super) launches: &'s mut Launches<'a, Q>,
    pub(super) scratch: &'a Scratch<Q>,
    pub(super) batch: Batch,
}

/// Where kernels read seeds, or the input from which a kernel expands them to other memory.
pub(super) struct Seeds<'a, Q: Queue> {
    pub(super) given: Rows<'a, u64, Q::Memory>,
    pub(super) expand_to: Option<&'a Q::Memory>,
}

/// What the operations of a chunk read and write.
pub(super) struct Texts<'a, M> {
    pub(super) ciphertexts: &'a M,
    pub(super) shared_secrets: &'a M,
}

/// The device memory of a slot that no row of a caller enters or leaves. Each array has one row per
/// operation, unless its comment says otherwise.
#[derive(Debug)]
pub(super) struct Scratch<Q: Queue> {
    /// Decoded keys.
    pub(super) decoded: Decoded<Q>,
    /// The input from which the seed of the chunk's first operation is expanded, without `ID(pk)`:
    /// a single row.
    pub(super) expansion: Array<u64, Q>,
    pub(super) messages: Array<u64, Q>,
    /// The short polynomials of NTRU Prime, or `g` in key generation.
    pub(super) short: Array<u8, Q>,
    /// The inverses of `g` modulo 3.
    pub(super) inverses: Array<u8, Q>,
    /// The ciphertexts of NTRU Prime that decapsulation encrypts again, or the public keys in key
    /// generation.
    pub(super) encrypted: Array<u8, Q>,
    /// The coins of encryption, or of `f` in key generation. For NTRU Prime, the random words of a
    /// short polynomial, and then the hashes of short polynomials.
    pub(super) coins: Array<u64, Q>,
    /// The coins of `g` in key generation, or `rho` of NTRU Prime.
    pub(super) g_coins: Array<u64, Q>,
    /// The shared secrets that operations return if their ciphertexts are rejected. For NTRU Prime,
    /// what is wrong with trusted keys, which nobody reads, or which `g` have inverses modulo 3.
    pub(super) rejection_secrets: Array<u64, Q>,
    /// Copies of keys and of ciphertexts that a kernel for whole operations makes.
    pub(super) copied_keys: Array<u8, Q>,
    pub(super) copied_ciphertexts: Array<u8, Q>,
    /// Operands of products.
    pub(super) operands: Array<u16, Q>,
    /// Results of products.
    pub(super) products: Array<u16, Q>,
    /// The product tree of the secret polynomials.
    pub(super) tree: Tree<Q>,
}

impl<Q: Queue> Scratch<Q> {
    /// Allocates memory for chunks of `chunk` operations.
    pub(super) fn new(
        queue: &Q,
        set: &Set,
        chunk: usize,
        tuning: &Tuning,
        maps: SharedMaps<Q>,
    ) -> Result<Self, RuntimeError> {
        let row = chunk * set.row;
        let whole = chunk.min(tuning.whole_chunk);
        Ok(Self {
            decoded: Decoded::new(queue, set, Kind::Decapsulation, chunk)?,
            expansion: queue.allocate(EXPANSION)?,
            messages: queue.allocate(chunk * set.message_words)?,
            short: queue.allocate(chunk * set.short)?,
            inverses: queue.allocate(chunk * set.short)?,
            encrypted: queue.allocate((chunk * set.encrypted).next_multiple_of(4))?,
            coins: queue.allocate(chunk * set.coin_words)?,
            g_coins: queue.allocate(chunk * set.g_coin_words)?,
            rejection_secrets: queue.allocate(chunk * SEED)?,
            copied_keys: queue.allocate(whole * copied_bytes(set.sizes.decapsulation_key))?,
            copied_ciphertexts: queue.allocate(whole * copied_bytes(set.sizes.ciphertext))?,
            operands: queue.allocate(row)?,
            products: queue.allocate(row)?,
            tree: Tree::new(queue, set, chunk, tuning, maps)?,
        })
    }

    /// Returns all memory, for wiping.
    pub(super) fn memory(&self) -> Vec<&Q::Memory> {
        // Without `..`, so that no array can be forgotten.
        let Self {
            decoded,
            expansion,
            messages,
            short,
            inverses,
            encrypted,
            coins,
            g_coins,
            rejection_secrets,
            copied_keys,
            copied_ciphertexts,
            operands,
            products,
            tree,
        } = self;
        let bytes =
            [short, inverses, encrypted, copied_keys, copied_ciphertexts].map(|array| &**array);
        let words = [expansion, messages, coins, g_coins, rejection_secrets].map(|array| &**array);
        let polynomials = [operands, products].into_iter().chain(tree.memory());
        let polynomials = polynomials.map(|array| &**array);
        decoded.memory().into_iter().chain(bytes).chain(words).chain(polynomials).collect()
    }
}

/// Returns the length of an array of `chunk` encoded keys, rounded up to the whole words that
/// kernels read.
pub(super) fn keys_len(set: &Set, chunk: usize) -> usize {
    (chunk * set.sizes.decapsulation_key).next_multiple_of(4)
}

/// Returns the bytes of a row to which a kernel copies `bytes` bytes.
fn copied_bytes(bytes: usize) -> usize {
    whole::copied_bytes(bytes as u32) as usize
}

/// Returns the length of an array of `chunk` ciphertexts, rounded up to the whole words that
/// kernels read.
pub(super) fn ciphertexts_len(set: &Set, chunk: usize) -> usize {
    (chunk * set.sizes.ciphertext).next_multiple_of(4)
}

/// The bytes of the memory of slots: upper bounds, unless a chunk has a single operation.
#[derive(Copy, Clone, Debug)]
pub(super) struct Footprint {
    /// Bytes of device memory per operation, without the following.
    each: usize,
    /// Bytes of device memory per operation for the first `whole` operations.
    copied: usize,
    whole: usize,
    /// Bytes of pinned memory per operation.
    pinned: usize,
}

impl Footprint {
    pub(super) fn of(set: &Set, tuning: &Tuning) -> Self {
        let Set { row, secrets, sizes, .. } = *set;
        let (keys, ciphertext) = (keys_len(set, 1), ciphertexts_len(set, 1));
        let seed = 8 * SEED;
        let decoded = secrets + seed + 2 * row + ID_BYTES as usize;
        // The few bytes that a slot has only once are counted for every operation.
        let hashed = 8 * EXPANSION
            + 2 * seed
            + 8 * (set.message_words + set.coin_words + set.g_coin_words)
            + 2 * seed;
        // The last term is the product tree. It has about as many nodes as leaves: rounding up adds
        // less than one node to each level.
        let polynomials = 2 * row + 2 * row + 2 * row;
        let again = 2 * set.short + set.encrypted.next_multiple_of(4);
        Self {
            each: keys + ciphertext + decoded + hashed + again + polynomials,
            copied: copied_bytes(sizes.decapsulation_key) + copied_bytes(sizes.ciphertext),
            whole: tuning.whole_chunk,
            pinned: keys + ciphertext + 2 * seed + seed + 8,
        }
    }

    /// Returns the bytes of device memory of a slot for chunks of `chunk` operations.
    pub(super) fn device_bytes(self, chunk: usize) -> usize {
        chunk.saturating_mul(self.each) + chunk.min(self.whole) * self.copied
    }

    /// Returns the bytes of pinned memory for this number of operations.
    pub(super) fn pinned_bytes(self, operations: usize) -> usize {
        operations * self.pinned
    }

    /// Returns the largest number of operations of a chunk whose slot takes at most `bytes` bytes
    /// of device memory.
    pub(super) fn largest_chunk(self, bytes: usize) -> usize {
        match bytes / (self.each + self.copied) {
            small if small < self.whole => small,
            _ => (bytes - self.whole * self.copied) / self.each,
        }
    }
}

#[cfg(test)]
mod tests {
    use ctru_gpu_runtime::batch::plan::full_chunk;
    use ctru_gpu_runtime::emulated::{EmulatedDevice, EmulatedQueue};
    use ctru_gpu_runtime::{Device, DeviceMemory, HostMemory};

    use super::super::options::DeviceOptions;
    use super::super::powers::SharedMaps;
    use super::super::slot::Slot;
    use super::*;
    use crate::{CtruPrime761, CtruPrime1277, ParameterSet, Parameters};

    /// Checks that the footprint covers what a slot allocates, and little more.
    fn check(parameters: Parameters) {
        let (set, tuning) = (Set::of(parameters).unwrap(), Tuning::of(""));
        let footprint = Footprint::of(set, tuning);
        let whole = tuning.whole_chunk;
        for chunk in [2, 3, 255, whole, whole + 1, 1000] {
            let queue: EmulatedQueue = EmulatedDevice::new().queue().unwrap();
            let slot = Slot::new(queue, set, chunk, tuning, SharedMaps::default()).unwrap();
            let bytes: usize = slot.device_memory().into_iter().map(DeviceMemory::bytes).sum();
            let bound = footprint.device_bytes(chunk);
            let range = bound - bound / 16..=bound;
            assert!(range.contains(&bytes), "{chunk}: {bytes}, {range:?}");
            assert_eq!(footprint.largest_chunk(bound), chunk);
            assert_eq!(footprint.largest_chunk(bound - 1), chunk - 1);

            let words = [&slot.seeds.pinned, &slot.secrets.pinned, &slot.faults];
            let words: usize = words.map(HostMemory::len).into_iter().sum();
            let bytes = slot.keys.pinned.len() + slot.texts.pinned.len() + 8 * words;
            let bound = footprint.pinned_bytes(chunk);
            let range = bound - bound / 16..=bound;
            assert!(range.contains(&bytes), "{chunk}: {bytes}, {range:?}");
        }
    }

    /// Checks the sizes that `docs/performance.md` states for the default options.
    #[test]
    fn slots_have_the_sizes_of_the_documents() {
        let DeviceOptions { chunk, slots, memory_limit, .. } = DeviceOptions::default();
        let tuning = Tuning::of("");
        let of = |parameters| Footprint::of(Set::of(parameters).unwrap(), tuning);
        let of_761 = of(<CtruPrime761>::PARAMETERS);
        let mebibytes = |bytes: usize| (bytes + (1 << 19)) >> 20;
        assert_eq!(mebibytes(slots * of_761.device_bytes(chunk)), 1336);
        let staged = 2 * tuning.under_way * tuning.coalesced_rows;
        assert_eq!(mebibytes(of_761.pinned_bytes(slots * chunk + staged)), 334);
        let of_1277 = of(<CtruPrime1277>::PARAMETERS);
        assert_eq!(full_chunk(of_1277.largest_chunk(memory_limit / slots)), 7424);
    }

    #[test]
    fn footprints_are_those_of_slots() {
        let has_kernels = |parameters: &Parameters| Set::of(*parameters).is_ok();
        Parameters::ALL.iter().copied().filter(has_kernels).for_each(check);
    }
}
