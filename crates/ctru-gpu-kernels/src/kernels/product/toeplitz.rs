//! Products of one polynomial, the key, by the operands of many operations. Tensor cores compute
//! them as products of matrices with one column per operation.
//!
//! Column `j` of the key's matrix is `x^j h mod x^n - x - 1` (paper, equation 4): `h_t` lands on
//! `x^(j + t)`, or if `j + t >= n`, on `x^(j + t - n)` and `x^(j + t - n + 1)`. So all rows but row
//! 0 form a Toeplitz matrix. If it is continued by a row `n`, with `h_0` in place of the missing
//! coefficient `h_n`, then this row equals row 0. So the kernels compute the rows `1..=n`, whose
//! entry `(i, j)` is `t(i - j)` with
//!
//! ```text
//! t(d) = h_d                       for 0 < d < n,
//! t(n) = h_0,
//! t(d) = h_(d + n) + h_(d + n - 1)  for 1 - n < d <= 0, where h_n is h_0,
//! ```
//!
//! and the matrix needs memory only for its `2 n - 1` diagonals. With `i = 8 m + v` and
//! `j = 8 l + w`, the product `c` of the operand `r` is
//!
//! ```text
//! c[8 m + v] = sum over w < 8 and l of A[m][l] r[8 l + w],   A[m][l] = t(8 (m - l) + v - w).
//! ```
//!
//! For each `v` and `w`, `A` is a Toeplitz matrix itself, so a thread's part of a tile of 16 x 32
//! entries depends only on the tile's diagonal, and the words of one diagonal serve all tiles on
//! it, for all operations. Phase `p` is the list of `t(8 x + p)` for all `x`; a negative `v - w`
//! takes phase `v - w + 8`, one place before. Shared memory holds the phases in reverse order, in
//! eight copies that are shifted by 0 to 7 bytes, so that each thread can load any eight
//! neighbouring bytes at once. A thread's part of a diagonal is two such loads. No other diagonal
//! shares them, so no register has to be copied to another one, where an instruction expects it.
//!
//! Either the key or the operands have coefficients of up to 13 bits, which are split into bytes of
//! 7 and 6 bits. The coefficients of the other side are signed bytes. The threads first sum the
//! products by high bytes, multiply the sums by 128, and then add the products by low bytes.

use core::array;
use core::marker::PhantomData;

use ctru_math::Ring;
use ctru_math::kernel::bits::GROUP;

use super::HIGH;
use super::operand::{PHASES, SmallBlock};
use crate::descriptor::{Batch, Shape};
use crate::kernels::{rolled, unrolled, warp};
use crate::simt::{Simt, U32x4, WARP};

/// Number of rows of `A` in a tile.
const TILE_ROWS: u32 = 16;
/// Number of columns of `A` in a tile.
const TILE_COLUMNS: u32 = 32;
/// Number of operations in a column tile, for which one instruction computes.
const COLUMN_TILE: u32 = 8;
/// Number of copies of the phases.
const COPIES: u32 = 8;
/// The maximum number of tiles that cover the rows of `A`.
const MAX_OUTER: usize = 10;
/// The maximum number of tiles that cover the columns of `A`.
const MAX_INNER: usize = 5;
/// The maximum number of values of `v` for which a warp computes.
const MAX_VALUES: usize = 2;

/// A thread's sums, indexed by the value of `v`, the tile of rows, and the column tile.
type Sums<const COLUMN_TILES: usize> = [[[[i32; 4]; COLUMN_TILES]; MAX_OUTER]; MAX_VALUES];

/// The product that a block computes from the key's matrix and the operands, which lie in shared
/// memory. The key's coefficients have `KEY` bytes each. There are `8 COLUMN_TILES` operands,
/// whose coefficients have `OPERAND` bytes each. The product replaces both in shared memory.
#[derive(Copy, Clone)]
#[allow(missing_debug_implementations, reason = "it exists in kernels only")]
pub struct MatrixProduct<S, R, const KEY: usize, const OPERAND: usize, const COLUMN_TILES: usize> {
    s: S,
    ring: PhantomData<R>,
}

impl<S, R: Ring, const KEY: usize, const OPERAND: usize, const COLUMN_TILES: usize>
    MatrixProduct<S, R, KEY, OPERAND, COLUMN_TILES>
{
    /// Number of operations of a block.
    pub const COLUMNS: u32 = COLUMN_TILE * COLUMN_TILES as u32;
    /// Number of tiles that cover the rows of `A`, for the rows `0..=n` of the key's matrix.
    const OUTER: u32 = (R::N as u32 / PHASES + 1).div_ceil(TILE_ROWS);
    /// Number of tiles that cover the columns of `A`.
    const INNER: u32 = warp::groups(R::N).div_ceil(TILE_COLUMNS);
    /// Number of diagonals of tiles.
    const DIAGONALS: u32 = Self::OUTER + 2 * (Self::INNER - 1);

    /// Number of values of `v` for which a warp computes. A thread has registers for the sums of
    /// two values in 6 tiles of rows, but not in 10.
    const VALUES: u32 = if Self::OUTER <= 6 { 2 } else { 1 };
    /// Number of warps per block.
    pub const WARPS: u32 = PHASES / Self::VALUES;

    /// The largest `x` of a phase. The byte of `x` has the number `LARGEST - x`.
    const LARGEST: u32 = TILE_ROWS * Self::OUTER - 1;
    /// Bytes per phase of the key's matrix.
    const KEY_PHASE: u32 = TILE_ROWS * Self::OUTER + TILE_COLUMNS * Self::INNER;
    /// Bytes per copy of the phases. This is 32 bytes more than the phases need, so that four
    /// neighbouring copies begin in different banks.
    const KEY_COPY: u32 = PHASES * Self::KEY_PHASE + 32;
    /// Bytes of all copies, for one byte of the key's coefficients.
    const KEY_BYTE: u32 = COPIES * Self::KEY_COPY;

    /// Address of the operands.
    const OPERANDS: u32 = KEY as u32 * Self::KEY_BYTE;
    /// Bytes per phase of an operand, for one byte of the coefficients.
    const OPERAND_PHASE: u32 = TILE_COLUMNS * Self::INNER;
    /// Bytes per operand, for one byte of the coefficients. This is 32 bytes more than the phases
    /// need, so that neighbouring operands begin in different banks.
    const OPERAND_COLUMN: u32 = PHASES * Self::OPERAND_PHASE + 32;
    /// Bytes of all operands, for one byte of the coefficients.
    const OPERAND_BYTE: u32 = Self::OPERAND_COLUMN * Self::COLUMNS;
    /// Address of the first byte after the operands.
    const OPERANDS_END: u32 = Self::OPERANDS + OPERAND as u32 * Self::OPERAND_BYTE;

    /// Bytes per column of the product. This is 16 bytes more than the coefficients need, so that
    /// neighbouring columns begin in different banks.
    const COLUMN: u32 = 2 * PHASES * TILE_ROWS * Self::OUTER + 16;
    /// Address of the first byte that neither the operands nor the product occupy, a multiple of
    /// 16.
    pub const END: u32 = if Self::OPERANDS_END > Self::COLUMN * Self::COLUMNS {
        Self::OPERANDS_END
    } else {
        Self::COLUMN * Self::COLUMNS
    };

    const LAYOUT: () = {
        assert!(KEY + OPERAND == 3 && KEY != 0 && OPERAND != 0);
        assert!(Self::OUTER as usize <= MAX_OUTER && Self::INNER as usize <= MAX_INNER);
        assert!(Self::VALUES as usize <= MAX_VALUES);
        assert!(Self::KEY_COPY % 128 == 32);
        assert!(Self::OPERAND_COLUMN % 128 == 32 && Self::COLUMN % 128 == 16);
    };

    /// Returns the block shape: `per_block` operations per block, and `behind` bytes of shared
    /// memory after those of the product.
    #[must_use]
    pub const fn shape(per_block: u32, behind: u32) -> Shape {
        let () = Self::LAYOUT;
        Shape::new(Self::WARPS * WARP, per_block, Self::END + behind)
    }
}

impl<S: Simt, R: Ring, const KEY: usize, const OPERAND: usize, const COLUMN_TILES: usize>
    MatrixProduct<S, R, KEY, OPERAND, COLUMN_TILES>
{
    pub fn new(s: S) -> Self {
        Self { s, ring: PhantomData }
    }

    /// Returns the operation of a column of this block. Columns after the end of the batch repeat
    /// the last operation.
    #[inline(always)]
    pub fn operation(self, column: u32, batch: Batch) -> u32 {
        (Self::COLUMNS * self.s.block() + column).min(batch.operations() - 1)
    }

    /// Calls `output(column, operation)` for each operation of the block. The warps share the
    /// operations, and all lanes of a warp make each call together.
    #[inline(always)]
    pub fn for_each_operation(self, batch: Batch, output: impl Fn(u32, u32)) {
        let first = Self::COLUMNS * self.s.block();
        let mut column = warp::number(self.s);
        while column < Self::COLUMNS && first + column < batch.operations() {
            output(column, first + column);
            column += Self::WARPS;
        }
    }

    /// Writes the matrix of the key to shared memory. `coefficient(i)` returns coefficient `i` of
    /// the key. `split` returns the bytes of a coefficient or of a sum of two coefficients.
    #[inline(always)]
    pub fn stage_matrix(self, coefficient: impl Fn(u32) -> i32, split: impl Fn(i32) -> [u32; KEY]) {
        let s = self.s;
        let words = Self::KEY_PHASE / 4;
        // The last copy is not shifted. Neighbouring threads load neighbouring coefficients.
        let mut k = s.thread();
        while k < PHASES * words {
            let (phase, word) = (k % PHASES, k / PHASES);
            let bytes: [[u32; KEY]; 4] = array::from_fn(|b| {
                let x = Self::LARGEST as i32 - (4 * word + b as u32) as i32;
                split(entry::<R>(PHASES as i32 * x + phase as i32, &coefficient))
            });
            let packed: [u32; KEY] = array::from_fn(|byte| {
                (0..4).fold(0, |packed, b| packed | bytes[b][byte] << (8 * b))
            });
            for (byte, &packed) in packed.iter().enumerate() {
                s.store_shared(Self::key(byte as u32, COPIES - 1, phase) + 4 * word, packed);
            }
            k += s.threads();
        }
        s.sync_block();
        // Byte `7 - copy` of the phase is the first byte of the other copies. Nothing reads the
        // bytes after the last word of a phase.
        let mut k = s.thread();
        while k < PHASES * words {
            let (phase, word) = (k / words, k % words);
            for byte in 0..KEY as u32 {
                let unshifted = Self::key(byte, COPIES - 1, phase);
                let load = |k: u32| s.load_shared::<u32>(unshifted + 4 * (word + k).min(words - 1));
                let next = [load(0), load(1), load(2)].map(u64::from);
                for copy in 0..COPIES - 1 {
                    let (skipped, bits) = ((COPIES - 1 - copy) / 4, 8 * (3 - copy % 4));
                    let [low, high] = [next[skipped as usize], next[skipped as usize + 1]];
                    let shifted = ((high << 32 | low) >> bits) as u32;
                    s.store_shared(Self::key(byte, copy, phase) + 4 * word, shifted);
                }
            }
            k += s.threads();
        }
    }

    /// Returns the address of a phase in a copy, for byte `byte` of the key's matrix, in the order
    /// in which `split` returns the bytes of an entry.
    #[inline(always)]
    fn key(byte: u32, copy: u32, phase: u32) -> u32 {
        Self::KEY_BYTE * byte + Self::KEY_COPY * copy + Self::KEY_PHASE * phase
    }

    /// Writes the operands to shared memory. `source(column, block)` returns the bytes of one block
    /// of an operand, and zeros after its end.
    #[inline(always)]
    pub fn stage_operands(self, source: impl Fn(u32, u32) -> [SmallBlock; OPERAND]) {
        let s = self.s;
        let blocks = Self::OPERAND_PHASE / 4;
        let mut k = s.thread();
        while k < Self::COLUMNS * blocks {
            let (column, block) = (k / blocks, k % blocks);
            for (byte, words) in source(column, block).iter().enumerate() {
                let address = Self::operand(byte as u32, column) + 4 * block;
                for phase in 0..PHASES {
                    s.store_shared(address + Self::OPERAND_PHASE * phase, words[phase as usize]);
                }
            }
            k += s.threads();
        }
    }

    /// Returns the address of the operand of column `column`, for byte `byte` of the coefficients.
    #[inline(always)]
    fn operand(byte: u32, column: u32) -> u32 {
        Self::OPERANDS + Self::OPERAND_BYTE * byte + Self::OPERAND_COLUMN * column
    }

    /// Multiplies the matrix by the operands in shared memory. The product replaces both. The
    /// function `residue` maps sums to coefficients. All threads of the block call this function,
    /// which contains barriers.
    #[inline(always)]
    pub fn multiply(self, residue: impl Fn(i32) -> u16) {
        let s = self.s;
        let mut sums: Sums<COLUMN_TILES> = [[[[0; 4]; COLUMN_TILES]; MAX_OUTER]; MAX_VALUES];
        s.sync_block();
        self.accumulate_phases(1, &mut sums);
        for sums in &mut sums[..Self::VALUES as usize] {
            for sums in &mut sums[..Self::OUTER as usize] {
                *sums = sums.map(|sums| sums.map(|sum| HIGH * sum));
            }
        }
        self.accumulate_phases(0, &mut sums);
        s.sync_block();
        self.store(&sums, residue);
        s.sync_block();
    }

    /// Adds the products by byte `byte` of the coefficients of up to 13 bits to the sums.
    #[inline(always)]
    fn accumulate_phases(self, byte: u32, sums: &mut Sums<COLUMN_TILES>) {
        for w in 0..rolled(self.s, PHASES) {
            self.accumulate(if KEY == 2 { [byte, 0] } else { [0, byte] }, w, sums);
        }
    }

    /// Adds the products of phase `w` of the operands to the sums, for one byte of the key and one
    /// of the operands.
    #[inline(always)]
    fn accumulate(self, [key_byte, operand_byte]: [u32; 2], w: u32, sums: &mut Sums<COLUMN_TILES>) {
        let s = self.s;
        let (i, j) = (s.lane() / 4, s.lane() % 4);
        let phase = Self::operand(operand_byte, i) + Self::OPERAND_PHASE * w + 8 * j;
        let mut b = [[[0; 2]; COLUMN_TILES]; MAX_INNER];
        for (inner, b) in b[..Self::INNER as usize].iter_mut().enumerate() {
            *b = array::from_fn(|columns| {
                let tile = phase + Self::OPERAND_COLUMN * COLUMN_TILE * columns as u32;
                words(s.load_shared(tile + TILE_COLUMNS * inner as u32))
            });
        }
        // The two addresses of this thread's part of diagonal 0, for each value of v. The first
        // eight bytes hold the entries x to x - 7 of a phase, and the last eight hold x - 4 to x -
        // 11. On the next diagonal, x is greater by 16.
        let first: [[u32; 2]; MAX_VALUES] = array::from_fn(|value| {
            let v = Self::VALUES * s.warp() + value as u32;
            let before = u32::from(v < w);
            let x =
                upper_row(i) as i32 - (TILE_COLUMNS * (Self::INNER - 1) + 8 * j + before) as i32;
            [x, x - 4].map(|x| {
                let copy = x.rem_euclid(COPIES as i32) as u32;
                let number = (Self::LARGEST as i32 - x) as u32;
                Self::key(key_byte, copy, v.wrapping_sub(w) % PHASES) + number - (COPIES - 1 - copy)
            })
        });
        let values = Self::VALUES as usize;
        unrolled!(d < Self::DIAGONALS, {
            for (value, sums) in sums[..values].iter_mut().enumerate() {
                let [upper, lower] =
                    first[value].map(|first| words(s.load_shared(first - TILE_ROWS * d)));
                let a = [upper[0], upper[1], lower[0], lower[1]];
                for inner in 0..Self::INNER {
                    let tile = (d + 2 * inner).wrapping_sub(2 * (Self::INNER - 1));
                    if tile < Self::OUTER {
                        for (sum, &b) in sums[tile as usize].iter_mut().zip(&b[inner as usize]) {
                            *sum = s.mma_m16n8k32(a, b, *sum);
                        }
                    }
                }
            }
        });
    }

    /// Replaces the operands by the coefficients that `residue` returns for the sums.
    #[inline(always)]
    fn store(self, sums: &Sums<COLUMN_TILES>, residue: impl Fn(i32) -> u16) {
        let s = self.s;
        let (i, j) = (s.lane() / 4, s.lane() % 4);
        let v = Self::VALUES * s.warp();
        unrolled!(outer < Self::OUTER, {
            for columns in 0..COLUMN_TILES as u32 {
                for part in 0..4u32 {
                    let coefficient = |value: usize| {
                        residue(sums[value][outer as usize][columns as usize][part as usize])
                    };
                    let row = if part < 2 { upper_row(i) } else { upper_row(i) - 4 };
                    let group = TILE_ROWS * outer + row;
                    let column = COLUMN_TILE * columns + 2 * j + part % 2;
                    let address = Self::coefficient(column, group, v);
                    if Self::VALUES == 2 {
                        let pair = u32::from(coefficient(0)) | u32::from(coefficient(1)) << 16;
                        s.store_shared(address, pair);
                    } else {
                        s.store_shared(address, coefficient(0));
                    }
                }
            }
        });
    }

    /// Returns the address of coefficient `8 group + v` of a column of the product. The pairs of a
    /// group are rotated by a number that depends on the column, so that at most two of the lanes
    /// that store pairs at the same time access the same bank.
    #[inline(always)]
    fn coefficient(column: u32, group: u32, v: u32) -> u32 {
        let pair = (v / 2 + column / 2) % 4;
        Self::COLUMN * column + 2 * PHASES * group + 4 * pair + 2 * (v % 2)
    }

    /// Returns group `group` of a column of the product, two coefficients per word, the first one
    /// in the low bits. The coefficients from `n` on have no meaning. All lanes of a warp pass the
    /// same column.
    #[inline(always)]
    pub fn group(self, column: u32, group: u32) -> [u32; GROUP / 2] {
        let s = self.s;
        let U32x4(words) = s.load_shared(Self::COLUMN * column + 2 * PHASES * group);
        let rotation = column / 2 % 4;
        let [a, b, c, d] = words;
        let [a, b, c, d] = if rotation.is_multiple_of(2) { [a, b, c, d] } else { [b, c, d, a] };
        let [a, b, c, d] = if rotation / 2 == 0 { [a, b, c, d] } else { [c, d, a, b] };
        let (last, v) = (R::N as u32 / PHASES, R::N as u32 % PHASES);
        // Row n of the matrix equals row 0.
        let first = s.load_shared::<u16>(Self::coefficient(column, last, v));
        let a = if group == 0 { a & 0xffff_0000 | u32::from(first) } else { a };
        [a, b, c, d]
    }
}

/// Returns the row of a tile that a thread holds as row `i` of an instruction. As row `i + 8` it
/// holds the row whose number is smaller by 4.
#[inline(always)]
fn upper_row(i: u32) -> u32 {
    i % 4 + 8 * (i / 4) + 4
}

/// Splits eight bytes into two words.
#[inline(always)]
fn words(bytes: u64) -> [u32; 2] {
    [bytes as u32, (bytes >> 32) as u32]
}

/// Returns `t(d)`, not reduced modulo `q`. Returns 0 for numbers that are not diagonals of the
/// rows `1..=n`.
#[inline(always)]
pub fn entry<R: Ring>(d: i32, coefficient: impl Fn(u32) -> i32) -> i32 {
    let n = R::N as i32;
    let inside = |i: i32| if 0 <= i && i < n { i as u32 } else { 0 };
    // Both loads are unconditional, so there is no branch.
    let wrapped = coefficient(inside(if d > 0 { d } else { d + n }));
    let carried = coefficient(inside(d + n - 1));
    let carried = if d > 0 { 0 } else { carried };
    if d > n || d + n - 1 <= 0 { 0 } else { wrapped + carried }
}

/// Reduces a number in `0..2 q` modulo `q` and splits the residue into its low seven bits and the
/// other bits.
#[inline(always)]
pub fn split_modulo_q<R: Ring>(x: i32) -> [u32; 2] {
    let x = x as u32;
    split(x.min(x.wrapping_sub(R::Q)))
}

/// Splits a number below `2^13` into its low seven bits and the other bits.
#[inline(always)]
pub fn split(x: u32) -> [u32; 2] {
    [x & 0x7f, x >> 7]
}

/// Reduces a sum modulo `q2` to `0..q2`.
#[inline(always)]
pub fn modulo_q2<R: Ring>(sum: i32) -> u16 {
    (sum as u32 & (R::Q2 - 1)) as u16
}
