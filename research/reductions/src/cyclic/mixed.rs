//! Two passes of different batches in one launch.
//!
//! [`columns`] wait for memory, and [`rows`] for the multiplier. A GPU starts the blocks of a
//! launch in order, so it runs the blocks of one pass after those of another. Here blocks of two
//! passes take turns, so that each multiprocessor has some of both kinds.

use research_arithmetic::reduce::{ReduceSum, Reducer};

use super::super::FactorWord;
use super::{columns, rows};
use ctru_simt::descriptor::{Batch, Shape};
use ctru_simt::simt::{Simt, Word};

/// Returns the block shape: `threads` threads, and shared memory for the blocks of each pass.
#[must_use]
pub const fn shape<const C: u32, const R: u32>(threads: u32) -> Shape {
    let (columns, rows) = (columns::shape::<C>(threads), rows::shape::<R>(threads));
    assert!(rows.threads() == threads, "a block must have whole rows");
    let shared = match columns.shared_bytes() > rows.shared_bytes() {
        true => columns.shared_bytes(),
        false => rows.shared_bytes(),
    };
    Shape::new(threads, threads, shared)
}

/// Transforms the columns of one batch, and multiplies the rows of another one with as many
/// products. One operation is the work of one thread; a product has a quarter of its coefficients.
///
/// Threads: one per operation.
/// Shared memory: as the pass of the block.
/// Arrays: `factors`, `polynomials` and `transforms` of [`columns::forward`]; `in_rows`, `inverse`,
/// `operands` and `products` of [`rows::multiply`].
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn forward_and_multiply<S: Simt, M: Reducer, P: ReduceSum, const C: u32, const R: u32>(
    s: S,
    factors: S::Global<FactorWord<M>>,
    polynomials: S::Global<u32>,
    transforms: S::Global<u32>,
    in_rows: S::Global<FactorWord<M>>,
    inverse: S::Global<FactorWord<M>>,
    operands: S::Global<u32>,
    products: S::Global<u32>,
    batch: Batch,
) where
    FactorWord<M>: Word,
{
    let block = s.block() / 2;
    if s.block().is_multiple_of(2) {
        columns::forward_block::<S, M, P, C, R>(s, block, factors, polynomials, transforms);
    } else {
        let operations = batch.operations() / 2;
        rows::multiply_block::<S, M, P, C, R>(
            s, block, operations, in_rows, inverse, operands, products,
        );
    }
}

/// Multiplies the rows of one batch, and inverts the columns of another one with as many products.
/// One operation is the work of one thread; three threads have 16 coefficients of a product.
///
/// Threads: one per operation.
/// Shared memory: as the pass of the block.
/// Arrays: `in_rows`, `inverse`, `operands` and `products` of [`rows::multiply`]; `in_columns` and
/// `results`, the factors and the polynomials of [`columns::inverse`].
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn multiply_and_inverse<S: Simt, M: Reducer, P: ReduceSum, const C: u32, const R: u32>(
    s: S,
    in_rows: S::Global<FactorWord<M>>,
    inverse: S::Global<FactorWord<M>>,
    operands: S::Global<u32>,
    products: S::Global<u32>,
    in_columns: S::Global<FactorWord<M>>,
    results: S::Global<u32>,
    batch: Batch,
) where
    FactorWord<M>: Word,
{
    let (group, turn) = (s.block() / 3, s.block() % 3);
    if turn == 2 {
        columns::inverse_block::<S, M, P, C, R>(s, group, in_columns, results);
    } else {
        let operations = batch.operations() / 3 * 2;
        rows::multiply_block::<S, M, P, C, R>(
            s,
            2 * group + turn,
            operations,
            in_rows,
            inverse,
            operands,
            products,
        );
    }
}
