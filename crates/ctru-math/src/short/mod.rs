//! Sampling of small and short polynomials of Streamlined NTRU Prime from uniform words of 32 bits,
//! little-endian.
//!
//! A small polynomial has coefficients in `-1..=1`. A short one also has a fixed number of
//! coefficients other than 0, [`NtruPrimeRing::WEIGHT`]: their places follow from sorting.
//!
//! Source: NTRU Prime, round-3 specification (2020), sections 3.6 and 4.1, and its reference code.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod sort;

use crate::backend::Portable;
use crate::compiled::compiled;
use crate::poly::SmallPoly;
use crate::ring::NtruPrimeRing;
use crate::simd::{Simd, WithSimd, dispatch};
use crate::wipe::Scratch;
use sort::{GROUP, LANES, MOST_GROUPS, Plain, Row, sort};

compiled! {
    NtruPrimeRing:

    /// Returns the small polynomial whose coefficient `i` follows from 30 bits of word `i`.
    #[must_use]
    pub fn small(words: &<R as NtruPrimeRing>::Coeffs<[u8; 4]>) -> SmallPoly<R> {
        dispatch(Small(words))
    }

    /// Returns the short polynomial that `n` words determine: 30 bits of each are sorted, together
    /// with the coefficients.
    #[must_use]
    pub fn short(words: &<R as NtruPrimeRing>::Coeffs<[u8; 4]>) -> SmallPoly<R> {
        sorted(words)
    }
}

struct Small<'a, R: NtruPrimeRing>(&'a R::Coeffs<[u8; 4]>);

impl<R: NtruPrimeRing> WithSimd for Small<'_, R> {
    type Output = SmallPoly<R>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> SmallPoly<R> {
        let mut poly = SmallPoly::zero();
        for (c, &word) in poly.coefficients_mut().iter_mut().zip(self.0.as_ref()) {
            *c = ((3 * (u32::from_le_bytes(word) & 0x3fff_ffff)) >> 30) as i8 - 1;
        }
        poly
    }
}

/// Sorts words. All rings share the code.
struct Sort<'a>(&'a mut [[Row; GROUP]]);

impl WithSimd for Sort<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = simd.avx512() {
            return sort(&token, self.0);
        }
        let _ = simd;
        // Backends with vectors of 128 bits have no instructions but those that the whole crate is
        // compiled with, so they share one function.
        if const { S::LANES == Portable::LANES } {
            sort_plain(self.0);
        } else {
            sort(&Plain::new(), self.0);
        }
    }
}

/// Sorts with the instructions that every CPU of the target has.
#[inline(never)]
fn sort_plain(groups: &mut [[Row; GROUP]]) {
    sort(&Plain::new(), groups);
}

#[inline(never)]
fn sort_groups(groups: &mut [[Row; GROUP]]) {
    dispatch(Sort(groups));
}

/// Does the work of [`short`].
fn sorted<R: NtruPrimeRing>(words: &R::Coeffs<[u8; 4]>) -> SmallPoly<R> {
    let groups = const { R::N.div_ceil(GROUP * LANES) };
    let mut room = Scratch::<[Row; GROUP], [[Row; GROUP]; MOST_GROUPS]>::new();
    let room = &mut room[..groups];
    let padded = room.as_flattened_mut().as_flattened_mut();
    // The two lowest bits are the coefficient plus 1: even for the first words, or else 1.
    let (even, zero) = padded[..R::N].split_at_mut(R::WEIGHT);
    let words = words.as_ref();
    for (key, &word) in even.iter_mut().zip(&words[..R::WEIGHT]) {
        *key = u32::from_le_bytes(word) & !1;
    }
    for (key, &word) in zero.iter_mut().zip(&words[R::WEIGHT..]) {
        *key = u32::from_le_bytes(word) & !3 | 1;
    }
    padded[R::N..].fill(u32::MAX);
    sort_groups(room);
    let mut poly = SmallPoly::zero();
    for (c, &key) in poly.coefficients_mut().iter_mut().zip(room.as_flattened().as_flattened()) {
        *c = (key & 3) as i8 - 1;
    }
    poly
}
