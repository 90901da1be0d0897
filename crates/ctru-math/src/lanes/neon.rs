//! Eight lanes in NEON, a part of every 64-bit Arm target but those without floating point.

use core::arch::aarch64::*;
use core::mem::transmute;

use super::Lanes;
use crate::backend::Backend;

/// Issues instructions of NEON.
macro_rules! neon {
    ($call:expr) => {{
        // SAFETY: this module is compiled only for targets of which NEON is a part.
        #[allow(unsafe_code)]
        unsafe {
            $call
        }
    }};
}

#[derive(Copy, Clone)]
pub(crate) struct Neon(int16x8_t);

impl Lanes for Neon {
    const BACKEND: Backend = Backend::Neon;
    const LANES: usize = 8;
    /// Of the lower and the upper half.
    type Sums = [int32x4_t; 2];

    #[inline(always)]
    fn splat(x: i16) -> Self {
        Self(neon!(vdupq_n_s16(x)))
    }
    #[inline(always)]
    fn halves(low: i16, high: i16) -> Self {
        Self(neon!(vcombine_s16(vdup_n_s16(low), vdup_n_s16(high))))
    }
    #[inline(always)]
    fn load(x: &[i16]) -> Self {
        let lanes = *x.first_chunk::<8>().expect("a vector of elements");
        // SAFETY: both types are 16 bytes in which every bit pattern is valid.
        #[allow(unsafe_code)]
        Self(unsafe { transmute::<[i16; 8], int16x8_t>(lanes) })
    }
    #[inline(always)]
    fn load_twice(x: &[u16]) -> Self {
        let lanes = *x.first_chunk::<4>().expect("half a vector of elements");
        // SAFETY: both types are 8 bytes in which every bit pattern is valid.
        #[allow(unsafe_code)]
        let half = unsafe { transmute::<[u16; 4], int16x4_t>(lanes) };
        Self(neon!(vcombine_s16(half, half)))
    }
    #[inline(always)]
    fn load_twice_bytes(x: &[i8]) -> Self {
        let bytes = x.first_chunk::<4>().expect("half a vector of elements").map(|x| x as u8);
        let twice = neon!(vreinterpret_s8_s32(vdup_n_s32(i32::from_le_bytes(bytes))));
        Self(neon!(vmovl_s8(twice)))
    }
    #[inline(always)]
    fn store(self, x: &mut [i16]) {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        let lanes = unsafe { transmute::<int16x8_t, [i16; 8]>(self.0) };
        *x.first_chunk_mut::<8>().expect("a vector of elements") = lanes;
    }
    #[inline(always)]
    fn store_unsigned(self, x: &mut [u16]) {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        let lanes = unsafe { transmute::<int16x8_t, [u16; 8]>(self.0) };
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
        // Blocks of two by two lanes, then two by two of those.
        let words = |x, y| neon!((vtrn1q_s16(x, y), vtrn2q_s16(x, y)));
        let (even01, odd01) = words(rows[0].0, rows[1].0);
        let (even23, odd23) = words(rows[2].0, rows[3].0);
        for (i, upper, lower) in [(0, even01, even23), (1, odd01, odd23)] {
            let (upper, lower) =
                neon!((vreinterpretq_s32_s16(upper), vreinterpretq_s32_s16(lower)));
            rows[i] = Self(neon!(vreinterpretq_s16_s32(vtrn1q_s32(upper, lower))));
            rows[i + 2] = Self(neon!(vreinterpretq_s16_s32(vtrn2q_s32(upper, lower))));
        }
    }
    #[inline(always)]
    fn add(self, y: Self) -> Self {
        Self(neon!(vaddq_s16(self.0, y.0)))
    }
    #[inline(always)]
    fn sub(self, y: Self) -> Self {
        Self(neon!(vsubq_s16(self.0, y.0)))
    }
    #[inline(always)]
    fn mul_low(self, y: Self) -> Self {
        Self(neon!(vmulq_s16(self.0, y.0)))
    }
    #[inline(always)]
    fn mul_high(self, y: Self) -> Self {
        // floor(2 x y / 2^16), halved.
        Self(neon!(vshrq_n_s16::<1>(vqdmulhq_s16(self.0, y.0))))
    }
    #[inline(always)]
    fn mul_high_difference(self, x: Self, y: Self, z: Self) -> Self {
        // Equal low halves have the same bit 15, which doubling moves into both high halves: it cancels. The difference
        // is halved as a number of 17 bits.
        Self(neon!(vhsubq_s16(vqdmulhq_s16(self.0, x.0), vqdmulhq_s16(y.0, z.0))))
    }
    #[inline(always)]
    fn mul_round(self, y: Self) -> Self {
        Self(neon!(vqrdmulhq_s16(self.0, y.0)))
    }
    #[inline(always)]
    fn min_unsigned(self, y: Self) -> Self {
        let (x, y) = neon!((vreinterpretq_u16_s16(self.0), vreinterpretq_u16_s16(y.0)));
        Self(neon!(vreinterpretq_s16_u16(vminq_u16(x, y))))
    }
    #[inline(always)]
    fn no_sums() -> Self::Sums {
        [neon!(vdupq_n_s32(0)); 2]
    }
    #[inline(always)]
    fn add_products([mut low, mut high]: Self::Sums, a: [Self; 2], b: [Self; 2]) -> Self::Sums {
        for (a, b) in a.into_iter().zip(b) {
            low = neon!(vmlal_s16(low, vget_low_s16(a.0), vget_low_s16(b.0)));
            high = neon!(vmlal_high_s16(high, a.0, b.0));
        }
        [low, high]
    }
    #[inline(always)]
    fn split(sums: Self::Sums) -> [Self; 2] {
        let [low, high] = sums.map(|sums| neon!(vreinterpretq_s16_s32(sums)));
        [Self(neon!(vuzp1q_s16(low, high))), Self(neon!(vuzp2q_s16(low, high)))]
    }
    #[inline(always)]
    fn shift_right<const BITS: i32>(self) -> Self {
        Self(neon!(vshrq_n_s16::<BITS>(self.0)))
    }
    #[inline(always)]
    fn and(self, y: Self) -> Self {
        Self(neon!(vandq_s16(self.0, y.0)))
    }
    #[inline(always)]
    fn xor(self, y: Self) -> Self {
        Self(neon!(veorq_s16(self.0, y.0)))
    }
}
