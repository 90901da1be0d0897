//! Encapsulation in one kernel.

use ctru_math::Ring;

pub use super::shape;
use crate::descriptor::Batch;
use crate::kernels::hash::derive::{self, Id, Own};
use crate::kernels::hash::keccak::{PerWarp, State, of_warp};
use crate::kernels::keys::decode_public;
use crate::kernels::keys::mixed_radix::{MixedRadix, public_key_bytes};
use crate::kernels::scheme::fused;
use crate::kernels::{EXPANSION_WORDS, ID_BYTES, SEED_WORDS, warp};
use crate::simt::Simt;

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

/// Memory of a kernel: for `ID(pk)`, `h`, messages and coins.
type Memory<S> = (
    <S as Simt>::Global<u8>,
    <S as Simt>::Global<u16>,
    <S as Simt>::Global<u64>,
    <S as Simt>::Global<u64>,
);

/// Encapsulates: the first warp loads what it hashes; then it computes `K`, `m` and the coins while
/// the second one decodes `h`; then the second one encrypts.
#[inline(always)]
fn encapsulate_from<S: Simt, R: Ring, X: SeedSource<S>>(
    s: S,
    source: X,
    (keys, copied_keys): (S::Global<u8>, S::Global<u8>),
    (ids, h, messages, coins): Memory<S>,
    (shared_secrets, ciphertexts): (S::Global<u64>, S::Global<u8>),
    batch: Batch,
) {
    let (operation, warp) = (s.block(), warp::number(s));
    let start = public_key_bytes::<R>() * batch.row(operation);
    let mut loaded = 0;
    if warp == 0 {
        let id_row = ID_BYTES * operation;
        loaded = source.load(s, operation);
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
        let seed = source.seed(s, loaded, operation, id);
        let (own, secrets) = (Own::alone(operation), shared_secrets);
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
        fused::write_ciphertext::<S, R>(s, ciphertexts, bytes * operation);
    }
}

/// Encapsulates with expanded seeds.
///
/// Threads: two warps per operation.
/// Shared memory: the key and its coefficients; later, in their place, what
/// [`encrypt`](crate::kernels::scheme::fused::encrypt) needs.
/// Arrays: `expansion`, as for
/// [`expand_seeds`](crate::kernels::hash::derive::expand_seeds); `keys`, encoded public
/// keys, one per operation or one shared key; `shared_secrets` and `ciphertexts`, the
/// results. The others are memory for the kernel, with one row per operation.
/// Source: CTRU-Prime paper, Algorithm 5.
#[expect(clippy::too_many_arguments, reason = "the arrays of a kernel are its arguments")]
#[inline(always)]
pub fn encapsulate<S: Simt, R: Ring>(
    s: S,
    expansion: S::Global<u64>,
    keys: S::Global<u8>,
    copied_keys: S::Global<u8>,
    ids: S::Global<u8>,
    h: S::Global<u16>,
    messages: S::Global<u64>,
    coins: S::Global<u64>,
    shared_secrets: S::Global<u64>,
    ciphertexts: S::Global<u8>,
    batch: Batch,
) {
    encapsulate_from::<S, R, _>(
        s,
        Expanded::<S>(expansion),
        (keys, copied_keys),
        (ids, h, messages, coins),
        (shared_secrets, ciphertexts),
        batch,
    );
}

/// Encapsulates with a seed for each operation.
///
/// Threads: two warps per operation.
/// Shared memory: as for [`encapsulate`].
/// Arrays: `seeds`; `keys`, encoded public keys, one per operation or one shared key;
/// `shared_secrets` and `ciphertexts`, the results. The others are memory for the kernel,
/// with one row per operation.
/// Source: CTRU-Prime paper, Algorithm 5.
#[expect(clippy::too_many_arguments, reason = "the arrays of a kernel are its arguments")]
#[inline(always)]
pub fn encapsulate_seeds<S: Simt, R: Ring>(
    s: S,
    seeds: S::Global<u64>,
    keys: S::Global<u8>,
    copied_keys: S::Global<u8>,
    ids: S::Global<u8>,
    h: S::Global<u16>,
    messages: S::Global<u64>,
    coins: S::Global<u64>,
    shared_secrets: S::Global<u64>,
    ciphertexts: S::Global<u8>,
    batch: Batch,
) {
    encapsulate_from::<S, R, _>(
        s,
        Given::<S>(seeds),
        (keys, copied_keys),
        (ids, h, messages, coins),
        (shared_secrets, ciphertexts),
        batch,
    );
}
