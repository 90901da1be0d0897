//! Comparison of a received ciphertext with a computed one.

use core::array;

use ctru_math::Ring;
use ctru_math::kernel::bits::GROUP;

use crate::kernels::{low_bits, pair_selector, warp};
use crate::simt::{Simt, WARP};

/// The maximum number of groups of a ciphertext per thread.
const ROUNDS: usize = 5;

/// A thread's part of a received ciphertext: group `32 round + lane` for each `round`.
pub(crate) struct Received<S> {
    s: S,
    /// Four neighbouring words for each group, which begins in the first of them.
    words: [[u32; 4]; ROUNDS],
    /// The selector of [`Simt::byte_permute`] for four bytes of two neighbouring words, beginning
    /// at the byte of a word at which the groups of this thread begin.
    selector: u32,
}

impl<S: Simt> Received<S> {
    /// Loads the ciphertext that begins at byte `start` of an array, whose length is a multiple of
    /// 4 bytes. The work of a warp before it compares need not wait for the loads.
    #[inline(always)]
    pub(crate) fn load<R: Ring>(s: S, memory: S::Global<u8>, start: u32) -> Self {
        let rounds = warp::rounds(R::N) as usize;
        const { assert!(warp::rounds(R::N) as usize <= ROUNDS && R::Q2_BITS + 3 <= 16) };
        // Groups begin at even places if there are only such places.
        let even = (R::CIPHERTEXT_BYTES as u32 | R::Q2_BITS).is_multiple_of(2);
        let count = (R::Q2_BITS + if even { 2 } else { 3 }).div_ceil(4) as usize;
        let last = (start + R::CIPHERTEXT_BYTES as u32 - 1) / 4;
        let first = start + R::Q2_BITS * s.lane();
        let words = array::from_fn(|round| {
            let first = (first + R::Q2_BITS * WARP * round as u32) / 4;
            array::from_fn(|k| match round < rounds && k < count {
                true => s.load(s.cast(memory), (first + k as u32).min(last)),
                false => 0,
            })
        });
        const { assert!((R::Q2_BITS * WARP).is_multiple_of(4)) };
        Self { s, words, selector: pair_selector(first) }
    }

    /// Returns 0 if and only if the group of round `round` equals `packed`.
    #[inline(always)]
    pub(crate) fn difference<R: Ring>(&self, round: u32, packed: [u32; 3]) -> u32 {
        let (whole, end) = ((R::N / GROUP) as u32, R::CIPHERTEXT_BYTES as u32);
        // The bits of word k that belong to a group of so many bytes.
        let inside =
            |bytes: u32, k: usize| low_bits((8 * bytes).saturating_sub(32 * k as u32).min(32));
        let is_whole = WARP * round + self.s.lane() < whole;
        let words = self.words[round as usize];
        (0..packed.len()).fold(0, |difference, k| {
            let word = self.s.byte_permute(words[k], words[k + 1], self.selector);
            let last = inside(end - R::Q2_BITS * whole, k);
            let mask = if is_whole { inside(R::Q2_BITS, k) } else { last };
            difference | (word ^ packed[k]) & mask
        })
    }
}
