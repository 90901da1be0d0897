//! The secret polynomial `f = 2 f' + 1` at four bits a coefficient.
//!
//! Coefficient `f_i` is stored as the nibble `B - f_i`, `B = 2 eta + 1`, low nibble of a byte first. `n` is
//! odd, so the high nibble of the last byte is free and 0. As `|f'_i| <= eta`, a nibble of a real key is odd
//! and in `1..=4 eta + 1`, that of `f_0` even and in `0..=4 eta`.

use core::fmt;

use crate::array::Array;
use crate::poly::SmallPoly;
use crate::ring::Ring;
use crate::simd::{Simd, WithSimd, dispatch};

/// The string is not the [`pack`] of any secret `f = 2 f' + 1`. Where it differs is not told: it is a secret.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct InvalidSecretPoly;

impl fmt::Display for InvalidSecretPoly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes are not those of a secret polynomial")
    }
}

impl core::error::Error for InvalidSecretPoly {}

/// The nibble of a coefficient in `-bound..=bound`, where `bound` is [`SmallPoly::BOUND`]: `0..=2 bound`.
#[inline(always)]
#[must_use]
pub fn nibble(bound: u8, coefficient: i8) -> u8 {
    bound.wrapping_sub(coefficient as u8)
}

/// The coefficient of a nibble, the inverse of [`nibble`].
#[inline(always)]
#[must_use]
pub fn coefficient(bound: u8, nibble: u8) -> i8 {
    bound.wrapping_sub(nibble) as i8
}

/// Packs the secret polynomial `f`.
#[must_use]
pub fn pack<R: Ring>(f: &SmallPoly<R>) -> R::SecretPolyBytes {
    R::pack_secret(f)
}

pub(crate) fn pack_nibbles<R: Ring>(f: &SmallPoly<R>) -> R::SecretPolyBytes {
    dispatch(Pack(f))
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

/// Reads what [`pack`] wrote.
///
/// # Errors
/// [`InvalidSecretPoly`] if the string holds a nibble that no `f = 2 f' + 1`, `|f'_i| <= eta`, has, or if the
/// high nibble of the last byte is not 0. The time depends on nothing but this yes or no.
pub fn unpack<R: Ring>(bytes: &R::SecretPolyBytes) -> Result<SmallPoly<R>, InvalidSecretPoly> {
    R::unpack_secret(bytes)
}

pub(crate) fn unpack_nibbles<R: Ring>(
    bytes: &R::SecretPolyBytes,
) -> Result<SmallPoly<R>, InvalidSecretPoly> {
    let bound = SmallPoly::<R>::BOUND as u8;
    let largest = 4 * R::ETA as u8 + 1;
    // Nonzero in the lowest or the highest bit exactly for a nibble (0..=15) that is even or above `largest`.
    let fault = |nibble: u8| (!nibble & 1) | (largest.wrapping_sub(nibble) & 0x80);

    let bytes = bytes.as_ref();
    let mut f = SmallPoly::zero();
    let (pairs, last) = f.coefficients_mut().as_chunks_mut::<2>();
    // What holds for the other nibbles holds for that of f_0 plus 1, so the first is lifted by 1 for the
    // check. If it is 15 the lifted one is 16: even, a fault as it should be.
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
