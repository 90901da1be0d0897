//! Products of one operand, the key, by the operands of many operations, as a product of matrices
//! on tensor cores: a matrix of the key times a matrix with one column for each operation.
//!
//! The matrix of the key is that of [`ctru_math::kernel::toeplitz`]. Its row 0 is the only one
//! that is not Toeplitz; it equals row `n` of the same matrix with `h_0` in place of a coefficient
//! `h_n`. So entry `(i, j)` of the rows `1..=n` is `t(i - j)` with
//!
//! ```text
//! t(d) = h_d                       for 0 < d < n,
//! t(n) = h_0,
//! t(d) = h_(d + n) + h_(d + n - 1)  for -n < d <= 0, where h_n is h_0,
//! ```
//!
//! and the matrix needs room for its `2 n` diagonals only. Either the key or the operands have
//! coefficients of up to 13 bits, which are split in bytes of 7 and 6 bits; the others are signed
//! bytes.
//!
//! A warp computes tiles of 64 rows by all columns of its block, from 64 columns of the matrix in
//! each step. Rows and columns of the matrix are assigned to lanes so that
//!
//! - a thread ends up with groups of eight neighbouring coefficients of an operation,
//! - a thread's part of the matrix for one instruction is one vector of shared memory, and the same
//!   vector serves all places whose rows and columns differ by the same multiple of eight.

mod tile;

use core::array;
use core::marker::PhantomData;

use ctru_math::Ring;
use ctru_math::kernel::bits::GROUP;

use super::operand::{BLOCK, SmallBlock, transpose};
use crate::descriptor::Shape;
use crate::kernels::rolled;
use crate::simt::{Simt, U32x4, WARP};

use tile::column;
pub(crate) use tile::{Tile, group};

/// Warps of a block.
pub(crate) const WARPS: u32 = 4;
/// Rows of a tile of the product, and columns of the matrix in a step.
pub(crate) const TILE: u32 = 64;
/// Rows, or columns, by which neighbouring vectors of the matrix differ.
const STRIDE: u32 = 8;
/// Tiles of 16 rows, the size of an instruction, in a tile of 64 rows.
const ROW_TILES: usize = 4;
/// Columns of a tile of an instruction.
const TILE_COLUMNS: u32 = 8;

/// Sums for low and for high bytes, by tile of columns and by tile of rows.
type Sums<const COLUMN_TILES: usize> = [[[[i32; 4]; ROW_TILES]; COLUMN_TILES]; 2];

/// A block's product in shared memory: a key whose coefficients have `KEY` bytes, by `8
/// COLUMN_TILES` operands whose coefficients have `OPERAND` bytes.
#[derive(Copy, Clone)]
pub(crate) struct MatrixProduct<
    S,
    R,
    const KEY: usize,
    const OPERAND: usize,
    const COLUMN_TILES: usize,
> {
    s: S,
    ring: PhantomData<R>,
}

impl<S, R: Ring, const KEY: usize, const OPERAND: usize, const COLUMN_TILES: usize>
    MatrixProduct<S, R, KEY, OPERAND, COLUMN_TILES>
{
    const N: u32 = R::N as u32;
    /// Columns of the product.
    pub(crate) const COLUMNS: u32 = TILE_COLUMNS * COLUMN_TILES as u32;
    /// Tiles of the rows `0..=n`.
    const TILES: u32 = Self::N / TILE + 1;
    /// Steps along the columns of the matrix.
    const STEPS: u32 = Self::N.div_ceil(TILE);
    const ROUNDS: u32 = Self::TILES.div_ceil(WARPS);

    /// Number of the vector of diagonal 0.
    const ORIGIN: u32 = TILE / STRIDE * Self::STEPS;
    /// Number of vectors.
    const VECTORS: u32 = Self::ORIGIN + TILE / STRIDE * Self::TILES;
    /// Bytes of the vectors of a byte of the matrix for one row tile.
    const ROW_TILE: u32 = 16 * Self::VECTORS;
    /// Bytes of the vectors of a byte of the matrix for all row tiles.
    const MATRIX_BYTE: u32 = ROW_TILES as u32 * Self::ROW_TILE;

    /// Where the operands begin.
    const OPERANDS: u32 = KEY as u32 * Self::MATRIX_BYTE;
    /// Bytes of a column of a byte of the operands: an odd number of steps, so that neighbouring
    /// columns begin in different banks.
    const COLUMN: u32 = TILE * (Self::STEPS | 1);
    const OPERAND_BYTE: u32 = Self::COLUMN * Self::COLUMNS;

    /// Where coefficient 0 of every column lies once row `n` has been computed.
    const FIRST: u32 = Self::OPERANDS + OPERAND as u32 * Self::OPERAND_BYTE;
    /// Where shared memory behind the product begins, a multiple of 16.
    pub(crate) const END: u32 = Self::FIRST + 2 * Self::COLUMNS;

    const LAYOUT: () = {
        assert!(KEY + OPERAND == 3 && Self::STEPS <= WARP && Self::ROUNDS <= WARP);
        // All tiles wait for row n, so it is computed in the first round.
        assert!(Self::TILES > WARPS * (Self::ROUNDS - 1));
    };

    /// Returns blocks of `per_block` operations with `behind` more bytes of shared memory.
    pub(crate) const fn shape(per_block: u32, behind: u32) -> Shape {
        let () = Self::LAYOUT;
        Shape { threads: WARPS * WARP, per_block, shared_bytes: Self::END + behind }
    }
}

impl<S: Simt, R: Ring, const KEY: usize, const OPERAND: usize, const COLUMN_TILES: usize>
    MatrixProduct<S, R, KEY, OPERAND, COLUMN_TILES>
{
    pub(crate) fn new(s: S) -> Self {
        Self { s, ring: PhantomData }
    }

    /// Stages the matrix of the key. `coefficient` returns a coefficient of the key, and `split`
    /// the bytes of a coefficient or of a sum of two.
    ///
    /// Vector `ORIGIN + y` of row tile `m` has four words of four entries each. Their diagonals
    /// descend from `8 y + m`, from `8 y + m + 4`, from `8 y + m - 4`, and from `8 y + m` again:
    /// the rows `8 y + m` and four more, by the columns 0 to 3 and four more.
    #[inline(always)]
    pub(crate) fn stage_matrix(
        self,
        coefficient: impl Fn(u32) -> i32,
        split: impl Fn(i32) -> [u32; KEY],
    ) {
        let s = self.s;
        let mut vector = s.thread();
        while vector < Self::VECTORS {
            let lowest = (STRIDE * vector) as i32 - (STRIDE * Self::ORIGIN) as i32 - 7;
            let entries: [[u32; KEY]; 15] =
                array::from_fn(|k| split(Self::entry(lowest + k as i32, &coefficient)));
            let word = |byte: usize, highest: usize| {
                (0..4).fold(0, |word, b| word | entries[highest - b][byte] << (8 * b))
            };
            for byte in 0..KEY {
                for m in 0..ROW_TILES {
                    let words = [m + 7, m + 11, m + 3, m + 7].map(|highest| word(byte, highest));
                    s.store_shared(Self::vector(byte, m, vector), U32x4(words));
                }
            }
            vector += s.threads();
        }
    }

    /// Returns where vector `vector` of a byte of the matrix lies for a row tile.
    #[inline(always)]
    fn vector(byte: usize, row_tile: usize, vector: u32) -> u32 {
        Self::MATRIX_BYTE * byte as u32 + Self::ROW_TILE * row_tile as u32 + 16 * vector
    }

    /// Returns `t(d)`, not reduced; 0 for numbers that are no diagonals of the rows `1..=n`.
    #[inline(always)]
    fn entry(d: i32, coefficient: impl Fn(u32) -> i32) -> i32 {
        let n = R::N as i32;
        let wrapped = if d > 0 { d } else { d + n };
        let carried = d + n - 1;
        let wrapped = if wrapped < n { wrapped } else { 0 };
        if d > n || carried <= 0 {
            0
        } else if d > 0 {
            coefficient(wrapped as u32)
        } else {
            coefficient(wrapped as u32) + coefficient(carried as u32)
        }
    }

    /// Stages the operands. `source(column, block)` returns the bytes of a block of a column, zero
    /// behind the end of the operand.
    #[inline(always)]
    pub(crate) fn stage_operands(self, source: impl Fn(u32, u32) -> [SmallBlock; OPERAND]) {
        let s = self.s;
        let blocks = Self::STEPS * TILE / BLOCK;
        let mut k = s.thread();
        while k < Self::COLUMNS * blocks {
            let (column, block) = (k / blocks, k % blocks);
            for (byte, &[a, b, c, d, e, f, g, h]) in source(column, block).iter().enumerate() {
                let (even, odd) = (transpose(s, [a, b, c, d]), transpose(s, [e, f, g, h]));
                let address = Self::operand(byte, column) + BLOCK * block;
                s.store_shared(address, U32x4([even[0], odd[0], even[1], odd[1]]));
                s.store_shared(address + BLOCK / 2, U32x4([even[2], odd[2], even[3], odd[3]]));
            }
            k += s.threads();
        }
    }

    /// Returns where column `column` of a byte of the operands begins.
    #[inline(always)]
    fn operand(byte: usize, column: u32) -> u32 {
        Self::OPERANDS + Self::OPERAND_BYTE * byte as u32 + Self::COLUMN * column
    }

    /// Multiplies the staged operands. Each warp calls `output` with the number of each of its
    /// tiles and with the tile. Tiles behind the end of the product have no meaning. `residue`
    /// returns the coefficient of a sum, to which `128 offset` has been added.
    #[inline(always)]
    pub(crate) fn multiply(
        self,
        offset: i32,
        residue: impl Fn(i32) -> u16,
        mut output: impl FnMut(u32, Tile<COLUMN_TILES>),
    ) {
        let s = self.s;
        s.sync_block();
        for round in 0..rolled(s, Self::ROUNDS) {
            let number = WARPS * (Self::ROUNDS - 1 - round) + s.warp();
            let mut sums: Sums<COLUMN_TILES> =
                [[[[0; 4]; ROW_TILES]; COLUMN_TILES], [[[offset; 4]; ROW_TILES]; COLUMN_TILES]];
            let steps = if number < Self::TILES { rolled(s, Self::STEPS) } else { 0 };
            for step in 0..steps {
                self.accumulate(number, step, &mut sums);
            }
            let mut tile = Tile::new(&sums, &residue);
            self.exchange_first(number, &mut tile);
            output(number, tile);
        }
    }

    /// Adds the products of one step to the sums of a tile.
    #[inline(always)]
    fn accumulate(self, tile: u32, step: u32, sums: &mut Sums<COLUMN_TILES>) {
        let s = self.s;
        let (i, j) = (s.lane() / 4, s.lane() % 4);
        // Row i of row tile m is row 8 i + m of the tile, and its row i + 8 is row 8 i + m + 4.
        // Lane j has 16 neighbouring columns of the matrix.
        let moved = TILE / STRIDE * (tile + Self::STEPS - 1 - step) + STRIDE + i - 2 * j;
        let b: [[U32x4; COLUMN_TILES]; OPERAND] = array::from_fn(|byte| {
            array::from_fn(|columns| {
                let column = Self::operand(byte, TILE_COLUMNS * columns as u32 + i);
                s.load_shared(column + TILE * step + 16 * j)
            })
        });
        for half in 0..2 {
            let a: [[U32x4; ROW_TILES]; KEY] = array::from_fn(|byte| {
                array::from_fn(|m| s.load_shared(Self::vector(byte, m, moved - half as u32)))
            });
            for operand_byte in 0..OPERAND {
                for (columns, &U32x4(b)) in b[operand_byte].iter().enumerate() {
                    let b = [b[2 * half], b[2 * half + 1]];
                    for key_byte in 0..KEY {
                        let sums = &mut sums[key_byte + operand_byte][columns];
                        for (sum, &U32x4(a)) in sums.iter_mut().zip(&a[key_byte]) {
                            *sum = s.mma_m16n8k32(a, b, *sum);
                        }
                    }
                }
            }
        }
    }

    /// Moves row `n`, which is coefficient 0, of every column from the last tile to the first one.
    /// All threads of the block call this.
    #[inline(always)]
    fn exchange_first(self, number: u32, tile: &mut Tile<COLUMN_TILES>) {
        let s = self.s;
        let address = |k: usize| Self::FIRST + 2 * column(s, k as u32);
        if number == Self::TILES - 1 && s.lane() / 4 == Self::N % TILE / GROUP as u32 {
            for k in 0..2 * COLUMN_TILES {
                s.store_shared(address(k), tile.coefficient(k, R::N % GROUP));
            }
        }
        s.sync_block();
        if number == 0 && s.lane() / 4 == 0 {
            for k in 0..2 * COLUMN_TILES {
                tile.set_first(k, s.load_shared(address(k)));
            }
        }
    }
}

/// Returns the bytes of the residue in `0..q` of a number in `0..2 q`.
#[inline(always)]
pub(crate) fn split_modulo_q<R: Ring>(x: i32) -> [u32; 2] {
    let x = x as u32;
    split(x.min(x.wrapping_sub(R::Q)))
}

/// Returns the low seven bits of a number below `2^13`, and the other bits.
#[inline(always)]
pub(crate) fn split(x: u32) -> [u32; 2] {
    [x & 0x7f, x >> 7]
}

/// Returns the residue in `0..q2` of a sum.
#[inline(always)]
pub(crate) fn modulo_q2<R: Ring>(sum: i32) -> u16 {
    (sum as u32 & (R::Q2 - 1)) as u16
}
