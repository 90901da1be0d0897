//! The kernels: functions of a machine [`Simt`], of arrays in global memory and of a
//! [`Batch`](crate::descriptor::Batch).
//!
//! - [`scheme`]: sampling, encryption, decryption and the last step of decapsulation.
//! - [`product`]: products in the rings, by the NTT and on tensor cores.
//! - [`hash`]: all that is derived by Keccak.
//! - [`keys`]: encoded keys to arrays and back.
//! - [`invert`]: inversion of one element and of batches.
//!
//! Arrays are rows, one for each operation unless the kernel says otherwise. A row of a polynomial
//! has [`row`] elements, a row of coins [`coin_words`] words, a row of a message [`message_words`]
//! words and a row of a ciphertext [`Ring::CIPHERTEXT_BYTES`] bytes. A *group* is eight
//! neighbouring coefficients; a *block of coefficients* is four groups.

pub mod hash;
pub mod invert;
pub mod keys;
pub mod product;
pub mod scheme;
pub(crate) mod warp;

use ctru_math::Ring;

use crate::simt::{Simt, WARP};

/// Returns the elements of a polynomial's row in global memory: `n` rounded up to a multiple of 8,
/// so that vectors are aligned. The elements behind coefficient `n - 1` have no meaning.
#[must_use]
pub const fn row<R: Ring>() -> u32 {
    (R::N as u32).next_multiple_of(8)
}

/// Words of a seed, of a master seed, of a secret `z` for rejection and of a shared secret: 32
/// bytes.
pub const SEED_WORDS: u32 = 4;

/// Bytes of `ID(pk)`, the beginning of an encoded encapsulation key.
pub const ID_BYTES: u32 = 33;

/// Returns the words of a message's row. The bytes behind the message are 0.
#[must_use]
pub const fn message_words<R: Ring>() -> u32 {
    (R::MESSAGE_BYTES as u32).div_ceil(8)
}

/// Returns the words of a row of coins for one polynomial. The bytes behind the coins have no
/// meaning.
#[must_use]
pub const fn coin_words<R: Ring>() -> u32 {
    (R::COIN_BYTES as u32).div_ceil(8)
}

/// Returns the 8 bytes from byte `first` on of a row of `bytes` bytes that begins at byte `row` of
/// the array, little-endian. Bytes outside the row are 0. `first` may be a negative number, modulo
/// `2^32`.
#[inline(always)]
fn word_of_bytes<S: Simt>(s: S, memory: S::Global<u8>, row: u32, bytes: u32, first: u32) -> u64 {
    (0..8).fold(0, |word, k| {
        let i = first.wrapping_add(k);
        // Every byte loads something, so there is no branch, and eight loads are in flight at once.
        let byte = s.load(memory, row + i.min(bytes - 1));
        word | if i < bytes { u64::from(byte) << (8 * k) } else { 0 }
    })
}

/// Returns `count <= 32` in a form that the compiler cannot evaluate. It would unroll loops with a
/// known count, and loops around or in Keccak's permutation do not fit a GPU's instruction cache
/// then. A block has at least 32 threads, so the minimum is `count`.
#[inline(always)]
pub(crate) fn rolled<S: Simt>(s: S, count: u32) -> u32 {
    debug_assert!(count <= WARP);
    s.threads().min(count)
}
