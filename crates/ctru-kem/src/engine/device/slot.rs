//! A slot: the memory and the queue of one chunk, and the copies between caller and device.

use core::iter;
use core::ops::Range;

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_runtime::{HostMemory, Plain, Queue, RuntimeError};

use super::buffers::{Array, Buffers, EXPANSION, Pinned};
use super::inversion::RootInversion;
use super::launches::Launches;
use super::prefetch::prefetch;
use super::set::Set;
use super::stores::{self, Stores};
use super::words::bytes_to_words;
use crate::engine::Seeds;
use crate::expand::Purpose;
use crate::parameters::Parameters;

/// The share of encapsulation keys, in eighths, that the device sends to pinned memory of the
/// caller in a batch of more than [`SENT_LAST_BATCH`] operations. The host copies the others from
/// the decapsulation keys, which contain them.
///
/// Sending all keys would overload the link between device and host. Copying all keys would
/// overload the threads of the host. On an H200 with 16 cores, two eighths give the highest rate.
const SENT_OF_EIGHT: usize = 2;

/// The same share in an engine of several devices. Their links together carry more than the host's
/// memory takes, so the host's memory limits the rate, and the host should copy little. It then
/// also uses streaming stores. On four H100s, both together give 31 % more key pairs.
const SENT_OF_EIGHT_BY_SEVERAL: usize = 6;

// Key generation sends encapsulation keys from the device memory of ciphertexts, so these keys must
// fit into it.
const _: () = {
    let mut i = 0;
    while i < Parameters::ALL.len() {
        let sizes = Parameters::ALL[i].sizes();
        assert!(SENT_OF_EIGHT_BY_SEVERAL * sizes.encapsulation_key <= 8 * sizes.ciphertext);
        i += 1;
    }
};

/// The largest batch of key generation in which the device sends all encapsulation keys for which
/// it has room. Such a batch has only a few chunks, so few threads of the host could copy keys.
const SENT_BATCH: usize = 8192;

/// The largest batch of key generation in which the device sends the encapsulation keys of the last
/// sixteenth of the operations only. While the host copies the keys of other chunks, the device
/// generates and sends later chunks. After the last chunks the device would be idle.
const SENT_LAST_BATCH: usize = 65536;

/// The largest number of bytes that kernels read and write in pinned memory of the slot, without a
/// copy to or from the device's memory.
const DIRECT_BYTES: usize = 64 << 10;

/// The same for keys or ciphertexts of whole encapsulations, unless they lie in pinned memory of
/// the caller. On an H100, 1024 encapsulations with a key each take 16 % less time than with
/// copies, and those with one key 11 %.
const DIRECT_BYTES_OF_WHOLE: usize = 2 << 20;

/// The largest number of blocks that read the same bytes in pinned memory of the slot. Each block
/// reads them through the link between host and device.
const DIRECT_READERS: usize = 16;

/// The memory and the queue of one chunk.
pub(super) struct Slot<Q: Queue> {
    pub(super) device: OnDevice<Q>,
    pub(super) pinned: Pinned<Q>,
}

/// The queue and the device memory of a slot, with the parameter set for
/// its launches.
pub(super) struct OnDevice<Q: Queue> {
    pub(super) set: &'static Set,
    /// As [`DeviceOptions::as_large`](super::DeviceOptions::as_large).
    pub(super) as_large: bool,
    pub(super) queue: Q,
    /// Whether the engine has several devices.
    has_several: bool,
    pub(super) buffers: Buffers<Q>,
}

/// Pinned memory of the slot in which the host can stage bytes of the caller, and their array on
/// the device.
pub(super) type Places<'a, Q> = (&'a mut <Q as Queue>::Pinned<u8>, &'a Array<u8, Q>);

impl<Q: Queue> Slot<Q> {
    /// Allocates a slot for chunks of `chunk` operations, in an engine that has several devices or
    /// one.
    pub(super) fn new(
        queue: Q,
        set: &'static Set,
        chunk: usize,
        as_large: bool,
        roots: RootInversion<Q>,
        has_several: bool,
    ) -> Result<Self, RuntimeError> {
        // The device allocates first, because it reports missing memory at once. Pinning takes
        // seconds.
        let buffers = Buffers::new(&queue, set, chunk, roots)?;
        let pinned = Pinned::new(&queue, set, chunk)?;
        Ok(Self { device: OnDevice { set, as_large, queue, has_several, buffers }, pinned })
    }

    /// Overwrites all memory of the slot with zeros, and waits until that is done. If some memory
    /// fails, the rest is wiped all the same. Returns the first error.
    pub(super) fn wipe(&mut self) -> Result<(), RuntimeError> {
        let Pinned { keys, ciphertexts, seeds, shared_secrets, faults } = &mut self.pinned;
        let bytes = [keys, ciphertexts].map(HostMemory::wipe);
        let words = [seeds, shared_secrets, faults].map(HostMemory::wipe);
        let OnDevice { queue, buffers, .. } = &self.device;
        let on_device = buffers.memory().into_iter().map(|memory| queue.wipe(memory));
        let wiped = bytes.into_iter().chain(words).chain(on_device).fold(Ok(()), Result::and);
        wiped.and(queue.synchronise())
    }

    /// Calls `work`. If it fails or panics, waits until its queue has finished, so that no
    /// operation is under way in the slot's memory when another chunk takes the slot.
    pub(super) fn settled<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, RuntimeError>,
    ) -> Result<T, RuntimeError> {
        /// Waits for the queue when it is dropped, unless the work has succeeded.
        struct Settling<'a, Q: Queue> {
            slot: &'a mut Slot<Q>,
            has_succeeded: bool,
        }
        impl<Q: Queue> Drop for Settling<'_, Q> {
            fn drop(&mut self) {
                if !self.has_succeeded {
                    // The batch has failed already, so further errors are ignored.
                    let _ = self.slot.device.queue.synchronise();
                }
            }
        }
        let mut settling = Settling { slot: self, has_succeeded: false };
        let result = work(settling.slot);
        settling.has_succeeded = result.is_ok();
        result
    }
}

impl<Q: Queue> OnDevice<Q> {
    /// Returns an empty list of launches for a batch of `batch_len` operations.
    pub(super) fn launches<'a>(&self, batch_len: usize) -> Launches<'a, Q> {
        Launches::new(self.set, batch_len)
    }

    /// Returns whether kernels access keys or ciphertexts of encapsulations in pinned memory of the
    /// slot (zero-copy). `is_whole` says whether one kernel does whole encapsulations, so that it
    /// reads each key once and writes each ciphertext once.
    pub(super) fn is_zero_copy(&self, bytes: &[u8], is_whole: bool) -> bool {
        let may_be_many = is_whole && !self.queue.is_registered(bytes);
        is_direct(bytes.len()) || may_be_many && bytes.len() <= DIRECT_BYTES_OF_WHOLE
    }

    /// Makes bytes of the caller available to kernels, and returns the memory in which kernels read
    /// them. Does not wait. The batch has `batch_len` operations.
    ///
    /// The host copies the bytes to `staged`. If `is_zero_copy`, kernels read them there; otherwise
    /// the device copies them from there. An exception are bytes in pinned memory of the caller
    /// that are not zero-copy: the device copies them from the caller.
    pub(super) fn bring<'a, 'env>(
        &self,
        scope: &Q::Scope<'env>,
        bytes: &'env [u8],
        (staged, to): Places<'a, Q>,
        is_zero_copy: bool,
        batch_len: usize,
    ) -> Result<&'a Q::Memory, RuntimeError> {
        if !is_zero_copy && self.queue.is_registered(bytes) {
            self.queue.upload_from(scope, bytes, to)?;
            return Ok(to);
        }
        let kind = Stores::to_pinned(batch_len);
        stores::copy(kind, [(bytes, &mut staged.write()?[..bytes.len()])]);
        if is_zero_copy {
            return Ok(staged.on_device());
        }
        self.queue.upload(staged, 0..bytes.len(), to, 0)?;
        Ok(to)
    }

    /// Makes a key that all operations of a small batch share available to kernels, and returns the
    /// memory in which they read it. The key is read by `readers` blocks. Does not wait.
    pub(super) fn bring_key<'a>(
        &self,
        key: &[u8],
        (staged, to): Places<'a, Q>,
        readers: usize,
    ) -> Result<&'a Q::Memory, RuntimeError> {
        staged.write()?[..key.len()].copy_from_slice(key);
        if are_few(readers) {
            return Ok(staged.on_device());
        }
        self.queue.upload(staged, 0..key.len(), to, 0)?;
        Ok(to)
    }

    /// Makes the seeds of the operations `range` of a batch available to kernels, or the input from
    /// which a kernel expands them. Returns the memory in which kernels read either. `readers`
    /// blocks read this input.
    ///
    /// Call this function before kernels and other copies are issued. The device does the copies of
    /// all slots one after the other, so a small copy that is issued later may wait for keys of
    /// other slots.
    pub(super) fn bring_seeds<'a, const N: usize>(
        &'a self,
        staged: &'a mut Q::Pinned<u64>,
        seeds: Seeds<'_, N>,
        purpose: Purpose,
        range: &Range<usize>,
        readers: usize,
    ) -> Result<&'a Q::Memory, RuntimeError> {
        let Buffers { expansion, seeds: rows, .. } = &self.buffers;
        let words = staged.write()?;
        match seeds {
            Seeds::Each(seeds) => {
                let seeds = &seeds[range.clone()];
                for (seed, words) in seeds.iter().zip(words.chunks_exact_mut(N / 8)) {
                    bytes_to_words(seed, words);
                }
                let len = N / 8 * seeds.len();
                if is_direct(8 * len) {
                    return Ok(staged.on_device());
                }
                self.queue.upload(staged, 0..len, rows, 0)?;
                Ok(rows)
            }
            Seeds::Expand(expand) => {
                expand.write_words(purpose, range.start, &mut words[..EXPANSION]);
                if are_few(readers) {
                    return Ok(staged.on_device());
                }
                self.queue.upload(staged, 0..EXPANSION, expansion, 0)?;
                Ok(expansion)
            }
        }
    }

    /// Makes the `len` elements that kernels have written to the memory of [`target`] available to
    /// the host in `staged`. Does not wait.
    pub(super) fn fetch<T: Plain>(
        &self,
        is_zero_copy: bool,
        from: &Array<T, Q>,
        staged: &mut Q::Pinned<T>,
        len: usize,
    ) -> Result<(), RuntimeError> {
        if is_zero_copy { Ok(()) } else { self.queue.download(from, 0..len, staged, 0) }
    }

    /// Waits for the key pairs and writes them to the caller's memory. `encapsulation_keys` has one
    /// key for each decapsulation key, or it is empty.
    ///
    /// The device sends some of the encapsulation keys of the chunk, which are the operations
    /// `range`, and the host copies the others from the decapsulation keys; see [`sent_keys`]. If
    /// the copies to pinned memory of the caller fail, their destinations get placeholders. The
    /// batch has `batch_len` operations.
    pub(super) fn receive_key_pairs(
        &self,
        range: &Range<usize>,
        batch_len: usize,
        staged: &mut Q::Pinned<u8>,
        encapsulation_keys: &mut [u8],
        decapsulation_keys: &mut [u8],
    ) -> Result<(), RuntimeError> {
        let Self { set, queue, buffers, has_several, .. } = self;
        let row = set.encapsulation_key_bytes;
        let len = decapsulation_keys.len();
        let zero_copy = !is_direct(len) && queue.is_registered(decapsulation_keys);
        // Key generation does not use the memory of ciphertexts, which has room for the keys that
        // are sent.
        let Buffers { keys, ciphertexts: encoded, products: h, .. } = buffers;
        let has_keys = !encapsulation_keys.is_empty();
        let sent = match zero_copy && has_keys && queue.is_registered(encapsulation_keys) {
            false => 0,
            true => sent_keys(*has_several, batch_len, range, encoded.len() / row),
        };
        let (sent_keys, copied_keys) = encapsulation_keys.split_at_mut(sent * row);
        if sent != 0 {
            queue.launch(
                set.kernel(set.encoding.encode),
                &[h, encoded],
                Batch::each(sent as u32),
            )?;
        }
        if zero_copy {
            let received = queue.scope(|scope| {
                queue.download_to(scope, keys, decapsulation_keys)?;
                queue.download_to(scope, encoded, sent_keys)
            });
            if received.is_err() {
                (set.fill_decapsulation_keys)(decapsulation_keys);
                (set.fill_encapsulation_keys)(sent_keys);
            }
            received?;
            let decapsulation_keys = &decapsulation_keys[sent * set.decapsulation_key_bytes..];
            let kind = Stores::by_engine(*has_several);
            copy_encapsulation_keys(set, kind, decapsulation_keys, copied_keys);
            return Ok(());
        }
        self.fetch(is_direct(len), keys, staged, len)?;
        let staged = &staged.read()?[..len];
        match Stores::to_caller(batch_len) {
            Stores::Temporal => {
                decapsulation_keys.copy_from_slice(staged);
                let kind = Stores::Temporal;
                copy_encapsulation_keys(set, kind, decapsulation_keys, copied_keys);
            }
            Stores::Streaming => {
                copy_key_pairs_streaming(set, staged, copied_keys, decapsulation_keys);
            }
        }
        Ok(())
    }
}

/// Returns how many encapsulation keys of the chunk `range` the device sends. It has room for
/// `room` keys. The batch has `batch_len` operations, and the engine has several devices or one.
fn sent_keys(has_several: bool, batch_len: usize, range: &Range<usize>, room: usize) -> usize {
    let count = range.len();
    let sent = if batch_len <= SENT_BATCH {
        count
    } else if batch_len <= SENT_LAST_BATCH {
        range.end.saturating_sub(batch_len - batch_len / 16).min(count)
    } else {
        let share = if has_several { SENT_OF_EIGHT_BY_SEVERAL } else { SENT_OF_EIGHT };
        share * count / 8
    };
    sent.min(room)
}

/// Returns whether kernels access this many bytes in pinned memory of the host. More bytes are
/// copied from or to the device's memory.
pub(super) fn is_direct(bytes: usize) -> bool {
    bytes <= DIRECT_BYTES
}

/// Returns whether this number of blocks may read the same bytes in pinned memory of the slot.
pub(super) fn are_few(readers: usize) -> bool {
    readers <= DIRECT_READERS
}

/// Returns the memory to which kernels write results for the host: `staged` if `is_zero_copy`,
/// else `on_device`. [`OnDevice::fetch`] makes them available to the host.
pub(super) fn target<'a, T: Plain, Q: Queue>(
    is_zero_copy: bool,
    staged: &'a mut Q::Pinned<T>,
    on_device: &'a Array<T, Q>,
) -> &'a Q::Memory {
    if is_zero_copy { staged.on_device() } else { on_device }
}

/// Copies the encapsulation keys inside the decapsulation keys `from` to `to`, until `to` is full.
///
/// The device has just written `from`, so the caches of the host do not hold it. The loop
/// prefetches the rows that it copies later, without which the copies take longer.
fn copy_encapsulation_keys(set: &Set, kind: Stores, from: &[u8], to: &mut [u8]) {
    /// The distance in rows between the prefetch and the copy.
    const AHEAD: usize = 2;
    let (from_row, to_row) = (set.decapsulation_key_bytes, set.encapsulation_key_bytes);
    let key = |i: usize| from.get(i * from_row..)?.get(set.encapsulation_key.clone());
    if kind == Stores::Streaming {
        let keys = (0..to.len() / to_row).map_while(|i| {
            key(i + AHEAD).inspect(|later| prefetch(later));
            key(i)
        });
        return stores::copy(kind, keys.zip(to.chunks_exact_mut(to_row)));
    }
    for i in 0..to.len() / to_row {
        let later = (i + AHEAD) * to_row;
        if let (Some(from), Some(to)) = (key(i + AHEAD), to.get(later..later + to_row)) {
            prefetch(from);
            prefetch(to);
        }
        if let Some(from) = key(i) {
            to[i * to_row..][..to_row].copy_from_slice(from);
        }
    }
}

/// Copies the decapsulation keys `from` to `to`, and the encapsulation keys inside them to
/// `encapsulation_keys`, which has one key for each of them or is empty. Streaming stores leave no
/// copy of `to` in the caches, so both copies read `from`.
fn copy_key_pairs_streaming(set: &Set, from: &[u8], encapsulation_keys: &mut [u8], to: &mut [u8]) {
    /// Rows of a block, which the caches hold until it has been read twice.
    const ROWS: usize = 8;
    if encapsulation_keys.is_empty() {
        return stores::copy(Stores::Streaming, [(from, to)]);
    }
    let (from_row, to_row) = (set.decapsulation_key_bytes, set.encapsulation_key_bytes);
    debug_assert_eq!(from.len() / from_row, encapsulation_keys.len() / to_row);
    let blocks = from.chunks(ROWS * from_row).zip(to.chunks_mut(ROWS * from_row));
    let blocks = blocks.zip(encapsulation_keys.chunks_mut(ROWS * to_row));
    stores::copy(
        Stores::Streaming,
        blocks.flat_map(|((from, to), keys)| {
            let inside = from.chunks_exact(from_row).map(|row| &row[set.encapsulation_key.clone()]);
            iter::once((from, to)).chain(inside.zip(keys.chunks_exact_mut(to_row)))
        }),
    );
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use super::*;
    use crate::{CtruPrime653, ParameterSet};

    #[test]
    fn small_batches_send_all_keys_that_have_room() {
        assert_eq!(sent_keys(false, SENT_BATCH, &(4096..8192), 7000), 4096);
        assert_eq!(sent_keys(false, SENT_BATCH, &(0..4096), 4000), 4000);
        assert_eq!(sent_keys(true, 1, &(0..0), 0), 0);
    }

    #[test]
    fn middle_batches_send_keys_of_the_last_chunks() {
        const WHOLE: usize = 16384;
        let sent = |range| sent_keys(false, WHOLE, &range, 7000);
        assert_eq!([sent(0..2048), sent(12288..14336), sent(14336..WHOLE)], [0, 0, 1024]);
        assert_eq!([sent(15872..WHOLE), sent(8192..WHOLE)], [512, 1024]);
        assert_eq!(sent_keys(false, WHOLE, &(14336..WHOLE), 1000), 1000);
    }

    #[test]
    fn large_batches_send_a_share_of_each_chunk() {
        const WHOLE: usize = SENT_LAST_BATCH + 1;
        assert_eq!(sent_keys(false, WHOLE, &(0..4096), 7000), 1024);
        assert_eq!(sent_keys(true, WHOLE, &(0..4096), 7000), 3072);
        assert_eq!(sent_keys(false, WHOLE, &(0..4096), 1000), 1000);
    }

    #[test]
    fn all_ways_to_copy_key_pairs_agree() {
        let set = Set::of(<CtruPrime653>::PARAMETERS);
        let (row, inner) = (set.decapsulation_key_bytes, set.encapsulation_key_bytes);
        for count in [1, 7, 8, 9, 20] {
            let from: Vec<u8> = (0..count * row).map(|i| (i * i / 7) as u8).collect();
            let expected: Vec<u8> = from
                .chunks_exact(row)
                .flat_map(|row| row[set.encapsulation_key.clone()].iter().copied())
                .collect();
            for kind in [Stores::Temporal, Stores::Streaming] {
                let mut inside = vec![0; count * inner];
                copy_encapsulation_keys(set, kind, &from, &mut inside);
                assert!(inside == expected, "{count} {kind:?}");
            }
            for keys in [0, count] {
                let (mut to, mut inside) = (vec![0; from.len()], vec![0; keys * inner]);
                copy_key_pairs_streaming(set, &from, &mut inside, &mut to);
                assert!(to == from && inside == expected[..keys * inner], "{count} {keys}");
            }
        }
    }
}
