//! AVX-512: vectors with one lane of each of two or eight states.
//!
//! One instruction rotates lanes, and one instruction computes any Boolean function of three lanes.
//! All 25 lanes fit into the registers.
#![allow(unsafe_code)]

use core::arch::x86_64::*;
use core::mem::transmute;

use super::{Lanes, Row};

/// Truth tables of functions of three bits, for `vpternlogq`.
const XOR3: i32 = 0b1001_0110;
const XOR_NOT_AND: i32 = 0b1101_0010;

macro_rules! lanes {
    ($(#[$doc:meta])* $name:ident, $vector:ty, $states:literal,
        $zero:ident, $splat:ident, $add:ident, $and:ident, $shift:ident, $xor:ident, $rotate:ident,
        $ternary:ident) => {
        $(#[$doc])*
        #[derive(Copy, Clone)]
        pub(super) struct $name($vector);

        impl Lanes for $name {
            const STATES: usize = $states;

            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: the caller guarantees that the CPU has AVX-512F and VL.
                Self(unsafe { $zero() })
            }
            #[inline(always)]
            fn splat(self, x: u64) -> Self {
                // SAFETY: `self` exists, so the CPU has AVX-512F and VL.
                Self(unsafe { $splat(x.cast_signed()) })
            }
            #[inline(always)]
            fn load(self, row: &Row) -> Self {
                let lanes = *row.first_chunk::<$states>().expect("a row is as long");
                // SAFETY: both types have the same number of bytes, in which every bit pattern is
                // valid.
                Self(unsafe { transmute::<[u64; $states], $vector>(lanes) })
            }
            #[inline(always)]
            fn store(self, row: &mut Row) {
                // SAFETY: both types have the same number of bytes, in which every bit pattern is
                // valid.
                let lanes = unsafe { transmute::<$vector, [u64; $states]>(self.0) };
                *row.first_chunk_mut::<$states>().expect("a row is as long") = lanes;
            }
            #[inline(always)]
            fn add(self, y: Self) -> Self {
                // SAFETY: `self` exists, so the CPU has AVX-512F and VL.
                Self(unsafe { $add(self.0, y.0) })
            }
            #[inline(always)]
            fn and(self, y: Self) -> Self {
                // SAFETY: `self` exists, so the CPU has AVX-512F and VL.
                Self(unsafe { $and(self.0, y.0) })
            }
            #[inline(always)]
            fn shift_right(self, bits: u32) -> Self {
                // SAFETY: `self` exists, so the CPU has AVX-512F and VL.
                Self(unsafe { $shift(self.0, $splat(i64::from(bits))) })
            }
            #[inline(always)]
            fn xor(self, y: Self) -> Self {
                // SAFETY: `self` exists, so the CPU has AVX-512F and VL.
                Self(unsafe { $xor(self.0, y.0) })
            }
            #[inline(always)]
            fn rotate_left(self, bits: u32) -> Self {
                // SAFETY: `self` exists, so the CPU has AVX-512F and VL.
                Self(unsafe { $rotate(self.0, $splat(i64::from(bits))) })
            }
            #[inline(always)]
            fn xor3(self, y: Self, z: Self) -> Self {
                // SAFETY: `self` exists, so the CPU has AVX-512F and VL.
                Self(unsafe { $ternary::<XOR3>(self.0, y.0, z.0) })
            }
            #[inline(always)]
            fn xor_not_and(self, y: Self, z: Self) -> Self {
                // SAFETY: `self` exists, so the CPU has AVX-512F and VL.
                Self(unsafe { $ternary::<XOR_NOT_AND>(self.0, y.0, z.0) })
            }
        }
    };
}

lanes! {
    /// Lanes of two states, which hash one input or compute the hashes of a single decapsulation.
    Pair, __m128i, 2, _mm_setzero_si128, _mm_set1_epi64x, _mm_add_epi64, _mm_and_si128,
    _mm_srlv_epi64, _mm_xor_si128, _mm_rolv_epi64, _mm_ternarylogic_epi64
}
lanes! {
    /// Lanes of eight states.
    Eight, __m512i, 8, _mm512_setzero_si512, _mm512_set1_epi64, _mm512_add_epi64, _mm512_and_si512,
    _mm512_srlv_epi64, _mm512_xor_si512, _mm512_rolv_epi64, _mm512_ternarylogic_epi64
}
