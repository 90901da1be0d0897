//! Tiles of ciphertext, through which a warp writes ciphertexts to global memory or compares them
//! with received ciphertexts. A tile holds 64 packed coefficients of each of 32 ciphertexts.

use core::marker::PhantomData;

use ctru_math::Ring;
use ctru_math::kernel::bits::GROUP;

use crate::kernels::product::toeplitz;
use crate::kernels::warp;
use crate::simt::{Simt, WARP};

/// A warp's tile in shared memory, with one row per operation of the block. The address of a row is
/// congruent modulo 4 to the index of its first byte in the array of ciphertexts.
#[derive(Copy, Clone)]
pub(crate) struct CiphertextTile<S, R> {
    s: S,
    start: u32,
    ring: PhantomData<R>,
}

impl<S, R: Ring> CiphertextTile<S, R> {
    /// Bytes of a row, a multiple of 4.
    const PART: u32 = toeplitz::TILE / GROUP as u32 * R::Q2_BITS;
    /// Number of words that a row may touch. It is odd, so that the rows of neighbouring operations
    /// begin in different banks.
    const WORDS: u32 = Self::PART / 4 + 1;
    const CIPHERTEXT: u32 = R::CIPHERTEXT_BYTES as u32;

    /// Bytes of a tile in shared memory, a multiple of 16.
    pub(crate) const BYTES: u32 = 4 * Self::WORDS * WARP;
    const LAYOUT: () = assert!(Self::PART.is_multiple_of(4) && Self::WORDS % 2 == 1);
}

impl<S: Simt, R: Ring> CiphertextTile<S, R> {
    /// Creates the tile that begins at byte `start` of shared memory.
    pub(crate) fn new(s: S, start: u32) -> Self {
        let () = Self::LAYOUT;
        Self { s, start, ring: PhantomData }
    }

    /// Packs eight values as group `group < 8` in the row of operation `column`.
    #[inline(always)]
    pub(crate) fn set_group(self, column: u32, group: u32, values: [u16; GROUP]) {
        let string = self.start + 4 * Self::WORDS * column + Self::CIPHERTEXT * column % 4;
        warp::pack_group(self.s, R::Q2_BITS, string, group, values);
    }

    /// Copies the rows to part `part` of their ciphertexts in the array, for the operations below
    /// `count`.
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
                    s.store(ciphertexts, i, s.load_shared::<u8>(address));
                });
            }
        });
    }

    /// Compares the rows with part `part` of the received ciphertexts. Each lane returns the
    /// differences of one operation: 0 if and only if its row equals the received part. For
    /// operations from `count` on it returns 0. Overwrites the tile.
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

    /// Calls `f` for every word of every row. Neighbouring lanes receive neighbouring words, so the
    /// hardware coalesces their accesses.
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

/// Four neighbouring bytes of a row, in shared memory and in the array.
#[derive(Copy, Clone)]
struct Word {
    /// Address of the first byte in shared memory.
    address: u32,
    /// Index of the first byte in the array.
    start: u32,
    /// The bytes `first..end` of the array belong to the row. The word may begin before them or end
    /// after them.
    first: u32,
    end: u32,
}

impl Word {
    #[inline(always)]
    fn is_whole(self) -> bool {
        self.first <= self.start && self.start + 4 <= self.end
    }

    /// Calls `f(index, address)` for each byte of the word that belongs to the row, with its index
    /// in the array and its address in shared memory.
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
