//! Encapsulation and decapsulation, each in one kernel. They serve batches that are too small to
//! occupy the GPU: such a batch would spend most of its time on launches, and on hashes that wait
//! for one another. There are such kernels for the mixed-radix encoding of public keys only.
//!
//! A block is two warps and does one operation. While one warp hashes, the other one decodes a key
//! or multiplies. Keys and ciphertexts may lie in memory of the host, where each access takes long,
//! so the kernels copy them to memory of the device before they use them.
//!
//! The permutations of a hash follow one another, so the hash of a rejection takes most of the time
//! of a decapsulation. So there are also kernels (`recover`) that leave this hash to the host,
//! which computes it at the same time.

pub mod mixed_radix;

use ctru_math::Ring;

use crate::descriptor::{Batch, Shape};
use crate::kernels::hash::derive::{self, Id, Own};
use crate::kernels::hash::keccak::{PerWarp, SHA3_512, State, of_warp};
use crate::kernels::hash::reject::{absorb_key, ciphertext_word, input_bytes};
use crate::kernels::keys::mixed_radix::{MixedRadix, public_key_bytes, secret_key_bytes};
use crate::kernels::keys::{self, decode_public, decode_secret};
use crate::kernels::scheme::{fused, select};
use crate::kernels::{EXPANSION_WORDS, ID_BYTES, SEED_WORDS, eight_bytes, rolled, warp};
use crate::simt::{Simt, WARP};

/// Returns the block shape: two warps and one operation per block. The second warp uses the shared
/// memory first for keys and then for products. As in kernels for two keys per block, its key is
/// the second one.
const fn shape<R: Ring>() -> Shape {
    const { assert!(keys::KEYS == 2) };
    let (key, product) = (keys::shape::<R>().shared_bytes(), fused::shape::<R>().shared_bytes());
    Shape::new(2 * WARP, 1, if key > product { key } else { product })
}

pub use crate::kernels::warp::copied_bytes;

/// Returns the number of bytes per row of an array of copied ciphertexts.
#[must_use]
pub const fn ciphertext_copy<R: Ring>() -> u32 {
    copied_bytes(R::CIPHERTEXT_BYTES as u32)
}

/// The arrays of an encapsulation in global memory.
#[derive(Copy, Clone)]
struct Encapsulation<S: Simt, X> {
    source: X,
    keys: S::Global<u8>,
    copied_keys: S::Global<u8>,
    ids: S::Global<u8>,
    h: S::Global<u16>,
    messages: S::Global<u64>,
    coins: S::Global<u64>,
    shared_secrets: S::Global<u64>,
    ciphertexts: S::Global<u8>,
}

/// The source of the seeds of encapsulations.
trait SeedSource<S: Simt>: Copy {
    /// Loads a word for the thread, before the warp waits for anything else.
    fn load(self, s: S, operation: u32) -> u64;

    /// Returns a function whose results are the words of the seed of an operation, and 0 for every
    /// other index. `loaded` is the result of [`load`](Self::load). All threads of the warp call
    /// the function together.
    fn seed(self, s: S, loaded: u64, operation: u32, id: Id<S>) -> impl Fn(u32) -> u64;
}

/// The seeds are expanded from the row of this array.
#[derive(Copy, Clone)]
struct Expanded<S: Simt>(S::Global<u64>);

impl<S: Simt> SeedSource<S> for Expanded<S> {
    #[inline(always)]
    fn load(self, s: S, _: u32) -> u64 {
        s.load(self.0, s.lane().min(EXPANSION_WORDS - 1))
    }
    #[inline(always)]
    fn seed(self, s: S, loaded: u64, operation: u32, id: Id<S>) -> impl Fn(u32) -> u64 {
        let expansion = first_words(EXPANSION_WORDS, of_warp(s, loaded));
        let id = |i| id.followed_by(|_| 0, i);
        let state: PerWarp<S> = derive::expanded(s, operation, expansion, id);
        first_words(SEED_WORDS, state.lanes(SEED_WORDS))
    }
}

/// The seeds are in this array.
#[derive(Copy, Clone)]
struct Given<S: Simt>(S::Global<u64>);

impl<S: Simt> SeedSource<S> for Given<S> {
    #[inline(always)]
    fn load(self, s: S, operation: u32) -> u64 {
        s.load(self.0, SEED_WORDS * operation + s.lane().min(SEED_WORDS - 1))
    }
    #[inline(always)]
    fn seed(self, s: S, loaded: u64, _: u32, _: Id<S>) -> impl Fn(u32) -> u64 {
        first_words(SEED_WORDS, of_warp(s, loaded))
    }
}

/// Returns `word`, but with 0 for every index of `words` or more.
#[inline(always)]
fn first_words(words: u32, word: impl Fn(u32) -> u64) -> impl Fn(u32) -> u64 {
    move |i| {
        let word = word(i);
        if i < words { word } else { 0 }
    }
}

/// Encapsulates: the first warp loads what it hashes; then it computes `K`, `m` and the coins while
/// the second one decodes `h`; then the second one encrypts.
#[inline(always)]
fn encapsulate<S: Simt, R: Ring, X: SeedSource<S>>(
    s: S,
    arrays: Encapsulation<S, X>,
    batch: Batch,
) {
    let Encapsulation { keys, copied_keys, ids, h, messages, coins, .. } = arrays;
    let (operation, warp) = (s.block(), warp::number(s));
    let start = public_key_bytes::<R>() * batch.row(operation);
    let mut loaded = 0;
    if warp == 0 {
        let id_row = ID_BYTES * operation;
        loaded = arrays.source.load(s, operation);
        warp::transfer(
            s,
            ID_BYTES,
            |i| s.load(keys, start + i),
            |i, byte| s.store(ids, id_row + i, byte),
        );
    }
    // The hashes take longest, so a block loads what they need before it loads its key. The barrier
    // also lets the first warp read `ids`.
    s.sync_block();
    if warp == 0 {
        let id = Id::of_row(s, ids, operation);
        let seed = arrays.source.seed(s, loaded, operation, id);
        let (own, secrets) = (Own::alone(operation), arrays.shared_secrets);
        derive::encapsulation::<R, PerWarp<S>>(own, seed, id, messages, secrets, coins);
    } else {
        warp::copy_bytes(s, (keys, start), public_key_bytes::<R>(), (copied_keys, operation));
        let key = warp::place_of_copy(start, public_key_bytes::<R>(), operation);
        s.sync_warp();
        decode_public::<S, R, MixedRadix>(s, (copied_keys, key), h, operation, |_, _| ());
        s.sync_warp();
        fused::stage_key::<S, R>(s, h, operation);
    }
    s.sync_block();
    if warp == 1 {
        let bytes = R::CIPHERTEXT_BYTES as u32;
        fused::multiply::<S, R>(s, coins, messages);
        fused::write_ciphertext::<S, R>(s, arrays.ciphertexts, bytes * operation);
    }
}

/// The arrays of a decapsulation in global memory.
#[derive(Copy, Clone)]
struct Decapsulation<S: Simt> {
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
}

/// Decapsulates: the first warp computes the rejection secret while the second one decrypts and
/// encrypts again; then the second one chooses the result.
#[inline(always)]
fn decapsulate<S: Simt, R: Ring>(s: S, arrays: Decapsulation<S>, batch: Batch) {
    let Decapsulation { copied_keys, copied_ciphertexts, f, h, messages, coins, .. } = arrays;
    let Decapsulation { rejection_secrets, shared_secrets, .. } = arrays;
    let (operation, warp) = (s.block(), warp::number(s));
    let (bytes, key_bytes) = (R::CIPHERTEXT_BYTES as u32, secret_key_bytes::<R>());
    let (ciphertext, key) = (bytes * operation, key_bytes * batch.row(operation));
    let mut difference = 0;
    if warp == 0 {
        warp::copy_bytes(
            s,
            (arrays.ciphertexts, ciphertext),
            bytes,
            (copied_ciphertexts, operation),
        );
    } else {
        warp::copy_bytes(s, (arrays.keys, key), key_bytes, (copied_keys, operation));
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
        let secrets = (rejection_secrets, shared_secrets, arrays.results);
        select::choice(s, operation, secrets)(difference);
    }
}

/// The arrays in global memory of a decapsulation without the rejection.
#[derive(Copy, Clone)]
struct Recovery<S: Simt> {
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
}

/// Decapsulates without the rejection, which is left to the host: the second warp decrypts; then it
/// hashes while the first one decodes `h`; then the second one encrypts again and compares.
#[inline(always)]
fn recover<S: Simt, R: Ring>(s: S, arrays: Recovery<S>, batch: Batch) {
    let Recovery { copied_keys, copied_ciphertexts, f, h, messages, coins, .. } = arrays;
    let (operation, warp) = (s.block(), warp::number(s));
    let (bytes, key_bytes) = (R::CIPHERTEXT_BYTES as u32, secret_key_bytes::<R>());
    let (ciphertext, key) = (bytes * operation, key_bytes * batch.row(operation));
    // The first warp copies the longer row, because the second one has more to do afterwards.
    if warp == 0 {
        warp::copy_bytes(s, (arrays.keys, key), key_bytes, (copied_keys, operation));
    } else {
        let received = (arrays.ciphertexts, ciphertext);
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
        let (own, secrets) = (Own::alone(operation), arrays.shared_secrets);
        derive::decapsulation::<R, PerWarp<S>>(own, messages, id, secrets, coins);
    }
    s.sync_block();
    if warp == 1 {
        fused::stage_key::<S, R>(s, h, operation);
        s.sync_warp();
        fused::multiply::<S, R>(s, coins, messages);
        let difference = fused::difference::<S, R>(s, ciphertext.0, ciphertext.1);
        let rejected = select::is_rejected(s, difference);
        if s.lane() == 0 {
            s.store(arrays.rejected, operation, u64::from(rejected));
        }
    }
}

/// Computes a rejection secret as [`rejection_secret`](super::hash::reject::rejection_secret) does,
/// in one warp. `z` returns the words of `z`. The ciphertext begins at byte `start` of its array.
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
