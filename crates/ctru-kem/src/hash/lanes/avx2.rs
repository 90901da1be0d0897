//! AVX2: vectors with one lane of each of four states.
#![allow(unsafe_code)]

use core::arch::x86_64::*;
use core::mem::transmute;

use super::{Lanes, Row};

#[derive(Copy, Clone)]
pub(super) struct Avx2(__m256i);

impl Lanes for Avx2 {
    const STATES: usize = 4;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller guarantees that the CPU has AVX2.
        Self(unsafe { _mm256_setzero_si256() })
    }
    #[inline(always)]
    fn splat(self, x: u64) -> Self {
        // SAFETY: `self` exists, so the CPU has AVX2.
        Self(unsafe { _mm256_set1_epi64x(x.cast_signed()) })
    }
    #[inline(always)]
    fn load(self, row: &Row) -> Self {
        let lanes = *row.first_chunk::<4>().expect("a row is longer");
        // SAFETY: both types are 32 bytes in which every bit pattern is valid.
        Self(unsafe { transmute::<[u64; 4], __m256i>(lanes) })
    }
    #[inline(always)]
    fn store(self, row: &mut Row) {
        // SAFETY: both types are 32 bytes in which every bit pattern is valid.
        let lanes = unsafe { transmute::<__m256i, [u64; 4]>(self.0) };
        *row.first_chunk_mut::<4>().expect("a row is longer") = lanes;
    }
    #[inline(always)]
    fn add(self, y: Self) -> Self {
        // SAFETY: `self` exists, so the CPU has AVX2.
        Self(unsafe { _mm256_add_epi64(self.0, y.0) })
    }
    #[inline(always)]
    fn and(self, y: Self) -> Self {
        // SAFETY: `self` exists, so the CPU has AVX2.
        Self(unsafe { _mm256_and_si256(self.0, y.0) })
    }
    #[inline(always)]
    fn shift_right(self, bits: u32) -> Self {
        // SAFETY: `self` exists, so the CPU has AVX2.
        Self(unsafe { _mm256_srl_epi64(self.0, _mm_cvtsi32_si128(bits.cast_signed())) })
    }
    #[inline(always)]
    fn xor(self, y: Self) -> Self {
        // SAFETY: `self` exists, so the CPU has AVX2.
        Self(unsafe { _mm256_xor_si256(self.0, y.0) })
    }
    #[inline(always)]
    fn rotate_left(self, bits: u32) -> Self {
        let bits = bits.cast_signed();
        // SAFETY: `self` exists, so the CPU has AVX2.
        Self(unsafe {
            _mm256_or_si256(
                _mm256_sll_epi64(self.0, _mm_cvtsi32_si128(bits)),
                _mm256_srl_epi64(self.0, _mm_cvtsi32_si128(64 - bits)),
            )
        })
    }
    #[inline(always)]
    fn xor3(self, y: Self, z: Self) -> Self {
        self.xor(y).xor(z)
    }
    #[inline(always)]
    fn xor_not_and(self, y: Self, z: Self) -> Self {
        // SAFETY: `self` exists, so the CPU has AVX2.
        Self(unsafe { _mm256_xor_si256(self.0, _mm256_andnot_si256(y.0, z.0)) })
    }
}
