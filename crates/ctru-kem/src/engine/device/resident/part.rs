//! A chunk of a batch whose data is on the device, as kernels. No function here waits, except where
//! it says so, where `Queue::launch_all` does, and where the first key generation of a slot
//! prepares the inversion by powers.

use core::ops::Range;

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_runtime::{HostMemory, Plain, Queue, RuntimeError, Slice};

use super::run::Part;
use super::{ResidentSeeds, RowKeys};
use crate::engine::device::buffers::{
    Array, Buffers, DecapsulationKeyBuffers, EncapsulationKeyBuffers,
};
use crate::engine::device::check::Faults;
use crate::engine::device::kem::{Outcome, batch_of, expanding_blocks};
use crate::engine::device::slot::{OnDevice, Slot};
use crate::engine::{KEY_PAIR_SEED_BYTES, Seeds};
use crate::expand::Purpose;
use crate::hash::{SEED_BYTES, SHARED_SECRET_BYTES};

/// Rows of arrays of one chunk.
type Rows<'a, T, Q> = Slice<'a, T, <Q as Queue>::Memory>;

/// Where kernels read the seeds of a chunk.
enum Given<'a, Q: Queue> {
    /// Rows of the caller's array.
    Rows(Rows<'a, u64, Q>),
    /// The input from which a kernel expands the seeds.
    Expansion(&'a Q::Memory),
}

impl<Q: Queue> Given<'_, Q> {
    /// Returns the memory, and whether seeds are expanded from it.
    fn memory(&self) -> (&Q::Memory, bool) {
        match self {
            Self::Rows(rows) => (rows, false),
            Self::Expansion(expansion) => (expansion, true),
        }
    }
}

impl<Q: Queue> OnDevice<Q> {
    /// Returns rows of `row` bytes each as elements of type `T`.
    fn rows<'a, T: Plain>(
        &self,
        memory: &'a Q::Memory,
        row: usize,
        range: &Range<usize>,
    ) -> Result<Rows<'a, T, Q>, RuntimeError> {
        self.queue.slice(memory, range.start * row..range.end * row)
    }

    /// Returns the seeds of a chunk. Waits for the chunk before it in the slot if they are expanded
    /// from a master seed.
    fn seeds<'a, const N: usize>(
        &'a self,
        staged: &'a mut Q::Pinned<u64>,
        seeds: ResidentSeeds<'a, Q::Memory>,
        purpose: Purpose,
        range: &Range<usize>,
    ) -> Result<Given<'a, Q>, RuntimeError> {
        Ok(match seeds {
            ResidentSeeds::Each(seeds) => Given::Rows(self.rows(seeds, N, range)?),
            ResidentSeeds::Expand(expand) => {
                let seeds = Seeds::<N>::Expand(expand);
                let readers = expanding_blocks(range.len());
                Given::Expansion(self.bring_seeds(staged, seeds, purpose, range, readers)?)
            }
        })
    }

    /// Returns rows of `row` bytes each as kernels read them: in whole, aligned words of four
    /// bytes. The rows of the caller's array serve if they consist of such words; otherwise this is
    /// a copy of them in `copy`. Also returns whether it is the copy.
    fn words<'a>(
        &self,
        memory: &'a Q::Memory,
        row: usize,
        range: &Range<usize>,
        copy: &'a Array<u8, Q>,
    ) -> Result<(Rows<'a, u8, Q>, bool), RuntimeError> {
        // Kernels read whole words.
        let bytes = (range.len() * row).next_multiple_of(4);
        let (words, is_copy) = self.place(memory, range.start * row, bytes, copy)?;
        if is_copy {
            self.queue.copy(&*self.rows::<u8>(memory, row, range)?, copy)?;
        }
        Ok((words, is_copy))
    }

    /// Returns memory of `bytes` bytes that kernels can access in aligned words of four bytes. This
    /// is the caller's array from byte `start` on, or `other` if that part of the array is not
    /// aligned or not long enough. Also returns whether it is `other`.
    fn place<'a>(
        &self,
        memory: &'a Q::Memory,
        start: usize,
        bytes: usize,
        other: &'a Q::Memory,
    ) -> Result<(Rows<'a, u8, Q>, bool), RuntimeError> {
        if self.queue.slice::<u32>(memory, start..start).is_ok()
            && let Ok(own) = self.queue.slice(memory, start..start + bytes)
        {
            return Ok((own, false));
        }
        Ok((self.queue.slice(other, 0..bytes)?, true))
    }

    /// Copies rows of `row` bytes each to the caller's array, unless kernels have written them
    /// there.
    fn bring_rows(
        &self,
        (place, is_other): (&Rows<'_, u8, Q>, bool),
        to: &Q::Memory,
        row: usize,
        range: &Range<usize>,
    ) -> Outcome {
        if !is_other {
            return Ok(());
        }
        let made = self.queue.slice::<u8>(place, 0..range.len() * row)?;
        self.queue.copy(&made, &*self.rows::<u8>(to, row, range)?)
    }

    /// Returns encoded keys of `row` bytes each as [`words`](Self::words). The caller gives
    /// decapsulation keys to [`forget_copy`](Self::forget_copy) when it has launched the kernels
    /// that read them.
    fn keys<'a>(
        &'a self,
        keys: &'a Q::Memory,
        row: usize,
        range: &Range<usize>,
    ) -> Result<(Rows<'a, u8, Q>, bool), RuntimeError> {
        self.words(keys, row, range, &self.buffers.keys)
    }

    /// Wipes rows of decapsulation keys if they are a copy, also if the launch of the kernels that
    /// read them has failed. Returns the first error, that of the launch if there is one.
    fn forget_copy(&self, rows: &Rows<'_, u8, Q>, is_copy: bool, launched: Outcome) -> Outcome {
        let wiped = if is_copy { self.queue.wipe(rows) } else { Ok(()) };
        launched.and(wiped)
    }
}

impl<Q: Queue> Slot<Q> {
    /// Decodes and checks rows of encapsulation keys into newly allocated memory.
    pub(super) fn decode_encapsulation_rows(
        &mut self,
        keys: &Q::Memory,
        range: &Range<usize>,
    ) -> Result<EncapsulationKeyBuffers<Q>, RuntimeError> {
        let Self { device, pinned } = self;
        let (rows, _) = device.keys(keys, device.set.encapsulation_key_bytes, range)?;
        let decoded = EncapsulationKeyBuffers::new(&device.queue, device.set, range.len())?;
        device.check_encapsulation_keys(&rows, range.len(), &decoded, &mut pinned.faults)?;
        Ok(decoded)
    }

    /// Decodes and checks rows of decapsulation keys into newly allocated memory.
    pub(super) fn decode_decapsulation_rows(
        &mut self,
        keys: &Q::Memory,
        range: &Range<usize>,
    ) -> Result<DecapsulationKeyBuffers<Q>, RuntimeError> {
        let Self { device, pinned } = self;
        let (rows, is_copy) = device.keys(keys, device.set.decapsulation_key_bytes, range)?;
        let decoded = DecapsulationKeyBuffers::new(&device.queue, device.set, range.len())?;
        let launched =
            device.check_decapsulation_keys(&rows, range.len(), &decoded, &mut pinned.faults);
        device.forget_copy(&rows, is_copy, launched)?;
        Ok(decoded)
    }

    /// Generates the key pairs of a chunk, or the decapsulation keys alone.
    pub(super) fn generate_part(
        &mut self,
        part: &Part,
        seeds: ResidentSeeds<'_, Q::Memory>,
        encapsulation_keys: Option<&Q::Memory>,
        decapsulation_keys: &Q::Memory,
    ) -> Outcome {
        let Self { device, pinned } = self;
        let (range, set) = (&part.range, device.set);
        let (private_row, public_row) = (set.decapsulation_key_bytes, set.encapsulation_key_bytes);
        let Buffers { keys: other, products: other_public, .. } = &device.buffers;
        let count = range.len();
        // The kernel that copies public keys reads whole words of the private ones.
        let bytes = (count * private_row).next_multiple_of(4);
        let start = range.start * private_row;
        let (private, is_other) = device.place(decapsulation_keys, start, bytes, other)?;
        let start = range.start * public_row;
        let public = encapsulation_keys
            .map(|keys| device.place(keys, start, count * public_row, other_public))
            .transpose()?;
        let purpose = set.key_generation;
        let given =
            device.seeds::<KEY_PAIR_SEED_BYTES>(&mut pinned.seeds, seeds, purpose, range)?;
        let mut launches = device.launches(part.batch_len);
        device.generate(&mut launches, given.memory(), range.len(), &private)?;
        if let Some((public, _)) = &public {
            let all = Batch::each(range.len() as u32);
            launches.add(set.encoding.copy_encapsulation_key, &[&private, public], all);
        }
        let brought = launches.issue(&device.queue).and_then(|()| {
            if let (Some((public, is_other)), Some(to)) = (&public, encapsulation_keys) {
                device.bring_rows((public, *is_other), to, public_row, range)?;
            }
            device.bring_rows((&private, is_other), decapsulation_keys, private_row, range)
        });
        device.forget_copy(&private, is_other, brought)
    }

    /// Encapsulates for the operations of a chunk.
    pub(super) fn encapsulate_part(
        &mut self,
        part: &Part,
        keys: RowKeys<'_, Q, EncapsulationKeyBuffers<Q>>,
        seeds: ResidentSeeds<'_, Q::Memory>,
        ciphertexts: &Q::Memory,
        shared_secrets: &Q::Memory,
    ) -> Outcome {
        let Self { device, pinned } = self;
        let (range, set) = (&part.range, device.set);
        let other = &device.buffers.ciphertexts;
        let row = set.ciphertext_bytes;
        let (sent, is_other) =
            device.place(ciphertexts, range.start * row, range.len() * row, other)?;
        let secrets = device.rows::<u64>(shared_secrets, SHARED_SECRET_BYTES, range)?;
        let purpose = set.encapsulation;
        let given = device.seeds::<SEED_BYTES>(&mut pinned.seeds, seeds, purpose, range)?;
        let decoded = &device.buffers.decoded.encapsulation_key;
        let row = set.encapsulation_key_bytes;
        let (key, keys, encoded) = key_of(device, part, keys, row, decoded)?;
        let batch = batch_of(range.len(), keys);
        let mut launches = device.launches(part.batch_len);
        let keys = (key, keys, encoded.as_ref().map(|(rows, _)| &**rows));
        device.encapsulate(&mut launches, batch, keys, given.memory(), &sent, &secrets);
        launches.issue(&device.queue)?;
        device.bring_rows((&sent, is_other), ciphertexts, set.ciphertext_bytes, range)
    }

    /// Decapsulates the ciphertexts of a chunk.
    pub(super) fn decapsulate_part(
        &mut self,
        part: &Part,
        keys: RowKeys<'_, Q, DecapsulationKeyBuffers<Q>>,
        ciphertexts: &Q::Memory,
        shared_secrets: &Q::Memory,
    ) -> Outcome {
        let Self { device, .. } = self;
        let range = &part.range;
        let secrets = device.rows::<u64>(shared_secrets, SHARED_SECRET_BYTES, range)?;
        let copy = &device.buffers.ciphertexts;
        let (received, _) = device.words(ciphertexts, device.set.ciphertext_bytes, range, copy)?;
        let decoded = &device.buffers.decoded;
        let row = device.set.decapsulation_key_bytes;
        let (key, keys, encoded) = key_of(device, part, keys, row, decoded)?;
        let batch = batch_of(range.len(), keys);
        let mut launches = device.launches(part.batch_len);
        if let Some((rows, _)) = &encoded {
            device.decode_decapsulation_keys(&mut launches, rows, keys as usize, key);
        }
        device.decapsulate(&mut launches, batch, key, &received, &secrets);
        let launched = launches.issue(&device.queue);
        match &encoded {
            Some((rows, is_copy)) => device.forget_copy(rows, *is_copy, launched),
            None => launched,
        }
    }

    /// Decodes the encapsulation keys of a chunk in the slot, and checks them.
    pub(super) fn check_encapsulation_part(&mut self, part: &Part, keys: &Q::Memory) -> Outcome {
        let Self { device, pinned } = self;
        let (rows, _) = device.keys(keys, device.set.encapsulation_key_bytes, &part.range)?;
        let to = &device.buffers.decoded.encapsulation_key;
        device.check_encapsulation_keys(&rows, part.range.len(), to, &mut pinned.faults)
    }

    /// Decodes the decapsulation keys of a chunk in the slot, and checks them.
    pub(super) fn check_decapsulation_part(&mut self, part: &Part, keys: &Q::Memory) -> Outcome {
        let Self { device, pinned } = self;
        let (rows, is_copy) = device.keys(keys, device.set.decapsulation_key_bytes, &part.range)?;
        let to = &device.buffers.decoded;
        let launched =
            device.check_decapsulation_keys(&rows, part.range.len(), to, &mut pinned.faults);
        device.forget_copy(&rows, is_copy, launched)
    }

    /// Waits for the check of a chunk, and notes its first fault.
    pub(super) fn note_faults(&self, part: &Part, faults: &Faults) -> Outcome {
        let Range { start, end } = part.range;
        faults.note(start, &self.pinned.faults.read()?[..end - start]);
        Ok(())
    }
}

/// The memory for the decoded keys of a chunk, the number of keys, and, if they must still be
/// decoded, the encoded keys and whether these are a copy.
type KeysOf<'a, K, Q> = (&'a K, u32, Option<(Rows<'a, u8, Q>, bool)>);

/// Returns the keys of a chunk. Encoded keys have `row` bytes each, and must be decoded to
/// `decoded`.
fn key_of<'a, Q: Queue, K>(
    device: &'a OnDevice<Q>,
    part: &Part,
    keys: RowKeys<'a, Q, K>,
    row: usize,
    decoded: &'a K,
) -> Result<KeysOf<'a, K, Q>, RuntimeError> {
    let count = part.range.len() as u32;
    Ok(match keys {
        RowKeys::One(key) => (decoded, 1, Some(device.keys(key, row, &(0..1))?)),
        RowKeys::Each(rows) => (decoded, count, Some(device.keys(rows, row, &part.range)?)),
        RowKeys::Checked => (decoded, count, None),
        RowKeys::Loaded(loaded) => {
            let keys = if loaded.len() == 1 { 1 } else { count };
            (loaded.of(part.number, part.device), keys, None)
        }
    })
}
