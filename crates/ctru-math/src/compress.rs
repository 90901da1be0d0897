//! Rounding from modulus `q` to `q2`, and the addition of the message.
//!
//! Source: CTRU-Prime paper, encryption. The message is added after rounding.

use crate::array::Array;
use crate::compiled::compiled;
use crate::kernel::compress::{codeword_bit, compress_onto};
use crate::kernel::e8::encode_nibble;
use crate::poly::{Poly, RoundedPoly};
use crate::ring::Ring;
use crate::simd::{Simd, WithSimd, dispatch};
use crate::wipe::wipe;

compiled! {
    Ring:

    /// Returns the ciphertext coefficients `c_i = round(q2/q sigma_i) + q2/2 e_i mod q2`.
    ///
    /// The `e_i` are the bits of the [`e8`](crate::e8) codewords of the message, least significant
    /// first, and 0 from [`Ring::CODED_COEFFS`] on.
    #[must_use]
    pub fn compress_with_message(
        sigma: &Poly<R>,
        message: &<R as Ring>::MessageBytes,
    ) -> RoundedPoly<R> {
        dispatch(Compress { sigma, message })
    }
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
        // Even blocks carry low nibbles, odd blocks carry high nibbles.
        for (offset, shift) in [(0, 0), (8, 4)] {
            for (codeword, byte) in codewords.as_mut().iter_mut().zip(self.message.as_ref()) {
                *codeword = encode_nibble(byte >> shift & 15);
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
