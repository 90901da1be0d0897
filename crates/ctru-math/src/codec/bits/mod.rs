//! Packing at a fixed number of bits a coefficient.
//!
//! Bit `j` of coefficient `i` is bit `width * i + j` of the string, and bit `k` of the string is bit `k mod
//! 8`, least significant first, of byte `k / 8`. So every eight coefficients fill `width` whole bytes: that
//! group is the unit of work here.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;

use core::fmt;

use crate::array::Array;
use crate::poly::{Poly, RoundedPoly};
use crate::ring::Ring;
use crate::simd::{Simd, WithSimd, dispatch};

/// Coefficients of a group, the fewest that fill whole bytes at every width.
pub const GROUP: usize = 8;

/// Bits of a public-key coefficient: `q < 2^13` in all rings.
pub const PUBLIC_KEY_WIDTH: u32 = 13;

/// Why a string is not the [`pack13`] of any polynomial.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Packed13Error {
    /// The coefficient at this index is `q` or more; it is the first such one.
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

/// The `8 width` bits of eight values below `2^width`, `width <= 16`, first value lowest.
#[inline(always)]
#[must_use]
pub fn pack_group(width: u32, values: [u16; GROUP]) -> u128 {
    let mut bits = 0;
    let mut position = 0;
    for value in values {
        bits |= u128::from(value) << position;
        position += width;
    }
    bits
}

/// The eight values of `width` bits, `width <= 16`, in the low `8 width` bits; higher bits are ignored.
#[inline(always)]
#[must_use]
pub fn unpack_group(width: u32, bits: u128) -> [u16; GROUP] {
    let mask = ((1u32 << width) - 1) as u16;
    let mut position = 0;
    [(); GROUP].map(|()| {
        let value = (bits >> position) as u16 & mask;
        position += width;
        value
    })
}

/// Packs values below `2^width`, `width <= 16`; unused bits of the last byte are 0.
///
/// # Panics
/// If `bytes` is not `ceil(width values.len() / 8)` long.
#[inline(always)]
pub fn pack(width: u32, values: &[u16], bytes: &mut [u8]) {
    assert_eq!(bytes.len(), (width as usize * values.len()).div_ceil(8));
    let (groups, tail) = values.as_chunks::<GROUP>();
    let (group_bytes, tail_bytes) = bytes.split_at_mut(width as usize * groups.len());
    for (group, out) in groups.iter().zip(group_bytes.chunks_exact_mut(width as usize)) {
        out.copy_from_slice(&pack_group(width, *group).to_le_bytes()[..width as usize]);
    }
    let mut last = [0; GROUP];
    last[..tail.len()].copy_from_slice(tail);
    tail_bytes.copy_from_slice(&pack_group(width, last).to_le_bytes()[..tail_bytes.len()]);
}

/// Unpacks values of `width <= 16` bits; bits after the last value are ignored.
///
/// # Panics
/// If `bytes` is not `ceil(width values.len() / 8)` long.
#[inline(always)]
pub fn unpack(width: u32, bytes: &[u8], values: &mut [u16]) {
    assert_eq!(bytes.len(), (width as usize * values.len()).div_ceil(8));
    let (groups, tail) = values.as_chunks_mut::<GROUP>();
    let (group_bytes, tail_bytes) = bytes.split_at(width as usize * groups.len());
    let load = |bytes: &[u8]| {
        let mut word = [0; 16];
        word[..bytes.len()].copy_from_slice(bytes);
        u128::from_le_bytes(word)
    };
    for (group, bytes) in groups.iter_mut().zip(group_bytes.chunks_exact(width as usize)) {
        *group = unpack_group(width, load(bytes));
    }
    let last = unpack_group(width, load(tail_bytes));
    tail.copy_from_slice(&last[..tail.len()]);
}

/// [`pack`] on the backend in use.
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

/// [`unpack`] on the backend in use.
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

/// Packs a public-key polynomial at 13 bits a coefficient.
#[must_use]
pub fn pack13<R: Ring>(poly: &Poly<R>) -> R::Packed13Bytes {
    R::pack13(poly)
}

pub(crate) fn pack_poly<R: Ring>(poly: &Poly<R>) -> R::Packed13Bytes {
    let mut bytes = R::Packed13Bytes::zeroed();
    dispatch(Pack::<PUBLIC_KEY_WIDTH> { values: poly.coefficients(), bytes: bytes.as_mut() });
    bytes
}

/// Reads what [`pack13`] wrote. Exactly its outputs are accepted.
///
/// # Errors
/// [`Packed13Error`] if a coefficient is `q` or more, or else if a padding bit is set. Public keys are no
/// secret: the time may depend on where the error is.
pub fn unpack13<R: Ring>(bytes: &R::Packed13Bytes) -> Result<Poly<R>, Packed13Error> {
    R::unpack13(bytes)
}

pub(crate) fn unpack_poly<R: Ring>(bytes: &R::Packed13Bytes) -> Result<Poly<R>, Packed13Error> {
    let mut coeffs = R::Coeffs::<u16>::zeroed();
    dispatch(Unpack::<PUBLIC_KEY_WIDTH> { bytes: bytes.as_ref(), values: coeffs.as_mut() });

    let excess = |&coeff: &u16| u32::from(coeff) >= R::Q;
    // One flag over all coefficients can be computed in vectors, the search for the first one cannot.
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

/// Packs a ciphertext polynomial at `Q2_BITS` bits a coefficient; padding bits are 0.
#[must_use]
pub fn pack_rounded<R: Ring>(poly: &RoundedPoly<R>) -> R::CiphertextBytes {
    R::pack_rounded(poly)
}

pub(crate) fn pack_ciphertext<R: Ring>(poly: &RoundedPoly<R>) -> R::CiphertextBytes {
    let mut bytes = R::CiphertextBytes::zeroed();
    let (values, packed) = (poly.coefficients(), bytes.as_mut());
    match R::Q2_BITS {
        10 => dispatch(Pack::<10> { values, bytes: packed }),
        11 => dispatch(Pack::<11> { values, bytes: packed }),
        width => pack(width, values, packed),
    }
    bytes
}

/// Reads a ciphertext polynomial. Every string is one; padding bits are ignored here, because decapsulation
/// compares all bytes of the ciphertext with a packed one anyway.
#[must_use]
pub fn unpack_rounded<R: Ring>(bytes: &R::CiphertextBytes) -> RoundedPoly<R> {
    R::unpack_rounded(bytes)
}

pub(crate) fn unpack_ciphertext<R: Ring>(bytes: &R::CiphertextBytes) -> RoundedPoly<R> {
    let mut poly = RoundedPoly::zero();
    let (bytes, values) = (bytes.as_ref(), poly.coefficients_mut());
    match R::Q2_BITS {
        10 => dispatch(Unpack::<10> { bytes, values }),
        11 => dispatch(Unpack::<11> { bytes, values }),
        width => unpack(width, bytes, values),
    }
    poly
}
