//! Derives seeds, messages, shared secrets and coins, one thread per operation.

use core::array;

use ctru_math::Ring;

use super::keccak::{PerThread, SHA3_512, SHAKE256, State, Words};
use crate::descriptor::{Batch, Shape};
use crate::kernels::{
    EXPANSION_WORDS, ID_BYTES, SEED_WORDS, coin_words, message_words, rolled, word_of_bytes,
};
use crate::simt::Simt;

/// Returns the block shape: 128 threads, one per operation.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Shape::new(128, 128, 0)
}

/// Expands a master seed to one 32-byte seed per encapsulation. `ctru-kem` defines the input of
/// SHAKE256, of which `expansion` holds the part before `ID(pk)`.
///
/// Operation `i` of this launch has the row of the first operation plus `i`. The caller makes sure
/// that this row fits 64 bits.
///
/// Threads: one per operation.
/// Arrays: `expansion`, one row of [`EXPANSION_WORDS`] words, the last of which is the row of the
/// launch's first operation; `ids`, rows of [`ID_BYTES`] bytes, one per operation or one shared
/// row; `seeds`, rows of [`SEED_WORDS`] words.
/// Cost: one permutation per operation.
#[inline(always)]
pub fn expand_seeds<S: Simt, R: Ring>(
    s: S,
    expansion: S::Global<u64>,
    ids: S::Global<u8>,
    seeds: S::Global<u64>,
    batch: Batch,
) {
    let operation = own_operation(s);
    if operation < batch.operations() {
        let id = Id::of_row(s, ids, batch.row(operation));
        // Each byte of the id is loaded once.
        let words: [u64; ID_WORDS] = array::from_fn(|i| id.followed_by(|_| 0, i as u32));
        let id = |i: u32| words.get(i as usize).copied().unwrap_or(0);
        let state: PerThread<S> =
            expanded(s, operation, words_of_row(s, (expansion, EXPANSION_WORDS), 0), id);
        state.output(true, SEED_WORDS, |i, word| s.store(seeds, SEED_WORDS * operation + i, word));
    }
}

/// Expands a master seed to one 64-byte seed per key pair: 32 bytes from which the key pair is
/// sampled, then `z`. The formula is that of [`expand_seeds`], with zeros in place of `ID(pk)`.
///
/// Threads: one per operation.
/// Arrays: `expansion`, as for [`expand_seeds`]; `seeds`, rows of 8 words.
/// Cost: one permutation per operation.
#[inline(always)]
pub fn expand_key_pair_seeds<S: Simt, R: Ring>(
    s: S,
    expansion: S::Global<u64>,
    seeds: S::Global<u64>,
    batch: Batch,
) {
    let operation = own_operation(s);
    if operation < batch.operations() {
        let words = 2 * SEED_WORDS;
        let state: PerThread<S> =
            expanded(s, operation, words_of_row(s, (expansion, EXPANSION_WORDS), 0), |_| 0);
        state.output(true, words, |i, word| s.store(seeds, words * operation + i, word));
    }
}

/// The number of words that hold `ID(pk)`.
const ID_WORDS: usize = ID_BYTES.div_ceil(8) as usize;

/// Returns a function that loads the words of a row of an array of rows of `words` words, and that
/// returns 0 for every other index.
#[inline(always)]
pub(crate) fn words_of_row<S: Simt>(
    s: S,
    (array, words): (S::Global<u64>, u32),
    row: u32,
) -> impl Fn(u32) -> u64 {
    move |i| if i < words { s.load(array, words * row + i) } else { 0 }
}

/// Returns the state whose first lanes are the seed of an operation. `expansion` returns the words
/// of the row that [`expand_seeds`] describes, and `id` the words of `ID(pk)`. Both return 0 for
/// every other index. Negative indices occur as numbers modulo `2^32`.
#[inline(always)]
pub(crate) fn expanded<T: State>(
    s: T::Machine,
    operation: u32,
    expansion: impl Fn(u32) -> u64,
    id: impl Fn(u32) -> u64,
) -> T {
    const ROW: u32 = EXPANSION_WORDS - 1;
    const BYTES: u32 = 8 * EXPANSION_WORDS + ID_BYTES;
    let state: T = SHAKE256.absorb_block(s, BYTES, |i| {
        let row = if i == ROW { u64::from(operation) } else { 0 };
        (expansion(i) + row) | id(i.wrapping_sub(EXPANSION_WORDS))
    });
    state.permute()
}

/// Computes one operation of
/// [`derive_key_pair`](super::middle_batch::derive_key_pair).
#[inline(always)]
pub(crate) fn key_pair<R: Ring, T: State>(
    s: T::Machine,
    Own { operation, writes }: Own,
    seeds: Words<T>,
    [f_coins, g_coins]: [Words<T>; 2],
    z: Words<T>,
) {
    let coin_bytes = R::COIN_BYTES as u32;
    // The coins of `g` begin inside a word of the stream, so each of their words combines bits of
    // two words of the stream.
    let (skipped, shift) = (coin_bytes / 8 + 1, 8 * (coin_bytes % 8));
    const { assert!(!R::COIN_BYTES.is_multiple_of(8)) };
    let seed = |i| s.load(seeds, 2 * SEED_WORDS * operation + i);
    if writes {
        for i in 0..SEED_WORDS {
            s.store(z, SEED_WORDS * operation + i, seed(SEED_WORDS + i));
        }
    }
    let words = coin_words::<R>();
    let state: T =
        SHAKE256.absorb_block(s, 8 * SEED_WORDS, |i| if i < SEED_WORDS { seed(i) } else { 0 });
    let mut previous = 0;
    squeeze(s, writes, state, skipped + words, |i, word| {
        if i < words {
            s.store(f_coins, words * operation + i, word);
        }
        if i >= skipped {
            let cut = previous >> shift | word << (64 - shift);
            s.store(g_coins, words * operation + i - skipped, cut);
        }
        previous = word;
    });
}

/// Derives the secrets of encapsulations from seeds: the message `m = SHAKE256(seed)`, then the
/// shared secret `K` and the seed `s` with `(K || s) = SHA3-512(ID(pk) || m)`, then the coins
/// `SHAKE256(s)` of `r`.
///
/// Threads: one per operation.
/// Arrays: `seeds`, rows of [`SEED_WORDS`] words; `ids`, rows of [`ID_BYTES`] bytes, one per
/// operation or one shared row; `messages`; `shared_secrets`, rows of [`SEED_WORDS`] words;
/// `coins`.
/// Source: CTRU-Prime paper, Algorithm 5.
#[inline(always)]
pub fn derive_encapsulation<S: Simt, R: Ring>(
    s: S,
    seeds: S::Global<u64>,
    ids: S::Global<u8>,
    messages: S::Global<u64>,
    shared_secrets: S::Global<u64>,
    coins: S::Global<u64>,
    batch: Batch,
) {
    let operation = own_operation(s);
    if operation < batch.operations() {
        let id = Id::of_row(s, ids, batch.row(operation));
        let own = Own::alone(operation);
        let seed = words_of_row(s, (seeds, SEED_WORDS), operation);
        encapsulation::<R, PerThread<S>>(own, seed, id, messages, shared_secrets, coins);
    }
}

/// Derives the secrets of decapsulations from decrypted messages: the shared secret `K'` and the
/// coins of the re-encryption.
///
/// Threads: one per operation.
/// Arrays: as for [`derive_encapsulation`].
/// Source: CTRU-Prime paper, Algorithm 6.
#[inline(always)]
pub fn derive_decapsulation<S: Simt, R: Ring>(
    s: S,
    messages: S::Global<u64>,
    ids: S::Global<u8>,
    shared_secrets: S::Global<u64>,
    coins: S::Global<u64>,
    batch: Batch,
) {
    let operation = own_operation(s);
    if operation < batch.operations() {
        let id = Id::of_row(s, ids, batch.row(operation));
        let own = Own::alone(operation);
        decapsulation::<R, PerThread<S>>(own, messages, id, shared_secrets, coins);
    }
}

/// An operation, and whether the thread that holds it writes its results.
#[derive(Copy, Clone)]
pub(crate) struct Own {
    pub(crate) operation: u32,
    pub(crate) writes: bool,
}

impl Own {
    /// Returns an operation for a thread that writes every result that it holds.
    #[inline(always)]
    pub(crate) fn alone(operation: u32) -> Self {
        Self { operation, writes: true }
    }
}

/// Returns the number of this thread in the launch.
#[inline(always)]
pub(crate) fn own_operation<S: Simt>(s: S) -> u32 {
    s.block() * s.threads() + s.thread()
}

/// The `ID(pk)` of a key: the bytes of an array from byte `start` on.
#[derive(Copy, Clone)]
pub(crate) struct Id<S: Simt> {
    pub(crate) s: S,
    pub(crate) bytes: S::Global<u8>,
    pub(crate) start: u32,
}

impl<S: Simt> Id<S> {
    /// Returns row `key` of an array of such rows.
    #[inline(always)]
    pub(crate) fn of_row(s: S, ids: S::Global<u8>, key: u32) -> Self {
        Self { s, bytes: ids, start: key * ID_BYTES }
    }

    /// Returns word `i` of `ID(pk) || tail`. `tail` returns the words of the tail, and 0 for every
    /// other index. Negative indices occur as numbers modulo `2^32`.
    #[inline(always)]
    pub(crate) fn followed_by(self, tail: impl Fn(u32) -> u64, i: u32) -> u64 {
        const WHOLE: u32 = ID_BYTES / 8;
        const { assert!(ID_BYTES % 8 == 1) };
        let id = word_of_bytes(self.s, self.bytes, self.start, ID_BYTES, i.wrapping_mul(8));
        id | tail(i.wrapping_sub(WHOLE + 1)) >> 56 | tail(i.wrapping_sub(WHOLE)) << 8
    }
}

/// Computes one operation of [`derive_encapsulation`] on a state of any kind. `seed` returns the
/// words of the seed, and 0 for every other index.
#[inline(always)]
pub(crate) fn encapsulation<R: Ring, T: State>(
    own: Own,
    seed: impl Fn(u32) -> u64,
    id: Id<T::Machine>,
    messages: Words<T>,
    shared_secrets: Words<T>,
    coins: Words<T>,
) {
    let (s, Own { operation, writes }) = (id.s, own);
    let stream = SHAKE256.absorb_block::<T>(s, 8 * SEED_WORDS, seed).permute();
    let words = message_words::<R>();
    let lane = stream.lanes(words);
    let message = |i| cut(R::MESSAGE_BYTES as u32, i, lane(i));
    stream.output(writes, words, |i, word| {
        s.store(messages, words * operation + i, cut(R::MESSAGE_BYTES as u32, i, word));
    });
    secret_and_coins::<R, T>(own, id, message, shared_secrets, coins);
}

/// Computes one operation of [`derive_decapsulation`] on a state of any kind.
#[inline(always)]
pub(crate) fn decapsulation<R: Ring, T: State>(
    own: Own,
    messages: Words<T>,
    id: Id<T::Machine>,
    shared_secrets: Words<T>,
    coins: Words<T>,
) {
    let words = message_words::<R>();
    let message = |i| if i < words { id.s.load(messages, words * own.operation + i) } else { 0 };
    secret_and_coins::<R, T>(own, id, message, shared_secrets, coins);
}

/// Clears the bytes of `word` that are not among the first `bytes` bytes of a string, and returns
/// the result. `word` is word `i` of the string.
#[inline(always)]
pub(crate) fn cut(bytes: u32, i: u32, word: u64) -> u64 {
    let whole = bytes / 8;
    if i < whole {
        word
    } else if i == whole {
        word & ((1 << (8 * (bytes % 8))) - 1)
    } else {
        0
    }
}

/// Derives the shared secret and the coins of one operation. `message` returns the words of the
/// message.
#[inline(always)]
fn secret_and_coins<R: Ring, T: State>(
    Own { operation, writes }: Own,
    id: Id<T::Machine>,
    message: impl Fn(u32) -> u64,
    shared_secrets: Words<T>,
    coins: Words<T>,
) {
    let s = id.s;
    let bytes = ID_BYTES + R::MESSAGE_BYTES as u32;
    const { assert!(SHA3_512.blocks(ID_BYTES + R::MESSAGE_BYTES as u32) == 2) };
    let word = |i| id.followed_by(&message, i) ^ SHA3_512.padding(bytes, i);
    let rate = SHA3_512.rate;
    let first = T::zero(s).absorb(rate, word).permute();
    let digest = first.absorb(rate, |i| word(rate + i)).permute();
    digest.output(writes, SEED_WORDS, |i, word| {
        s.store(shared_secrets, SEED_WORDS * operation + i, word);
    });

    let lane = digest.lanes(2 * SEED_WORDS);
    let state = SHAKE256.absorb_block::<T>(s, 8 * SEED_WORDS, |i| {
        let word = lane(SEED_WORDS + i);
        if i < SEED_WORDS { word } else { 0 }
    });
    let words = coin_words::<R>();
    squeeze(s, writes, state, words, |i, word| s.store(coins, words * operation + i, word));
}

/// Calls `output(i, word)` for the first `words` words of the output stream if the thread `writes`.
/// Each permutation of `state` gives one block of the stream.
#[inline(always)]
pub(crate) fn squeeze<T: State>(
    s: T::Machine,
    writes: bool,
    mut state: T,
    words: u32,
    mut output: impl FnMut(u32, u64),
) {
    let rate = SHAKE256.rate;
    for block in 0..rolled(s, words.div_ceil(rate)) {
        state = state.permute();
        state.output(writes, rate, |i, word| {
            if rate * block + i < words {
                output(rate * block + i, word);
            }
        });
    }
}
