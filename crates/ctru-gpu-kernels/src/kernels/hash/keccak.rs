//! Keccak-f\[1600\] on a state that one thread, two threads or one warp hold, and the two hash
//! functions of the scheme: SHAKE256 and SHA3-512.
//!
//! Source: FIPS 202.

use core::array;

use crate::kernels::rolled;
use crate::simt::{Simt, WARP};

/// Number of 64-bit lanes in a state.
const LANES: u32 = 25;
const ROUNDS: u32 = 24;

/// A Keccak state. Its lane `x + 5 y` is the lane `(x, y)` of FIPS 202. With the trait, hashes are
/// written once for states in one thread, in two threads and in one warp.
///
/// All threads of a warp call a method together, because threads that share a state shuffle.
pub(crate) trait State: Copy {
    type Machine: Simt;

    /// Returns the all-zero state.
    fn zero(s: Self::Machine) -> Self;

    /// Returns the state with `word(i)` added (exclusive or) to every lane `i < lanes`.
    ///
    /// It may call `word` with numbers of `lanes` or more and then ignores the result. All threads
    /// of a warp call `word` together, each perhaps with a number of its own. So `word` may
    /// shuffle, but not under a condition that depends on the number.
    #[must_use]
    fn absorb(self, lanes: u32, word: impl Fn(u32) -> u64) -> Self;

    /// Applies the permutation and returns the new state.
    #[must_use]
    fn permute(self) -> Self;

    /// Calls `output(i, lane)` for every lane `i < lanes` if the thread `writes`. Each thread makes
    /// its calls in ascending order of `i`. `output` must not shuffle, because not all threads call
    /// it.
    fn output(self, writes: bool, lanes: u32, output: impl FnMut(u32, u64));

    /// Returns a function whose argument `i` is a number and whose result is lane `i`. The result
    /// means nothing if `i` is `lanes` or more. All threads of a warp call the function together,
    /// because it may shuffle.
    fn lanes(self, lanes: u32) -> impl Fn(u32) -> u64;
}

/// An array of 64-bit words in global memory, as [`State::Machine`] represents it.
pub(crate) type Words<T> = <<T as State>::Machine as Simt>::Global<u64>;

/// A state that one thread holds in its registers.
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
                a[i] = xor(*s, a[i], columns[(i + 4) % 5], columns[(i + 1) % 5].rotate_left(1));
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
    fn output(self, writes: bool, lanes: u32, mut output: impl FnMut(u32, u64)) {
        for i in 0..lanes {
            if writes {
                output(i, self.lanes[i as usize]);
            }
        }
    }
    #[inline(always)]
    fn lanes(self, _: u32) -> impl Fn(u32) -> u64 {
        move |i| self.lanes.get(i as usize).copied().unwrap_or(0)
    }
}

/// A state that the first 25 threads of a warp hold, one lane per thread.
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
        let places = s.constant(&ROTATIONS, i);
        let columns = [right(i, 4), right(i, 1)];
        let sources = [0, 1, 2].map(|k| before_pi(right(i, k)));
        // Two rounds per iteration, because a jump takes as long as several instructions.
        for two in 0..rolled(s, ROUNDS / 2) {
            for round in [2 * two, 2 * two + 1] {
                let constant = s.constant(&ROUND_CONSTANTS, round);
                let column = (1..5).fold(a, |sum, k| sum ^ shuffle(s, a, (i + 5 * k) % LANES));
                let [left, right] = columns.map(|lane| shuffle(s, column, lane));
                a = rotate_left(xor(s, a, left, right.rotate_left(1)), places);
                let [b0, b1, b2] = sources.map(|lane| shuffle(s, a, lane));
                a = b0 ^ if i == 0 { constant } else { 0 } ^ (!b1 & b2);
            }
        }
        self.lane = a;
        self
    }
    #[inline(always)]
    fn output(self, writes: bool, lanes: u32, mut output: impl FnMut(u32, u64)) {
        let i = self.s.lane();
        if writes && i < lanes {
            output(i, self.lane);
        }
    }
    #[inline(always)]
    fn lanes(self, _: u32) -> impl Fn(u32) -> u64 {
        of_warp(self.s, self.lane)
    }
}

/// A state that two neighbouring threads of a warp hold. The thread with the even number holds the
/// even bits of every lane, the other one the odd bits. So a rotation by an even number rotates
/// both words, and a rotation by an odd number also exchanges them.
#[derive(Copy, Clone)]
pub(crate) struct PerPair<S> {
    s: S,
    lanes: [u32; LANES as usize],
}

impl<S: Simt> PerPair<S> {
    /// Returns 0 in the thread with the even bits, and 1 in the other one.
    #[inline(always)]
    fn parity(s: S) -> u32 {
        s.lane() % 2
    }

    /// Returns the word of the other thread of the pair.
    #[inline(always)]
    fn other(s: S, word: u32) -> u32 {
        s.shuffle(word, s.lane() ^ 1)
    }

    /// Returns this thread's bits of the lane whose bits the threads hold in `word`, rotated.
    #[inline(always)]
    fn rotate_left(s: S, word: u32, places: u32) -> u32 {
        match places.is_multiple_of(2) {
            true => word.rotate_left(places / 2),
            false => Self::other(s, word).rotate_left(places / 2 + 1 - Self::parity(s)),
        }
    }

    /// Returns this thread's bits of a lane.
    #[inline(always)]
    fn own_bits(s: S, lane: u64) -> u32 {
        // The bytes with even and with odd numbers, of which each thread keeps every second bit.
        // The place of a bit in `bits` has five binary digits (b, b', k, k', p). There is
        // bit 2 (2 k + k') + parity of byte 2 (2 b + b') + p of the lane.
        let [even, odd] = [0x6420, 0x7531].map(|bytes| {
            let [low, high] = [lane as u32, (lane >> 32) as u32];
            s.byte_permute(low, high, bytes)
        });
        let parity = Self::parity(s);
        let bits = even >> parity & 0x5555_5555 | odd << (1 - parity) & 0xaaaa_aaaa;
        // The digits become (b, b', k, p, k') and then (b, b', p, k, k').
        exchange(exchange(bits, 1, 0x2222_2222), 2, 0x0c0c_0c0c)
    }

    /// Returns a lane of the state: the inverse of [`own_bits`](Self::own_bits).
    #[inline(always)]
    fn whole(&self, i: usize) -> u64 {
        let s = self.s;
        let bits = exchange(exchange(self.lanes[i], 2, 0x0c0c_0c0c), 1, 0x2222_2222);
        let other = Self::other(s, bits);
        let is_odd = Self::parity(s) == 1;
        let (first, second) = if is_odd { (other, bits) } else { (bits, other) };
        let even = first & 0x5555_5555 | second << 1 & 0xaaaa_aaaa;
        let odd = first >> 1 & 0x5555_5555 | second & 0xaaaa_aaaa;
        let [low, high] = [0x5140, 0x7362].map(|bytes| s.byte_permute(even, odd, bytes));
        u64::from(high) << 32 | u64::from(low)
    }
}

impl<S: Simt> State for PerPair<S> {
    type Machine = S;

    #[inline(always)]
    fn zero(s: S) -> Self {
        Self { s, lanes: [0; LANES as usize] }
    }
    #[inline(always)]
    fn absorb(mut self, lanes: u32, word: impl Fn(u32) -> u64) -> Self {
        let mut words = [0; LANES as usize];
        in_rows(lanes, |i| words[i as usize] = word(i));
        in_rows(lanes, |i| {
            self.lanes[i as usize] ^= Self::own_bits(self.s, words[i as usize]);
        });
        self
    }
    #[inline(always)]
    fn permute(mut self) -> Self {
        let Self { s, lanes: mut a } = self;
        for round in 0..rolled(s, ROUNDS) {
            let columns: [u32; 5] =
                array::from_fn(|x| a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20]);
            let rotated = columns.map(|column| Self::rotate_left(s, column, 1));
            for i in 0..LANES as usize {
                a[i] = s.xor(a[i], columns[(i + 4) % 5], rotated[(i + 1) % 5]);
            }
            let b: [[u32; 5]; 5] = array::from_fn(|y| {
                array::from_fn(|x| {
                    let source = before_pi((x + 5 * y) as u32) as usize;
                    Self::rotate_left(s, a[source], ROTATIONS[source])
                })
            });
            for (y, row) in b.iter().enumerate() {
                for x in 0..5 {
                    a[x + 5 * y] = row[x] ^ (!row[(x + 1) % 5] & row[(x + 2) % 5]);
                }
            }
            a[0] ^= s.constant(&SPLIT_ROUND_CONSTANTS, 2 * round + Self::parity(s));
        }
        self.lanes = a;
        self
    }
    #[inline(always)]
    fn output(self, writes: bool, lanes: u32, mut output: impl FnMut(u32, u64)) {
        let lane = self.lanes(lanes);
        in_rows(lanes, |i| {
            if writes {
                output(i, lane(i));
            }
        });
    }
    #[inline(always)]
    fn lanes(self, lanes: u32) -> impl Fn(u32) -> u64 {
        let mut whole = [0; LANES as usize];
        in_rows(lanes, |i| whole[i as usize] = self.whole(i as usize));
        move |i| whole.get(i as usize).copied().unwrap_or(0)
    }
}

/// Calls `work(i)` for every `i < lanes`, in rows of five calls.
///
/// A state can be in registers only if the numbers of its lanes are constants, so the compiler must
/// unroll each loop over lanes. It does not unroll one long loop, but it does unroll these short
/// ones, if `work` is short as well.
#[inline(always)]
fn in_rows(lanes: u32, mut work: impl FnMut(u32)) {
    for y in 0..lanes.div_ceil(5) {
        for x in 0..5 {
            if 5 * y + x < lanes {
                work(5 * y + x);
            }
        }
    }
}

/// Returns the bits of a number at even places.
#[inline(always)]
const fn even_bits(number: u64) -> u32 {
    let mut bits = number & 0x5555_5555_5555_5555;
    bits = (bits | bits >> 1) & 0x3333_3333_3333_3333;
    bits = (bits | bits >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
    bits = (bits | bits >> 4) & 0x00ff_00ff_00ff_00ff;
    bits = (bits | bits >> 8) & 0x0000_ffff_0000_ffff;
    (bits | bits >> 16) as u32
}

/// Exchanges each bit of `word` whose place is in `mask` with the bit `distance` places higher, and
/// returns the result.
#[inline(always)]
const fn exchange(word: u32, distance: u32, mask: u32) -> u32 {
    let differences = (word ^ word >> distance) & mask;
    word ^ differences ^ differences << distance
}

/// The even bits and then the odd bits of each round constant.
static SPLIT_ROUND_CONSTANTS: [u32; 2 * ROUNDS as usize] = {
    let mut constants = [0; 2 * ROUNDS as usize];
    let mut i = 0;
    while i < constants.len() {
        constants[i] = even_bits(ROUND_CONSTANTS[i / 2] >> (i % 2));
        i += 1;
    }
    constants
};

/// Returns `a ^ b ^ c`, see [`Simt::xor`].
#[inline(always)]
fn xor<S: Simt>(s: S, a: u64, b: u64, c: u64) -> u64 {
    let half = |shift: u32| {
        let [a, b, c] = [a, b, c].map(|word| (word >> shift) as u32);
        u64::from(s.xor(a, b, c)) << shift
    };
    half(0) | half(32)
}

/// Rotates a word by fewer than 64 places, which the compiler does not know. Each half of the
/// result takes one shift of a pair of halves.
#[inline(always)]
fn rotate_left(word: u64, places: u32) -> u64 {
    let (low, high) = (word & 0xffff_ffff, word >> 32);
    let (low, high) = if places & 32 != 0 { (high, low) } else { (low, high) };
    let upper_half = |pair: u64| pair << (places & 31) >> 32;
    upper_half(high << 32 | low) << 32 | upper_half(low << 32 | high)
}

/// Returns a function whose argument `i` is a number and whose result is the `value` of thread
/// `i % WARP` of the warp. All threads of the warp call it together.
#[inline(always)]
pub(crate) fn of_warp<S: Simt>(s: S, value: u64) -> impl Fn(u32) -> u64 {
    move |i| shuffle(s, value, i % WARP)
}

#[inline(always)]
fn shuffle<S: Simt>(s: S, value: u64, lane: u32) -> u64 {
    let [low, high] = [value as u32, (value >> 32) as u32].map(|half| s.shuffle(half, lane));
    u64::from(high) << 32 | u64::from(low)
}

/// Returns the number of the lane that pi moves to position `i`. Source: FIPS 202, Algorithm 3.
#[inline(always)]
const fn before_pi(i: u32) -> u32 {
    let (x, y) = (i % 5, i / 5);
    (x + 3 * y) % 5 + 5 * x
}

/// Returns the number of the lane `k` places to the right of lane `i`, cyclically within its row of
/// five lanes.
#[inline(always)]
const fn right(i: u32, k: u32) -> u32 {
    i - i % 5 + (i + k) % 5
}

/// The rotation offsets of rho, one per lane. The entries after lane 24 are 0, and their results
/// are dropped.
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

/// The round constants, which iota adds to lane 0. Source: FIPS 202, Algorithms 5 and 6.
static ROUND_CONSTANTS: [u64; ROUNDS as usize] = {
    let mut constants = [0; ROUNDS as usize];
    let mut register = 1;
    let mut round = 0;
    while round < constants.len() {
        let mut j = 0;
        while j < 7 {
            constants[round] |= (register as u64 & 1) << ((1 << j) - 1);
            // One step of the LFSR: multiplication by x modulo x^8 + x^6 + x^5 + x^4 + 1.
            register = (register << 1) ^ ((register >> 7) * 0x171);
            j += 1;
        }
        round += 1;
    }
    constants
};

/// A hash function built on Keccak-f\[1600\].
#[derive(Copy, Clone)]
pub(crate) struct Sponge {
    /// Number of lanes that are absorbed or squeezed per permutation.
    pub(crate) rate: u32,
    /// The byte that follows the input: the domain separation bits and the first padding bit.
    suffix: u8,
}

pub(crate) const SHAKE256: Sponge = Sponge { rate: 17, suffix: 0x1f };
pub(crate) const SHA3_512: Sponge = Sponge { rate: 9, suffix: 0x06 };

impl Sponge {
    /// Returns the number of blocks of `rate` lanes that an input of `length` bytes and its padding
    /// fill.
    pub(crate) const fn blocks(self, length: u32) -> u32 {
        length / (8 * self.rate) + 1
    }

    /// Returns the padding bits in lane `i` of a padded input. The unpadded input has `length`
    /// bytes, and lanes are counted through all blocks.
    #[inline(always)]
    pub(crate) const fn padding(self, length: u32, i: u32) -> u64 {
        let suffix = if i == length / 8 { (self.suffix as u64) << (8 * (length % 8)) } else { 0 };
        let last = if i == self.rate * self.blocks(length) - 1 { 1 << 63 } else { 0 };
        suffix ^ last
    }

    /// Returns a state that has absorbed an input of one block, before the permutation. `word`
    /// returns the words of the input, which has `length` bytes, and zeros after its end. Each
    /// permutation of the result gives one block of output.
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
