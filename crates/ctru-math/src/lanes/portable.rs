//! Eight lanes in plain Rust.

use super::Lanes;
use crate::backend::Backend;

#[derive(Copy, Clone)]
pub(crate) struct Portable([i16; 8]);

impl Portable {
    #[inline(always)]
    fn zip(self, y: Self, f: impl Fn(i16, i16) -> i16) -> Self {
        // Loops, because `array::from_fn` is not always compiled into its caller.
        let mut lanes = self.0;
        for (x, y) in lanes.iter_mut().zip(y.0) {
            *x = f(*x, y);
        }
        Self(lanes)
    }
}

impl Lanes for Portable {
    const BACKEND: Backend = Backend::Portable;
    const LANES: usize = 8;
    type Sums = [i32; 8];

    #[inline(always)]
    fn splat(x: i16) -> Self {
        Self([x; 8])
    }
    #[inline(always)]
    fn halves(low: i16, high: i16) -> Self {
        Self([low, low, low, low, high, high, high, high])
    }
    #[inline(always)]
    fn load(x: &[i16]) -> Self {
        Self(*x.first_chunk().expect("a vector of elements"))
    }
    #[inline(always)]
    fn load_twice(x: &[u16]) -> Self {
        let x = [x[0] as i16, x[1] as i16, x[2] as i16, x[3] as i16];
        Self::load(&[x[0], x[1], x[2], x[3], x[0], x[1], x[2], x[3]])
    }
    #[inline(always)]
    fn load_twice_bytes(x: &[i8]) -> Self {
        let x = [i16::from(x[0]), i16::from(x[1]), i16::from(x[2]), i16::from(x[3])];
        Self::load(&[x[0], x[1], x[2], x[3], x[0], x[1], x[2], x[3]])
    }
    #[inline(always)]
    fn store(self, x: &mut [i16]) {
        x[..8].copy_from_slice(&self.0);
    }
    #[inline(always)]
    fn store_unsigned(self, x: &mut [u16]) {
        x[..8].copy_from_slice(&self.0.map(|x| x as u16));
    }
    #[inline(always)]
    fn store_halves(self, low: &mut [i16], high: &mut [i16]) {
        low[..4].copy_from_slice(&self.0[..4]);
        high[..4].copy_from_slice(&self.0[4..]);
    }
    #[inline(always)]
    fn transpose<const HALF: usize>(rows: &mut [Self; HALF]) {
        for i in 0..4 {
            for j in 0..i {
                for half in [0, 4] {
                    (rows[i].0[half + j], rows[j].0[half + i]) =
                        (rows[j].0[half + i], rows[i].0[half + j]);
                }
            }
        }
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
    fn mul_round(self, y: Self) -> Self {
        self.zip(y, |x, y| ((i32::from(x) * i32::from(y) + (1 << 14)) >> 15) as i16)
    }
    #[inline(always)]
    fn min_unsigned(self, y: Self) -> Self {
        // The sign of x - y in 32 bits, so that there is no comparison to turn into a branch.
        self.zip(y, |x, y| {
            let less = ((i32::from(x as u16) - i32::from(y as u16)) >> 31) as i16;
            y ^ (less & (x ^ y))
        })
    }
    #[inline(always)]
    fn no_sums() -> [i32; 8] {
        [0; 8]
    }
    #[inline(always)]
    fn add_products(mut sums: [i32; 8], a: [Self; 2], b: [Self; 2]) -> [i32; 8] {
        let product = |a: &Self, b: &Self, i: usize| i32::from(a.0[i]) * i32::from(b.0[i]);
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum =
                sum.wrapping_add(product(&a[0], &b[0], i)).wrapping_add(product(&a[1], &b[1], i));
        }
        sums
    }
    #[inline(always)]
    fn split(sums: [i32; 8]) -> [Self; 2] {
        [Self(sums.map(|sum| sum as i16)), Self(sums.map(|sum| (sum >> 16) as i16))]
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
}
