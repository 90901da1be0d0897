//! Eight lanes in plain Rust.

use core::array;

use super::Lanes;

#[derive(Copy, Clone)]
pub(crate) struct Portable([i16; 8]);

impl Portable {
    #[inline(always)]
    fn zip(self, y: Self, f: impl Fn(i16, i16) -> i16) -> Self {
        Self(array::from_fn(|i| f(self.0[i], y.0[i])))
    }
}

impl Lanes for Portable {
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(x: i16) -> Self {
        Self([x; 8])
    }
    #[inline(always)]
    fn load(x: &[i16]) -> Self {
        Self(array::from_fn(|i| x[i]))
    }
    #[inline(always)]
    fn store(self, x: &mut [i16]) {
        x[..8].copy_from_slice(&self.0);
    }
    #[inline(always)]
    fn add(self, y: Self) -> Self {
        self.zip(y, i16::wrapping_add)
    }
    #[inline(always)]
    fn sub(self, y: Self) -> Self {
        self.zip(y, i16::wrapping_sub)
    }
    #[inline(always)]
    fn mul_low(self, y: Self) -> Self {
        self.zip(y, i16::wrapping_mul)
    }
    #[inline(always)]
    fn mul_high(self, y: Self) -> Self {
        self.zip(y, |x, y| ((i32::from(x) * i32::from(y)) >> 16) as i16)
    }
    #[inline(always)]
    fn shift_right<const BITS: i32>(self) -> Self {
        Self(self.0.map(|x| x >> BITS))
    }
    #[inline(always)]
    fn and(self, y: Self) -> Self {
        self.zip(y, |x, y| x & y)
    }
    #[inline(always)]
    fn xor(self, y: Self) -> Self {
        self.zip(y, |x, y| x ^ y)
    }
    #[inline(always)]
    fn greater_than(self, y: Self) -> Self {
        // The sign of y - x in 32 bits, so that there is no comparison to turn into a branch.
        self.zip(y, |x, y| ((i32::from(y) - i32::from(x)) >> 31) as i16)
    }
}
