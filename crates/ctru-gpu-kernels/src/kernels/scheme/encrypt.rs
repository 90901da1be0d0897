//! From the product `h r` to the ciphertext: E8 encoding, rounding and packing in one kernel.

use ctru_math::Ring;
use ctru_math::kernel::bits::GROUP;
use ctru_math::kernel::compress::compress_with_codeword;
use ctru_math::kernel::e8;

use crate::descriptor::{Batch, Shape};
use crate::kernels::{message_words, row, warp};
use crate::simt::Simt;

/// Returns blocks of one warp for one ciphertext, which is packed in shared memory.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(R::Q2_BITS * warp::groups(R::N))
}

/// Computes the ciphertexts of messages: [`ctru_math::compress::compress_with_message`] and
/// [`ctru_math::codec::bits::pack_rounded`].
///
/// Threads: one warp for each ciphertext, one thread for each group in turn.
/// Shared memory: the packed groups of the ciphertext.
/// Arrays: `sigma = h r`, in `0..q`; `messages`; `ciphertexts`.
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
    warp::for_each(s, warp::groups(R::N), |group| {
        let codeword = codeword::<S, R>(s, messages, operation, group);
        // Coefficients from `n` on are 0, so that the padding bits are.
        let sigma: [u16; GROUP] = core::array::from_fn(|j| {
            let i = group * GROUP as u32 + j as u32;
            if i < R::N as u32 { s.load(sigma, operation * row::<R>() + i) } else { 0 }
        });
        let rounded = core::array::from_fn(|j| compress_with_codeword::<R>(sigma[j], codeword, j));
        warp::pack_group(s, R::Q2_BITS, 0, group, rounded);
    });
    write_ciphertext::<S, R>(s, ciphertexts);
}

/// Returns the E8 codeword of group `group` of a message's row, a bit for each coefficient; 0 for
/// groups behind the message.
#[inline(always)]
pub(crate) fn codeword<S: Simt, R: Ring>(
    s: S,
    messages: S::Global<u64>,
    operation: u32,
    group: u32,
) -> u8 {
    let nibble = if group < (R::CODED_COEFFS / GROUP) as u32 {
        let word = s.load(messages, operation * message_words::<R>() + group / 16);
        (word >> (4 * (group % 16))) as u8 & 15
    } else {
        0
    };
    e8::encode_nibble(nibble)
}

/// Writes the ciphertext that the warp has packed at byte 0 of shared memory.
#[inline(always)]
pub(crate) fn write_ciphertext<S: Simt, R: Ring>(s: S, ciphertexts: S::Global<u8>) {
    s.sync_warp();
    let (operation, bytes) = (s.block(), R::CIPHERTEXT_BYTES as u32);
    warp::transfer(
        s,
        bytes,
        |i| s.load_shared::<u8>(i),
        |i, byte| s.store(ciphertexts, operation * bytes + i, byte),
    );
}
