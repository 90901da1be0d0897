//! Constant-time inversion modulo 3 by division steps, on bits.
//!
//! The steps are those of the [inversion modulo `q`](crate::invert), with one difference: `f(0)` is
//! always 1 or -1, so a step subtracts `g(0) / f(0) = g(0) f(0)` times `f` from `g`. After `2n - 1`
//! steps, `delta` is 0 exactly if the polynomial has an inverse (Theorem 6.2 there).
//!
//! A polynomial is two strings of bits: which coefficients are 1, and which are -1. Let the vectors
//! of such a string have `W` lanes together. Then coefficient `i` is bit `i / W` of lane `i % W`.
//! Here lanes are counted across the vectors first: lane `j` is lane `j / count` of vector
//! `j % count`. So a shift by one coefficient takes each vector to the place of the next one, and
//! moves the lanes of only one vector.
//!
//! Source of the sum: Y. Kawahara, K. Aoki, T. Takagi, "Faster implementation of eta_T pairing over
//! GF(3^m) using minimum number of logical instructions for GF(3)-addition", Pairing 2008.

use subtle::Choice;

use crate::poly::SmallPoly;
use crate::ring::NtruPrimeRing;
use crate::simd::{Simd, Vector, WithSimd};
use crate::wipe::Scratch;

/// Most vectors of a string of bits: those of 1278 coefficients in vectors of 128 bits.
const MOST: usize = 10;
/// Most lanes of a vector.
const MOST_LANES: usize = 32;
/// Most lanes of all vectors of a string.
const MOST_WORDS: usize = 96;

/// Where the coefficients 1 are, and where the coefficients -1 are.
type Signs<V> = [V; 2];

/// The work of [`inverse`](super::inverse).
pub(super) struct Inverse<'a, R: NtruPrimeRing>(pub(super) &'a SmallPoly<R>);

impl<R: NtruPrimeRing> WithSimd for Inverse<'_, R> {
    type Output = (SmallPoly<R>, Choice);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let n = R::N;
        let mut room = Coefficients::new();
        (room[0], room[n - 1], room[n]) = (1, -1, -1);
        let mut f = pack::<R, S>(simd, &room);
        (room[n - 1], room[n]) = (0, 0);
        let mut r = pack::<R, S>(simd, &room);
        let mut v = [[simd.splat(0); 2]; MOST];
        for (room, &a) in room.iter_mut().zip(self.0.coefficients().iter().rev()) {
            *room = a;
        }
        let mut g = pack::<R, S>(simd, &room);
        let count = const { vectors::<R>(S::LANES) };
        let shift = Shift::new(simd);
        let mut delta = 1;
        for _ in 0..2 * n - 1 {
            let step = Step::new(&mut delta, lowest(f[0]), lowest(g[0])).splat(simd);
            let last = v[count - 1];
            for i in (1..count).rev() {
                v[i] = v[i - 1];
            }
            v[0] = [shift.up(last[0]), shift.up(last[1])];
            for (f, g) in f[..count].iter_mut().zip(&mut g[..count]) {
                (*f, *g) = step.apply(*f, *g);
            }
            for (v, r) in v[..count].iter_mut().zip(&mut r[..count]) {
                (*v, *r) = step.apply(*v, *r);
            }
            let first = g[0];
            for i in 1..count {
                g[i - 1] = g[i];
            }
            g[count - 1] = [shift.down(first[0]), shift.down(first[1])];
        }
        let mut inverse = SmallPoly::zero();
        let [one, minus_one] = lowest(f[0]).map(|word| word & 1);
        unpack::<R, S>(&v, one - minus_one, &mut room);
        for (c, &room) in inverse.coefficients_mut().iter_mut().rev().zip(&*room) {
            *c = room;
        }
        (inverse, Choice::from(((delta | -delta) >> 31 & 1 ^ 1) as u8))
    }
}

/// Returns the number of vectors of a string of `n + 1` bits.
const fn vectors<R: NtruPrimeRing>(lanes: usize) -> usize {
    let count = (R::N + 1).div_ceil(16 * lanes);
    assert!(count <= MOST && lanes <= MOST_LANES && count * lanes <= MOST_WORDS);
    count
}

/// The lanes of a string.
type Words = Scratch<i16, [i16; MOST_WORDS]>;
/// Room for the coefficients of all bits.
type Coefficients = Scratch<i8, [i8; 16 * MOST_WORDS]>;

/// Returns the strings of `n + 1` coefficients.
#[inline(always)]
fn pack<R: NtruPrimeRing, S: Simd>(
    simd: S,
    coefficients: &Coefficients,
) -> [Signs<S::Vector>; MOST] {
    let count = const { vectors::<R>(S::LANES) };
    let mut words = [Words::new(), Words::new()];
    let [ones, minus_ones] = &mut words;
    for (bit, coefficients) in coefficients[..=R::N].chunks(count * S::LANES).enumerate() {
        let words = ones.iter_mut().zip(&mut **minus_ones);
        for (c, (one, minus_one)) in coefficients.iter().zip(words) {
            let c = i16::from(*c);
            *one |= (c & !(c >> 1) & 1) << bit;
            *minus_one |= (c >> 1 & 1) << bit;
        }
    }
    let mut signs = [[simd.splat(0); 2]; MOST];
    let mut lanes = Scratch::<i16, [i16; MOST_LANES]>::new();
    for (i, signs) in signs[..count].iter_mut().enumerate() {
        for (bits, words) in signs.iter_mut().zip(&words) {
            for (lane, &word) in lanes.iter_mut().zip(words[i..].iter().step_by(count)) {
                *lane = word;
            }
            *bits = simd.load(&lanes);
        }
    }
    signs
}

/// Writes the coefficients of the strings, multiplied by `factor`.
#[inline(always)]
fn unpack<R: NtruPrimeRing, S: Simd>(
    signs: &[Signs<S::Vector>; MOST],
    factor: i16,
    coefficients: &mut Coefficients,
) {
    let count = const { vectors::<R>(S::LANES) };
    let mut words = [Words::new(), Words::new()];
    let mut lanes = Scratch::<i16, [i16; MOST_LANES]>::new();
    for (i, signs) in signs[..count].iter().enumerate() {
        for (bits, words) in signs.iter().zip(&mut words) {
            bits.store(&mut lanes);
            for (&lane, word) in lanes[..S::LANES].iter().zip(words[i..].iter_mut().step_by(count))
            {
                *word = lane;
            }
        }
    }
    let [ones, minus_ones] = &words;
    for (bit, coefficients) in coefficients[..=R::N].chunks_mut(count * S::LANES).enumerate() {
        for (c, (one, minus_one)) in coefficients.iter_mut().zip(ones.iter().zip(&**minus_ones)) {
            *c = (((one >> bit & 1) - (minus_one >> bit & 1)) * factor) as i8;
        }
    }
}

/// Returns the words whose lowest bits say whether coefficient 0 is 1, and whether it is -1.
#[inline(always)]
fn lowest<V: Vector>(signs: Signs<V>) -> Signs<i16> {
    signs.map(|bits| {
        let mut lanes = [0; MOST_LANES];
        bits.store(&mut lanes);
        lanes[0]
    })
}

/// What a shift by one coefficient does to the vector whose lanes move.
struct Shift<V> {
    /// All ones in lane 0.
    first: V,
    /// All ones in all lanes but the last.
    others: V,
    /// The 15 lowest bits of the last lane.
    last: V,
    /// `2^14` in all lanes.
    quarter: V,
}

impl<V: Vector> Shift<V> {
    #[inline(always)]
    fn new<S: Simd<Vector = V>>(simd: S) -> Self {
        let (mut first, mut others, mut last) =
            ([0; MOST_LANES], [-1; MOST_LANES], [0; MOST_LANES]);
        first[0] = -1;
        others[S::LANES - 1] = 0;
        last[S::LANES - 1] = i16::MAX;
        Self {
            first: simd.load(&first),
            others: simd.load(&others),
            last: simd.load(&last),
            quarter: simd.splat(1 << 14),
        }
    }

    /// Moves each lane to the place of the next one. The bits of the last lane move up by one.
    #[inline(always)]
    fn up(&self, bits: V) -> V {
        let moved = bits.lanes_up();
        moved.add(moved.and(self.first))
    }

    /// Moves each lane to the place of the one before. The bits of lane 0, which is even, move down
    /// by one.
    #[inline(always)]
    fn down(&self, bits: V) -> V {
        let moved = bits.lanes_down();
        moved.and(self.others).or(moved.mul_round(self.quarter).and(self.last))
    }
}

/// The constants of one division step.
struct Step<T> {
    /// All ones if `f` becomes `g`, or else 0.
    swap: T,
    /// All ones if `f` is added to `g`, or else 0.
    add: T,
    /// All ones if `f` is subtracted from `g`, or else 0.
    subtract: T,
}

impl Step<i16> {
    /// Returns the step for the lowest bits of `f` and `g`, and updates `delta`.
    #[inline(always)]
    fn new(delta: &mut i32, f: Signs<i16>, g: Signs<i16>) -> Self {
        let nonzero = -((g[0] | g[1]) & 1);
        // Swap where delta > 0 and g(0) != 0.
        let swap = (-*delta >> 31) & i32::from(nonzero);
        *delta = (*delta ^ (swap & (*delta ^ -*delta))) + 1;
        let differ = -((f[1] ^ g[1]) & 1);
        Self { swap: swap as i16, add: nonzero & differ, subtract: nonzero & !differ }
    }

    #[inline(always)]
    fn splat<S: Simd>(self, simd: S) -> Step<S::Vector> {
        Step {
            swap: simd.splat(self.swap),
            add: simd.splat(self.add),
            subtract: simd.splat(self.subtract),
        }
    }
}

impl<V: Vector> Step<V> {
    /// Returns `f` and `g - g(0) f(0) f`, after swapping both if the step swaps.
    #[inline(always)]
    fn apply(&self, f: Signs<V>, g: Signs<V>) -> (Signs<V>, Signs<V>) {
        let (f, g) = (
            [self.swap.select(g[0], f[0]), self.swap.select(g[1], f[1])],
            [self.swap.select(f[0], g[0]), self.swap.select(f[1], g[1])],
        );
        let ones = f[0].and(self.add).or(f[1].and(self.subtract));
        let minus_ones = f[1].and(self.add).or(f[0].and(self.subtract));
        let mixed = g[0].or(minus_ones).xor(g[1].or(ones));
        (f, [g[1].or(minus_ones).xor(mixed), g[0].or(ones).xor(mixed)])
    }
}
