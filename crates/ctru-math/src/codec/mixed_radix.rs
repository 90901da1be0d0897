//! NTRU Prime's mixed-radix encoding: public keys, close to `n log2(q)` bits, and ciphertexts of
//! Streamlined NTRU Prime, close to `n log2(q / 3)` bits.
//!
//! NTRU Prime adds `(q - 1)/2` to coefficients first; CTRU-Prime encodes them in `0..q` as they
//! are. A `Numbering` says which number stands for a coefficient.
//!
//! Source: NTRU Prime, round-3 specification (2020), "Encode" and "Decode" with limit 16384.

use core::fmt;

use crate::array::Array;
use crate::compiled::compiled;
use crate::mixed_radix::Plan;
use crate::poly::Poly;
use crate::ring::NtruPrimeRing;
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
    NtruPrimeRing:

    /// Encodes the polynomial of a public key of CTRU-Prime.
    #[must_use]
    pub fn encode(poly: &Poly<R>) -> <R as NtruPrimeRing>::MixedRadixBytes {
        dispatch(Encode(poly, Canonical))
    }

    /// Decodes to `poly`, and returns whether its encoding is the same string.
    fn decode_to(bytes: &<R as NtruPrimeRing>::MixedRadixBytes, poly: &mut Poly<R>) -> bool {
        dispatch(Decode { bytes, poly, numbering: Canonical })
    }

    /// Encodes the polynomial of a public key of NTRU Prime.
    #[must_use]
    pub fn encode_shifted(poly: &Poly<R>) -> <R as NtruPrimeRing>::MixedRadixBytes {
        dispatch(Encode(poly, Shifted))
    }

    /// Decodes any string to the polynomial of a public key of NTRU Prime.
    #[must_use]
    pub fn decode_shifted(bytes: &<R as NtruPrimeRing>::MixedRadixBytes) -> Poly<R> {
        let mut poly = Poly::zero();
        dispatch(Decode { bytes, poly: &mut poly, numbering: Shifted });
        poly
    }

    /// Rounds each coefficient to the nearest multiple of 3, and encodes these.
    ///
    /// The coefficients are centred first: the representatives in `-(q - 1)/2..=(q - 1)/2` are
    /// rounded.
    #[must_use]
    pub fn encode_rounded(poly: &Poly<R>) -> <R as NtruPrimeRing>::MixedRadixThirdsBytes {
        dispatch(Encode(poly, Thirds))
    }

    /// Decodes any string to a polynomial whose centred coefficients are multiples of 3.
    #[must_use]
    pub fn decode_rounded(bytes: &<R as NtruPrimeRing>::MixedRadixThirdsBytes) -> Poly<R> {
        let mut poly = Poly::zero();
        dispatch(Decode { bytes, poly: &mut poly, numbering: Thirds });
        poly
    }
}

/// Which number an encoding holds for a coefficient in `0..q`.
trait Numbering<R: NtruPrimeRing> {
    /// The plan of the encoding.
    const PLAN: Plan;
    /// The array of its bytes.
    type Bytes: Array<u8>;

    /// Returns the number that stands for a coefficient.
    fn number(&self, c: u16) -> u16;
    /// Returns the coefficient for which a number stands.
    fn coefficient(&self, number: u16) -> u16;
}

/// The coefficient itself.
struct Canonical;

impl<R: NtruPrimeRing> Numbering<R> for Canonical {
    const PLAN: Plan = R::MIXED_RADIX;
    type Bytes = R::MixedRadixBytes;

    #[inline(always)]
    fn number(&self, c: u16) -> u16 {
        c
    }
    #[inline(always)]
    fn coefficient(&self, number: u16) -> u16 {
        number
    }
}

/// The centred coefficient plus `(q - 1)/2`.
struct Shifted;

impl<R: NtruPrimeRing> Numbering<R> for Shifted {
    const PLAN: Plan = R::MIXED_RADIX;
    type Bytes = R::MixedRadixBytes;

    #[inline(always)]
    fn number(&self, c: u16) -> u16 {
        // A negative difference is a large unsigned number, so the minimum is the canonical one.
        let number = c + (R::Q / 2) as u16;
        number.min(number.wrapping_sub(R::Q as u16))
    }
    #[inline(always)]
    fn coefficient(&self, number: u16) -> u16 {
        let difference = number.wrapping_sub((R::Q / 2) as u16);
        difference.min(difference.wrapping_add(R::Q as u16))
    }
}

/// The centred coefficient plus `(q - 1)/2`, divided by 3 and rounded.
struct Thirds;

impl<R: NtruPrimeRing> Numbering<R> for Thirds {
    const PLAN: Plan = R::MIXED_RADIX_THIRDS;
    type Bytes = R::MixedRadixThirdsBytes;

    #[inline(always)]
    fn number(&self, c: u16) -> u16 {
        // `(q - 1)/2` is a multiple of 3. The product with a number up to 2^14 is exact:
        // 3 * 10923 = 2^15 + 1.
        const { assert!(R::Q % 6 == 1 && R::Q < 1 << 13) };
        ((u32::from(<Shifted as Numbering<R>>::number(&Shifted, c) + 1) * 10923) >> 15) as u16
    }
    #[inline(always)]
    fn coefficient(&self, number: u16) -> u16 {
        <Shifted as Numbering<R>>::coefficient(&Shifted, 3 * number)
    }
}

struct Encode<'a, R: NtruPrimeRing, N>(&'a Poly<R>, N);

impl<R: NtruPrimeRing, N: Numbering<R>> WithSimd for Encode<'_, R, N> {
    type Output = N::Bytes;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> N::Bytes {
        let mut values = R::Coeffs::zeroed();
        for (value, &c) in values.as_mut().iter_mut().zip(self.0.coefficients()) {
            *value = self.1.number(c);
        }
        let mut scratch = R::Coeffs::zeroed();
        let mut bytes = N::Bytes::zeroed();
        const { N::PLAN }.encode(values.as_mut(), scratch.as_mut(), bytes.as_mut());
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

struct Decode<'a, R: NtruPrimeRing, N: Numbering<R>> {
    bytes: &'a N::Bytes,
    poly: &'a mut Poly<R>,
    numbering: N,
}

impl<R: NtruPrimeRing, N: Numbering<R>> WithSimd for Decode<'_, R, N> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> bool {
        let Self { bytes, poly, numbering } = self;
        let coefficients = poly.coefficients_mut();
        let mut scratch = R::Coeffs::zeroed();
        let is_canonical = const { N::PLAN }.decode(bytes.as_ref(), coefficients, scratch.as_mut());
        for c in coefficients {
            *c = numbering.coefficient(*c);
        }
        is_canonical
    }
}
