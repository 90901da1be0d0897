//! Arithmetic modulo `q` on signed representatives, and on public constants.

use core::marker::PhantomData;

use super::narrow::{narrow, narrowed};
pub use crate::powers::{inverse_mod, power};
use crate::ring::NtruPrimeRing;

/// Returns the representative of `a` nearest to 0, for `a` in `0..modulus`. Half of an even modulus
/// becomes negative.
#[must_use]
#[inline(always)]
pub fn centre(a: impl Into<i32>, modulus: u32) -> i32 {
    let (a, modulus) = (a.into(), modulus as i32);
    // The largest representative is floor((modulus - 1) / 2); beyond it the difference is negative.
    a - (modulus & (((modulus - 1) / 2 - a) >> 31))
}

/// Products modulo the `q` of a ring by Barrett's reduction, in constant time.
///
/// With `n` the bit length of `q` and `mu = 2^(n + 30) / q` rounded, the quotient of `s` is
/// estimated as `((s >> (n - 1)) * mu) >> 31`, rounded. Both factors fit in 32 bits. The estimate
/// is off by less than
///
/// - 1/2 because `mu` is rounded (at most 1/2, times `|s >> (n - 1)| <= 2^31`, over 2^31),
/// - 1/2 because the first shift cuts a fraction off, whose mean `mu / 2` is added back,
/// - 1/2 because the second shift rounds,
///
/// so the remainder is at most `3q / 2` in absolute value.
///
/// Source: P. Barrett, "Implementing the Rivest Shamir and Adleman public key encryption algorithm
/// on a standard digital signal processor", CRYPTO 1986.
#[derive(Copy, Clone, Debug, Default)]
pub struct Modulo<R>(PhantomData<R>);

impl<R: NtruPrimeRing> Modulo<R> {
    /// Largest absolute value of a product, and the largest that [`canonical`](Self::canonical)
    /// takes.
    pub const BOUND: i32 = {
        // Sums of a product and a small multiple of `q` fit in 32 bits, too.
        assert!(R::Q % 2 == 1 && R::Q < 1 << 29);
        (3 * R::Q / 2) as i32
    };
    const BITS: u32 = u32::BITS - R::Q.leading_zeros();
    const MU: i64 = {
        let mu = ((1 << (Self::BITS + 30)) + (R::Q as i64) / 2) / R::Q as i64;
        // The factors of the estimate fit in 32 bits.
        let largest = i32::MAX as i64 * (R::Q / 2) as i64;
        assert!(largest >> (Self::BITS - 1) <= i32::MAX as i64 && mu <= i32::MAX as i64);
        mu
    };
    const ROUNDING: i64 = (1 << 30) + Self::MU / 2;

    /// Returns a representative of `a * w`.
    ///
    /// Input: any `a` but `-2^31`, and `|w| <= q / 2`. Output: up to `BOUND` in absolute value.
    #[must_use]
    #[inline(always)]
    pub fn mul(a: i32, w: i32) -> i32 {
        debug_assert!(a != i32::MIN && w.unsigned_abs() <= R::Q / 2);
        let product = i64::from(a) * i64::from(w);
        let quotient = (narrowed(product >> (Self::BITS - 1)) * Self::MU + Self::ROUNDING) >> 31;
        // The remainder fits in 32 bits, so its low 32 bits are all that is needed.
        narrow(product).wrapping_sub(narrow(quotient).wrapping_mul(R::Q as i32))
    }

    /// Returns a small representative of `a`.
    ///
    /// Input: any `a` but `-2^31`. Output: up to `BOUND` in absolute value.
    #[must_use]
    #[inline(always)]
    pub fn normalise(a: i32) -> i32 {
        Self::mul(a, 1)
    }

    /// Returns the representative of `a` in `0..q`, for `|a| <= BOUND`.
    #[must_use]
    #[inline(always)]
    pub fn canonical(a: i32) -> u32 {
        debug_assert!(a.unsigned_abs() <= Self::BOUND as u32);
        // A negative number is a large unsigned number, and so is the difference of a number and a
        // larger one. So each minimum is the number that is not negative.
        let a = a as u32;
        let a = a.min(a.wrapping_add(2 * R::Q));
        a.min(a.wrapping_sub(R::Q))
    }

    /// Returns the representative of `a` in `-(q - 1) / 2..=(q - 1) / 2`, for `|a| <= BOUND`.
    #[must_use]
    #[inline(always)]
    pub fn centred(a: i32) -> i32 {
        centre(Self::canonical(a) as i32, R::Q)
    }
}
