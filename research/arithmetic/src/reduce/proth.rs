//! Reduction modulo `K * 2^E + 1`, the primes that have long transforms.

use super::{ReduceSum, Reducer};
use ctru_math::kernel::narrow::narrow;

/// Reduction modulo `M = K * 2^E + 1` with a small `K`.
///
/// `K * 2^E = -1 mod M`, so `s = high * 2^E + low` gives `high - K * low`, congruent to `-K * s`
/// and `E` bits shorter. Two such steps reduce any product and multiply it by `K^2`. Fixed factors
/// carry `K^-2`, so that products come out plain.
///
/// - Input: any `|a| < 2^31`; sums below `2^31 * M`.
/// - Output: `|r|` is at most a little above `M / 2`: `M / 2` from the low part of the second step,
///   and less than `2^(32 - E) K` from its high part.
/// - Cost: one product, 32 x 32 -> 64 bits; then two products by the constant `K`, one in 64 bits
///   and one in 32 bits, with shifts and sums.
/// - Precomputation: `K^-4 mod M`; the fixed factor is `w * K^-2 mod M`.
///
/// Source: P. Longa, M. Naehrig, "Speeding up the number theoretic transform for faster ideal
/// lattice-based cryptography", CANS 2016, section 3, there with unsigned residues.
#[derive(Copy, Clone, Debug, Default)]
pub struct Proth<const K: u32, const E: u32>;

impl<const K: u32, const E: u32> Proth<K, E> {
    const LOW: i64 = (1 << E) - 1;
    const HALF: i64 = 1 << (E - 1);

    /// `K^-2` and `K^-4` modulo `M`: the squares of `-2^E`, which is the inverse of `K`, and of
    /// `K^-2`.
    const RADIX: i64 = Self::square(1 << E);
    const SCALE: i64 = Self::square(Self::RADIX);

    const fn square(a: i64) -> i64 {
        let modulus = <Self as Reducer>::MODULUS as i64;
        a % modulus * (a % modulus) % modulus
    }

    /// Returns the largest absolute value after one step on a sum up to `bound`.
    const fn step_bound(bound: i64) -> i64 {
        (bound >> E) + 1 + K as i64 * Self::LOW
    }

    /// Computes [`Reducer::factor`]. Constants can call this function.
    #[must_use]
    #[inline(always)]
    pub const fn factor(w: i32) -> i32 {
        debug_assert!(w.unsigned_abs() <= <Self as Reducer>::MODULUS / 2);
        Self::reduce(w as i64 * Self::SCALE)
    }

    #[inline(always)]
    const fn reduce(sum: i64) -> i32 {
        debug_assert!(sum.unsigned_abs() <= <Self as ReduceSum>::SUM_BOUND as u64);
        let sum = (sum >> E) - (sum & Self::LOW) * K as i64;
        // The low part of the second step is centred, so that the result is small on both sides of
        // 0.
        let high = narrow((sum + Self::HALF) >> E);
        high.wrapping_sub(narrow(sum).wrapping_sub(high << E).wrapping_mul(K as i32))
    }
}

impl<const K: u32, const E: u32> Reducer for Proth<K, E> {
    const MODULUS: u32 = {
        assert!(E > 1 && E < 30 && K < 1 << (30 - E), "the modulus must be below 2^30");
        (K << E) + 1
    };
    const INPUT_BOUND: i32 = i32::MAX;
    const OUTPUT_BOUND: i32 = {
        let step = Self::step_bound(<Self as ReduceSum>::SUM_BOUND);
        let bound = ((step + Self::HALF) >> E) + 1 + K as i64 * Self::HALF;
        assert!(bound < 2 * Self::MODULUS as i64, "two steps must reach a representative below 2M");
        bound as i32
    };

    type Residue = i32;
    type Factor = i32;

    #[inline(always)]
    fn factor(w: i32) -> i32 {
        Self::factor(w)
    }

    #[inline(always)]
    fn mul(a: i32, w: i32) -> i32 {
        debug_assert!(a.unsigned_abs() <= Self::INPUT_BOUND as u32);
        Self::reduce(Self::product(a, w))
    }
}

impl<const K: u32, const E: u32> ReduceSum for Proth<K, E> {
    const SUM_BOUND: i64 = ((Self::MODULUS as i64) << 31) - 1;
    const RADIX: u32 = Self::RADIX as u32;

    #[inline(always)]
    fn product(a: i32, w: i32) -> i64 {
        i64::from(a) * i64::from(w)
    }

    #[inline(always)]
    fn reduce(sum: i64) -> i32 {
        Self::reduce(sum)
    }
}
