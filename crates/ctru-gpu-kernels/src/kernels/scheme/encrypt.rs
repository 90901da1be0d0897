//! From the product `h r` to the ciphertext in one kernel: E8 encoding, rounding and packing, one warp a ciphertext.
//!
//! Source: CTRU-Prime paper, section 4.3 (fusion of the last steps of encryption).

use ctru_math::codec::bits::GROUP;
use ctru_math::compress::compress_with_codeword;
use ctru_math::{Ring, e8};

use crate::descriptor::{Batch, Shape};
use crate::kernels::{message_words, row, warp};
use crate::simt::Simt;

/// A warp a ciphertext, which lies in shared memory.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(R::Q2_BITS * warp::groups(R::N))
}

/// Ciphertexts of `messages` with the masks `sigma = h r`, canonical modulo `q`:
/// [`ctru_math::compress::compress_with_message`] and [`ctru_math::codec::bits::pack_rounded`].
///
/// `sigma` has rows of [`row`] elements, `messages` rows of [`message_words`] words, `ciphertexts` rows of
/// [`Ring::CIPHERTEXT_BYTES`].
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
        let nibble = if group < R::CODED_COEFFS as u32 / GROUP as u32 {
            let word = s.load(messages, operation * message_words::<R>() + group / 16);
            (word >> (4 * (group % 16))) as u8 & 15
        } else {
            0
        };
        let codeword = e8::encode_nibble(nibble);
        // What lies behind the row's end must not reach the padding bits.
        let sigma: [u16; GROUP] = core::array::from_fn(|j| {
            let i = group * GROUP as u32 + j as u32;
            if i < R::N as u32 { s.load(sigma, operation * row::<R>() + i) } else { 0 }
        });
        let rounded = core::array::from_fn(|j| compress_with_codeword::<R>(sigma[j], codeword, j));
        warp::pack_group(s, R::Q2_BITS, 0, group, rounded);
    });
    write_ciphertext::<S, R>(s, ciphertexts);
}

/// Writes the ciphertext that the warp has packed into shared memory.
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
