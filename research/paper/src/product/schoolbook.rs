//! Products in the ring by the schoolbook method on tensor cores, one block per product. All
//! operands may differ.
//!
//! This is the general form of the paper's method. It builds the matrix of one operand (initMA).
//! The other operand is the first column of a second matrix, whose other columns are zero (initMB).
//! The warps multiply tiles of the two matrices, separately for each byte of the coefficients, and
//! then sum and reduce the products (Merge). The method computes a product of matrices where a
//! product of a matrix and a vector suffices; it serves only for comparison. Unlike the paper, this
//! kernel keeps the matrix in shared memory and stores only its diagonals.
//!
//! Source: CTRU-Prime paper, Algorithm 7.

use ctru_math::Ring;

use ctru_gpu_kernels::descriptor::{Batch, Shape};
use ctru_gpu_kernels::kernels::product::operand::small_block;
use ctru_gpu_kernels::kernels::product::toeplitz::{self, MatrixProduct};
use ctru_gpu_kernels::kernels::product::{product_modulo_q, store_row};
use ctru_gpu_kernels::kernels::{row, warp};
use ctru_gpu_kernels::simt::Simt;

type Product<S, R> = MatrixProduct<S, R, 2, 1, 1>;

/// Returns the block shape: one product per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Product::<(), R>::shape(1, 0)
}

/// Computes `product = large * small` in `R_q`.
///
/// Threads: four warps per product, eight for `n = 1277`.
/// Shared memory: the matrix of `large` and the eight columns of the second matrix; later, in their
/// place, the product.
/// Arrays: `large`, in `0..q`, one row per operation or one shared row; `small`, any small
/// polynomials as signed bytes; `product`, in `0..q`.
/// Source: CTRU-Prime paper, Algorithm 7.
#[inline(always)]
pub fn multiply_small<S: Simt, R: Ring>(
    s: S,
    large: S::Global<u16>,
    small: S::Global<u8>,
    product: S::Global<u16>,
    batch: Batch,
) {
    let operation = s.block();
    let large_row = batch.row(operation);
    let matrix_product = Product::<S, R>::new(s);
    matrix_product.stage_matrix(
        |i| i32::from(s.load(large, row::<R>() * large_row + i)),
        toeplitz::split_modulo_q::<R>,
    );
    matrix_product.stage_operands(|column, block| {
        let bytes = small_block::<S, R>(s, small, operation, block);
        [bytes.map(|word| if column == 0 { word } else { 0 })]
    });
    matrix_product.multiply(product_modulo_q::<R>);
    if warp::number(s) == 0 {
        warp::for_each(s, warp::groups(R::N), |group| {
            store_row::<S, R>(s, product, operation, group, matrix_product.group(0, group));
        });
    }
}
