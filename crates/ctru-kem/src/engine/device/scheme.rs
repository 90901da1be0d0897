//! Key generation, encapsulation and decapsulation of a chunk, as lists of launches (paper,
//! Algorithms 4 to 6). Each function adds to a list. `ntruprime` has what differs for Streamlined
//! NTRU Prime.

use ctru_gpu_kernels::table;
use ctru_gpu_runtime::{Order, Queue};

use super::buffers::{Decoded, Scratch};
use super::inversion::Tree;
use super::launches::{Launches, Seeds, Texts, named};
use super::ntruprime;
use super::set::Kind;

/// Generates decapsulation keys and writes them to `to`. The polynomials `h` remain in the buffer
/// `products`.
pub(super) fn generate<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    (tree, queue): (&'a Tree<Q>, &Q),
    (given, expand_to): Seeds<'a, Q::Memory>,
    to: &'a Q::Memory,
) {
    let seeds = expand_to.unwrap_or(given);
    if expand_to.is_some() {
        launches.add(named!(EXPAND_KEY_PAIR_SEEDS: expansion = given, seeds));
    }
    if launches.set.is_ntru_prime {
        return ntruprime::generate(launches, (tree, queue), seeds, to);
    }
    let Scratch { coins, g_coins, operands, products, decoded, .. } = launches.scratch;
    let Decoded { f, z, .. } = decoded;
    launches.add(named!(DERIVE_KEY_PAIR: seeds, f_coins = coins, g_coins, z));
    launches.add(named!(SAMPLE_SECRET: coins, secret = f));
    tree.invert(launches, queue, f, operands, products);
    // h = g / f
    let (large, coins, product) = (operands, g_coins, products);
    launches.add(named!(POLYPHASE_COINS: large, coins, product));
    let arrays = named!(PACK_SECRET_KEY_MIXED_RADIX: f, h = product, z, keys = to);
    launches.add_keys(launches.count(), &table::PACK_SECRET_KEY_PACKED13, arrays);
}

/// Encodes `count` polynomials `h` to encapsulation keys.
pub(super) fn encode<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    h: &'a Q::Memory,
    keys: &'a Q::Memory,
    count: usize,
) {
    launches.add_keys(count, &table::ENCODE_PACKED13, named!(ENCODE_MIXED_RADIX: h, keys));
}

/// Decodes `count` keys. If they are `unchecked`, one word for each goes to `faults`.
pub(super) fn decode<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    kind: Kind,
    (keys, count): (&'a Q::Memory, usize),
    to: &'a Decoded<Q>,
    (unchecked, faults): (bool, &'a Q::Memory),
) {
    let Decoded { f, z, h, ids } = to;
    if launches.set.is_ntru_prime {
        return ntruprime::decode(launches, kind, (keys, count), to, faults);
    }
    match (kind, unchecked) {
        (Kind::Encapsulation, false) => {
            let arrays = named!(DECODE_MIXED_RADIX: keys, h, ids);
            launches.add_keys(count, &table::DECODE_PACKED13, arrays);
        }
        (Kind::Encapsulation, true) => {
            let arrays = named!(VALIDATE_PUBLIC_KEY_MIXED_RADIX: keys, h, ids, faults);
            launches.add_keys(count, &table::VALIDATE_PUBLIC_KEY_PACKED13, arrays);
        }
        (Kind::Decapsulation, false) => {
            let arrays = named!(UNPACK_SECRET_KEY_MIXED_RADIX: keys, f, h, ids, z);
            launches.add_keys(count, &table::UNPACK_SECRET_KEY_PACKED13, arrays);
        }
        (Kind::Decapsulation, true) => {
            let arrays = named!(VALIDATE_SECRET_KEY_MIXED_RADIX: keys, f, h, ids, z, faults);
            launches.add_keys(count, &table::VALIDATE_SECRET_KEY_PACKED13, arrays);
        }
    }
}

/// Encapsulates to decoded keys.
pub(super) fn encapsulate<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    key: &'a Decoded<Q>,
    (given, expand_to): Seeds<'a, Q::Memory>,
    [ciphertexts, shared_secrets]: Texts<'a, Q::Memory>,
) {
    let Scratch { messages, coins, .. } = launches.scratch;
    let Decoded { h, ids, .. } = key;
    let seeds = expand_to.unwrap_or(given);
    if expand_to.is_some() {
        launches.add(named!(EXPAND_SEEDS: expansion = given, ids, seeds));
    }
    if launches.set.is_ntru_prime {
        return ntruprime::encapsulate(launches, key, seeds, [ciphertexts, shared_secrets]);
    }
    let derive = launches.hash(&table::DERIVE_ENCAPSULATION_MIDDLE, &table::DERIVE_ENCAPSULATION);
    let arrays = named!(DERIVE_ENCAPSULATION: seeds, ids, messages, shared_secrets, coins);
    launches.add_in(Order::Next, derive, arrays);
    let encrypt = launches.product(&table::FUSED_ENCRYPT, &table::SAME_PUBLIC_KEY_ENCRYPT);
    launches.add_in(Order::Next, encrypt, named!(FUSED_ENCRYPT: h, coins, messages, ciphertexts));
}

/// Encapsulates to encoded keys in one launch.
pub(super) fn encapsulate_whole<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    keys: &'a Q::Memory,
    (seeds, expand_to): Seeds<'a, Q::Memory>,
    [ciphertexts, shared_secrets]: Texts<'a, Q::Memory>,
) {
    let Scratch { copied_keys, decoded: Decoded { h, ids, .. }, messages, coins, .. } =
        launches.scratch;
    let kernels = match expand_to {
        None => &table::ENCAPSULATE_SEEDS_MIXED_RADIX,
        Some(_) => &table::ENCAPSULATE_MIXED_RADIX,
    };
    let arrays = named!(
        ENCAPSULATE_MIXED_RADIX: seeds, keys, copied_keys, ids, h, messages, coins, shared_secrets,
        ciphertexts
    );
    launches.add_in(Order::Next, kernels, arrays);
}

/// Decapsulates with decoded keys.
pub(super) fn decapsulate<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    key: &'a Decoded<Q>,
    [ciphertexts, shared_secrets]: Texts<'a, Q::Memory>,
) {
    if launches.set.is_ntru_prime {
        return ntruprime::decapsulate(launches, key, [ciphertexts, shared_secrets]);
    }
    let Scratch { messages, rejection_secrets, coins, .. } = launches.scratch;
    let Decoded { f, z, h, ids } = key;
    // The rejection hash is the longest hash, and it does not depend on the decryption.
    let reject = launches.hash(&table::REJECTION_SECRET_MIDDLE, &table::REJECTION_SECRET);
    let arrays = named!(REJECTION_SECRET: ids, z, ciphertexts, rejection_secrets);
    launches.add_in(Order::Beside, reject, arrays);
    let decrypt = launches.product(&table::FUSED_DECRYPT, &table::SAME_SECRET_KEY_DECRYPT);
    launches.add_in(Order::Next, decrypt, named!(FUSED_DECRYPT: ciphertexts, f, messages));
    let derive = launches.hash(&table::DERIVE_DECAPSULATION_MIDDLE, &table::DERIVE_DECAPSULATION);
    let arrays = named!(DERIVE_DECAPSULATION: messages, ids, shared_secrets, coins);
    launches.add_in(Order::Next, derive, arrays);
    // Encrypts the messages again. Where the result differs from the received ciphertext,
    // overwrites the shared secret with the rejection secret.
    let verify = launches.product(&table::FUSED_VERIFY, &table::SAME_PUBLIC_KEY_VERIFY);
    let arrays = named!(
        FUSED_VERIFY: h, coins, messages, received = ciphertexts, rejection_secrets, shared_secrets
    );
    launches.add_in(Order::Join, verify, arrays);
}

/// Decapsulates with encoded keys in one launch. If there is an array `rejected`, the kernel
/// writes to it whether each ciphertext is rejected, and leaves the rejection to the host.
pub(super) fn decapsulate_whole<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    keys: &'a Q::Memory,
    rejected: Option<&'a Q::Memory>,
    [ciphertexts, shared_secrets]: Texts<'a, Q::Memory>,
) {
    let Scratch { copied_keys, copied_ciphertexts, messages, coins, .. } = launches.scratch;
    let Scratch { rejection_secrets, decoded, .. } = launches.scratch;
    // The kernel reads `z` from the keys, so its place is free for the secrets before rejection.
    let Decoded { f, h, z: accepted, .. } = decoded;
    match rejected {
        Some(rejected) => {
            launches.add(named!(
                RECOVER_MIXED_RADIX: keys, ciphertexts, copied_keys, copied_ciphertexts, f, h,
                messages, coins, shared_secrets, rejected
            ));
        }
        None => {
            launches.add(named!(
                DECAPSULATE_MIXED_RADIX: keys, ciphertexts, copied_keys, copied_ciphertexts, f, h,
                messages, coins, rejection_secrets, shared_secrets = accepted,
                results = shared_secrets
            ));
        }
    }
}
