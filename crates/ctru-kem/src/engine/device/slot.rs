//! A slot: the memory and queues of one chunk, and the copies between caller and device.

use core::ops::Range;
use std::vec::Vec;

use ctru_gpu_kernels::descriptor::{Batch, RingKernels};
use ctru_gpu_runtime::{HostMemory, Queue, RuntimeError};

use super::buffers::{Array, Buffers, Pinned, SEED};
use super::options::Products;
use super::powers::SharedMaps;
use super::prefetch::prefetch;
use super::set::Set;
use crate::engine::Seeds;
use crate::keys::SharedSecret;

/// The share of encapsulation keys, in eighths, that the device sends to pinned memory of the
/// caller. The host copies the others from the decapsulation keys, which contain them.
///
/// Sending all keys would overload the link between device and host. Copying all keys would
/// overload the threads of the host. On an H200 with 16 cores, two eighths give the highest rate.
pub(super) const SENT_OF_EIGHT: usize = 2;

/// The largest number of bytes that the host copies from pinned memory of the caller to pinned
/// memory of the slot. If there are more, the device reads them from the caller's memory while the
/// host waits, because this is faster for many bytes. On an H200, both ways take the same time at
/// 50 to 250 KB.
const COPIED_BYTES: usize = 64 << 10;

/// The memory and queues of one chunk.
pub(super) struct Slot<Q: Queue> {
    pub(super) device: OnDevice<Q>,
    pub(super) pinned: Pinned<Q>,
}

/// The queues and the device memory of a slot, with the parameter set and the kind of products for
/// its launches.
pub(super) struct OnDevice<Q: Queue> {
    pub(super) set: &'static Set,
    pub(super) products: Products,
    pub(super) queue: Q,
    /// A second queue, for kernels that run at the same time as those of `queue`.
    pub(super) auxiliary: Q,
    pub(super) buffers: Buffers<Q>,
}

/// Bytes to send, pinned memory of the slot in which the host can stage them, and the destination
/// on the device.
pub(super) type Sending<'a, Q> = (&'a [u8], &'a mut <Q as Queue>::Pinned<u8>, &'a Array<u8, Q>);

impl<Q: Queue> Slot<Q> {
    /// Allocates a slot for chunks of `chunk` operations.
    pub(super) fn new(
        [queue, auxiliary]: [Q; 2],
        set: &'static Set,
        chunk: usize,
        products: Products,
        maps: SharedMaps<Q>,
    ) -> Result<Self, RuntimeError> {
        // The device allocates first, because it reports missing memory at once. Pinning takes
        // seconds.
        let buffers = Buffers::new(&queue, set, chunk, maps)?;
        let pinned = Pinned::new(&queue, set, chunk)?;
        Ok(Self { device: OnDevice { set, products, queue, auxiliary, buffers }, pinned })
    }

    /// Calls `work`. If it fails, waits until both queues have finished, so that no operation is
    /// under way in the slot's memory when another chunk takes the slot.
    pub(super) fn settled<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, RuntimeError>,
    ) -> Result<T, RuntimeError> {
        let result = work(self);
        if result.is_err() {
            // The batch has failed already, so further errors are ignored.
            let _ = self.device.queue.synchronise();
            let _ = self.device.auxiliary.synchronise();
        }
        result
    }

    /// Waits for the shared secrets and writes them to the caller's memory.
    pub(super) fn read_secrets(&self, secrets: &mut [SharedSecret]) -> Result<(), RuntimeError> {
        SharedSecret::overwrite_all(secrets, self.pinned.shared_secrets.read()?);
        Ok(())
    }

    /// Waits for all operations on the queue, and writes the ciphertexts to the caller's memory.
    pub(super) fn receive_ciphertexts(&mut self, to: &mut [u8]) -> Result<(), RuntimeError> {
        let Self { device: OnDevice { queue, buffers, .. }, pinned } = self;
        let from = &buffers.ciphertexts;
        if queue.is_registered(to) {
            return queue.download_to(&mut [(from, to)]);
        }
        to.copy_from_slice(receive_staged(queue, from, &mut pinned.ciphertexts, to.len())?);
        Ok(())
    }

    /// Waits for the key pairs and writes them to the caller's memory. `encapsulation_keys` has one
    /// key for each decapsulation key, or it is empty.
    ///
    /// The device sends some of the encapsulation keys, and the host copies the others from the
    /// decapsulation keys; see [`SENT_OF_EIGHT`]. If the copies to pinned memory of the caller
    /// fail, their destinations are overwritten with placeholders.
    pub(super) fn receive_key_pairs(
        &mut self,
        encapsulation_keys: &mut [u8],
        decapsulation_keys: &mut [u8],
    ) -> Result<(), RuntimeError> {
        let Self { device, pinned } = self;
        let OnDevice { set, queue, buffers, .. } = &*device;
        let row = set.encapsulation_key_bytes;
        let zero_copy = queue.is_registered(decapsulation_keys);
        let sent = if zero_copy && queue.is_registered(encapsulation_keys) {
            SENT_OF_EIGHT * (encapsulation_keys.len() / row) / 8
        } else {
            0
        };
        let (sent_keys, copied_keys) = encapsulation_keys.split_at_mut(sent * row);
        // Key generation does not use the memory of ciphertexts, which is large enough for these
        // keys.
        let Buffers { keys, ciphertexts: encoded, products: h, .. } = buffers;
        if sent != 0 {
            device.launch(set.encoding.encode, &[h, encoded], Batch::each(sent as u32))?;
        }
        if zero_copy {
            let received =
                queue.download_to(&mut [(keys, decapsulation_keys), (encoded, sent_keys)]);
            if received.is_err() {
                (set.fill_decapsulation_keys)(decapsulation_keys);
                (set.fill_encapsulation_keys)(sent_keys);
            }
            received?;
        } else {
            let len = decapsulation_keys.len();
            decapsulation_keys.copy_from_slice(receive_staged(queue, keys, &mut pinned.keys, len)?);
        }
        let decapsulation_keys = &decapsulation_keys[sent * set.decapsulation_key_bytes..];
        copy_encapsulation_keys(set, decapsulation_keys, copied_keys);
        Ok(())
    }
}

impl<Q: Queue> OnDevice<Q> {
    /// Launches the kernel for the ring of the parameter set on the queue.
    pub(super) fn launch(
        &self,
        kernels: &'static RingKernels,
        memory: &[&Q::Memory],
        batch: Batch,
    ) -> Result<(), RuntimeError> {
        self.queue.launch(self.set.kernel(kernels), memory, batch)
    }

    /// Sends bytes to the device. More than [`COPIED_BYTES`] bytes in pinned memory of the caller
    /// are sent directly, and the host waits for all direct copies together. Other bytes are staged
    /// in pinned memory of the slot.
    pub(super) fn send<const N: usize>(
        &self,
        sendings: [Sending<'_, Q>; N],
    ) -> Result<(), RuntimeError> {
        let mut zero_copy = Vec::new();
        for (bytes, staged, to) in sendings {
            if bytes.len() > COPIED_BYTES && self.queue.is_registered(bytes) {
                zero_copy.push((bytes, to));
            } else {
                staged.write()?[..bytes.len()].copy_from_slice(bytes);
                self.queue.upload(staged, 0..bytes.len(), to, 0)?;
            }
        }
        if zero_copy.is_empty() { Ok(()) } else { self.queue.upload_from(&zero_copy) }
    }

    /// Writes the seeds of the operations `range` of a batch to the device. The caller gives the
    /// seeds, or the kernel `expand` derives them from a master seed.
    pub(super) fn write_seeds<const N: usize>(
        &self,
        pinned: &mut Pinned<Q>,
        seeds: Seeds<'_, N>,
        range: &Range<usize>,
        expand: &'static RingKernels,
    ) -> Result<(), RuntimeError> {
        let Buffers { master_seed, first, seeds: rows, .. } = &self.buffers;
        match seeds {
            Seeds::Each(seeds) => {
                let words = N / 8;
                let seeds = &seeds[range.clone()];
                for (seed, words) in seeds.iter().zip(pinned.seeds.write()?.chunks_exact_mut(words))
                {
                    bytes_to_words(seed, words);
                }
                self.queue.upload(&pinned.seeds, 0..words * seeds.len(), rows, 0)
            }
            Seeds::Expand(master) => {
                let staged = pinned.seeds.write()?;
                bytes_to_words(master, &mut staged[..SEED]);
                staged[SEED] = range.start as u64;
                self.queue.upload(&pinned.seeds, 0..SEED, master_seed, 0)?;
                self.queue.upload(&pinned.seeds, SEED..SEED + 1, first, 0)?;
                let memory: [&Q::Memory; 3] = [master_seed, first, rows];
                self.launch(expand, &memory, Batch::each(range.len() as u32))
            }
        }
    }

    /// Begins to copy the shared secrets of `count` operations to the host. Does not wait.
    pub(super) fn download_secrets(
        &self,
        pinned: &mut Pinned<Q>,
        count: usize,
    ) -> Result<(), RuntimeError> {
        let range = 0..count * SEED;
        self.queue.download(&self.buffers.shared_secrets, range, &mut pinned.shared_secrets, 0)
    }
}

/// Copies `len` bytes from the device to `staged`, waits for them and returns them.
fn receive_staged<'a, Q: Queue>(
    queue: &Q,
    from: &Array<u8, Q>,
    staged: &'a mut Q::Pinned<u8>,
    len: usize,
) -> Result<&'a [u8], RuntimeError> {
    queue.download(from, 0..len, staged, 0)?;
    Ok(&staged.read()?[..len])
}

/// Converts bytes to 64-bit words in little-endian order.
fn bytes_to_words<const BYTES: usize>(bytes: &[u8; BYTES], words: &mut [u64]) {
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
}

/// Copies the encapsulation keys inside the decapsulation keys `from` to `to`, until `to` is full.
///
/// The device has just written `from`, so the caches of the host do not hold it. The loop
/// prefetches the rows that it copies later. `host_copy_of_rows_gb_s` in
/// docs/benchmarks/h200-machine.json has the rates with and without the prefetch.
fn copy_encapsulation_keys(set: &Set, from: &[u8], to: &mut [u8]) {
    /// The distance in rows between the prefetch and the copy.
    const AHEAD: usize = 2;
    let (from_row, to_row) = (set.decapsulation_key_bytes, set.encapsulation_key_bytes);
    let key = |i: usize| from.get(i * from_row..)?.get(set.encapsulation_key.clone());
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
