//! The kernels: functions that take a machine [`Simt`], arrays in global memory and a
//! [`Batch`](crate::descriptor::Batch).
//!
//! - [`scheme`]: sampling, encryption, decryption and verification.
//! - [`product`]: products in the rings, on tensor cores.
//! - [`hash`]: seeds, messages, coins and secrets that Keccak derives.
//! - [`keys`]: conversion between encoded keys and arrays.
//! - [`invert`]: inversion of single elements and of batches.
//! - [`ntruprime`]: what only Streamlined NTRU Prime needs.
//! - [`whole`]: whole operations of small batches.
//!
//! An array consists of rows, one per operation unless the kernel's documentation says otherwise. A
//! row of a polynomial has [`row`] elements, a row of coins has [`coin_words`] words, a row of a
//! message has [`message_words`] words, and a row of a ciphertext has [`Ring::CIPHERTEXT_BYTES`]
//! bytes. Unless stated otherwise, words have 64 bits. A *group* consists of eight neighbouring
//! coefficients, and a *block of coefficients* of four groups.

pub mod hash;
pub mod invert;
pub mod keys;
pub mod ntruprime;
pub mod product;
pub mod scheme;
#[doc(hidden)]
pub mod warp;
pub mod whole;

use ctru_math::Ring;

use crate::simt::Simt;

/// Returns the number of elements in a polynomial's row in global memory: `n` rounded up to a
/// multiple of 8, so that vector accesses are aligned. The elements after coefficient `n - 1` have
/// no meaning.
#[must_use]
pub const fn row<R: Ring>() -> u32 {
    (R::N as u32).next_multiple_of(8)
}

/// Number of 64-bit words in each 32-byte secret: a seed, a master seed, the secret `z` of implicit
/// rejection, a shared secret, a rejection secret.
pub const SEED_WORDS: u32 = 4;

/// Number of 64-bit words in the input from which a seed is expanded, without `ID(pk)`: two words
/// for the purpose, four for the context, four for the master seed, and one for the row.
pub const EXPANSION_WORDS: u32 = 11;

/// Number of bytes in `ID(pk)`, the beginning of an encoded encapsulation key.
pub const ID_BYTES: u32 = 33;

/// Returns the number of words in a message's row. The bytes after the message are 0.
#[must_use]
pub const fn message_words<R: Ring>() -> u32 {
    (R::MESSAGE_BYTES as u32).div_ceil(8)
}

/// Returns the number of words in a row of coins for one polynomial. The bytes after the coins have
/// no meaning.
#[must_use]
pub const fn coin_words<R: Ring>() -> u32 {
    (R::COIN_BYTES as u32).div_ceil(8)
}

/// Returns the bytes `first..first + 8` of a row as a little-endian number. The row has `bytes`
/// bytes and begins at byte `row` of the array. Bytes outside the row are 0. `first` may be
/// negative, as a number modulo `2^32`.
#[inline(always)]
fn word_of_bytes<S: Simt>(s: S, memory: S::Global<u8>, row: u32, bytes: u32, first: u32) -> u64 {
    let memory = s.tail(memory, row);
    (0..8).fold(0, |word, k| {
        let i = first.wrapping_add(k);
        // The load is unconditional, so there is no branch and eight loads are in flight at once.
        let byte = s.load(memory, i.min(bytes - 1));
        word | if i < bytes { u64::from(byte) << (8 * k) } else { 0 }
    })
}

/// Returns the bytes `first..first + 4` of an array as a little-endian number. Bytes from `end` on
/// have no meaning. The function loads whole words of 4 bytes, up to the word that holds byte `end
/// - 1`. So the length of the array must be a multiple of 4 bytes.
#[inline(always)]
fn four_bytes<S: Simt>(s: S, memory: S::Global<u8>, first: u32, end: u32) -> u32 {
    let last = (end - 1) / 4;
    let [low, high] = [0, 1].map(|k| s.load(s.cast(memory), (first / 4 + k).min(last)));
    inside_pair(low, high, first)
}

/// Returns the bytes `first..first + 8` of an array, under the same conditions as [`four_bytes`].
#[inline(always)]
fn eight_bytes<S: Simt>(s: S, memory: S::Global<u8>, first: u32, end: u32) -> u64 {
    let last = (end - 1) / 4;
    let [a, b, c] = [0, 1, 2].map(|k| s.load(s.cast(memory), (first / 4 + k).min(last)));
    u64::from(inside_pair(b, c, first)) << 32 | u64::from(inside_pair(a, b, first))
}

/// Returns four of the eight bytes of two neighbouring words, beginning at byte `place % 4` of the
/// lower word.
#[inline(always)]
fn inside_pair(low: u32, high: u32, place: u32) -> u32 {
    ((u64::from(high) << 32 | u64::from(low)) >> (8 * (place % 4))) as u32
}

/// Returns the selector with which [`Simt::byte_permute`] returns the same bytes as
/// [`inside_pair`]. A kernel that reads many pairs at the same `place` computes the selector once.
#[inline(always)]
pub(crate) const fn pair_selector(place: u32) -> u32 {
    0x3210 + 0x1111 * (place % 4)
}

/// Returns a word whose lowest `count <= 32` bits are set.
#[inline(always)]
pub(crate) const fn low_bits(count: u32) -> u32 {
    ((1_u64 << count) - 1) as u32
}

/// Returns `count` in a form that the compiler cannot evaluate. The compiler unrolls loops whose
/// count it knows, and the unrolled loops of Keccak do not fit a GPU's instruction cache. The
/// result is the minimum of `count` and the number of threads per block, which must be at least
/// `count`.
#[inline(always)]
pub(crate) fn rolled<S: Simt>(s: S, count: u32) -> u32 {
    debug_assert!(count <= s.threads());
    s.threads().min(count)
}

/// Evaluates an expression for each number `i < count <= 18`, without a loop. A thread's arrays
/// live in registers only if their indices are constant, and the compiler does not unroll loops
/// whose body is large.
macro_rules! unrolled {
    ($i:ident < $count:expr, $body:expr) => {
        unrolled!($i, $count, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17);
    };
    ($i:ident, $count:expr, $body:expr, $($number:literal)*) => {
        const { assert!($count <= 18) };
        $(
            if $number < const { $count } {
                let $i: u32 = $number;
                $body
            }
        )*
    };
}
pub(crate) use unrolled;
