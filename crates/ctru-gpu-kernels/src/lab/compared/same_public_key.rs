//! The product of one element of `R_q` by small polynomials alone. The engine launches it as a part
//! of encryption.

use ctru_math::Ring;

pub use crate::kernels::scheme::same_public_key::shape;

use crate::descriptor::Batch;
use crate::kernels::product::operand::small_block;
use crate::kernels::product::store_row;
use crate::kernels::product::toeplitz;
use crate::kernels::scheme::same_public_key::for_each_tile;
use crate::kernels::warp;
use crate::simt::{Simt, WARP};

/// Computes `product = large * small` in `R_q` for one `large`.
///
/// Threads: four warps for 32 operations.
/// Shared memory: the matrix of `large`, and the operands.
/// Arrays: `large`, one row in `0..q`; `small`, signed bytes of any small polynomials; `product`,
/// in `0..q`.
#[inline(always)]
pub fn multiply<S: Simt, R: Ring>(
    s: S,
    large: S::Global<u16>,
    small: S::Global<u8>,
    product: S::Global<u16>,
    batch: Batch,
) {
    let source = |operation, block| small_block::<S, R>(s, small, operation, block);
    for_each_tile::<S, R>(s, large, source, batch, |number, tile| {
        let group = toeplitz::group(s, number);
        tile.for_each_column(s, |column, coefficients| {
            let operation = WARP * s.block() + column;
            if group < warp::groups(R::N) && operation < batch.operations() {
                store_row::<S, R>(s, product, operation, group, coefficients);
            }
        });
    });
}
