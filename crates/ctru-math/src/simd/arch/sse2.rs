//! SSE2, which every x86-64 CPU has: vectors of eight lanes.

use core::arch::asm;
use core::arch::x86_64::*;
use core::mem::transmute;

use crate::backend::Sse2;
use crate::simd::{Simd, Sums, Vector, WithSimd};

/// Eight 16-bit integers.
#[derive(Copy, Clone)]
pub(crate) struct I16x8(__m128i);

/// Eight 32-bit integers: those of the lower and of the upper four lanes.
#[derive(Copy, Clone)]
pub(crate) struct I32x8([__m128i; 2]);

impl Simd for Sse2 {
    const LANES: usize = 8;
    type Vector = I16x8;

    #[inline(never)]
    fn vectorize<W: WithSimd>(self, work: W) -> W::Output {
        work.with_simd(self)
    }

    operations! { "sse2":
        fn splat(_simd: Sse2, x: i16) -> I16x8 {
            I16x8(_mm_set1_epi16(x))
        }
        fn halves(_simd: Sse2, low: i16, high: i16) -> I16x8 {
            I16x8(_mm_set_epi16(high, high, high, high, low, low, low, low))
        }
        fn load(_simd: Sse2, x: &[i16]) -> I16x8 {
            let lanes = *x.first_chunk::<8>().expect("a vector of elements");
            // SAFETY: both types are 16 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            I16x8(unsafe { transmute::<[i16; 8], __m128i>(lanes) })
        }
        fn load_twice(_simd: Sse2, x: &[u16]) -> I16x8 {
            let [a, b, c, d] = *x.first_chunk::<4>().expect("half a vector of elements");
            // SAFETY: both types are 16 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            I16x8(unsafe { transmute::<[u16; 8], __m128i>([a, b, c, d, a, b, c, d]) })
        }
        fn load_twice_bytes(_simd: Sse2, x: &[i8]) -> I16x8 {
            let bytes = *x.first_chunk::<4>().expect("half a vector of elements");
            let [a, b, c, d] = bytes.map(i16::from);
            // SAFETY: both types are 16 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            I16x8(unsafe { transmute::<[i16; 8], __m128i>([a, b, c, d, a, b, c, d]) })
        }
        fn no_sums(_simd: Sse2) -> I32x8 {
            I32x8([_mm_setzero_si128(); 2])
        }
    }
}

impl Vector for I16x8 {
    type Sums = I32x8;

    operations! { "sse2":
        fn store(x: I16x8, to: &mut [i16]) {
            // SAFETY: both types are 16 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            let lanes = unsafe { transmute::<__m128i, [i16; 8]>(x.0) };
            *to.first_chunk_mut::<8>().expect("a vector of elements") = lanes;
        }
        fn store_unsigned(x: I16x8, to: &mut [u16]) {
            // SAFETY: both types are 16 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            let lanes = unsafe { transmute::<__m128i, [u16; 8]>(x.0) };
            *to.first_chunk_mut::<8>().expect("a vector of elements") = lanes;
        }
        fn add(x: I16x8, y: I16x8) -> I16x8 {
            I16x8(_mm_add_epi16(x.0, y.0))
        }
        fn sub(x: I16x8, y: I16x8) -> I16x8 {
            I16x8(_mm_sub_epi16(x.0, y.0))
        }
        fn mul_low(x: I16x8, y: I16x8) -> I16x8 {
            I16x8(_mm_mullo_epi16(x.0, y.0))
        }
        fn mul_high(x: I16x8, y: I16x8) -> I16x8 {
            // The intrinsic would be slow: LLVM treats it as a widening product, and if one operand
            // is constant in a loop, it expands the product to many instructions.
            let product;
            // SAFETY: the CPU has SSE2, and the instruction reads and writes registers only.
            #[cfg(not(target_feature = "avx"))]
            #[allow(unsafe_code)]
            unsafe {
                asm!(
                    "pmulhw {x}, {y}",
                    x = inlateout(xmm_reg) x.0 => product,
                    y = in(xmm_reg) y.0,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            // In a build for CPUs with AVX, the SSE encoding of the instruction would cost a
            // transition of the vector unit between SSE and AVX.
            // SAFETY: the target has AVX, and the instruction reads and writes registers only.
            #[cfg(target_feature = "avx")]
            #[allow(unsafe_code)]
            unsafe {
                asm!(
                    "vpmulhw {z}, {x}, {y}",
                    z = lateout(xmm_reg) product,
                    x = in(xmm_reg) x.0,
                    y = in(xmm_reg) y.0,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            I16x8(product)
        }
        fn mul_round(x: I16x8, y: I16x8) -> I16x8 {
            // floor(x y / 2^15), and one more where bit 14 of the product is set.
            let (high, low) = (x.mul_high(y).0, x.mul_low(y).0);
            let quotient = _mm_or_si128(_mm_add_epi16(high, high), _mm_srli_epi16::<15>(low));
            let half = _mm_and_si128(_mm_srli_epi16::<14>(low), _mm_set1_epi16(1));
            I16x8(_mm_add_epi16(quotient, half))
        }
        fn min_unsigned(x: I16x8, y: I16x8) -> I16x8 {
            I16x8(_mm_sub_epi16(x.0, _mm_subs_epu16(x.0, y.0)))
        }
        fn and(x: I16x8, y: I16x8) -> I16x8 {
            I16x8(_mm_and_si128(x.0, y.0))
        }
        fn xor(x: I16x8, y: I16x8) -> I16x8 {
            I16x8(_mm_xor_si128(x.0, y.0))
        }
        fn or(x: I16x8, y: I16x8) -> I16x8 {
            I16x8(_mm_or_si128(x.0, y.0))
        }
        fn lanes_down(x: I16x8) -> I16x8 {
            I16x8(_mm_or_si128(_mm_srli_si128::<2>(x.0), _mm_slli_si128::<14>(x.0)))
        }
        fn lanes_up(x: I16x8) -> I16x8 {
            I16x8(_mm_or_si128(_mm_slli_si128::<2>(x.0), _mm_srli_si128::<14>(x.0)))
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
        let (low01, high01) = rows[0].interleave_words(rows[1]);
        let (low23, high23) = rows[2].interleave_words(rows[3]);
        let (low02, low13) = low01.interleave_pairs(low23);
        let (high02, high13) = high01.interleave_pairs(high23);
        (rows[0], rows[1]) = low02.interleave_quads(high02);
        (rows[2], rows[3]) = low13.interleave_quads(high13);
    }
}

/// Steps of the transposition.
impl I16x8 {
    operations! { "sse2":
        fn interleave_words(x: I16x8, y: I16x8) -> (I16x8, I16x8) {
            (I16x8(_mm_unpacklo_epi16(x.0, y.0)), I16x8(_mm_unpackhi_epi16(x.0, y.0)))
        }
        fn interleave_pairs(x: I16x8, y: I16x8) -> (I16x8, I16x8) {
            (I16x8(_mm_unpacklo_epi32(x.0, y.0)), I16x8(_mm_unpackhi_epi32(x.0, y.0)))
        }
        fn interleave_quads(x: I16x8, y: I16x8) -> (I16x8, I16x8) {
            (I16x8(_mm_unpacklo_epi64(x.0, y.0)), I16x8(_mm_unpackhi_epi64(x.0, y.0)))
        }
    }
}

impl Sums for I32x8 {
    type Vector = I16x8;

    operations! { "sse2":
        fn add_products(sums: I32x8, a: [I16x8; 2], b: [I16x8; 2]) -> I32x8 {
            // Interleaving brings the factors of one lane side by side.
            let low = _mm_madd_epi16(
                _mm_unpacklo_epi16(a[0].0, a[1].0),
                _mm_unpacklo_epi16(b[0].0, b[1].0),
            );
            let high = _mm_madd_epi16(
                _mm_unpackhi_epi16(a[0].0, a[1].0),
                _mm_unpackhi_epi16(b[0].0, b[1].0),
            );
            I32x8([_mm_add_epi32(sums.0[0], low), _mm_add_epi32(sums.0[1], high)])
        }
        fn split(sums: I32x8) -> [I16x8; 2] {
            let [x, y] = sums.0;
            // Packing saturates, so shifts first sign-extend the halves to 32 bits.
            let (low_x, low_y) = (_mm_slli_epi32::<16>(x), _mm_slli_epi32::<16>(y));
            let low = _mm_packs_epi32(_mm_srai_epi32::<16>(low_x), _mm_srai_epi32::<16>(low_y));
            let high = _mm_packs_epi32(_mm_srai_epi32::<16>(x), _mm_srai_epi32::<16>(y));
            [I16x8(low), I16x8(high)]
        }
    }
}
