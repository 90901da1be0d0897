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
use crate::kernels::{ID_BYTES, SEED_WORDS, inside_pair, rolled, word_of_bytes};
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
    for block in 0..rolled(s, SHA3_512.blocks(input_bytes::<R>())) {
        let words = ciphertext_words::<T::Machine, R>(s, ciphertexts, start, block);
        state = state.absorb(SHA3_512.rate, |i| words[i as usize]).permute();
    }
    state.output(writes, SEED_WORDS, |i, word| {
        s.store(rejection_secrets, SEED_WORDS * operation + i, word);
    });
}

/// Returns the words of block `block` of the padded input, each as [`ciphertext_word`] does. The
/// length of the array is a multiple of 4 bytes.
#[inline(always)]
fn ciphertext_words<S: Simt, R: Ring>(
    s: S,
    ciphertexts: S::Global<u8>,
    start: u32,
    block: u32,
) -> [u64; RATE] {
    let bytes = R::CIPHERTEXT_BYTES as i32;
    // The place of the block's first byte in the ciphertext, negative in the first block.
    let first = (8 * SHA3_512.rate * block) as i32 - KEY_BYTES as i32;
    // Its distance from the beginning of the array's word in which the ciphertext begins.
    let place = (start % 4) as i32 + first;
    // A thread loads whole words of 4 bytes, of which the first one may begin before the block.
    // Words after the ciphertext, and before the array, are replaced by the ciphertext's last word.
    // Words before the ciphertext may belong to another one. All bytes outside are cleared.
    let last = (start + R::CIPHERTEXT_BYTES as u32 - 1) / 4;
    let loaded: [u32; 2 * RATE + 1] = array::from_fn(|k| {
        let i = (start / 4).wrapping_add_signed((place >> 2) + k as i32);
        s.load(s.cast::<u8, u32>(ciphertexts), i.min(last))
    });
    let half = |k: usize| u64::from(inside_pair(loaded[k], loaded[k + 1], place as u32));
    // A mask for the first `count` bytes of a word.
    let mask = |count: i32| match count.clamp(0, 8) {
        8 => !0,
        count => (1u64 << (8 * count)) - 1,
    };
    array::from_fn(|i| {
        let before = first + 8 * i as i32;
        let inside = mask(bytes - before) & !mask(-before);
        let padding = SHA3_512.padding(input_bytes::<R>(), SHA3_512.rate * block + i as u32);
        (half(2 * i) | half(2 * i + 1) << 32) & inside ^ padding
    })
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
