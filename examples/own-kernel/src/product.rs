//! A product of matrices of signed bytes on tensor cores.
//!
//! A block computes a tile of 128 rows and 128 columns of the product, and each of its four warps a
//! quarter of it. While the tensor cores multiply, asynchronous copies bring the next slabs of both
//! factors, of 64 bytes per row, to shared memory.

use core::array;

use ctru_simt::descriptor::{Batch, Extent};
use ctru_simt::simt::{Simt, U32x4};

/// Threads per block.
pub const THREADS: u32 = 128;
/// Rows and columns of a block's tile.
pub const TILE: u32 = 128;
/// Bytes of each row of `a` and each column of `b` in a slab.
pub const SLAB: u32 = 64;
/// Vectors of 16 bytes per row of a slab.
const ROW: u32 = SLAB / 16;
/// Slabs of both factors in shared memory.
const STAGES: u32 = 4;
/// Bytes of a slab of one factor.
const FACTOR: u32 = TILE * SLAB;
/// Bytes of shared memory.
pub const SHARED: u32 = STAGES * 2 * FACTOR;

/// Rows of 16 and columns of 8 elements in the tile of a warp.
const ROWS: usize = 4;
const COLUMNS: usize = 8;

/// Multiplies two matrices. `a` has its rows one after another, `b` its columns; each of them has
/// `slabs` slabs. The rows of `c` follow one another, and the grid counts its tiles, first along a
/// row. Only blocks with 0 as their number in the third dimension compute.
pub fn multiply<S: Simt>(
    s: S,
    a: S::Global<U32x4>,
    b: S::Global<U32x4>,
    c: S::Global<i32>,
    _: Batch,
    slabs: u32,
) {
    let ([x, y, z], [blocks, ..]) = (s.block_in_grid(), s.grid());
    if z != 0 {
        return;
    }
    // Each thread copies one vector of every 32nd row.
    let row = ROW * slabs;
    let (line, part) = (s.thread() / ROW, s.thread() % ROW);
    let (from_a, from_b) = ((TILE * y + line) * row + part, (TILE * x + line) * row + part);
    let copy = |slab: u32| {
        if slab < slabs {
            let to = slab % STAGES * 2 * FACTOR + 16 * s.thread();
            for k in 0..TILE * ROW / THREADS {
                let (from, to) = (THREADS / ROW * k * row + ROW * slab, to + 16 * THREADS * k);
                s.copy_to_shared(a, from_a + from, to);
                s.copy_to_shared(b, from_b + from, to + FACTOR);
            }
        }
        s.commit_copies();
    };
    for slab in 0..STAGES - 1 {
        copy(slab);
    }
    let (i, j) = (s.lane() / 4, s.lane() % 4);
    let (warp_row, warp_column) = (64 * (s.warp() / 2), 64 * (s.warp() % 2));
    let mut sums = [[[0; 4]; COLUMNS]; ROWS];
    for slab in 0..slabs {
        s.wait_for_copies::<{ STAGES - 2 }>();
        s.sync_block();
        // Every thread has read the slab that these copies replace.
        copy(slab + STAGES - 1);
        // A thread takes 16 bytes in a row, where the product of two slabs of 32 bytes takes four
        // pieces of 4 bytes. Both factors take the same ones, so their sum of products is the same.
        let stage = slab % STAGES * 2 * FACTOR + 16 * j;
        let vector =
            |line: u32| -> [u32; 4] { s.load_shared::<U32x4>(stage + SLAB * (line + i)).0 };
        let columns: [[u32; 4]; COLUMNS] =
            array::from_fn(|n| vector(TILE + warp_column + 8 * n as u32));
        for (m, sums) in (0..).zip(&mut sums) {
            let line = warp_row + 16 * m;
            let (low, high) = (vector(line), vector(line + 8));
            for (sum, column) in sums.iter_mut().zip(&columns) {
                for k in [0, 2] {
                    let row = [low[k], high[k], low[k + 1], high[k + 1]];
                    *sum = s.mma_m16n8k32(row, [column[k], column[k + 1]], *sum);
                }
            }
        }
    }
    // Two neighbouring numbers at once.
    let c = s.cast::<i32, u64>(c);
    for (m, sums) in (0..).zip(&sums) {
        for (n, sum) in (0..).zip(sums) {
            let [c0, c1, c2, c3] = sum.map(|sum| u64::from(sum as u32));
            let line = TILE * y + warp_row + 16 * m + i;
            let pair = (TILE * x + warp_column + 8 * n) / 2 + j;
            s.store(c, TILE / 2 * blocks * line + pair, c0 | c1 << 32);
            s.store(c, TILE / 2 * blocks * (line + 8) + pair, c2 | c3 << 32);
        }
    }
}

/// Returns the numbers of rows of `c`, of columns of `c`, and of vectors in each row of `a`.
fn sizes(extent: Extent<'_>) -> [u64; 3] {
    let slabs = extent.scalars.first().and_then(|slabs| slabs.get::<u32>()).unwrap_or(0);
    let [columns, rows, _] = extent.grid.map(u64::from);
    [u64::from(TILE) * rows, u64::from(TILE) * columns, u64::from(ROW) * u64::from(slabs)]
}

/// Returns the number of vectors of `a`.
pub fn vectors_of_a(extent: Extent<'_>) -> u64 {
    let [rows, _, vectors] = sizes(extent);
    rows.saturating_mul(vectors)
}

/// Returns the number of vectors of `b`.
pub fn vectors_of_b(extent: Extent<'_>) -> u64 {
    let [_, columns, vectors] = sizes(extent);
    columns.saturating_mul(vectors)
}

/// Returns the number of elements of `c`.
pub fn numbers_of_c(extent: Extent<'_>) -> u64 {
    let [rows, columns, _] = sizes(extent);
    rows.saturating_mul(columns)
}
