//! AVX2: vectors of sixteen lanes.

use core::arch::asm;
use core::arch::x86_64::*;
use core::mem::transmute;

use super::transpose::{self, Interleave};
use crate::backend::Avx2;
use crate::simd::{Simd, Sums, Vector, WithSimd};

/// Sixteen 16-bit integers.
#[derive(Copy, Clone)]
pub(crate) struct I16x16(__m256i);

/// Sixteen 32-bit integers. The first vector has those of lanes 0 to 3 and 8 to 11, the second one
/// those of the other lanes.
#[derive(Copy, Clone)]
pub(crate) struct I32x16([__m256i; 2]);

impl Simd for Avx2 {
    const LANES: usize = 16;
    type Vector = I16x16;

    fn vectorize<W: WithSimd>(self, work: W) -> W::Output {
        #[target_feature(enable = "avx2")]
        fn run<W: WithSimd>(simd: Avx2, work: W) -> W::Output {
            work.with_simd(simd)
        }
        // SAFETY: the token exists only where the CPU has AVX2.
        #[allow(unsafe_code)]
        unsafe {
            run(self, work)
        }
    }

    operations! { "avx2":
        fn splat(_simd: Avx2, x: i16) -> I16x16 {
            I16x16(_mm256_set1_epi16(x))
        }
        fn halves(_simd: Avx2, low: i16, high: i16) -> I16x16 {
            I16x16(_mm256_set_m128i(_mm_set1_epi16(high), _mm_set1_epi16(low)))
        }
        fn load(_simd: Avx2, x: &[i16]) -> I16x16 {
            let lanes = *x.first_chunk::<16>().expect("a vector of elements");
            // SAFETY: both types are 32 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            I16x16(unsafe { transmute::<[i16; 16], __m256i>(lanes) })
        }
        fn load_twice(_simd: Avx2, x: &[u16]) -> I16x16 {
            let lanes = *x.first_chunk::<8>().expect("half a vector of elements");
            // SAFETY: both types are 16 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            let half = unsafe { transmute::<[u16; 8], __m128i>(lanes) };
            I16x16(_mm256_broadcastsi128_si256(half))
        }
        fn load_twice_bytes(_simd: Avx2, x: &[i8]) -> I16x16 {
            let bytes = x.first_chunk::<8>().expect("half a vector of elements").map(|x| x as u8);
            let half = _mm_cvtepi8_epi16(_mm_cvtsi64_si128(i64::from_le_bytes(bytes)));
            I16x16(_mm256_broadcastsi128_si256(half))
        }
        fn no_sums(_simd: Avx2) -> I32x16 {
            I32x16([_mm256_setzero_si256(); 2])
        }
    }
}

impl Vector for I16x16 {
    type Sums = I32x16;

    operations! { "avx2":
        fn store(x: I16x16, to: &mut [i16]) {
            // SAFETY: both types are 32 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            let lanes = unsafe { transmute::<__m256i, [i16; 16]>(x.0) };
            *to.first_chunk_mut::<16>().expect("a vector of elements") = lanes;
        }
        fn store_unsigned(x: I16x16, to: &mut [u16]) {
            // SAFETY: both types are 32 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            let lanes = unsafe { transmute::<__m256i, [u16; 16]>(x.0) };
            *to.first_chunk_mut::<16>().expect("a vector of elements") = lanes;
        }
        fn add(x: I16x16, y: I16x16) -> I16x16 {
            I16x16(_mm256_add_epi16(x.0, y.0))
        }
        fn sub(x: I16x16, y: I16x16) -> I16x16 {
            I16x16(_mm256_sub_epi16(x.0, y.0))
        }
        fn mul_low(x: I16x16, y: I16x16) -> I16x16 {
            I16x16(_mm256_mullo_epi16(x.0, y.0))
        }
        fn mul_high(x: I16x16, y: I16x16) -> I16x16 {
            // The intrinsic would be slow, for the reason given in `sse2`.
            let product;
            // SAFETY: the CPU has AVX2, and the instruction reads and writes registers only.
            #[allow(unsafe_code)]
            unsafe {
                asm!(
                    "vpmulhw {z}, {x}, {y}",
                    z = lateout(ymm_reg) product,
                    x = in(ymm_reg) x.0,
                    y = in(ymm_reg) y.0,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            I16x16(product)
        }
        fn mul_round(x: I16x16, y: I16x16) -> I16x16 {
            I16x16(_mm256_mulhrs_epi16(x.0, y.0))
        }
        fn min_unsigned(x: I16x16, y: I16x16) -> I16x16 {
            I16x16(_mm256_min_epu16(x.0, y.0))
        }
        fn and(x: I16x16, y: I16x16) -> I16x16 {
            I16x16(_mm256_and_si256(x.0, y.0))
        }
        fn xor(x: I16x16, y: I16x16) -> I16x16 {
            I16x16(_mm256_xor_si256(x.0, y.0))
        }
        fn or(x: I16x16, y: I16x16) -> I16x16 {
            I16x16(_mm256_or_si256(x.0, y.0))
        }
        fn select(mask: I16x16, x: I16x16, y: I16x16) -> I16x16 {
            I16x16(_mm256_blendv_epi8(y.0, x.0, mask.0))
        }
        fn lanes_down(x: I16x16) -> I16x16 {
            let halves_swapped = _mm256_permute4x64_epi64::<0b01_00_11_10>(x.0);
            I16x16(_mm256_alignr_epi8::<2>(halves_swapped, x.0))
        }
        fn lanes_up(x: I16x16) -> I16x16 {
            let halves_swapped = _mm256_permute4x64_epi64::<0b01_00_11_10>(x.0);
            I16x16(_mm256_alignr_epi8::<14>(x.0, halves_swapped))
        }
    }

    #[inline(always)]
    fn store_halves(self, low: &mut [i16], high: &mut [i16]) {
        let mut lanes = [0; 16];
        self.store(&mut lanes);
        low[..8].copy_from_slice(&lanes[..8]);
        high[..8].copy_from_slice(&lanes[8..]);
    }

    #[inline(always)]
    fn transpose(rows: &mut [Self]) {
        // The interleaving instructions never mix the halves of a vector.
        let columns = transpose::eight([
            rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7],
        ]);
        rows[..8].copy_from_slice(&columns);
    }
}

impl Interleave for I16x16 {
    operations! { "avx2":
        fn interleave_words(x: I16x16, y: I16x16) -> (I16x16, I16x16) {
            (I16x16(_mm256_unpacklo_epi16(x.0, y.0)), I16x16(_mm256_unpackhi_epi16(x.0, y.0)))
        }
        fn interleave_pairs(x: I16x16, y: I16x16) -> (I16x16, I16x16) {
            (I16x16(_mm256_unpacklo_epi32(x.0, y.0)), I16x16(_mm256_unpackhi_epi32(x.0, y.0)))
        }
        fn interleave_quads(x: I16x16, y: I16x16) -> (I16x16, I16x16) {
            (I16x16(_mm256_unpacklo_epi64(x.0, y.0)), I16x16(_mm256_unpackhi_epi64(x.0, y.0)))
        }
    }
}

impl Sums for I32x16 {
    type Vector = I16x16;

    operations! { "avx2":
        fn add_products(sums: I32x16, a: [I16x16; 2], b: [I16x16; 2]) -> I32x16 {
            // Interleaving brings the factors of one lane side by side.
            let low = _mm256_madd_epi16(
                _mm256_unpacklo_epi16(a[0].0, a[1].0),
                _mm256_unpacklo_epi16(b[0].0, b[1].0),
            );
            let high = _mm256_madd_epi16(
                _mm256_unpackhi_epi16(a[0].0, a[1].0),
                _mm256_unpackhi_epi16(b[0].0, b[1].0),
            );
            I32x16([_mm256_add_epi32(sums.0[0], low), _mm256_add_epi32(sums.0[1], high)])
        }
        fn split(sums: I32x16) -> [I16x16; 2] {
            let [x, y] = sums.0;
            let mask = _mm256_set1_epi32(0xffff);
            let low = _mm256_packus_epi32(_mm256_and_si256(x, mask), _mm256_and_si256(y, mask));
            let high =
                _mm256_packus_epi32(_mm256_srli_epi32::<16>(x), _mm256_srli_epi32::<16>(y));
            [I16x16(low), I16x16(high)]
        }
    }
}
