//! The maps from `a` to `a^(q^j)` (Frobenius), for inversion by powers.
//! [`ctru_math::kernel::frobenius`] describes the method.
//!
//! A map is linear, so it is the product of a fixed matrix of `n x n` residues and an element.
//! Eight elements are the columns of one product on tensor cores. For few elements, loading the
//! matrix takes most of the time. So each block computes only 16 rows, and its warps share the
//! columns of the matrix: many multiprocessors load parts of it at the same time.
//!
//! The residues of both factors are split into bytes of 7 and 6 bits. The sums of products by two
//! high bytes, by one of each and by two low bytes are kept apart.

use core::marker::PhantomData;

use ctru_math::Ring;

use crate::descriptor::{Batch, Shape};
use crate::kernels::product::{HIGH, modulo_q};
use crate::kernels::row;
use crate::simt::{Simt, U32x4, WARP};

/// Number of elements that a block maps.
pub const ELEMENTS: u32 = 8;

/// Number of warps per block.
const WARPS: u32 = 8;
/// Number of rows of the matrix that a block uses.
const TILE_ROWS: u32 = 16;
/// Number of columns of the matrix that a warp uses in one step.
const TILE_COLUMNS: u32 = 32;
/// Bytes of a tile of the matrix, for one byte of the residues.
const TILE_BYTES: u32 = TILE_ROWS * TILE_COLUMNS;
/// Number of residues that a block computes.
const RESULTS: u32 = TILE_ROWS * ELEMENTS;
/// The largest number of steps of a warp.
const MOST_STEPS: usize = 5;

/// The numbers of tiles.
struct Geometry<R>(PhantomData<R>);

impl<R: Ring> Geometry<R> {
    /// Number of tiles that cover the rows of the matrix.
    const DOWN: u32 = (R::N as u32).div_ceil(TILE_ROWS);
    /// Number of tiles that cover its columns.
    const ACROSS: u32 = (R::N as u32).div_ceil(TILE_COLUMNS);
    /// Number of tiles in a row of tiles that one warp uses.
    const STEPS: usize = Self::ACROSS.div_ceil(WARPS) as usize;

    const LAYOUT: () = {
        assert!(Self::STEPS <= MOST_STEPS && TILE_ROWS * Self::DOWN == row::<R>());
        // Every sum of products, with the carry from the sum of higher weight, fits in 31 bits. The
        // final sum has one residue per warp.
        assert!(128 * R::Q as u64 + 2 * R::N as u64 * 127 * 127 < 1 << 31);
    };
}

/// Returns the number of operations that map up to [`ELEMENTS`] elements. An operation computes 16
/// coefficients of each of them.
#[must_use]
pub const fn operations<R: Ring>() -> u32 {
    Geometry::<R>::DOWN
}

/// Returns the number of bytes of a matrix.
#[must_use]
pub const fn matrix_bytes<R: Ring>() -> u32 {
    2 * TILE_BYTES * Geometry::<R>::DOWN * Geometry::<R>::ACROSS
}

/// Writes a matrix in the form that [`map`] reads. `columns` holds its columns, each of `n`
/// residues in `0..q`, one after the other. The host calls this function.
///
/// The tiles follow one another row by row. A tile has the low bytes of its residues first, then
/// the high bytes. Each thread of a warp loads 16 neighbouring bytes of them: thread `4 i + j`
/// loads entries of the rows `i` and `i + 8` in the columns `8 j..8 j + 8`, four columns of both
/// rows at a time. Entries after row or column `n - 1` are zero.
pub fn pack<R: Ring>(columns: &[u16], packed: &mut [u8]) {
    let entry = |row: usize, column: usize| {
        let column = if row < R::N { columns.get(column * R::N..) } else { None };
        column.and_then(|column| column.get(row)).copied().unwrap_or(0)
    };
    let across = Geometry::<R>::ACROSS as usize;
    for (number, tile) in packed.chunks_exact_mut(2 * TILE_BYTES as usize).enumerate() {
        let (row, column) =
            (TILE_ROWS as usize * (number / across), TILE_COLUMNS as usize * (number % across));
        let (low, high) = tile.split_at_mut(TILE_BYTES as usize);
        for (index, (low, high)) in low.iter_mut().zip(high).enumerate() {
            let (thread, byte) = (index / 16, index % 16);
            let row = row + thread / 4 + 8 * (byte / 4 % 2);
            let column = column + 8 * (thread % 4) + 4 * (byte / 8) + byte % 4;
            let residue = entry(row, column);
            (*low, *high) = ((residue & 0x7f) as u8, (residue >> 7) as u8);
        }
    }
}

/// Returns the block shape: one operation per block, and shared memory for one residue per warp and
/// result.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    let () = Geometry::<R>::LAYOUT;
    Shape::new(WARPS * WARP, 1, 4 * WARPS * RESULTS)
}

/// Maps elements of `R_q`, and writes each result and the other factor of the next product side by
/// side. A batch has [`operations`] operations per eight elements.
///
/// Cost: `n^2` products per element, in four instructions of tensor cores per 16 x 32 numbers of
/// the matrix.
/// Threads: eight warps per block; they share the columns of the matrix.
/// Shared memory: the parts of the results that the warps compute.
/// Arrays: `matrix`, from [`pack`]; `elements` and `factors`, in `0..q`, eight rows per eight
/// elements; `pairs`, in `0..q`: row `2 e` is the map of element `e`, and row `2 e + 1` is factor
/// `e`. If there are fewer than eight elements, the rows of the others may have any content.
/// Source: [`ctru_math::kernel::frobenius`].
#[inline(always)]
pub fn map<S: Simt, R: Ring>(
    s: S,
    matrix: S::Global<u8>,
    elements: S::Global<u16>,
    factors: S::Global<u16>,
    pairs: S::Global<u16>,
    _: Batch,
) {
    let (tile, eight) = (s.block() % Geometry::<R>::DOWN, s.block() / Geometry::<R>::DOWN);
    // Every load is issued before the first use.
    let vectors: [Vectors; MOST_STEPS] =
        core::array::from_fn(|k| Vectors::load::<S, R>(s, matrix, elements, tile, eight, k));
    let Place { element, coefficient } = Place::of(s, tile, eight);
    let is_writer = s.thread() < RESULTS;
    let factor = if is_writer { s.load(factors, row::<R>() * element + coefficient) } else { 0 };
    let mut sums = Sums::default();
    for vectors in &vectors[..Geometry::<R>::STEPS] {
        sums.add(s, vectors);
    }
    s.store_shared(16 * s.thread(), U32x4(sums.residues::<R>()));
    s.sync_block();
    if is_writer {
        let part = |warp: u32| s.load_shared::<u32>(4 * (RESULTS * warp + s.thread()));
        let sum: u32 = (0..WARPS).map(part).sum();
        let mapped = row::<R>() * 2 * element + coefficient;
        s.store(pairs, mapped, modulo_q::<R>(sum as i32));
        s.store(pairs, mapped + row::<R>(), factor);
    }
}

/// The data that a thread loads for one step: its parts of a tile of the matrix, for the low and
/// for the high bytes, and eight coefficients of an element.
#[derive(Copy, Clone, Default)]
struct Vectors {
    low: U32x4,
    high: U32x4,
    coefficients: U32x4,
}

impl Vectors {
    /// Loads the vectors for step `step` of this warp, or returns zeros if it has fewer steps.
    #[inline(always)]
    fn load<S: Simt, R: Ring>(
        s: S,
        matrix: S::Global<u8>,
        elements: S::Global<u16>,
        tile: u32,
        eight: u32,
        step: usize,
    ) -> Self {
        let across = WARPS * step as u32 + s.warp();
        // The numbers of tiles are constants, so steps that every warp has need no branch.
        let is_partial = WARPS * (step as u32 + 1) > Geometry::<R>::ACROSS;
        if step >= Geometry::<R>::STEPS || is_partial && across >= Geometry::<R>::ACROSS {
            return Self::default();
        }
        let matrix = s.cast::<u8, U32x4>(matrix);
        let start = 2 * WARP * (Geometry::<R>::ACROSS * tile + across) + s.lane();
        // Column i of the product is element i.
        let (i, j) = (s.lane() / 4, s.lane() % 4);
        let (vector, count) = (4 * across + j, row::<R>() / 8);
        let coefficients = if 4 * Geometry::<R>::ACROSS <= count || vector < count {
            s.load(s.cast::<u16, U32x4>(elements), count * (ELEMENTS * eight + i) + vector)
        } else {
            U32x4::default()
        };
        Self { low: s.load(matrix, start), high: s.load(matrix, start + WARP), coefficients }
    }
}

/// A thread's part of the sums by the weights 1, 128 and 128^2.
#[derive(Default)]
struct Sums([[i32; 4]; 3]);

impl Sums {
    /// Adds the product of a tile of the matrix and the elements' coefficients.
    #[inline(always)]
    fn add<S: Simt>(&mut self, s: S, vectors: &Vectors) {
        // Four bytes: the low and the high byte of one coefficient, then those of the next one.
        let U32x4(pairs) = vectors.coefficients;
        let split = pairs.map(|pair| pair & 0x007f_007f | (pair << 1) & 0x7f00_7f00);
        let bytes =
            |selector| [(0, 1), (2, 3)].map(|(a, b)| s.byte_permute(split[a], split[b], selector));
        let (low, high) = (bytes(0x6420), bytes(0x7531));
        let [ones, middle, highest] = &mut self.0;
        *ones = s.mma_m16n8k32(vectors.low.0, low, *ones);
        *middle = s.mma_m16n8k32(vectors.low.0, high, *middle);
        *middle = s.mma_m16n8k32(vectors.high.0, low, *middle);
        *highest = s.mma_m16n8k32(vectors.high.0, high, *highest);
    }

    /// Returns the sums modulo `q`.
    #[inline(always)]
    fn residues<R: Ring>(&self) -> [u32; 4] {
        let [ones, middle, highest] = &self.0;
        core::array::from_fn(|c| {
            let carry = |higher, sum| HIGH * i32::from(modulo_q::<R>(higher)) + sum;
            u32::from(modulo_q::<R>(carry(carry(highest[c], middle[c]), ones[c])))
        })
    }
}

/// The result that a thread writes: number `thread` of those that a warp has stored.
struct Place {
    element: u32,
    coefficient: u32,
}

impl Place {
    #[inline(always)]
    fn of<S: Simt>(s: S, tile: u32, eight: u32) -> Self {
        // Thread 4 i + j of a warp has stored the columns 2 j and 2 j + 1 of row i, then of row
        // i + 8.
        let (lane, c) = (s.thread() / 4, s.thread() % 4);
        Self {
            element: ELEMENTS * eight + 2 * (lane % 4) + c % 2,
            coefficient: TILE_ROWS * tile + lane / 4 + 8 * (c / 2),
        }
    }
}
