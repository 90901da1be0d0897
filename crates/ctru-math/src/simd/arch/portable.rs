//! Plain Rust: vectors of eight lanes.
//!
//! The loops over lanes have a counter, because the compiler vectorises such loops. It does not
//! always inline `array::from_fn`, it compiles iterators of arrays slowly, and it makes slower code
//! if the lanes are written out one by one.
//!
//! With debug assertions, as in tests, the functions with loops are not inlined, because inlining
//! them takes a quarter of the time of compiling this crate.

use core::hint::black_box;

use crate::backend::Portable;
use crate::simd::{Simd, Sums, Vector, WithSimd};

/// Eight 16-bit integers.
#[derive(Copy, Clone)]
pub(crate) struct I16x8([i16; 8]);

/// Eight 32-bit integers.
#[derive(Copy, Clone)]
pub(crate) struct I32x8([i32; 8]);

impl I16x8 {
    #[cfg_attr(debug_assertions, inline(never))]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn zip(self, y: Self, f: impl Fn(i16, i16) -> i16) -> Self {
        let mut lanes = [0; 8];
        let mut i = 0;
        while i < 8 {
            lanes[i] = f(self.0[i], y.0[i]);
            i += 1;
        }
        Self(lanes)
    }
}

impl Simd for Portable {
    const LANES: usize = 8;
    type Vector = I16x8;

    #[inline(never)]
    fn vectorize<W: WithSimd>(self, work: W) -> W::Output {
        work.with_simd(self)
    }

    #[inline(always)]
    fn splat(self, x: i16) -> I16x8 {
        I16x8([x; 8])
    }
    #[inline(always)]
    fn halves(self, low: i16, high: i16) -> I16x8 {
        I16x8([low, low, low, low, high, high, high, high])
    }
    #[inline(always)]
    fn load(self, x: &[i16]) -> I16x8 {
        // The compiler does not see through the reference. Otherwise it would vectorise loops over
        // vectors by gathering lanes of different vectors, which takes several times as long.
        I16x8(*black_box(x.first_chunk().expect("a vector of elements")))
    }
    #[inline(always)]
    fn load_twice(self, x: &[u16]) -> I16x8 {
        let [a, b, c, d] = [x[0] as i16, x[1] as i16, x[2] as i16, x[3] as i16];
        I16x8([a, b, c, d, a, b, c, d])
    }
    #[inline(always)]
    fn load_twice_bytes(self, x: &[i8]) -> I16x8 {
        let [a, b, c, d] = [x[0].into(), x[1].into(), x[2].into(), x[3].into()];
        I16x8([a, b, c, d, a, b, c, d])
    }
    #[inline(always)]
    fn no_sums(self) -> I32x8 {
        I32x8([0; 8])
    }
}

impl Vector for I16x8 {
    type Sums = I32x8;

    #[inline(always)]
    fn store(self, to: &mut [i16]) {
        to[..8].copy_from_slice(&self.0);
    }
    #[inline(always)]
    fn store_unsigned(self, to: &mut [u16]) {
        to[..8].copy_from_slice(&self.0.map(|x| x as u16));
    }
    #[inline(always)]
    fn store_halves(self, low: &mut [i16], high: &mut [i16]) {
        low[..4].copy_from_slice(&self.0[..4]);
        high[..4].copy_from_slice(&self.0[4..]);
    }
    #[cfg_attr(debug_assertions, inline(never))]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn transpose(rows: &mut [Self]) {
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
        // The mask is the sign of x - y in 32 bits, because a comparison could become a branch.
        self.zip(y, |x, y| {
            let less = ((i32::from(x as u16) - i32::from(y as u16)) >> 31) as i16;
            y ^ (less & (x ^ y))
        })
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
    fn or(self, y: Self) -> Self {
        self.zip(y, |x, y| x | y)
    }
    #[inline(always)]
    fn lanes_down(mut self) -> Self {
        self.0.rotate_left(1);
        self
    }
    #[inline(always)]
    fn lanes_up(mut self) -> Self {
        self.0.rotate_right(1);
        self
    }
}

impl Sums for I32x8 {
    type Vector = I16x8;

    #[cfg_attr(debug_assertions, inline(never))]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn add_products(mut self, a: [I16x8; 2], b: [I16x8; 2]) -> Self {
        let product = |a: &I16x8, b: &I16x8, i: usize| i32::from(a.0[i]) * i32::from(b.0[i]);
        let mut i = 0;
        while i < 8 {
            self.0[i] = self.0[i]
                .wrapping_add(product(&a[0], &b[0], i))
                .wrapping_add(product(&a[1], &b[1], i));
            i += 1;
        }
        self
    }
    #[cfg_attr(debug_assertions, inline(never))]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn split(self) -> [I16x8; 2] {
        let (mut low, mut high) = ([0; 8], [0; 8]);
        let mut i = 0;
        while i < 8 {
            low[i] = self.0[i] as i16;
            high[i] = (self.0[i] >> 16) as i16;
            i += 1;
        }
        [I16x8(low), I16x8(high)]
    }
}
