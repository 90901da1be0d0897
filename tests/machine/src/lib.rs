//! Kernels for tests alone: they use most methods of [`Simt`].
//! Their tests run on the emulator and on a GPU.
//!
//! `cargo xtask build-ptx` compiles this crate to `ptx/ctru_machine.ptx`.
#![no_std]

pub mod faults;

use ctru_simt::descriptor::{Batch, Extent, Rows, Shape};
use ctru_simt::ptx::Module;
use ctru_simt::simt::{AtomicFloat, AtomicInteger, Copyable, Simt, U32x4, Update, WARP, Word};

/// The module of these kernels.
pub static MODULE: Module = Module::new(include_str!("../ptx/ctru_machine.ptx"));

/// Threads per block.
pub const THREADS: u32 = 128;
/// The number of elements that [`updates`] and [`sums`] change in each memory.
pub const TARGETS: u32 = 5;

/// Returns the number of this thread in the first dimension of the grid.
#[inline(always)]
fn thread_in_launch<S: Simt>(s: S) -> u32 {
    s.block() * s.threads() + s.thread()
}

/// Writes the elements of each block in reverse order, through shared memory.
#[inline(always)]
pub fn reverse<S: Simt, T: Word>(s: S, from: S::Global<T>, to: S::Global<T>, _: Batch) {
    let i = thread_in_launch(s);
    s.store_shared(T::BYTES * s.thread(), s.load(from, i));
    s.sync_block();
    let element: T = s.load_shared(T::BYTES * (s.threads() - 1 - s.thread()));
    s.store(to, i, element);
}

/// Does the same by asynchronous copies in two groups, of the even and of the odd threads.
#[inline(always)]
pub fn reverse_copies<S: Simt, T: Copyable>(s: S, from: S::Global<T>, to: S::Global<T>, _: Batch) {
    let (i, place) = (thread_in_launch(s), T::BYTES * s.thread());
    for parity in 0..2 {
        if s.thread() % 2 == parity {
            s.copy_to_shared(from, i, place);
        }
        s.commit_copies();
    }
    s.wait_for_copies::<1>();
    if s.thread().is_multiple_of(2) {
        // The first group is finished, so its thread may already read it.
        let element: T = s.load_shared(place);
        s.store_shared(place, element);
    }
    s.wait_for_copies::<0>();
    s.sync_block();
    let element: T = s.load_shared(T::BYTES * (s.threads() - 1 - s.thread()));
    s.store(to, i, element);
}

/// Counts bytes: first per block in shared memory, then in the array.
#[inline(always)]
pub fn histogram<S: Simt>(s: S, bytes: S::Global<u8>, counts: S::Global<u32>, batch: Batch) {
    let mut bin = s.thread();
    while bin < 256 {
        s.store_shared(4 * bin, 0u32);
        bin += s.threads();
    }
    s.sync_block();
    let i = thread_in_launch(s);
    if i < batch.operations() {
        s.atomic_shared(4 * u32::from(s.load(bytes, i)), Update::Add(1u32));
    }
    s.sync_block();
    let mut bin = s.thread();
    while bin < 256 {
        let count: u32 = s.load_shared(4 * bin);
        if count != 0 {
            s.atomic(counts, bin, Update::Add(count));
        }
        bin += s.threads();
    }
}

/// Updates [`TARGETS`] elements by each thread's value: sum, minimum, maximum, exchange, and a
/// count by compare-exchange. Does it with `all`, and with a copy of `start` in each block's shared
/// memory, which is written to `of_block`. Writes what the exchanges have returned to `exchanged`,
/// in global memory first.
#[inline(always)]
pub fn updates<S: Simt, T: AtomicInteger>(
    s: S,
    values: S::Global<T>,
    start: S::Global<T>,
    all: S::Global<T>,
    of_block: S::Global<T>,
    exchanged: S::Global<T>,
    _: Batch,
) {
    let (i, own) = (thread_in_launch(s), s.thread());
    if own < TARGETS {
        let element: T = s.load(start, own);
        s.store_shared(T::BYTES * own, element);
    }
    s.sync_block();
    let value = s.load(values, i);
    for update in [Update::Add(value), Update::Min(value), Update::Max(value)] {
        let place = match update {
            Update::Add(_) => 0,
            Update::Min(_) => 1,
            _ => 2,
        };
        s.atomic(all, place, update);
        s.atomic_shared(T::BYTES * place, update);
    }
    let old = s.atomic(all, 3, Update::Exchange(value));
    s.store(exchanged, 2 * i, old);
    let old = s.atomic_shared(T::BYTES * 3, Update::Exchange(value));
    s.store(exchanged, 2 * i + 1, old);
    count_up(|update: Update<T>| s.atomic(all, 4, update));
    count_up(|update: Update<T>| s.atomic_shared(T::BYTES * 4, update));
    s.sync_block();
    if own < TARGETS {
        let element: T = s.load_shared(T::BYTES * own);
        s.store(of_block, TARGETS * s.block() + own, element);
    }
}

/// Adds one to an element by compare-exchange.
#[inline(always)]
fn count_up<T: AtomicInteger>(update: impl Fn(Update<T>) -> T) {
    let mut expected = T::default();
    loop {
        let new = expected.plus(T::from_bits(1));
        let old = update(Update::CompareExchange { expected, new });
        if old == expected {
            break;
        }
        expected = old;
    }
}

/// Adds all values to `total[0]`, and those of each block to `of_block`.
#[inline(always)]
pub fn sums<S: Simt, T: AtomicFloat>(
    s: S,
    values: S::Global<T>,
    total: S::Global<T>,
    of_block: S::Global<T>,
    _: Batch,
) {
    let value = s.load(values, thread_in_launch(s));
    if s.thread() == 0 {
        s.store_shared(0, T::default());
    }
    s.sync_block();
    s.atomic_add_float(total, 0, value);
    s.atomic_add_float_shared(0, value);
    s.sync_block();
    if s.thread() == 0 {
        let sum: T = s.load_shared(0);
        s.store(of_block, s.block(), sum);
    }
}

/// Counts the blocks in `turn[0]`. Each waits until those before it are counted.
#[inline(always)]
pub fn turns<S: Simt, T: AtomicInteger>(s: S, turn: S::Global<T>, _: Batch) {
    if s.thread() == 0 {
        while s.atomic_load(turn, 0) != T::from_bits(s.block().into()) {}
        s.atomic(turn, 0, Update::Add(T::from_bits(1)));
    }
}

/// Writes the exclusive or of three words per thread, and four bytes of the first two of them that
/// the third one selects.
#[inline(always)]
pub fn instructions<S: Simt>(s: S, words: S::Global<u64>, results: S::Global<u64>, _: Batch) {
    let i = thread_in_launch(s);
    let [a, b, c] = [0, 1, 2].map(|k| s.load(words, 3 * i + k));
    let [a, b, c] = [a, b, c].map(|word| word as u32);
    s.store(results, 2 * i, s.xor(a, b, c).into());
    s.store(results, 2 * i + 1, s.byte_permute(a, b, c).into());
}

/// Writes four votes of each warp to four words per thread: the ballot of the odd values, whether
/// any and whether all of them are odd, and the lanes with the same value.
#[inline(always)]
pub fn votes<S: Simt>(s: S, values: S::Global<u32>, results: S::Global<u32>, _: Batch) {
    let i = thread_in_launch(s);
    let value = s.load(values, i);
    let is_odd = value % 2 == 1;
    let votes = [s.ballot(is_odd), s.any(is_odd).into(), s.all(is_odd).into(), s.lanes_with(value)];
    for (k, vote) in (0..).zip(votes) {
        s.store(results, 4 * i + k, vote);
    }
}

/// The thread's words of the factors of a matrix product: of `a`, 16 rows of 8 words, and of `b`,
/// 8 columns of 8 words.
#[inline(always)]
fn factors<S: Simt>(s: S, a: S::Global<u32>, b: S::Global<u32>) -> ([u32; 4], [u32; 2]) {
    let (i, j) = (s.lane() / 4, s.lane() % 4);
    let row = |row: u32, word: u32| s.load(a, 8 * row + word);
    (
        [row(i, j), row(i + 8, j), row(i, 4 + j), row(i + 8, 4 + j)],
        [s.load(b, 8 * i + j), s.load(b, 8 * i + 4 + j)],
    )
}

/// The places of the thread's elements of the sum, 16 rows of 8.
#[inline(always)]
fn places<S: Simt>(s: S) -> [u32; 4] {
    let (i, j) = (s.lane() / 4, s.lane() % 4);
    [8 * i + 2 * j, 8 * i + 2 * j + 1, 8 * (i + 8) + 2 * j, 8 * (i + 8) + 2 * j + 1]
}

macro_rules! product {
    ($name:ident $number:ty, $method:ident) => {
        /// Adds the product of two matrices to `sum`. The first block does it alone.
        #[inline(always)]
        pub fn $name<S: Simt>(
            s: S,
            a: S::Global<u32>,
            b: S::Global<u32>,
            sum: S::Global<$number>,
            _: Batch,
        ) {
            if s.block() != 0 {
                return;
            }
            let ((a, b), places) = (factors(s, a, b), places(s));
            let c = places.map(|place| s.load(sum, place));
            for (place, element) in places.into_iter().zip(s.$method(a, b, c)) {
                s.store(sum, place, element);
            }
        }
    };
}
product!(product_s8 i32, mma_m16n8k32);
product!(product_u8 i32, mma_m16n8k32_u8);
product!(product_bf16 f32, mma_m16n8k16_bf16);

macro_rules! product_of_halves {
    ($name:ident, $method:ident) => {
        /// Adds the product of two matrices to `sum` in two halves of the depth, and loads `b` as
        /// matrices from shared memory. The first block does it alone.
        #[inline(always)]
        pub fn $name<S: Simt>(
            s: S,
            a: S::Global<u32>,
            b: S::Global<u32>,
            sum: S::Global<i32>,
            _: Batch,
        ) {
            if s.block() != 0 {
                return;
            }
            for word in [s.lane(), WARP + s.lane()] {
                s.store_shared(4 * word, s.load(b, word));
            }
            s.sync_warp();
            // The halves of a column of `b` are rows of the matrices 0 and 1, and of 2 and 3 in
            // the opposite order of rows.
            let (matrix, row) = (s.lane() / 8, s.lane() % 8);
            let column = if matrix < 2 { row } else { 7 - row };
            let loaded = s.load_matrices(32 * column + 16 * (matrix % 2));
            let second = s.shuffle(loaded[3], 4 * (7 - s.lane() / 4) + s.lane() % 4);
            let ((a, _), places) = (factors(s, a, b), places(s));
            let c = places.map(|place| s.load(sum, place));
            let c = s.$method([a[0], a[1]], loaded[0], c);
            for (place, element) in places.into_iter().zip(s.$method([a[2], a[3]], second, c)) {
                s.store(sum, place, element);
            }
        }
    };
}
product_of_halves!(product_of_halves_s8, mma_m16n8k16);
product_of_halves!(product_of_halves_u8, mma_m16n8k16_u8);

/// Writes the bits of each scalar. The first block does it alone.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "it tests as many scalars as a kernel takes")]
pub fn scalars<S: Simt>(
    s: S,
    bits: S::Global<u64>,
    _: Batch,
    a: u8,
    b: i16,
    c: u32,
    d: i64,
    e: f32,
    f: f64,
    g: i8,
    h: u64,
) {
    if thread_in_launch(s) == 0 {
        let all = [
            a.to_bits(),
            b.to_bits(),
            c.to_bits(),
            d.to_bits(),
            Word::to_bits(e),
            Word::to_bits(f),
            g.to_bits(),
            h.to_bits(),
        ];
        for (i, number) in (0..).zip(all) {
            s.store(bits, i, number as u64);
        }
    }
}

/// Writes the number of each block in the three dimensions of the grid.
#[inline(always)]
pub fn block_numbers<S: Simt>(s: S, numbers: S::Global<u32>, _: Batch) {
    let ([x, y, z], [blocks_x, blocks_y, _]) = (s.block_in_grid(), s.grid());
    if s.thread() == 0 {
        let first = 3 * (x + blocks_x * (y + blocks_y * z));
        s.store(numbers, first, x);
        s.store(numbers, first + 1, y);
        s.store(numbers, first + 2, z);
    }
}

/// The number of blocks of a launch.
fn all_blocks(extent: Extent<'_>) -> u64 {
    extent.grid.into_iter().map(u64::from).product()
}

/// Transposes a matrix with `rows` rows and one column per operation. Each block has a tile of 32
/// columns and 32 rows. The second dimension of the grid counts the tiles of a column. Only blocks
/// with 0 as their number in the third dimension work.
#[inline(always)]
pub fn transpose<S: Simt>(s: S, from: S::Global<f64>, to: S::Global<f64>, batch: Batch, rows: u32) {
    let ([x, y, z], columns) = (s.block_in_grid(), batch.operations());
    if z != 0 {
        return;
    }
    // One word more per row, so that the threads of a warp access different banks.
    let place = |row: u32, column: u32| 8 * ((WARP + 1) * row + column);
    for k in 0..WARP {
        let (row, column) = (WARP * y + k, WARP * x + s.thread());
        if row < rows && column < columns {
            let element: f64 = s.load(from, row * columns + column);
            s.store_shared(place(k, s.thread()), element);
        }
    }
    s.sync_block();
    for k in 0..WARP {
        let (row, column) = (WARP * y + s.thread(), WARP * x + k);
        if row < rows && column < columns {
            let element: f64 = s.load_shared(place(s.thread(), k));
            s.store(to, column * rows + row, element);
        }
    }
}

/// The number of elements of a matrix that [`transpose`] transposes.
fn matrix(extent: Extent<'_>) -> u64 {
    let rows = extent.scalars.first().and_then(|rows| rows.get::<u32>());
    u64::from(extent.batch.operations()) * u64::from(rows.unwrap_or(0))
}

/// Multiplies `x` by a scalar and adds it to `y`.
#[inline(always)]
pub fn axpy<S: Simt>(s: S, x: S::Global<f32>, y: S::Global<f32>, batch: Batch, a: f32) {
    let i = thread_in_launch(s);
    if i < batch.operations() {
        s.store(y, i, a * s.load(x, i) + s.load(y, i));
    }
}

use Rows::{EachOperation, InWholeBlocks, Of, One};

/// The shape of kernels with one operation per thread and 16 bytes of shared memory per thread.
const SHAPE: Shape = Shape::new(THREADS, THREADS, 16 * THREADS);
/// The shape of the matrix products: one warp.
const ONE_WARP: Shape = Shape::new(WARP, 1, 0);

macro_rules! of_each_type {
    ($($type:ident $reverse:ident $reverse_text:literal;)*) => {
        ctru_simt::kernels! {
            in MODULE:
            $(
                /// [`reverse`] for this type.
                pub unsafe $reverse $reverse_text = reverse::<_, $type>(
                    from: $type[InWholeBlocks(1); 1], to: $type[InWholeBlocks(1); 1]) in SHAPE;
            )*
        }
    };
}
of_each_type! {
    u8 REVERSE_U8 "reverse_u8";
    u16 REVERSE_U16 "reverse_u16";
    u32 REVERSE_U32 "reverse_u32";
    u64 REVERSE_U64 "reverse_u64";
    i8 REVERSE_I8 "reverse_i8";
    i16 REVERSE_I16 "reverse_i16";
    i32 REVERSE_I32 "reverse_i32";
    i64 REVERSE_I64 "reverse_i64";
    f32 REVERSE_F32 "reverse_f32";
    f64 REVERSE_F64 "reverse_f64";
    U32x4 REVERSE_U32X4 "reverse_u32x4";
}

macro_rules! updates_of_each_type {
    ($($type:ident $updates:ident $text:literal;)*) => {
        ctru_simt::kernels! {
            in MODULE:
            $(
                /// [`updates`] for this type.
                pub unsafe $updates $text = updates::<_, $type>(
                    values: $type[InWholeBlocks(1); 1],
                    start: $type[One; TARGETS],
                    all: $type[One; TARGETS],
                    of_block: $type[InWholeBlocks(THREADS); TARGETS],
                    exchanged: $type[InWholeBlocks(1); 2]) in SHAPE;
            )*
        }
    };
}
updates_of_each_type! {
    u32 UPDATES_U32 "updates_u32";
    i32 UPDATES_I32 "updates_i32";
    u64 UPDATES_U64 "updates_u64";
    i64 UPDATES_I64 "updates_i64";
}

ctru_simt::kernels! {
    in MODULE:
    /// [`reverse_copies`] for elements of 4 bytes.
    pub unsafe REVERSE_COPIES_4 "reverse_copies_4" = reverse_copies::<_, f32>(
        from: f32[InWholeBlocks(1); 1], to: f32[InWholeBlocks(1); 1]) in SHAPE;
    /// [`reverse_copies`] for elements of 8 bytes.
    pub unsafe REVERSE_COPIES_8 "reverse_copies_8" = reverse_copies::<_, u64>(
        from: u64[InWholeBlocks(1); 1], to: u64[InWholeBlocks(1); 1]) in SHAPE;
    /// [`reverse_copies`] for elements of 16 bytes.
    pub unsafe REVERSE_COPIES_16 "reverse_copies_16" = reverse_copies::<_, U32x4>(
        from: U32x4[InWholeBlocks(1); 1], to: U32x4[InWholeBlocks(1); 1]) in SHAPE;
    /// [`histogram`]
    pub unsafe HISTOGRAM "histogram" = histogram(
        bytes: u8[EachOperation; 1], counts: u32[One; 256]) in Shape::new(THREADS, THREADS, 1024);
    /// [`sums`] of numbers of 32 bits.
    pub unsafe SUMS_F32 "sums_f32" = sums::<_, f32>(
        values: f32[InWholeBlocks(1); 1], total: f32[One; 1],
        of_block: f32[InWholeBlocks(THREADS); 1]) in SHAPE;
    /// [`sums`] of numbers of 64 bits.
    pub unsafe SUMS_F64 "sums_f64" = sums::<_, f64>(
        values: f64[InWholeBlocks(1); 1], total: f64[One; 1],
        of_block: f64[InWholeBlocks(THREADS); 1]) in SHAPE;
    /// [`turns`] counted in 32 bits.
    pub unsafe TURNS_U32 "turns_u32" = turns::<_, u32>(turn: u32[One; 1]) in SHAPE;
    /// [`turns`] counted in 64 bits.
    pub unsafe TURNS_I64 "turns_i64" = turns::<_, i64>(turn: i64[One; 1]) in SHAPE;
    /// [`instructions`]
    pub unsafe INSTRUCTIONS "instructions" = instructions(
        words: u64[InWholeBlocks(1); 3], results: u64[InWholeBlocks(1); 2]) in SHAPE;
    /// [`votes`]
    pub unsafe VOTES "votes" = votes(
        values: u32[InWholeBlocks(1); 1], results: u32[InWholeBlocks(1); 4]) in SHAPE;
    /// [`product_s8`]
    pub unsafe PRODUCT_S8 "product_s8" = product_s8(
        a: u32[One; 128], b: u32[One; 64], sum: i32[One; 128]) in ONE_WARP;
    /// [`product_u8`]
    pub unsafe PRODUCT_U8 "product_u8" = product_u8(
        a: u32[One; 128], b: u32[One; 64], sum: i32[One; 128]) in ONE_WARP;
    /// [`product_of_halves_s8`]
    pub unsafe PRODUCT_OF_HALVES_S8 "product_of_halves_s8" = product_of_halves_s8(
        a: u32[One; 128], b: u32[One; 64], sum: i32[One; 128]) in Shape::new(WARP, 1, 256);
    /// [`product_of_halves_u8`]
    pub unsafe PRODUCT_OF_HALVES_U8 "product_of_halves_u8" = product_of_halves_u8(
        a: u32[One; 128], b: u32[One; 64], sum: i32[One; 128]) in Shape::new(WARP, 1, 256);
    /// [`product_bf16`]
    pub unsafe PRODUCT_BF16 "product_bf16" = product_bf16(
        a: u32[One; 128], b: u32[One; 64], sum: f32[One; 128]) in ONE_WARP;
    /// [`scalars`]
    pub unsafe SCALARS "scalars" = scalars(
        bits: u64[One; 8]; a: u8, b: i16, c: u32, d: i64, e: f32, f: f64, g: i8, h: u64)
        in ONE_WARP;
    /// [`block_numbers`]
    pub unsafe NUMBERS "numbers" = block_numbers(numbers: u32[Of(all_blocks); 3])
        in Shape::new(WARP, 1, 0).in_planes();
    /// [`transpose`]. The caller chooses as many planes as there are tiles in a column; with fewer,
    /// the other rows stay as they are.
    pub unsafe TRANSPOSE "transpose" = transpose(
        from: f64[Of(matrix); 1], to: f64[Of(matrix); 1]; rows: u32)
        in Shape::new(WARP, WARP, 8 * WARP * (WARP + 1)).in_planes();
    /// [`axpy`]
    pub unsafe AXPY "axpy" = axpy(x: f32[EachOperation; 1], y: f32[EachOperation; 1]; a: f32)
        in SHAPE;
}
