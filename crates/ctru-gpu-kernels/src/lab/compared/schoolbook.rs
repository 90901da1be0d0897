//! Products in the ring by the schoolbook method on tensor cores, one block a product, every operand different.
//!
//! The general form of the CTRU-Prime paper, Algorithm 7: the matrix of one operand (initMA), the other one as the first column
//! of a matrix whose other columns are zero (initMB), their product by bytes, tiles to warps, and the sum of the bytes'
//! products, reduced (Merge). A matrix is spent on a vector: this is here to be compared with other methods. Different from the
//! paper, the matrix is laid out by its diagonals, in shared memory.

use ctru_math::Ring;

use crate::descriptor::{Batch, Shape};
use crate::kernels::product::operand::small_block;
use crate::kernels::product::toeplitz::{self, MatrixProduct};
use crate::kernels::product::{modulo_q, positive, store_row};
use crate::kernels::{row, warp};
use crate::simt::Simt;

type Product<S, R> = MatrixProduct<S, R, 2, 1, 1>;

/// A block of four warps a product.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Product::<(), R>::shape(1, 0)
}

/// `product = large * small` in `R_q`, for `large` in `0..q`, one a key, and any small polynomial: the arrays of
/// [`product::multiply_sampled`](crate::kernels::product::ntt::multiply_sampled).
#[inline(always)]
pub fn multiply_small<S: Simt, R: Ring>(
    s: S,
    large: S::Global<u16>,
    small: S::Global<u8>,
    product: S::Global<u16>,
    batch: Batch,
) {
    let operation = s.block();
    let first = row::<R>() * batch.row(operation);
    let matrix_product = Product::<S, R>::new(s);
    matrix_product
        .stage_matrix(|i| i32::from(s.load(large, first + i)), toeplitz::split_modulo_q::<R>);
    matrix_product.stage_operands(|column, block| {
        let bytes = small_block::<S, R>(s, small, operation, block);
        [bytes.map(|word| if column == 0 { word } else { 0 })]
    });
    matrix_product.multiply(positive::<R>(), modulo_q::<R>, |number, tile| {
        let group = toeplitz::group(s, number);
        tile.for_each_column(s, |column, coefficients| {
            if column == 0 && group < warp::groups(R::N) {
                store_row::<S, R>(s, product, operation, group, coefficients);
            }
        });
    });
}
