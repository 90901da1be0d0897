//! Rounding from modulus `q` to `q2`, and the message on top.
//!
//! Source: CTRU-Prime paper, encryption. The message is added after rounding.

use crate::array::Array;
use crate::e8;
use crate::poly::{Poly, RoundedPoly};
use crate::ring::Ring;
use crate::simd::{Simd, WithSimd, dispatch};
use crate::wipe::wipe;

/// `sigma q2 / q` rounded to the nearest integer, `0..=q2`, for `sigma` in `0..q`. As `q` is odd there is no tie.
///
/// That is `t = floor((q2 sigma + (q - 1)/2) / q)`. A product of 16 bits by 16 bits gives `t` or `t - 1`, and
/// the remainder, `0..2q`, tells which; it is small, so arithmetic modulo 2^16 is enough for it, and a vector
/// of 16-bit lanes does everything.
#[inline(always)]
#[must_use]
pub fn compress<R: Ring>(sigma: u16) -> u16 {
    let (factor, fraction_bits) = const { ratio(R::Q2, R::Q) };
    let scaled = ((u32::from(sigma << 3) * u32::from(factor)) >> 16) as u16;
    let low = (scaled + (1 << (fraction_bits - 1))) >> fraction_bits;

    let q = R::Q as u16;
    let remainder =
        (sigma << R::Q2_BITS).wrapping_add((q - 1) / 2).wrapping_sub(low.wrapping_mul(q));
    low + ((q - 1).wrapping_sub(remainder) >> 15)
}

/// `floor(2^(13 + f) q2 / q)` and the largest `f` for which this fits 16 bits. A number below `2^13`, shifted
/// to 16 bits, times the factor then has `f` binary places above bit 16.
const fn ratio(q2: u32, q: u32) -> (u16, u32) {
    let mut fraction_bits = 0;
    while (q2 << (14 + fraction_bits)) / q <= u16::MAX as u32 {
        fraction_bits += 1;
    }
    (((q2 << (13 + fraction_bits)) / q) as u16, fraction_bits)
}

/// The ciphertext coefficient for `sigma` in `0..q` and bit `j < 8` of a codeword: rounded, and `q2/2` more for a 1,
/// modulo `q2`.
#[inline(always)]
#[must_use]
pub fn compress_with_codeword<R: Ring>(sigma: u16, codeword: u8, j: usize) -> u16 {
    compress_onto::<R>(sigma, codeword_bit::<R>(codeword, j))
}

/// What bit `j < 8` of a codeword adds to a coefficient: `q2/2` for a 1, or else 0.
#[inline(always)]
fn codeword_bit<R: Ring>(codeword: u8, j: usize) -> u16 {
    u16::from(codeword) << (R::Q2_BITS as usize - 1 - j) & (R::Q2 as u16 / 2)
}

#[inline(always)]
fn compress_onto<R: Ring>(sigma: u16, added: u16) -> u16 {
    (compress::<R>(sigma) + added) & (R::Q2 as u16 - 1)
}

/// The ciphertext coefficients `c_i = round(q2/q sigma_i) + q2/2 e_i mod q2`, where `e` are the bits of the
/// [`e8`] codewords of the message, least significant first, and 0 from [`Ring::CODED_COEFFS`] on.
#[must_use]
pub fn compress_with_message<R: Ring>(
    sigma: &Poly<R>,
    message: &R::MessageBytes,
) -> RoundedPoly<R> {
    R::compress_with_message(sigma, message)
}

pub(crate) fn round_with_message<R: Ring>(
    sigma: &Poly<R>,
    message: &R::MessageBytes,
) -> RoundedPoly<R> {
    dispatch(Compress { sigma, message })
}

struct Compress<'a, R: Ring> {
    sigma: &'a Poly<R>,
    message: &'a R::MessageBytes,
}

impl<R: Ring> WithSimd for Compress<'_, R> {
    type Output = RoundedPoly<R>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> RoundedPoly<R> {
        let mut rounded = RoundedPoly::zero();
        let coefficients = rounded.coefficients_mut();
        let mut codewords = R::MessageBytes::zeroed();
        // The codewords of the low nibbles have every other block, those of the high nibbles the blocks between.
        for (offset, shift) in [(0, 0), (8, 4)] {
            for (codeword, byte) in codewords.as_mut().iter_mut().zip(self.message.as_ref()) {
                *codeword = e8::encode_nibble(byte >> shift & 15);
            }
            for (pair, &codeword) in
                coefficients.as_chunks_mut::<16>().0.iter_mut().zip(codewords.as_ref())
            {
                for j in 0..8 {
                    pair[offset + j] = codeword_bit::<R>(codeword, j);
                }
            }
        }
        wipe(codewords.as_mut());
        for (c, &sigma) in coefficients.iter_mut().zip(self.sigma.coefficients()) {
            *c = compress_onto::<R>(sigma, *c);
        }
        rounded
    }
}
