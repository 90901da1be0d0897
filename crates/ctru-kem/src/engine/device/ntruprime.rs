//! Key generation, encapsulation and decapsulation of Streamlined NTRU Prime, as lists of launches.
//! A kernel takes its arrays in the order of the list of kernels.

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::{Queue, RuntimeError};

use super::buffers::{Decoded, Scratch, Texts};
use super::launches::Launches;
use super::set::Kind;

/// Generates `count` private keys, with a seed for each, and writes them to `to`. The polynomials
/// `h` remain in the buffer `products`.
pub(super) fn generate<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    queue: &Q,
    scratch: &'a Scratch<Q>,
    (seeds, count): (&'a Q::Memory, usize),
    to: &'a Q::Memory,
) -> Result<(), RuntimeError> {
    let all = Batch::each(count as u32);
    let Scratch { short: g, inverses, coins: f_words, g_coins: rho, .. } = scratch;
    let Scratch { rejection_secrets: invertible, encrypted: public, decoded, .. } = scratch;
    let Scratch { operands, products, tree, .. } = scratch;
    let Decoded { f, ids, .. } = decoded;
    launches.add(&table::NTRUPRIME_DRAW, &[seeds, g, f_words, rho], all);
    launches.add(&table::NTRUPRIME_INVERT, &[g, inverses, invertible], all);
    let memory: [&Q::Memory; 6] = [seeds, g, f_words, rho, inverses, invertible];
    launches.add(&table::NTRUPRIME_DRAW_AGAIN, &memory, all);
    launches.add(&table::NTRUPRIME_SHORT, &[f_words, f], all);
    tree.invert(launches, queue, count, f, operands, products)?;
    // h = g / (3 f)
    launches.add(&table::NTRUPRIME_DIVIDE, &[operands, g, products], all);
    launches.add(&table::ENCODE_MIXED_RADIX, &[products, public], all);
    launches.add(&table::NTRUPRIME_HASH_PUBLIC_KEYS, &[public, ids], all);
    launches.add(&table::NTRUPRIME_PACK, &[f, inverses, public, ids, rho, to], all);
    Ok(())
}

/// Decodes `count` keys. For decapsulation keys, one word for each goes to `faults`.
pub(super) fn decode<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    kind: Kind,
    (rows, count): (&'a Q::Memory, usize),
    to: &'a Decoded<Q>,
    faults: &'a Q::Memory,
) {
    let all = Batch::each(count as u32);
    let Decoded { f: secrets, z: rejections, h, ids } = to;
    match kind {
        Kind::Encapsulation => {
            // The hash overwrites the ID of CTRU-Prime, which the decoder writes.
            launches.add(&table::DECODE_MIXED_RADIX, &[rows, h, ids], all);
            launches.add(&table::NTRUPRIME_HASH_PUBLIC_KEYS, &[rows, ids], all);
        }
        Kind::Decapsulation => {
            launches.add(&table::NTRUPRIME_UNPACK, &[rows, secrets, h, ids, faults], all);
            launches.add(&table::NTRUPRIME_HASH_PRIVATE_KEYS, &[rows, rejections, faults], all);
        }
    }
}

/// Encapsulates to decoded keys, with a seed for each operation.
pub(super) fn encapsulate<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    scratch: &'a Scratch<Q>,
    batch: Batch,
    key: &'a Decoded<Q>,
    seeds: &'a Q::Memory,
    Texts { ciphertexts, shared_secrets }: Texts<'a, Q::Memory>,
) {
    // The random words make room for the hashes of the polynomials.
    let Scratch { short, coins: stream, .. } = scratch;
    launches.add(&table::NTRUPRIME_STREAM, &[seeds, stream], batch);
    launches.add(&table::NTRUPRIME_SHORT, &[stream, short], batch);
    encrypt(launches, scratch, batch, key, ciphertexts);
    // No ciphertext differs from itself, so the hashes in place of those of rejection do not count.
    let hashes = stream;
    let memory: [&Q::Memory; 5] = [hashes, hashes, ciphertexts, ciphertexts, shared_secrets];
    launches.add(&table::NTRUPRIME_SHARED_SECRET, &memory, batch);
}

/// Decapsulates with decoded keys.
pub(super) fn decapsulate<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    scratch: &'a Scratch<Q>,
    batch: Batch,
    key: &'a Decoded<Q>,
    Texts { ciphertexts, shared_secrets }: Texts<'a, Q::Memory>,
) {
    let Scratch { short, coins: hashes, encrypted, .. } = scratch;
    let Decoded { f: secrets, z: rejections, .. } = key;
    launches.add(&table::NTRUPRIME_DECRYPT, &[ciphertexts, secrets, short], batch);
    encrypt(launches, scratch, batch, key, encrypted);
    let memory: [&Q::Memory; 5] = [hashes, rejections, ciphertexts, encrypted, shared_secrets];
    launches.add(&table::NTRUPRIME_SHARED_SECRET, &memory, batch);
}

/// Hashes the short polynomials and encrypts them.
fn encrypt<'a, Q: Queue>(
    launches: &mut Launches<'a, Q>,
    scratch: &'a Scratch<Q>,
    batch: Batch,
    key: &'a Decoded<Q>,
    ciphertexts: &'a Q::Memory,
) {
    let Scratch { short, coins: hashes, .. } = scratch;
    let Decoded { h, ids, .. } = key;
    launches.add(&table::NTRUPRIME_CONFIRM, &[short, ids, hashes], batch);
    launches.add(&table::NTRUPRIME_ENCRYPT, &[h, short, hashes, ciphertexts], batch);
}
