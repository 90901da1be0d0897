//! Barrett's reduction: the quotient is estimated by a product with the reciprocal of the modulus.

use super::{ReduceSum, Reducer};
use ctru_math::Ring;
use ctru_math::kernel::modular::Modulo;
use ctru_math::kernel::narrow::{narrow, narrowed};

/// Barrett reduction modulo an odd `M`, `3 <= M < 2^30`.
///
/// With `n` the bit length of `M` and `mu = 2^(n + 30) / M` rounded, the quotient of `s` is
/// estimated as `((s >> (n - 1)) * mu) >> 31`, rounded. Both factors fit in 32 bits. The estimate
/// is off by less than
///
/// - 1/2 because `mu` is rounded (at most 1/2, times `|s >> (n - 1)| <= 2^31`, over 2^31),
/// - 1/2 because the first shift cuts a fraction off, whose mean `mu / 2` is added back,
/// - 1/2 because the second shift rounds,
///
/// so the remainder is at most `3M / 2` in absolute value.
///
/// - Input: any `|a| < 2^31`; sums below `2^(n + 30)`.
/// - Output: `|r| <= 3M / 2`.
/// - Cost: three products: `a * w` and the quotient are 32 x 32 -> 64 bits, quotient times modulus
///   is low 32 bits.
/// - Precomputation: `mu`; the fixed factor is the plain residue.
///
/// Source: P. Barrett, "Implementing the Rivest Shamir and Adleman public key encryption algorithm
/// on a standard digital signal processor", CRYPTO 1986.
#[derive(Copy, Clone, Debug, Default)]
pub struct Barrett<const M: u32>;

impl<const M: u32> Barrett<M> {
    const BITS: u32 = u32::BITS - M.leading_zeros();
    const MU: i64 = ((1 << (Self::BITS + 30)) + (M as i64) / 2) / M as i64;
    const ROUNDING: i64 = (1 << 30) + Self::MU / 2;

    /// Computes [`Reducer::factor`]. Constants can call this function.
    #[must_use]
    #[inline(always)]
    pub const fn factor(w: i32) -> i32 {
        debug_assert!(w.unsigned_abs() <= M / 2);
        w
    }
}

impl<const M: u32> Reducer for Barrett<M> {
    const MODULUS: u32 = super::odd_with_bits(M, 30);
    const INPUT_BOUND: i32 = i32::MAX;
    const OUTPUT_BOUND: i32 = (3 * Self::MODULUS / 2) as i32;

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

impl<const M: u32> ReduceSum for Barrett<M> {
    const SUM_BOUND: i64 = (1 << (Self::BITS + 30)) - 1;
    const RADIX: u32 = 1;

    #[inline(always)]
    fn product(a: i32, w: i32) -> i64 {
        i64::from(a) * i64::from(w)
    }

    #[inline(always)]
    fn reduce(sum: i64) -> i32 {
        debug_assert!(sum.unsigned_abs() <= Self::SUM_BOUND as u64);
        let quotient = (narrowed(sum >> (Self::BITS - 1)) * Self::MU + Self::ROUNDING) >> 31;
        // The remainder fits in 32 bits, so its low 32 bits are all that is needed.
        narrow(sum).wrapping_sub(narrow(quotient).wrapping_mul(Self::MODULUS as i32))
    }
}

/// The arithmetic modulo `q` of the KEM's kernels, which is Barrett's.
impl<R: Ring> Reducer for Modulo<R> {
    const MODULUS: u32 = R::Q;
    const INPUT_BOUND: i32 = i32::MAX;
    const OUTPUT_BOUND: i32 = Self::BOUND;

    type Residue = i32;
    type Factor = i32;

    #[inline(always)]
    fn factor(w: i32) -> i32 {
        w
    }

    #[inline(always)]
    fn mul(a: i32, w: i32) -> i32 {
        Self::mul(a, w)
    }

    #[inline(always)]
    fn normalise(a: i32) -> i32 {
        Self::normalise(a)
    }

    #[inline(always)]
    fn canonical(a: i32) -> u32 {
        Self::canonical(a)
    }

    #[inline(always)]
    fn centred(a: i32) -> i32 {
        Self::centred(a)
    }
}
