//! Key generation, encapsulation and decapsulation of a chunk, as lists of launches (paper,
//! Algorithms 4 to 6). Each function adds to a list. A kernel takes its arrays in the order of the
//! list of kernels. `ntruprime` has what differs for Streamlined NTRU Prime.

use std::vec;
use std::vec::Vec;

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::{Order, Queue, RuntimeError};

use super::buffers::{Decoded, Scratch, Texts};
use super::launches::Launches;
use super::ntruprime;
use super::set::{Kind, SchemeKernels};

/// Where kernels read seeds.
pub(super) enum Seeds<'a, M> {
    /// One row for each operation.
    Each(&'a M),
    /// The input from which a kernel expands them.
    Expanded(&'a M),
}

/// Returns the batch of `count` operations with this number of keys. If it is 1, all operations
/// share the key; otherwise each has its own.
pub(super) fn batch_of(count: usize, keys: usize) -> Batch {
    if keys == 1 { Batch::shared(count as u32) } else { Batch::each(count as u32) }
}

/// Generates `count` decapsulation keys and writes them to `to`. The polynomials `h` remain in
/// the buffer `products`.
pub(super) fn generate<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    queue: &Q,
    scratch: &'a Scratch<Q>,
    (seeds, expanded): (Seeds<'a, Q::Memory>, &'a Q::Memory),
    count: usize,
    to: &'a Q::Memory,
) -> Result<(), RuntimeError> {
    let all = Batch::each(count as u32);
    let seeds = match seeds {
        Seeds::Each(seeds) => seeds,
        Seeds::Expanded(input) => {
            launches.add(&table::EXPAND_KEY_PAIR_SEEDS, &[input, expanded], all);
            expanded
        }
    };
    let SchemeKernels::CtruPrime(encoding) = launches.set.scheme else {
        return ntruprime::generate(launches, queue, scratch, (seeds, count), to);
    };
    let Scratch { coins, g_coins, operands, products, tree, decoded, .. } = scratch;
    let Decoded { f, z, .. } = decoded;
    launches.add(&table::DERIVE_KEY_PAIR, &[seeds, coins, g_coins, z], all);
    launches.add(&table::SAMPLE_SECRET, &[coins, f], all);
    tree.invert(launches, queue, count, f, operands, products)?;
    // h = g / f
    let memory: [&Q::Memory; 3] = [operands, g_coins, products];
    launches.add(&table::POLYPHASE_COINS, &memory, all);
    launches.add(encoding.pack_decapsulation_key, &[f, products, z, to], all);
    Ok(())
}

/// Encodes `h` to encapsulation keys. `memory` has the arrays of the kernel.
pub(super) fn encode<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    memory: &[&'a Q::Memory],
    all: Batch,
) {
    let kernels = match launches.set.scheme {
        SchemeKernels::CtruPrime(encoding) => encoding.encode,
        SchemeKernels::NtruPrime => &table::ENCODE_MIXED_RADIX,
    };
    launches.add(kernels, memory, all);
}

/// Decodes `count` keys. If they are `unchecked`, one word for each goes to `faults`.
pub(super) fn decode<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    kind: Kind,
    (rows, count): (&'a Q::Memory, usize),
    to: &'a Decoded<Q>,
    (unchecked, faults): (bool, &'a Q::Memory),
) {
    let all = Batch::each(count as u32);
    let Decoded { f, z, h, ids } = to;
    let SchemeKernels::CtruPrime(encoding) = launches.set.scheme else {
        return ntruprime::decode(launches, kind, (rows, count), to, faults);
    };
    let mut memory: Vec<&Q::Memory> = match kind {
        Kind::Encapsulation => vec![rows, h, ids],
        Kind::Decapsulation => vec![rows, f, h, ids, z],
    };
    if unchecked {
        memory.push(faults);
        launches.add(encoding.check(kind), &memory, all);
    } else {
        launches.add(encoding.decode(kind), &memory, all);
    }
}

/// Encapsulates to decoded keys.
pub(super) fn encapsulate<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    scratch: &'a Scratch<Q>,
    batch: Batch,
    key: &'a Decoded<Q>,
    (seeds, expanded): (Seeds<'a, Q::Memory>, &'a Q::Memory),
    Texts { ciphertexts, shared_secrets }: Texts<'a, Q::Memory>,
) {
    let Scratch { messages, coins, .. } = scratch;
    let Decoded { h, ids, .. } = key;
    let seeds = match seeds {
        Seeds::Each(seeds) => seeds,
        Seeds::Expanded(input) => {
            launches.add(&table::EXPAND_SEEDS, &[input, ids, expanded], batch);
            expanded
        }
    };
    if let SchemeKernels::NtruPrime = launches.set.scheme {
        let to = Texts { ciphertexts, shared_secrets };
        return ntruprime::encapsulate(launches, scratch, batch, key, seeds, to);
    }
    let derive = launches.hash(&table::DERIVE_ENCAPSULATION_MIDDLE, &table::DERIVE_ENCAPSULATION);
    launches.add(derive, &[seeds, ids, messages, shared_secrets, coins], batch);
    let encrypt = launches.product(&table::FUSED_ENCRYPT, &table::SAME_PUBLIC_KEY_ENCRYPT);
    launches.add(encrypt, &[h, coins, messages, ciphertexts], batch);
}

/// Encapsulates to encoded keys in one launch.
pub(super) fn encapsulate_whole<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    scratch: &'a Scratch<Q>,
    batch: Batch,
    keys: &'a Q::Memory,
    seeds: Seeds<'a, Q::Memory>,
    Texts { ciphertexts, shared_secrets }: Texts<'a, Q::Memory>,
) {
    let Scratch { copied_keys, decoded: Decoded { h, ids, .. }, messages, coins, .. } = scratch;
    let (seeds, kernels) = match seeds {
        Seeds::Each(seeds) => (seeds, &table::ENCAPSULATE_SEEDS_MIXED_RADIX),
        Seeds::Expanded(input) => (input, &table::ENCAPSULATE_MIXED_RADIX),
    };
    let memory: [&Q::Memory; 9] =
        [seeds, keys, copied_keys, ids, h, messages, coins, shared_secrets, ciphertexts];
    launches.add(kernels, &memory, batch);
}

/// Decapsulates with decoded keys.
pub(super) fn decapsulate<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    scratch: &'a Scratch<Q>,
    batch: Batch,
    key: &'a Decoded<Q>,
    Texts { ciphertexts, shared_secrets }: Texts<'a, Q::Memory>,
) {
    if let SchemeKernels::NtruPrime = launches.set.scheme {
        let texts = Texts { ciphertexts, shared_secrets };
        return ntruprime::decapsulate(launches, scratch, batch, key, texts);
    }
    let Scratch { messages, rejection_secrets, coins, .. } = scratch;
    let Decoded { f, z, h, ids } = key;
    // The rejection hash is the longest hash, and it does not depend on the decryption.
    let reject = launches.hash(&table::REJECTION_SECRET_MIDDLE, &table::REJECTION_SECRET);
    let memory: [&Q::Memory; 4] = [ids, z, ciphertexts, rejection_secrets];
    launches.add_in(Order::Beside, reject, &memory, batch);
    let decrypt = launches.product(&table::FUSED_DECRYPT, &table::SAME_SECRET_KEY_DECRYPT);
    launches.add(decrypt, &[ciphertexts, f, messages], batch);
    let derive = launches.hash(&table::DERIVE_DECAPSULATION_MIDDLE, &table::DERIVE_DECAPSULATION);
    launches.add(derive, &[messages, ids, shared_secrets, coins], batch);
    // Encrypts the messages again. Where the result differs from the received ciphertext,
    // overwrites the shared secret with the rejection secret.
    let verify = launches.product(&table::FUSED_VERIFY, &table::SAME_PUBLIC_KEY_VERIFY);
    let memory: [&Q::Memory; 6] =
        [h, coins, messages, ciphertexts, rejection_secrets, shared_secrets];
    launches.add_in(Order::Join, verify, &memory, batch);
}

/// Decapsulates with encoded keys in one launch. If there is an array `rejected`, the kernel
/// writes to it whether each ciphertext is rejected, and leaves the rejection to the host.
/// `accepted` is memory for shared secrets.
pub(super) fn decapsulate_whole<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    scratch: &'a Scratch<Q>,
    batch: Batch,
    keys: &'a Q::Memory,
    (accepted, rejected): (&'a Q::Memory, Option<&'a Q::Memory>),
    Texts { ciphertexts, shared_secrets }: Texts<'a, Q::Memory>,
) {
    let Scratch { copied_keys, copied_ciphertexts, decoded, messages, coins, .. } = scratch;
    let Decoded { f, h, .. } = decoded;
    let inputs: [&Q::Memory; 8] =
        [keys, ciphertexts, copied_keys, copied_ciphertexts, f, h, messages, coins];
    match rejected {
        Some(rejected) => {
            let memory = [&inputs[..], &[shared_secrets, rejected]].concat();
            launches.add(&table::RECOVER_MIXED_RADIX, &memory, batch);
        }
        None => {
            let memory =
                [&inputs[..], &[&*scratch.rejection_secrets, accepted, shared_secrets]].concat();
            launches.add(&table::DECAPSULATE_MIXED_RADIX, &memory, batch);
        }
    }
}
