//! Products of one polynomial, the key, by the operands of many operations. Tensor cores compute
//! them as one product of matrices: the matrix of the key times a matrix with one column per
//! operation.
//!
//! [`ctru_math::kernel::toeplitz`] defines the matrix of the key. All its rows but row 0 form a
//! Toeplitz matrix. If the Toeplitz matrix is continued by a row `n`, with `h_0` in place of the
//! missing coefficient `h_n`, then this row equals row 0. So the kernels compute the rows `1..=n`,
//! whose entry `(i, j)` is `t(i - j)` with
//!
//! ```text
//! t(d) = h_d                       for 0 < d < n,
//! t(n) = h_0,
//! t(d) = h_(d + n) + h_(d + n - 1)  for -n < d <= 0, where h_n is h_0,
//! ```
//!
//! and the matrix needs memory only for its `2 n` diagonals. Either the key or the operands have
//! coefficients of up to 13 bits, which are split into bytes of 7 and 6 bits. The coefficients of
//! the other side are signed bytes.
//!
//! A warp computes tiles of 64 rows by all columns of its block. In each step it uses 64 columns of
//! the matrix. Rows and columns of the matrix are assigned to lanes so that
//!
//! - a thread receives groups of eight neighbouring coefficients of an operation,
//! - a thread's part of the matrix for one instruction is one 16-byte vector of shared memory, and
//!   all positions of the matrix whose difference of row and column is the same use the same
//!   vector.

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

/// Number of warps per block.
pub(crate) const WARPS: u32 = 4;
/// Number of rows in a tile of the product, and of matrix columns per step.
pub(crate) const TILE: u32 = 64;
/// Distance in rows, or in columns, between neighbouring vectors of the matrix.
const STRIDE: u32 = 8;
/// Number of 16-row tiles, the size of one instruction, in a tile of 64 rows.
const ROW_TILES: usize = 4;
/// Number of columns that one instruction computes.
const TILE_COLUMNS: u32 = 8;

/// Sums for low bytes and for high bytes, indexed by column tile and then by row tile.
type Sums<const COLUMN_TILES: usize> = [[[[i32; 4]; ROW_TILES]; COLUMN_TILES]; 2];

/// The product that a block computes from the key's matrix and the operands, which lie in shared
/// memory. The key's coefficients have `KEY` bytes each. There are `8 COLUMN_TILES` operands,
/// whose coefficients have `OPERAND` bytes each.
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
    /// Number of columns of the product.
    pub(crate) const COLUMNS: u32 = TILE_COLUMNS * COLUMN_TILES as u32;
    /// Number of tiles that cover the rows `0..=n`.
    const TILES: u32 = Self::N / TILE + 1;
    /// Number of steps along the columns of the matrix.
    const STEPS: u32 = Self::N.div_ceil(TILE);
    const ROUNDS: u32 = Self::TILES.div_ceil(WARPS);

    /// Index of the vector of diagonal 0.
    const ORIGIN: u32 = TILE / STRIDE * Self::STEPS;
    /// Number of vectors.
    const VECTORS: u32 = Self::ORIGIN + TILE / STRIDE * Self::TILES;
    /// Bytes that the vectors of one row tile occupy, for one byte of the coefficients.
    const ROW_TILE: u32 = 16 * Self::VECTORS;
    /// Bytes that the vectors of all row tiles occupy, for one byte of the coefficients.
    const MATRIX_BYTE: u32 = ROW_TILES as u32 * Self::ROW_TILE;

    /// Address of the operands.
    const OPERANDS: u32 = KEY as u32 * Self::MATRIX_BYTE;
    /// Bytes per column of operands, for one byte of the coefficients. A column has room for an odd
    /// number of steps, so that neighbouring columns begin in different banks.
    const COLUMN: u32 = TILE * (Self::STEPS | 1);
    const OPERAND_BYTE: u32 = Self::COLUMN * Self::COLUMNS;

    /// Address of a list of coefficient 0 of every column. The warp that computes row `n` writes
    /// this list.
    const FIRST: u32 = Self::OPERANDS + OPERAND as u32 * Self::OPERAND_BYTE;
    /// Address of the first free byte after the product, a multiple of 16.
    pub(crate) const END: u32 = Self::FIRST + 2 * Self::COLUMNS;

    const LAYOUT: () = {
        assert!(KEY + OPERAND == 3 && Self::STEPS <= WARP && Self::ROUNDS <= WARP);
        // The first tile needs row n, so row n is computed in the first round.
        assert!(Self::TILES > WARPS * (Self::ROUNDS - 1));
    };

    /// Returns the block shape: `per_block` operations per block, and `behind` bytes of shared
    /// memory after those of the product.
    pub(crate) const fn shape(per_block: u32, behind: u32) -> Shape {
        let () = Self::LAYOUT;
        Shape::new(WARPS * WARP, per_block, Self::END + behind)
    }
}

impl<S: Simt, R: Ring, const KEY: usize, const OPERAND: usize, const COLUMN_TILES: usize>
    MatrixProduct<S, R, KEY, OPERAND, COLUMN_TILES>
{
    pub(crate) fn new(s: S) -> Self {
        Self { s, ring: PhantomData }
    }

    /// Writes the matrix of the key to shared memory. `coefficient(i)` returns coefficient `i` of
    /// the key. `split` returns the bytes of a coefficient or of a sum of two coefficients.
    ///
    /// Vector `ORIGIN + y` of row tile `m` has four words of four entries each. The diagonals of a
    /// word's entries descend from `8 y + m`, `8 y + m + 4`, `8 y + m - 4` and `8 y + m`,
    /// respectively. These are the entries of the rows `8 y + m` and `8 y + m + 4` in the columns 0
    /// to 3, then those of the same rows in the columns 4 to 7.
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
                array::from_fn(|k| split(entry::<R>(lowest + k as i32, &coefficient)));
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

    /// Returns the address of vector number `vector` of a row tile. The vector holds byte number
    /// `byte` of the matrix entries, in the order in which `split` returns the bytes of an entry.
    #[inline(always)]
    fn vector(byte: usize, row_tile: usize, vector: u32) -> u32 {
        Self::MATRIX_BYTE * byte as u32 + Self::ROW_TILE * row_tile as u32 + 16 * vector
    }

    /// Writes the operands to shared memory. `source(column, block)` returns the bytes of one block
    /// of a column, and zeros after the end of the operand.
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

    /// Returns the address of column `column` of the operands, for byte `byte` of the coefficients.
    #[inline(always)]
    fn operand(byte: usize, column: u32) -> u32 {
        Self::OPERANDS + Self::OPERAND_BYTE * byte as u32 + Self::COLUMN * column
    }

    /// Multiplies the matrix by the operands in shared memory. Each warp calls `output(number,
    /// tile)` for each of its tiles. Tiles after the end of the product have no meaning. The
    /// function adds `128 offset` to each sum, and `residue` maps the result to a coefficient.
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

    /// Adds the products of step `step` to the sums of tile `tile`.
    #[inline(always)]
    fn accumulate(self, tile: u32, step: u32, sums: &mut Sums<COLUMN_TILES>) {
        let s = self.s;
        let (i, j) = (s.lane() / 4, s.lane() % 4);
        // Row i of row tile m is row 8 i + m of the tile, and its row i + 8 is row 8 i + m + 4. The
        // lanes with the same j have the same 16 neighbouring columns of the matrix.
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

    /// Moves row `n` of every column from the last tile to coefficient 0 in the first tile. All
    /// threads of the block call this function, which contains a barrier.
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

/// Returns `t(d)`, not reduced modulo `q`. Returns 0 for numbers that are not diagonals of the
/// rows `1..=n`.
#[inline(always)]
pub(crate) fn entry<R: Ring>(d: i32, coefficient: impl Fn(u32) -> i32) -> i32 {
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

/// Reduces a number in `0..2 q` modulo `q` and splits the residue into its low seven bits and the
/// other bits.
#[inline(always)]
pub(crate) fn split_modulo_q<R: Ring>(x: i32) -> [u32; 2] {
    let x = x as u32;
    split(x.min(x.wrapping_sub(R::Q)))
}

/// Splits a number below `2^13` into its low seven bits and the other bits.
#[inline(always)]
pub(crate) fn split(x: u32) -> [u32; 2] {
    [x & 0x7f, x >> 7]
}

/// Reduces a sum modulo `q2` to `0..q2`.
#[inline(always)]
pub(crate) fn modulo_q2<R: Ring>(sum: i32) -> u16 {
    (sum as u32 & (R::Q2 - 1)) as u16
}
