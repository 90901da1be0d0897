//! The secret polynomial `f = 2 f' + 1` at four bits per coefficient.
//!
//! Coefficient `f_i` becomes the nibble `B - f_i`, `B = 2 eta + 1`. The low nibble of a byte comes
//! first. `n` is odd, so the high nibble of the last byte is free and 0. Because `|f'_i| <= eta`,
//! the nibble of `f_0` is even and in `0..=4 eta`, and the nibbles of all other coefficients are
//! odd and in `1..=4 eta + 1`.

use core::fmt;

use crate::array::Array;
use crate::compiled::compiled;
use crate::kernel::secret_poly::{coefficient, nibble};
use crate::poly::SmallPoly;
use crate::ring::Ring;
use crate::simd::{Simd, WithSimd, dispatch};

/// The string is not an output of [`pack`]. The error does not tell which nibble is wrong, because
/// the string is secret.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct InvalidSecretPoly;

impl fmt::Display for InvalidSecretPoly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes are not those of a secret polynomial")
    }
}

impl core::error::Error for InvalidSecretPoly {}

compiled! {
    Ring:

    /// Packs the secret polynomial `f`.
    #[must_use]
    pub fn pack(f: &SmallPoly<R>) -> <R as Ring>::SecretPolyBytes {
        dispatch(Pack(f))
    }

    /// Unpacks an output of [`pack`], and rejects every other string.
    ///
    /// # Errors
    /// Returns [`InvalidSecretPoly`] if a nibble encodes a coefficient that no `f = 2 f' + 1` with
    /// `|f'_i| <= eta` has at this position, or if the high nibble of the last byte is not 0. The
    /// time depends only on whether the function returns an error.
    pub fn unpack(
        bytes: &<R as Ring>::SecretPolyBytes,
    ) -> Result<SmallPoly<R>, InvalidSecretPoly> {
        unpack_nibbles(bytes)
    }
}

struct Pack<'a, R: Ring>(&'a SmallPoly<R>);

impl<R: Ring> WithSimd for Pack<'_, R> {
    type Output = R::SecretPolyBytes;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> R::SecretPolyBytes {
        let bound = SmallPoly::<R>::BOUND as u8;
        let mut bytes = R::SecretPolyBytes::zeroed();
        let (pairs, last) = self.0.coefficients().as_chunks::<2>();
        for (byte, &[even, odd]) in bytes.as_mut().iter_mut().zip(pairs) {
            *byte = nibble(bound, even) | nibble(bound, odd) << 4;
        }
        bytes.as_mut()[R::N / 2] = nibble(bound, last[0]);
        bytes
    }
}

/// Does the work of [`unpack`].
fn unpack_nibbles<R: Ring>(bytes: &R::SecretPolyBytes) -> Result<SmallPoly<R>, InvalidSecretPoly> {
    let bound = SmallPoly::<R>::BOUND as u8;
    let largest = 4 * R::ETA as u8 + 1;
    // The result is not 0 exactly for nibbles (0..=15) that are even or above `largest`.
    let fault = |nibble: u8| (!nibble & 1) | (largest.wrapping_sub(nibble) & 0x80);

    let bytes = bytes.as_ref();
    let mut f = SmallPoly::zero();
    let (pairs, last) = f.coefficients_mut().as_chunks_mut::<2>();
    // f_0 is odd and the other coefficients are even, so the nibble of f_0 plus 1 is checked
    // like the other nibbles. A nibble of 15 becomes 16, which is even and therefore a fault.
    let mut faults = fault((bytes[0] & 15) + 1) | fault(bytes[0] >> 4);
    for (pair, &byte) in pairs.iter_mut().zip(bytes) {
        *pair = [coefficient(bound, byte & 15), coefficient(bound, byte >> 4)];
    }
    for &byte in &bytes[1..R::N / 2] {
        faults |= fault(byte & 15) | fault(byte >> 4);
    }
    let end = bytes[R::N / 2];
    last[0] = coefficient(bound, end & 15);
    faults |= fault(end & 15) | end >> 4;

    if faults == 0 { Ok(f) } else { Err(InvalidSecretPoly) }
}
