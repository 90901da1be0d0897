//! Products of two elements of `R_q` with many blocks per product, for few products. The kernels
//! that use one warp per product leave most of the GPU idle then.
//!
//! A block computes 32 rows of the product of a matrix and a vector. The matrix is that of the left
//! factor, in the form that the module `toeplitz` describes: its entry in row `i` and column `k`
//! depends on `i - k`. Each warp multiplies 64 columns, and each of its threads one row.

use core::marker::PhantomData;

use ctru_math::Ring;
use ctru_math::kernel::modular::centre;

use super::modulo_q;
use super::toeplitz::entry;
use crate::descriptor::{Batch, Shape};
use crate::kernels::row;
use crate::simt::{Simt, U32x4, WARP};

/// Number of columns of the matrix that a warp multiplies.
const COLUMNS: u32 = 64;

/// The sizes of a product, and the layout of shared memory.
struct Geometry<R>(PhantomData<R>);

impl<R: Ring> Geometry<R> {
    /// Number of blocks that cover the rows `1..=n`.
    const BLOCKS: u32 = (R::N as u32).div_ceil(WARP);
    const WARPS: u32 = (R::N as u32).div_ceil(COLUMNS);
    /// Number of columns, with the zero columns after column `n - 1`.
    const WIDTH: u32 = COLUMNS * Self::WARPS;

    /// Number of diagonals on which the block's entries lie. Shared memory begins with the
    /// diagonals. The first of them holds the entry of the first row and the last column.
    const DIAGONALS: u32 = Self::WIDTH + WARP - 1;
    /// Address of the right factor.
    const RIGHT: u32 = 4 * (Self::WIDTH + WARP);
    /// Address of the residues that the warps compute.
    const RESIDUES: u32 = Self::RIGHT + 4 * Self::WIDTH;
    const END: u32 = Self::RESIDUES + 4 * WARP * Self::WARPS;

    /// A multiple of `q` that is at least the absolute value of every sum of a thread. Coefficients
    /// are at most `(q - 1) / 2` in absolute value.
    const OFFSET: i32 = {
        let largest = COLUMNS * (R::Q / 2).pow(2);
        let offset = largest.next_multiple_of(R::Q);
        assert!(largest as u64 + (offset as u64) < 1 << 31);
        offset as i32
    };
}

/// Returns the number of operations that compute one product. An operation computes 32 of its
/// coefficients.
#[must_use]
pub const fn operations<R: Ring>() -> u32 {
    Geometry::<R>::BLOCKS
}

/// Returns the block shape: one operation per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Shape::new(WARP * Geometry::<R>::WARPS, 1, Geometry::<R>::END)
}

/// Multiplies pairs of elements of `R_q`. A batch has [`operations`] operations per product.
///
/// Cost: `n^2` products per pair.
/// Threads: one warp per 64 coefficients of the right factor.
/// Shared memory: the diagonals of the left factor's matrix, the right factor, and the parts of the
/// result that the warps compute.
/// Arrays: `pairs`, in `0..q`: the rows `2 e` and `2 e + 1` are the factors of product `e`;
/// `products`, in `0..q`.
/// Source: CTRU-Prime paper, equation (4).
#[inline(always)]
pub fn multiply_pairs<S: Simt, R: Ring>(
    s: S,
    pairs: S::Global<u16>,
    products: S::Global<u16>,
    _: Batch,
) {
    let n = R::N as u32;
    let product = s.block() / Geometry::<R>::BLOCKS;
    let first_row = 1 + WARP * (s.block() % Geometry::<R>::BLOCKS);
    let left = 2 * row::<R>() * product;
    let right = left + row::<R>();

    let mut k = s.thread();
    while k < Geometry::<R>::DIAGONALS {
        let diagonal = (first_row + k) as i32 - (Geometry::<R>::WIDTH as i32 - 1);
        let sum = entry::<R>(diagonal, |i| i32::from(s.load(pairs, left + i))) as u32;
        let residue = sum.min(sum.wrapping_sub(R::Q));
        s.store_shared(4 * k, centre(residue as i32, R::Q) as u32);
        k += s.threads();
    }
    let mut k = s.thread();
    while k < Geometry::<R>::WIDTH {
        let c = if k < n { centre(s.load(pairs, right + k), R::Q) } else { 0 };
        s.store_shared(Geometry::<R>::RIGHT + 4 * k, c as u32);
        k += s.threads();
    }
    s.sync_block();

    let first_column = COLUMNS * s.warp();
    let mut sum = Geometry::<R>::OFFSET;
    for k in (0..COLUMNS).step_by(4) {
        let column = first_column + k;
        let U32x4(factors) = s.load_shared(Geometry::<R>::RIGHT + 4 * column);
        for (m, &factor) in factors.iter().enumerate() {
            let diagonal = Geometry::<R>::WIDTH - 1 + s.lane() - (column + m as u32);
            sum += s.load_shared::<u32>(4 * diagonal) as i32 * factor as i32;
        }
    }
    let residue = |warp: u32| Geometry::<R>::RESIDUES + 4 * (WARP * warp + s.lane());
    s.store_shared(residue(s.warp()), u32::from(modulo_q::<R>(sum)));
    s.sync_block();
    // Row n of the matrix equals row 0.
    let number = first_row + s.lane();
    if s.warp() == 0 && number <= n {
        let sum: u32 = (0..Geometry::<R>::WARPS).map(|k| s.load_shared::<u32>(residue(k))).sum();
        let coefficient = if number == n { 0 } else { number };
        s.store(products, row::<R>() * product + coefficient, modulo_q::<R>(sum as i32));
    }
}
