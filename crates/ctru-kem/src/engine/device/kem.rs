//! Key generation, encapsulation and decapsulation of a chunk in its slot, as copies and kernels
//! (paper, Algorithms 4 to 6).

use core::ops::Range;
use ctru_gpu_kernels::descriptor::{Batch, RingKernels};
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::{HostMemory, Order, Queue, RuntimeError, SharedMemory};

use super::buffers::{
    Array, Buffers, DecapsulationKeyBuffers, EncapsulationKeyBuffers, Pinned, SEED,
};
use super::check::ChunkCheck;
use super::hashes;
use super::launches::Launches;
use super::set::{EncodingKernels, WHOLE_BATCH, WHOLE_CHUNK, WHOLE_WITH_ONE_KEY};
use super::slot::{OnDevice, Slot, are_few, is_direct, target};
use super::staged::{Staged, Work};
use super::stores::{self, Stores};
use crate::engine::{KEY_PAIR_SEED_BYTES, Seeds};
use crate::hash::SEED_BYTES;
use crate::keys::SharedSecret;

/// The keys of a chunk: one key for all operations, or one key per operation.
pub(super) enum ChunkKeys<'a, K> {
    /// Encoded keys on the host, one after the other. Without a check, they must be keys.
    Host(&'a [u8], Option<ChunkCheck<'a>>),
    /// Decoded keys on the device, and the number of keys.
    Loaded(&'a K, u32),
}

/// A chunk of encapsulations or decapsulations that has been issued.
pub(super) struct Issued<'a> {
    /// The memory of the caller to which the host copies ciphertexts, if it does. The device sends
    /// others to pinned memory of the caller.
    copied: Option<&'a mut [u8]>,
    /// The check of keys, if there is one, and the number of keys.
    check: Option<(ChunkCheck<'a>, usize)>,
    /// The number of operations of the batch.
    batch_len: usize,
}

/// The result of a function that issues operations.
pub(super) type Outcome = Result<(), RuntimeError>;

impl<Q: Queue> Slot<Q> {
    /// Decodes and checks encapsulation keys into newly allocated device memory, and waits for the
    /// result.
    pub(super) fn load_encapsulation_keys(
        &mut self,
        keys: &[u8],
        check: ChunkCheck<'_>,
    ) -> Result<EncapsulationKeyBuffers<Q>, RuntimeError> {
        let Self { device, pinned } = self;
        let count = keys.len() / device.set.encapsulation_key_bytes;
        let decoded = EncapsulationKeyBuffers::new(&device.queue, device.set, count)?;
        device.queue.scope(|scope| {
            let places = (&mut pinned.keys, &device.buffers.keys);
            let rows = device.bring(scope, keys, places, is_direct(keys.len()), count)?;
            device.check_encapsulation_keys(rows, count, &decoded, &mut pinned.faults)?;
            device.queue.synchronise()
        })?;
        check.faults.note(check.start, &pinned.faults.read()?[..count]);
        Ok(decoded)
    }

    /// Decodes and checks decapsulation keys into newly allocated device memory, and waits for the
    /// result.
    pub(super) fn load_decapsulation_keys(
        &mut self,
        keys: &[u8],
        check: ChunkCheck<'_>,
    ) -> Result<DecapsulationKeyBuffers<Q>, RuntimeError> {
        let Self { device, pinned } = self;
        let count = keys.len() / device.set.decapsulation_key_bytes;
        let decoded = DecapsulationKeyBuffers::new(&device.queue, device.set, count)?;
        device.queue.scope(|scope| {
            let places = (&mut pinned.keys, &device.buffers.keys);
            let rows = device.bring(scope, keys, places, is_direct(keys.len()), count)?;
            device.check_decapsulation_keys(rows, count, &decoded, &mut pinned.faults)?;
            device.queue.synchronise()
        })?;
        check.faults.note(check.start, &pinned.faults.read()?[..count]);
        Ok(decoded)
    }

    /// Generates the key pairs `range` of a batch of `batch_len`. `encapsulation_keys` has one key
    /// for each decapsulation key, or it is empty.
    pub(super) fn generate(
        &mut self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        range: &Range<usize>,
        batch_len: usize,
        encapsulation_keys: &mut [u8],
        decapsulation_keys: &mut [u8],
    ) -> Outcome {
        let Self { device, pinned } = self;
        let purpose = device.set.key_generation;
        let readers = expanding_blocks(range.len());
        let given = device.bring_seeds(&mut pinned.seeds, seeds, purpose, range, readers)?;
        let are_expanded = matches!(seeds, Seeds::Expand(_));
        let keys = &device.buffers.keys;
        let to = target::<_, Q>(is_direct(decapsulation_keys.len()), &mut pinned.keys, keys);
        let mut launches = device.launches(batch_len);
        device.generate(&mut launches, (given, are_expanded), range.len(), to)?;
        launches.issue(&device.queue)?;
        device.receive_key_pairs(
            range,
            batch_len,
            &mut pinned.keys,
            encapsulation_keys,
            decapsulation_keys,
        )
    }

    /// Issues the encapsulations `range` of a batch of `batch_len`. Copies of the caller's memory
    /// belong to `scope`. [`finish`](Self::finish) waits for the results.
    pub(super) fn issue_encapsulations<'env>(
        &mut self,
        scope: &Q::Scope<'env>,
        keys: ChunkKeys<'env, EncapsulationKeyBuffers<Q>>,
        seeds: Seeds<'_, SEED_BYTES>,
        range: &Range<usize>,
        batch_len: usize,
        ciphertexts: &'env mut [u8],
    ) -> Result<Issued<'env>, RuntimeError> {
        let Self { device, pinned } = self;
        let Pinned {
            keys: staged_keys,
            ciphertexts: staged_ciphertexts,
            seeds: staged_seeds,
            shared_secrets: staged_secrets,
            faults: staged_faults,
        } = pinned;
        let Buffers { decoded, shared_secrets, .. } = &device.buffers;
        let are_expanded = matches!(seeds, Seeds::Expand(_));
        let is_whole =
            matches!(keys, ChunkKeys::Host(_, None)) && device.is_whole(batch_len, range.len());
        let readers = if is_whole { range.len() } else { expanding_blocks(range.len()) };
        let purpose = device.set.encapsulation;
        let given = device.bring_seeds(staged_seeds, seeds, purpose, range, readers)?;
        let given = (given, are_expanded);
        let (key, keys, encoded, check) = match keys {
            ChunkKeys::Loaded(key, keys) => (key, keys, None, None),
            ChunkKeys::Host(rows, check) => {
                let count = rows.len() / device.set.encapsulation_key_bytes;
                let readers = if is_whole { range.len() / count } else { 1 };
                let is_zero_copy = device.is_zero_copy(rows, is_whole) && are_few(readers);
                let places = (staged_keys, &device.buffers.keys);
                let rows = device.bring(scope, rows, places, is_zero_copy, batch_len)?;
                (&decoded.encapsulation_key, count as u32, Some(rows), check)
            }
        };
        let batch = batch_of(range.len(), keys);
        let len = range.len() * SEED;
        let is_direct = is_direct(8 * len);
        let results = target::<_, Q>(is_direct, staged_secrets, shared_secrets);
        let is_zero_copy = device.is_zero_copy(ciphertexts, is_whole);
        let on_device = &device.buffers.ciphertexts;
        let to = target::<_, Q>(is_zero_copy, staged_ciphertexts, on_device);
        let mut launches = device.launches(batch_len);
        if let (Some(rows), true) = (encoded, is_whole) {
            device.encapsulate_whole(&mut launches, batch, given, rows, results, to);
        } else {
            let encoded = match (encoded, check) {
                (Some(rows), Some(_)) => {
                    device.check_encapsulation_keys(rows, keys as usize, key, staged_faults)?;
                    None
                }
                (encoded, _) => encoded,
            };
            let keys = (key, keys, encoded);
            device.encapsulate(&mut launches, batch, keys, given, to, results);
        }
        launches.issue(&device.queue)?;
        device.fetch(is_direct, shared_secrets, staged_secrets, len)?;
        let check = check.map(|check| (check, keys as usize));
        if !is_zero_copy && device.queue.is_registered(ciphertexts) {
            device.queue.download_to(scope, on_device, ciphertexts)?;
            return Ok(Issued { copied: None, check, batch_len });
        }
        device.fetch(is_zero_copy, on_device, staged_ciphertexts, ciphertexts.len())?;
        Ok(Issued { copied: Some(ciphertexts), check, batch_len })
    }

    /// Issues the decapsulations of `count` ciphertexts, as a part of a batch of `batch_len`
    /// operations. Copies of the caller's memory belong to `scope`. [`finish`](Self::finish) waits
    /// for the results.
    pub(super) fn issue_decapsulations<'env>(
        &mut self,
        scope: &Q::Scope<'env>,
        keys: ChunkKeys<'env, DecapsulationKeyBuffers<Q>>,
        batch_len: usize,
        count: usize,
        ciphertexts: &'env [u8],
    ) -> Result<Issued<'env>, RuntimeError> {
        let Self { device, pinned } = self;
        let Pinned {
            keys: staged_keys,
            ciphertexts: staged_ciphertexts,
            shared_secrets: staged_secrets,
            faults: staged_faults,
            ..
        } = pinned;
        let Buffers { decoded, shared_secrets, .. } = &device.buffers;
        let is_whole = match keys {
            ChunkKeys::Host(rows, None) => {
                let is_shared = count > 1 && rows.len() == device.set.decapsulation_key_bytes;
                let most = if is_shared { WHOLE_WITH_ONE_KEY } else { WHOLE_BATCH };
                batch_len <= most && device.is_whole(batch_len, count)
            }
            _ => false,
        };
        let (key, keys, encoded, check) = match keys {
            ChunkKeys::Loaded(key, keys) => (key, keys, None, None),
            ChunkKeys::Host(rows, check) => {
                let keys = rows.len() / device.set.decapsulation_key_bytes;
                let readers = if is_whole { count / keys } else { 1 };
                let is_zero_copy = is_direct(rows.len()) && are_few(readers);
                let places = (staged_keys, &device.buffers.keys);
                let brought = device.bring(scope, rows, places, is_zero_copy, batch_len)?;
                (decoded, keys as u32, Some(brought), check)
            }
        };
        // If several kernels read the ciphertexts, even a few are sent to the device's memory.
        let is_zero_copy = is_whole && is_direct(ciphertexts.len());
        let places = (staged_ciphertexts, &device.buffers.ciphertexts);
        let received = device.bring(scope, ciphertexts, places, is_zero_copy, batch_len)?;
        let batch = batch_of(count, keys);
        let len = count * SEED;
        let is_direct = is_direct(8 * len);
        let results = target::<_, Q>(is_direct, staged_secrets, shared_secrets);
        let mut launches = device.launches(batch_len);
        if let (Some(rows), true) = (encoded, is_whole) {
            device.decapsulate_whole(&mut launches, batch, rows, received, results);
        } else {
            match (encoded, check) {
                (Some(rows), Some(_)) => {
                    device.check_decapsulation_keys(rows, keys as usize, key, staged_faults)?;
                }
                (Some(rows), None) => {
                    device.decode_decapsulation_keys(&mut launches, rows, keys as usize, key);
                }
                (None, _) => {}
            }
            device.decapsulate(&mut launches, batch, key, received, results);
        }
        launches.issue(&device.queue)?;
        device.fetch(is_direct, shared_secrets, staged_secrets, len)?;
        let check = check.map(|check| (check, keys as usize));
        Ok(Issued { copied: None, check, batch_len })
    }

    /// Waits for all operations on the queue, and writes the results to the caller's memory. If it
    /// fails, it has written nothing, except for ciphertexts to pinned memory of the caller.
    pub(super) fn finish(
        &mut self,
        Issued { copied, check, batch_len }: Issued<'_>,
        secrets: &mut [SharedSecret],
    ) -> Outcome {
        let Self { device: OnDevice { queue, .. }, pinned } = self;
        // Each of these calls can fail, so all come before the first write.
        queue.synchronise()?;
        let (words, faults) = (pinned.shared_secrets.read()?, pinned.faults.read()?);
        if let Some(to) = copied {
            let bytes = &pinned.ciphertexts.read()?[..to.len()];
            stores::copy(Stores::to_caller(batch_len), [(bytes, to)]);
        }
        SharedSecret::overwrite_all(secrets, words);
        if let Some((ChunkCheck { faults: of_batch, start }, keys)) = check {
            of_batch.note(start, &faults[..keys]);
        }
        Ok(())
    }
}

/// Returns the batch of `count` operations. If `keys` is 1, all operations share the key; otherwise
/// each operation has its own key.
pub(super) fn batch_of(count: usize, keys: u32) -> Batch {
    if keys == 1 { Batch::shared(count as u32) } else { Batch::each(count as u32) }
}

/// Returns the number of blocks that expand the seeds of `count` operations.
pub(super) fn expanding_blocks(count: usize) -> usize {
    /// The operations of a block, one per thread.
    const OPERATIONS: usize = 128;
    count.div_ceil(OPERATIONS)
}

/// Functions that take a list of launches add their kernels to it. The kernels run when the list is
/// issued.
impl<Q: Queue> OnDevice<Q> {
    /// Generates `count` decapsulation keys and writes them to `to`. `given` has one seed per key,
    /// or the input from which seeds are expanded, and says which. The polynomials `h` remain in
    /// the buffer `products`.
    pub(super) fn generate<'a>(
        &'a self,
        launches: &mut Launches<'a, Q>,
        (mut given, are_expanded): (&'a Q::Memory, bool),
        count: usize,
        to: &'a Q::Memory,
    ) -> Outcome {
        let all = Batch::each(count as u32);
        let Buffers { seeds, coins, g_coins, operands, products, tree, decoded, .. } =
            &self.buffers;
        let DecapsulationKeyBuffers { f, z, .. } = decoded;
        if are_expanded {
            launches.add(&table::EXPAND_KEY_PAIR_SEEDS, &[given, seeds], all);
            given = seeds;
        }
        let derive = hashes::DERIVE_KEY_PAIR.of(launches.batch_len);
        launches.add(derive, &[given, coins, g_coins, z], all);
        launches.add(&table::SAMPLE_SECRET, &[coins, f], all);
        tree.invert(launches, &self.queue, count, f, operands, products)?;
        // h = g / f
        let memory: [&Q::Memory; 3] = [operands, g_coins, products];
        launches.add(&table::POLYPHASE_COINS, &memory, all);
        launches.add(self.set.encoding.pack_decapsulation_key, &[f, products, z, to], all);
        Ok(())
    }

    /// Encapsulates, and writes ciphertexts and shared secrets. The `count` keys `encoded` are
    /// decoded to `key`; if there are none, `key` is decoded already. `given` has one seed per
    /// operation, or the input from which seeds are expanded, and says which.
    pub(super) fn encapsulate<'a>(
        &'a self,
        launches: &mut Launches<'a, Q>,
        batch: Batch,
        (key, count, encoded): (&'a EncapsulationKeyBuffers<Q>, u32, Option<&'a Q::Memory>),
        (mut given, are_expanded): (&'a Q::Memory, bool),
        ciphertexts: &'a Q::Memory,
        shared_secrets: &'a Q::Memory,
    ) {
        let Buffers { seeds, messages, coins, .. } = &self.buffers;
        if let Some(rows) = encoded {
            launches.add(self.set.encoding.decode, &[rows, &key.h, &key.ids], Batch::each(count));
        }
        if are_expanded {
            launches.add(&table::EXPAND_SEEDS, &[given, &key.ids, seeds], batch);
            given = seeds;
        }
        launches.add(
            hashes::DERIVE_ENCAPSULATION.of(launches.batch_len),
            &[given, &key.ids, messages, shared_secrets, coins],
            batch,
        );
        let same_key = (&table::SAME_PUBLIC_KEY_ENCRYPT, self.set.matrix_encryption);
        let kernels = self.fused(batch, &table::FUSED_ENCRYPT, same_key);
        launches.add(kernels, &[&key.h, coins, messages, ciphertexts], batch);
    }

    /// Decodes `count` decapsulation keys.
    pub(super) fn decode_decapsulation_keys<'a>(
        &'a self,
        launches: &mut Launches<'a, Q>,
        rows: &'a Q::Memory,
        count: usize,
        to: &'a DecapsulationKeyBuffers<Q>,
    ) {
        let DecapsulationKeyBuffers { f, z, encapsulation_key } = to;
        let EncapsulationKeyBuffers { h, ids } = encapsulation_key;
        let memory: [&Q::Memory; 5] = [rows, f, h, ids, z];
        launches.add(
            self.set.encoding.unpack_decapsulation_key,
            &memory,
            Batch::each(count as u32),
        );
    }

    /// Returns whether one kernel does each operation of a chunk of `count` operations. The batch
    /// has `batch_len` operations.
    fn is_whole(&self, batch_len: usize, count: usize) -> bool {
        batch_len <= WHOLE_BATCH && count <= WHOLE_CHUNK && !self.as_large
    }

    /// Encapsulates with encoded keys in one launch. `given` has one seed per operation, or the
    /// input from which seeds are expanded, and says which.
    fn encapsulate_whole<'a>(
        &'a self,
        launches: &mut Launches<'a, Q>,
        batch: Batch,
        (given, are_expanded): (&'a Q::Memory, bool),
        keys: &'a Q::Memory,
        shared_secrets: &'a Q::Memory,
        ciphertexts: &'a Q::Memory,
    ) {
        let Buffers { copied_keys, decoded, messages, coins, .. } = &self.buffers;
        let EncapsulationKeyBuffers { h, ids } = &decoded.encapsulation_key;
        let memory: [&Q::Memory; 9] =
            [given, keys, copied_keys, ids, h, messages, coins, shared_secrets, ciphertexts];
        let EncodingKernels { encapsulate, encapsulate_seeds, .. } = self.set.encoding;
        let kernels = if are_expanded { encapsulate } else { encapsulate_seeds };
        launches.add(kernels, &memory, batch);
    }

    /// Issues one launch for a group of small batches, which reads and writes staged rows. `key` is
    /// the key of all operations, or `None` if each has its own in a staged row.
    pub(super) fn issue_whole(
        &self,
        work: Work,
        staged: &mut Staged<Q>,
        key: Option<&Q::Memory>,
        batch: Batch,
    ) -> Outcome {
        let count = batch.operations() as usize;
        let mut launches = self.launches(count);
        let Staged { keys, ciphertexts, seeds, shared_secrets, rejected } = staged;
        let (rows, ciphertexts) = (keys.on_device(), ciphertexts.on_device());
        let keys = key.unwrap_or(rows);
        let results = shared_secrets.on_device();
        match work {
            Work::Encapsulate => {
                let given = (seeds.on_device(), false);
                self.encapsulate_whole(&mut launches, batch, given, keys, results, ciphertexts);
            }
            Work::Decapsulate => {
                self.decapsulate_whole(&mut launches, batch, keys, ciphertexts, results);
            }
            Work::DecapsulateWithoutRejection => {
                let results = [results, rejected.on_device()];
                self.decapsulate_without_rejection(
                    &mut launches,
                    batch,
                    keys,
                    ciphertexts,
                    results,
                );
            }
        }
        launches.issue(&self.queue)
    }

    /// Returns the arrays with which all kernels begin that do whole decapsulations.
    fn inputs_of_decapsulation<'a>(
        &'a self,
        keys: &'a Q::Memory,
        ciphertexts: &'a Q::Memory,
    ) -> [&'a Q::Memory; 8] {
        let Buffers { copied_keys, copied_ciphertexts, decoded, messages, coins, .. } =
            &self.buffers;
        let DecapsulationKeyBuffers { f, encapsulation_key, .. } = decoded;
        let h = &encapsulation_key.h;
        [keys, ciphertexts, copied_keys, copied_ciphertexts, f, h, messages, coins]
    }

    /// Decapsulates with encoded keys in one launch, without implicit rejection. `results` are the
    /// shared secrets, and for each whether its ciphertext is rejected.
    fn decapsulate_without_rejection<'a>(
        &'a self,
        launches: &mut Launches<'a, Q>,
        batch: Batch,
        keys: &'a Q::Memory,
        ciphertexts: &'a Q::Memory,
        results: [&'a Q::Memory; 2],
    ) {
        let inputs = self.inputs_of_decapsulation(keys, ciphertexts);
        launches.add(
            self.set.encoding.decapsulate_without_rejection,
            &[&inputs[..], &results].concat(),
            batch,
        );
    }

    /// Decapsulates with encoded keys in one launch.
    fn decapsulate_whole<'a>(
        &'a self,
        launches: &mut Launches<'a, Q>,
        batch: Batch,
        keys: &'a Q::Memory,
        ciphertexts: &'a Q::Memory,
        results: &'a Q::Memory,
    ) {
        let Buffers { rejection_secrets, shared_secrets, .. } = &self.buffers;
        let inputs = self.inputs_of_decapsulation(keys, ciphertexts);
        let secrets: [&Q::Memory; 3] = [rejection_secrets, shared_secrets, results];
        launches.add(self.set.encoding.decapsulate, &[&inputs[..], &secrets].concat(), batch);
    }

    /// Computes the shared secrets of `ciphertexts`, and writes them to `shared_secrets`.
    pub(super) fn decapsulate<'a>(
        &'a self,
        launches: &mut Launches<'a, Q>,
        batch: Batch,
        key: &'a DecapsulationKeyBuffers<Q>,
        ciphertexts: &'a Q::Memory,
        shared_secrets: &'a Q::Memory,
    ) {
        let Buffers { messages, rejection_secrets, coins, .. } = &self.buffers;
        let DecapsulationKeyBuffers { f, z, encapsulation_key } = key;
        let ids = &encapsulation_key.ids;
        // The rejection hash is the longest hash, and it does not depend on the decryption.
        let reject = hashes::REJECTION_SECRET.of(launches.batch_len);
        let memory: [&Q::Memory; 4] = [ids, z, ciphertexts, rejection_secrets];
        launches.add_in(Order::Beside, reject, &memory, batch);
        self.decrypt(launches, batch, ciphertexts, f);
        launches.add(
            hashes::DERIVE_DECAPSULATION.of(launches.batch_len),
            &[messages, ids, shared_secrets, coins],
            batch,
        );
        self.verify(launches, batch, encapsulation_key, ciphertexts, shared_secrets);
    }

    /// Encrypts the messages again. Where the result differs from the received ciphertext,
    /// overwrites the shared secret with the rejection secret.
    fn verify<'a>(
        &'a self,
        launches: &mut Launches<'a, Q>,
        batch: Batch,
        key: &'a EncapsulationKeyBuffers<Q>,
        received: &'a Q::Memory,
        shared_secrets: &'a Q::Memory,
    ) {
        let Buffers { coins, messages, rejection_secrets, .. } = &self.buffers;
        let same_key = (&table::SAME_PUBLIC_KEY_VERIFY, self.set.matrix_decapsulation);
        let kernels = self.fused(batch, &table::FUSED_VERIFY, same_key);
        let memory: [&Q::Memory; 6] =
            [&key.h, coins, messages, received, rejection_secrets, shared_secrets];
        launches.add_in(Order::Join, kernels, &memory, batch);
    }

    /// Decrypts the ciphertexts with the secret polynomials `f` to messages.
    fn decrypt<'a>(
        &'a self,
        launches: &mut Launches<'a, Q>,
        batch: Batch,
        ciphertexts: &'a Q::Memory,
        f: &'a Array<u8, Q>,
    ) {
        let Buffers { messages, .. } = &self.buffers;
        let same_key = (&table::SAME_SECRET_KEY_DECRYPT, self.set.matrix_decapsulation);
        let kernels = self.fused(batch, &table::FUSED_DECRYPT, same_key);
        launches.add(kernels, &[ciphertexts, f, messages], batch);
    }

    /// Returns the fused kernels for a batch: `same_key` if the batch is multiplied [by a
    /// matrix](by_matrix), else `each`. A fused kernel does sampling, product, rounding and coding
    /// in one launch.
    fn fused(
        &self,
        batch: Batch,
        each: &'static RingKernels,
        (same_key, least): (&'static RingKernels, u32),
    ) -> &'static RingKernels {
        if by_matrix(batch, if self.as_large { 1 } else { least }) { same_key } else { each }
    }
}

/// Returns whether the operations of a batch are multiplied by the matrix of their key: if they
/// have one key, and there are at least `least` of them.
fn by_matrix(batch: Batch, least: u32) -> bool {
    batch.is_shared() && batch.operations() >= least
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use ctru_gpu_runtime::Device;
    use ctru_gpu_runtime::emulated::EmulatedDevice;

    use super::super::inversion::RootInversion;
    use super::super::powers::SharedMaps;
    use super::super::set::Set;
    use super::*;
    use crate::{Ciphertext, CtruPrime653, DecapsulationKey, ParameterSet};

    type P = CtruPrime653;

    /// A chunk of a large batch has the results of a small one, in pinned memory of the caller and
    /// in other memory.
    #[test]
    fn encapsulations_of_a_large_batch() {
        // More than 64 KiB of ciphertexts, which are sent to pinned memory of the caller.
        const COUNT: usize = 80;
        const LARGE: usize = 1 << 20;
        let device = EmulatedDevice::new();
        let queue = device.queue().unwrap();
        let roots = RootInversion { powers_max_chunk: 0, maps: SharedMaps::new() };
        let set = Set::of(P::PARAMETERS);
        let slot = Slot::new(queue, set, COUNT, false, roots, false);
        let mut slot = slot.unwrap();
        let key = DecapsulationKey::<P>::generate_deterministic(&[1; 32], &[2; 32]);
        let key = key.encapsulation_key();
        let seeds: Vec<_> = (0..COUNT as u8).map(|i| [i; 32]).collect();
        let expected: Vec<_> =
            seeds.iter().map(|seed| key.encapsulate_deterministic(seed)).collect();
        let bytes = COUNT * size_of::<Ciphertext<P>>();
        let mut pinned = device.register(vec![0; bytes]).unwrap();
        let mut pageable = vec![0; bytes];
        for ciphertexts in [&mut *pinned, &mut pageable] {
            let mut secrets = vec![SharedSecret::default(); COUNT];
            let queue = device.queue().unwrap();
            let done = queue.scope(|scope| {
                let keys = ChunkKeys::Host(key.as_ref(), None);
                let seeds = Seeds::Each(&seeds);
                let to = &mut *ciphertexts;
                let issued =
                    slot.issue_encapsulations(scope, keys, seeds, &(0..COUNT), LARGE, to)?;
                slot.finish(issued, &mut secrets)
            });
            assert_eq!(done, Ok(()));
            let rows = ciphertexts.chunks(bytes / COUNT).zip(&secrets);
            for ((row, found), (ciphertext, secret)) in rows.zip(&expected) {
                assert!(row == ciphertext.as_ref() && found == secret);
            }
        }
    }

    #[test]
    fn large_batches_with_one_key_take_its_matrix() {
        assert!(by_matrix(Batch::shared(8), 8) && by_matrix(Batch::shared(9), 8));
        assert!(!by_matrix(Batch::shared(7), 8) && !by_matrix(Batch::each(8), 8));
    }
}
