//! The vectors of WebAssembly: eight lanes.
//!
//! WebAssembly has no instruction for the high halves of 16-bit products. It has the sum of two
//! neighbouring 32-bit products (`i32x4.dot_i16x8_s`). With zeros in every other lane of one
//! factor, such a sum is one product. Most callers give a constant as the second factor, so that
//! the compiler makes these zeros once.

use core::arch::wasm32::*;
use core::mem::transmute;

use crate::backend::Simd128;
use crate::simd::{Simd, Sums, Vector, WithSimd};

/// Eight 16-bit integers.
#[derive(Copy, Clone)]
pub(crate) struct I16x8(v128);

/// Eight 32-bit integers: those of the lower and of the upper four lanes.
#[derive(Copy, Clone)]
pub(crate) struct I32x8([v128; 2]);

impl Simd for Simd128 {
    const LANES: usize = 8;
    type Vector = I16x8;

    #[inline(never)]
    fn vectorize<W: WithSimd>(self, work: W) -> W::Output {
        work.with_simd(self)
    }

    #[inline(always)]
    fn splat(self, x: i16) -> I16x8 {
        I16x8(i16x8_splat(x))
    }
    #[inline(always)]
    fn halves(self, low: i16, high: i16) -> I16x8 {
        I16x8(i16x8(low, low, low, low, high, high, high, high))
    }
    #[inline(always)]
    fn load(self, x: &[i16]) -> I16x8 {
        let lanes = *x.first_chunk::<8>().expect("a vector of elements");
        // SAFETY: both types are 16 bytes in which every bit pattern is valid.
        #[allow(unsafe_code)]
        I16x8(unsafe { transmute::<[i16; 8], v128>(lanes) })
    }
    #[inline(always)]
    fn load_twice(self, x: &[u16]) -> I16x8 {
        let lanes = *x.first_chunk::<4>().expect("half a vector of elements");
        // SAFETY: both types are 8 bytes in which every bit pattern is valid.
        #[allow(unsafe_code)]
        I16x8(u64x2_splat(unsafe { transmute::<[u16; 4], u64>(lanes) }))
    }
    #[inline(always)]
    fn load_twice_bytes(self, x: &[i8]) -> I16x8 {
        let bytes = x.first_chunk::<4>().expect("half a vector of elements").map(|x| x as u8);
        I16x8(i16x8_extend_low_i8x16(u32x4_splat(u32::from_le_bytes(bytes))))
    }
    #[inline(always)]
    fn no_sums(self) -> I32x8 {
        I32x8([i32x4_splat(0); 2])
    }
}

impl I16x8 {
    /// Returns the products of the even lanes, and those of the odd lanes, in 32 bits.
    #[inline(always)]
    fn products(self, y: Self) -> [v128; 2] {
        let even = i32x4_splat(0xffff);
        [
            i32x4_dot_i16x8(self.0, v128_and(y.0, even)),
            i32x4_dot_i16x8(self.0, v128_andnot(y.0, even)),
        ]
    }
}

impl Vector for I16x8 {
    type Sums = I32x8;

    #[inline(always)]
    fn store(self, to: &mut [i16]) {
        // SAFETY: both types are 16 bytes in which every bit pattern is valid.
        #[allow(unsafe_code)]
        let lanes = unsafe { transmute::<v128, [i16; 8]>(self.0) };
        *to.first_chunk_mut::<8>().expect("a vector of elements") = lanes;
    }
    #[inline(always)]
    fn store_unsigned(self, to: &mut [u16]) {
        // SAFETY: both types are 16 bytes in which every bit pattern is valid.
        #[allow(unsafe_code)]
        let lanes = unsafe { transmute::<v128, [u16; 8]>(self.0) };
        *to.first_chunk_mut::<8>().expect("a vector of elements") = lanes;
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

    #[inline(always)]
    fn add(self, y: Self) -> Self {
        Self(i16x8_add(self.0, y.0))
    }
    #[inline(always)]
    fn sub(self, y: Self) -> Self {
        Self(i16x8_sub(self.0, y.0))
    }
    #[inline(always)]
    fn mul_low(self, y: Self) -> Self {
        Self(i16x8_mul(self.0, y.0))
    }
    #[inline(always)]
    fn mul_high(self, y: Self) -> Self {
        let [even, odd] = self.products(y);
        let odd = v128_andnot(odd, i32x4_splat(0xffff));
        Self(v128_or(u32x4_shr(even, 16), odd))
    }
    #[inline(always)]
    fn mul_high_difference(self, x: Self, y: Self, z: Self) -> Self {
        // The low halves are equal, so those of the differences are zero.
        let [even, odd] = self.products(x);
        let [other_even, other_odd] = y.products(z);
        let (even, odd) = (i32x4_sub(even, other_even), i32x4_sub(odd, other_odd));
        Self(v128_or(u32x4_shr(even, 16), odd))
    }
    #[inline(always)]
    fn mul_round(self, y: Self) -> Self {
        Self(i16x8_q15mulr_sat(self.0, y.0))
    }
    #[inline(always)]
    fn min_unsigned(self, y: Self) -> Self {
        Self(u16x8_min(self.0, y.0))
    }
    #[inline(always)]
    fn and(self, y: Self) -> Self {
        Self(v128_and(self.0, y.0))
    }
    #[inline(always)]
    fn xor(self, y: Self) -> Self {
        Self(v128_xor(self.0, y.0))
    }
    #[inline(always)]
    fn or(self, y: Self) -> Self {
        Self(v128_or(self.0, y.0))
    }
    #[inline(always)]
    fn lanes_down(self) -> Self {
        Self(i16x8_shuffle::<1, 2, 3, 4, 5, 6, 7, 0>(self.0, self.0))
    }
    #[inline(always)]
    fn lanes_up(self) -> Self {
        Self(i16x8_shuffle::<7, 0, 1, 2, 3, 4, 5, 6>(self.0, self.0))
    }
}

/// Steps of the transposition.
impl I16x8 {
    #[inline(always)]
    fn interleave_words(self, y: Self) -> (Self, Self) {
        (
            Self(i16x8_shuffle::<0, 8, 1, 9, 2, 10, 3, 11>(self.0, y.0)),
            Self(i16x8_shuffle::<4, 12, 5, 13, 6, 14, 7, 15>(self.0, y.0)),
        )
    }
    #[inline(always)]
    fn interleave_pairs(self, y: Self) -> (Self, Self) {
        (
            Self(i32x4_shuffle::<0, 4, 1, 5>(self.0, y.0)),
            Self(i32x4_shuffle::<2, 6, 3, 7>(self.0, y.0)),
        )
    }
    #[inline(always)]
    fn interleave_quads(self, y: Self) -> (Self, Self) {
        (Self(i64x2_shuffle::<0, 2>(self.0, y.0)), Self(i64x2_shuffle::<1, 3>(self.0, y.0)))
    }
}

impl Sums for I32x8 {
    type Vector = I16x8;

    #[inline(always)]
    fn add_products(self, a: [I16x8; 2], b: [I16x8; 2]) -> Self {
        // Interleaving brings the factors of one lane side by side.
        let ((a_low, a_high), (b_low, b_high)) =
            (a[0].interleave_words(a[1]), b[0].interleave_words(b[1]));
        let [low, high] = self.0;
        Self([
            i32x4_add(low, i32x4_dot_i16x8(a_low.0, b_low.0)),
            i32x4_add(high, i32x4_dot_i16x8(a_high.0, b_high.0)),
        ])
    }
    #[inline(always)]
    fn split(self) -> [I16x8; 2] {
        let [x, y] = self.0;
        [
            I16x8(i16x8_shuffle::<0, 2, 4, 6, 8, 10, 12, 14>(x, y)),
            I16x8(i16x8_shuffle::<1, 3, 5, 7, 9, 11, 13, 15>(x, y)),
        ]
    }
}
