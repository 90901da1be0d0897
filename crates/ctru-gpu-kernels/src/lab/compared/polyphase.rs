//! The polyphase product modulo `q2` without other steps. The engine launches this product only as
//! a part of decryption.

use ctru_math::Ring;

pub use crate::kernels::product::polyphase::shape;

use crate::descriptor::Batch;
use crate::kernels::product::operand::{large_block, small_block};
use crate::kernels::product::polyphase::Polyphase;
use crate::kernels::product::store_row;
use crate::kernels::warp;
use crate::simt::Simt;

/// Computes `product = large * small` modulo `q2`.
///
/// Threads: one warp per product.
/// Shared memory: first the operands, later the unreduced product in their place.
/// Arrays: `large`, in `0..q2`; `small`, any small polynomials as signed bytes, one row per
/// operation or one shared row; `product`, in `0..q2`.
/// Source: [`ctru_math::kernel::polyphase`].
#[inline(always)]
pub fn multiply_rounded<S: Simt, R: Ring>(
    s: S,
    large: S::Global<u16>,
    small: S::Global<u8>,
    product: S::Global<u16>,
    batch: Batch,
) {
    let operation = s.block();
    let polyphase = Polyphase::<S, R>::new(s);
    polyphase.stage_large(|block| large_block::<S, R>(s, large, operation, block));
    polyphase.stage_small(|block| small_block::<S, R>(s, small, batch.row(operation), block));
    polyphase.multiply();
    let rounded = |x: i32| (x as u32 & (R::Q2 - 1)) as u16;
    polyphase.for_each_row(|group, folded| {
        store_row::<S, R>(s, product, operation, group, warp::pairs(folded.map(rounded)));
    });
}
