//! The polyphase products without other steps. The engine launches them only as parts of encryption
//! and decryption.

use ctru_math::Ring;

pub use ctru_gpu_kernels::kernels::product::polyphase::shape;

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_kernels::kernels::product::operand::{large_block, small_block};
use ctru_gpu_kernels::kernels::product::polyphase::Polyphase;
use ctru_gpu_kernels::kernels::product::store_row;
use ctru_gpu_kernels::kernels::warp;
use ctru_gpu_kernels::simt::Simt;

/// Computes `product = large * small` in `R_q`.
///
/// Threads: one warp per product.
/// Shared memory: first the operands, later the unreduced product in their place.
/// Arrays: `large`, in `0..q`, one row per operation or one shared row; `small`, any small
/// polynomials as signed bytes; `product`, in `0..q`.
/// Source: [`ctru_gpu_kernels::kernels::product::polyphase`].
#[inline(always)]
pub fn multiply_small<S: Simt, R: Ring>(
    s: S,
    large: S::Global<u16>,
    small: S::Global<u8>,
    product: S::Global<u16>,
    batch: Batch,
) {
    let operation = s.block();
    let polyphase = Polyphase::<S, R>::new(s);
    polyphase.stage_large(|block| large_block::<S, R>(s, large, batch.row(operation), block));
    polyphase.stage_small(|block| small_block::<S, R>(s, small, operation, block));
    polyphase.multiply();
    polyphase.store_modulo_q(product, operation);
}

/// Computes `product = large * small` modulo `q2`.
///
/// Threads: one warp per product.
/// Shared memory: first the operands, later the unreduced product in their place.
/// Arrays: `large`, in `0..q2`; `small`, any small polynomials as signed bytes, one row per
/// operation or one shared row; `product`, in `0..q2`.
/// Source: [`ctru_gpu_kernels::kernels::product::polyphase`].
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
