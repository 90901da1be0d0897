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
        let mut bytes = Array::zeroed();
        Code::of::<R>(Numbering::Canonical).encode(poly, &mut bytes);
        bytes
    }

    /// Decodes to `poly`, and returns whether its encoding is the same string.
    fn decode_to(bytes: &<R as NtruPrimeRing>::MixedRadixBytes, poly: &mut Poly<R>) -> bool {
        Code::of::<R>(Numbering::Canonical).decode(bytes, poly)
    }

    /// Encodes the polynomial of a public key of NTRU Prime.
    #[must_use]
    pub fn encode_shifted(poly: &Poly<R>) -> <R as NtruPrimeRing>::MixedRadixBytes {
        let mut bytes = Array::zeroed();
        Code::of::<R>(Numbering::Shifted).encode(poly, &mut bytes);
        bytes
    }

    /// Decodes any string to the polynomial of a public key of NTRU Prime.
    #[must_use]
    pub fn decode_shifted(bytes: &<R as NtruPrimeRing>::MixedRadixBytes) -> Poly<R> {
        let mut poly = Poly::zero();
        Code::of::<R>(Numbering::Shifted).decode(bytes, &mut poly);
        poly
    }

    /// Rounds each coefficient to the nearest multiple of 3, and encodes these.
    ///
    /// The coefficients are centred first: the representatives in `-(q - 1)/2..=(q - 1)/2` are
    /// rounded.
    #[must_use]
    pub fn encode_rounded(poly: &Poly<R>) -> <R as NtruPrimeRing>::MixedRadixThirdsBytes {
        let mut bytes = Array::zeroed();
        Code::of::<R>(Numbering::Thirds).encode(poly, &mut bytes);
        bytes
    }

    /// Decodes any string to a polynomial whose centred coefficients are multiples of 3.
    #[must_use]
    pub fn decode_rounded(bytes: &<R as NtruPrimeRing>::MixedRadixThirdsBytes) -> Poly<R> {
        let mut poly = Poly::zero();
        Code::of::<R>(Numbering::Thirds).decode(bytes, &mut poly);
        poly
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

/// Which number an encoding holds for a coefficient in `0..q`.
#[derive(Copy, Clone)]
enum Numbering {
    /// The coefficient itself.
    Canonical,
    /// The centred coefficient plus `(q - 1)/2`.
    Shifted,
    /// The centred coefficient plus `(q - 1)/2`, divided by 3 and rounded.
    Thirds,
}

/// An encoding. It is data, so that all rings share the code.
#[derive(Copy, Clone)]
struct Code {
    numbering: Numbering,
    q: u16,
    plan: &'static Plan,
}

impl Code {
    const fn of<R: NtruPrimeRing>(numbering: Numbering) -> Self {
        // `(q - 1)/2` is a multiple of 3.
        const { assert!(R::Q % 6 == 1 && R::Q < 1 << 13) };
        let plan = match numbering {
            Numbering::Canonical | Numbering::Shifted => const { &R::MIXED_RADIX },
            Numbering::Thirds => const { &R::MIXED_RADIX_THIRDS },
        };
        Self { numbering, q: R::Q as u16, plan }
    }

    #[inline(always)]
    fn encode<R: NtruPrimeRing>(self, poly: &Poly<R>, bytes: &mut impl Array<u8>) {
        let mut values = R::Coeffs::zeroed();
        values.as_mut().copy_from_slice(poly.coefficients());
        let mut scratch = R::Coeffs::zeroed();
        let (values, scratch, bytes) = (values.as_mut(), scratch.as_mut(), bytes.as_mut());
        self.encode_values(values, scratch, bytes);
    }

    #[inline(always)]
    fn decode<R: NtruPrimeRing>(self, bytes: &impl Array<u8>, poly: &mut Poly<R>) -> bool {
        let mut scratch = R::Coeffs::zeroed();
        self.decode_values(bytes.as_ref(), poly.coefficients_mut(), scratch.as_mut())
    }

    #[inline(never)]
    fn encode_values(self, values: &mut [u16], scratch: &mut [u16], bytes: &mut [u8]) {
        dispatch(Encode { code: self, values, scratch, bytes });
    }

    #[inline(never)]
    fn decode_values(self, bytes: &[u8], values: &mut [u16], scratch: &mut [u16]) -> bool {
        dispatch(Decode { code: self, bytes, values, scratch })
    }

    /// Puts numbers in place of coefficients.
    #[inline(always)]
    fn number(self, values: &mut [u16]) {
        let Self { numbering, q, .. } = self;
        match numbering {
            Numbering::Canonical => {}
            Numbering::Shifted => {
                for value in values {
                    *value = shifted(*value, q);
                }
            }
            Numbering::Thirds => {
                for value in values {
                    // The product with a number up to 2^14 is exact: 3 * 10923 = 2^15 + 1.
                    *value = ((u32::from(shifted(*value, q) + 1) * 10923) >> 15) as u16;
                }
            }
        }
    }

    /// Puts coefficients in place of numbers.
    #[inline(always)]
    fn coefficients(self, values: &mut [u16]) {
        let Self { numbering, q, .. } = self;
        match numbering {
            Numbering::Canonical => {}
            Numbering::Shifted => {
                for value in values {
                    *value = unshifted(*value, q);
                }
            }
            Numbering::Thirds => {
                for value in values {
                    *value = unshifted(3 * *value, q);
                }
            }
        }
    }
}

#[inline(always)]
fn shifted(c: u16, q: u16) -> u16 {
    // A negative difference is a large unsigned number, so the minimum is the canonical one.
    let number = c + q / 2;
    number.min(number.wrapping_sub(q))
}

#[inline(always)]
fn unshifted(number: u16, q: u16) -> u16 {
    let difference = number.wrapping_sub(q / 2);
    difference.min(difference.wrapping_add(q))
}

struct Encode<'a> {
    code: Code,
    values: &'a mut [u16],
    scratch: &'a mut [u16],
    bytes: &'a mut [u8],
}

impl WithSimd for Encode<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        self.code.number(self.values);
        self.code.plan.encode(self.values, self.scratch, self.bytes);
    }
}

struct Decode<'a> {
    code: Code,
    bytes: &'a [u8],
    values: &'a mut [u16],
    scratch: &'a mut [u16],
}

impl WithSimd for Decode<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> bool {
        let is_canonical = self.code.plan.decode(self.bytes, self.values, self.scratch);
        self.code.coefficients(self.values);
        is_canonical
    }
}
