//! Constant-time inversion by division steps.
//!
//! The polynomials are reversed: `f = 1 - x^(n-1) - x^n` and `g = x^(n-1) a(1/x)`. A step is
//!
//! ```text
//! (delta, f, g) -> (1 - delta, g, (f(0) g - g(0) f) / x)   if delta > 0 and g(0) != 0,
//! (delta, f, g) -> (1 + delta, f, (f(0) g - g(0) f) / x)   otherwise.
//! ```
//!
//! The first `g`, multiplied by the cofactors `v` and `r`, is congruent to the current `f` and `g`
//! modulo the first `f`, up to known powers of `x`. After `2n - 1` steps `f` is a constant, and `v`
//! is a multiple of the reversed inverse.
//!
//! A constant factor that `f` and `v` have in common does not matter, and neither does one of `g`
//! and `r`. So both cases of a step take `f(0) g - g(0) f`, although a swap reverses its sign.
//!
//! Step `k` computes the lowest `2n - 1 - k` coefficients of `f` and `g`, because only these can
//! reach the result, and the lowest `k + 2` coefficients of `v` and `r`, because all others are
//! zero. Both numbers are at most `n + 1`, and are rounded up to whole vectors.
//!
//! Loads that are off by one coefficient multiply and divide by `x`. A pass over memory could do
//! two steps, either with more such loads or by moving lanes in registers. Both took longer on a
//! Xeon. For a Zen 4, `backend::for_unaligned_loads` chooses the vectors.
//!
//! Source: D. J. Bernstein, B.-Y. Yang, "Fast constant-time gcd computation and modular inversion",
//! TCHES 2019 (3), section 3 and Theorem 6.2.

use crate::array::Array;
use crate::kernel::modular::centre;
use crate::poly::Poly;
use crate::ring::NtruPrimeRing;
use crate::simd::{Modulus, Simd, Vector, WithSimd};
use crate::wipe::Scratch;

/// The work of [`inverse_or_zero`](super::inverse_or_zero). If `a` is zero, no step swaps, and `v`
/// stays zero.
pub(super) struct Inverse<'a, R: NtruPrimeRing>(pub(super) &'a Poly<R>);

impl<R: NtruPrimeRing> WithSimd for Inverse<'_, R> {
    type Output = Poly<R>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Poly<R> {
        inverse(simd, self.0)
    }
}

/// Index of the first coefficient of `v` in its buffer. Zeros fill the cache line before it, so
/// that a load can begin one coefficient earlier.
const PAD: usize = 32;

/// Numbers in a buffer for one polynomial of any ring.
const ROOM: usize = 1536;

/// A buffer for one polynomial, wiped when dropped.
type Plain = Scratch<i16, [i16; ROOM]>;

#[inline(always)]
fn inverse<S: Simd, R: NtruPrimeRing>(simd: S, a: &Poly<R>) -> Poly<R> {
    let n = R::N;
    let () = Lazy::<R>::BOUND;
    const { assert!(PAD + (R::N + 1).next_multiple_of(32) <= ROOM) };
    let (mut f, mut g, mut v, mut r) = (Plain::new(), Plain::new(), Plain::new(), Plain::new());
    f[0] = 1;
    f[n - 1] = -1;
    f[n] = -1;
    for (i, &c) in a.coefficients().iter().enumerate() {
        g[n - i] = centre(c, R::Q) as i16;
    }
    r[0] = 1;
    let mut delta = 1;
    let mut step = Step::new::<R>(&mut delta, f[0], g[1]);
    for k in 0..2 * n - 1 {
        let current = step.splat(simd, R::Q);
        // The loop over f and g goes upwards, because each vector of g is loaded one place above
        // the place where it is stored. The first vectors determine the next step, long before this
        // step begins.
        divide_step(simd, &current, &mut f, &mut g, 0);
        step = Step::new::<R>(&mut delta, f[0], g[1]);
        for start in (S::LANES..(n + 1).min(2 * n - 1 - k)).step_by(S::LANES) {
            divide_step(simd, &current, &mut f, &mut g, start);
        }
        // The loop over v and r goes downwards, because each vector of v is loaded one place below
        // the place where it is stored.
        for start in (0..(n + 1).min(k + 2)).step_by(S::LANES).rev() {
            multiply_step(simd, &current, &mut v, &mut r, start);
        }
    }
    let modulus = const { Modulus::new(R::Q) }.splat(simd);
    let scale = modulus.variable(reciprocal::<S, R>(simd, f[0]));
    for x in v[PAD..].chunks_exact_mut(S::LANES) {
        modulus.canonical(modulus.mul(simd.load(x), scale)).store(x);
    }
    Poly::from_array(R::Coeffs::from_fn(|i| v[PAD + n - 1 - i] as u16))
}

/// The constants of one division step.
struct Step<T> {
    /// All ones if `f` becomes `g`, or else 0.
    swap: T,
    /// The constant coefficients of `f` and `g`, centred.
    f0: T,
    g0: T,
    /// The constant coefficients times `2^16 / q`, rounded.
    f0_ratio: T,
    g0_ratio: T,
    q: T,
}

impl Step<i16> {
    /// Returns the step for representatives of `f(0)` and `g(0)`, and updates `delta`.
    #[inline(always)]
    fn new<R: NtruPrimeRing>(delta: &mut i32, f0: i16, g0: i16) -> Self {
        let (f0, g0) = (centred::<R>(f0), centred::<R>(g0));
        // Swap where delta > 0 and g(0) != 0.
        let swap = (-*delta >> 31) & ((g0 | -g0) >> 31);
        *delta = (*delta ^ (swap & (*delta ^ -*delta))) + 1;
        let ratio = |x: i32| ((x * Lazy::<R>::RATIO + (1 << 14)) >> 15) as i16;
        let [f0_ratio, g0_ratio] = [ratio(f0), ratio(g0)];
        Self { swap: swap as i16, f0: f0 as i16, g0: g0 as i16, f0_ratio, g0_ratio, q: R::Q as i16 }
    }

    #[inline(always)]
    fn splat<S: Simd>(&self, simd: S, q: u32) -> Step<S::Vector> {
        Step {
            swap: simd.splat(self.swap),
            f0: simd.splat(self.f0),
            g0: simd.splat(self.g0),
            f0_ratio: simd.splat(self.f0_ratio),
            g0_ratio: simd.splat(self.g0_ratio),
            q: simd.splat(q as i16),
        }
    }
}

impl<V: Vector> Step<V> {
    /// Returns `(f, f(0) g - g(0) f)`, or `(g, f(0) g - g(0) f)` if the step swaps.
    ///
    /// The quotients of both products by `q` are estimated, and `q` times their difference is
    /// subtracted.
    ///
    /// Input and output: up to `6q/5` in absolute value.
    /// Source: H. Becker, V. Hwang, M. J. Kannwischer, B.-Y. Yang, S.-Y. Yang, "Neon NTT", TCHES
    /// 2022 (1), section 2.4 (Barrett multiplication).
    #[inline(always)]
    fn apply(&self, f: V, g: V) -> (V, V) {
        let product = g.mul_low(self.f0).sub(f.mul_low(self.g0));
        let quotient = g.mul_high(self.f0_ratio).sub(f.mul_high(self.g0_ratio));
        (self.swap.select(g, f), product.sub(quotient.mul_low(self.q)))
    }
}

/// Applies the step to a vector of `f` and `g`, without the division by `x`: the coefficient of
/// `x^0` of the new `g` is a multiple of `q`. The next step divides by loading `g` one place up.
#[inline(always)]
fn divide_step<S: Simd>(
    simd: S,
    step: &Step<S::Vector>,
    f: &mut [i16],
    g: &mut [i16],
    start: usize,
) {
    let (x, y) = step.apply(simd.load(&f[start..]), simd.load(&g[start + 1..]));
    x.store(&mut f[start..]);
    y.store(&mut g[start..]);
}

/// Multiplies a vector of `v` by `x`, and applies the step to `v` and `r`.
#[inline(always)]
fn multiply_step<S: Simd>(
    simd: S,
    step: &Step<S::Vector>,
    v: &mut [i16],
    r: &mut [i16],
    start: usize,
) {
    let (x, y) = step.apply(simd.load(&v[PAD + start - 1..]), simd.load(&r[start..]));
    x.store(&mut v[PAD + start..]);
    y.store(&mut r[start..]);
}

/// Returns the representative of a coefficient that is nearest to 0.
#[inline(always)]
fn centred<R: NtruPrimeRing>(x: i16) -> i32 {
    let quotient = (i64::from(x) * i64::from(Lazy::<R>::RATIO) + (1 << 30)) >> 31;
    i32::from(x) - quotient as i32 * R::Q as i32
}

/// Returns `2^16 / x mod q` in all lanes, by `x^(q-2)` (Fermat). The exponent is public.
#[inline(always)]
fn reciprocal<S: Simd, R: NtruPrimeRing>(simd: S, x: i16) -> S::Vector {
    let modulus = const { Modulus::new(R::Q) }.splat(simd);
    let base = modulus.mul(simd.splat(x), const { Modulus::new(R::Q).factor(1 << 16) }.splat(simd));
    let mut power = base;
    for bit in (0..(R::Q - 2).ilog2()).rev() {
        power = modulus.mul(power, modulus.variable(power));
        if (R::Q - 2) >> bit & 1 == 1 {
            power = modulus.mul(power, modulus.variable(base));
        }
    }
    power
}

/// The proof that the representatives in a division step stay in 16 bits.
struct Lazy<R>(core::marker::PhantomData<R>);

impl<R: NtruPrimeRing> Lazy<R> {
    /// `round(2^31 / q)`.
    const RATIO: i32 = (((1 << 31) + R::Q as i64 / 2) / R::Q as i64) as i32;
    /// Coefficients are at most `6q/5` in absolute value.
    const COEFFICIENT: i64 = R::Q as i64 * 6 / 5;

    /// Proves that a step maps values up to `COEFFICIENT` to values up to `COEFFICIENT`.
    const BOUND: () = {
        let (q, coefficient) = (R::Q as i64, Self::COEFFICIENT);
        // Centring: the error of the quotient before rounding is at most coefficient / 2^32. This
        // is less than 1/(2q), the least distance between a multiple of 1/q and a half-integer, so
        // the quotient is rounded to the right integer.
        assert!(coefficient * q < 1 << 31);
        // Ratios fit a lane: the largest one is that of (q - 1) / 2, which is 2^15 - 2^15 / q
        // before rounding, and 2^15 / q is more than 1.
        assert!(q < 1 << 15 && q / 2 * Self::RATIO as i64 + (1 << 14) < 1 << 30);
        // Each quotient has two errors. The error from rounding down is below 1 and has the same
        // sign for both quotients, so it contributes less than 1 to the error of their difference.
        // The error of the ratio, below 1/2 + 1/16 = 9/16, is multiplied by coefficient / 2^16,
        // once for each quotient.
        assert!(q / 2 * 16 < 1 << 16);
        assert!(
            ((1 << 16) + 2 * coefficient * 9 / 16) * q <= coefficient << 16
                && coefficient <= i16::MAX as i64
        );
        // Powers keep their bound, and the scaled result is below q.
        let (modulus, power) = (Modulus::new(R::Q), R::Q as i32 * 3 / 5);
        assert!(
            modulus.product_bound(power, power) <= power
                && modulus.mul_bound(coefficient as i32) <= power
        );
        assert!(modulus.product_bound(coefficient as i32, power) < R::Q as i32);
    };
}
