//! What happens to a chunk in its slot: the scheme as a sequence of copies and kernels.

use core::ops::Range;
use std::vec::Vec;

use ctru_gpu_kernels::descriptor::{Batch, RingKernels};
use ctru_gpu_kernels::kernels::SEED_WORDS;
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::{HostMemory, Queue, RuntimeError};

use super::arrays::{Array, Arrays, Pinned, PrivateArrays, PublicArrays, Slot, level_sizes};
use super::keys::ChunkKeys;
use super::products::Launches;
use super::rows;
use crate::engine::{KEY_PAIR_SEED_BYTES, Seeds};
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::{ParameterSet, PublicKeyEncoding, SEED_BYTES};

/// The kernels that know a public-key encoding.
#[derive(Copy, Clone, Debug)]
pub struct KeyKernels {
    /// Encapsulation keys to `h` and `ID(pk)`.
    pub(crate) decode: &'static RingKernels,
    /// Decapsulation keys to their parts.
    pub(crate) unpack_secret_key: &'static RingKernels,
    /// `h` to encapsulation keys.
    pub(crate) encode: &'static RingKernels,
    /// Parts to decapsulation keys.
    pub(crate) pack_secret_key: &'static RingKernels,
}

/// The kernels of [`MixedRadix`](crate::MixedRadix).
pub(crate) static MIXED_RADIX_KERNELS: KeyKernels = KeyKernels {
    decode: &table::DECODE_MIXED_RADIX,
    unpack_secret_key: &table::UNPACK_SECRET_KEY_MIXED_RADIX,
    encode: &table::ENCODE_MIXED_RADIX,
    pack_secret_key: &table::PACK_SECRET_KEY_MIXED_RADIX,
};

/// The kernels of [`Packed13`](crate::Packed13).
pub(crate) static PACKED13_KERNELS: KeyKernels = KeyKernels {
    decode: &table::DECODE_PACKED13,
    unpack_secret_key: &table::UNPACK_SECRET_KEY_PACKED13,
    encode: &table::ENCODE_PACKED13,
    pack_secret_key: &table::PACK_SECRET_KEY_PACKED13,
};

/// Up to this many operations a warp hashes a state; beyond it, a thread does. On an H200 the
/// warp is faster at 1024, the thread at 4096.
const SMALL_BATCH: usize = 2048;

/// Of eight public keys, those that travel from the device to memory of the caller that is pinned. For all of them there is no room
/// on the link, and the host's threads cannot copy all of them as fast; on an H200 and 16 cores two give most.
const SENT_OF_EIGHT: usize = 2;

/// Bytes for an array of the device, and pinned memory for them.
type Sending<'a, Q> = (&'a [u8], &'a mut <Q as Queue>::Pinned<u8>, &'a Array<u8, Q>);

/// Up to this many bytes the host copies into pinned memory of its own in less time than it takes to wait until the device has
/// fetched them; measured on an H200 between 50 and 250 KB.
const COPIED_BYTES: usize = 64 << 10;

/// Sends bytes to the device: from where they lie if that is pinned and they are many, else through the pinned memory beside them. The
/// host waits for the former, once for all.
fn send<Q: Queue, const N: usize>(
    queue: &Q,
    sendings: [Sending<'_, Q>; N],
) -> Result<(), RuntimeError> {
    let mut straight = Vec::new();
    for (bytes, staged, to) in sendings {
        if bytes.len() > COPIED_BYTES && queue.is_registered(bytes) {
            straight.push((bytes, to));
        } else {
            staged.write()?[..bytes.len()].copy_from_slice(bytes);
            queue.upload(staged, 0..bytes.len(), to, 0)?;
        }
    }
    if straight.is_empty() { Ok(()) } else { queue.upload_from(&straight) }
}

/// Receives bytes from the device in `staged`, and waits for them.
fn receive_staged<'a, Q: Queue>(
    queue: &Q,
    from: &Array<u8, Q>,
    staged: &'a mut Q::Pinned<u8>,
    len: usize,
) -> Result<&'a [u8], RuntimeError> {
    queue.download(from, 0..len, staged, 0)?;
    Ok(&staged.read()?[..len])
}

fn bytes_to_words<const BYTES: usize>(bytes: &[u8; BYTES], words: &mut [u64]) {
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
}

impl<P: ParameterSet, Q: Queue> Slot<P, Q> {
    /// Decodes keys into memory of their own, and waits until that is done.
    pub(super) fn load_public(
        &mut self,
        keys: &[EncapsulationKey<P>],
    ) -> Result<PublicArrays<Q>, RuntimeError> {
        let decoded = PublicArrays::new::<P>(&self.queue, keys.len())?;
        decode_public(&self.queue, &mut self.pinned, &self.arrays, keys, &decoded)?;
        self.queue.synchronise()?;
        Ok(decoded)
    }

    /// Decodes keys into memory of their own, and waits until that is done.
    pub(super) fn load_private(
        &mut self,
        keys: &[DecapsulationKey<P>],
    ) -> Result<PrivateArrays<Q>, RuntimeError> {
        let Self { queue, pinned, arrays, .. } = self;
        let decoded = PrivateArrays::new::<P>(queue, keys.len())?;
        send(queue, [(rows::bytes(keys), &mut pinned.keys, &arrays.keys)])?;
        unpack::<P, Q>(queue, arrays, keys.len(), &decoded)?;
        queue.synchronise()?;
        Ok(decoded)
    }

    /// Generates the key pairs `range` of a batch. There is a public key for each of them, or none.
    pub(super) fn generate(
        &mut self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        range: &Range<usize>,
        public_keys: &mut [EncapsulationKey<P>],
        private_keys: &mut [DecapsulationKey<P>],
    ) -> Result<(), RuntimeError> {
        let Self { queue, pinned, arrays, .. } = self;
        let all = Batch::each(range.len() as u32);
        let run = |kernels: &RingKernels, memory: &[&Q::Memory]| {
            queue.launch(kernels.of::<P::Ring>(), memory, all)
        };
        let Arrays { seeds: seed_rows, coins, more_coins, small, operands, products, .. } =
            &*arrays;
        let PrivateArrays { f, z, .. } = &arrays.private;
        write_seeds::<P, Q, _>(queue, pinned, arrays, seeds, range, &table::EXPAND_KEY_PAIR_SEEDS)?;
        run(&table::DERIVE_KEY_PAIR, &[seed_rows, coins, more_coins, z])?;
        run(&table::SAMPLE_SECRET, &[coins, f])?;
        run(&table::SAMPLE, &[more_coins, small])?;
        invert::<P, Q>(queue, arrays, range.len())?;
        run(&table::POLYPHASE_SMALL, &[operands, small, products])?;
        run(P::Encoding::KERNELS.pack_secret_key, &[f, products, z, &arrays.keys])?;

        receive_key_pairs(queue, pinned, arrays, public_keys, private_keys)
    }

    /// Encapsulates for the operations `range` of a batch.
    pub(super) fn encapsulate(
        &mut self,
        keys: ChunkKeys<'_, EncapsulationKey<P>, PublicArrays<Q>>,
        seeds: Seeds<'_, SEED_BYTES>,
        range: &Range<usize>,
        ciphertexts: &mut [Ciphertext<P>],
        secrets: &mut [SharedSecret],
    ) -> Result<(), RuntimeError> {
        let Self { queue, pinned, arrays, products, .. } = self;
        let multiplier = products.multiplier::<P, Q>();
        let count = range.len();
        let (public, keys) = match keys {
            ChunkKeys::Device(public, keys) => (public, keys),
            ChunkKeys::Host(keys) => {
                let public = &arrays.private.public;
                decode_public(queue, pinned, arrays, keys, public)?;
                (public, keys.len() as u32)
            }
        };
        let batch = batch_of(count, keys);
        let Arrays { seeds: seed_rows, messages, shared_secrets, coins, .. } = &*arrays;
        write_seeds::<P, Q, _>(queue, pinned, arrays, seeds, range, &table::EXPAND_SEEDS)?;
        let derive =
            by_size(count, &table::DERIVE_ENCAPSULATION_SMALL, &table::DERIVE_ENCAPSULATION);
        queue.launch(
            derive.of::<P::Ring>(),
            &[seed_rows, &public.ids, messages, shared_secrets, coins],
            batch,
        )?;
        multiplier.encrypt(&Launches { queue, arrays, batch }, public, &arrays.ciphertexts)?;

        queue.download(
            shared_secrets,
            0..count * SEED_WORDS as usize,
            &mut pinned.shared_secrets,
            0,
        )?;
        // Both ways of fetching the ciphertexts wait for all operations before, so the secrets have
        // arrived when the caller's ciphertexts are written.
        let (from, to) = (&arrays.ciphertexts, rows::bytes_mut(ciphertexts));
        if queue.is_registered(to) {
            queue.download_to(&mut [(from, to)])?;
        } else {
            to.copy_from_slice(receive_staged(queue, from, &mut pinned.ciphertexts, to.len())?);
        }
        read_secrets(pinned, secrets)
    }

    /// Decapsulates a chunk.
    pub(super) fn decapsulate(
        &mut self,
        keys: ChunkKeys<'_, DecapsulationKey<P>, PrivateArrays<Q>>,
        ciphertexts: &[Ciphertext<P>],
        secrets: &mut [SharedSecret],
    ) -> Result<(), RuntimeError> {
        let Self { queue, side, pinned, arrays, products, .. } = self;
        let multiplier = products.multiplier::<P, Q>();
        let count = ciphertexts.len();
        let sent = (rows::bytes(ciphertexts), &mut pinned.ciphertexts, &arrays.ciphertexts);
        let (private, keys) = match keys {
            ChunkKeys::Device(private, keys) => {
                send(queue, [sent])?;
                (private, keys)
            }
            ChunkKeys::Host(keys) => {
                send(queue, [(rows::bytes(keys), &mut pinned.keys, &arrays.keys), sent])?;
                unpack::<P, Q>(queue, arrays, keys.len(), &arrays.private)?;
                (&arrays.private, keys.len() as u32)
            }
        };
        let batch = batch_of(count, keys);
        let Arrays {
            ciphertexts: received,
            messages,
            shared_secrets,
            rejection_secrets,
            coins,
            ..
        } = &*arrays;
        let PrivateArrays { f, z, public } = private;

        let reject = by_size(count, &table::REJECTION_SECRET_SMALL, &table::REJECTION_SECRET);
        // The longest hash of all waits for nothing but its input. In large batches other slots do something beside it anyway.
        let beside = count <= SMALL_BATCH;
        let hashing = if beside { &*side } else { &*queue };
        if beside {
            hashing.follow(queue)?;
        }
        hashing.launch(
            reject.of::<P::Ring>(),
            &[&public.ids, z, received, rejection_secrets],
            batch,
        )?;
        let launches = Launches { queue, arrays, batch };
        multiplier.decrypt(&launches, f, received)?;
        let derive =
            by_size(count, &table::DERIVE_DECAPSULATION_SMALL, &table::DERIVE_DECAPSULATION);
        queue.launch(
            derive.of::<P::Ring>(),
            &[messages, &public.ids, shared_secrets, coins],
            batch,
        )?;
        if beside {
            queue.follow(hashing)?;
        }
        multiplier.verify(&launches, public, received)?;

        queue.download(
            shared_secrets,
            0..count * SEED_WORDS as usize,
            &mut pinned.shared_secrets,
            0,
        )?;
        read_secrets(pinned, secrets)
    }
}

/// Returns the batch of `count` operations with one key or with one key each.
fn batch_of(count: usize, keys: u32) -> Batch {
    if keys == 1 { Batch::shared(count as u32) } else { Batch::each(count as u32) }
}

/// The kernels for a batch of `count` operations.
fn by_size(
    count: usize,
    small: &'static RingKernels,
    large: &'static RingKernels,
) -> &'static RingKernels {
    if count <= SMALL_BATCH { small } else { large }
}

/// Sends keys to the device and decodes them there.
fn decode_public<P: ParameterSet, Q: Queue>(
    queue: &Q,
    pinned: &mut Pinned<Q>,
    arrays: &Arrays<Q>,
    keys: &[EncapsulationKey<P>],
    to: &PublicArrays<Q>,
) -> Result<(), RuntimeError> {
    send(queue, [(rows::bytes(keys), &mut pinned.keys, &arrays.keys)])?;
    let decode = P::Encoding::KERNELS.decode.of::<P::Ring>();
    queue.launch(decode, &[&arrays.keys, &to.h, &to.ids], Batch::each(keys.len() as u32))
}

/// Decodes `count` private keys that have been sent.
fn unpack<P: ParameterSet, Q: Queue>(
    queue: &Q,
    arrays: &Arrays<Q>,
    count: usize,
    to: &PrivateArrays<Q>,
) -> Result<(), RuntimeError> {
    let unpack = P::Encoding::KERNELS.unpack_secret_key.of::<P::Ring>();
    let PrivateArrays { f, z, public } = to;
    queue.launch(unpack, &[&arrays.keys, f, &public.h, &public.ids, z], Batch::each(count as u32))
}

/// Puts the seeds of the operations `range` into their rows: from the host, or made on the device by `expand`.
fn write_seeds<P: ParameterSet, Q: Queue, const N: usize>(
    queue: &Q,
    pinned: &mut Pinned<Q>,
    arrays: &Arrays<Q>,
    seeds: Seeds<'_, N>,
    range: &Range<usize>,
    expand: &RingKernels,
) -> Result<(), RuntimeError> {
    match seeds {
        Seeds::Each(seeds) => {
            let words = N / 8;
            let seeds = &seeds[range.clone()];
            for (seed, words) in seeds.iter().zip(pinned.seeds.write()?.chunks_exact_mut(words)) {
                bytes_to_words(seed, words);
            }
            queue.upload(&pinned.seeds, 0..words * seeds.len(), &arrays.seeds, 0)
        }
        Seeds::Expand(master) => {
            let words = SEED_WORDS as usize;
            let staged = pinned.seeds.write()?;
            bytes_to_words(master, &mut staged[..words]);
            staged[words] = range.start as u64;
            queue.upload(&pinned.seeds, 0..words, &arrays.master_seed, 0)?;
            queue.upload(&pinned.seeds, words..words + 1, &arrays.first, 0)?;
            let memory: [&Q::Memory; 3] = [&arrays.master_seed, &arrays.first, &arrays.seeds];
            queue.launch(expand.of::<P::Ring>(), &memory, Batch::each(range.len() as u32))
        }
    }
}

/// Puts the inverses of the `count` secrets `f` into `operands`: of their products in a tree only the roots are inverted.
fn invert<P: ParameterSet, Q: Queue>(
    queue: &Q,
    arrays: &Arrays<Q>,
    count: usize,
) -> Result<(), RuntimeError> {
    let run = |kernels: &RingKernels, memory: &[&Q::Memory], count: usize| {
        queue.launch(kernels.of::<P::Ring>(), memory, Batch::each(count as u32))
    };
    let Arrays { private: PrivateArrays { f, .. }, tree, operands, products, .. } = arrays;
    let sizes: Vec<usize> = level_sizes(count).collect();
    run(&table::MULTIPLY_LEAVES, &[f, &tree[0]], count)?;
    for level in 1..sizes.len() {
        run(&table::MULTIPLY_NODES, &[&tree[level - 1], &tree[level]], sizes[level - 1])?;
    }
    // Inverses lie in the two arrays by turns, those of the leaves in `operands`.
    let inverses = |level: usize| if level.is_multiple_of(2) { products } else { operands };
    let top = sizes.len() - 1;
    run(&table::INVERT, &[&tree[top], inverses(top)], sizes[top])?;
    for level in (0..top).rev() {
        run(
            &table::DIVIDE_NODES,
            &[inverses(level + 1), &tree[level], inverses(level)],
            sizes[level],
        )?;
    }
    run(&table::DIVIDE_LEAVES, &[inverses(0), f, operands], count)
}

/// Receives the private keys that have been packed, and with them the public keys, if they are wanted: from the device or from the
/// private keys, which contain them.
fn receive_key_pairs<P: ParameterSet, Q: Queue>(
    queue: &Q,
    pinned: &mut Pinned<Q>,
    arrays: &Arrays<Q>,
    public_keys: &mut [EncapsulationKey<P>],
    private_keys: &mut [DecapsulationKey<P>],
) -> Result<(), RuntimeError> {
    let straight = queue.is_registered(rows::bytes(private_keys));
    let both = straight && queue.is_registered(rows::bytes(public_keys));
    let sent = if both { SENT_OF_EIGHT * public_keys.len() / 8 } else { 0 };
    let (sent, copied) = public_keys.split_at_mut(sent);
    // There are no ciphertexts now.
    const { assert!(SENT_OF_EIGHT * P::ENCAPSULATION_KEY_BYTES <= 8 * P::CIPHERTEXT_BYTES) };
    let Arrays { keys, ciphertexts: encoded, products: h, .. } = arrays;
    if !sent.is_empty() {
        let encode = P::Encoding::KERNELS.encode.of::<P::Ring>();
        queue.launch(encode, &[h, encoded], Batch::each(sent.len() as u32))?;
    }
    if straight {
        rows::overwrite(private_keys, |private| {
            rows::overwrite(sent, |public| {
                queue.download_to(&mut [(keys, private), (encoded, public)])
            })
        })?;
    } else {
        let len = rows::bytes(private_keys).len();
        let staged = receive_staged(queue, keys, &mut pinned.keys, len)?;
        rows::overwrite(private_keys, |private| {
            private.copy_from_slice(staged);
            Ok::<_, RuntimeError>(())
        })?;
    }
    copy_public_keys(&private_keys[sent.len()..], copied);
    Ok(())
}

/// Copies public keys out of private ones, which contain them.
fn copy_public_keys<P: ParameterSet>(from: &[DecapsulationKey<P>], to: &mut [EncapsulationKey<P>]) {
    // Rows asked for in advance; `host_copy_of_rows_gb_s` in docs/benchmarks/h200-machine.json says what it gives.
    const AHEAD: usize = 2;
    for i in 0..to.len() {
        if let (Some(private), Some(public)) = (from.get(i + AHEAD), to.get(i + AHEAD)) {
            rows::prefetch(private.public_bytes());
            rows::prefetch(public.as_bytes());
        }
        to[i].overwrite(from[i].public_bytes());
    }
}

/// Waits for the shared secrets of a chunk and hands them out.
fn read_secrets<Q: Queue>(
    pinned: &Pinned<Q>,
    secrets: &mut [SharedSecret],
) -> Result<(), RuntimeError> {
    for (secret, words) in
        secrets.iter_mut().zip(pinned.shared_secrets.read()?.chunks_exact(SEED_WORDS as usize))
    {
        secret.overwrite(words);
    }
    Ok(())
}
