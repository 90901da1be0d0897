//! Vectors that check lazy arithmetic: eight lanes in which every sum and difference must fit.
//!
//! An operation panics if a sum leaves its lane, or if it multiplies the two numbers on whose
//! product the backends disagree. It notes the largest of its results, as those of
//! [`ranges`](super::ranges) do. Operations are not inlined, because a transform has hundreds of
//! each, and the compiler would take long to optimise the checks.

use super::ranges::note;
use super::{Simd, Sums, Vector, WithSimd};
use crate::backend::Portable;

/// The token of the vectors.
#[derive(Copy, Clone)]
pub(crate) struct Checked;

/// Eight 16-bit integers.
#[derive(Copy, Clone)]
pub(crate) struct CheckedVector(<Portable as Simd>::Vector);

/// Eight 32-bit integers.
#[derive(Copy, Clone)]
pub(crate) struct CheckedSums([i32; 8]);

impl CheckedVector {
    fn lanes(self) -> [i16; 8] {
        let mut lanes = [0; 8];
        self.0.store(&mut lanes);
        lanes
    }
    fn exact(self, y: Self, f: impl Fn(i16, i16) -> Option<i16>) -> Self {
        let mut lanes = self.lanes();
        for (x, y) in lanes.iter_mut().zip(y.lanes()) {
            *x = f(*x, y).expect("a sum in 16 bits");
        }
        note(lanes.into_iter().map(|x| i32::from(x).abs()).fold(0, i32::max));
        Self(Portable.load(&lanes))
    }
    /// Panics if a lane has the two factors that [`Vector`] excludes.
    fn assert_products_agree(self, y: Self) {
        assert!(
            !self.lanes().into_iter().zip(y.lanes()).any(|factors| factors == (i16::MIN, i16::MIN))
        );
    }
}

impl Simd for Checked {
    const LANES: usize = 8;
    type Vector = CheckedVector;

    fn vectorize<W: WithSimd>(self, work: W) -> W::Output {
        work.with_simd(self)
    }
    fn splat(self, x: i16) -> CheckedVector {
        CheckedVector(Portable.splat(x))
    }
    fn halves(self, low: i16, high: i16) -> CheckedVector {
        CheckedVector(Portable.halves(low, high))
    }
    fn load(self, x: &[i16]) -> CheckedVector {
        CheckedVector(Portable.load(x))
    }
    fn load_twice(self, x: &[u16]) -> CheckedVector {
        CheckedVector(Portable.load_twice(x))
    }
    fn load_twice_bytes(self, x: &[i8]) -> CheckedVector {
        CheckedVector(Portable.load_twice_bytes(x))
    }
    fn no_sums(self) -> CheckedSums {
        CheckedSums([0; 8])
    }
}

impl Vector for CheckedVector {
    type Sums = CheckedSums;

    fn store(self, to: &mut [i16]) {
        self.0.store(to);
    }
    fn store_unsigned(self, to: &mut [u16]) {
        self.0.store_unsigned(to);
    }
    fn store_halves(self, low: &mut [i16], high: &mut [i16]) {
        self.0.store_halves(low, high);
    }
    fn transpose(rows: &mut [Self]) {
        let mut lanes = [rows[0].0, rows[1].0, rows[2].0, rows[3].0];
        Vector::transpose(&mut lanes);
        for (row, lanes) in rows.iter_mut().zip(lanes) {
            *row = Self(lanes);
        }
    }
    #[inline(never)]
    fn add(self, y: Self) -> Self {
        self.exact(y, i16::checked_add)
    }
    #[inline(never)]
    fn sub(self, y: Self) -> Self {
        self.exact(y, i16::checked_sub)
    }
    #[inline(never)]
    fn mul_low(self, y: Self) -> Self {
        Self(self.0.mul_low(y.0))
    }
    #[inline(never)]
    fn mul_high(self, y: Self) -> Self {
        self.assert_products_agree(y);
        Self(self.0.mul_high(y.0))
    }
    #[inline(never)]
    fn mul_round(self, y: Self) -> Self {
        self.assert_products_agree(y);
        Self(self.0.mul_round(y.0))
    }
    fn min_unsigned(self, y: Self) -> Self {
        Self(self.0.min_unsigned(y.0))
    }
    fn and(self, y: Self) -> Self {
        Self(self.0.and(y.0))
    }
    fn xor(self, y: Self) -> Self {
        Self(self.0.xor(y.0))
    }
    fn or(self, y: Self) -> Self {
        Self(self.0.or(y.0))
    }
    fn lanes_down(self) -> Self {
        Self(self.0.lanes_down())
    }
    fn lanes_up(self) -> Self {
        Self(self.0.lanes_up())
    }
}

impl Sums for CheckedSums {
    type Vector = CheckedVector;

    #[inline(never)]
    fn add_products(mut self, a: [CheckedVector; 2], b: [CheckedVector; 2]) -> Self {
        for (a, b) in a.iter().zip(b) {
            for (sum, (a, b)) in self.0.iter_mut().zip(a.lanes().into_iter().zip(b.lanes())) {
                *sum = sum.checked_add(i32::from(a) * i32::from(b)).expect("a sum in 32 bits");
            }
        }
        note(self.0.into_iter().map(i32::abs).fold(0, i32::max));
        self
    }
    fn split(self) -> [CheckedVector; 2] {
        let low = self.0.map(|sum| sum as i16);
        let high = self.0.map(|sum| (sum >> 16) as i16);
        [low, high].map(|half| CheckedVector(Portable.load(&half)))
    }
}
