//! The vectors of WebAssembly: one lane of each of two states.

use core::arch::wasm32::*;

use super::{Lanes, Row};

#[derive(Copy, Clone)]
pub(super) struct Pair(v128);

impl Lanes for Pair {
    const STATES: usize = 2;

    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn zero() -> Self {
        Self(u64x2_splat(0))
    }
    #[inline(always)]
    fn splat(self, x: u64) -> Self {
        Self(u64x2_splat(x))
    }
    #[inline(always)]
    fn load(self, row: &Row) -> Self {
        Self(u64x2(row[0], row[1]))
    }
    #[inline(always)]
    fn store(self, row: &mut Row) {
        row[0] = u64x2_extract_lane::<0>(self.0);
        row[1] = u64x2_extract_lane::<1>(self.0);
    }
    #[inline(always)]
    fn add(self, y: Self) -> Self {
        Self(i64x2_add(self.0, y.0))
    }
    #[inline(always)]
    fn and(self, y: Self) -> Self {
        Self(v128_and(self.0, y.0))
    }
    #[inline(always)]
    fn shift_right(self, bits: u32) -> Self {
        Self(u64x2_shr(self.0, bits))
    }
    #[inline(always)]
    fn xor(self, y: Self) -> Self {
        Self(v128_xor(self.0, y.0))
    }
    #[inline(always)]
    fn rotate_left(self, bits: u32) -> Self {
        // WebAssembly takes the number of bits modulo 64.
        Self(v128_or(i64x2_shl(self.0, bits), u64x2_shr(self.0, 64 - bits)))
    }
    #[inline(always)]
    fn xor3(self, y: Self, z: Self) -> Self {
        self.xor(y).xor(z)
    }
    #[inline(always)]
    fn xor_not_and(self, y: Self, z: Self) -> Self {
        Self(v128_xor(self.0, v128_andnot(z.0, y.0)))
    }
}
