//! Stores messages that the E8 decoder has computed.

use ctru_math::Ring;
use ctru_math::kernel::e8;

use crate::kernels::message_words;
use crate::simt::{Simt, WARP};

/// Stores row `operation` of the messages. `nibble(block)` returns the message's nibble number
/// `block`.
#[inline(always)]
pub fn store_nibbles<S: Simt, R: Ring>(
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
