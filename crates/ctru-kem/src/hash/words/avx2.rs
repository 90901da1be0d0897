//! Four states in AVX2.

use core::arch::x86_64::*;
use core::mem::transmute;

use super::{Row, Words};

/// Issues instructions of AVX2.
macro_rules! avx2 {
    ($call:expr) => {{
        // SAFETY: vectors of this type exist only where `dispatch` has made sure of AVX2.
        #[allow(unsafe_code)]
        unsafe {
            $call
        }
    }};
}

#[derive(Copy, Clone)]
pub(super) struct Avx2(__m256i);

impl Words for Avx2 {
    const STATES: usize = 4;

    #[inline(always)]
    fn splat(x: u64) -> Self {
        Self(avx2!(_mm256_set1_epi64x(x.cast_signed())))
    }
    #[inline(always)]
    fn load(row: &Row) -> Self {
        let words = *row.first_chunk::<4>().expect("a row is longer");
        // SAFETY: both types are 32 bytes in which every bit pattern is valid.
        #[allow(unsafe_code)]
        Self(unsafe { transmute::<[u64; 4], __m256i>(words) })
    }
    #[inline(always)]
    fn store(self, row: &mut Row) {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        let words = unsafe { transmute::<__m256i, [u64; 4]>(self.0) };
        *row.first_chunk_mut::<4>().expect("a row is longer") = words;
    }
    #[inline(always)]
    fn xor(self, y: Self) -> Self {
        Self(avx2!(_mm256_xor_si256(self.0, y.0)))
    }
    #[inline(always)]
    fn rotate_left(self, bits: u32) -> Self {
        let bits = bits.cast_signed();
        Self(avx2!(_mm256_or_si256(
            _mm256_sll_epi64(self.0, _mm_cvtsi32_si128(bits)),
            _mm256_srl_epi64(self.0, _mm_cvtsi32_si128(64 - bits))
        )))
    }
    #[inline(always)]
    fn xor_not_and(self, y: Self, z: Self) -> Self {
        Self(avx2!(_mm256_xor_si256(self.0, _mm256_andnot_si256(y.0, z.0))))
    }
}
