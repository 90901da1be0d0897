//! The kernels, one module a stage of the scheme.

pub mod hash;
pub mod invert;
pub mod keys;
pub mod product;
pub mod scheme;
pub(crate) mod warp;

use ctru_math::Ring;

use crate::simt::{Simt, WARP};

/// Elements of a polynomial's row in global memory: `n` rounded up to a multiple of 8, for aligned vector access. What
/// lies behind coefficient `n - 1` has no meaning.
#[must_use]
pub const fn row<R: Ring>() -> u32 {
    (R::N as u32).next_multiple_of(8)
}

/// Words of a seed, of a rejection secret `z`, of a master seed and of a shared secret: 32 bytes.
pub const SEED_WORDS: u32 = 4;

/// Bytes of `ID(pk)`, the first of an encoded encapsulation key; one row a key.
pub const ID_BYTES: u32 = 33;

/// Words of a message's row. The bytes behind the message are 0.
#[must_use]
pub const fn message_words<R: Ring>() -> u32 {
    (R::MESSAGE_BYTES as u32).div_ceil(8)
}

/// Words of a row of coins for one polynomial. The bytes behind the coins have no meaning.
#[must_use]
pub const fn coin_words<R: Ring>() -> u32 {
    (R::COIN_BYTES as u32).div_ceil(8)
}

/// The 8 bytes from byte `first` on of the row of `bytes` bytes at `row`, little-endian; bytes outside the row are 0.
/// `first` may be a negative number that has wrapped around.
#[inline(always)]
fn word_of_bytes<S: Simt>(s: S, memory: S::Global<u8>, row: u32, bytes: u32, first: u32) -> u64 {
    (0..8).fold(0, |word, k| {
        let i = first.wrapping_add(k);
        // Some byte is loaded in any case: eight loads on their way at once, and no branches.
        let byte = s.load(memory, row + i.min(bytes - 1));
        word | if i < bytes { u64::from(byte) << (8 * k) } else { 0 }
    })
}

/// `count`, at most 32, in a form that compilers do not know: a block has no less threads. They would write out loops
/// around or in permutations turn by turn, which is more than a GPU's instruction cache holds.
#[inline(always)]
pub(crate) fn rolled<S: Simt>(s: S, count: u32) -> u32 {
    debug_assert!(count <= WARP);
    s.threads().min(count)
}
