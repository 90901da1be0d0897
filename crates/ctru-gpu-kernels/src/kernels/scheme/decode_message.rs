//! The E8 decoder, which computes messages from decrypted polynomials.

use ctru_math::Ring;
use ctru_math::kernel::e8;

use crate::descriptor::{Batch, Shape};
use crate::kernels::{message_words, row, warp};
use crate::simt::{Simt, WARP};

/// Returns the block shape: one warp and one message per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(0)
}

/// Decodes each decrypted polynomial to the nearest message, as [`ctru_math::e8::decode`] does.
///
/// Threads: one warp per message. The threads share the groups.
/// Arrays: `decrypted`, the products `c f`, in `0..q2`; `messages`.
#[inline(always)]
pub fn decode_message<S: Simt, R: Ring>(
    s: S,
    decrypted: S::Global<u16>,
    messages: S::Global<u64>,
    _: Batch,
) {
    store_nibbles::<S, R>(s, messages, s.block(), |block| {
        let start = s.block() * row::<R>() + block * e8::BLOCK as u32;
        let value = |i| s.load(decrypted, start + i as u32).into();
        e8::decode_block(R::Q2, core::array::from_fn(value))
    });
}

/// Stores row `operation` of the messages. `nibble(block)` returns the message's nibble number
/// `block`.
#[inline(always)]
pub(crate) fn store_nibbles<S: Simt, R: Ring>(
    s: S,
    messages: S::Global<u64>,
    operation: u32,
    nibble: impl Fn(u32) -> u8,
) {
    let blocks = (R::CODED_COEFFS / e8::BLOCK) as u32;
    let mut first = 0;
    while first < blocks {
        let block = first + s.lane();
        let nibble = if block < blocks { nibble(block) } else { 0 };
        // Eight neighbouring lanes combine their nibbles into half a word. Two such halves form a
        // word.
        let mut half = u32::from(nibble) << (4 * (s.lane() % 8));
        for distance in [1, 2, 4] {
            half |= s.shuffle(half, s.lane() ^ distance);
        }
        let upper = s.shuffle(half, s.lane() ^ 8);
        if s.lane().is_multiple_of(16) && block < blocks {
            let word = u64::from(half) | u64::from(upper) << 32;
            s.store(messages, operation * message_words::<R>() + block / 16, word);
        }
        first += WARP;
    }
}
