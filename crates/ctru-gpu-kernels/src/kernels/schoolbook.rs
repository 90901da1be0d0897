//! Products in the ring by the schoolbook method on tensor cores, one block a product, every operand different.
//!
//! The general form of the CTRU-Prime paper, Algorithm 7: the matrix of one operand (initMA), the other one as the first column
//! of a matrix whose other columns are zero (initMB), their product by bytes, tiles to warps, and the sum of the bytes'
//! products, reduced (Merge). A matrix is spent on a vector: this is here to be compared with other methods. Different from the
//! paper, the matrix is laid out by its diagonals, in shared memory.

use ctru_math::Ring;

use super::polyphase::operand::small_block;
use super::polyphase::{modulo_q, positive, store_row};
use super::toeplitz::{self, MatrixProduct};
use super::{row, warp};
use crate::kernel::{Batch, Shape};
use crate::simt::Simt;

type Product<S, R> = MatrixProduct<S, R, 2, 1, 1>;

/// A block of four warps a product.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Product::<(), R>::shape(1, 0)
}

/// `product = large * small` in `R_q`, for `large` in `0..q`, one a key, and any small polynomial: the arrays of
/// [`product::multiply_sampled`](super::product::multiply_sampled).
#[inline(always)]
pub fn multiply_small<S: Simt, R: Ring>(
    s: S,
    large: S::Global<u16>,
    small: S::Global<u8>,
    product: S::Global<u16>,
    batch: Batch,
) {
    let operation = s.block();
    let operands = Operands { large, large_row: batch.key(operation), small, small_row: operation };
    multiply::<S, R>(
        s,
        operands,
        toeplitz::split_modulo_q::<R>,
        positive::<R>(),
        modulo_q::<R>,
        product,
    );
}

/// `product = large * small` modulo `q2`, for `large` in `0..q2` and any small polynomial, one a key: the arrays of
/// [`product::multiply_rounded`](super::product::multiply_rounded).
#[inline(always)]
pub fn multiply_rounded<S: Simt, R: Ring>(
    s: S,
    large: S::Global<u16>,
    small: S::Global<u8>,
    product: S::Global<u16>,
    batch: Batch,
) {
    let operation = s.block();
    let operands = Operands { large, large_row: operation, small, small_row: batch.key(operation) };
    let split = |entry| toeplitz::split(entry as u32);
    multiply::<S, R>(s, operands, split, 0, toeplitz::modulo_q2::<R>, product);
}

/// Two arrays and the row of each that is meant.
struct Operands<S: Simt> {
    large: S::Global<u16>,
    large_row: u32,
    small: S::Global<u8>,
    small_row: u32,
}

/// Stores as the block's product what `residue` makes of the sums, all greater by `128 offset`. `split` gives the bytes of an entry
/// of the matrix.
#[inline(always)]
fn multiply<S: Simt, R: Ring>(
    s: S,
    operands: Operands<S>,
    split: impl Fn(i32) -> [u32; 2],
    offset: i32,
    residue: impl Fn(i32) -> u16,
    product: S::Global<u16>,
) {
    let Operands { large, large_row, small, small_row } = operands;
    let matrix_product = Product::<S, R>::new(s);
    matrix_product.stage_matrix(|i| i32::from(s.load(large, row::<R>() * large_row + i)), split);
    matrix_product.stage_operands(|column, block| {
        let bytes = small_block::<S, R>(s, small, small_row, block);
        [bytes.map(|word| if column == 0 { word } else { 0 })]
    });
    matrix_product.multiply(offset, residue, |number, tile| {
        let group = toeplitz::group(s, number);
        tile.for_each_column(s, |column, coefficients| {
            if column == 0 && group < warp::groups(R::N) {
                store_row::<S, R>(s, product, s.block(), group, coefficients);
            }
        });
    });
}
