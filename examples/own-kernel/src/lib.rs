//! Three kernels: a histogram with atomic additions, a scan over many blocks, and a matrix product
//! on tensor cores.
#![no_std]

pub mod product;
pub mod scan;

use ctru_simt::descriptor::{Batch, Rows, Shape};
use ctru_simt::ptx::Module;
use ctru_simt::simt::{Simt, U32x4, Update};

use self::product::{multiply, numbers_of_c, vectors_of_a, vectors_of_b};
use self::scan::scan;

/// The compiled kernels.
pub static MODULE: Module = Module::new(include_str!("../ptx/own_kernel.ptx"));

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

use Rows::{EachOperation, InWholeBlocks, Of, One};

ctru_simt::kernels! {
    in MODULE:
    /// [`histogram`]: one operation per byte.
    pub unsafe HISTOGRAM "histogram" = histogram(
        bytes: u8[EachOperation; 1], counts: u32[One; 256]) in Shape::new(256, 256, 1024);
    /// [`scan`](scan::scan): one operation per number. The arrays have whole tiles.
    pub unsafe SCAN "scan" = scan(
        numbers: U32x4[InWholeBlocks(4); 1], sums: U32x4[InWholeBlocks(4); 1],
        states: u64[InWholeBlocks(scan::TILE); 1])
        in Shape::new(scan::THREADS, scan::TILE, 4 * scan::THREADS / 32);
    /// [`multiply`]: one operation per column of `c`, and one block of the second dimension of the
    /// grid per tile of its rows.
    pub unsafe MULTIPLY "multiply" = multiply(
        a: U32x4[Of(vectors_of_a); 1], b: U32x4[Of(vectors_of_b); 1],
        c: i32[Of(numbers_of_c); 1] as u64; slabs: u32)
        in Shape::new(product::THREADS, product::TILE, product::SHARED).in_planes();
}
