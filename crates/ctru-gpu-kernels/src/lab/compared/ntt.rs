//! The product by the NTT, by each arithmetic of [`ctru_math::ntt`].

use ctru_math::ntt::{Folding, Multiplying, NttRing};

pub use crate::kernels::product::shape;

use crate::kernel::Batch;
use crate::kernels::product::multiply_sampled_by;
use crate::simt::Simt;

/// [`multiply_sampled`](crate::kernels::product::multiply_sampled) by [`Folding`].
#[inline(always)]
pub fn folding<S: Simt, R: NttRing<Folding>>(
    s: S,
    large: S::Global<u16>,
    small: S::Global<u8>,
    product: S::Global<u16>,
    batch: Batch,
) {
    multiply_sampled_by::<S, R, Folding>(s, large, small, product, batch);
}

/// [`multiply_sampled`](crate::kernels::product::multiply_sampled) by [`Multiplying`], as the engine
/// launches it.
#[inline(always)]
pub fn multiplying<S: Simt, R: NttRing<Multiplying>>(
    s: S,
    large: S::Global<u16>,
    small: S::Global<u8>,
    product: S::Global<u16>,
    batch: Batch,
) {
    multiply_sampled_by::<S, R, Multiplying>(s, large, small, product, batch);
}
