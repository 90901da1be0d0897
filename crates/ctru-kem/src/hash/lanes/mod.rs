//! Vectors that hold the same lane of several Keccak states. Every operation is constant time.
//!
//! A lane is a 64-bit word of a state (FIPS 202). Each instruction set has a file.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod dispatch;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128;
mod word;

pub(super) use dispatch::{Hashing, Vectors};
pub(super) use word::Word;

/// The largest [`Lanes::STATES`].
pub(super) const MOST_STATES: usize = if cfg!(target_family = "wasm") { 2 } else { 8 };
/// A vector in memory: one lane per state. Vectors of fewer states use the first elements.
pub(super) type Row = [u64; MOST_STATES];

/// A vector of `STATES` lanes, one lane of each state.
///
/// A vector exists only if the CPU has its instructions. Every method but [`zero`](Self::zero)
/// takes a vector, which proves that the CPU has these instructions.
pub(super) trait Lanes: Copy {
    /// Number of states.
    const STATES: usize;

    /// Returns zeros.
    ///
    /// # Safety
    /// The CPU has the instructions of this type.
    #[allow(unsafe_code)]
    unsafe fn zero() -> Self;

    /// Returns the vector whose lanes all are `x`. The value of `self` does not matter.
    fn splat(self, x: u64) -> Self;
    /// Returns the first `STATES` lanes of a row. The value of `self` does not matter.
    fn load(self, row: &Row) -> Self;
    /// Writes the first `STATES` lanes of a row.
    fn store(self, row: &mut Row);

    /// Returns `self + y`, modulo `2^64`.
    fn add(self, y: Self) -> Self;
    /// Returns `self & y`.
    fn and(self, y: Self) -> Self;
    /// Returns `self` with each lane shifted right by `bits`, which must be a constant in each
    /// call.
    fn shift_right(self, bits: u32) -> Self;
    /// Returns `self` with each lane rotated right by `bits`, which must be a constant in each
    /// call.
    #[inline(always)]
    fn rotate_right(self, bits: u32) -> Self {
        self.rotate_left(64 - bits)
    }
    /// Returns `self ^ y`.
    fn xor(self, y: Self) -> Self;
    /// Returns `self` with each lane rotated left by `bits`, which must be a constant in each call.
    fn rotate_left(self, bits: u32) -> Self;
    /// Returns `self ^ y ^ z`.
    fn xor3(self, y: Self, z: Self) -> Self;
    /// Returns `self ^ (!y & z)`.
    fn xor_not_and(self, y: Self, z: Self) -> Self;
}
