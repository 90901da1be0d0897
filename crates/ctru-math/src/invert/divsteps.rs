//! Constant-time inversion by division steps.
//!
//! Source: Bernstein and Yang, "Fast constant-time gcd computation and modular inversion" (CHES 2019), section 5 and
//! Theorem 7.2. For a polynomial `a` of degree below `n`, `2n - 1` division steps on the reversed polynomials
//! `f = 1 - x^(n-1) - x^n` and `g = x^(n-1) a(1/x)` leave a constant in `f`, and a multiple of the reversed inverse in
//! the cofactor `v`.
//!
//! Here `g` and its cofactor `r` are divided by `2^16` in every step, as Montgomery's products come: the pairs `(f, v)`
//! and `(g, r)` only matter up to common factors. Step `k` touches just what can matter: the `2n - 1 - k` lowest
//! coefficients of `f` and `g` and the `k + 1` lowest of `v` and `r`.

use crate::array::Array;
use crate::lanes::{Baseline, Factor, Lanes, Modulus};
use crate::poly::Poly;
use crate::reduce::centre;
use crate::ring::Ring;
use crate::wipe::Scratch;

/// The inverse of `a`, or some multiple of zero if `a` is zero.
pub(super) fn inverse_or_zero<R: Ring>(a: &Poly<R>) -> Poly<R> {
    inverse::<Baseline, R>(a)
}

/// Vectors start this far into `v`, so that `v` shifted by one can be loaded.
const PAD: usize = 8;

#[inline(always)]
fn inverse<V: Lanes, R: Ring>(a: &Poly<R>) -> Poly<R> {
    let n = R::N;
    let modulus = const { Modulus::new(R::Q) };
    let () = Lazy::<R>::BOUND;
    let (mut f, mut g) = (Scratch::<i16, R::Padded<i16>>::new(), Scratch::<i16, R::Padded<i16>>::new());
    let (mut v, mut r) = (Scratch::<i16, R::Padded<i16>>::new(), Scratch::<i16, R::Padded<i16>>::new());
    f[0] = 1;
    f[n - 1] = -1;
    f[n] = -1;
    for (i, &c) in a.coefficients().iter().enumerate() {
        g[n - i] = centre(c, R::Q) as i16;
    }
    r[0] = 1;
    let mut delta = 1;
    for step in 0..2 * n - 1 {
        let f0 = lowest(&modulus, V::load(&f));
        let g0 = lowest(&modulus, V::load(&g[1..]));
        // Swap where delta > 0 and g(0) != 0: all ones or zero.
        let g0_nonzero = (i32::from(g0) | -i32::from(g0)) >> 31;
        let swap = (-delta >> 31) & g0_nonzero;
        delta = (delta ^ (swap & (delta ^ -delta))) + 1;
        let swap = swap as i16;
        let exchange = swap & (f0 ^ g0);
        let factors = Step {
            swap: V::splat(swap),
            f0: modulus.variable(V::splat(f0 ^ exchange)),
            g0: modulus.variable(V::splat(g0 ^ exchange)),
        };
        // f and g go upwards, because g is loaded one place up, and v goes downwards, because it is loaded one place down.
        let live = (n + 1).min(2 * n - 1 - step);
        divide_step::<V>(&modulus, &factors, &mut f, &mut g, live);
        let live = (n + 1).min(step + 2);
        multiply_step::<V>(&modulus, &factors, &mut v, &mut r, live);
    }
    let scale = modulus.variable(reciprocal::<V>(&modulus, R::Q, lowest(&modulus, V::load(&f))));
    for x in v[PAD..].chunks_exact_mut(V::LANES) {
        modulus.canonical(modulus.reduce(modulus.mul(V::load(x), scale))).store(x);
    }
    Poly::from_array(R::Coeffs::from_fn(|i| v[PAD + n - 1 - i] as u16))
}

/// What one division step does to every coefficient.
struct Step<V> {
    /// All ones to swap before anything else.
    swap: V,
    /// Constant coefficients after the swap.
    f0: Factor<V>,
    g0: Factor<V>,
}

impl<V: Lanes> Step<V> {
    /// `(f, g)` to `(f, (f0 g - g0 f) / 2^16)` after the swap.
    #[inline(always)]
    fn apply(&self, modulus: &Modulus, f: V, g: V) -> (V, V) {
        let exchange = self.swap.and(f.xor(g));
        let (f, g) = (f.xor(exchange), g.xor(exchange));
        (f, modulus.mul(g, self.f0).sub(modulus.mul(f, self.g0)))
    }
}

/// Divides `g` by `x` and applies the step to the `live` lowest coefficients: `g` is stored as it comes out, with a
/// zero at `x^0`, and loaded one place up.
#[inline(always)]
fn divide_step<V: Lanes>(modulus: &Modulus, step: &Step<V>, f: &mut [i16], g: &mut [i16], live: usize) {
    for start in (0..live).step_by(V::LANES) {
        let (x, y) = step.apply(modulus, V::load(&f[start..]), V::load(&g[start + 1..]));
        x.store(&mut f[start..]);
        y.store(&mut g[start..]);
    }
}

/// Multiplies `v` by `x` and applies the step to the `live` lowest coefficients.
#[inline(always)]
fn multiply_step<V: Lanes>(modulus: &Modulus, step: &Step<V>, v: &mut [i16], r: &mut [i16], live: usize) {
    for start in (0..live).step_by(V::LANES).rev() {
        let (x, y) = step.apply(modulus, V::load(&v[PAD + start - 1..]), V::load(&r[start..]));
        x.store(&mut v[PAD + start..]);
        y.store(&mut r[start..]);
    }
}

/// The centred representative of the lowest lane.
#[inline(always)]
fn lowest<V: Lanes>(modulus: &Modulus, x: V) -> i16 {
    let mut lanes = [0; 64];
    modulus.centre(modulus.reduce(x)).store(&mut lanes);
    lanes[0]
}

/// `2^16 / x mod q` in all lanes, by Fermat: `x^(q-2)`. The exponent is public.
#[inline(always)]
fn reciprocal<V: Lanes>(modulus: &Modulus, q: u32, x: i16) -> V {
    let base = modulus.mul(V::splat(x), modulus.factor(1 << 16).splat());
    let mut power = base;
    for bit in (0..(q - 2).ilog2()).rev() {
        power = modulus.mul(power, modulus.variable(power));
        if (q - 2) >> bit & 1 == 1 {
            power = modulus.mul(power, modulus.variable(base));
        }
    }
    power
}

/// Proof that the representatives in a division step stay in 16 bits without reduction.
struct Lazy<R>(core::marker::PhantomData<R>);

impl<R: Ring> Lazy<R> {
    /// Values of at most 5/4 q go to values of at most 5/4 q.
    const BOUND: () = {
        let bound = R::Q as i32 * 5 / 4;
        assert!(2 * Modulus::new(R::Q).mul_bound(bound) <= bound && bound <= i16::MAX as i32);
    };
}
