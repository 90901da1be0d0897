//! NEON, a part of every 64-bit Arm target that has floating point: vectors of eight lanes.

use core::arch::aarch64::*;
use core::mem::transmute;

use crate::backend::Neon;
use crate::simd::{Simd, Sums, Vector, WithSimd};

/// Eight 16-bit integers.
#[derive(Copy, Clone)]
pub(crate) struct I16x8(int16x8_t);

/// Eight 32-bit integers: those of the lower and of the upper four lanes.
#[derive(Copy, Clone)]
pub(crate) struct I32x8([int32x4_t; 2]);

impl Simd for Neon {
    const LANES: usize = 8;
    type Vector = I16x8;

    #[inline(never)]
    fn vectorize<W: WithSimd>(self, work: W) -> W::Output {
        work.with_simd(self)
    }

    operations! { "neon":
        fn splat(_simd: Neon, x: i16) -> I16x8 {
            I16x8(vdupq_n_s16(x))
        }
        fn halves(_simd: Neon, low: i16, high: i16) -> I16x8 {
            I16x8(vcombine_s16(vdup_n_s16(low), vdup_n_s16(high)))
        }
        fn load(_simd: Neon, x: &[i16]) -> I16x8 {
            let lanes = *x.first_chunk::<8>().expect("a vector of elements");
            // SAFETY: both types are 16 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            I16x8(unsafe { transmute::<[i16; 8], int16x8_t>(lanes) })
        }
        fn load_twice(_simd: Neon, x: &[u16]) -> I16x8 {
            let lanes = *x.first_chunk::<4>().expect("half a vector of elements");
            // SAFETY: both types are 8 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            let half = unsafe { transmute::<[u16; 4], int16x4_t>(lanes) };
            I16x8(vcombine_s16(half, half))
        }
        fn load_twice_bytes(_simd: Neon, x: &[i8]) -> I16x8 {
            let bytes = x.first_chunk::<4>().expect("half a vector of elements").map(|x| x as u8);
            I16x8(vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(i32::from_le_bytes(bytes)))))
        }
        fn no_sums(_simd: Neon) -> I32x8 {
            I32x8([vdupq_n_s32(0); 2])
        }
    }
}

impl Vector for I16x8 {
    type Sums = I32x8;

    operations! { "neon":
        fn store(x: I16x8, to: &mut [i16]) {
            // SAFETY: both types are 16 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            let lanes = unsafe { transmute::<int16x8_t, [i16; 8]>(x.0) };
            *to.first_chunk_mut::<8>().expect("a vector of elements") = lanes;
        }
        fn store_unsigned(x: I16x8, to: &mut [u16]) {
            // SAFETY: both types are 16 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            let lanes = unsafe { transmute::<int16x8_t, [u16; 8]>(x.0) };
            *to.first_chunk_mut::<8>().expect("a vector of elements") = lanes;
        }
        fn add(x: I16x8, y: I16x8) -> I16x8 {
            I16x8(vaddq_s16(x.0, y.0))
        }
        fn sub(x: I16x8, y: I16x8) -> I16x8 {
            I16x8(vsubq_s16(x.0, y.0))
        }
        fn mul_low(x: I16x8, y: I16x8) -> I16x8 {
            I16x8(vmulq_s16(x.0, y.0))
        }
        fn mul_high(x: I16x8, y: I16x8) -> I16x8 {
            // floor(2 x y / 2^16), halved.
            I16x8(vshrq_n_s16::<1>(vqdmulhq_s16(x.0, y.0)))
        }
        fn mul_high_difference(a: I16x8, x: I16x8, y: I16x8, z: I16x8) -> I16x8 {
            // Doubling moves bit 15 of a low half into the high half. The low halves are equal, so
            // the difference cancels this bit. `vhsubq` halves the difference, which may have 17
            // bits, without overflow.
            I16x8(vhsubq_s16(vqdmulhq_s16(a.0, x.0), vqdmulhq_s16(y.0, z.0)))
        }
        fn mul_round(x: I16x8, y: I16x8) -> I16x8 {
            I16x8(vqrdmulhq_s16(x.0, y.0))
        }
        fn min_unsigned(x: I16x8, y: I16x8) -> I16x8 {
            let (x, y) = (vreinterpretq_u16_s16(x.0), vreinterpretq_u16_s16(y.0));
            I16x8(vreinterpretq_s16_u16(vminq_u16(x, y)))
        }
        fn and(x: I16x8, y: I16x8) -> I16x8 {
            I16x8(vandq_s16(x.0, y.0))
        }
        fn xor(x: I16x8, y: I16x8) -> I16x8 {
            I16x8(veorq_s16(x.0, y.0))
        }
        fn or(x: I16x8, y: I16x8) -> I16x8 {
            I16x8(vorrq_s16(x.0, y.0))
        }
        fn lanes_down(x: I16x8) -> I16x8 {
            I16x8(vextq_s16::<1>(x.0, x.0))
        }
        fn lanes_up(x: I16x8) -> I16x8 {
            I16x8(vextq_s16::<7>(x.0, x.0))
        }
    }

    #[inline(always)]
    fn store_halves(self, low: &mut [i16], high: &mut [i16]) {
        let mut lanes = [0; 8];
        self.store(&mut lanes);
        low[..4].copy_from_slice(&lanes[..4]);
        high[..4].copy_from_slice(&lanes[4..]);
    }

    #[inline(always)]
    fn transpose(rows: &mut [Self]) {
        // Transposes blocks of two by two lanes, then the matrix of two by two such blocks.
        let (even01, odd01) = rows[0].transpose_words(rows[1]);
        let (even23, odd23) = rows[2].transpose_words(rows[3]);
        (rows[0], rows[2]) = even01.transpose_pairs(even23);
        (rows[1], rows[3]) = odd01.transpose_pairs(odd23);
    }
}

/// Steps of the transposition.
impl I16x8 {
    operations! { "neon":
        fn transpose_words(x: I16x8, y: I16x8) -> (I16x8, I16x8) {
            (I16x8(vtrn1q_s16(x.0, y.0)), I16x8(vtrn2q_s16(x.0, y.0)))
        }
        fn transpose_pairs(x: I16x8, y: I16x8) -> (I16x8, I16x8) {
            let (x, y) = (vreinterpretq_s32_s16(x.0), vreinterpretq_s32_s16(y.0));
            (
                I16x8(vreinterpretq_s16_s32(vtrn1q_s32(x, y))),
                I16x8(vreinterpretq_s16_s32(vtrn2q_s32(x, y))),
            )
        }
    }
}

impl Sums for I32x8 {
    type Vector = I16x8;

    operations! { "neon":
        fn add_products(sums: I32x8, a: [I16x8; 2], b: [I16x8; 2]) -> I32x8 {
            let [mut low, mut high] = sums.0;
            for (a, b) in a.into_iter().zip(b) {
                low = vmlal_s16(low, vget_low_s16(a.0), vget_low_s16(b.0));
                high = vmlal_high_s16(high, a.0, b.0);
            }
            I32x8([low, high])
        }
        fn split(sums: I32x8) -> [I16x8; 2] {
            let [low, high] = sums.0.map(|sums| vreinterpretq_s16_s32(sums));
            [I16x8(vuzp1q_s16(low, high)), I16x8(vuzp2q_s16(low, high))]
        }
    }
}
