//! Products in the ring on tensor cores, one warp for each product; all operands may differ. This
//! is the form of [`ctru_math::kernel::polyphase`]: with `t = 8 l + w` and `k = 8 m + v`,
//!
//! ```text
//! c[8 m + v] = sum over w < 8 of (A_w B_w)[m][v],
//! A_w[m][l] = r[8 (m - l) + w],
//! B_w[l][v] = h[8 l + v - w].
//! ```
//!
//! `A_w` is a Toeplitz matrix of phase `w` of the small operand `r`. A thread's part of a tile of
//! 16 x 32 entries depends only on the tile's diagonal. The phases lie in shared memory backwards,
//! so that neighbouring columns are neighbouring bytes. There are four copies, shifted by 0 to 3
//! bytes, so that four bytes of each thread are an aligned word.
//!
//! The large operand `h` is split in bytes of 7 and 6 bits. Where the registers suffice, the sums
//! for both bytes are kept at the same time. Else the sums for the high bytes come first and are
//! multiplied by 128 before the products by the low bytes are added.

use core::marker::PhantomData;

use ctru_math::Ring;

use super::operand::{LargeBlock, PHASES, SmallBlock, large_block, small_block};
use super::{HIGH, modulo_q, positive, store_row};
use crate::descriptor::{Batch, Shape};
use crate::kernels::{rolled, warp};
use crate::simt::{Simt, U32x4, WARP};

/// Rows of a tile of the product.
const TILE_ROWS: u32 = 16;
/// Columns of a tile of `A_w`.
const TILE_COLUMNS: u32 = 32;

/// The numbers of tiles, and the layout of shared memory.
struct Geometry<R>(PhantomData<R>);

impl<R: Ring> Geometry<R> {
    /// Groups of eight coefficients of an operand: the rows of `B_w` without shift.
    const ROWS: u32 = warp::groups(R::N);
    /// Tiles along the rows of `B_w`.
    const INNER: u32 = Self::ROWS.div_ceil(TILE_COLUMNS);
    /// Whether the shift by `w` moves coefficients of the large operand behind these tiles, into
    /// one more row.
    const OVERHANG: bool = (R::N as u32 + PHASES - 1).div_ceil(PHASES) > Self::INNER * TILE_COLUMNS;
    /// Diagonals of tiles of `A_w` that are not zero.
    const DIAGONALS: u32 = (Self::ROWS + TILE_COLUMNS - 2) / TILE_ROWS + 1;
    /// Tiles along the rows of the plain product.
    const OUTER: u32 = (2 * R::N as u32 - 1).div_ceil(PHASES * TILE_ROWS);

    /// Whether a thread has registers for the sums for both bytes of the large operand.
    const SIDE_BY_SIDE: bool = Self::OUTER <= 12;

    /// Bytes of a phase of the small operand. The coefficient of group `l` lies at `ORIGIN - l`;
    /// behind it lie zeros for as many groups before 0 as a tile reaches.
    const SMALL_PHASE: u32 = Self::ORIGIN + TILE_COLUMNS;
    const ORIGIN: u32 = TILE_ROWS * Self::DIAGONALS;
    /// Bytes of a copy of the phases. 32 more than the phases have, so that the four copies begin
    /// in different banks.
    const SMALL_COPY: u32 = PHASES * Self::SMALL_PHASE + 32;
    const COPIES: u32 = 4;

    /// Where the large operand begins.
    const LARGE: u32 = Self::COPIES * Self::SMALL_COPY;
    /// Bytes of a phase of one byte of the large operand: half a tile more than whole tiles, so
    /// that the eight phases begin in different banks. The overhang has room there.
    const LARGE_PHASE: u32 = Self::INNER * TILE_COLUMNS + TILE_COLUMNS / 2;
    /// Bytes of a copy of the phases. There are two copies: as they are, and one row later.
    const LARGE_COPY: u32 = PHASES * Self::LARGE_PHASE;
    /// Bytes of both copies for one byte of the large operand.
    const LARGE_BYTE: u32 = 2 * Self::LARGE_COPY;

    const OPERANDS: u32 = Self::LARGE + 2 * Self::LARGE_BYTE;
    /// Bytes of the plain product, which replaces the operands.
    const PLAIN: u32 = 4 * PHASES * TILE_ROWS * Self::OUTER;

    const BANKS: () = {
        assert!(Self::SMALL_PHASE % 128 == 32 || Self::SMALL_PHASE % 128 == 96);
        assert!(Self::SMALL_COPY % 128 == 32 && Self::LARGE_COPY.is_multiple_of(128));
        assert!(Self::LARGE_PHASE % 128 == 112 || Self::LARGE_PHASE % 128 == 48);
        assert!((R::N - 1).is_multiple_of(4) && Self::OUTER as usize <= MAX_TILES);
        assert!(2 * Self::DIAGONALS as usize + 2 <= MAX_WORDS);
    };
}

/// Returns where shared memory behind the operands and behind the plain product begins, a multiple
/// of 16.
pub(crate) const fn end<R: Ring>() -> u32 {
    let () = Geometry::<R>::BANKS;
    if Geometry::<R>::OPERANDS > Geometry::<R>::PLAIN {
        Geometry::<R>::OPERANDS
    } else {
        Geometry::<R>::PLAIN
    }
}

/// Returns where shared memory behind the plain product begins, a multiple of 16.
pub(crate) const fn end_of_plain<R: Ring>() -> u32 {
    Geometry::<R>::PLAIN
}

/// Returns the bytes of shared memory for products of two large operands.
pub(crate) const fn end_of_two_large<R: Ring>() -> u32 {
    Geometry::<R>::OPERANDS + Geometry::<R>::LARGE
}

/// Returns blocks of one warp for one product.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(end::<R>())
}

/// Computes `product = large * small` in `R_q`.
///
/// Threads: one warp for each product.
/// Shared memory: the operands, then the plain product.
/// Arrays: `large`, in `0..q`, a row for each operation or one shared row; `small`, signed bytes of
/// any small polynomial; `product`, in `0..q`.
/// Source: [`ctru_math::kernel::polyphase`].
#[inline(always)]
pub fn multiply_small<S: Simt, R: Ring>(
    s: S,
    large: S::Global<u16>,
    small: S::Global<u8>,
    product: S::Global<u16>,
    batch: Batch,
) {
    let operation = s.block();
    let polyphase = Polyphase::<S, R>::new(s);
    polyphase.stage_large(|block| large_block::<S, R>(s, large, batch.row(operation), block));
    polyphase.stage_small(|block| small_block::<S, R>(s, small, operation, block));
    polyphase.multiply(positive::<R>());
    polyphase.store_modulo_q(product, operation);
}

/// The most tiles of a plain product.
const MAX_TILES: usize = 20;
/// The most words of a phase of the small operand that a thread holds.
const MAX_WORDS: usize = 26;

/// The tiles of the plain product, or of the products by each byte of the large operand.
type Sums = [[[i32; 4]; MAX_TILES]; 2];

/// A product in a warp's shared memory. The *left* operand makes the matrices `A_w` and is the
/// small one, the *right* operand makes the matrices `B_w` and is the large one, if they differ.
#[derive(Copy, Clone)]
pub(crate) struct Polyphase<S, R> {
    s: S,
    ring: PhantomData<R>,
}

impl<S: Simt, R: Ring> Polyphase<S, R> {
    pub(crate) fn new(s: S) -> Self {
        Self { s, ring: PhantomData }
    }

    /// Stages the left operand. `source` returns a block of it, zero behind its end.
    #[inline(always)]
    pub(crate) fn stage_small(self, source: impl Fn(u32) -> SmallBlock) {
        self.stage_left(0, source);
    }

    /// Stages both bytes of a large operand as the left one.
    #[inline(always)]
    pub(crate) fn stage_second_large(self, source: impl Fn(u32) -> LargeBlock) {
        // The blocks are computed once for each byte, for want of registers.
        self.stage_left(0, |block| source(block)[0]);
        self.stage_left(1, |block| source(block)[1]);
    }

    /// Returns where byte `byte` of the left operand begins. A small operand has only byte 0.
    #[inline(always)]
    fn left(byte: u32) -> u32 {
        Geometry::<R>::OPERANDS * byte
    }

    #[inline(always)]
    fn stage_left(self, byte: u32, source: impl Fn(u32) -> SmallBlock) {
        let s = self.s;
        let start = Self::left(byte);
        self.clear_before(start);
        // The blocks cover the words 0..ORIGIN / 4, zeros among them.
        let blocks = Geometry::<R>::ORIGIN / 4;
        let mut before = [0; PHASES as usize];
        for round in 0..blocks.div_ceil(WARP) {
            let block = WARP * round + s.lane();
            let words = source(block);
            for w in 0..PHASES {
                let word = words[w as usize].swap_bytes();
                let rotated = s.shuffle(word, s.lane().wrapping_sub(1) % WARP);
                let previous = Self::carried(s, rotated, &mut before[w as usize]);
                let bytes = u64::from(previous) << 32 | u64::from(word);
                if block < blocks {
                    let address =
                        start + Geometry::<R>::SMALL_PHASE * w + Geometry::<R>::ORIGIN - 4 * block;
                    for copy in 0..Geometry::<R>::COPIES {
                        let shifted = (bytes >> (8 * (3 - copy))) as u32;
                        s.store_shared(address + Geometry::<R>::SMALL_COPY * copy, shifted);
                    }
                }
            }
        }
    }

    /// Writes the zeros for the groups before 0: eight words for each phase and copy.
    #[inline(always)]
    fn clear_before(self, start: u32) {
        let lane = self.s.lane();
        for k in 0..PHASES {
            let (copy, phase) = (k / 2, 4 * (k % 2) + lane / 8);
            let address =
                start + Geometry::<R>::SMALL_COPY * copy + Geometry::<R>::SMALL_PHASE * phase;
            // The eighth word of each phase and copy is not read.
            self.s.store_shared(address + Geometry::<R>::ORIGIN + 4 + 4 * (lane % 8), 0u32);
        }
    }

    /// Stages the right operand. `source` returns a block of it, zero behind its end.
    #[inline(always)]
    pub(crate) fn stage_large(self, source: impl Fn(u32) -> LargeBlock) {
        self.stage_right(source);
    }

    /// Stages a small operand as the right one, with low bytes only.
    #[inline(always)]
    pub(crate) fn stage_second_small(self, source: impl Fn(u32) -> SmallBlock) {
        self.stage_right(|block| [source(block)]);
    }

    #[inline(always)]
    fn stage_right<const BYTES: usize>(self, source: impl Fn(u32) -> [SmallBlock; BYTES]) {
        let s = self.s;
        let blocks = Geometry::<R>::INNER * TILE_COLUMNS / 4
            + if Geometry::<R>::OVERHANG { TILE_COLUMNS / 8 } else { 0 };
        let mut before = [[0; PHASES as usize]; BYTES];
        for round in 0..blocks.div_ceil(WARP) {
            let block = WARP * round + s.lane();
            let bytes = source(block);
            for byte in 0..BYTES as u32 {
                for w in 0..PHASES {
                    let word = bytes[byte as usize][w as usize];
                    let rotated = s.shuffle(word, s.lane().wrapping_sub(1) % WARP);
                    let previous =
                        Self::carried(s, rotated, &mut before[byte as usize][w as usize]);
                    if block < blocks {
                        let address = Self::large_phase(byte, w) + 4 * block;
                        s.store_shared(address, word);
                        s.store_shared(
                            address + Geometry::<R>::LARGE_COPY,
                            word << 8 | previous >> 24,
                        );
                    }
                }
            }
        }
    }

    /// Returns the word of the block before. `rotated` is the word of the lane before, which for
    /// lane 0 is that of the last lane; `before` keeps that word for the next round.
    #[inline(always)]
    fn carried(s: S, rotated: u32, before: &mut u32) -> u32 {
        if Geometry::<R>::ROWS <= 4 * (WARP - 1) {
            // The last lane has a block behind the end of the operand: zero.
            return rotated;
        }
        let previous = if s.lane() == 0 { *before } else { rotated };
        *before = rotated;
        previous
    }

    /// Returns where a phase of the low bytes (0) or of the high bytes (1) of the right operand
    /// begins.
    #[inline(always)]
    fn large_phase(byte: u32, phase: u32) -> u32 {
        Geometry::<R>::LARGE + Geometry::<R>::LARGE_BYTE * byte + Geometry::<R>::LARGE_PHASE * phase
    }

    /// Multiplies a small left operand by a large right one. Replaces them by the plain product, to
    /// each coefficient of which `128 offset` is added.
    #[inline(always)]
    pub(crate) fn multiply(self, offset: i32) {
        let mut sums: Sums = [[[0; 4]; MAX_TILES], [[offset; 4]; MAX_TILES]];
        self.s.sync_warp();
        if Geometry::<R>::SIDE_BY_SIDE {
            for w in 0..rolled(self.s, PHASES) {
                self.accumulate::<2>(0, 0, w, &mut sums);
            }
            let [low, high] = &mut sums;
            let tiles = ..Geometry::<R>::OUTER as usize;
            for (low, high) in low[tiles].iter_mut().zip(&high[tiles]) {
                for (low, high) in low.iter_mut().zip(high) {
                    *low += HIGH * high;
                }
            }
        } else {
            self.for_each_sum(&mut sums, |_| offset);
            self.accumulate_phases(0, 1, &mut sums);
            self.for_each_sum(&mut sums, |sum| HIGH * sum);
            self.accumulate_phases(0, 0, &mut sums);
        }
        self.finish(&sums);
    }

    /// Multiplies two small operands. Replaces them by the plain product, to each coefficient of
    /// which `offset` is added.
    #[inline(always)]
    pub(crate) fn multiply_small_ones(self, offset: i32) {
        let mut sums: Sums = [[[offset; 4]; MAX_TILES], [[0; 4]; MAX_TILES]];
        self.s.sync_warp();
        self.accumulate_phases(0, 0, &mut sums);
        self.finish(&sums);
    }

    /// Multiplies two large operands with coefficients in `0..q`. Replaces them by the plain
    /// product, each coefficient of which differs by some multiple of `q` and is not negative.
    #[inline(always)]
    pub(crate) fn multiply_large_ones(self) {
        // The bound of one coefficient: a carry of weight 128, and the sums of products of bytes.
        // Three of them are added.
        const { assert!(3 * (128 * R::Q as u64 + 2 * R::N as u64 * 127 * 127) < 1 << 31) };
        let mut sums: Sums = [[[0; 4]; MAX_TILES]; 2];
        let carry = |sum| HIGH * i32::from(modulo_q::<R>(sum));
        self.s.sync_warp();
        self.accumulate_phases(1, 1, &mut sums);
        self.for_each_sum(&mut sums, carry);
        self.accumulate_phases(0, 1, &mut sums);
        self.accumulate_phases(1, 0, &mut sums);
        self.for_each_sum(&mut sums, carry);
        self.accumulate_phases(0, 0, &mut sums);
        self.finish(&sums);
    }

    /// Applies `f` to the first sums.
    #[inline(always)]
    fn for_each_sum(self, sums: &mut Sums, f: impl Fn(i32) -> i32) {
        for tile in &mut sums[0][..Geometry::<R>::OUTER as usize] {
            for sum in tile {
                *sum = f(*sum);
            }
        }
    }

    /// Adds all `A_w B_w` for one byte of each operand to the first sums.
    #[inline(always)]
    fn accumulate_phases(self, left: u32, right: u32, sums: &mut Sums) {
        for w in 0..rolled(self.s, PHASES) {
            self.accumulate::<1>(left, right, w, sums);
        }
    }

    /// Replaces the operands by the first sums.
    #[inline(always)]
    fn finish(self, sums: &Sums) {
        self.s.sync_warp();
        self.store_plain(&sums[0]);
        self.s.sync_warp();
    }

    /// Adds `A_w B_w` to the sums, for byte `left` of the left operand and for `BYTES` bytes of the
    /// right one from byte `right` on, each with sums of its own.
    #[inline(always)]
    fn accumulate<const BYTES: u32>(self, left: u32, right: u32, w: u32, sums: &mut Sums) {
        let s = self.s;
        let (i, j) = (s.lane() / 4, s.lane() % 4);
        // Word k begins 8 k groups below the first one; the tiles of diagonal d use the words 2 d
        // to 2 d + 3.
        let copy = i % 4;
        let small = Self::left(left)
            + Geometry::<R>::SMALL_COPY * copy
            + Geometry::<R>::SMALL_PHASE * w
            + (Geometry::<R>::ORIGIN + TILE_ROWS + 4 * j)
            - (i - copy);
        let mut a = [0; MAX_WORDS];
        for k in 0..2 * Geometry::<R>::DIAGONALS + 2 {
            a[k as usize] = s.load_shared::<u32>(small - 8 * k);
        }
        // Column i of B_w is phase i - w, or phase i - w + 8 one row later if i < w.
        let large = Self::large_phase(right, i.wrapping_sub(w) % PHASES)
            + if i < w { Geometry::<R>::LARGE_COPY } else { 0 }
            + 4 * j;
        for column in 0..Geometry::<R>::INNER {
            for byte in 0..BYTES {
                let large = large + Geometry::<R>::LARGE_BYTE * byte + TILE_COLUMNS * column;
                let b = [s.load_shared::<u32>(large), s.load_shared::<u32>(large + 16)];
                for d in 0..Geometry::<R>::DIAGONALS {
                    let (tile, k) = ((d + 2 * column) as usize, 2 * d as usize);
                    if tile < Geometry::<R>::OUTER as usize {
                        let sum = &mut sums[byte as usize][tile];
                        *sum = s.mma_m16n8k32([a[k + 2], a[k + 3], a[k], a[k + 1]], b, *sum);
                    }
                }
            }
        }
        if Geometry::<R>::OVERHANG && w >= PHASES / 2 {
            let column = Geometry::<R>::INNER;
            for byte in 0..BYTES {
                let large = large + Geometry::<R>::LARGE_BYTE * byte + TILE_COLUMNS * column;
                let b = [s.load_shared::<u32>(large), 0];
                for tile in 2 * column..Geometry::<R>::OUTER {
                    let k = 2 * (tile - 2 * column) as usize;
                    let sum = &mut sums[byte as usize][tile as usize];
                    *sum = s.mma_m16n8k32([a[k + 2], a[k + 3], 0, 0], b, *sum);
                }
            }
        }
    }

    /// Writes the plain product: rows of eight words. In every second four rows the halves of a row
    /// are exchanged.
    #[inline(always)]
    fn store_plain(self, tiles: &[[i32; 4]; MAX_TILES]) {
        let (i, j) = (self.s.lane() / 4, self.s.lane() % 4);
        let first = half_address(2 * i + j / 2) + 8 * (j % 2);
        for tile in 0..Geometry::<R>::OUTER {
            let [c0, c1, c2, c3] = tiles[tile as usize].map(|x| u64::from(x as u32));
            let address = first + 4 * PHASES * TILE_ROWS * tile;
            self.s.store_shared(address, c0 | c1 << 32);
            self.s.store_shared(address + 4 * PHASES * TILE_ROWS / 2, c2 | c3 << 32);
        }
    }

    /// Calls `output` with each group of the product modulo `x^n - x - 1`, not reduced. Values
    /// behind coefficient `n - 1` have no meaning.
    #[inline(always)]
    pub(crate) fn for_each_row(self, output: impl Fn(u32, [i32; 8])) {
        warp::for_each(self.s, Geometry::<R>::ROWS, |group| output(group, self.folded(group)));
    }

    /// Stores the product modulo `q` as row `index` of polynomials. Its coefficients must be inputs
    /// of [`modulo_q`].
    #[inline(always)]
    pub(crate) fn store_modulo_q(self, products: S::Global<u16>, index: u32) {
        self.for_each_row(|group, folded| {
            store_row::<S, R>(self.s, products, index, group, folded.map(modulo_q::<R>));
        });
    }

    /// Returns group `group` of the product modulo `x^n - x - 1`, not reduced.
    #[inline(always)]
    pub(crate) fn folded(self, group: u32) -> [i32; 8] {
        let s = self.s;
        // x^n = x + 1: coefficient n + k of the plain product is added to the coefficients k and k
        // + 1.
        let top = (R::N as u32 - 1) / 4 + 2 * group;
        let [low, high] = [0, 1].map(|half| self.half(2 * group + half));
        let [first, second] = [0, 1].map(|half| self.half(top + half));
        let last = s.load_shared::<u32>(half_address(top + 2)) as i32;
        let carried = if group == 0 { 0 } else { first[0] };
        [
            low[0] + first[1] + carried,
            low[1] + first[2] + first[1],
            low[2] + first[3] + first[2],
            low[3] + second[0] + first[3],
            high[0] + second[1] + second[0],
            high[1] + second[2] + second[1],
            high[2] + second[3] + second[2],
            high[3] + last + second[3],
        ]
    }

    /// Returns the coefficients `4 half..4 half + 4` of the plain product.
    #[inline(always)]
    fn half(self, half: u32) -> [i32; 4] {
        let U32x4(words) = self.s.load_shared(half_address(half));
        words.map(|word| word as i32)
    }
}

/// Returns where the coefficients `4 half..4 half + 4` of the plain product lie. The halves of rows
/// 4 to 7 of each eight rows are exchanged, so that neighbouring threads access different banks.
#[inline(always)]
fn half_address(half: u32) -> u32 {
    16 * (half ^ (half >> 3 & 1))
}
