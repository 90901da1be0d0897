//! Packing at a fixed number of bits per coefficient: public keys at 13 bits, ciphertexts at
//! `Q2_BITS`.
//!
//! Bit `j` of coefficient `i` is bit `width * i + j` of the string. Bit `k` of the string is bit
//! `k mod 8` of byte `k / 8`, least significant first.

use core::fmt;

use crate::array::Array;
#[cfg(target_arch = "x86_64")]
use crate::codec::avx512;
use crate::compiled::compiled;
use crate::kernel::bits::{PUBLIC_KEY_WIDTH, pack, unpack};
use crate::poly::{Poly, RoundedPoly};
use crate::ring::Ring;
use crate::simd::{Simd, WithSimd, dispatch};

/// The string is not an output of [`pack13`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Packed13Error {
    /// The coefficient at this index is `q` or more. It is the first such coefficient.
    Coefficient {
        /// Power of `x`.
        index: usize,
    },
    /// The bits after the last coefficient are not all 0.
    Padding,
}

impl fmt::Display for Packed13Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Coefficient { index } => write!(f, "the coefficient of x^{index} is not below q"),
            Self::Padding => f.write_str("the padding bits are not zero"),
        }
    }
}

impl core::error::Error for Packed13Error {}

/// The work of [`pack`] for a constant width, on any backend.
struct Pack<'a, const WIDTH: u32> {
    values: &'a [u16],
    bytes: &'a mut [u8],
}

impl<const WIDTH: u32> WithSimd for Pack<'_, WIDTH> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { values, bytes } = self;
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = simd.avx512() {
            return avx512::pack::<WIDTH>(token, values, bytes);
        }
        let _ = simd;
        pack(WIDTH, values, bytes);
    }
}

/// The work of [`unpack`] for a constant width, on any backend.
struct Unpack<'a, const WIDTH: u32> {
    bytes: &'a [u8],
    values: &'a mut [u16],
}

impl<const WIDTH: u32> WithSimd for Unpack<'_, WIDTH> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { bytes, values } = self;
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = simd.avx512() {
            return avx512::unpack::<WIDTH>(token, bytes, values);
        }
        let _ = simd;
        unpack(WIDTH, bytes, values);
    }
}

compiled! {
    Ring:

    /// Packs the polynomial of a public key at 13 bits per coefficient.
    #[must_use]
    pub fn pack13(poly: &Poly<R>) -> <R as Ring>::Packed13Bytes {
        pack_poly(poly)
    }

    /// Unpacks an output of [`pack13`], and rejects every other string.
    ///
    /// # Errors
    /// Returns [`Packed13Error`] if a coefficient is `q` or more, or else if a padding bit is set.
    /// Public keys are not secret: the time may depend on the place of the error.
    pub fn unpack13(bytes: &<R as Ring>::Packed13Bytes) -> Result<Poly<R>, Packed13Error> {
        unpack_poly(bytes)
    }

    /// Packs the polynomial of a ciphertext at `Q2_BITS` bits per coefficient. Padding bits are 0.
    #[must_use]
    pub fn pack_rounded(poly: &RoundedPoly<R>) -> <R as Ring>::CiphertextBytes {
        pack_ciphertext(poly)
    }

    /// Unpacks the polynomial of a ciphertext. Every string is valid.
    ///
    /// Padding bits do not matter here: decapsulation compares all bytes of the ciphertext with
    /// those of a ciphertext that it packs itself.
    #[must_use]
    pub fn unpack_rounded(bytes: &<R as Ring>::CiphertextBytes) -> RoundedPoly<R> {
        unpack_ciphertext(bytes)
    }
}

/// Does the work of [`pack13`].
fn pack_poly<R: Ring>(poly: &Poly<R>) -> R::Packed13Bytes {
    let mut bytes = R::Packed13Bytes::zeroed();
    dispatch(Pack::<PUBLIC_KEY_WIDTH> { values: poly.coefficients(), bytes: bytes.as_mut() });
    bytes
}

/// Does the work of [`unpack13`].
fn unpack_poly<R: Ring>(bytes: &R::Packed13Bytes) -> Result<Poly<R>, Packed13Error> {
    let mut coeffs = R::Coeffs::<u16>::zeroed();
    dispatch(Unpack::<PUBLIC_KEY_WIDTH> { bytes: bytes.as_ref(), values: coeffs.as_mut() });

    let excess = |&coeff: &u16| u32::from(coeff) >= R::Q;
    // Vector instructions can compute one flag for all coefficients, but cannot search. So the
    // search for the first bad coefficient is a second step.
    if coeffs.as_ref().iter().fold(false, |any, coeff| any | excess(coeff))
        && let Some(index) = coeffs.as_ref().iter().position(excess)
    {
        return Err(Packed13Error::Coefficient { index });
    }
    let padding_bits = 8 * R::PACKED13_BYTES - PUBLIC_KEY_WIDTH as usize * R::N;
    if u16::from(bytes.as_ref()[R::PACKED13_BYTES - 1]) >> (8 - padding_bits) != 0 {
        return Err(Packed13Error::Padding);
    }
    Ok(Poly::from_array(coeffs))
}

/// Does the work of [`pack_rounded`].
fn pack_ciphertext<R: Ring>(poly: &RoundedPoly<R>) -> R::CiphertextBytes {
    let mut bytes = R::CiphertextBytes::zeroed();
    let (values, packed) = (poly.coefficients(), bytes.as_mut());
    match R::Q2_BITS {
        10 => dispatch(Pack::<10> { values, bytes: packed }),
        11 => dispatch(Pack::<11> { values, bytes: packed }),
        width => pack(width, values, packed),
    }
    bytes
}

/// Does the work of [`unpack_rounded`].
fn unpack_ciphertext<R: Ring>(bytes: &R::CiphertextBytes) -> RoundedPoly<R> {
    let mut poly = RoundedPoly::zero();
    let (bytes, values) = (bytes.as_ref(), poly.coefficients_mut());
    match R::Q2_BITS {
        10 => dispatch(Unpack::<10> { bytes, values }),
        11 => dispatch(Unpack::<11> { bytes, values }),
        width => unpack(width, bytes, values),
    }
    poly
}
