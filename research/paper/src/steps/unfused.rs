//! The steps of the kernel [`encrypt::encrypt`] as three kernels with two arrays between them, and
//! the second step of [`sample::sample_secret`]. They measure how much time fusion saves.
//!
//! Source: CTRU-Prime paper, sections 4.2.2 and 4.3, and Table 5.
//!
//! [`encrypt::encrypt`]: ctru_gpu_kernels::kernels::scheme::encrypt::encrypt
//! [`sample::sample_secret`]: ctru_gpu_kernels::kernels::scheme::sample::sample_secret

use ctru_math::Ring;
use ctru_math::kernel::bits::GROUP;
use ctru_math::kernel::compress::compress;
use ctru_math::kernel::e8;

use ctru_gpu_kernels::descriptor::{Batch, Shape};
use ctru_gpu_kernels::kernels::{message_words, row, warp};
use ctru_gpu_kernels::simt::Simt;

/// Returns the block shape of the fused kernel: one warp and one ciphertext per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(R::Q2_BITS * warp::groups(R::N))
}

/// Encodes messages: computes their E8 codewords times `q2/2`, followed by zeros.
///
/// Threads: one warp per message.
/// Arrays: `messages`; `encoded`, 0 or `q2/2`.
#[inline(always)]
pub fn encode_message<S: Simt, R: Ring>(
    s: S,
    messages: S::Global<u64>,
    encoded: S::Global<u16>,
    _: Batch,
) {
    let operation = s.block();
    warp::for_each(s, R::N as u32, |i| {
        let block = i / GROUP as u32;
        let word = s.load(
            messages,
            operation * message_words::<R>() + (block / 16).min(message_words::<R>() - 1),
        );
        let codeword = e8::encode_nibble((word >> (4 * (block % 16))) as u8 & 15);
        let bit = if i < R::CODED_COEFFS as u32 { codeword >> (i % GROUP as u32) & 1 } else { 0 };
        s.store(encoded, operation * row::<R>() + i, u16::from(bit) << (R::Q2_BITS - 1));
    });
}

/// Computes the coefficients of ciphertexts: rounds `sigma` and adds `encoded` modulo `q2`.
///
/// Threads: one warp per ciphertext.
/// Arrays: `sigma`, in `0..q`; `encoded`, 0 or `q2/2`; `coefficients`, in `0..q2`.
#[inline(always)]
pub fn compress_and_add<S: Simt, R: Ring>(
    s: S,
    sigma: S::Global<u16>,
    encoded: S::Global<u16>,
    coefficients: S::Global<u16>,
    _: Batch,
) {
    let first = s.block() * row::<R>();
    warp::for_each(s, R::N as u32, |i| {
        let sum = compress::<R>(s.load(sigma, first + i)).wrapping_add(s.load(encoded, first + i));
        s.store(coefficients, first + i, sum & (R::Q2 - 1) as u16);
    });
}

/// Packs the coefficients of ciphertexts.
///
/// Threads: one warp per ciphertext.
/// Shared memory: the packed groups of the ciphertext.
/// Arrays: `coefficients`, in `0..q2`; `ciphertexts`.
#[inline(always)]
pub fn pack_ciphertext<S: Simt, R: Ring>(
    s: S,
    coefficients: S::Global<u16>,
    ciphertexts: S::Global<u8>,
    _: Batch,
) {
    let operation = s.block();
    warp::for_each(s, warp::groups(R::N), |group| {
        // The coefficients from `n` on must be 0, because they become the padding bits.
        let values = core::array::from_fn(|j| {
            let i = group * GROUP as u32 + j as u32;
            if i < R::N as u32 { s.load(coefficients, operation * row::<R>() + i) } else { 0 }
        });
        warp::pack_group(s, R::Q2_BITS, 0, group, values);
    });
    s.sync_warp();
    let bytes = R::CIPHERTEXT_BYTES as u32;
    warp::transfer(
        s,
        bytes,
        |i| s.load_shared::<u8>(i),
        |i, byte| s.store(ciphertexts, operation * bytes + i, byte),
    );
}

/// Computes secret polynomials `2 f' + 1` from sampled polynomials `f'`.
///
/// Threads: one warp per polynomial.
/// Arrays: `small`, signed bytes in `-eta..=eta`; `secret`, signed bytes in `-2 eta..=2 eta + 1`.
#[inline(always)]
pub fn double_and_add_one<S: Simt, R: Ring>(
    s: S,
    small: S::Global<u8>,
    secret: S::Global<u8>,
    _: Batch,
) {
    let first = s.block() * row::<R>();
    warp::transfer(
        s,
        R::N as u32,
        |i| s.load(small, first + i),
        |i, coefficient| s.store(secret, first + i, (coefficient << 1) + u8::from(i == 0)),
    );
}
