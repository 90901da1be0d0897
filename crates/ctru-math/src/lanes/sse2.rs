//! Eight lanes in SSE2, which every x86-64 has.

use core::arch::asm;
use core::arch::x86_64::*;
use core::mem::transmute;

use super::Lanes;

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
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(x: i16) -> Self {
        Self(sse2!(_mm_set1_epi16(x)))
    }
    #[inline(always)]
    fn load(x: &[i16]) -> Self {
        let lanes: [i16; 8] = [x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]];
        // SAFETY: both types are 16 bytes in which every bit pattern is valid.
        #[allow(unsafe_code)]
        Self(unsafe { transmute::<[i16; 8], __m128i>(lanes) })
    }
    #[inline(always)]
    fn store(self, x: &mut [i16]) {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        let lanes = unsafe { transmute::<__m128i, [i16; 8]>(self.0) };
        x[..8].copy_from_slice(&lanes);
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
        sse2!(asm!("pmulhw {x}, {y}", x = inlateout(xmm_reg) self.0 => product, y = in(xmm_reg) y.0,
            options(pure, nomem, nostack, preserves_flags)));
        // Under AVX the old encoding would cost a switch of state.
        #[cfg(target_feature = "avx")]
        sse2!(
            asm!("vpmulhw {z}, {x}, {y}", z = lateout(xmm_reg) product, x = in(xmm_reg) self.0, y = in(xmm_reg) y.0,
            options(pure, nomem, nostack, preserves_flags))
        );
        Self(product)
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
    #[inline(always)]
    fn greater_than(self, y: Self) -> Self {
        Self(sse2!(_mm_cmpgt_epi16(self.0, y.0)))
    }
}
