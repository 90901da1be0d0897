//! Sixteen lanes in AVX2.

use core::arch::asm;
use core::arch::x86_64::*;
use core::mem::transmute;

use super::{Lanes, transpose};
use crate::backend::Backend;

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
pub(crate) struct Avx2(__m256i);

impl Lanes for Avx2 {
    const BACKEND: Backend = Backend::Avx2;
    const LANES: usize = 16;
    type Sums = [__m256i; 2];

    #[inline(always)]
    fn splat(x: i16) -> Self {
        Self(avx2!(_mm256_set1_epi16(x)))
    }
    #[inline(always)]
    fn halves(low: i16, high: i16) -> Self {
        Self(avx2!(_mm256_set_m128i(_mm_set1_epi16(high), _mm_set1_epi16(low))))
    }
    #[inline(always)]
    fn load(x: &[i16]) -> Self {
        let lanes = *x.first_chunk::<16>().expect("a vector of elements");
        // SAFETY: both types are 32 bytes in which every bit pattern is valid.
        #[allow(unsafe_code)]
        Self(unsafe { transmute::<[i16; 16], __m256i>(lanes) })
    }
    #[inline(always)]
    fn load_twice(x: &[u16]) -> Self {
        let lanes = *x.first_chunk::<8>().expect("half a vector of elements");
        // SAFETY: both types are 16 bytes in which every bit pattern is valid.
        #[allow(unsafe_code)]
        let half = unsafe { transmute::<[u16; 8], __m128i>(lanes) };
        Self(avx2!(_mm256_broadcastsi128_si256(half)))
    }
    #[inline(always)]
    fn load_twice_bytes(x: &[i8]) -> Self {
        let bytes = x.first_chunk::<8>().expect("half a vector of elements").map(|x| x as u8);
        let half = avx2!(_mm_cvtepi8_epi16(_mm_cvtsi64_si128(i64::from_le_bytes(bytes))));
        Self(avx2!(_mm256_broadcastsi128_si256(half)))
    }
    #[inline(always)]
    fn store(self, x: &mut [i16]) {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        let lanes = unsafe { transmute::<__m256i, [i16; 16]>(self.0) };
        *x.first_chunk_mut::<16>().expect("a vector of elements") = lanes;
    }
    #[inline(always)]
    fn store_unsigned(self, x: &mut [u16]) {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        let lanes = unsafe { transmute::<__m256i, [u16; 16]>(self.0) };
        *x.first_chunk_mut::<16>().expect("a vector of elements") = lanes;
    }
    #[inline(always)]
    fn store_halves(self, low: &mut [i16], high: &mut [i16]) {
        let mut lanes = [0; 16];
        self.store(&mut lanes);
        low[..8].copy_from_slice(&lanes[..8]);
        high[..8].copy_from_slice(&lanes[8..]);
    }
    #[inline(always)]
    fn transpose<const HALF: usize>(rows: &mut [Self; HALF]) {
        // The halves are what the interleaving instructions never mix.
        let columns = transpose::eight(
            [rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7]]
                .map(|row| row.0),
            |x, y| avx2!((_mm256_unpacklo_epi16(x, y), _mm256_unpackhi_epi16(x, y))),
            |x, y| avx2!((_mm256_unpacklo_epi32(x, y), _mm256_unpackhi_epi32(x, y))),
            |x, y| avx2!((_mm256_unpacklo_epi64(x, y), _mm256_unpackhi_epi64(x, y))),
        );
        for (row, column) in rows.iter_mut().zip(columns) {
            *row = Self(column);
        }
    }
    #[inline(always)]
    fn add(self, y: Self) -> Self {
        Self(avx2!(_mm256_add_epi16(self.0, y.0)))
    }
    #[inline(always)]
    fn sub(self, y: Self) -> Self {
        Self(avx2!(_mm256_sub_epi16(self.0, y.0)))
    }
    #[inline(always)]
    fn mul_low(self, y: Self) -> Self {
        Self(avx2!(_mm256_mullo_epi16(self.0, y.0)))
    }
    #[inline(always)]
    fn mul_high(self, y: Self) -> Self {
        Self(avx2!(high_half(self.0, y.0)))
    }
    #[inline(always)]
    fn mul_round(self, y: Self) -> Self {
        Self(avx2!(_mm256_mulhrs_epi16(self.0, y.0)))
    }
    #[inline(always)]
    fn min_unsigned(self, y: Self) -> Self {
        Self(avx2!(_mm256_min_epu16(self.0, y.0)))
    }
    #[inline(always)]
    fn no_sums() -> Self::Sums {
        [avx2!(_mm256_setzero_si256()); 2]
    }
    #[inline(always)]
    fn add_products([x, y]: Self::Sums, a: [Self; 2], b: [Self; 2]) -> Self::Sums {
        // Of the lanes that interleaving puts first, and of the others.
        avx2!([
            _mm256_add_epi32(
                x,
                _mm256_madd_epi16(
                    _mm256_unpacklo_epi16(a[0].0, a[1].0),
                    _mm256_unpacklo_epi16(b[0].0, b[1].0)
                )
            ),
            _mm256_add_epi32(
                y,
                _mm256_madd_epi16(
                    _mm256_unpackhi_epi16(a[0].0, a[1].0),
                    _mm256_unpackhi_epi16(b[0].0, b[1].0)
                )
            ),
        ])
    }
    #[inline(always)]
    fn split(sums: Self::Sums) -> [Self; 2] {
        let pack = |[x, y]: Self::Sums| Self(avx2!(_mm256_packus_epi32(x, y)));
        let low = sums.map(|sums| avx2!(_mm256_and_si256(sums, _mm256_set1_epi32(0xffff))));
        [pack(low), pack(sums.map(|sums| avx2!(_mm256_srli_epi32::<16>(sums))))]
    }
    #[inline(always)]
    fn shift_right<const BITS: i32>(self) -> Self {
        Self(avx2!(_mm256_srai_epi16::<BITS>(self.0)))
    }
    #[inline(always)]
    fn and(self, y: Self) -> Self {
        Self(avx2!(_mm256_and_si256(self.0, y.0)))
    }
    #[inline(always)]
    fn xor(self, y: Self) -> Self {
        Self(avx2!(_mm256_xor_si256(self.0, y.0)))
    }
}

/// `floor(x y / 2^16)`. Not the intrinsic, for the reason given in `sse2`.
#[inline]
#[target_feature(enable = "avx2")]
fn high_half(x: __m256i, y: __m256i) -> __m256i {
    let product;
    // SAFETY: the instruction reads and writes registers only.
    #[allow(unsafe_code)]
    unsafe {
        asm!("vpmulhw {z}, {x}, {y}", z = lateout(ymm_reg) product, x = in(ymm_reg) x, y = in(ymm_reg) y,
            options(pure, nomem, nostack, preserves_flags));
    }
    product
}
