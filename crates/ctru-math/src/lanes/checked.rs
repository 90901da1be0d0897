//! Eight lanes in which a sum or a difference that does not fit is a panic, and so are factors that no backend has to take:
//! shows that lazy arithmetic stays in its bounds.

use super::{Lanes, Portable};
use crate::backend::Backend;

#[derive(Copy, Clone)]
pub(crate) struct Checked(Portable);

impl Checked {
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
        Self(Portable::load(&lanes))
    }
    /// See [`Lanes`].
    fn assert_products_agree(self, y: Self) {
        assert!(
            !self.lanes().into_iter().zip(y.lanes()).any(|factors| factors == (i16::MIN, i16::MIN))
        );
    }
}

impl Lanes for Checked {
    const BACKEND: Backend = Backend::Portable;
    const LANES: usize = 8;
    type Sums = [i32; 8];

    fn splat(x: i16) -> Self {
        Self(Portable::splat(x))
    }
    fn halves(low: i16, high: i16) -> Self {
        Self(Portable::halves(low, high))
    }
    fn load(x: &[i16]) -> Self {
        Self(Portable::load(x))
    }
    fn load_twice(x: &[u16]) -> Self {
        Self(Portable::load_twice(x))
    }
    fn load_twice_bytes(x: &[i8]) -> Self {
        Self(Portable::load_twice_bytes(x))
    }
    fn store(self, x: &mut [i16]) {
        self.0.store(x);
    }
    fn store_unsigned(self, x: &mut [u16]) {
        self.0.store_unsigned(x);
    }
    fn store_halves(self, low: &mut [i16], high: &mut [i16]) {
        self.0.store_halves(low, high);
    }
    fn transpose<const HALF: usize>(rows: &mut [Self; HALF]) {
        let mut lanes = rows.map(|row| row.0);
        Portable::transpose(&mut lanes);
        *rows = lanes.map(Self);
    }
    fn add(self, y: Self) -> Self {
        self.exact(y, i16::checked_add)
    }
    fn sub(self, y: Self) -> Self {
        self.exact(y, i16::checked_sub)
    }
    fn mul_low(self, y: Self) -> Self {
        Self(self.0.mul_low(y.0))
    }
    fn mul_high(self, y: Self) -> Self {
        self.assert_products_agree(y);
        Self(self.0.mul_high(y.0))
    }
    fn mul_round(self, y: Self) -> Self {
        self.assert_products_agree(y);
        Self(self.0.mul_round(y.0))
    }
    fn min_unsigned(self, y: Self) -> Self {
        Self(self.0.min_unsigned(y.0))
    }
    fn no_sums() -> [i32; 8] {
        [0; 8]
    }
    fn add_products(mut sums: [i32; 8], a: [Self; 2], b: [Self; 2]) -> [i32; 8] {
        for (a, b) in a.iter().zip(b) {
            for (sum, (a, b)) in sums.iter_mut().zip(a.lanes().into_iter().zip(b.lanes())) {
                *sum = sum.checked_add(i32::from(a) * i32::from(b)).expect("a sum in 32 bits");
            }
        }
        sums
    }
    fn split(sums: [i32; 8]) -> [Self; 2] {
        Portable::split(sums).map(Self)
    }
    fn shift_right<const BITS: i32>(self) -> Self {
        Self(self.0.shift_right::<BITS>())
    }
    fn and(self, y: Self) -> Self {
        Self(self.0.and(y.0))
    }
    fn xor(self, y: Self) -> Self {
        Self(self.0.xor(y.0))
    }
}
