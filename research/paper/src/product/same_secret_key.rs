//! The product of one small polynomial by many polynomials modulo `q2` without other steps. The
//! engine launches this product only as a part of decryption.

use ctru_math::Ring;

pub use ctru_gpu_kernels::kernels::scheme::same_secret_key::shape;

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_kernels::kernels::product::operand::large_block;
use ctru_gpu_kernels::kernels::product::store_row;
use ctru_gpu_kernels::kernels::scheme::same_secret_key;
use ctru_gpu_kernels::kernels::warp;
use ctru_gpu_kernels::simt::Simt;

/// Computes `product = large * small` modulo `q2`. All operations share `small`.
///
/// Threads: four warps per 16 operations, eight for `n = 1277`.
/// Shared memory: the matrix of `small` and the operands; later, in their place, the product.
/// Arrays: `large`, in `0..q2`; `small`, one row, any small polynomial as signed bytes; `product`,
/// in `0..q2`.
#[inline(always)]
pub fn multiply<S: Simt, R: Ring>(
    s: S,
    large: S::Global<u16>,
    small: S::Global<u8>,
    product: S::Global<u16>,
    batch: Batch,
) {
    let source = |operation, block| large_block::<S, R>(s, large, operation, block);
    let products = same_secret_key::multiply::<S, R>(s, small, source, batch);
    products.for_each_operation(batch, |column, operation| {
        warp::for_each(s, warp::groups(R::N), |group| {
            store_row::<S, R>(s, product, operation, group, products.group(column, group));
        });
    });
}
