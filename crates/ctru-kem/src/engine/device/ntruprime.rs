//! Key generation, encapsulation and decapsulation of Streamlined NTRU Prime, as lists of launches.

use ctru_gpu_kernels::table;
use ctru_gpu_runtime::Queue;

use super::buffers::{Decoded, Scratch};
use super::inversion::Tree;
use super::launches::{Launches, Texts, named};
use super::set::Kind;

/// Generates private keys, with a seed for each, and writes them to `to`. The polynomials `h`
/// remain in the buffer `products`.
pub(super) fn generate<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    (tree, queue): (&'a Tree<Q>, &Q),
    seeds: &'a Q::Memory,
    to: &'a Q::Memory,
) {
    let Scratch { short: g, inverses, coins: f_words, g_coins: rho, .. } = launches.scratch;
    let Scratch { rejection_secrets: invertible, encrypted: public, decoded, .. } =
        launches.scratch;
    let Scratch { operands, products, .. } = launches.scratch;
    let Decoded { f, ids, .. } = decoded;
    launches.add(named!(NTRUPRIME_DRAW: seeds, g, f = f_words, rho));
    launches.add(named!(NTRUPRIME_INVERT: elements = g, inverses, invertible));
    launches.add(named!(NTRUPRIME_DRAW_AGAIN: seeds, g, f = f_words, rho, inverses, invertible));
    launches.add(named!(NTRUPRIME_SHORT: stream = f_words, short = f));
    tree.invert(launches, queue, f, operands, products);
    // h = g / (3 f)
    let h = products;
    launches.add(named!(NTRUPRIME_DIVIDE: inverses = operands, small = g, h));
    launches.add(named!(ENCODE_MIXED_RADIX: h, keys = public));
    launches.add(named!(NTRUPRIME_HASH_PUBLIC_KEYS: keys = public, ids));
    launches.add(named!(NTRUPRIME_PACK: f, inverses, public, ids, rho, keys = to));
}

/// Decodes `count` keys. For decapsulation keys, one word for each goes to `faults`.
pub(super) fn decode<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    kind: Kind,
    (keys, count): (&'a Q::Memory, usize),
    to: &'a Decoded<Q>,
    faults: &'a Q::Memory,
) {
    let Decoded { f: secrets, z: rejections, h, ids } = to;
    match kind {
        Kind::Encapsulation => {
            // The hash overwrites the ID of CTRU-Prime, which the decoder writes.
            launches.add_rows(count, named!(DECODE_MIXED_RADIX: keys, h, ids));
            launches.add_rows(count, named!(NTRUPRIME_HASH_PUBLIC_KEYS: keys, ids));
        }
        Kind::Decapsulation => {
            launches.add_rows(count, named!(NTRUPRIME_UNPACK: keys, secrets, h, ids, faults));
            launches.add_rows(count, named!(NTRUPRIME_HASH_PRIVATE_KEYS: keys, rejections, faults));
        }
    }
}

/// Encapsulates to decoded keys, with a seed for each operation.
pub(super) fn encapsulate<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    key: &'a Decoded<Q>,
    seeds: &'a Q::Memory,
    [ciphertexts, shared_secrets]: Texts<'a, Q::Memory>,
) {
    // The random words make room for the hashes of the polynomials.
    let Scratch { short, coins: stream, .. } = launches.scratch;
    launches.add(named!(NTRUPRIME_STREAM: seeds, stream));
    launches.add(named!(NTRUPRIME_SHORT: stream, short));
    encrypt(launches, key, ciphertexts);
    // No ciphertext differs from itself, so the hashes in place of those of rejection do not count.
    launches.add(named!(
        NTRUPRIME_SHARED_SECRET: hashes = stream, rejections = stream, received = ciphertexts,
        encrypted = ciphertexts, shared_secrets
    ));
}

/// Decapsulates with decoded keys.
pub(super) fn decapsulate<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    key: &'a Decoded<Q>,
    [ciphertexts, shared_secrets]: Texts<'a, Q::Memory>,
) {
    let Scratch { short, coins: hashes, encrypted, .. } = launches.scratch;
    let Decoded { f: secrets, z: rejections, .. } = key;
    launches.add(named!(NTRUPRIME_DECRYPT: ciphertexts, secrets, short));
    encrypt(launches, key, encrypted);
    launches.add(named!(
        NTRUPRIME_SHARED_SECRET: hashes, rejections, received = ciphertexts, encrypted,
        shared_secrets
    ));
}

/// Hashes the short polynomials and encrypts them.
fn encrypt<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    key: &'a Decoded<Q>,
    ciphertexts: &'a Q::Memory,
) {
    let Scratch { short, coins: hashes, .. } = launches.scratch;
    let Decoded { h, ids, .. } = key;
    launches.add(named!(NTRUPRIME_CONFIRM: short, ids, hashes));
    launches.add(named!(NTRUPRIME_ENCRYPT: h, short, hashes, ciphertexts));
}
