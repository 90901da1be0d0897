//! Samples small polynomials from coins.

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_kernels::kernels::scheme::sample::each_coefficient;
pub use ctru_gpu_kernels::kernels::scheme::sample::shape;
use ctru_gpu_kernels::simt::Simt;
use ctru_math::Ring;

/// Samples small polynomials as [`ctru_math::sample::sample`] does.
///
/// Threads: one warp per polynomial. The threads share the coefficients.
/// Arrays: `coins`; `small`, signed bytes in `-eta..=eta`.
#[inline(always)]
pub fn sample<S: Simt, R: Ring>(s: S, coins: S::Global<u64>, small: S::Global<u8>, _: Batch) {
    each_coefficient::<S, R>(s, coins, small, |_, coefficient| coefficient);
}
