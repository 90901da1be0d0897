//! Products in the ring on tensor cores, one warp per product. All operands may differ.
//!
//! The exponents of `x` are `8 l + w` in the small operand `r` and `8 m + v` in the plain product
//! `c`, with `w` and `v` below 8. The coefficients of `r` with the same `w` are a phase of `r`.
//! Then the plain product is eight products of matrices, with zeros outside both operands:
//!
//! ```text
//! c[8 m + v] = sum over w < 8 of (A_w B_w)[m][v],
//! A_w[m][l] = r[8 (m - l) + w],
//! B_w[l][v] = h[8 l + v - w].
//! ```
//!
//! `A_w` is a Toeplitz matrix of phase `w` of the small operand `r`. So a thread's part of a tile
//! of 16 x 32 entries depends only on the tile's diagonal. Shared memory holds the phases in
//! reverse order, so that neighbouring columns are neighbouring bytes. It holds four copies,
//! shifted by 0 to 3 bytes, so that each thread can load any four neighbouring bytes as an aligned
//! word.
//!
//! The coefficients of the large operand `h` are split into bytes of 7 and 6 bits. If the registers
//! suffice, a thread keeps the sums for both bytes at the same time. Otherwise it first computes
//! the sums for the high bytes, multiplies them by 128, and then adds the products by the low
//! bytes.
//!
//! Two large operands take three products of bytes instead of four: with `P0` the product of the
//! low bytes, `P2` that of the high bytes and `P1` that of the sums of both bytes, the product is
//!
//! ```text
//! P0 + 128 (P1 - P0 - P2) + 128^2 P2 = 128 (P1 + e (P0 - 128 P2)) modulo q, 128 e = -127.
//! ```
//!
//! So one set of sums is enough. A thread multiplies it by -128 after `P2` and by `e` after `P0`.
//! The sums of bytes replace the low bytes in shared memory.
//!
//! Source: A. Karatsuba and Yu. Ofman, "Multiplication of multidigit numbers on automata" (1962).

use core::array;
use core::marker::PhantomData;

use ctru_math::Ring;

use super::operand::{LargeBlock, PHASES, SmallBlock, coins_block, large_block};
use super::{HIGH, high_modulo_q, product_modulo_q, store_row, times_modulo_q};
use crate::descriptor::{Batch, Shape};
use crate::kernels::{rolled, warp};
use crate::simt::{Simt, U32x4, WARP};

/// The largest low byte and the largest high byte of a large operand.
const LARGEST: [u32; 2] = [127, 63];

/// Number of rows in a tile of the product.
const TILE_ROWS: u32 = 16;
/// Number of columns in a tile of `A_w`.
const TILE_COLUMNS: u32 = 32;

/// The numbers of tiles, and the layout of shared memory.
struct Geometry<R>(PhantomData<R>);

impl<R: Ring> Geometry<R> {
    /// Number of groups in an operand, which is the number of rows of `B_0`.
    const ROWS: u32 = warp::groups(R::N);
    /// Number of tiles that cover the rows of `B_0`.
    const INNER: u32 = Self::ROWS.div_ceil(TILE_COLUMNS);
    /// Whether the shift by `w` moves coefficients of the large operand into one more row after
    /// these tiles.
    const OVERHANG: bool = (R::N as u32 + PHASES - 1).div_ceil(PHASES) > Self::INNER * TILE_COLUMNS;
    /// Number of diagonals of tiles of `A_w` that are not zero.
    const DIAGONALS: u32 = (Self::ROWS + TILE_COLUMNS - 2) / TILE_ROWS + 1;
    /// Number of tiles that cover the rows of the unreduced product.
    const OUTER: u32 = (2 * R::N as u32 - 1).div_ceil(PHASES * TILE_ROWS);

    /// Whether a thread has enough registers to keep the sums for both bytes of the large operand.
    const SIDE_BY_SIDE: bool = Self::OUTER <= 12;

    /// Bytes per phase of the small operand. The coefficient of group `l` is byte `ORIGIN - l`.
    /// Zeros follow byte `ORIGIN`, because a tile also reads groups with negative numbers. The
    /// number is an odd multiple of 32, so that the four copies and the phases begin in different
    /// banks.
    const SMALL_PHASE: u32 = Self::ORIGIN.next_multiple_of(64) + TILE_COLUMNS;
    const ORIGIN: u32 = TILE_ROWS * Self::DIAGONALS;
    /// Bytes per copy of the phases. This is 32 bytes more than the phases need, so that the four
    /// copies begin in different banks.
    const SMALL_COPY: u32 = PHASES * Self::SMALL_PHASE + 32;
    const COPIES: u32 = 4;

    /// Address of the large operand.
    const LARGE: u32 = Self::COPIES * Self::SMALL_COPY;
    /// Bytes per phase of the large operand, for one byte of the coefficients. This is half a tile
    /// more than whole tiles, so that the eight phases begin in different banks. The extra bytes
    /// hold the overhang, or zeros.
    const LARGE_PHASE: u32 = Self::INNER * TILE_COLUMNS + TILE_COLUMNS / 2;
    /// Bytes per copy of the phases. The first copy is shifted by one row, and an unchanged copy
    /// follows it. Column `v` of `B_w` is phase `v - w` of the unchanged copy. For `v < w` this
    /// number is negative, and the address lies in the shifted copy, which is where the column is.
    const LARGE_COPY: u32 = PHASES * Self::LARGE_PHASE;
    /// Bytes of both copies, for one byte of the coefficients.
    const LARGE_BYTE: u32 = 2 * Self::LARGE_COPY;

    const OPERANDS: u32 = Self::LARGE + 2 * Self::LARGE_BYTE;
    /// Bytes of the unreduced product, which replaces the operands.
    const PLAIN: u32 = 4 * PHASES * TILE_ROWS * Self::OUTER;

    const BANKS: () = {
        assert!(Self::SMALL_PHASE % 64 == 32);
        assert!(Self::SMALL_COPY % 128 == 32 && Self::LARGE_COPY.is_multiple_of(128));
        assert!(Self::LARGE_PHASE % 32 == 16);
        assert!((R::N - 1).is_multiple_of(4) && Self::OUTER as usize <= MAX_TILES);
        assert!(Self::INNER as usize <= MAX_INNER);
        assert!(Self::SMALL_PHASE.is_multiple_of(16) && Self::COPIES == 4);
    };
}

/// Returns the address of the first byte that neither the operands nor the unreduced product
/// occupy, a multiple of 16.
pub(crate) const fn end<R: Ring>() -> u32 {
    let () = Geometry::<R>::BANKS;
    if Geometry::<R>::OPERANDS > Geometry::<R>::PLAIN {
        Geometry::<R>::OPERANDS
    } else {
        Geometry::<R>::PLAIN
    }
}

/// Returns the address of the first byte after the unreduced product, a multiple of 16.
pub(crate) const fn end_of_plain<R: Ring>() -> u32 {
    Geometry::<R>::PLAIN
}

/// Returns the number of bytes of shared memory that products of two large operands need.
pub(crate) const fn end_of_two_large<R: Ring>() -> u32 {
    Geometry::<R>::OPERANDS + Geometry::<R>::LARGE
}

/// Returns the block shape: one warp and one product per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(end::<R>())
}

/// Computes `product = large * small` in `R_q`, where `small` is the polynomial that
/// [`ctru_math::sample::sample`] samples from coins.
///
/// Threads: one warp per product.
/// Shared memory: first the operands, later the unreduced product in their place.
/// Arrays: `large`, in `0..q`, one row per operation or one shared row; `coins`; `product`, in
/// `0..q`.
#[inline(always)]
pub fn multiply_coins<S: Simt, R: Ring>(
    s: S,
    large: S::Global<u16>,
    coins: S::Global<u64>,
    product: S::Global<u16>,
    batch: Batch,
) {
    let operation = s.block();
    let polyphase = Polyphase::<S, R>::new(s);
    polyphase.stage_large(|block| large_block::<S, R>(s, large, batch.row(operation), block));
    polyphase.stage_small(|block| coins_block::<S, R>(s, coins, operation, block));
    polyphase.multiply();
    polyphase.store_modulo_q(product, operation);
}

/// The maximum number of tiles in an unreduced product.
const MAX_TILES: usize = 20;
/// The maximum number of tiles that cover the rows of `B_0`.
const MAX_INNER: usize = 5;

/// A thread's sums in each tile of the unreduced product. Either only the first half is in use, or
/// each half holds the sums for one byte of the large operand.
type Sums = [[[i32; 4]; MAX_TILES]; 2];

/// Sums to which nothing has been added.
const NO_SUMS: Sums = [[[0; 4]; MAX_TILES]; 2];

/// How a product reads the bytes of its operands. Bytes below 128 are the same in both ways.
#[derive(Copy, Clone)]
enum Bytes {
    Signed,
    Unsigned,
}

/// A product in a warp's shared memory. The *left* operand forms the matrices `A_w`, and the
/// *right* operand forms the matrices `B_w`. If one operand is small and one is large, the left one
/// is small.
#[derive(Copy, Clone)]
#[allow(missing_debug_implementations, reason = "it exists in kernels only")]
pub struct Polyphase<S, R> {
    s: S,
    ring: PhantomData<R>,
}

impl<S: Simt, R: Ring> Polyphase<S, R> {
    /// Returns the product of the warp.
    pub fn new(s: S) -> Self {
        Self { s, ring: PhantomData }
    }

    /// Writes a small left operand to shared memory. `source(block)` returns a block of the
    /// operand, and zeros after its end.
    #[inline(always)]
    pub fn stage_small(self, source: impl Fn(u32) -> SmallBlock) {
        self.stage_left(0, source);
    }

    /// Writes both bytes of a large operand to shared memory as the left operand.
    #[inline(always)]
    pub fn stage_second_large(self, source: impl Fn(u32) -> LargeBlock) {
        // Each block is computed twice, once per byte, because there are not enough registers to
        // keep both bytes.
        self.stage_left(0, |block| source(block)[0]);
        self.stage_left(1, |block| source(block)[1]);
        // `add_high_bytes` also reads the first word of each copy, which nothing else writes.
        let (byte, copy) = (self.s.lane() / 4, self.s.lane() % 4);
        if byte < 2 {
            self.s.store_shared(Self::left(byte) + Geometry::<R>::SMALL_COPY * copy, 0u32);
        }
    }

    /// Returns the address of byte `byte` of the left operand. A small operand has only byte 0.
    #[inline(always)]
    fn left(byte: u32) -> u32 {
        Geometry::<R>::OPERANDS * byte
    }

    #[inline(always)]
    fn stage_left(self, byte: u32, source: impl Fn(u32) -> SmallBlock) {
        let s = self.s;
        let start = Self::left(byte);
        self.clear_before(start);
        // The operand ends before the last block. The blocks after its end are zeros, which tiles
        // read.
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

    /// Writes the zeros for the groups with negative numbers: eight words per phase and copy.
    #[inline(always)]
    fn clear_before(self, start: u32) {
        let lane = self.s.lane();
        for k in 0..PHASES {
            let (copy, phase) = (k / 2, 4 * (k % 2) + lane / 8);
            let address =
                start + Geometry::<R>::SMALL_COPY * copy + Geometry::<R>::SMALL_PHASE * phase;
            // Tiles read the first three words only. `add_high_bytes` reads all of them, and the
            // eighth is the first one of the next phase.
            self.s.store_shared(address + Geometry::<R>::ORIGIN + 4 + 4 * (lane % 8), 0u32);
        }
    }

    /// Writes a large right operand to shared memory. `source(block)` returns a block of the
    /// operand, and zeros after its end.
    #[inline(always)]
    pub fn stage_large(self, source: impl Fn(u32) -> LargeBlock) {
        self.stage_right(source);
    }

    /// Writes a small operand to shared memory as the right operand, which then has low bytes only.
    #[inline(always)]
    pub fn stage_second_small(self, source: impl Fn(u32) -> SmallBlock) {
        self.stage_right(|block| [source(block)]);
    }

    #[inline(always)]
    fn stage_right<const BYTES: usize>(self, source: impl Fn(u32) -> [SmallBlock; BYTES]) {
        let s = self.s;
        let blocks = Geometry::<R>::LARGE_PHASE / 4;
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
                        let shifted =
                            Self::right(byte) + Geometry::<R>::LARGE_PHASE * w + 4 * block;
                        s.store_shared(shifted, word << 8 | previous >> 24);
                        s.store_shared(shifted + Geometry::<R>::LARGE_COPY, word);
                    }
                }
            }
        }
    }

    /// Returns the word of the preceding block. `rotated` is the word of the preceding lane; lane 0
    /// receives the word of the last lane. `before` keeps this word, because lane 0 needs it in the
    /// next round.
    #[inline(always)]
    fn carried(s: S, rotated: u32, before: &mut u32) -> u32 {
        if Geometry::<R>::ROWS <= 4 * (WARP - 1) {
            // The last lane's block lies after the end of the operand, so its word is zero.
            return rotated;
        }
        let previous = if s.lane() == 0 { *before } else { rotated };
        *before = rotated;
        previous
    }

    /// Returns the address of the right operand, for its low bytes (0) or its high bytes (1).
    #[inline(always)]
    fn right(byte: u32) -> u32 {
        Geometry::<R>::LARGE + Geometry::<R>::LARGE_BYTE * byte
    }

    /// Multiplies a small left operand by a large right operand. The unreduced product replaces the
    /// operands.
    #[inline(always)]
    pub fn multiply(self) {
        let mut sums = NO_SUMS;
        self.s.sync_warp();
        if Geometry::<R>::SIDE_BY_SIDE {
            self.accumulate_phases::<2>(Bytes::Signed, 0, 0, &mut sums);
            let [low, high] = &mut sums;
            let tiles = ..Geometry::<R>::OUTER as usize;
            for (low, high) in low[tiles].iter_mut().zip(&high[tiles]) {
                for (low, high) in low.iter_mut().zip(high) {
                    *low += HIGH * high;
                }
            }
        } else {
            self.accumulate_phases::<1>(Bytes::Signed, 0, 1, &mut sums);
            self.for_each_sum(&mut sums, |sum| HIGH * sum);
            self.accumulate_phases::<1>(Bytes::Signed, 0, 0, &mut sums);
        }
        self.finish(&sums);
    }

    /// Multiplies two small operands. The unreduced product replaces the operands.
    #[inline(always)]
    pub fn multiply_small_ones(self) {
        let mut sums = NO_SUMS;
        self.s.sync_warp();
        self.accumulate_phases::<1>(Bytes::Signed, 0, 0, &mut sums);
        self.finish(&sums);
    }

    /// Multiplies two large operands with coefficients of up to 13 bits. The unreduced product,
    /// divided by `HIGH` modulo `q`, replaces the operands. Its coefficients are not negative.
    /// [`store_high_modulo_q`](Self::store_high_modulo_q) multiplies it by `HIGH` again.
    #[inline(always)]
    pub fn multiply_large_ones(self) {
        const { Self::LARGE_ONES };
        let mut sums = NO_SUMS;
        self.s.sync_warp();
        self.accumulate_phases::<1>(Bytes::Unsigned, 1, 1, &mut sums);
        self.for_each_sum(&mut sums, |sum| Self::OFFSET - HIGH * sum);
        self.accumulate_phases::<1>(Bytes::Unsigned, 0, 0, &mut sums);
        self.for_each_sum(&mut sums, |sum| times_modulo_q::<R>(sum as u32, Self::E) as i32);
        self.s.sync_warp();
        self.add_high_bytes();
        self.s.sync_warp();
        self.accumulate_phases::<1>(Bytes::Unsigned, 0, 0, &mut sums);
        self.finish(&sums);
    }

    /// The constant `e` of a product of two large operands, with `HIGH e = 1 - HIGH` modulo `q`.
    const E: u32 = {
        let mut multiple = R::Q + 1 - HIGH as u32;
        while !multiple.is_multiple_of(HIGH as u32) {
            multiple += R::Q;
        }
        multiple / HIGH as u32
    };

    /// A multiple of `q` that is at least [`HIGH`] times the product of the high bytes.
    const OFFSET: i32 =
        (HIGH as u32 * R::N as u32 * LARGEST[1] * LARGEST[1]).next_multiple_of(R::Q) as i32;

    /// Checks the ranges in [`multiply_large_ones`](Self::multiply_large_ones).
    const LARGE_ONES: () = {
        let [low, high] = LARGEST;
        assert!(low + high < 1 << 8);
        // The sums after the second product.
        assert!(Self::OFFSET as u64 + R::N as u64 * ((low * low) as u64) < 1 << 31);
        // The sums after the third product. The reduction modulo x^n - x - 1 adds three of them.
        let sum = 2 * R::Q as u64 + R::N as u64 * ((low + high) * (low + high)) as u64;
        assert!(Self::E < R::Q && 3 * sum < 1 << 31);
    };

    /// Replaces the low bytes of both large operands by the sums of their low and high bytes.
    #[inline(always)]
    fn add_high_bytes(self) {
        // Eight threads share a copy of the left operand.
        let (copy, i) = (self.s.lane() / 8, self.s.lane() % 8);
        let first = Geometry::<R>::SMALL_COPY * copy + 16 * i;
        for k in 0..PHASES * Geometry::<R>::SMALL_PHASE / 128 {
            let place = first + 128 * k;
            self.add_vector(Self::left(0) + place, Self::left(1) + place);
        }
        let vectors = Geometry::<R>::LARGE_BYTE / 16;
        for round in 0..vectors.div_ceil(WARP) {
            let vector = WARP * round + self.s.lane();
            if vector < vectors {
                let [low, high] = [0, 1].map(|byte| Self::right(byte) + 16 * vector);
                self.add_vector(low, high);
            }
        }
    }

    /// Adds the 16 bytes at the address `from` to those at the address `to`. No sum exceeds a byte.
    #[inline(always)]
    fn add_vector(self, to: u32, from: u32) {
        let [U32x4(a), U32x4(b)] = [to, from].map(|address| self.s.load_shared(address));
        self.s.store_shared(to, U32x4(array::from_fn(|k| a[k] + b[k])));
    }

    /// Replaces each of the first sums by the result of `f`.
    #[inline(always)]
    fn for_each_sum(self, sums: &mut Sums, f: impl Fn(i32) -> i32) {
        for tile in &mut sums[0][..Geometry::<R>::OUTER as usize] {
            for sum in tile {
                *sum = f(*sum);
            }
        }
    }

    /// Adds the products `A_w B_w` of all phases to the sums, see [`accumulate`](Self::accumulate).
    #[inline(always)]
    fn accumulate_phases<const BYTES: usize>(
        self,
        kind: Bytes,
        left: u32,
        right: u32,
        sums: &mut Sums,
    ) {
        // Unrolled, the phases would need more registers.
        for w in 0..rolled(self.s, PHASES) {
            self.s.keep_rolled();
            self.accumulate::<BYTES>(kind, left, right, w, sums);
        }
    }

    /// Replaces the operands in shared memory by the first sums.
    #[inline(always)]
    fn finish(self, sums: &Sums) {
        self.s.sync_warp();
        self.store_plain(&sums[0]);
        self.s.sync_warp();
    }

    /// Adds `A_w B_w` to the sums, for byte `left` of the left operand and `BYTES` bytes of the
    /// right operand from byte `right` on. Each byte of the right operand has its own sums.
    #[inline(always)]
    fn accumulate<const BYTES: usize>(
        self,
        kind: Bytes,
        left: u32,
        right: u32,
        w: u32,
        sums: &mut Sums,
    ) {
        let s = self.s;
        let full_depth = |a, b, c| match kind {
            Bytes::Signed => s.mma_m16n8k32(a, b, c),
            Bytes::Unsigned => s.mma_m16n8k32_u8(a, b, c),
        };
        let half_depth = |a, b, c| match kind {
            Bytes::Signed => s.mma_m16n8k16(a, b, c),
            Bytes::Unsigned => s.mma_m16n8k16_u8(a, b, c),
        };
        // Multiplies a tile of which the left or the right half may be known to be zero.
        let mma = |a: [u32; 4], b: [u32; 2], is_zero: [bool; 2], c| match is_zero {
            [false, false] => full_depth(a, b, c),
            [false, true] => half_depth([a[0], a[1]], b[0], c),
            [true, _] => half_depth([a[2], a[3]], b[1], c),
        };
        let (i, j) = (s.lane() / 4, s.lane() % 4);
        // The address of word k is 8 k bytes below that of word 0. The tiles of diagonal d use the
        // words 2 d to 2 d + 3, without those that are known to be zero: 0, 1 and the last ones.
        let copy = i % 4;
        let small = Self::left(left)
            + Geometry::<R>::SMALL_COPY * copy
            + Geometry::<R>::SMALL_PHASE * w
            + (Geometry::<R>::ORIGIN + TILE_ROWS + 4 * j)
            - (i - copy);
        let word = |k: u32| s.load_shared::<u32>(small - 8 * k);
        // Column i of B_w is phase i - w, or phase i - w + 8 one row later if i < w.
        let column = |i: u32| {
            let unchanged = Self::right(right) + Geometry::<R>::LARGE_COPY;
            unchanged + Geometry::<R>::LARGE_PHASE * i - Geometry::<R>::LARGE_PHASE * w
        };
        // A thread gives the address of half a column of one of two tiles. The two tiles hold the
        // two bytes of the right operand, or neighbouring rows of one byte.
        let (half, tile) = (s.lane() / 8 % 2, s.lane() / 16);
        let first = column(s.lane() % 8) + TILE_ROWS * half;
        let mut b = [[[0; 2]; BYTES]; MAX_INNER + 1];
        for inner in (0..Geometry::<R>::INNER).step_by(3 - BYTES) {
            let place = match BYTES {
                2 => Geometry::<R>::LARGE_BYTE * tile + TILE_COLUMNS * inner,
                _ => TILE_COLUMNS * (inner + tile).min(Geometry::<R>::INNER - 1),
            };
            let [b0, b1, b2, b3] = s.load_matrices(first + place);
            let inner = inner as usize;
            b[inner][0] = [b0, b1];
            match BYTES {
                2 => b[inner][1] = [b2, b3],
                _ => b[inner + 1][0] = [b2, b3],
            }
        }
        // Diagonal by diagonal, because its four words occupy fewer registers than all words.
        let mut a = [0, 0, word(2), word(3)];
        for d in 0..Geometry::<R>::DIAGONALS {
            // The entries of the matrix's left half are zero in the last tiles, and those of the
            // right half in the first ones.
            let is_zero = [TILE_ROWS * d > Geometry::<R>::ROWS + TILE_ROWS - 2, d == 0];
            if d > 0 {
                let next = [2 * d + 2, 2 * d + 3].map(|k| if is_zero[0] { 0 } else { word(k) });
                a = [a[2], a[3], next[0], next[1]];
            }
            for (column, b) in b[..Geometry::<R>::INNER as usize].iter().enumerate() {
                let tile = d as usize + 2 * column;
                if tile < Geometry::<R>::OUTER as usize {
                    for (sums, &b) in sums.iter_mut().zip(b) {
                        sums[tile] = mma([a[2], a[3], a[0], a[1]], b, is_zero, sums[tile]);
                    }
                }
            }
        }
        if Geometry::<R>::OVERHANG && w >= PHASES / 2 {
            let inner = Geometry::<R>::INNER;
            for (byte, sums) in sums[..BYTES].iter_mut().enumerate() {
                let place = Geometry::<R>::LARGE_BYTE * byte as u32 + TILE_COLUMNS * inner;
                let b = s.load_shared(column(i) + 4 * j + place);
                for tile in 2 * inner..Geometry::<R>::OUTER {
                    let k = 2 * (tile - 2 * inner);
                    let sum = &mut sums[tile as usize];
                    *sum = half_depth([word(k + 2), word(k + 3)], b, *sum);
                }
            }
        }
    }

    /// Writes the unreduced product to shared memory in rows of eight words. [`half_address`] gives
    /// the address of each half of a row.
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

    /// Calls `output(group, values)` for each group of the product modulo `x^n - x - 1`. The values
    /// are not reduced modulo `q`, and those after coefficient `n - 1` have no meaning.
    #[inline(always)]
    pub fn for_each_row(self, output: impl Fn(u32, [i32; 8])) {
        warp::for_each(self.s, Geometry::<R>::ROWS, |group| output(group, self.folded(group)));
    }

    /// Stores the product modulo `q` as row `index` of an array of polynomials. Its coefficients
    /// must be in the input range of [`product_modulo_q`].
    #[inline(always)]
    pub fn store_modulo_q(self, products: S::Global<u16>, index: u32) {
        self.store(products, index, product_modulo_q::<R>);
    }

    /// Stores `HIGH` times the product modulo `q` as row `index` of an array of polynomials.
    #[inline(always)]
    pub fn store_high_modulo_q(self, products: S::Global<u16>, index: u32) {
        self.store(products, index, high_modulo_q::<R>);
    }

    /// Stores `reduced(c)` for each coefficient `c` of the product as row `index` of an array of
    /// polynomials.
    #[inline(always)]
    fn store(self, products: S::Global<u16>, index: u32, reduced: impl Fn(i32) -> u16) {
        self.for_each_row(|group, folded| {
            store_row::<S, R>(self.s, products, index, group, warp::pairs(folded.map(&reduced)));
        });
    }

    /// Returns group `group` of the product modulo `x^n - x - 1`, not reduced modulo `q`.
    #[inline(always)]
    pub fn folded(self, group: u32) -> [i32; 8] {
        let s = self.s;
        // x^n = x + 1, so coefficient n + k of the unreduced product is added to the coefficients k
        // and k + 1.
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

    /// Returns the coefficients `4 half..4 half + 4` of the unreduced product.
    #[inline(always)]
    fn half(self, half: u32) -> [i32; 4] {
        let U32x4(words) = self.s.load_shared(half_address(half));
        words.map(|word| word as i32)
    }
}

/// Returns the address of the coefficients `4 half..4 half + 4` of the unreduced product. In rows 4
/// to 7 of every eight rows, the two halves are exchanged, so that neighbouring threads access
/// different banks.
#[inline(always)]
fn half_address(half: u32) -> u32 {
    16 * (half ^ (half >> 3 & 1))
}
