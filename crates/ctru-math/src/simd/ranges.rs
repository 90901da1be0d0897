//! Vectors whose lanes are ranges: they run the code of a product once, for all operands.
//!
//! A lane is the range of the numbers that the lane of a real vector can hold. An operation panics
//! if a sum can leave its lane, or if it is none of these: a sum, a difference, a product by a
//! constant factor, a reduction, a sum of products, a step to the canonical or the centred
//! representative, or a mask of a number modulo 2^16. On residue classes, sums, differences and
//! products by constants are linear, sums of products are bilinear, and reductions and
//! representatives change nothing.
//!
//! In memory, a number is the largest absolute value in its range, so a constant stands for itself
//! and for its negative. Only [`Simd::splat`] and [`Simd::halves`] know a constant's sign.
//! `i16::MIN` stands for a number modulo 2^16.

extern crate std;

use core::array::from_fn;
use core::cell::{Cell, RefCell};
use core::mem::take;
use std::vec::Vec;

use super::{Simd, Sums, Vector, WithSimd};

std::thread_local! {
    static NAMES: Cell<u32> = const { Cell::new(0) };
    static TRACE: RefCell<Vec<i32>> = const { RefCell::new(Vec::new()) };
}

/// Notes the largest absolute value of an operation's result.
pub(super) fn note(largest: i32) {
    TRACE.with_borrow_mut(|trace| trace.push(largest));
}

/// Runs the work and returns what its operations noted, in their order.
pub(crate) fn traced<T>(work: impl FnOnce() -> T) -> (T, Vec<i32>) {
    TRACE.take();
    let result = work();
    (result, TRACE.with_borrow_mut(take))
}

/// The token of vectors with so many lanes.
#[derive(Copy, Clone)]
pub(crate) struct Ranges<const LANES: usize>;

/// A range for each lane.
#[derive(Copy, Clone)]
pub(crate) struct RangeVector<const LANES: usize>([Lane; LANES]);

/// A range of 32-bit sums for each lane.
#[derive(Copy, Clone)]
pub(crate) struct RangeSums<const LANES: usize>([(i64, i64); LANES]);

#[derive(Copy, Clone)]
struct Lane {
    low: i32,
    high: i32,
    /// Whether the number means something modulo 2^16 only.
    wraps: bool,
    /// The same for copies of one number, and different for any others.
    name: u32,
    made: Made,
}

/// How a number was made, as far as a later operation must know it.
#[derive(Copy, Clone, PartialEq)]
enum Made {
    Otherwise,
    /// A constant, if the code loads no secret here.
    Constant(i16),
    /// The number `of` plus a constant.
    Plus {
        of: u32,
        by: i16,
    },
    /// The low half of the product of the number `of` and a constant.
    Low {
        of: u32,
        by: i16,
    },
    /// `x * by / 2^15`, rounded, where `x` is the number `of` and `|x|` is at most `largest`.
    Quotient {
        of: u32,
        by: i16,
        largest: i32,
    },
    /// A number whose difference to the number `of` is at most `rest`.
    Near {
        of: u32,
        rest: i32,
    },
}

const LANE: (i32, i32) = (i16::MIN as i32, i16::MAX as i32);

impl Lane {
    fn new(low: i32, high: i32, made: Made) -> Self {
        assert!(LANE.0 <= low && low <= high && high <= LANE.1, "{low}..={high} leaves a lane");
        let name = NAMES.get();
        NAMES.set(name + 1);
        Self { low, high, wraps: false, name, made }
    }
    fn up_to(largest: i32, made: Made) -> Self {
        Self::new(-largest, largest, made)
    }
    fn modulo_2_16(made: Made) -> Self {
        Self { wraps: true, ..Self::new(LANE.0, LANE.1, made) }
    }
    fn loaded(x: i16) -> Self {
        match x {
            i16::MIN => Self::modulo_2_16(Made::Otherwise),
            x => Self::up_to(i32::from(x).abs(), Made::Constant(x)),
        }
    }
    fn splat(x: i16) -> Self {
        match x {
            i16::MIN => Self::loaded(x),
            x => Self::new(x.into(), x.into(), Made::Constant(x)),
        }
    }
    fn stored(self) -> i16 {
        if self.wraps { i16::MIN } else { i16::try_from(self.largest()).expect("above -2^15") }
    }
    fn largest(self) -> i32 {
        self.high.max(-self.low)
    }
    fn constant(self) -> i32 {
        let Made::Constant(c) = self.made else { panic!("no constant") };
        c.into()
    }
    /// Returns the range of a function that is monotonous in both numbers.
    fn corners(self, y: Self, f: impl Fn(i32, i32) -> i32) -> (i32, i32) {
        let corners = [self.low, self.high].map(|x| [y.low, y.high].map(|y| f(x, y)));
        let corners = corners.as_flattened();
        (corners.iter().copied().fold(i32::MAX, i32::min), {
            corners.iter().copied().fold(i32::MIN, i32::max)
        })
    }
    fn add(self, y: Self) -> Self {
        if self.wraps || y.wraps {
            return Self::modulo_2_16(Made::Otherwise);
        }
        let made = match y.made {
            Made::Constant(by) => Made::Plus { of: self.name, by },
            _ => Made::Otherwise,
        };
        Self::new(self.low + y.low, self.high + y.high, made)
    }
    fn sub(self, y: Self) -> Self {
        match y.made {
            Made::Near { of, rest } if of == self.name => Self::up_to(rest, Made::Otherwise),
            _ if self.wraps || y.wraps => Self::modulo_2_16(Made::Otherwise),
            _ => Self::new(self.low - y.high, self.high - y.low, Made::Otherwise),
        }
    }
    fn mul_low(self, y: Self) -> Self {
        let by = y.constant() as i16;
        let made = match self.made {
            Made::Quotient { of, by: ratio, largest } => {
                // The quotient is the number over `by`, with the error of the ratio, rounded.
                let error = (i32::from(ratio) * i32::from(by) - (1 << 15)).abs();
                let rest = (i32::from(by) << 14) + largest * error;
                Made::Near { of, rest: rest >> 15 }
            }
            _ => Made::Low { of: self.name, by },
        };
        let (low, high) = self.corners(Self::splat(by), |x, y| x * y);
        if self.wraps || low < LANE.0 || high > LANE.1 {
            Self::modulo_2_16(made)
        } else {
            Self::new(low, high, made)
        }
    }
    fn mul_high(self, y: Self) -> Self {
        assert!(!self.wraps || matches!(self.made, Made::Low { .. }));
        let (low, high) = self.corners(Self::splat(y.constant() as i16), |x, y| (x * y) >> 16);
        Self::new(low, high, Made::Otherwise)
    }
    fn mul_high_difference(self, x: Self, y: Self, z: Self) -> Self {
        let Made::Low { of, by } = y.made else { panic!("no quotient") };
        let (factor, m) = (x.constant(), z.constant());
        assert!(of == self.name && !self.wraps, "the quotient of another number");
        assert_eq!(i32::from(by).wrapping_mul(m) as i16, factor as i16, "another factor");
        Self::up_to((self.largest() * factor.abs() + (m << 15)) >> 16, Made::Otherwise)
    }
    fn mul_round(self, y: Self) -> Self {
        assert!(!self.wraps);
        let by = y.constant() as i16;
        let (low, high) = self.corners(Self::splat(by), |x, y| (x * y + (1 << 14)) >> 15);
        Self::new(low, high, Made::Quotient { of: self.name, by, largest: self.largest() })
    }
    fn min_unsigned(self, y: Self) -> Self {
        let Made::Plus { of, by } = y.made else { panic!("not the canonical representative") };
        assert!(of == self.name && self.largest() < by.into(), "not below the modulus");
        Self::new(0, i32::from(by) - 1, Made::Otherwise)
    }
    /// Returns the remainder of a number that means something modulo 2^16 only.
    fn and(self, y: Self) -> Self {
        let mask = y.constant();
        assert!(self.wraps && mask >= 0, "a mask on an exact number");
        Self::new(0, mask, Made::Otherwise)
    }
    /// Returns the exclusive disjunction with a sign: 0 or -1.
    fn xor(self, y: Self) -> Self {
        match y.constant() {
            0 => self,
            -1 => Self::new(-1 - self.high, -1 - self.low, Made::Otherwise),
            _ => panic!("no sign"),
        }
    }
}

impl<const LANES: usize> RangeVector<LANES> {
    fn zip(self, y: Self, f: impl Fn(Lane, Lane) -> Lane) -> Self {
        Self(from_fn(|i| f(self.0[i], y.0[i])))
    }
    fn noted(self) -> Self {
        note(self.0.iter().map(|lane| lane.largest()).fold(0, i32::max));
        self
    }
}

impl<const LANES: usize> Simd for Ranges<LANES> {
    const LANES: usize = LANES;
    type Vector = RangeVector<LANES>;

    fn vectorize<W: WithSimd>(self, work: W) -> W::Output {
        work.with_simd(self)
    }
    #[inline(never)]
    fn splat(self, x: i16) -> RangeVector<LANES> {
        RangeVector(from_fn(|_| Lane::splat(x)))
    }
    #[inline(never)]
    fn halves(self, low: i16, high: i16) -> RangeVector<LANES> {
        RangeVector(from_fn(|i| Lane::splat(if i < LANES / 2 { low } else { high })))
    }
    #[inline(never)]
    fn load(self, x: &[i16]) -> RangeVector<LANES> {
        RangeVector(from_fn(|i| Lane::loaded(x[i])))
    }
    #[inline(never)]
    fn load_twice(self, x: &[u16]) -> RangeVector<LANES> {
        RangeVector(from_fn(|i| Lane::loaded(x[i % (LANES / 2)] as i16)))
    }
    #[inline(never)]
    fn load_twice_bytes(self, x: &[i8]) -> RangeVector<LANES> {
        RangeVector(from_fn(|i| Lane::loaded(x[i % (LANES / 2)].into())))
    }
    fn no_sums(self) -> RangeSums<LANES> {
        RangeSums([(0, 0); LANES])
    }
}

impl<const LANES: usize> Vector for RangeVector<LANES> {
    type Sums = RangeSums<LANES>;

    #[inline(never)]
    fn store(self, to: &mut [i16]) {
        to[..LANES].copy_from_slice(&self.0.map(Lane::stored));
    }
    #[inline(never)]
    fn store_unsigned(self, to: &mut [u16]) {
        to[..LANES].copy_from_slice(&self.0.map(|lane| lane.stored() as u16));
    }
    #[inline(never)]
    fn store_halves(self, low: &mut [i16], high: &mut [i16]) {
        let lanes = self.0.map(Lane::stored);
        low[..LANES / 2].copy_from_slice(&lanes[..LANES / 2]);
        high[..LANES / 2].copy_from_slice(&lanes[LANES / 2..]);
    }
    #[inline(never)]
    fn transpose(rows: &mut [Self]) {
        for i in 0..LANES / 2 {
            for j in 0..i {
                for half in [0, LANES / 2] {
                    (rows[i].0[half + j], rows[j].0[half + i]) =
                        (rows[j].0[half + i], rows[i].0[half + j]);
                }
            }
        }
    }
    #[inline(never)]
    fn add(self, y: Self) -> Self {
        self.zip(y, Lane::add).noted()
    }
    #[inline(never)]
    fn sub(self, y: Self) -> Self {
        self.zip(y, Lane::sub).noted()
    }
    #[inline(never)]
    fn mul_low(self, y: Self) -> Self {
        self.zip(y, Lane::mul_low)
    }
    #[inline(never)]
    fn mul_high(self, y: Self) -> Self {
        self.zip(y, Lane::mul_high)
    }
    #[inline(never)]
    fn mul_high_difference(self, x: Self, y: Self, z: Self) -> Self {
        let lane = |i: usize| self.0[i].mul_high_difference(x.0[i], y.0[i], z.0[i]);
        Self(from_fn(lane)).noted()
    }
    #[inline(never)]
    fn mul_round(self, y: Self) -> Self {
        self.zip(y, Lane::mul_round)
    }
    #[inline(never)]
    fn min_unsigned(self, y: Self) -> Self {
        self.zip(y, Lane::min_unsigned)
    }
    #[inline(never)]
    fn and(self, y: Self) -> Self {
        self.zip(y, Lane::and)
    }
    #[inline(never)]
    fn xor(self, y: Self) -> Self {
        self.zip(y, Lane::xor)
    }
    fn or(self, _: Self) -> Self {
        panic!("no step of a product")
    }
    fn lanes_down(self) -> Self {
        panic!("no step of a product")
    }
    fn lanes_up(self) -> Self {
        panic!("no step of a product")
    }
}

impl<const LANES: usize> Sums for RangeSums<LANES> {
    type Vector = RangeVector<LANES>;

    #[inline(never)]
    fn add_products(self, a: [Self::Vector; 2], b: [Self::Vector; 2]) -> Self {
        let sums: [(i64, i64); LANES] = from_fn(|i| {
            let (mut low, mut high) = self.0[i];
            for (a, b) in a.iter().zip(&b) {
                let (a, b) = (a.0[i], b.0[i]);
                assert!(!a.wraps && !b.wraps);
                let largest = i64::from(a.largest()) * i64::from(b.largest());
                (low, high) = (low - largest, high + largest);
            }
            assert!(i64::from(i32::MIN) <= low && high <= i64::from(i32::MAX), "{high}");
            (low, high)
        });
        note(sums.iter().map(|&(_, high)| high as i32).fold(0, i32::max));
        Self(sums)
    }
    #[inline(never)]
    fn split(self) -> [RangeVector<LANES>; 2] {
        let low = from_fn(|_| Lane::new(LANE.0, LANE.1, Made::Otherwise));
        let high = self
            .0
            .map(|(low, high)| Lane::new((low >> 16) as i32, (high >> 16) as i32, Made::Otherwise));
        [low, high].map(RangeVector)
    }
}
