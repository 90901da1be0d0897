//! Plain 64-bit words: one lane of a single state.

use super::{Lanes, Row};

#[derive(Copy, Clone)]
pub(in crate::hash) struct Word(u64);

impl Word {
    /// Zero.
    pub(in crate::hash) const ZERO: Self = Self(0);
}

impl Lanes for Word {
    const STATES: usize = 1;

    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn zero() -> Self {
        Self::ZERO
    }
    #[inline(always)]
    fn splat(self, x: u64) -> Self {
        Self(x)
    }
    #[inline(always)]
    fn load(self, row: &Row) -> Self {
        Self(row[0])
    }
    #[inline(always)]
    fn store(self, row: &mut Row) {
        row[0] = self.0;
    }
    #[inline(always)]
    fn add(self, y: Self) -> Self {
        Self(self.0.wrapping_add(y.0))
    }
    #[inline(always)]
    fn and(self, y: Self) -> Self {
        Self(self.0 & y.0)
    }
    #[inline(always)]
    fn shift_right(self, bits: u32) -> Self {
        Self(self.0 >> bits)
    }
    #[inline(always)]
    fn xor(self, y: Self) -> Self {
        Self(self.0 ^ y.0)
    }
    #[inline(always)]
    fn rotate_left(self, bits: u32) -> Self {
        Self(self.0.rotate_left(bits))
    }
    #[inline(always)]
    fn xor3(self, y: Self, z: Self) -> Self {
        Self(self.0 ^ y.0 ^ z.0)
    }
    #[inline(always)]
    fn xor_not_and(self, y: Self, z: Self) -> Self {
        Self(self.0 ^ (!y.0 & z.0))
    }
}
