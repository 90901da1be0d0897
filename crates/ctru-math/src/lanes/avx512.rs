//! Thirty-two lanes in AVX-512.

use core::arch::asm;
use core::arch::x86_64::*;
use core::array;
use core::mem::transmute;

use super::{Lanes, transpose};
use crate::backend::Backend;

/// Issues instructions of AVX-512.
macro_rules! avx512 {
    ($call:expr) => {{
        // SAFETY: vectors of this type exist only where `dispatch` has made sure of AVX-512.
        #[allow(unsafe_code)]
        unsafe {
            $call
        }
    }};
}

#[derive(Copy, Clone)]
pub(crate) struct Avx512(__m512i);

impl Lanes for Avx512 {
    const BACKEND: Backend = Backend::Avx512;
    const LANES: usize = 32;
    type Sums = [__m512i; 2];

    #[inline(always)]
    fn splat(x: i16) -> Self {
        Self(avx512!(_mm512_set1_epi16(x)))
    }
    #[inline(always)]
    fn halves(low: i16, high: i16) -> Self {
        Self(avx512!(_mm512_inserti64x4::<1>(_mm512_set1_epi16(low), _mm256_set1_epi16(high))))
    }
    #[inline(always)]
    fn load(x: &[i16]) -> Self {
        let lanes = *x.first_chunk::<32>().expect("a vector of elements");
        // SAFETY: both types are 64 bytes in which every bit pattern is valid.
        #[allow(unsafe_code)]
        Self(unsafe { transmute::<[i16; 32], __m512i>(lanes) })
    }
    #[inline(always)]
    fn load_twice(x: &[u16]) -> Self {
        let lanes = *x.first_chunk::<16>().expect("half a vector of elements");
        // SAFETY: both types are 32 bytes in which every bit pattern is valid.
        #[allow(unsafe_code)]
        let half = unsafe { transmute::<[u16; 16], __m256i>(lanes) };
        Self(avx512!(_mm512_broadcast_i64x4(half)))
    }
    #[inline(always)]
    fn load_twice_bytes(x: &[i8]) -> Self {
        let lanes = *x.first_chunk::<16>().expect("half a vector of elements");
        // SAFETY: both types are 16 bytes in which every bit pattern is valid.
        #[allow(unsafe_code)]
        let bytes = unsafe { transmute::<[i8; 16], __m128i>(lanes) };
        Self(avx512!(_mm512_broadcast_i64x4(_mm256_cvtepi8_epi16(bytes))))
    }
    #[inline(always)]
    fn store(self, x: &mut [i16]) {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        let lanes = unsafe { transmute::<__m512i, [i16; 32]>(self.0) };
        *x.first_chunk_mut::<32>().expect("a vector of elements") = lanes;
    }
    #[inline(always)]
    fn store_unsigned(self, x: &mut [u16]) {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        let lanes = unsafe { transmute::<__m512i, [u16; 32]>(self.0) };
        *x.first_chunk_mut::<32>().expect("a vector of elements") = lanes;
    }
    #[inline(always)]
    fn store_halves(self, low: &mut [i16], high: &mut [i16]) {
        let mut lanes = [0; 32];
        self.store(&mut lanes);
        low[..16].copy_from_slice(&lanes[..16]);
        high[..16].copy_from_slice(&lanes[16..]);
    }
    #[inline(always)]
    fn transpose<const HALF: usize>(rows: &mut [Self; HALF]) {
        let (upper, lower) = (eight_rows(&rows[..8]), eight_rows(&rows[8..]));
        let even = avx512!(_mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13));
        let odd = avx512!(_mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15));
        for i in 0..8 {
            rows[i] = Self(avx512!(_mm512_permutex2var_epi64(upper[i], even, lower[i])));
            rows[i + 8] = Self(avx512!(_mm512_permutex2var_epi64(upper[i], odd, lower[i])));
        }
    }
    #[inline(always)]
    fn add(self, y: Self) -> Self {
        Self(avx512!(_mm512_add_epi16(self.0, y.0)))
    }
    #[inline(always)]
    fn sub(self, y: Self) -> Self {
        Self(avx512!(_mm512_sub_epi16(self.0, y.0)))
    }
    #[inline(always)]
    fn mul_low(self, y: Self) -> Self {
        Self(avx512!(_mm512_mullo_epi16(self.0, y.0)))
    }
    #[inline(always)]
    fn mul_high(self, y: Self) -> Self {
        Self(avx512!(high_half(self.0, y.0)))
    }
    #[inline(always)]
    fn mul_round(self, y: Self) -> Self {
        Self(avx512!(_mm512_mulhrs_epi16(self.0, y.0)))
    }
    #[inline(always)]
    fn min_unsigned(self, y: Self) -> Self {
        Self(avx512!(_mm512_min_epu16(self.0, y.0)))
    }
    #[inline(always)]
    fn no_sums() -> Self::Sums {
        [avx512!(_mm512_setzero_si512()); 2]
    }
    #[inline(always)]
    fn add_products([x, y]: Self::Sums, a: [Self; 2], b: [Self; 2]) -> Self::Sums {
        // Of the lanes that interleaving puts first, and of the others.
        avx512!([
            _mm512_add_epi32(
                x,
                _mm512_madd_epi16(
                    _mm512_unpacklo_epi16(a[0].0, a[1].0),
                    _mm512_unpacklo_epi16(b[0].0, b[1].0)
                )
            ),
            _mm512_add_epi32(
                y,
                _mm512_madd_epi16(
                    _mm512_unpackhi_epi16(a[0].0, a[1].0),
                    _mm512_unpackhi_epi16(b[0].0, b[1].0)
                )
            ),
        ])
    }
    #[inline(always)]
    fn split([x, y]: Self::Sums) -> [Self; 2] {
        // In each quarter, words 0, 2, 4 and 6 of both, or words 1, 3, 5 and 7.
        let low: [i16; 32] = array::from_fn(|i| (i / 8 * 8 + i % 4 * 2 + i % 8 / 4 * 32) as i16);
        [low, low.map(|word| word + 1)]
            .map(|words| Self(avx512!(_mm512_permutex2var_epi16(x, Self::load(&words).0, y))))
    }
    #[inline(always)]
    fn shift_right<const BITS: i32>(self) -> Self {
        Self(avx512!(_mm512_sra_epi16(self.0, _mm_cvtsi32_si128(BITS))))
    }
    #[inline(always)]
    fn and(self, y: Self) -> Self {
        Self(avx512!(_mm512_and_si512(self.0, y.0)))
    }
    #[inline(always)]
    fn xor(self, y: Self) -> Self {
        Self(avx512!(_mm512_xor_si512(self.0, y.0)))
    }
}

/// Transposes eight rows: the vectors hold columns 0 to 7 in their even and 8 to 15 in their odd quarters.
#[inline(always)]
fn eight_rows(rows: &[Avx512]) -> [__m512i; 8] {
    transpose::eight(
        [rows[0].0, rows[1].0, rows[2].0, rows[3].0, rows[4].0, rows[5].0, rows[6].0, rows[7].0],
        |x, y| avx512!((_mm512_unpacklo_epi16(x, y), _mm512_unpackhi_epi16(x, y))),
        |x, y| avx512!((_mm512_unpacklo_epi32(x, y), _mm512_unpackhi_epi32(x, y))),
        |x, y| avx512!((_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y))),
    )
}

/// `floor(x y / 2^16)`. Not the intrinsic, for the reason given in `sse2`.
#[inline]
#[target_feature(enable = "avx512bw")]
fn high_half(x: __m512i, y: __m512i) -> __m512i {
    let product;
    // SAFETY: the instruction reads and writes registers only.
    #[allow(unsafe_code)]
    unsafe {
        asm!("vpmulhw {z}, {x}, {y}", z = lateout(zmm_reg) product, x = in(zmm_reg) x, y = in(zmm_reg) y,
            options(pure, nomem, nostack, preserves_flags));
    }
    product
}
