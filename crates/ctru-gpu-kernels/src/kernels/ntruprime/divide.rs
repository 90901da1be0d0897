//! The polynomials of public keys: `h = g / (3 f)`.

use ctru_math::Ring;

use crate::descriptor::{Batch, Shape};
use crate::kernels::product::operand::{large_block, small_block};
use crate::kernels::product::polyphase::{self, Polyphase};
use crate::kernels::product::{canonical, product_modulo_q, store_row, times_modulo_q};
use crate::kernels::warp;
use crate::simt::Simt;

/// Returns the block shape: one warp and one product per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    polyphase::shape::<R>()
}

/// Multiplies small polynomials by inverses, and divides the products by 3. The quotients are `h`.
///
/// Threads: one warp per product.
/// Shared memory: first the operands, later the unreduced product in their place.
/// Arrays: `inverses`, in `0..q`; `small`, signed bytes; `h`, [numbers](super) in `0..q`.
#[inline(always)]
pub fn divide<S: Simt, R: Ring>(
    s: S,
    inverses: S::Global<u16>,
    small: S::Global<u8>,
    h: S::Global<u16>,
    _: Batch,
) {
    let operation = s.block();
    let polyphase = Polyphase::<S, R>::new(s);
    polyphase.stage_large(|block| large_block::<S, R>(s, inverses, operation, block));
    polyphase.stage_small(|block| small_block::<S, R>(s, small, operation, block));
    polyphase.multiply();
    polyphase.for_each_row(|group, folded| {
        let pairs = warp::pairs(folded.map(number::<R>));
        store_row::<S, R>(s, h, operation, group, pairs);
    });
}

/// Returns the number of a third of a coefficient of a product, in `0..q`.
#[inline(always)]
fn number<R: Ring>(sum: i32) -> u16 {
    const { assert!(R::Q % 3 == 1) };
    let third = times_modulo_q::<R>(product_modulo_q::<R>(sum).into(), (2 * R::Q + 1) / 3);
    canonical::<R>(u32::from(canonical::<R>(third)) + R::Q / 2)
}
