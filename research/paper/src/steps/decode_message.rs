//! The E8 decoder, which computes messages from decrypted polynomials.

use ctru_gpu_kernels::descriptor::{Batch, Shape};
use ctru_gpu_kernels::kernels::scheme::decode_message::store_nibbles;
use ctru_gpu_kernels::kernels::{row, warp};
use ctru_gpu_kernels::simt::Simt;
use ctru_math::Ring;
use ctru_math::kernel::e8;

/// Returns the block shape: one warp and one message per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(0)
}

/// Decodes each decrypted polynomial to the nearest message, as [`ctru_math::e8::decode`] does.
///
/// Threads: one warp per message. The threads share the groups.
/// Arrays: `decrypted`, the products `c f`, in `0..q2`; `messages`.
#[inline(always)]
pub fn decode_message<S: Simt, R: Ring>(
    s: S,
    decrypted: S::Global<u16>,
    messages: S::Global<u64>,
    _: Batch,
) {
    store_nibbles::<S, R>(s, messages, s.block(), |block| {
        let start = s.block() * row::<R>() + block * e8::BLOCK as u32;
        let value = |i| s.load(decrypted, start + i as u32).into();
        e8::decode_block(R::Q2, core::array::from_fn(value))
    });
}
