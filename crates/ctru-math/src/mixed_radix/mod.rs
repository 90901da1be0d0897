//! NTRU Prime's mixed-radix encoding of a list of numbers.
//!
//! The list holds values `r_i` below radices `m_i`. One level combines neighbours: `r_0 + m_0 r_1`
//! is below `m_0 m_1`. While the radix of a combined value is 2^14 or more, the level moves the low
//! byte of the value to the string and divides the radix by 256, rounded up. The combined values
//! are the list of the next level. If the number of values is odd, the last value joins this list
//! unchanged. The end of the string holds the bytes of the last remaining value.
//!
//! The radices follow from the length of the list and the radix of its values, so [`Plan`] computes
//! them at compile time. On each level all radices are equal except perhaps the last one. So one
//! loop with constants takes all pairs that do not contain the last value.
//!
//! Source: NTRU Prime, round-3 specification (2020), "Encode" and "Decode" with limit 16384. NTRU
//! Prime adds `(q - 1)/2` to coefficients first; CTRU-Prime encodes them in `0..q` as they are.

mod pairs;

use core::mem;

use self::pairs::{combine_pairs, little_endian, split_pairs};

/// All radices are below this number: a value has at most 14 bits, and a pair of values has 28.
pub const LIMIT: u32 = 1 << 14;

/// The largest number of levels of a [`Plan`]. A list has at most `2^MAX_LEVELS` values.
pub const MAX_LEVELS: usize = 11;

/// A radix with its reciprocal.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Radix {
    /// The radix `m`, `1 < m < LIMIT`.
    pub value: u32,
    /// `ceil(2^(32 + shift) / m)`.
    pub reciprocal: u32,
    /// `ceil(log2(m)) - 1`.
    pub shift: u32,
}

impl Radix {
    /// Returns the radix `m` with its reciprocal.
    ///
    /// # Panics
    /// Panics unless `1 < value < LIMIT`.
    #[must_use]
    pub const fn new(value: u32) -> Self {
        assert!(1 < value && value < LIMIT);
        let shift = (value - 1).ilog2();
        Self { value, reciprocal: (1u64 << (32 + shift)).div_ceil(value as u64) as u32, shift }
    }

    /// Returns the exact quotient and remainder of `dividend < 2^31`, without a division.
    ///
    /// With `w = 2^(32 + shift)`, `reciprocal m = w + e` and `0 <= e < m <= 2^(shift + 1)`. Then
    /// `dividend reciprocal / w` exceeds `dividend / m` by `dividend e / (m w)`, which is less than
    /// `1/m` and so does not reach the next integer.
    #[inline(always)]
    #[must_use]
    pub const fn divide(self, dividend: u32) -> (u32, u32) {
        let high = ((dividend as u64 * self.reciprocal as u64) >> 32) as u32;
        let quotient = high >> self.shift;
        (quotient, dividend.wrapping_sub(quotient.wrapping_mul(self.value)))
    }
}

/// Combines a pair of values to `even + radix odd`, where `radix` is the radix of `even`.
///
/// Input: numbers below [`LIMIT`].
#[inline(always)]
#[must_use]
pub const fn combine(radix: u32, even: u16, odd: u16) -> u32 {
    even as u32 + radix * odd as u32
}

/// Splits a combined value into `[even, odd]`, both reduced, and a word that is 0 exactly if `odd`
/// needed no reduction.
///
/// Input: a value below `2^30` that exceeds the largest canonical one by at most `256^b - 1`, where
/// `b` is the number of bytes that the pair writes. The product of the two radices is more than
/// `256^b`, so one subtraction reduces `odd`.
#[inline(always)]
#[must_use]
pub const fn split(even_radix: Radix, odd_radix: u32, combined: u32) -> ([u16; 2], u32) {
    let (quotient, even) = even_radix.divide(combined);
    let excess = ((odd_radix - 1).wrapping_sub(quotient) as i32 >> 31) as u32;
    ([even as u16, quotient.wrapping_sub(odd_radix & excess) as u16], excess)
}

/// One level of a [`Plan`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Number of values in the list of this level.
    pub count: usize,
    /// Radix of all values except the last.
    pub radix: Radix,
    /// Radix of the last value.
    pub last_radix: Radix,
    /// Bytes that each pair writes, 0 to 2, except the pair of the last value.
    pub pair_bytes: usize,
    /// Bytes that the pair of the last value writes: 0 if `count` is odd, when there is no such
    /// pair.
    pub last_pair_bytes: usize,
    /// Offset of the bytes of this level in the string.
    pub offset: usize,
}

impl Level {
    /// Returns the number of pairs in which both values have the radix [`Level::radix`].
    #[inline(always)]
    #[must_use]
    pub const fn regular_pairs(&self) -> usize {
        (self.count - 1) / 2
    }

    /// Returns the number of bytes that this level writes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.regular_pairs() * self.pair_bytes + self.last_pair_bytes
    }

    /// Writes the list of the next level and the bytes of this level.
    #[cfg_attr(target_family = "wasm", inline(never))]
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn combine(&self, values: &[u16], next: &mut [u16], bytes: &mut [u8]) {
        let pairs = self.regular_pairs();
        let radix = self.radix.value;
        let (regular, last) = values[..self.count].split_at(2 * pairs);
        let (regular_bytes, last_bytes) =
            bytes[..self.bytes()].split_at_mut(pairs * self.pair_bytes);
        let (regular, next_regular) = (regular.as_chunks::<2>().0, &mut next[..pairs]);
        match self.pair_bytes {
            // Pairs that write no byte get empty arrays of bytes.
            0 => {
                combine_pairs(
                    radix,
                    regular,
                    next_regular,
                    &mut [[]; 1 << (MAX_LEVELS - 1)][..pairs],
                );
            }
            1 => combine_pairs(radix, regular, next_regular, regular_bytes.as_chunks_mut::<1>().0),
            _ => combine_pairs(radix, regular, next_regular, regular_bytes.as_chunks_mut::<2>().0),
        }
        next[pairs] = match *last {
            [even, odd] => {
                let combined = combine(radix, even, odd);
                last_bytes.copy_from_slice(&combined.to_le_bytes()[..self.last_pair_bytes]);
                (combined >> (8 * self.last_pair_bytes)) as u16
            }
            _ => last[0],
        };
    }

    /// Writes the list of this level, from the list of the next level and the bytes of this level.
    /// Returns 0 exactly if no value was reduced.
    #[cfg_attr(target_family = "wasm", inline(never))]
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn split(&self, next: &[u16], bytes: &[u8], values: &mut [u16]) -> u32 {
        let pairs = self.regular_pairs();
        let (regular, last) = values[..self.count].split_at_mut(2 * pairs);
        let (regular_bytes, last_bytes) = bytes[..self.bytes()].split_at(pairs * self.pair_bytes);
        let (regular, next_regular) = (regular.as_chunks_mut::<2>().0, &next[..pairs]);
        let mut excess = match self.pair_bytes {
            0 => split_pairs(
                self.radix,
                next_regular,
                &[[]; 1 << (MAX_LEVELS - 1)][..pairs],
                regular,
            ),
            1 => split_pairs(self.radix, next_regular, regular_bytes.as_chunks::<1>().0, regular),
            _ => split_pairs(self.radix, next_regular, regular_bytes.as_chunks::<2>().0, regular),
        };
        match last {
            [even, odd] => {
                let combined = little_endian(last_bytes)
                    | u32::from(next[pairs]) << (8 * self.last_pair_bytes);
                let (values, reduced) = split(self.radix, self.last_radix.value, combined);
                [*even, *odd] = values;
                excess |= reduced;
            }
            _ => last[0] = next[pairs],
        }
        excess
    }
}

/// The radices and byte counts of the encoding of a list.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    levels: [Level; MAX_LEVELS],
    depth: usize,
    root: Radix,
    root_bytes: usize,
}

impl Plan {
    /// Returns the plan for `len` values below `radix`.
    ///
    /// # Panics
    /// Panics unless `1 <= len <= 2^MAX_LEVELS` and `1 < radix < LIMIT`.
    #[must_use]
    pub const fn new(len: usize, radix: u32) -> Self {
        assert!(1 <= len && len <= 1 << MAX_LEVELS);
        let radix = Radix::new(radix);
        let mut level = Level {
            count: len,
            radix,
            last_radix: radix,
            pair_bytes: 0,
            last_pair_bytes: 0,
            offset: 0,
        };
        let mut levels = [level; MAX_LEVELS];
        let mut depth = 0;
        while level.count > 1 {
            let (radix, pair_bytes) = shrink(level.radix.value * level.radix.value, LIMIT);
            let (last_radix, last_pair_bytes) = if level.count.is_multiple_of(2) {
                shrink(level.radix.value * level.last_radix.value, LIMIT)
            } else {
                (level.last_radix.value, 0)
            };
            level.pair_bytes = pair_bytes;
            level.last_pair_bytes = last_pair_bytes;
            levels[depth] = level;
            depth += 1;
            level = Level {
                count: level.count.div_ceil(2),
                radix: Radix::new(radix),
                last_radix: Radix::new(last_radix),
                pair_bytes: 0,
                last_pair_bytes: 0,
                offset: level.offset + level.bytes(),
            };
        }
        Self {
            levels,
            depth,
            root: level.last_radix,
            root_bytes: shrink(level.last_radix.value, 2).1,
        }
    }

    /// Returns the levels. The first one has the whole list.
    #[must_use]
    pub const fn levels(&self) -> &[Level] {
        self.levels.split_at(self.depth).0
    }

    /// Returns the radix of the value that remains after all levels.
    #[must_use]
    pub const fn root(&self) -> Radix {
        self.root
    }

    /// Returns the offset of the bytes of the remaining value, which end the string.
    #[must_use]
    pub const fn root_offset(&self) -> usize {
        match self.levels() {
            [.., last] => last.offset + last.bytes(),
            [] => 0,
        }
    }

    /// Returns the length of the encoding in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.root_offset() + self.root_bytes
    }

    /// Encodes `values`, each below the radix of the plan. Overwrites `values` and `scratch`.
    ///
    /// # Panics
    /// Panics if `bytes` is not [`Plan::bytes`] long, or if `values` or `scratch` is too short.
    /// Both are long enough if they are as long as the list.
    #[inline(always)]
    pub fn encode<'a>(
        &self,
        mut values: &'a mut [u16],
        mut scratch: &'a mut [u16],
        bytes: &mut [u8],
    ) {
        assert_eq!(bytes.len(), self.bytes());
        for level in self.levels() {
            level.combine(values, scratch, &mut bytes[level.offset..]);
            mem::swap(&mut values, &mut scratch);
        }
        bytes[self.root_offset()..].copy_from_slice(&values[0].to_le_bytes()[..self.root_bytes]);
    }

    /// Decodes `bytes` to `values`, each reduced below the radix of the plan. Overwrites `scratch`.
    /// Returns whether no value had to be reduced: exactly in this case, [`Plan::encode`] gives the
    /// same bytes.
    ///
    /// # Panics
    /// Panics if `bytes` is not [`Plan::bytes`] long, or if `values` or `scratch` is too short.
    /// Both are long enough if they are as long as the list.
    #[inline(always)]
    #[must_use]
    pub fn decode(&self, bytes: &[u8], values: &mut [u16], scratch: &mut [u16]) -> bool {
        assert_eq!(bytes.len(), self.bytes());
        // The levels read one buffer and write the other in turns. The last level writes `values`.
        let (mut next, mut list) =
            if self.depth.is_multiple_of(2) { (values, scratch) } else { (scratch, values) };
        let (mut excess, root) = self.root.divide(little_endian(&bytes[self.root_offset()..]));
        next[0] = root as u16;
        for level in self.levels().iter().rev() {
            excess |= level.split(next, &bytes[level.offset..], list);
            mem::swap(&mut next, &mut list);
        }
        excess == 0
    }
}

/// Divides a radix by 256, rounded up, until it is below `limit`. Returns the result and the number
/// of divisions.
const fn shrink(mut radix: u32, limit: u32) -> (u32, usize) {
    let mut bytes = 0;
    while radix >= limit {
        radix = radix.div_ceil(256);
        bytes += 1;
    }
    (radix, bytes)
}
