//! Small polynomials of Streamlined NTRU Prime at two bits per coefficient.
//!
//! Coefficient `c` in `-1..=1` becomes the two bits `c + 1`, the lowest power first in a byte. The
//! bits after the last coefficient are 0.

use core::fmt;

use crate::compiled::compiled;
use crate::poly::SmallPoly;
use crate::ring::NtruPrimeRing;
use crate::simd::{Simd, WithSimd, dispatch};
use crate::ternary::is_short;

/// The string is not an output of [`pack`], or that of a polynomial with another weight. The error
/// does not tell which bits are wrong, because the string is secret.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct InvalidTernary;

impl fmt::Display for InvalidTernary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes are not those of a polynomial with coefficients -1, 0 and 1")
    }
}

impl core::error::Error for InvalidTernary {}

compiled! {
    NtruPrimeRing:

    /// Packs a polynomial with coefficients in `-1..=1`. The caller wipes the bytes.
    pub fn pack(poly: &SmallPoly<R>, bytes: &mut <R as NtruPrimeRing>::TernaryBytes) {
        dispatch(Pack(poly, bytes))
    }

    /// Unpacks an output of [`pack`], and rejects every other string.
    ///
    /// # Errors
    /// Returns [`InvalidTernary`] if a pair of bits is 3, or a bit after the last coefficient is
    /// not 0. The time depends only on whether the function returns an error.
    pub fn unpack(
        bytes: &<R as NtruPrimeRing>::TernaryBytes,
    ) -> Result<SmallPoly<R>, InvalidTernary> {
        let (poly, faults) = dispatch(Unpack(bytes));
        if faults == 0 { Ok(poly) } else { Err(InvalidTernary) }
    }

    /// Does the same for a short polynomial, and rejects others.
    ///
    /// # Errors
    /// Those of [`unpack`], and [`InvalidTernary`] if the weight is not
    /// [`NtruPrimeRing::WEIGHT`].
    pub fn unpack_short(
        bytes: &<R as NtruPrimeRing>::TernaryBytes,
    ) -> Result<SmallPoly<R>, InvalidTernary> {
        let (poly, faults) = dispatch(Unpack(bytes));
        if faults | (!is_short(&poly)).unwrap_u8() == 0 { Ok(poly) } else { Err(InvalidTernary) }
    }
}

struct Pack<'a, R: NtruPrimeRing>(&'a SmallPoly<R>, &'a mut R::TernaryBytes);

impl<R: NtruPrimeRing> WithSimd for Pack<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        debug_assert!(self.0.coefficients().iter().all(|c| (-1..=1).contains(c)));
        let (quads, rest) = self.0.coefficients().as_chunks::<4>();
        let bytes = self.1.as_mut();
        for (byte, quad) in bytes.iter_mut().zip(quads) {
            *byte =
                (u32::from_le_bytes(quad.map(|c| (c + 1) as u8)).wrapping_mul(SPREAD) >> 24) as u8;
        }
        bytes[R::N / 4] = rest.iter().rev().fold(0, |byte, &c| byte << 2 | (c + 1) as u8);
    }
}

/// A factor that packs. Multiplied by a word with a number below 4 in each byte, it puts the four
/// numbers side by side into the highest byte, that of the lowest byte lowest.
const SPREAD: u32 = 1 << 24 | 1 << 18 | 1 << 12 | 1 << 6;

struct Unpack<'a, R: NtruPrimeRing>(&'a R::TernaryBytes);

impl<R: NtruPrimeRing> WithSimd for Unpack<'_, R> {
    /// The polynomial, and 0 if the bytes are valid.
    type Output = (SmallPoly<R>, u8);

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Self::Output {
        let bytes = self.0.as_ref();
        let mut poly = SmallPoly::zero();
        let (quads, rest) = poly.coefficients_mut().as_chunks_mut::<4>();
        let last = bytes[R::N / 4];
        let mut faults = last >> (2 * rest.len());
        for &byte in bytes {
            faults |= byte & byte >> 1 & 0b0101_0101;
        }
        for (quad, &byte) in quads.iter_mut().zip(bytes) {
            *quad = [0, 2, 4, 6].map(|shift| (byte >> shift & 3) as i8 - 1);
        }
        for (i, c) in rest.iter_mut().enumerate() {
            *c = (last >> (2 * i) & 3) as i8 - 1;
        }
        (poly, faults)
    }
}
