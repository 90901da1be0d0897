//! Key generation, encapsulation and decapsulation of a chunk, as lists of launches (paper,
//! Algorithms 4 to 6). Each function adds to a list. `ntruprime` has what differs for Streamlined
//! NTRU Prime.

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::{Order, Queue};

use super::buffers::{Decoded, Scratch, Seeds, Steps, Texts};
use super::launches::Launches;
use super::ntruprime;
use super::set::Kind;

/// Returns the batch of `count` operations with this number of keys. If it is 1, all operations
/// share the key; otherwise each has its own.
pub(super) fn batch_of(count: usize, keys: usize) -> Batch {
    if keys == 1 { Batch::shared(count as u32) } else { Batch::each(count as u32) }
}

/// Generates decapsulation keys and writes them to `to`. The polynomials `h` remain in the buffer
/// `products`.
pub(super) fn generate<'a, Q: Queue>(
    Steps { launches, scratch, batch }: Steps<'_, 'a, Q>,
    queue: &Q,
    Seeds { given, expand_to }: &'a Seeds<'a, Q>,
    to: &'a Q::Memory,
) {
    let seeds = expand_to.unwrap_or(given);
    if expand_to.is_some() {
        let arrays = table::EXPAND_KEY_PAIR_SEEDS::<Q::Memory> { expansion: given, seeds };
        launches.add(arrays, batch);
    }
    if launches.set.is_ntru_prime {
        return ntruprime::generate(Steps { launches, scratch, batch }, queue, seeds, to);
    }
    let Scratch { coins, g_coins, operands, products, tree, decoded, .. } = scratch;
    let Decoded { f, z, .. } = decoded;
    let drawn = table::DERIVE_KEY_PAIR::<Q::Memory> { seeds, f_coins: coins, g_coins, z };
    launches.add(drawn, batch);
    launches.add(table::SAMPLE_SECRET::<Q::Memory> { coins, secret: f }, batch);
    tree.invert(launches, queue, batch.operations() as usize, f, operands, products);
    // h = g / f
    let (large, coins, product) = (operands, g_coins, products);
    launches.add(table::POLYPHASE_COINS::<Q::Memory> { large, coins, product }, batch);
    let key = table::PACK_SECRET_KEY_MIXED_RADIX::<Q::Memory> { f, h: product, z, keys: to };
    launches.add_keys(&table::PACK_SECRET_KEY_PACKED13, key, batch);
}

/// Encodes `count` polynomials `h` to encapsulation keys.
pub(super) fn encode<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    h: &'a Q::Memory,
    keys: &'a Q::Memory,
    count: usize,
) {
    let arrays = table::ENCODE_MIXED_RADIX { h, keys };
    launches.add_keys(&table::ENCODE_PACKED13, arrays, Batch::each(count as u32));
}

/// Decodes `count` keys. If they are `unchecked`, one word for each goes to `faults`.
pub(super) fn decode<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    kind: Kind,
    (keys, count): (&'a Q::Memory, usize),
    to: &'a Decoded<Q>,
    (unchecked, faults): (bool, &'a Q::Memory),
) {
    let all = Batch::each(count as u32);
    let Decoded { f, z, h, ids } = to;
    if launches.set.is_ntru_prime {
        return ntruprime::decode(launches, kind, (keys, count), to, faults);
    }
    match (kind, unchecked) {
        (Kind::Encapsulation, false) => {
            let arrays = table::DECODE_MIXED_RADIX::<Q::Memory> { keys, h, ids };
            launches.add_keys(&table::DECODE_PACKED13, arrays, all);
        }
        (Kind::Encapsulation, true) => {
            let arrays =
                table::VALIDATE_PUBLIC_KEY_MIXED_RADIX::<Q::Memory> { keys, h, ids, faults };
            launches.add_keys(&table::VALIDATE_PUBLIC_KEY_PACKED13, arrays, all);
        }
        (Kind::Decapsulation, false) => {
            let arrays = table::UNPACK_SECRET_KEY_MIXED_RADIX::<Q::Memory> { keys, f, h, ids, z };
            launches.add_keys(&table::UNPACK_SECRET_KEY_PACKED13, arrays, all);
        }
        (Kind::Decapsulation, true) => {
            let arrays =
                table::VALIDATE_SECRET_KEY_MIXED_RADIX::<Q::Memory> { keys, f, h, ids, z, faults };
            launches.add_keys(&table::VALIDATE_SECRET_KEY_PACKED13, arrays, all);
        }
    }
}

/// Encapsulates to decoded keys.
pub(super) fn encapsulate<'a, Q: Queue>(
    Steps { launches, scratch, batch }: Steps<'_, 'a, Q>,
    key: &'a Decoded<Q>,
    Seeds { given, expand_to }: &'a Seeds<'a, Q>,
    Texts { ciphertexts, shared_secrets }: Texts<'a, Q::Memory>,
) {
    let Scratch { messages, coins, .. } = scratch;
    let Decoded { h, ids, .. } = key;
    let seeds = expand_to.unwrap_or(given);
    if expand_to.is_some() {
        launches.add(table::EXPAND_SEEDS::<Q::Memory> { expansion: given, ids, seeds }, batch);
    }
    if launches.set.is_ntru_prime {
        let steps = Steps { launches, scratch, batch };
        let to = Texts { ciphertexts, shared_secrets };
        return ntruprime::encapsulate(steps, key, seeds, to);
    }
    let derive = launches.hash(&table::DERIVE_ENCAPSULATION_MIDDLE, &table::DERIVE_ENCAPSULATION);
    let arrays =
        table::DERIVE_ENCAPSULATION::<Q::Memory> { seeds, ids, messages, shared_secrets, coins };
    launches.add_in(Order::Next, derive, arrays, batch);
    let encrypt = launches.product(&table::FUSED_ENCRYPT, &table::SAME_PUBLIC_KEY_ENCRYPT);
    let arrays = table::FUSED_ENCRYPT::<Q::Memory> { h, coins, messages, ciphertexts };
    launches.add_in(Order::Next, encrypt, arrays, batch);
}

/// Encapsulates to encoded keys in one launch.
pub(super) fn encapsulate_whole<'a, Q: Queue>(
    Steps { launches, scratch, batch }: Steps<'_, 'a, Q>,
    keys: &'a Q::Memory,
    Seeds { given: seeds, expand_to }: &'a Seeds<'a, Q>,
    Texts { ciphertexts, shared_secrets }: Texts<'a, Q::Memory>,
) {
    let Scratch { copied_keys, decoded: Decoded { h, ids, .. }, messages, coins, .. } = scratch;
    let kernels = match expand_to {
        None => &table::ENCAPSULATE_SEEDS_MIXED_RADIX,
        Some(_) => &table::ENCAPSULATE_MIXED_RADIX,
    };
    let arrays = table::ENCAPSULATE_MIXED_RADIX::<Q::Memory> {
        seeds,
        keys,
        copied_keys,
        ids,
        h,
        messages,
        coins,
        shared_secrets,
        ciphertexts,
    };
    launches.add_in(Order::Next, kernels, arrays, batch);
}

/// Decapsulates with decoded keys.
pub(super) fn decapsulate<'a, Q: Queue>(
    Steps { launches, scratch, batch }: Steps<'_, 'a, Q>,
    key: &'a Decoded<Q>,
    Texts { ciphertexts, shared_secrets }: Texts<'a, Q::Memory>,
) {
    if launches.set.is_ntru_prime {
        let texts = Texts { ciphertexts, shared_secrets };
        return ntruprime::decapsulate(Steps { launches, scratch, batch }, key, texts);
    }
    let Scratch { messages, rejection_secrets, coins, .. } = scratch;
    let Decoded { f, z, h, ids } = key;
    // The rejection hash is the longest hash, and it does not depend on the decryption.
    let reject = launches.hash(&table::REJECTION_SECRET_MIDDLE, &table::REJECTION_SECRET);
    let arrays = table::REJECTION_SECRET::<Q::Memory> { ids, z, ciphertexts, rejection_secrets };
    launches.add_in(Order::Beside, reject, arrays, batch);
    let decrypt = launches.product(&table::FUSED_DECRYPT, &table::SAME_SECRET_KEY_DECRYPT);
    let arrays = table::FUSED_DECRYPT::<Q::Memory> { ciphertexts, f, messages };
    launches.add_in(Order::Next, decrypt, arrays, batch);
    let derive = launches.hash(&table::DERIVE_DECAPSULATION_MIDDLE, &table::DERIVE_DECAPSULATION);
    let arrays = table::DERIVE_DECAPSULATION::<Q::Memory> { messages, ids, shared_secrets, coins };
    launches.add_in(Order::Next, derive, arrays, batch);
    // Encrypts the messages again. Where the result differs from the received ciphertext,
    // overwrites the shared secret with the rejection secret.
    let verify = launches.product(&table::FUSED_VERIFY, &table::SAME_PUBLIC_KEY_VERIFY);
    let arrays = table::FUSED_VERIFY::<Q::Memory> {
        h,
        coins,
        messages,
        received: ciphertexts,
        rejection_secrets,
        shared_secrets,
    };
    launches.add_in(Order::Join, verify, arrays, batch);
}

/// Decapsulates with encoded keys in one launch. If there is an array `rejected`, the kernel
/// writes to it whether each ciphertext is rejected, and leaves the rejection to the host.
/// `accepted` is memory for shared secrets.
pub(super) fn decapsulate_whole<'a, Q: Queue>(
    Steps { launches, scratch, batch }: Steps<'_, 'a, Q>,
    keys: &'a Q::Memory,
    (accepted, rejected): (&'a Q::Memory, Option<&'a Q::Memory>),
    Texts { ciphertexts, shared_secrets }: Texts<'a, Q::Memory>,
) {
    let Scratch { copied_keys, copied_ciphertexts, decoded, messages, coins, .. } = scratch;
    let Scratch { rejection_secrets, .. } = scratch;
    let Decoded { f, h, .. } = decoded;
    match rejected {
        Some(rejected) => {
            let arrays = table::RECOVER_MIXED_RADIX::<Q::Memory> {
                keys,
                ciphertexts,
                copied_keys,
                copied_ciphertexts,
                f,
                h,
                messages,
                coins,
                shared_secrets,
                rejected,
            };
            launches.add(arrays, batch);
        }
        None => {
            let arrays = table::DECAPSULATE_MIXED_RADIX::<Q::Memory> {
                keys,
                ciphertexts,
                copied_keys,
                copied_ciphertexts,
                f,
                h,
                messages,
                coins,
                rejection_secrets,
                shared_secrets: accepted,
                results: shared_secrets,
            };
            launches.add(arrays, batch);
        }
    }
}
