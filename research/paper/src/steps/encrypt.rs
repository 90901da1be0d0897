//! The last steps of encryption in one kernel: E8 encoding, rounding and packing. The input is the
//! product `h r`, the output is the ciphertext.

use core::array;

use ctru_gpu_kernels::descriptor::{Batch, Shape};
use ctru_gpu_kernels::kernels::scheme::encrypt::{
    nibble, packed_group, store_packed, string_bytes,
};
use ctru_gpu_kernels::kernels::{message_words, row, warp};
use ctru_gpu_kernels::simt::Simt;
use ctru_math::Ring;
use ctru_math::kernel::bits::GROUP;
use ctru_math::kernel::compress::compress_to_top;

/// Returns the block shape: one warp and one ciphertext per block. The ciphertext is packed in
/// shared memory.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(string_bytes::<R>())
}

/// Computes the ciphertexts of messages from the products `h r`, as
/// [`ctru_math::compress::compress_with_message`] and [`ctru_math::codec::bits::pack_rounded`] do.
///
/// Threads: one warp per ciphertext. The threads share the groups.
/// Shared memory: the packed groups of the ciphertext.
/// Arrays: `sigma`, the products `h r`, in `0..q`; `messages`; `ciphertexts`.
/// Source: CTRU-Prime paper, section 4.3 (fusion of the last steps of encryption).
#[inline(always)]
pub fn encrypt<S: Simt, R: Ring>(
    s: S,
    sigma: S::Global<u16>,
    messages: S::Global<u64>,
    ciphertexts: S::Global<u8>,
    _: Batch,
) {
    let operation = s.block();
    let start = R::CIPHERTEXT_BYTES as u32 * operation;
    let string = start % 4;
    warp::for_each(s, warp::groups(R::N), |group| {
        let byte = |i| s.load(s.cast(messages), 8 * message_words::<R>() * operation + i);
        let rounded = array::from_fn(|j| {
            let i = group * GROUP as u32 + j as u32;
            let inside = i < R::N as u32;
            let sigma = if inside { s.load(sigma, operation * row::<R>() + i) } else { 0 };
            compress_to_top::<R>(sigma.into())
        });
        let packed = packed_group::<R>(group, nibble::<R>(group, byte), rounded);
        store_packed::<S, R>(s, string, group, packed);
    });
    s.sync_warp();
    warp::write_bytes(s, string, ciphertexts, start, R::CIPHERTEXT_BYTES as u32);
}
