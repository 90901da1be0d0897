//! Constant-time inversion modulo 3 by division steps, on bits.
//!
//! The steps are those of the [inversion modulo `q`](crate::invert), with one difference: `f(0)` is
//! always 1 or -1, so a step subtracts `g(0) / f(0) = g(0) f(0)` times `f` from `g`. After `2n - 1`
//! steps, `delta` is 0 exactly if the polynomial has an inverse (Theorem 6.2 there).
//!
//! A polynomial is two strings of bits: which coefficients are not 0, and the signs, where the sign
//! of a 0 means nothing. Let the vectors of such a string have `W` lanes together. Then coefficient
//! `i` is bit `i / W` of lane `i % W`; in `f` and `g`, it is bit `15 - i / W`. Here lanes are
//! counted across the vectors first: lane `j` is lane `j / count` of vector `j % count`. So a shift
//! by one coefficient takes each vector to the place of the next one, and moves the lanes of only
//! one vector. The bits of one of these lanes move up by one, also where a step divides by `x`,
//! because the order of bits in `g` is the other one.

use subtle::Choice;

use crate::ring::for_each_ntru_prime_ring;
use crate::simd::{Simd, Vector, WithSimd};
use crate::wipe::Scratch;

/// Most vectors of a string of bits: those of 1278 coefficients in vectors of 128 bits.
const MOST: usize = 10;
/// Most lanes of a vector.
const MOST_LANES: usize = 32;
/// Most lanes of all vectors of a string. With 32 lanes, these are three vectors.
const MOST_WORDS: usize = 96;

macro_rules! fits {
    ($ring:ident $n:literal $numbers:tt) => {
        const _: () = assert!($n < 16 * 8 * MOST && $n < 16 * MOST_WORDS);
    };
}
for_each_ntru_prime_ring!(fits);

/// Which coefficients are not 0, and which of these are negative.
type Bits<V> = [V; 2];

/// The work of [`inverse`](super::inverse). The result tells whether there is an inverse.
pub(super) struct Inverse<'a> {
    pub(super) a: &'a [i8],
    pub(super) inverse: &'a mut [i8],
}

impl WithSimd for Inverse<'_> {
    type Output = Choice;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Choice {
        let count = (self.a.len() + 1).div_ceil(16 * S::LANES);
        if const { S::LANES < MOST_LANES } {
            self.steps::<S, MOST>(simd, count)
        } else if count <= 2 {
            // All vectors stay in registers if their number is a constant.
            self.steps::<S, 2>(simd, 2)
        } else {
            self.steps::<S, 3>(simd, 3)
        }
    }
}

impl Inverse<'_> {
    /// Inverts with strings of `count` vectors, up to `ROOM`.
    #[inline(always)]
    fn steps<S: Simd, const ROOM: usize>(self, simd: S, count: usize) -> Choice {
        let Self { a, inverse } = self;
        let n = a.len();
        let mut room = Coefficients::new();
        (room[0], room[n - 1], room[n]) = (1, -1, -1);
        let mut f = pack::<S, ROOM>(simd, count, &room[..=n]);
        let mut v = [[simd.splat(0); 2]; ROOM];
        let mut r = v;
        r[0][0] = simd.load(&const { one_lane(0, 1, 0) });
        for (room, &a) in room.iter_mut().zip(a.iter().rev()) {
            *room = a;
        }
        room[n] = 0;
        let mut g = pack::<S, ROOM>(simd, count, &room[..=n]);
        let shift = Shift::new(simd);
        let mut delta = 1;
        for _ in 0..2 * n - 1 {
            let step = Step::new(&mut delta, first_lane(f[0]), first_lane(g[0])).splat(simd);
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
        let [_, negative] = first_lane(f[0]);
        unpack::<S>(&v[..count], 1 | negative >> 15, &mut room[..=n]);
        for (c, &room) in inverse.iter_mut().rev().zip(&*room) {
            *c = room;
        }
        Choice::from(((delta | -delta) >> 31 & 1 ^ 1) as u8)
    }
}

/// The lanes of a string.
type Words = Scratch<i16, [i16; MOST_WORDS]>;
/// Room for the coefficients of all bits.
type Coefficients = Scratch<i8, [i8; 16 * MOST_WORDS]>;

/// Returns the strings of coefficients, in the order of `f` and `g`.
#[inline(always)]
fn pack<S: Simd, const ROOM: usize>(
    simd: S,
    count: usize,
    coefficients: &[i8],
) -> [Bits<S::Vector>; ROOM] {
    let mut words = [Words::new(), Words::new()];
    let [nonzero, negative] = &mut words;
    for (bit, coefficients) in coefficients.chunks(count * S::LANES).enumerate() {
        let words = nonzero.iter_mut().zip(&mut **negative);
        for (c, (nonzero, negative)) in coefficients.iter().zip(words) {
            let c = i16::from(*c);
            *nonzero |= (c & 1) << (15 - bit);
            *negative |= (c >> 1 & 1) << (15 - bit);
        }
    }
    let mut strings = [[simd.splat(0); 2]; ROOM];
    let mut lanes = Scratch::<i16, [i16; MOST_LANES]>::new();
    for (i, strings) in strings[..count].iter_mut().enumerate() {
        for (bits, words) in strings.iter_mut().zip(&words) {
            for (lane, &word) in lanes.iter_mut().zip(words[i..].iter().step_by(count)) {
                *lane = word;
            }
            *bits = simd.load(&lanes);
        }
    }
    strings
}

/// Writes the coefficients of the strings of `v`, multiplied by `factor`.
#[inline(always)]
fn unpack<S: Simd>(strings: &[Bits<S::Vector>], factor: i16, coefficients: &mut [i8]) {
    let count = strings.len();
    let mut words = [Words::new(), Words::new()];
    let mut lanes = Scratch::<i16, [i16; MOST_LANES]>::new();
    for (i, strings) in strings.iter().enumerate() {
        for (bits, words) in strings.iter().zip(&mut words) {
            bits.store(&mut lanes);
            for (&lane, word) in lanes[..S::LANES].iter().zip(words[i..].iter_mut().step_by(count))
            {
                *word = lane;
            }
        }
    }
    let [nonzero, negative] = &words;
    for (bit, coefficients) in coefficients.chunks_mut(count * S::LANES).enumerate() {
        for (c, (nonzero, negative)) in coefficients.iter_mut().zip(nonzero.iter().zip(&**negative))
        {
            *c = ((nonzero >> bit & 1) * (1 - 2 * (negative >> bit & 1)) * factor) as i8;
        }
    }
}

/// Returns the first lanes. In `f` and `g`, their signs are the bits of coefficient 0.
#[inline(always)]
fn first_lane<V: Vector>(strings: Bits<V>) -> Bits<i16> {
    strings.map(|bits| {
        let mut lanes = [0; MOST_LANES];
        bits.store(&mut lanes);
        lanes[0]
    })
}

/// Returns lanes with the value `other`, but for one with the value `x`.
const fn one_lane(lane: usize, x: i16, other: i16) -> [i16; MOST_LANES] {
    let mut lanes = [other; MOST_LANES];
    lanes[lane] = x;
    lanes
}

/// What a shift by one coefficient multiplies the lanes by, after they have moved.
struct Shift<V> {
    up: V,
    down: V,
}

impl<V: Vector> Shift<V> {
    #[inline(always)]
    fn new<S: Simd<Vector = V>>(simd: S) -> Self {
        Self {
            up: simd.load(&const { one_lane(0, 2, 1) }),
            down: simd.load(&const { one_lane(S::LANES - 1, 2, 1) }),
        }
    }

    /// Moves each lane to the place of the next one, and the bits of the last lane up by one.
    #[inline(always)]
    fn up(&self, bits: V) -> V {
        bits.lanes_up().mul_low(self.up)
    }

    /// Moves each lane of `g` to the place of the one before, and the bits of lane 0 up by one.
    #[inline(always)]
    fn down(&self, bits: V) -> V {
        bits.lanes_down().mul_low(self.down)
    }
}

/// The constants of one division step.
struct Step<T> {
    /// All ones if `f` becomes `g`, or else 0.
    swap: T,
    /// All ones if `g(0)` is not 0, or else 0.
    change: T,
    /// All ones if the signs of `f(0)` and `g(0)` differ, or else 0.
    differ: T,
}

impl Step<i16> {
    /// Returns the step for the first lanes of `f` and `g`, and updates `delta`.
    #[inline(always)]
    fn new(delta: &mut i32, f: Bits<i16>, g: Bits<i16>) -> Self {
        let change = g[0] >> 15;
        // Swap where delta > 0 and g(0) != 0.
        let swap = (-*delta >> 31) & i32::from(change);
        *delta = (*delta ^ (swap & (*delta ^ -*delta))) + 1;
        Self { swap: swap as i16, change, differ: (f[1] ^ g[1]) >> 15 }
    }

    #[inline(always)]
    fn splat<S: Simd>(self, simd: S) -> Step<S::Vector> {
        Step {
            swap: simd.splat(self.swap),
            change: simd.splat(self.change),
            differ: simd.splat(self.differ),
        }
    }
}

impl<V: Vector> Step<V> {
    /// Returns `(f, g - g(0) f(0) f)`, or `(g, g - g(0) f(0) f)` if the step swaps.
    ///
    /// A swap takes the negative of what the definition has if `f(0) = g(0)`, which does not
    /// matter, as in the inversion modulo `q`.
    #[inline(always)]
    fn apply(&self, f: Bits<V>, g: Bits<V>) -> (Bits<V>, Bits<V>) {
        let signs_differ = f[1].xor(g[1]);
        // The term that is added to g has the sign of g where `same` has ones.
        let same = signs_differ.xor(self.differ);
        let term = f[0].and(self.change);
        let one_nonzero = g[0].xor(term);
        let term_of_same_sign = term.and(same);
        // The sum has the sign of the term where g is 0. Where both have the same sign, it has the
        // other one, because 1 + 1 is -1.
        let negate = term.xor(term_of_same_sign.and(one_nonzero));
        (
            [self.swap.select(g[0], f[0]), f[1].xor(self.swap.and(signs_differ))],
            [one_nonzero.or(term_of_same_sign), g[1].xor(negate)],
        )
    }
}
