//! Two and eight states in AVX-512: rotations and functions of three words are one instruction each, and all 25 words
//! fit the registers.

use core::arch::x86_64::*;
use core::mem::transmute;

use super::{Row, Words};

/// Truth tables of functions of three bits, for `vpternlogq`.
const XOR3: i32 = 0b1001_0110;
const XOR_NOT_AND: i32 = 0b1101_0010;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $vector:ty, $states:literal,
        $splat:ident, $xor:ident, $rotate:ident, $ternary:ident) => {
        $(#[$doc])*
        #[derive(Copy, Clone)]
        pub(super) struct $name($vector);

        // SAFETY, of all calls: vectors of this type exist only where `dispatch` has made sure of AVX-512.
        #[allow(unsafe_code)]
        impl Words for $name {
            const STATES: usize = $states;

            #[inline(always)]
            fn splat(x: u64) -> Self {
                // SAFETY: see above.
                Self(unsafe { $splat(x.cast_signed()) })
            }
            #[inline(always)]
            fn load(row: &Row) -> Self {
                let words = *row.first_chunk::<$states>().expect("a row is as long");
                // SAFETY: both types have as many bytes, in which every bit pattern is valid.
                Self(unsafe { transmute::<[u64; $states], $vector>(words) })
            }
            #[inline(always)]
            fn store(self, row: &mut Row) {
                // SAFETY: as in `load`.
                let words = unsafe { transmute::<$vector, [u64; $states]>(self.0) };
                *row.first_chunk_mut::<$states>().expect("a row is as long") = words;
            }
            #[inline(always)]
            fn xor(self, y: Self) -> Self {
                // SAFETY: see above.
                Self(unsafe { $xor(self.0, y.0) })
            }
            #[inline(always)]
            fn rotate_left(self, bits: u32) -> Self {
                // SAFETY: see above.
                Self(unsafe { $rotate(self.0, $splat(i64::from(bits))) })
            }
            #[inline(always)]
            fn xor3(self, y: Self, z: Self) -> Self {
                // SAFETY: see above.
                Self(unsafe { $ternary::<XOR3>(self.0, y.0, z.0) })
            }
            #[inline(always)]
            fn xor_not_and(self, y: Self, z: Self) -> Self {
                // SAFETY: see above.
                Self(unsafe { $ternary::<XOR_NOT_AND>(self.0, y.0, z.0) })
            }
        }
    };
}

words! {
    /// Two states: what a single operation has to hash side by side.
    Pair, __m128i, 2, _mm_set1_epi64x, _mm_xor_si128, _mm_rolv_epi64, _mm_ternarylogic_epi64
}
words! {
    /// Eight states.
    Eight, __m512i, 8, _mm512_set1_epi64, _mm512_xor_si512, _mm512_rolv_epi64, _mm512_ternarylogic_epi64
}
