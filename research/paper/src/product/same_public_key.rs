//! The product of one element of `R_q` by many small polynomials without other steps. The engine
//! launches this product only as a part of encryption.

use ctru_math::Ring;

pub use ctru_gpu_kernels::kernels::scheme::same_public_key::shape;

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_kernels::kernels::product::operand::small_block;
use ctru_gpu_kernels::kernels::product::{product_modulo_q, store_row};
use ctru_gpu_kernels::kernels::scheme::same_public_key;
use ctru_gpu_kernels::kernels::warp;
use ctru_gpu_kernels::simt::Simt;

/// Computes `product = large * small` in `R_q`. All operations share `large`.
///
/// Threads: four warps per 16 operations, eight for `n = 1277`.
/// Shared memory: the matrix of `large` and the operands; later, in their place, the product.
/// Arrays: `large`, one row, in `0..q`; `small`, any small polynomials as signed bytes; `product`,
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
    let products =
        same_public_key::multiply::<S, R>(s, large, source, batch, product_modulo_q::<R>);
    products.for_each_operation(batch, |column, operation| {
        warp::for_each(s, warp::groups(R::N), |group| {
            store_row::<S, R>(s, product, operation, group, products.group(column, group));
        });
    });
}
