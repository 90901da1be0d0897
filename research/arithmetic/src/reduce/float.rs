//! Exact reduction in single precision: fused multiplications and additions keep what a product
//! rounds away.

use super::Reducer;
use super::packed::{Packed, join, split};

/// A fixed factor `w` of [`Float`] together with `w / M`.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct FloatFactor {
    /// The residue, at most `M / 2` in absolute value.
    pub value: f32,
    /// `value / M`, rounded.
    pub quotient: f32,
}

impl Packed for FloatFactor {
    type Word = u64;

    #[inline(always)]
    fn to_word(self) -> u64 {
        join(self.value.to_bits(), self.quotient.to_bits())
    }
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        let (value, quotient) = split(word);
        Self { value: f32::from_bits(value), quotient: f32::from_bits(quotient) }
    }
}

/// Multiplication by fixed factors modulo an odd `M`, `3 <= M <= 2^24 - 9`, in single precision.
///
/// A product `a * w` is exactly `high + low`, where `high` is the rounded product and `low` is its
/// rounding error, which a fused multiplication computes. The quotient by `M` is `a * (w / M)`,
/// rounded by adding and subtracting `3 * 2^22`, which is right for quotients below 2^22. The
/// stored `w / M` is off by at most 2^-26, so the quotient is off by at most
/// `1/2 + |a| / 2^26 <= 5/8`, apart from a rounding error below 2^-20. Then `high - quotient * M`
/// is an integer below `5/8 M + |low| < 2^24` and therefore exact, and so is its sum with `low`.
///
/// For `M` above 2^23.67 this remainder may exceed the input bound, so it is centred once more.
///
/// - Input: `|a| <= 2^23 - 4`; for [`Reducer::normalise`] too.
/// - Output: `|r| <= 5/8 M + 17`, or `(M + 1) / 2` where it is centred.
/// - Cost: one product, three fused products and sums, two sums; one fused and two more sums where
///   it is centred.
/// - Precomputation: `1 / M`; [`FloatFactor`] for each fixed factor, 8 bytes.
///
/// Source: J. van der Hoeven, G. Lecerf, G. Quintin, "Modular SIMD arithmetic in Mathemagix", ACM
/// Transactions on Mathematical Software 43, 2016, section 3; with a fixed operand's quotient as in
/// V. Shoup's NTL.
#[derive(Copy, Clone, Debug, Default)]
pub struct Float<const M: u32>;

/// `3 * 2^22`. The sum of this and a number below 2^22 in absolute value has no room for a
/// fraction.
const ROUNDING: f32 = 12_582_912.0;

impl<const M: u32> Float<M> {
    const RECIPROCAL: f32 = (1.0 / M as f64) as f32;
    /// Largest remainder before it is centred.
    const LAZY_BOUND: i32 = (M as i64 * 5 / 8) as i32 + (M >> 20) as i32 + 1;
    const IS_CENTRED: bool = Self::LAZY_BOUND > <Self as Reducer>::INPUT_BOUND;

    #[inline(always)]
    fn centre(a: f32) -> f32 {
        let quotient = fused(a, Self::RECIPROCAL, ROUNDING) - ROUNDING;
        fused(-quotient, M as f32, a)
    }
}

impl<const M: u32> Reducer for Float<M> {
    const MODULUS: u32 = {
        assert!(M <= (1 << 24) - 9, "half of the modulus must be an input");
        super::odd_with_bits(M, 30)
    };
    const INPUT_BOUND: i32 = (1 << 23) - 4;
    const OUTPUT_BOUND: i32 =
        if Self::IS_CENTRED { Self::NORMALISED_BOUND } else { Self::LAZY_BOUND };

    const NORMALISED_BOUND: i32 = (Self::MODULUS as i32 + 1) / 2;

    type Residue = f32;
    type Factor = FloatFactor;

    #[inline(always)]
    fn factor(w: i32) -> FloatFactor {
        debug_assert!(w.unsigned_abs() <= M / 2);
        FloatFactor { value: w as f32, quotient: (f64::from(w) * const { 1.0 / M as f64 }) as f32 }
    }

    #[inline(always)]
    fn mul(a: f32, w: FloatFactor) -> f32 {
        debug_assert!(a.abs() <= Self::INPUT_BOUND as f32);
        let quotient = fused(a, w.quotient, ROUNDING) - ROUNDING;
        let high = a * w.value;
        let low = fused(a, w.value, -high);
        let remainder = fused(-quotient, M as f32, high) + low;
        if Self::IS_CENTRED { Self::centre(remainder) } else { remainder }
    }

    #[inline(always)]
    fn normalise(a: f32) -> f32 {
        debug_assert!(a.abs() <= Self::INPUT_BOUND as f32);
        Self::centre(a)
    }
}

/// Returns `a * b + c`, rounded once.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn fused(a: f32, b: f32, c: f32) -> f32 {
    core::f32::math::mul_add(a, b, c)
}

/// Returns `a * b + c`. The result is rounded once if the exact value has at most 53 bits, as all
/// values have whose exactness matters here. A quotient may be rounded twice.
#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
fn fused(a: f32, b: f32, c: f32) -> f32 {
    (f64::from(a) * f64::from(b) + f64::from(c)) as f32
}
