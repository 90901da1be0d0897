//! The E8 code on single blocks; [`e8`](crate::e8) describes the code.

use core::ops::{Add, BitAnd, BitXor, Not, Sub};

/// Number of coefficients of a codeword.
pub const BLOCK: usize = 8;

/// The codewords of the nibbles 1, 2, 4 and 8. All others are sums of these.
pub const GENERATOR: [u8; 4] = [0x55, 0x0f, 0x3c, 0xf0];

/// Returns the codeword of a nibble `a_0 + 2 a_1 + 4 a_2 + 8 a_3`. Bit `j` belongs to coefficient
/// `j` of the block.
#[inline(always)]
#[must_use]
pub fn encode_nibble(nibble: u8) -> u8 {
    let [a, b, c, d] = GENERATOR;
    let row = |bit: u8, row: u8| (nibble >> bit & 1).wrapping_neg() & row;
    row(0, a) ^ row(1, b) ^ row(2, c) ^ row(3, d)
}

/// The numbers with which a decoder computes: `i16` in the lanes of a vector, `i32` in a thread of
/// a GPU, which has no registers of 16 bits.
pub trait Number:
    Copy
    + Ord
    + From<i8>
    + Add<Output = Self>
    + Sub<Output = Self>
    + BitAnd<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
{
    /// Returns the absolute value.
    #[must_use]
    fn abs(self) -> Self;
    /// Returns -1 if the number is negative, or else 0.
    #[must_use]
    fn sign(self) -> Self;
    /// Returns the low byte.
    #[must_use]
    fn low_byte(self) -> u8;
}

macro_rules! number {
    ($number:ident) => {
        impl Number for $number {
            #[inline(always)]
            fn abs(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn sign(self) -> Self {
                self >> ($number::BITS - 1)
            }
            #[inline(always)]
            fn low_byte(self) -> u8 {
                self as u8
            }
        }
    };
}
number!(i16);
number!(i32);

/// Returns the distance of a coefficient `v` from 0, cyclically modulo `q2`.
///
/// Input: `0 <= v < q2`. Output: `0..=q2/2`.
#[inline(always)]
#[must_use]
pub fn distance<T: Number>(q2: T, v: T) -> T {
    v.min(q2 - v)
}

/// Returns the nibble of a nearest codeword for the [`distance`] of each coefficient and `q2/2`.
///
/// A coefficient at the distance `a` from 0 has the squared distances `a^2` from 0 and `(q2/2 -
/// a)^2` from `q2/2`. Their difference is `q2 (q2/4 - a)`. So the squared distances of two
/// codewords differ by `q2` times a sum of numbers `q2/4 - a`, and no square is needed.
///
/// A codeword has four pairs of neighbours. With `a_0 = 0`, each pair is `00` or its complement
/// `11`; with `a_0 = 1`, each pair is `10` or its complement `01`. In both cases an even number of
/// pairs are complemented. For each `a_0`, the function decides pair by pair whether to complement
/// the pair. If the number of complemented pairs is odd, it reverses the decision whose reversal
/// costs least. In a tie a pair is not complemented, the first of several cheapest decisions is
/// reversed, and `a_0` is 0.
///
/// Input: `half <= 2^11`, distances in `0..=half`.
#[inline(always)]
#[must_use]
pub fn nearest<T: Number>(half: T, a: [T; BLOCK]) -> u8 {
    let pairs = [[a[0], a[1]], [a[2], a[3]], [a[4], a[5]], [a[6], a[7]]];
    let (even_gain, even) = nearest_in_coset(pairs.map(|[a, b]| half - a - b));
    let (odd_gain, odd) = nearest_in_coset(pairs.map(|[a, b]| a - b));
    let odd_is_nearer = (even_gain - odd_gain).sign();
    let chosen = |index: usize| even[index] ^ ((even[index] ^ odd[index]) & odd_is_nearer);
    let [p0, p1, p3] = [chosen(0), chosen(1), chosen(3)];
    let bit = |decision: T, bit: i8| decision.sign() & T::from(bit);
    (bit(odd_is_nearer, 1) ^ bit(p0, 2) ^ bit(p0 ^ p1, 4) ^ bit(p3, 8)).low_byte()
}

/// Decides which of four pairs to complement, so that an even number of pairs are complemented.
///
/// `differences[j]` is the cost of complementing pair `j`. Returns for each pair a number that is
/// negative if the pair is complemented. The first result compares the two cosets. It is twice the
/// difference between the cost of the codeword and the mean cost of all pairs and complements, and
/// this mean is the same in both cosets.
#[inline(always)]
fn nearest_in_coset<T: Number>(differences: [T; 4]) -> (T, [T; 4]) {
    let [p0, p1, p2, p3] = differences;
    let [d0, d1, d2, d3] = differences.map(T::abs);
    // Only the signs of these numbers matter.
    let odd = p0 ^ p1 ^ p2 ^ p3;
    let (first, second) = (d0.min(d1), d2.min(d3));
    let second_is_less = second - first;
    let (in_first, in_second) = (odd & !second_is_less, odd & second_is_less);
    let (second_of_first, second_of_second) = (d1 - d0, d3 - d2);
    let decisions = [
        p0 ^ (in_first & !second_of_first),
        p1 ^ (in_first & second_of_first),
        p2 ^ (in_second & !second_of_second),
        p3 ^ (in_second & second_of_second),
    ];
    let reversed = odd.sign() & first.min(second);
    (d0 + d1 + d2 + d3 - reversed - reversed, decisions)
}

/// Returns the nibble of a nearest codeword for a block of numbers modulo `q2`, a power of two up
/// to `2^12`.
#[inline(always)]
#[must_use]
pub fn decode_block(q2: u32, block: [u32; BLOCK]) -> u8 {
    nearest(q2 as i32 / 2, block.map(|v| distance(q2 as i32, (v & (q2 - 1)) as i32)))
}
