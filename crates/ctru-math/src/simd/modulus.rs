//! Modular arithmetic in 16-bit lanes, for odd moduli between 2^4 and 2^14.

use super::{Simd, Sums, Vector};

/// An odd modulus `m`, `2^4 < m < 2^14`, with its constants.
#[derive(Copy, Clone)]
pub(crate) struct Modulus {
    /// `m`.
    pub(crate) m: i16,
    /// `m^-1 mod 2^16`.
    inverse: i16,
    /// `round(2^15 / m)`.
    barrett: i16,
}

/// A modulus in each lane.
///
/// Representatives are signed and lazy: each operation says which inputs it takes, and a method of
/// [`Modulus`] bounds its output. Products are Montgomery's in signed form (Seiler, ePrint
/// 2018/039) with the radix `2^16`.
#[derive(Copy, Clone)]
pub(crate) struct LaneModulus<V> {
    m: V,
    half: V,
    /// `(m + 1) / 2`.
    above_half: V,
    inverse: V,
    barrett: V,
}

/// A constant factor `w` in Montgomery form: `zeta = w 2^16 mod m`, centred, and
/// `zeta_qinv = zeta m^-1 mod 2^16`.
#[derive(Copy, Clone)]
pub(crate) struct Twiddle<T> {
    pub(crate) zeta: T,
    pub(crate) zeta_qinv: T,
}

impl Twiddle<i16> {
    /// Returns the factor in every lane.
    #[inline(always)]
    pub(crate) fn splat<S: Simd>(self, simd: S) -> Twiddle<S::Vector> {
        Twiddle { zeta: simd.splat(self.zeta), zeta_qinv: simd.splat(self.zeta_qinv) }
    }

    /// Returns one factor in the lower half of the lanes and another one in the upper half.
    #[inline(always)]
    pub(crate) fn halves<S: Simd>([low, high]: [Self; 2], simd: S) -> Twiddle<S::Vector> {
        Twiddle {
            zeta: simd.halves(low.zeta, high.zeta),
            zeta_qinv: simd.halves(low.zeta_qinv, high.zeta_qinv),
        }
    }
}

impl Modulus {
    pub(crate) const fn new(m: u32) -> Self {
        assert!(m % 2 == 1 && m > 1 << 4 && m < 1 << 14);
        // Newton: an inverse modulo 2^k gives one modulo 2^2k, and m is its own inverse modulo 8.
        let mut inverse = m;
        let mut bits = 3;
        while bits < 16 {
            inverse = inverse.wrapping_mul(2u32.wrapping_sub(m.wrapping_mul(inverse)));
            bits *= 2;
        }
        Self { m: m as i16, inverse: inverse as i16, barrett: (((1 << 15) + m / 2) / m) as i16 }
    }

    /// Returns this modulus in every lane.
    #[inline(always)]
    pub(crate) fn splat<S: Simd>(&self, simd: S) -> LaneModulus<S::Vector> {
        Self::halves([self, self], simd)
    }

    /// Returns one modulus in the lower half of the lanes and another one in the upper half.
    #[inline(always)]
    pub(crate) fn halves<S: Simd>([low, high]: [&Self; 2], simd: S) -> LaneModulus<S::Vector> {
        LaneModulus {
            m: simd.halves(low.m, high.m),
            half: simd.halves(low.half(), high.half()),
            above_half: simd.halves(low.half() + 1, high.half() + 1),
            inverse: simd.halves(low.inverse, high.inverse),
            barrett: simd.halves(low.barrett, high.barrett),
        }
    }

    /// Returns `(m - 1) / 2`.
    pub(crate) const fn half(&self) -> i16 {
        self.m / 2
    }

    /// Bounds [`LaneModulus::mul`] for one input up to `a` and the other up to `m/2` in absolute
    /// value.
    pub(crate) const fn mul_bound(&self, a: i32) -> i32 {
        self.product_bound(a, self.half() as i32)
    }

    /// Bounds [`LaneModulus::mul`] for inputs up to `a` and `b` in absolute value.
    pub(crate) const fn product_bound(&self, a: i32, b: i32) -> i32 {
        self.sum_bound(a * b)
    }

    /// Bounds [`LaneModulus::reduce_sums`] for sums up to `sum` in absolute value.
    pub(crate) const fn sum_bound(&self, sum: i32) -> i32 {
        sum / (1 << 16) + self.half() as i32 + 2
    }

    /// Bounds [`LaneModulus::reduce`] for inputs up to `a` in absolute value.
    pub(crate) const fn reduce_bound(&self, a: i32) -> i32 {
        // Apart from the error of `barrett`, the quotient is a / m, rounded.
        let error = (self.barrett as i32 * self.m as i32 - (1 << 15)).abs();
        self.half() as i32 + a * error / (1 << 15) + 2
    }

    /// Returns the constant factor for the integer `w`.
    pub(crate) const fn factor(&self, w: i64) -> Twiddle<i16> {
        let m = self.m as i64;
        let mut value = (w.rem_euclid(m) << 16) % m;
        if value > m / 2 {
            value -= m;
        }
        Twiddle { zeta: value as i16, zeta_qinv: (value as i16).wrapping_mul(self.inverse) }
    }
}

impl<V: Vector> LaneModulus<V> {
    /// Returns the factor that multiplies by `w / 2^16`, for a variable `w` other than -2^15.
    #[inline(always)]
    pub(crate) fn variable(&self, w: V) -> Twiddle<V> {
        Twiddle { zeta: w, zeta_qinv: w.mul_low(self.inverse) }
    }

    /// Multiplies `a` by a factor: `a w` for a constant `w`, `a w / 2^16` for a variable `w`.
    ///
    /// Input: any `a`. Output: bounded by [`Modulus::product_bound`] (Montgomery).
    #[cfg_attr(all(target_family = "wasm", not(target_feature = "simd128")), inline(never))]
    #[cfg_attr(not(all(target_family = "wasm", not(target_feature = "simd128"))), inline(always))]
    pub(crate) fn mul(&self, a: V, w: Twiddle<V>) -> V {
        let quotient = a.mul_low(w.zeta_qinv);
        a.mul_high_difference(w.zeta, quotient, self.m)
    }

    /// Divides sums of products by `2^16`.
    ///
    /// Output: bounded by [`Modulus::sum_bound`] (Montgomery).
    #[cfg_attr(all(target_family = "wasm", not(target_feature = "simd128")), inline(never))]
    #[cfg_attr(not(all(target_family = "wasm", not(target_feature = "simd128"))), inline(always))]
    pub(crate) fn reduce_sums(&self, sums: V::Sums) -> V {
        let [low, high] = sums.split();
        let quotient = low.mul_low(self.inverse);
        high.sub(quotient.mul_high(self.m))
    }

    /// Returns a representative of `a` that is nearer to 0.
    ///
    /// Input: any `a`. Output: bounded by [`Modulus::reduce_bound`] (Barrett).
    #[cfg_attr(all(target_family = "wasm", not(target_feature = "simd128")), inline(never))]
    #[cfg_attr(not(all(target_family = "wasm", not(target_feature = "simd128"))), inline(always))]
    pub(crate) fn reduce(&self, a: V) -> V {
        let quotient = a.mul_round(self.barrett);
        a.sub(quotient.mul_low(self.m))
    }

    /// Returns the representative in `0..m` for `|a| < m`.
    #[inline(always)]
    pub(crate) fn canonical(&self, a: V) -> V {
        // Of a and a + m, the one in 0..m is the smaller unsigned number.
        a.min_unsigned(a.add(self.m))
    }

    /// Returns the representative in `-(m-1)/2..=(m-1)/2` for `|a| < m`.
    #[inline(always)]
    pub(crate) fn centre(&self, a: V) -> V {
        // `shifted` is negative where canonical(a) is at most (m-1)/2. There the second `canonical`
        // adds m, and the result is canonical(a). Elsewhere the result is canonical(a) - m.
        let shifted = self.canonical(a).sub(self.above_half);
        self.canonical(shifted).sub(self.half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend;
    use crate::simd::{WithSimd, dispatch_to};

    const MODULI: [Modulus; 7] = [
        Modulus::new(4591),
        Modulus::new(4621),
        Modulus::new(7879),
        Modulus::new(7681),
        Modulus::new(10753),
        Modulus::new(11777),
        Modulus::new(12289),
    ];

    /// Calls the function for each modulus and each 16-bit number `x`, with the three results for
    /// `x`: reduced, centred, canonical.
    struct Reductions<F>(F);

    impl<F: FnMut(&Modulus, i16, [i16; 3])> WithSimd for Reductions<F> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(mut self, simd: S) {
            for modulus in &MODULI {
                let lanes = modulus.splat(simd);
                for x in i16::MIN..=i16::MAX {
                    let a = simd.splat(x);
                    let results = [lanes.reduce(a), lanes.centre(a), lanes.canonical(a)];
                    (self.0)(modulus, x, results.map(lowest));
                }
            }
        }
    }

    #[inline(always)]
    fn lowest<V: Vector>(x: V) -> i16 {
        let mut lanes = [0; 32];
        x.store(&mut lanes);
        lanes[0]
    }

    #[test]
    fn every_input_of_reduce_centre_and_canonical() {
        for backend in backend::available() {
            dispatch_to(
                backend,
                Reductions(|modulus: &Modulus, x: i16, [reduced, centred, canonical]: [i16; 3]| {
                    let (m, x) = (i32::from(modulus.m), i32::from(x));
                    let reduced = i32::from(reduced);
                    assert_eq!((x - reduced).rem_euclid(m), 0);
                    assert!(
                        reduced.abs() <= modulus.reduce_bound(x.abs()),
                        "{x} mod {m}: {reduced}"
                    );
                    if x.abs() < m {
                        assert_eq!(i32::from(canonical), x.rem_euclid(m));
                        assert!(
                            (x - i32::from(centred)).rem_euclid(m) == 0
                                && centred.abs() <= modulus.half()
                        );
                    }
                }),
            );
        }
    }

    /// Calls the function with each modulus, numbers `a` and `w`, and two products of `a` by `w`:
    /// with `w` as a constant and as a variable.
    struct Products<F>(F);

    impl<F: FnMut(&Modulus, i16, i16, [i16; 2])> WithSimd for Products<F> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(mut self, simd: S) {
            for modulus in &MODULI {
                let lanes = modulus.splat(simd);
                let half = modulus.half();
                for w in [0, 1, -1, 2, 1234, half, -half, half - 1] {
                    let factor = modulus.factor(i64::from(w)).splat(simd);
                    let variable = lanes.variable(simd.splat(w));
                    for a in (i16::MIN..=i16::MAX).step_by(7).chain([i16::MAX, 0, 1, -1]) {
                        let a_lanes = simd.splat(a);
                        let products = [lanes.mul(a_lanes, factor), lanes.mul(a_lanes, variable)];
                        (self.0)(modulus, a, w, products.map(lowest));
                    }
                }
            }
        }
    }

    #[test]
    fn products_by_constants_and_variables() {
        for backend in backend::available() {
            dispatch_to(
                backend,
                Products(
                    |modulus: &Modulus, a: i16, w: i16, [by_constant, by_variable]: [i16; 2]| {
                        let [m, a, w, by_constant, by_variable] =
                            [modulus.m, a, w, by_constant, by_variable].map(i64::from);
                        assert_eq!((by_constant - a * w).rem_euclid(m), 0);
                        assert_eq!(((by_variable << 16) - a * w).rem_euclid(m), 0);
                        let bound = |w: i64| {
                            i64::from(modulus.product_bound(a.abs() as i32, w.abs() as i32))
                        };
                        assert!(by_constant.abs() <= bound(m / 2) && by_variable.abs() <= bound(w));
                    },
                ),
            );
        }
    }
}
