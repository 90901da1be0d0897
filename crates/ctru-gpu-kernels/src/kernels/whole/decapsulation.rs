//! Decapsulation in one kernel, with and without the hash of a rejection.

use ctru_math::Ring;

pub use super::shape;
use crate::descriptor::Batch;
use crate::kernels::hash::derive::{self, Id, Own};
use crate::kernels::hash::keccak::{PerWarp, SHA3_512, State};
use crate::kernels::hash::reject::{absorb_key, ciphertext_word, input_bytes};
use crate::kernels::keys::mixed_radix::{MixedRadix, public_key_bytes, secret_key_bytes};
use crate::kernels::keys::{decode_public, decode_secret};
use crate::kernels::scheme::{fused, select};
use crate::kernels::{SEED_WORDS, eight_bytes, rolled, warp};
use crate::simt::Simt;

/// Decapsulates: the first warp computes the rejection secret while the second one decrypts and
/// encrypts again; then the second one chooses the result.
///
/// Threads: two warps per operation.
/// Shared memory: as for [`encapsulate`](super::encapsulation::encapsulate).
/// Arrays: `keys`, encoded secret keys, one per operation or one shared key;
/// `ciphertexts`; `results`, the shared secrets or rejection secrets. The others are memory
/// for the kernel, with one row per operation.
/// Source: CTRU-Prime paper, Algorithm 6.
#[expect(clippy::too_many_arguments, reason = "the arrays of a kernel are its arguments")]
#[inline(always)]
pub fn decapsulate<S: Simt, R: Ring>(
    s: S,
    keys: S::Global<u8>,
    ciphertexts: S::Global<u8>,
    copied_keys: S::Global<u8>,
    copied_ciphertexts: S::Global<u8>,
    f: S::Global<u8>,
    h: S::Global<u16>,
    messages: S::Global<u64>,
    coins: S::Global<u64>,
    rejection_secrets: S::Global<u64>,
    shared_secrets: S::Global<u64>,
    results: S::Global<u64>,
    batch: Batch,
) {
    let (operation, warp) = (s.block(), warp::number(s));
    let (bytes, key_bytes) = (R::CIPHERTEXT_BYTES as u32, secret_key_bytes::<R>());
    let (ciphertext, key) = (bytes * operation, key_bytes * batch.row(operation));
    let mut difference = 0;
    if warp == 0 {
        warp::copy_bytes(s, (ciphertexts, ciphertext), bytes, (copied_ciphertexts, operation));
    } else {
        warp::copy_bytes(s, (keys, key), key_bytes, (copied_keys, operation));
    }
    s.sync_block();
    let ciphertext = (copied_ciphertexts, warp::place_of_copy(ciphertext, bytes, operation));
    let key = warp::place_of_copy(key, key_bytes, operation);
    let encoded = key + R::SECRET_POLY_BYTES as u32;
    let id = Id { s, bytes: copied_keys, start: encoded };
    if warp == 0 {
        let start = encoded + public_key_bytes::<R>();
        let z = |word| eight_bytes(s, copied_keys, start + 8 * word, start + 8 * SEED_WORDS);
        reject::<S, R>(operation, id, z, ciphertext, rejection_secrets);
    } else {
        decode_secret::<S, R>(s, (copied_keys, key), f, operation);
        s.sync_warp();
        fused::message::<S, R>(s, ciphertext, (f, operation), messages);
        s.sync_warp();
        let own = Own::alone(operation);
        derive::decapsulation::<R, PerWarp<S>>(own, messages, id, shared_secrets, coins);
        decode_public::<S, R, MixedRadix>(s, (copied_keys, encoded), h, operation, |_, _| ());
        s.sync_warp();
        fused::stage_key::<S, R>(s, h, operation);
        s.sync_warp();
        fused::multiply::<S, R>(s, coins, messages);
        difference = fused::difference::<S, R>(s, ciphertext.0, ciphertext.1);
    }
    s.sync_block();
    if warp == 1 {
        let secrets = (rejection_secrets, shared_secrets, results);
        select::choice(s, operation, secrets)(difference);
    }
}

/// Decapsulates without the rejection, which is left to the host: the second warp decrypts; then it
/// hashes while the first one decodes `h`; then the second one encrypts again and compares.
///
/// Threads: two warps per operation.
/// Shared memory: as for [`encapsulate`](super::encapsulation::encapsulate).
/// Arrays: `keys`, encoded secret keys, one per operation or one shared key;
/// `ciphertexts`; `shared_secrets`, those that decapsulation returns if it accepts the
/// ciphertext; `rejected`, one word per operation: 0 if the ciphertext is the encryption of
/// the decrypted message, else 1. The others are memory for the kernel, with one row per
/// operation.
/// Source: CTRU-Prime paper, Algorithm 6.
#[expect(clippy::too_many_arguments, reason = "the arrays of a kernel are its arguments")]
#[inline(always)]
pub fn recover<S: Simt, R: Ring>(
    s: S,
    keys: S::Global<u8>,
    ciphertexts: S::Global<u8>,
    copied_keys: S::Global<u8>,
    copied_ciphertexts: S::Global<u8>,
    f: S::Global<u8>,
    h: S::Global<u16>,
    messages: S::Global<u64>,
    coins: S::Global<u64>,
    shared_secrets: S::Global<u64>,
    rejected: S::Global<u64>,
    batch: Batch,
) {
    let (operation, warp) = (s.block(), warp::number(s));
    let (bytes, key_bytes) = (R::CIPHERTEXT_BYTES as u32, secret_key_bytes::<R>());
    let (ciphertext, key) = (bytes * operation, key_bytes * batch.row(operation));
    // The first warp copies the longer row, because the second one has more to do afterwards.
    if warp == 0 {
        warp::copy_bytes(s, (keys, key), key_bytes, (copied_keys, operation));
    } else {
        let received = (ciphertexts, ciphertext);
        warp::copy_bytes(s, received, bytes, (copied_ciphertexts, operation));
    }
    s.sync_block();
    let ciphertext = (copied_ciphertexts, warp::place_of_copy(ciphertext, bytes, operation));
    let key = warp::place_of_copy(key, key_bytes, operation);
    let encoded = key + R::SECRET_POLY_BYTES as u32;
    if warp == 1 {
        decode_secret::<S, R>(s, (copied_keys, key), f, operation);
        s.sync_warp();
        fused::message::<S, R>(s, ciphertext, (f, operation), messages);
    }
    // What follows uses the same shared memory.
    s.sync_block();
    if warp == 0 {
        decode_public::<S, R, MixedRadix>(s, (copied_keys, encoded), h, operation, |_, _| ());
    } else {
        let id = Id { s, bytes: copied_keys, start: encoded };
        let (own, secrets) = (Own::alone(operation), shared_secrets);
        derive::decapsulation::<R, PerWarp<S>>(own, messages, id, secrets, coins);
    }
    s.sync_block();
    if warp == 1 {
        fused::stage_key::<S, R>(s, h, operation);
        s.sync_warp();
        fused::multiply::<S, R>(s, coins, messages);
        let difference = fused::difference::<S, R>(s, ciphertext.0, ciphertext.1);
        let is_rejected = select::is_rejected(s, difference);
        if s.lane() == 0 {
            s.store(rejected, operation, u64::from(is_rejected));
        }
    }
}

/// Computes a rejection secret as
/// [`rejection_secret`](crate::kernels::hash::reject::rejection_secret) does, in one warp. `z`
/// returns the words of `z`. The ciphertext begins at byte `start` of its array.
#[inline(always)]
fn reject<S: Simt, R: Ring>(
    operation: u32,
    id: Id<S>,
    z: impl Fn(u32) -> u64,
    (ciphertexts, start): (S::Global<u8>, u32),
    rejection_secrets: S::Global<u64>,
) {
    let s = id.s;
    let rate = SHA3_512.rate;
    let word = |block: u32| {
        let i = rate * block + s.lane().min(rate - 1);
        ciphertext_word::<S, R>(s, ciphertexts, start, i)
    };
    let mut state: PerWarp<S> = absorb_key(id, z);
    // Each block is loaded before the permutation of the block before it, which takes longer.
    let mut next = word(0);
    for block in 0..rolled(s, SHA3_512.blocks(input_bytes::<R>())) {
        state = state.absorb(rate, |_| next);
        next = word(block + 1);
        state = state.permute();
    }
    state.output(true, SEED_WORDS, |i, word| {
        s.store(rejection_secrets, SEED_WORDS * operation + i, word);
    });
}
