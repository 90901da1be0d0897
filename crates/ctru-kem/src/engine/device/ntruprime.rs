//! Key generation, encapsulation and decapsulation of Streamlined NTRU Prime, as lists of launches.

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::Queue;

use super::buffers::{Decoded, Scratch, Steps, Texts};
use super::launches::Launches;
use super::set::Kind;

/// Generates private keys, with a seed for each, and writes them to `to`. The polynomials `h`
/// remain in the buffer `products`.
pub(super) fn generate<'a, Q: Queue>(
    Steps { launches, scratch, batch }: Steps<'_, 'a, Q>,
    queue: &Q,
    seeds: &'a Q::Memory,
    to: &'a Q::Memory,
) {
    let Scratch { short: g, inverses, coins: f_words, g_coins: rho, .. } = scratch;
    let Scratch { rejection_secrets: invertible, encrypted: public, decoded, .. } = scratch;
    let Scratch { operands, products, tree, .. } = scratch;
    let Decoded { f, ids, .. } = decoded;
    launches.add(table::NTRUPRIME_DRAW::<Q::Memory> { seeds, g, f: f_words, rho }, batch);
    let arrays = table::NTRUPRIME_INVERT::<Q::Memory> { elements: g, inverses, invertible };
    launches.add(arrays, batch);
    let arrays = table::NTRUPRIME_DRAW_AGAIN::<Q::Memory> {
        seeds,
        g,
        f: f_words,
        rho,
        inverses,
        invertible,
    };
    launches.add(arrays, batch);
    launches.add(table::NTRUPRIME_SHORT::<Q::Memory> { stream: f_words, short: f }, batch);
    tree.invert(launches, queue, batch.operations() as usize, f, operands, products);
    // h = g / (3 f)
    let h = products;
    launches.add(table::NTRUPRIME_DIVIDE::<Q::Memory> { inverses: operands, small: g, h }, batch);
    launches.add(table::ENCODE_MIXED_RADIX::<Q::Memory> { h, keys: public }, batch);
    launches.add(table::NTRUPRIME_HASH_PUBLIC_KEYS::<Q::Memory> { keys: public, ids }, batch);
    let arrays = table::NTRUPRIME_PACK::<Q::Memory> { f, inverses, public, ids, rho, keys: to };
    launches.add(arrays, batch);
}

/// Decodes `count` keys. For decapsulation keys, one word for each goes to `faults`.
pub(super) fn decode<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    kind: Kind,
    (keys, count): (&'a Q::Memory, usize),
    to: &'a Decoded<Q>,
    faults: &'a Q::Memory,
) {
    let all = Batch::each(count as u32);
    let Decoded { f: secrets, z: rejections, h, ids } = to;
    match kind {
        Kind::Encapsulation => {
            // The hash overwrites the ID of CTRU-Prime, which the decoder writes.
            launches.add(table::DECODE_MIXED_RADIX::<Q::Memory> { keys, h, ids }, all);
            launches.add(table::NTRUPRIME_HASH_PUBLIC_KEYS::<Q::Memory> { keys, ids }, all);
        }
        Kind::Decapsulation => {
            let arrays = table::NTRUPRIME_UNPACK::<Q::Memory> { keys, secrets, h, ids, faults };
            launches.add(arrays, all);
            let arrays =
                table::NTRUPRIME_HASH_PRIVATE_KEYS::<Q::Memory> { keys, rejections, faults };
            launches.add(arrays, all);
        }
    }
}

/// Encapsulates to decoded keys, with a seed for each operation.
pub(super) fn encapsulate<'a, Q: Queue>(
    Steps { launches, scratch, batch }: Steps<'_, 'a, Q>,
    key: &'a Decoded<Q>,
    seeds: &'a Q::Memory,
    Texts { ciphertexts, shared_secrets }: Texts<'a, Q::Memory>,
) {
    // The random words make room for the hashes of the polynomials.
    let Scratch { short, coins: stream, .. } = scratch;
    launches.add(table::NTRUPRIME_STREAM::<Q::Memory> { seeds, stream }, batch);
    launches.add(table::NTRUPRIME_SHORT::<Q::Memory> { stream, short }, batch);
    encrypt(Steps { launches, scratch, batch }, key, ciphertexts);
    // No ciphertext differs from itself, so the hashes in place of those of rejection do not count.
    let arrays = table::NTRUPRIME_SHARED_SECRET::<Q::Memory> {
        hashes: stream,
        rejections: stream,
        received: ciphertexts,
        encrypted: ciphertexts,
        shared_secrets,
    };
    launches.add(arrays, batch);
}

/// Decapsulates with decoded keys.
pub(super) fn decapsulate<'a, Q: Queue>(
    Steps { launches, scratch, batch }: Steps<'_, 'a, Q>,
    key: &'a Decoded<Q>,
    Texts { ciphertexts, shared_secrets }: Texts<'a, Q::Memory>,
) {
    let Scratch { short, coins: hashes, encrypted, .. } = scratch;
    let Decoded { f: secrets, z: rejections, .. } = key;
    launches.add(table::NTRUPRIME_DECRYPT::<Q::Memory> { ciphertexts, secrets, short }, batch);
    encrypt(Steps { launches, scratch, batch }, key, encrypted);
    let arrays = table::NTRUPRIME_SHARED_SECRET::<Q::Memory> {
        hashes,
        rejections,
        received: ciphertexts,
        encrypted,
        shared_secrets,
    };
    launches.add(arrays, batch);
}

/// Hashes the short polynomials and encrypts them.
fn encrypt<'a, Q: Queue>(
    Steps { launches, scratch, batch }: Steps<'_, 'a, Q>,
    key: &'a Decoded<Q>,
    ciphertexts: &'a Q::Memory,
) {
    let Scratch { short, coins: hashes, .. } = scratch;
    let Decoded { h, ids, .. } = key;
    launches.add(table::NTRUPRIME_CONFIRM::<Q::Memory> { short, ids, hashes }, batch);
    let arrays = table::NTRUPRIME_ENCRYPT::<Q::Memory> { h, short, hashes, ciphertexts };
    launches.add(arrays, batch);
}
