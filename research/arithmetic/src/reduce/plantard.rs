//! Plantard's multiplication: the high word of a product with the inverse modulus, times the
//! modulus.

use super::Reducer;
use super::montgomery::Montgomery;
use super::packed::{Packed, join, split};
use ctru_math::kernel::narrow::narrow;

/// A fixed factor `w` of [`Plantard`]: with `v` congruent to `-w * 2^64` modulo `M`, the number
/// `v * M^-1 mod 2^64`, as `high * 2^32 + low` with signed halves.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct PlantardFactor {
    /// Low half, signed, so that one signed product takes it.
    pub low: i32,
    /// High half. If the low half is negative, the high half is greater by one.
    pub high: i32,
}

impl Packed for PlantardFactor {
    type Word = u64;

    #[inline(always)]
    fn to_word(self) -> u64 {
        join(self.low as u32, self.high as u32)
    }
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        let (low, high) = split(word);
        Self { low: low as i32, high: high as i32 }
    }
}

/// Plantard multiplication by fixed factors modulo an odd `M`, `3 <= M < 2^30`, with words of 32
/// bits.
///
/// Let `v` be congruent to `-w * 2^64` modulo `M`, `|v| < M`, and `p = a * v / M` modulo 2^64,
/// signed. Then `p * M - a * v` is a multiple `r * 2^64` with `r = a * w` modulo `M`. With
/// `p = p1 * 2^32 + p0`,
///
/// `(p1 + 2) * M / 2^32 = r + (a * v / 2^64) + (2 - p0 / 2^32) * M / 2^32`.
///
/// The two terms after `r` sum to less than 1, and to at least 0 because `|a * v| <= 2^31 M` and
/// the last term is above `M / 2^32`. So `r` is the left side rounded down. And
/// `|r| <= M / 2 + |a * v| / 2^64`, so the integer `r` is at most `(M - 1) / 2` in absolute value.
///
/// - Input: any `|a| < 2^31`.
/// - Output: `|r| <= (M - 1) / 2`, the centred representative itself.
/// - Cost: three products: one low 32 bits, two high 32 bits.
/// - Precomputation: `M^-1 mod 2^64` and `-2^96 mod M`; [`PlantardFactor`] for each fixed factor, 8
///   bytes. A product of two variable operands would take a product of 64 bits by 64 bits instead.
///
/// Source: T. Plantard, "Efficient word size modular arithmetic", IEEE Transactions on Emerging
/// Topics in Computing 9, 2021; the signed form: J. Huang et al., "Improved Plantard arithmetic for
/// lattice-based cryptography", TCHES 2022 (4).
#[derive(Copy, Clone, Debug, Default)]
pub struct Plantard<const M: u32>;

impl<const M: u32> Plantard<M> {
    /// `M^-1 mod 2^64`: M is its own inverse modulo 8, and each Newton step doubles the number of
    /// right bits.
    const INVERSE: u64 = {
        let modulus = M as u64;
        let mut inverse = modulus;
        let mut step = 0;
        while step < 5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(modulus.wrapping_mul(inverse)));
            step += 1;
        }
        inverse
    };

    /// `-2^96 mod M`, centred: Montgomery's reduction of `SCALE * w` gives `-w * 2^64`.
    const SCALE: i64 = {
        let radix = (1 << 32) % M as i64;
        let cube = radix * radix % M as i64 * radix % M as i64;
        if cube > M as i64 / 2 { M as i64 - cube } else { -cube }
    };

    /// Computes [`Reducer::factor`]. Constants can call this function.
    #[must_use]
    #[inline(always)]
    pub const fn factor(w: i32) -> PlantardFactor {
        debug_assert!(w.unsigned_abs() <= M / 2);
        let v = Montgomery::<M>::reduce(w as i64 * Self::SCALE);
        let word = (v as i64 as u64).wrapping_mul(Self::INVERSE);
        let low = word as i32;
        PlantardFactor { low, high: (word.wrapping_sub(low as i64 as u64) >> 32) as i32 }
    }
}

impl<const M: u32> Reducer for Plantard<M> {
    const MODULUS: u32 = super::odd_with_bits(M, 30);
    const INPUT_BOUND: i32 = i32::MAX;
    const OUTPUT_BOUND: i32 = (Self::MODULUS as i32 - 1) / 2;

    type Residue = i32;
    type Factor = PlantardFactor;

    #[inline(always)]
    fn factor(w: i32) -> PlantardFactor {
        Self::factor(w)
    }

    #[inline(always)]
    fn mul(a: i32, w: PlantardFactor) -> i32 {
        debug_assert!(a.unsigned_abs() <= Self::INPUT_BOUND as u32);
        let high = narrow((i64::from(a) * i64::from(w.low)) >> 32);
        let high = high.wrapping_add(a.wrapping_mul(w.high));
        let modulus = i64::from(Self::MODULUS);
        narrow((i64::from(high) * modulus + 2 * modulus) >> 32)
    }
}
