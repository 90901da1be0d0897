//! NTRU Prime's mixed-radix encoding of public keys.
//!
//! A list of values `r_i` below radices `m_i` is encoded by levels. A level joins neighbours: `r_0 + m_0 r_1`
//! is below `m_0 m_1`. While that radix is 2^14 or more, the low byte of the value is written out and the radix
//! divided by 256, rounding up. The joined values are the list of the next level; an odd last one moves there
//! as it is. The value that is left in the end is written out byte by byte.
//!
//! The radices follow from the length of the list and the one radix of its values, so [`Plan`] computes them
//! at compile time. On a level all radices are equal but the last: all pairs but the last run in one loop
//! with constants.
//!
//! Source: NTRU Prime, round-3 specification (2020), "Encode" and "Decode" with limit 16384. NTRU Prime
//! shifts coefficients by `(q - 1)/2` first; CTRU-Prime encodes them in `0..q` as they are.

mod pairs;

use core::fmt;
use core::mem;

use crate::array::Array;
use crate::poly::Poly;
use crate::ring::{R653, R761, R1277, Ring};
use crate::simd::{Simd, WithSimd, dispatch};
use pairs::{join_pairs, little_endian, part_pairs};

/// All radices are below this number: a value fits 14 bits, a pair of values 28.
pub const LIMIT: u32 = 1 << 14;

/// Levels of the longest list that a [`Plan`] takes, `2^MAX_LEVELS` values.
pub const MAX_LEVELS: usize = 11;

/// The string is not the encoding of any polynomial: decoding had to reduce, so encoding gives another string.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct NonCanonical;

impl fmt::Display for NonCanonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes are not a canonical mixed-radix encoding")
    }
}

impl core::error::Error for NonCanonical {}

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
    /// The radix `m` with its reciprocal.
    ///
    /// # Panics
    /// Unless `1 < value < LIMIT`.
    #[must_use]
    pub const fn new(value: u32) -> Self {
        assert!(1 < value && value < LIMIT);
        let shift = (value - 1).ilog2();
        Self { value, reciprocal: (1u64 << (32 + shift)).div_ceil(value as u64) as u32, shift }
    }

    /// Quotient and remainder of `dividend < 2^31`, exact, without a division.
    ///
    /// Write `w = 2^(32 + shift)`, so that `reciprocal m = w + e` with `0 <= e < m <= 2^(shift + 1)`. Then
    /// `dividend reciprocal / w` exceeds `dividend / m` by `dividend e / (m w)`, which is less than `1/m`: too
    /// little to reach the next integer.
    #[inline(always)]
    #[must_use]
    pub const fn divide(self, dividend: u32) -> (u32, u32) {
        let high = ((dividend as u64 * self.reciprocal as u64) >> 32) as u32;
        let quotient = high >> self.shift;
        (quotient, dividend.wrapping_sub(quotient.wrapping_mul(self.value)))
    }
}

/// Joins a pair of values: `even + radix odd`, where `radix` is that of the even one. All three are below
/// [`LIMIT`].
#[inline(always)]
#[must_use]
pub const fn join(radix: u32, even: u16, odd: u16) -> u32 {
    even as u32 + radix * odd as u32
}

/// Parts a joined value into `[even, odd]`, reduced, and a word that is 0 exactly if `odd` needed no reduction.
///
/// The value is below `2^30` and at most `256^b - 1` above the largest canonical one, where `b` is the number
/// of bytes that the pair writes out. As the product of the two radices is more than `256^b`, one subtraction
/// reduces `odd`.
#[inline(always)]
#[must_use]
pub const fn part(even_radix: Radix, odd_radix: u32, joined: u32) -> ([u16; 2], u32) {
    let (quotient, even) = even_radix.divide(joined);
    let excess = ((odd_radix - 1).wrapping_sub(quotient) as i32 >> 31) as u32;
    ([even as u16, quotient.wrapping_sub(odd_radix & excess) as u16], excess)
}

/// One level of a [`Plan`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Values in the list of this level.
    pub count: usize,
    /// Radix of all values but the last.
    pub radix: Radix,
    /// Radix of the last value.
    pub last_radix: Radix,
    /// Bytes that a pair writes, 0..=2: all pairs but the one of the last value.
    pub pair_bytes: usize,
    /// Bytes that the pair of the last value writes: 0 if `count` is odd and the last value has no partner.
    pub last_pair_bytes: usize,
    /// Where the bytes of this level begin.
    pub offset: usize,
}

impl Level {
    /// Number of pairs in which both values have the radix [`Level::radix`].
    #[inline(always)]
    #[must_use]
    pub const fn regular_pairs(&self) -> usize {
        (self.count - 1) / 2
    }

    /// Number of bytes that this level writes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.regular_pairs() * self.pair_bytes + self.last_pair_bytes
    }

    /// The list of the next level, and the bytes of this one.
    #[inline(always)]
    fn join(&self, values: &[u16], next: &mut [u16], bytes: &mut [u8]) {
        let pairs = self.regular_pairs();
        let radix = self.radix.value;
        let (regular, last) = values[..self.count].split_at(2 * pairs);
        let (regular_bytes, last_bytes) =
            bytes[..self.bytes()].split_at_mut(pairs * self.pair_bytes);
        let (regular, next_regular) = (regular.as_chunks::<2>().0, &mut next[..pairs]);
        match self.pair_bytes {
            // As many times no byte.
            0 => {
                join_pairs(radix, regular, next_regular, &mut [[]; 1 << (MAX_LEVELS - 1)][..pairs]);
            }
            1 => join_pairs(radix, regular, next_regular, regular_bytes.as_chunks_mut::<1>().0),
            _ => join_pairs(radix, regular, next_regular, regular_bytes.as_chunks_mut::<2>().0),
        }
        next[pairs] = match *last {
            [even, odd] => {
                let joined = join(radix, even, odd);
                last_bytes.copy_from_slice(&joined.to_le_bytes()[..self.last_pair_bytes]);
                (joined >> (8 * self.last_pair_bytes)) as u16
            }
            _ => last[0],
        };
    }

    /// The list of this level from that of the next and the bytes of this one; returns 0 exactly if nothing
    /// was reduced.
    #[inline(always)]
    fn part(&self, next: &[u16], bytes: &[u8], values: &mut [u16]) -> u32 {
        let pairs = self.regular_pairs();
        let (regular, last) = values[..self.count].split_at_mut(2 * pairs);
        let (regular_bytes, last_bytes) = bytes[..self.bytes()].split_at(pairs * self.pair_bytes);
        let (regular, next_regular) = (regular.as_chunks_mut::<2>().0, &next[..pairs]);
        let mut excess = match self.pair_bytes {
            0 => {
                part_pairs(self.radix, next_regular, &[[]; 1 << (MAX_LEVELS - 1)][..pairs], regular)
            }
            1 => part_pairs(self.radix, next_regular, regular_bytes.as_chunks::<1>().0, regular),
            _ => part_pairs(self.radix, next_regular, regular_bytes.as_chunks::<2>().0, regular),
        };
        match last {
            [even, odd] => {
                let joined = little_endian(last_bytes)
                    | u32::from(next[pairs]) << (8 * self.last_pair_bytes);
                let (values, reduced) = part(self.radix, self.last_radix.value, joined);
                [*even, *odd] = values;
                excess |= reduced;
            }
            _ => last[0] = next[pairs],
        }
        excess
    }
}

/// All radices and byte counts of the encoding of a list.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    levels: [Level; MAX_LEVELS],
    depth: usize,
    root: Radix,
    root_bytes: usize,
}

impl Plan {
    /// The plan for `len` values below `radix`.
    ///
    /// # Panics
    /// Unless `1 <= len <= 2^MAX_LEVELS` and `1 < radix < LIMIT`.
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

    /// The plan for the coefficients of a ring.
    #[must_use]
    pub const fn of<R: Ring>() -> Self {
        Self::new(R::N, R::Q)
    }

    /// The levels, that of the whole list first.
    #[must_use]
    pub const fn levels(&self) -> &[Level] {
        self.levels.split_at(self.depth).0
    }

    /// Radix of the one value that is left after all levels.
    #[must_use]
    pub const fn root(&self) -> Radix {
        self.root
    }

    /// Where the bytes of the last value begin; they end the string.
    #[must_use]
    pub const fn root_offset(&self) -> usize {
        match self.levels() {
            [.., last] => last.offset + last.bytes(),
            [] => 0,
        }
    }

    /// Length of the whole encoding in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.root_offset() + self.root_bytes
    }

    /// Encodes `values`, each below the radix of the plan. `values` and `scratch` are overwritten.
    ///
    /// # Panics
    /// If `values` or `scratch` are shorter than the list or `bytes` is not [`Plan::bytes`] long.
    #[inline(always)]
    pub fn encode<'a>(
        &self,
        mut values: &'a mut [u16],
        mut scratch: &'a mut [u16],
        bytes: &mut [u8],
    ) {
        assert_eq!(bytes.len(), self.bytes());
        for level in self.levels() {
            level.join(values, scratch, &mut bytes[level.offset..]);
            mem::swap(&mut values, &mut scratch);
        }
        bytes[self.root_offset()..].copy_from_slice(&values[0].to_le_bytes()[..self.root_bytes]);
    }

    /// Decodes `bytes` into `values`, each reduced below the radix of the plan. `scratch` is overwritten.
    /// Returns whether nothing had to be reduced, that is whether [`Plan::encode`] writes these very bytes.
    ///
    /// # Panics
    /// If `values` or `scratch` are shorter than the list or `bytes` is not [`Plan::bytes`] long.
    #[inline(always)]
    #[must_use]
    pub fn decode(&self, bytes: &[u8], values: &mut [u16], scratch: &mut [u16]) -> bool {
        assert_eq!(bytes.len(), self.bytes());
        // The buffers take turns; the last turn is to write `values`.
        let (mut next, mut list) =
            if self.depth.is_multiple_of(2) { (values, scratch) } else { (scratch, values) };
        let (mut excess, root) = self.root.divide(little_endian(&bytes[self.root_offset()..]));
        next[0] = root as u16;
        for level in self.levels().iter().rev() {
            excess |= level.part(next, &bytes[level.offset..], list);
            mem::swap(&mut next, &mut list);
        }
        excess == 0
    }
}

/// Divides a radix by 256, rounding up, until it is below `limit`; returns it and the number of divisions.
const fn shrink(mut radix: u32, limit: u32) -> (u32, usize) {
    let mut bytes = 0;
    while radix >= limit {
        radix = radix.div_ceil(256);
        bytes += 1;
    }
    (radix, bytes)
}

const _: () = {
    assert!(Plan::of::<R653>().bytes() == 994);
    assert!(Plan::of::<R761>().bytes() == 1158);
    assert!(Plan::of::<R1277>().bytes() == 2067);
};

/// Encodes a public-key polynomial.
#[must_use]
pub fn encode<R: Ring>(poly: &Poly<R>) -> R::MixedRadixBytes {
    R::mixed_radix_encode(poly)
}

pub(crate) fn encode_poly<R: Ring>(poly: &Poly<R>) -> R::MixedRadixBytes {
    dispatch(Encode(poly))
}

struct Encode<'a, R: Ring>(&'a Poly<R>);

impl<R: Ring> WithSimd for Encode<'_, R> {
    type Output = R::MixedRadixBytes;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> R::MixedRadixBytes {
        let mut values = R::Coeffs::zeroed();
        values.as_mut().copy_from_slice(self.0.coefficients());
        let mut scratch = R::Coeffs::zeroed();
        let mut bytes = R::MixedRadixBytes::zeroed();
        const { Plan::of::<R>() }.encode(values.as_mut(), scratch.as_mut(), bytes.as_mut());
        bytes
    }
}

/// Decodes any string to a polynomial. Many strings decode to the same one; see [`decode_canonical`].
#[must_use]
pub fn decode<R: Ring>(bytes: &R::MixedRadixBytes) -> Poly<R> {
    let mut poly = Poly::zero();
    R::mixed_radix_decode(bytes, &mut poly);
    poly
}

/// Decodes what [`encode`] wrote. Exactly its outputs are accepted.
///
/// # Errors
/// [`NonCanonical`] if encoding the decoded polynomial would give another string.
pub fn decode_canonical<R: Ring>(bytes: &R::MixedRadixBytes) -> Result<Poly<R>, NonCanonical> {
    let mut poly = Poly::zero();
    if R::mixed_radix_decode(bytes, &mut poly) { Ok(poly) } else { Err(NonCanonical) }
}

pub(crate) fn decode_poly<R: Ring>(bytes: &R::MixedRadixBytes, poly: &mut Poly<R>) -> bool {
    dispatch(Decode { bytes, poly })
}

/// Decodes to `poly`, and says whether its encoding is these bytes.
struct Decode<'a, R: Ring> {
    bytes: &'a R::MixedRadixBytes,
    poly: &'a mut Poly<R>,
}

impl<R: Ring> WithSimd for Decode<'_, R> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> bool {
        let mut scratch = R::Coeffs::zeroed();
        const { Plan::of::<R>() }.decode(
            self.bytes.as_ref(),
            self.poly.coefficients_mut(),
            scratch.as_mut(),
        )
    }
}
