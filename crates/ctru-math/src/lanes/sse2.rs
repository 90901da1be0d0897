//! Eight lanes in SSE2, which every x86-64 has.

use core::arch::asm;
use core::arch::x86_64::*;
use core::mem::transmute;

use super::Lanes;
use crate::backend::Backend;

/// Issues instructions of SSE2.
macro_rules! sse2 {
    ($call:expr) => {{
        // SAFETY: the x86-64 baseline includes SSE2, so there is no CPU on which this module is compiled without it.
        #[allow(unsafe_code)]
        unsafe {
            $call
        }
    }};
}

#[derive(Copy, Clone)]
pub(crate) struct Sse2(__m128i);

impl Lanes for Sse2 {
    const BACKEND: Backend = Backend::Sse2;
    const LANES: usize = 8;
    type Sums = [__m128i; 2];

    #[inline(always)]
    fn splat(x: i16) -> Self {
        Self(sse2!(_mm_set1_epi16(x)))
    }
    #[inline(always)]
    fn halves(low: i16, high: i16) -> Self {
        Self(sse2!(_mm_set_epi16(high, high, high, high, low, low, low, low)))
    }
    #[inline(always)]
    fn load(x: &[i16]) -> Self {
        let lanes: [i16; 8] = [x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]];
        // SAFETY: both types are 16 bytes in which every bit pattern is valid.
        #[allow(unsafe_code)]
        Self(unsafe { transmute::<[i16; 8], __m128i>(lanes) })
    }
    #[inline(always)]
    fn load_twice(x: &[u16]) -> Self {
        let x = [x[0] as i16, x[1] as i16, x[2] as i16, x[3] as i16];
        Self::load(&[x[0], x[1], x[2], x[3], x[0], x[1], x[2], x[3]])
    }
    #[inline(always)]
    fn load_twice_bytes(x: &[i8]) -> Self {
        let x = [i16::from(x[0]), i16::from(x[1]), i16::from(x[2]), i16::from(x[3])];
        Self::load(&[x[0], x[1], x[2], x[3], x[0], x[1], x[2], x[3]])
    }
    #[inline(always)]
    fn store(self, x: &mut [i16]) {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        let lanes = unsafe { transmute::<__m128i, [i16; 8]>(self.0) };
        x[..8].copy_from_slice(&lanes);
    }
    #[inline(always)]
    fn store_unsigned(self, x: &mut [u16]) {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        let lanes = unsafe { transmute::<__m128i, [u16; 8]>(self.0) };
        *x.first_chunk_mut::<8>().expect("a vector of elements") = lanes;
    }
    #[inline(always)]
    fn store_halves(self, low: &mut [i16], high: &mut [i16]) {
        let mut lanes = [0; 8];
        self.store(&mut lanes);
        low[..4].copy_from_slice(&lanes[..4]);
        high[..4].copy_from_slice(&lanes[4..]);
    }
    #[inline(always)]
    fn transpose<const HALF: usize>(rows: &mut [Self; HALF]) {
        let words = |x, y| sse2!((_mm_unpacklo_epi16(x, y), _mm_unpackhi_epi16(x, y)));
        let (low01, high01) = words(rows[0].0, rows[1].0);
        let (low23, high23) = words(rows[2].0, rows[3].0);
        for (i, low, high) in sse2!([
            (0, _mm_unpacklo_epi32(low01, low23), _mm_unpacklo_epi32(high01, high23)),
            (2, _mm_unpackhi_epi32(low01, low23), _mm_unpackhi_epi32(high01, high23)),
        ]) {
            rows[i] = Self(sse2!(_mm_unpacklo_epi64(low, high)));
            rows[i + 1] = Self(sse2!(_mm_unpackhi_epi64(low, high)));
        }
    }
    #[inline(always)]
    fn add(self, y: Self) -> Self {
        Self(sse2!(_mm_add_epi16(self.0, y.0)))
    }
    #[inline(always)]
    fn sub(self, y: Self) -> Self {
        Self(sse2!(_mm_sub_epi16(self.0, y.0)))
    }
    #[inline(always)]
    fn mul_low(self, y: Self) -> Self {
        Self(sse2!(_mm_mullo_epi16(self.0, y.0)))
    }
    #[inline(always)]
    fn mul_high(self, y: Self) -> Self {
        // Not the intrinsic: it reaches LLVM as a widening product, which LLVM takes apart into many instructions
        // where one operand stays the same throughout a loop.
        let product: __m128i;
        #[cfg(not(target_feature = "avx"))]
        sse2!(
            asm!("pmulhw {x}, {y}", x = inlateout(xmm_reg) self.0 => product, y = in(xmm_reg) y.0,
            options(pure, nomem, nostack, preserves_flags))
        );
        // Under AVX the old encoding would cost a switch of state.
        #[cfg(target_feature = "avx")]
        sse2!(
            asm!("vpmulhw {z}, {x}, {y}", z = lateout(xmm_reg) product, x = in(xmm_reg) self.0, y = in(xmm_reg) y.0,
            options(pure, nomem, nostack, preserves_flags))
        );
        Self(product)
    }
    #[inline(always)]
    fn mul_round(self, y: Self) -> Self {
        // floor(x y / 2^15), and one more where bit 14 of the product is set.
        let (high, low) = (self.mul_high(y).0, self.mul_low(y).0);
        let quotient = sse2!(_mm_or_si128(_mm_add_epi16(high, high), _mm_srli_epi16::<15>(low)));
        let half = sse2!(_mm_and_si128(_mm_srli_epi16::<14>(low), _mm_set1_epi16(1)));
        Self(sse2!(_mm_add_epi16(quotient, half)))
    }
    #[inline(always)]
    fn min_unsigned(self, y: Self) -> Self {
        Self(sse2!(_mm_sub_epi16(self.0, _mm_subs_epu16(self.0, y.0))))
    }
    #[inline(always)]
    fn no_sums() -> Self::Sums {
        [sse2!(_mm_setzero_si128()); 2]
    }
    #[inline(always)]
    fn add_products([x, y]: Self::Sums, a: [Self; 2], b: [Self; 2]) -> Self::Sums {
        // Of the lanes that interleaving puts first, and of the others.
        sse2!([
            _mm_add_epi32(
                x,
                _mm_madd_epi16(
                    _mm_unpacklo_epi16(a[0].0, a[1].0),
                    _mm_unpacklo_epi16(b[0].0, b[1].0)
                )
            ),
            _mm_add_epi32(
                y,
                _mm_madd_epi16(
                    _mm_unpackhi_epi16(a[0].0, a[1].0),
                    _mm_unpackhi_epi16(b[0].0, b[1].0)
                )
            ),
        ])
    }
    #[inline(always)]
    fn split(sums: Self::Sums) -> [Self; 2] {
        let pack = |[x, y]: Self::Sums| {
            sse2!(_mm_packs_epi32(_mm_srai_epi32::<16>(x), _mm_srai_epi32::<16>(y)))
        };
        [Self(pack(sums.map(|sums| sse2!(_mm_slli_epi32::<16>(sums))))), Self(pack(sums))]
    }
    #[inline(always)]
    fn shift_right<const BITS: i32>(self) -> Self {
        Self(sse2!(_mm_srai_epi16::<BITS>(self.0)))
    }
    #[inline(always)]
    fn and(self, y: Self) -> Self {
        Self(sse2!(_mm_and_si128(self.0, y.0)))
    }
    #[inline(always)]
    fn xor(self, y: Self) -> Self {
        Self(sse2!(_mm_xor_si128(self.0, y.0)))
    }
}
