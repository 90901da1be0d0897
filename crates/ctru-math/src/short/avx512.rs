//! The steps of the sorting network in AVX-512: a row is one vector.

use core::arch::x86_64::*;
use core::mem::transmute;

use super::sort::{Compare, LANES, Row};
use crate::backend::Avx512;

impl Compare for Avx512 {
    #[inline(always)]
    fn order(&self, low: &mut Row, high: &mut Row) {
        // SAFETY: the token exists only where the CPU has AVX-512F.
        #[allow(unsafe_code)]
        unsafe {
            order(low, high);
        }
    }
    #[inline(always)]
    fn order_reversed(&self, low: &mut Row, high: &mut Row) {
        // SAFETY: the token exists only where the CPU has AVX-512F.
        #[allow(unsafe_code)]
        unsafe {
            order_reversed(low, high);
        }
    }
    #[inline(always)]
    fn sort_row(&self, row: &mut Row) {
        // SAFETY: the token exists only where the CPU has AVX-512F.
        #[allow(unsafe_code)]
        unsafe {
            sort_row(row);
        }
    }
    #[inline(always)]
    fn merge_row(&self, row: &mut Row) {
        // SAFETY: the token exists only where the CPU has AVX-512F.
        #[allow(unsafe_code)]
        unsafe {
            merge_row(row);
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn vector(row: Row) -> __m512i {
    // SAFETY: both types are 64 bytes in which every bit pattern is valid.
    #[allow(unsafe_code)]
    unsafe {
        transmute::<Row, __m512i>(row)
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn row(vector: __m512i) -> Row {
    // SAFETY: both types are 64 bytes in which every bit pattern is valid.
    #[allow(unsafe_code)]
    unsafe {
        transmute::<__m512i, Row>(vector)
    }
}

/// Returns the lanes whose numbers differ in the bits `PARTNER`.
#[inline]
#[target_feature(enable = "avx512f")]
fn partners<const PARTNER: usize>(x: __m512i) -> __m512i {
    let partners = const {
        let mut partners = [0; LANES];
        let mut i = 0;
        while i < LANES {
            partners[i] = (i ^ PARTNER) as u32;
            i += 1;
        }
        partners
    };
    _mm512_permutexvar_epi32(vector(partners), x)
}

/// Compares each lane with its partner, and moves the larger word to the higher lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn step<const PARTNER: usize>(x: __m512i) -> __m512i {
    // The lanes that are above their partners: those whose number has the highest bit of `PARTNER`.
    let higher = const { [0xaaaa, 0xcccc, 0xf0f0, 0xff00][PARTNER.ilog2() as usize] };
    let other = partners::<PARTNER>(x);
    _mm512_mask_max_epu32(_mm512_min_epu32(x, other), higher, x, other)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn order(low: &mut Row, high: &mut Row) {
    let (a, b) = (vector(*low), vector(*high));
    *low = row(_mm512_min_epu32(a, b));
    *high = row(_mm512_max_epu32(a, b));
}

#[inline]
#[target_feature(enable = "avx512f")]
fn order_reversed(low: &mut Row, high: &mut Row) {
    let (a, b) = (vector(*low), partners::<{ LANES - 1 }>(vector(*high)));
    *low = row(_mm512_min_epu32(a, b));
    *high = row(partners::<{ LANES - 1 }>(_mm512_max_epu32(a, b)));
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sort_row(words: &mut Row) {
    let x = step::<1>(vector(*words));
    let x = step::<1>(step::<3>(x));
    let x = step::<1>(step::<2>(step::<7>(x)));
    *words = row(step::<1>(step::<2>(step::<4>(step::<15>(x)))));
}

#[inline]
#[target_feature(enable = "avx512f")]
fn merge_row(words: &mut Row) {
    *words = row(step::<1>(step::<2>(step::<4>(step::<8>(vector(*words))))));
}
