//! Parts of the ciphertexts of 32 operations, of 64 coefficients each, on their way between a warp and global memory.

use core::marker::PhantomData;

use ctru_math::Ring;
use ctru_math::codec::bits::GROUP;

use crate::kernels::product::toeplitz;
use crate::kernels::warp;
use crate::simt::{Simt, WARP};

/// A warp's strings, one a lane, for a part of each ciphertext of the block's operations `0..32`. In shared memory a string
/// is at the same place in a word of four bytes as in the array of ciphertexts.
#[derive(Copy, Clone)]
pub(crate) struct Strings<S, R> {
    s: S,
    start: u32,
    ring: PhantomData<R>,
}

impl<S, R: Ring> Strings<S, R> {
    /// Bytes of a part, whole words.
    const PART: u32 = toeplitz::TILE / GROUP as u32 * R::Q2_BITS;
    /// Words that a part may touch: an odd number, so that the strings of neighbours begin in different banks.
    const WORDS: u32 = Self::PART / 4 + 1;
    const CIPHERTEXT: u32 = R::CIPHERTEXT_BYTES as u32;

    /// Bytes of shared memory of a warp, a multiple of 16.
    pub(crate) const BYTES: u32 = 4 * Self::WORDS * WARP;
    const LAYOUT: () = assert!(Self::PART.is_multiple_of(4) && Self::WORDS % 2 == 1);
}

impl<S: Simt, R: Ring> Strings<S, R> {
    /// The strings from byte `start` of shared memory on.
    pub(crate) fn new(s: S, start: u32) -> Self {
        let () = Self::LAYOUT;
        Self { s, start, ring: PhantomData }
    }

    /// Sets group `group < 8` of the part of operation `column`.
    #[inline(always)]
    pub(crate) fn set_group(self, column: u32, group: u32, values: [u16; GROUP]) {
        let string = self.start + 4 * Self::WORDS * column + Self::CIPHERTEXT * column % 4;
        warp::pack_group(self.s, R::Q2_BITS, string, group, values);
    }

    /// Writes part `part` of the ciphertexts of the operations below `count`.
    #[inline(always)]
    pub(crate) fn write(self, ciphertexts: S::Global<u8>, part: u32, count: u32) {
        let s = self.s;
        self.for_each_word(part, count, |word| {
            if word.is_whole() {
                s.store(
                    s.cast::<u8, u32>(ciphertexts),
                    word.start / 4,
                    s.load_shared::<u32>(word.address),
                );
            } else {
                word.for_each_byte(|i, address| {
                    s.store(ciphertexts, i, s.load_shared::<u8>(address))
                });
            }
        });
    }

    /// The bits in which part `part` of the ciphertext of operation `lane` differs from what was `received`; 0 from operation
    /// `count` on. The strings are lost.
    #[inline(always)]
    pub(crate) fn difference(self, received: S::Global<u8>, part: u32, count: u32) -> u32 {
        let s = self.s;
        self.for_each_word(part, count, |word| {
            let mut difference = 0;
            if word.is_whole() {
                difference = s.load(s.cast::<u8, u32>(received), word.start / 4)
                    ^ s.load_shared::<u32>(word.address);
            } else {
                word.for_each_byte(|i, address| {
                    difference |= u32::from(s.load(received, i) ^ s.load_shared::<u8>(address));
                });
            }
            s.store_shared(word.address, difference);
        });
        s.sync_warp();
        let string = self.start + 4 * Self::WORDS * s.lane();
        (0..Self::WORDS).fold(0, |difference, k| difference | s.load_shared::<u32>(string + 4 * k))
    }

    /// Calls `f` for every word of every string, neighbours for neighbouring lanes.
    #[inline(always)]
    fn for_each_word(self, part: u32, count: u32, mut f: impl FnMut(Word)) {
        let s = self.s;
        for k in 0..Self::WORDS {
            let i = WARP * k + s.lane();
            let (column, word) = (i / Self::WORDS, i % Self::WORDS);
            let operation = WARP * s.block() + column;
            let row = Self::CIPHERTEXT * operation;
            let first = row + Self::PART * part;
            let length = if operation < count { Self::CIPHERTEXT } else { 0 };
            let end = row + length.min(Self::PART * (part + 1));
            f(Word { address: self.start + 4 * i, start: 4 * (first / 4 + word), first, end });
        }
    }
}

/// Four bytes in a row in shared memory and in an array.
#[derive(Copy, Clone)]
struct Word {
    /// Where they begin in shared memory.
    address: u32,
    /// Where they begin in the array.
    start: u32,
    /// The bytes of the array that belong to the string: these are `first..end`.
    first: u32,
    end: u32,
}

impl Word {
    #[inline(always)]
    fn is_whole(self) -> bool {
        self.first <= self.start && self.start + 4 <= self.end
    }

    /// Calls `f` for every byte that belongs to the string, with its places in the array and in shared memory.
    #[inline(always)]
    fn for_each_byte(self, mut f: impl FnMut(u32, u32)) {
        for k in 0..4 {
            let i = self.start + k;
            if self.first <= i && i < self.end {
                f(i, self.address + k);
            }
        }
    }
}
