//! AVX-512: vectors of thirty-two lanes.

use core::arch::asm;
use core::arch::x86_64::*;
use core::mem::transmute;

use super::transpose::{self, Interleave};
use crate::backend::Avx512;
use crate::simd::{Simd, Sums, Vector, WithSimd};

/// Thirty-two 16-bit integers.
#[derive(Copy, Clone)]
pub(crate) struct I16x32(__m512i);

/// Thirty-two 32-bit sums, one for each lane of an [`I16x32`]. Each vector has four quarters of 128
/// bits. The eight lanes of a quarter of the [`I16x32`] have their sums in the same quarter here:
/// the lower four in the first vector, the upper four in the second.
#[derive(Copy, Clone)]
pub(crate) struct I32x32([__m512i; 2]);

/// The indices of the 16-bit words of an [`I32x32`] that are the low halves of its sums, in the
/// order of the lanes. The index of the high half of a sum is greater by one. Each quarter takes
/// the words 0, 2, 4 and 6 of the same quarter of the first vector, then those of the second
/// vector.
const LOW_WORDS: [i16; 32] = {
    let mut words = [0; 32];
    let mut i = 0;
    while i < 32 {
        words[i] = (i / 8 * 8 + i % 4 * 2 + i % 8 / 4 * 32) as i16;
        i += 1;
    }
    words
};

impl Simd for Avx512 {
    const LANES: usize = 32;
    type Vector = I16x32;

    fn vectorize<W: WithSimd>(self, work: W) -> W::Output {
        #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2")]
        fn run<W: WithSimd>(simd: Avx512, work: W) -> W::Output {
            work.with_simd(simd)
        }
        // SAFETY: the token exists only where the CPU has AVX2 and all these parts of AVX-512.
        #[allow(unsafe_code)]
        unsafe {
            run(self, work)
        }
    }

    #[inline(always)]
    fn avx512(self) -> Option<Avx512> {
        Some(self)
    }

    operations! { "avx512f,avx512bw":
        fn splat(_simd: Avx512, x: i16) -> I16x32 {
            I16x32(_mm512_set1_epi16(x))
        }
        fn halves(_simd: Avx512, low: i16, high: i16) -> I16x32 {
            I16x32(_mm512_inserti64x4::<1>(_mm512_set1_epi16(low), _mm256_set1_epi16(high)))
        }
        fn load(_simd: Avx512, x: &[i16]) -> I16x32 {
            let lanes = *x.first_chunk::<32>().expect("a vector of elements");
            // SAFETY: both types are 64 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            I16x32(unsafe { transmute::<[i16; 32], __m512i>(lanes) })
        }
        fn load_twice(_simd: Avx512, x: &[u16]) -> I16x32 {
            let lanes = *x.first_chunk::<16>().expect("half a vector of elements");
            // SAFETY: both types are 32 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            let half = unsafe { transmute::<[u16; 16], __m256i>(lanes) };
            I16x32(_mm512_broadcast_i64x4(half))
        }
        fn load_twice_bytes(_simd: Avx512, x: &[i8]) -> I16x32 {
            let lanes = *x.first_chunk::<16>().expect("half a vector of elements");
            // SAFETY: both types are 16 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            let bytes = unsafe { transmute::<[i8; 16], __m128i>(lanes) };
            I16x32(_mm512_broadcast_i64x4(_mm256_cvtepi8_epi16(bytes)))
        }
        fn no_sums(_simd: Avx512) -> I32x32 {
            I32x32([_mm512_setzero_si512(); 2])
        }
    }
}

impl Vector for I16x32 {
    type Sums = I32x32;

    operations! { "avx512f,avx512bw":
        fn store(x: I16x32, to: &mut [i16]) {
            // SAFETY: both types are 64 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            let lanes = unsafe { transmute::<__m512i, [i16; 32]>(x.0) };
            *to.first_chunk_mut::<32>().expect("a vector of elements") = lanes;
        }
        fn store_unsigned(x: I16x32, to: &mut [u16]) {
            // SAFETY: both types are 64 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            let lanes = unsafe { transmute::<__m512i, [u16; 32]>(x.0) };
            *to.first_chunk_mut::<32>().expect("a vector of elements") = lanes;
        }
        fn add(x: I16x32, y: I16x32) -> I16x32 {
            I16x32(_mm512_add_epi16(x.0, y.0))
        }
        fn sub(x: I16x32, y: I16x32) -> I16x32 {
            I16x32(_mm512_sub_epi16(x.0, y.0))
        }
        fn mul_low(x: I16x32, y: I16x32) -> I16x32 {
            I16x32(_mm512_mullo_epi16(x.0, y.0))
        }
        fn mul_high(x: I16x32, y: I16x32) -> I16x32 {
            // The intrinsic would be slow, for the reason given in `sse2`.
            let product;
            // SAFETY: the CPU has AVX-512BW, and the instruction reads and writes registers only.
            #[allow(unsafe_code)]
            unsafe {
                asm!(
                    "vpmulhw {z}, {x}, {y}",
                    z = lateout(zmm_reg) product,
                    x = in(zmm_reg) x.0,
                    y = in(zmm_reg) y.0,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            I16x32(product)
        }
        fn mul_round(x: I16x32, y: I16x32) -> I16x32 {
            I16x32(_mm512_mulhrs_epi16(x.0, y.0))
        }
        fn min_unsigned(x: I16x32, y: I16x32) -> I16x32 {
            I16x32(_mm512_min_epu16(x.0, y.0))
        }
        fn and(x: I16x32, y: I16x32) -> I16x32 {
            I16x32(_mm512_and_si512(x.0, y.0))
        }
        fn xor(x: I16x32, y: I16x32) -> I16x32 {
            I16x32(_mm512_xor_si512(x.0, y.0))
        }
        fn or(x: I16x32, y: I16x32) -> I16x32 {
            I16x32(_mm512_or_si512(x.0, y.0))
        }
        fn select(mask: I16x32, x: I16x32, y: I16x32) -> I16x32 {
            /// The function of three bits, for `vpternlogd`.
            const SELECT: i32 = 0b1100_1010;
            I16x32(_mm512_ternarylogic_epi32::<SELECT>(mask.0, x.0, y.0))
        }
        fn lanes_down(x: I16x32) -> I16x32 {
            let above = core::array::from_fn::<i16, 32, _>(|i| (i as i16 + 1) % 32);
            // SAFETY: both types are 64 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            let above = unsafe { transmute::<[i16; 32], __m512i>(above) };
            I16x32(_mm512_permutexvar_epi16(above, x.0))
        }
        fn lanes_up(x: I16x32) -> I16x32 {
            let below = core::array::from_fn::<i16, 32, _>(|i| (i as i16 + 31) % 32);
            // SAFETY: both types are 64 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            let below = unsafe { transmute::<[i16; 32], __m512i>(below) };
            I16x32(_mm512_permutexvar_epi16(below, x.0))
        }
    }

    #[inline(always)]
    fn store_halves(self, low: &mut [i16], high: &mut [i16]) {
        let mut lanes = [0; 32];
        self.store(&mut lanes);
        low[..16].copy_from_slice(&lanes[..16]);
        high[..16].copy_from_slice(&lanes[16..]);
    }

    #[inline(always)]
    fn transpose(rows: &mut [Self]) {
        let (upper, lower) = (eight_rows(&rows[..8]), eight_rows(&rows[8..]));
        for i in 0..8 {
            (rows[i], rows[i + 8]) = upper[i].interleave_quarters(lower[i]);
        }
    }
}

/// Transposes eight rows of each matrix. Result `i` holds column `i` in its even quarters and
/// column `i + 8` in its odd quarters.
#[inline(always)]
fn eight_rows(rows: &[I16x32]) -> [I16x32; 8] {
    transpose::eight([rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7]])
}

impl Interleave for I16x32 {
    operations! { "avx512f,avx512bw":
        fn interleave_words(x: I16x32, y: I16x32) -> (I16x32, I16x32) {
            (I16x32(_mm512_unpacklo_epi16(x.0, y.0)), I16x32(_mm512_unpackhi_epi16(x.0, y.0)))
        }
        fn interleave_pairs(x: I16x32, y: I16x32) -> (I16x32, I16x32) {
            (I16x32(_mm512_unpacklo_epi32(x.0, y.0)), I16x32(_mm512_unpackhi_epi32(x.0, y.0)))
        }
        fn interleave_quads(x: I16x32, y: I16x32) -> (I16x32, I16x32) {
            (I16x32(_mm512_unpacklo_epi64(x.0, y.0)), I16x32(_mm512_unpackhi_epi64(x.0, y.0)))
        }
    }
}

impl I16x32 {
    operations! { "avx512f,avx512bw":
        fn interleave_quarters(x: I16x32, y: I16x32) -> (I16x32, I16x32) {
            let even = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
            let odd = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
            (
                I16x32(_mm512_permutex2var_epi64(x.0, even, y.0)),
                I16x32(_mm512_permutex2var_epi64(x.0, odd, y.0)),
            )
        }
    }
}

impl Sums for I32x32 {
    type Vector = I16x32;

    operations! { "avx512f,avx512bw":
        fn add_products(sums: I32x32, a: [I16x32; 2], b: [I16x32; 2]) -> I32x32 {
            // Interleaving brings the factors of one lane side by side.
            let low = _mm512_madd_epi16(
                _mm512_unpacklo_epi16(a[0].0, a[1].0),
                _mm512_unpacklo_epi16(b[0].0, b[1].0),
            );
            let high = _mm512_madd_epi16(
                _mm512_unpackhi_epi16(a[0].0, a[1].0),
                _mm512_unpackhi_epi16(b[0].0, b[1].0),
            );
            I32x32([_mm512_add_epi32(sums.0[0], low), _mm512_add_epi32(sums.0[1], high)])
        }
        fn split(sums: I32x32) -> [I16x32; 2] {
            // SAFETY: both types are 64 bytes in which every bit pattern is valid.
            #[allow(unsafe_code)]
            let low = unsafe { transmute::<[i16; 32], __m512i>(LOW_WORDS) };
            let high = _mm512_add_epi16(low, _mm512_set1_epi16(1));
            [low, high].map(|words| {
                I16x32(_mm512_permutex2var_epi16(sums.0[0], words, sums.0[1]))
            })
        }
    }
}
