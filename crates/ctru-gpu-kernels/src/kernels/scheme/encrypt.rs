//! The last steps of encryption in one kernel: E8 encoding, rounding and packing. The input is the
//! product `h r`, the output is the ciphertext.

use ctru_math::Ring;
use ctru_math::kernel::bits::GROUP;
use ctru_math::kernel::compress::compress_with_codeword;
use ctru_math::kernel::e8;

use crate::descriptor::{Batch, Shape};
use crate::kernels::{message_words, row, warp};
use crate::simt::Simt;

/// Returns the block shape: one warp and one ciphertext per block. The ciphertext is packed in
/// shared memory.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(R::Q2_BITS * warp::groups(R::N))
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
    warp::for_each(s, warp::groups(R::N), |group| {
        let word = |i| s.load(messages, operation * message_words::<R>() + i);
        let codeword = codeword::<R>(group, word);
        // The coefficients from `n` on must be 0, because they become the padding bits.
        let sigma: [u16; GROUP] = core::array::from_fn(|j| {
            let i = group * GROUP as u32 + j as u32;
            if i < R::N as u32 { s.load(sigma, operation * row::<R>() + i) } else { 0 }
        });
        let rounded = core::array::from_fn(|j| compress_with_codeword::<R>(sigma[j], codeword, j));
        warp::pack_group(s, R::Q2_BITS, 0, group, rounded);
    });
    write_ciphertext::<S, R>(s, ciphertexts);
}

/// Returns the E8 codeword of group `group` of a message, with one bit per coefficient. Returns 0
/// for groups after the end of the message. `word` returns the words of the message.
#[inline(always)]
pub(crate) fn codeword<R: Ring>(group: u32, word: impl Fn(u32) -> u64) -> u8 {
    let nibble = if group < (R::CODED_COEFFS / GROUP) as u32 {
        (word(group / 16) >> (4 * (group % 16))) as u8 & 15
    } else {
        0
    };
    e8::encode_nibble(nibble)
}

/// Copies the ciphertext that the warp has packed from byte 0 of shared memory to the array.
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
