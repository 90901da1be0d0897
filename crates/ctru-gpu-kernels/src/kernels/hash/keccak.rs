//! Keccak-f\[1600\] on a state that one thread holds or that a warp shares, and the scheme's two
//! hash functions.
//!
//! Source: FIPS 202.

use core::array;

use crate::kernels::rolled;
use crate::simt::{Simt, WARP};

/// Lanes of a state, 64 bits each.
const LANES: u32 = 25;
const ROUNDS: u32 = 24;

/// A state, whose lane `x + 5 y` is FIPS 202's lane `(x, y)`. The trait lets a hash be written once
/// for both ways to hold the lanes.
///
/// Closures receive numbers of lanes. They may be called with numbers from 25 on, and their results
/// are dropped then. The threads of a warp call a closure together, so it may contain shuffles, but
/// not under a condition that depends on the number of the lane.
pub(crate) trait State: Copy {
    type Machine: Simt;

    /// Returns the state of zeros.
    fn zero(s: Self::Machine) -> Self;

    /// Returns the state with `word(i)` added to every lane `i < lanes`.
    #[must_use]
    fn absorb(self, lanes: u32, word: impl Fn(u32) -> u64) -> Self;

    /// Returns the permuted state.
    #[must_use]
    fn permute(self) -> Self;

    /// Calls `output(i, lane)` for every lane `i < lanes`. The calls of one thread are in the order
    /// of `i`.
    fn output(self, lanes: u32, output: impl FnMut(u32, u64));

    /// Returns lane `i`, or 0 if `i` is 25 or more.
    fn lane(self, i: u32) -> u64;
}

/// An array of 64-bit words in the global memory of the machine that holds the state.
pub(crate) type Words<T> = <<T as State>::Machine as Simt>::Global<u64>;

/// A state in the registers of one thread.
#[derive(Copy, Clone)]
pub(crate) struct PerThread<S> {
    s: S,
    lanes: [u64; LANES as usize],
}

impl<S: Simt> State for PerThread<S> {
    type Machine = S;

    #[inline(always)]
    fn zero(s: S) -> Self {
        Self { s, lanes: [0; LANES as usize] }
    }
    #[inline(always)]
    fn absorb(mut self, lanes: u32, word: impl Fn(u32) -> u64) -> Self {
        for i in 0..lanes {
            self.lanes[i as usize] ^= word(i);
        }
        self
    }
    #[inline(always)]
    fn permute(mut self) -> Self {
        let Self { s, lanes: a } = &mut self;
        for round in 0..rolled(*s, ROUNDS) {
            let columns: [u64; 5] =
                array::from_fn(|x| a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20]);
            for i in 0..LANES as usize {
                a[i] ^= columns[(i + 4) % 5] ^ columns[(i + 1) % 5].rotate_left(1);
            }
            let b: [u64; LANES as usize] = array::from_fn(|i| {
                let source = before_pi(i as u32) as usize;
                a[source].rotate_left(ROTATIONS[source])
            });
            for i in 0..LANES as usize {
                let [b0, b1, b2] = [0, 1, 2].map(|k| b[right(i as u32, k) as usize]);
                a[i] = b0 ^ (!b1 & b2);
            }
            a[0] ^= s.constant(&ROUND_CONSTANTS, round);
        }
        self
    }
    #[inline(always)]
    fn output(self, lanes: u32, mut output: impl FnMut(u32, u64)) {
        for i in 0..lanes {
            output(i, self.lanes[i as usize]);
        }
    }
    #[inline(always)]
    fn lane(self, i: u32) -> u64 {
        self.lanes.get(i as usize).copied().unwrap_or(0)
    }
}

/// A state that the first 25 threads of a warp share, one lane each.
#[derive(Copy, Clone)]
pub(crate) struct PerWarp<S> {
    s: S,
    lane: u64,
}

impl<S: Simt> State for PerWarp<S> {
    type Machine = S;

    #[inline(always)]
    fn zero(s: S) -> Self {
        Self { s, lane: 0 }
    }
    #[inline(always)]
    fn absorb(mut self, lanes: u32, word: impl Fn(u32) -> u64) -> Self {
        let i = self.s.lane();
        let word = word(i);
        self.lane ^= if i < lanes { word } else { 0 };
        self
    }
    #[inline(always)]
    fn permute(mut self) -> Self {
        let Self { s, lane: mut a } = self;
        let i = s.lane();
        let rotation = s.constant(&ROTATIONS, i);
        for round in 0..rolled(s, ROUNDS) {
            let column = (1..5).fold(a, |sum, k| sum ^ shuffle(s, a, (i + 5 * k) % LANES));
            a ^= shuffle(s, column, right(i, 4)) ^ shuffle(s, column, right(i, 1)).rotate_left(1);
            a = a.rotate_left(rotation);
            let [b0, b1, b2] = [0, 1, 2].map(|k| shuffle(s, a, before_pi(right(i, k))));
            a = b0 ^ (!b1 & b2);
            let constant = s.constant(&ROUND_CONSTANTS, round);
            a ^= if i == 0 { constant } else { 0 };
        }
        self.lane = a;
        self
    }
    #[inline(always)]
    fn output(self, lanes: u32, mut output: impl FnMut(u32, u64)) {
        let i = self.s.lane();
        if i < lanes {
            output(i, self.lane);
        }
    }
    #[inline(always)]
    fn lane(self, i: u32) -> u64 {
        let lane = shuffle(self.s, self.lane, i % WARP);
        if i < LANES { lane } else { 0 }
    }
}

#[inline(always)]
fn shuffle<S: Simt>(s: S, value: u64, lane: u32) -> u64 {
    let [low, high] = [value as u32, (value >> 32) as u32].map(|half| s.shuffle(half, lane));
    u64::from(high) << 32 | u64::from(low)
}

/// Returns the lane that pi moves to place `i`. Source: FIPS 202, Algorithm 3.
#[inline(always)]
const fn before_pi(i: u32) -> u32 {
    let (x, y) = (i % 5, i / 5);
    (x + 3 * y) % 5 + 5 * x
}

/// Returns the lane `k` places to the right of lane `i` in its row, which is a ring.
#[inline(always)]
const fn right(i: u32, k: u32) -> u32 {
    i - i % 5 + (i + k) % 5
}

/// The distances by which rho rotates the lanes; the entries behind lane 24 have no meaning.
/// Source: FIPS 202, Algorithm 2.
static ROTATIONS: [u32; WARP as usize] = {
    let mut rotations = [0; WARP as usize];
    let (mut x, mut y) = (1, 0);
    let mut t = 0;
    while t < 24 {
        rotations[x + 5 * y] = (t + 1) * (t + 2) / 2 % 64;
        (x, y) = (y, (2 * x + 3 * y) % 5);
        t += 1;
    }
    rotations
};

/// The constants that iota adds to lane 0. Source: FIPS 202, Algorithms 5 and 6.
static ROUND_CONSTANTS: [u64; ROUNDS as usize] = {
    let mut constants = [0; ROUNDS as usize];
    let mut register = 1;
    let mut round = 0;
    while round < constants.len() {
        let mut j = 0;
        while j < 7 {
            constants[round] |= (register as u64 & 1) << ((1 << j) - 1);
            // Multiplication by x modulo x^8 + x^6 + x^5 + x^4 + 1.
            register = (register << 1) ^ ((register >> 7) * 0x171);
            j += 1;
        }
        round += 1;
    }
    constants
};

/// A hash function on Keccak-f\[1600\].
#[derive(Copy, Clone)]
pub(crate) struct Sponge {
    /// Lanes that a permutation takes or gives.
    pub(crate) rate: u32,
    /// The byte behind the input: the bits that separate the functions, and the first bit of the
    /// padding.
    suffix: u8,
}

pub(crate) const SHAKE256: Sponge = Sponge { rate: 17, suffix: 0x1f };
pub(crate) const SHA3_512: Sponge = Sponge { rate: 9, suffix: 0x06 };

impl Sponge {
    /// Returns the blocks of `rate` lanes that an input of `length` bytes fills together with its
    /// padding.
    pub(crate) const fn blocks(self, length: u32) -> u32 {
        length / (8 * self.rate) + 1
    }

    /// Returns the padding in lane `i` of the blocks of an input of `length` bytes.
    #[inline(always)]
    pub(crate) const fn padding(self, length: u32, i: u32) -> u64 {
        let suffix = if i == length / 8 { (self.suffix as u64) << (8 * (length % 8)) } else { 0 };
        let last = if i == self.rate * self.blocks(length) - 1 { 1 << 63 } else { 0 };
        suffix ^ last
    }

    /// Returns a state that has absorbed an input of one block: `length` bytes in words, with zeros
    /// behind them. Each permutation from here on gives a block of the output.
    #[inline(always)]
    pub(crate) fn absorb_block<T: State>(
        self,
        s: T::Machine,
        length: u32,
        word: impl Fn(u32) -> u64,
    ) -> T {
        T::zero(s).absorb(self.rate, |i| word(i) ^ self.padding(length, i))
    }
}
