//! Implicit rejection, one thread per operation: computes rejection secrets. A rejection secret is
//! the shared secret of a ciphertext that decapsulation rejects. It does not depend on the result
//! of decryption, so this kernel and decryption can run at the same time.
//!
//! Source: CTRU-Prime paper, Algorithm 6.

use core::array;

use ctru_math::Ring;

use super::derive::{Id, Own};
use super::keccak::{PerThread, SHA3_512, State};
use crate::descriptor::{Batch, Shape};
use crate::kernels::{ID_BYTES, SEED_WORDS, eight_bytes, pair_selector, rolled, word_of_bytes};
use crate::simt::Simt;

/// Returns the block shape: 128 threads, one per operation.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Shape::new(128, 128, 0)
}

/// Computes rejection secrets: the first half of `SHA3-512(ID(pk) || z || ciphertext)` for each
/// operation.
///
/// Threads: one per operation.
/// Arrays: `ids`, rows of [`ID_BYTES`] bytes, one per operation or one shared row; `z`, rows of
/// [`SEED_WORDS`] words, one per operation or one shared row; `ciphertexts`, whose total length is
/// a multiple of 4 bytes; `rejection_secrets`, rows of [`SEED_WORDS`] words.
/// Source: CTRU-Prime paper, Algorithm 6.
#[inline(always)]
pub fn rejection_secret<S: Simt, R: Ring>(
    s: S,
    ids: S::Global<u8>,
    z: S::Global<u64>,
    ciphertexts: S::Global<u8>,
    rejection_secrets: S::Global<u64>,
    batch: Batch,
) {
    let operation = s.block() * s.threads() + s.thread();
    if operation < batch.operations() {
        let arrays = (ids, z, ciphertexts, rejection_secrets);
        rejection::<PerThread<S>, R>(s, Own::alone(operation), batch.row(operation), arrays);
    }
}

/// The arrays of [`rejection_secret`].
type Arrays<S> = (
    <S as Simt>::Global<u8>,
    <S as Simt>::Global<u64>,
    <S as Simt>::Global<u8>,
    <S as Simt>::Global<u64>,
);

/// Computes one operation of [`rejection_secret`], with the key of row `key`, on a state that one
/// or two threads hold.
#[inline(always)]
pub(super) fn rejection<T: State, R: Ring>(
    s: T::Machine,
    Own { operation, writes }: Own,
    key: u32,
    (ids, z, ciphertexts, rejection_secrets): Arrays<T::Machine>,
) {
    let z = |i| s.load(z, SEED_WORDS * key + i);
    let mut state: T = absorb_key(Id::of_row(s, ids, key), z);
    let start = R::CIPHERTEXT_BYTES as u32 * operation;
    let end = start + R::CIPHERTEXT_BYTES as u32;
    let first = eight_bytes(s, ciphertexts, start, end) << (64 - 8 * FIRST_BYTES);
    state = state.absorb(SHA3_512.rate, |i| if i == SHA3_512.rate - 1 { first } else { 0 });

    // The rest of the ciphertext begins in the first word of `rest`.
    let place = start + FIRST_BYTES;
    let memory = s.cast::<u8, u32>(ciphertexts);
    let mut rest = s.tail(memory, place / 4);
    let mut reader = Reader { s, selector: pair_selector(place), word: s.load(rest, 0) };
    for _ in 0..rolled(s, inner_blocks::<R>()) {
        // The words arrive while the state is permuted.
        let loaded = array::from_fn(|k| s.load(rest, k as u32 + 1));
        rest = s.tail(rest, 2 * SHA3_512.rate);
        state = state.permute();
        let words = reader.words(loaded);
        state = state.absorb(SHA3_512.rate, |i| words[i as usize]);
    }
    // The indices are not computed from `rest`. Its value before the last step would then occupy
    // registers as well.
    let next = place / 4 + 2 * SHA3_512.rate * inner_blocks::<R>() + 1;
    let last = (end - 1) / 4;
    let loaded = array::from_fn(|k| match k < last_block_bytes::<R>().div_ceil(4) as usize {
        true => s.load(memory, (next + k as u32).min(last)),
        false => 0,
    });
    state = state.permute();
    let words = reader.words(loaded);
    let word = |i| last_word::<R>(i, words[i as usize]);
    state.absorb(SHA3_512.rate, word).permute().output(writes, SEED_WORDS, |i, word| {
        s.store(rejection_secrets, SEED_WORDS * operation + i, word);
    });
}

/// Reads consecutive blocks of bytes from words of 4 bytes. A block may begin in the middle of a
/// word.
struct Reader<S> {
    s: S,
    /// The selector of [`Simt::byte_permute`] for four bytes of two neighbouring words, beginning
    /// at the byte of a word at which blocks begin.
    selector: u32,
    /// The word in which the next block begins.
    word: u32,
}

impl<S: Simt> Reader<S> {
    /// Returns the words of the next block. `loaded` are the words of 4 bytes that follow the one
    /// in which the block begins. The block after it begins in the last of them.
    #[inline(always)]
    fn words(&mut self, loaded: [u32; 2 * RATE]) -> [u64; RATE] {
        let Self { s, selector, word } = *self;
        let half = |k: usize| {
            let low = if k == 0 { word } else { loaded[k - 1] };
            u64::from(s.byte_permute(low, loaded[k], selector))
        };
        self.word = loaded[2 * RATE - 1];
        array::from_fn(|i| half(2 * i) | half(2 * i + 1) << 32)
    }
}

/// Returns word `i` of the last block with its padding. The bytes of `word` after the ciphertext
/// have no meaning.
#[inline(always)]
fn last_word<R: Ring>(i: u32, word: u64) -> u64 {
    let inside = match last_block_bytes::<R>().saturating_sub(8 * i) {
        0 => 0,
        count @ 1..8 => word & ((1 << (8 * count)) - 1),
        8.. => word,
    };
    inside ^ SHA3_512.padding(input_bytes::<R>(), SHA3_512.rate * (inner_blocks::<R>() + 1) + i)
}

/// Number of the ciphertext's bytes in the first block.
const FIRST_BYTES: u32 = 8 * SHA3_512.rate - KEY_BYTES;
const _: () = assert!(0 < FIRST_BYTES && FIRST_BYTES < 8);

/// Returns the number of blocks that hold bytes of the ciphertext only.
const fn inner_blocks<R: Ring>() -> u32 {
    (R::CIPHERTEXT_BYTES as u32 - FIRST_BYTES) / (8 * SHA3_512.rate)
}

/// Returns the number of the ciphertext's bytes in the last block.
const fn last_block_bytes<R: Ring>() -> u32 {
    const {
        let bytes = (R::CIPHERTEXT_BYTES as u32 - FIRST_BYTES) % (8 * SHA3_512.rate);
        assert!(SHA3_512.blocks(input_bytes::<R>()) == 1 + inner_blocks::<R>() + 1);
        // The word in which the last block begins is loaded with the block before it.
        assert!(0 < bytes);
        bytes
    }
}

/// Number of words in a block of SHA3-512's input.
const RATE: usize = SHA3_512.rate as usize;
/// Number of input bytes before the ciphertext.
const KEY_BYTES: u32 = ID_BYTES + 8 * SEED_WORDS;

/// Returns the number of input bytes.
pub(crate) const fn input_bytes<R: Ring>() -> u32 {
    KEY_BYTES + R::CIPHERTEXT_BYTES as u32
}

/// Returns a state that has absorbed `ID(pk) || z`, which is shorter than one block. `z` returns
/// the words of `z`.
#[inline(always)]
pub(crate) fn absorb_key<T: State>(id: Id<T::Machine>, z: impl Fn(u32) -> u64) -> T {
    const { assert!(KEY_BYTES < 8 * SHA3_512.rate) };
    let z = |i| if i < SEED_WORDS { z(i) } else { 0 };
    T::zero(id.s).absorb(SHA3_512.rate, |i| id.followed_by(z, i))
}

/// Returns word `i` of the padded input with zeros in place of the bytes that [`absorb_key`]
/// absorbs. The ciphertext begins at byte `start` of the array.
#[inline(always)]
pub(crate) fn ciphertext_word<S: Simt, R: Ring>(
    s: S,
    ciphertexts: S::Global<u8>,
    start: u32,
    i: u32,
) -> u64 {
    let bytes = R::CIPHERTEXT_BYTES as u32;
    let first = (8 * i).wrapping_sub(KEY_BYTES);
    word_of_bytes(s, ciphertexts, start, bytes, first) ^ SHA3_512.padding(input_bytes::<R>(), i)
}
