//! NTRU Prime's mixed-radix encoding of public keys, close to `n log2(q)` bits.
//!
//! Source: NTRU Prime, round-3 specification (2020), "Encode" and "Decode" with limit 16384. NTRU
//! Prime adds `(q - 1)/2` to coefficients first; CTRU-Prime encodes them in `0..q` as they are.

use core::fmt;

use crate::array::Array;
use crate::compiled::compiled;
use crate::poly::Poly;
use crate::ring::Ring;
use crate::simd::{Simd, WithSimd, dispatch};

/// The string is not an output of [`encode`]: decoding had to reduce a value.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct NonCanonical;

impl fmt::Display for NonCanonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes are not a canonical mixed-radix encoding")
    }
}

impl core::error::Error for NonCanonical {}

compiled! {
    Ring:

    /// Encodes the polynomial of a public key.
    #[must_use]
    pub fn encode(poly: &Poly<R>) -> <R as Ring>::MixedRadixBytes {
        dispatch(Encode(poly))
    }

    /// Decodes to `poly`, and returns whether its encoding is the same string.
    fn decode_to(bytes: &<R as Ring>::MixedRadixBytes, poly: &mut Poly<R>) -> bool {
        dispatch(Decode { bytes, poly })
    }
}

struct Encode<'a, R: Ring>(&'a Poly<R>);

impl<R: Ring> WithSimd for Encode<'_, R> {
    type Output = R::MixedRadixBytes;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> R::MixedRadixBytes {
        let mut values = R::Coeffs::zeroed();
        values.as_mut().copy_from_slice(self.0.coefficients());
        let mut scratch = R::Coeffs::zeroed();
        let mut bytes = R::MixedRadixBytes::zeroed();
        const { R::MIXED_RADIX }.encode(values.as_mut(), scratch.as_mut(), bytes.as_mut());
        bytes
    }
}

/// Decodes any string to a polynomial. Several strings decode to the same polynomial: see
/// [`decode_canonical`].
#[must_use]
pub fn decode<R: Compiled<R>>(bytes: &R::MixedRadixBytes) -> Poly<R> {
    let mut poly = Poly::zero();
    decode_to(bytes, &mut poly);
    poly
}

/// Decodes an output of [`encode`], and rejects every other string.
///
/// # Errors
/// Returns [`NonCanonical`] if the encoding of the decoded polynomial is another string.
pub fn decode_canonical<R: Compiled<R>>(
    bytes: &R::MixedRadixBytes,
) -> Result<Poly<R>, NonCanonical> {
    let mut poly = Poly::zero();
    if decode_to(bytes, &mut poly) { Ok(poly) } else { Err(NonCanonical) }
}

struct Decode<'a, R: Ring> {
    bytes: &'a R::MixedRadixBytes,
    poly: &'a mut Poly<R>,
}

impl<R: Ring> WithSimd for Decode<'_, R> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> bool {
        let mut scratch = R::Coeffs::zeroed();
        const { R::MIXED_RADIX }.decode(
            self.bytes.as_ref(),
            self.poly.coefficients_mut(),
            scratch.as_mut(),
        )
    }
}
