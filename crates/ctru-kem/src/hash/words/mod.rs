//! Vectors of 64-bit words, one word of each of several Keccak states: the one trait under the hash functions, and its
//! implementations, one file each. Every operation is constant time.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod dispatch;

#[cfg(test)]
pub(super) use dispatch::dispatch_to;
pub(super) use dispatch::{Hashing, dispatch};

/// The most states that any vectors hash side by side.
pub(super) const MOST_STATES: usize = 8;
/// Room for a vector.
pub(super) type Row = [u64; MOST_STATES];

/// A vector of `STATES` 64-bit words.
pub(super) trait Words: Copy {
    /// Words in a vector: states that are hashed side by side.
    const STATES: usize;

    /// All words `x`.
    fn splat(x: u64) -> Self;
    /// The first `STATES` words of a row.
    fn load(row: &Row) -> Self;
    /// Writes the first `STATES` words of a row.
    fn store(self, row: &mut Row);

    /// Exclusive or.
    fn xor(self, y: Self) -> Self;
    /// `self` with each word rotated left. Constants in the calls: they become part of the instructions.
    fn rotate_left(self, bits: u32) -> Self;

    /// `self ^ y ^ z`.
    #[inline(always)]
    fn xor3(self, y: Self, z: Self) -> Self {
        self.xor(y).xor(z)
    }
    /// `self ^ (!y & z)`.
    fn xor_not_and(self, y: Self, z: Self) -> Self;
}

/// One state, on every CPU.
impl Words for u64 {
    const STATES: usize = 1;

    #[inline(always)]
    fn splat(x: u64) -> Self {
        x
    }
    #[inline(always)]
    fn load(row: &Row) -> Self {
        row[0]
    }
    #[inline(always)]
    fn store(self, row: &mut Row) {
        row[0] = self;
    }
    #[inline(always)]
    fn xor(self, y: Self) -> Self {
        self ^ y
    }
    #[inline(always)]
    fn rotate_left(self, bits: u32) -> Self {
        self.rotate_left(bits)
    }
    #[inline(always)]
    fn xor_not_and(self, y: Self, z: Self) -> Self {
        self ^ (!y & z)
    }
}
