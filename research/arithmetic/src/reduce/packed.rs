//! Residues and factors as machine words, for arrays that the host and a device share.

use core::fmt::Debug;
use core::ops::{Add, Sub};

use ctru_math::array::Element;
use ctru_math::kernel::narrow::narrow;

/// A value that fits in one machine word.
pub trait Packed: Element + Debug + PartialEq {
    /// `u32` or `u64`.
    type Word: Element;

    /// Returns the value as a word.
    fn to_word(self) -> Self::Word;

    /// Returns the value of a word: the inverse of [`to_word`](Self::to_word).
    fn from_word(word: Self::Word) -> Self;
}

/// An integer, as `i32`, or as `f32` up to `2^24` in absolute value, where `f32` is exact.
pub trait Residue: Packed<Word = u32> + Add<Output = Self> + Sub<Output = Self> {
    /// Returns the residue `a`.
    fn new(a: i32) -> Self;

    /// Returns the integer.
    fn value(self) -> i32;
}

impl Packed for i32 {
    type Word = u32;

    #[inline(always)]
    fn to_word(self) -> u32 {
        self as u32
    }
    #[inline(always)]
    fn from_word(word: u32) -> Self {
        word as Self
    }
}

impl Residue for i32 {
    #[inline(always)]
    fn new(a: i32) -> Self {
        a
    }
    #[inline(always)]
    fn value(self) -> i32 {
        self
    }
}

impl Packed for f32 {
    type Word = u32;

    #[inline(always)]
    fn to_word(self) -> u32 {
        self.to_bits()
    }
    #[inline(always)]
    fn from_word(word: u32) -> Self {
        Self::from_bits(word)
    }
}

impl Residue for f32 {
    #[inline(always)]
    fn new(a: i32) -> Self {
        a as Self
    }
    #[inline(always)]
    fn value(self) -> i32 {
        self as i32
    }
}

/// Returns two 32-bit halves as one word.
#[inline(always)]
pub(super) fn join(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Returns the halves of a word: the inverse of [`join`].
#[inline(always)]
pub(super) fn split(word: u64) -> (u32, u32) {
    (narrow(word as i64) as u32, narrow((word >> 32) as i64) as u32)
}
