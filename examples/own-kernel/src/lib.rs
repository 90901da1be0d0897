//! Three kernels: a histogram with atomic additions, a scan, and a matrix product on tensor cores.
#![no_std]

use ctru_simt::descriptor::{Batch, Extent, Rows, Shape};
use ctru_simt::ptx::Module;
use ctru_simt::simt::{Simt, Update, WARP};

/// The compiled kernels.
pub static MODULE: Module = Module::new(include_str!("../ptx/own_kernel.ptx"));

/// Threads per block of [`histogram`] and [`scan`].
pub const THREADS: u32 = 256;

/// Counts bytes, one per thread: first per block in shared memory, then in `counts`.
pub fn histogram<S: Simt>(s: S, bytes: S::Global<u8>, counts: S::Global<u32>, batch: Batch) {
    let (i, own) = (s.block() * s.threads() + s.thread(), s.thread());
    s.store_shared(4 * own, 0u32);
    s.sync_block();
    if i < batch.operations() {
        s.atomic_shared(4 * u32::from(s.load(bytes, i)), Update::Add(1u32));
    }
    s.sync_block();
    s.atomic(counts, own, Update::Add(s.load_shared(4 * own)));
}

/// Writes, for each number of a block's part of `numbers`, the sum of the part up to this number.
pub fn scan<S: Simt>(s: S, numbers: S::Global<u32>, sums: S::Global<u32>, _: Batch) {
    let i = s.block() * s.threads() + s.thread();
    let mut sum = s.load(numbers, i);
    for distance in [1, 2, 4, 8, 16] {
        let before = s.shuffle(sum, s.lane().wrapping_sub(distance) % WARP);
        if s.lane() >= distance {
            sum = sum.wrapping_add(before);
        }
    }
    if s.lane() == WARP - 1 {
        s.store_shared(4 * s.warp(), sum);
    }
    s.sync_block();
    for warp in 0..s.warp() {
        sum = sum.wrapping_add(s.load_shared(4 * warp));
    }
    s.store(sums, i, sum);
}

/// Multiplies matrices of numbers in bfloat16, two per word. `a` has its rows one after another,
/// `b` its columns; each of them has `steps` times 16 numbers. A block computes 16 rows of 8
/// numbers of `c`. The grid counts these tiles, first along a row of `c`. Only blocks
/// with 0 as their number in the third dimension compute.
pub fn multiply<S: Simt>(
    s: S,
    a: S::Global<u32>,
    b: S::Global<u32>,
    c: S::Global<f32>,
    _: Batch,
    steps: u32,
) {
    let ([x, y, z], [columns, ..]) = (s.block_in_grid(), s.grid());
    if z != 0 {
        return;
    }
    let (i, j) = (s.lane() / 4, s.lane() % 4);
    let mut sum = [0.0; 4];
    for step in 0..steps {
        let a = |row, word| s.load(a, 8 * ((16 * y + row) * steps + step) + word);
        let b = |word| s.load(b, 8 * ((8 * x + i) * steps + step) + word);
        let rows = [a(i, j), a(i + 8, j), a(i, 4 + j), a(i + 8, 4 + j)];
        sum = s.mma_m16n8k16_bf16(rows, [b(j), b(4 + j)], sum);
    }
    for (k, element) in (0..).zip(sum) {
        let (row, column) = (16 * y + i + 8 * (k / 2), 8 * x + 2 * j + k % 2);
        s.store(c, 8 * columns * row + column, element);
    }
}

/// Returns the numbers of rows of `c`, of columns of `c`, and of words in each row of `a`.
fn sizes(extent: Extent<'_>) -> [u64; 3] {
    let steps = extent.scalars.first().and_then(|steps| steps.get::<u32>()).unwrap_or(0);
    let [columns, rows, _] = extent.grid.map(u64::from);
    [16 * rows, 8 * columns, 8 * u64::from(steps)]
}

fn words_of_a(extent: Extent<'_>) -> u64 {
    let [rows, _, words] = sizes(extent);
    rows.saturating_mul(words)
}

fn words_of_b(extent: Extent<'_>) -> u64 {
    let [_, columns, words] = sizes(extent);
    columns.saturating_mul(words)
}

fn numbers_of_c(extent: Extent<'_>) -> u64 {
    let [rows, columns, _] = sizes(extent);
    rows.saturating_mul(columns)
}

use Rows::{EachOperation, InWholeBlocks, Of, One};

ctru_simt::kernels! {
    in MODULE:
    /// [`histogram`]: one operation per byte.
    pub unsafe HISTOGRAM "histogram" = histogram(
        bytes: u8[EachOperation; 1], counts: u32[One; 256]) in Shape::new(THREADS, THREADS, 1024);
    /// [`scan`]: one operation per number.
    pub unsafe SCAN "scan" = scan(
        numbers: u32[InWholeBlocks(1); 1], sums: u32[InWholeBlocks(1); 1])
        in Shape::new(THREADS, THREADS, 4 * THREADS / WARP);
    /// [`multiply`]: one operation per column of `c`, and one block of the second dimension of the
    /// grid per 16 rows.
    pub unsafe MULTIPLY "multiply" = multiply(
        a: u32[Of(words_of_a); 1], b: u32[Of(words_of_b); 1], c: f32[Of(numbers_of_c); 1];
        steps: u32) in Shape::new(WARP, 8, 0).in_planes();
}
