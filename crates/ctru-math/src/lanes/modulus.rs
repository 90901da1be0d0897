//! Modular arithmetic in 16-bit lanes, for odd moduli between 2^12 and 2^14.

use super::Lanes;

/// An odd modulus `m`, `2^12 < m < 2^14`, with its constants.
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
/// Representatives are signed and lazy: each operation says which inputs it takes, and [`Modulus`] how far from 0 its
/// result can be. Products are Montgomery's in signed form (Seiler, ePrint 2018/039) with `R = 2^16`.
#[derive(Copy, Clone)]
pub(crate) struct LaneModulus<V> {
    m: V,
    half: V,
    inverse: V,
    barrett: V,
}

/// A constant factor in Montgomery form `w 2^16 mod m`, centred, and that times `m^-1 mod 2^16`.
#[derive(Copy, Clone)]
pub(crate) struct Factor<T> {
    pub(crate) value: T,
    pub(crate) by_inverse: T,
}

impl Factor<i16> {
    /// The factor in every lane.
    #[inline(always)]
    pub(crate) fn splat<V: Lanes>(self) -> Factor<V> {
        Factor { value: V::splat(self.value), by_inverse: V::splat(self.by_inverse) }
    }

    /// One factor in the lower half of the lanes, another one in the upper half.
    #[inline(always)]
    pub(crate) fn halves<V: Lanes>([low, high]: [Self; 2]) -> Factor<V> {
        Factor {
            value: V::halves(low.value, high.value),
            by_inverse: V::halves(low.by_inverse, high.by_inverse),
        }
    }
}

impl Modulus {
    pub(crate) const fn new(m: u32) -> Self {
        assert!(m % 2 == 1 && m > 1 << 12 && m < 1 << 14);
        // Newton: an inverse modulo 2^k gives one modulo 2^2k, and m is its own modulo 8.
        let mut inverse = m;
        let mut bits = 3;
        while bits < 16 {
            inverse = inverse.wrapping_mul(2u32.wrapping_sub(m.wrapping_mul(inverse)));
            bits *= 2;
        }
        Self { m: m as i16, inverse: inverse as i16, barrett: (((1 << 15) + m / 2) / m) as i16 }
    }

    /// This modulus in every lane.
    #[inline(always)]
    pub(crate) fn splat<V: Lanes>(&self) -> LaneModulus<V> {
        Self::halves([self, self])
    }

    /// One modulus in the lower half of the lanes, another one in the upper half.
    #[inline(always)]
    pub(crate) fn halves<V: Lanes>([low, high]: [&Self; 2]) -> LaneModulus<V> {
        LaneModulus {
            m: V::halves(low.m, high.m),
            half: V::halves(low.half(), high.half()),
            inverse: V::halves(low.inverse, high.inverse),
            barrett: V::halves(low.barrett, high.barrett),
        }
    }

    /// `(m - 1) / 2`.
    pub(crate) const fn half(&self) -> i16 {
        self.m / 2
    }

    /// Bound of [`LaneModulus::mul`]'s result where one input is at most `a` and the other at most `m/2` in absolute
    /// value.
    pub(crate) const fn mul_bound(&self, a: i32) -> i32 {
        self.product_bound(a, self.half() as i32)
    }

    /// Bound of [`LaneModulus::mul`]'s result where the inputs are at most `a` and `b` in absolute value.
    pub(crate) const fn product_bound(&self, a: i32, b: i32) -> i32 {
        self.sum_bound(a * b)
    }

    /// Bound of [`LaneModulus::reduce_sums`]'s result where the sums are at most `sum` in absolute value.
    pub(crate) const fn sum_bound(&self, sum: i32) -> i32 {
        sum / (1 << 16) + self.half() as i32 + 2
    }

    /// Bound of [`LaneModulus::reduce`]'s result where the input is at most `a` in absolute value.
    pub(crate) const fn reduce_bound(&self, a: i32) -> i32 {
        // The quotient is that of a / m, rounded, but for the error of round(2^15 / m).
        let error = (self.barrett as i32 * self.m as i32 - (1 << 15)).abs();
        self.half() as i32 + a * error / (1 << 15) + 2
    }

    /// The factor for the integer `w`.
    pub(crate) const fn factor(&self, w: i64) -> Factor<i16> {
        let m = self.m as i64;
        let mut value = (w.rem_euclid(m) << 16) % m;
        if value > m / 2 {
            value -= m;
        }
        Factor { value: value as i16, by_inverse: (value as i16).wrapping_mul(self.inverse) }
    }
}

impl<V: Lanes> LaneModulus<V> {
    /// The factor that multiplies by `w / 2^16`: what a variable is as a multiplicand. `w` is not -2^15.
    #[inline(always)]
    pub(crate) fn variable(&self, w: V) -> Factor<V> {
        Factor { value: w, by_inverse: w.mul_low(self.inverse) }
    }

    /// `a w` for a constant `w`, `a b / 2^16` for a variable `b`. Any `a`; the result is bounded by
    /// [`Modulus::product_bound`].
    #[inline(always)]
    pub(crate) fn mul(&self, a: V, w: Factor<V>) -> V {
        let quotient = a.mul_low(w.by_inverse);
        a.mul_high_difference(w.value, quotient, self.m)
    }

    /// Sums of products over `2^16`, bounded by [`Modulus::sum_bound`] (Montgomery).
    #[inline(always)]
    pub(crate) fn reduce_sums(&self, sums: V::Sums) -> V {
        let [low, high] = V::split(sums);
        let quotient = low.mul_low(self.inverse);
        high.sub(quotient.mul_high(self.m))
    }

    /// Any `a` to a representative nearer to 0, bounded by [`Modulus::reduce_bound`] (Barrett).
    #[inline(always)]
    pub(crate) fn reduce(&self, a: V) -> V {
        let quotient = a.mul_round(self.barrett);
        a.sub(quotient.mul_low(self.m))
    }

    /// `|a| < m` to the representative in `0..m`.
    #[inline(always)]
    pub(crate) fn canonical(&self, a: V) -> V {
        // As an unsigned number, the one of a and a + m that is not negative and below m is the smaller.
        a.min_unsigned(a.add(self.m))
    }

    /// `|a| < m` to the representative in `-(m-1)/2..=(m-1)/2`.
    #[inline(always)]
    pub(crate) fn centre(&self, a: V) -> V {
        // canonical(a) - m/2 - 1/2 is negative where a stays, and then adding m makes it a + m/2 - 1/2.
        let shifted = self.canonical(a).sub(self.half).sub(V::splat(1));
        self.canonical(shifted).sub(self.half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend;
    use crate::lanes::Vectorised;
    use crate::lanes::dispatch::dispatch_to;

    const MODULI: [Modulus; 7] = [
        Modulus::new(4591),
        Modulus::new(4621),
        Modulus::new(7879),
        Modulus::new(7681),
        Modulus::new(10753),
        Modulus::new(11777),
        Modulus::new(12289),
    ];

    /// Calls `check` for each modulus and 16-bit number with the number reduced, centred and canonical.
    struct Reductions<F>(F);

    impl<F: FnMut(&Modulus, i16, [i16; 3])> Vectorised for Reductions<F> {
        type Output = ();

        #[inline(always)]
        fn run<V: Lanes>(mut self) {
            for modulus in &MODULI {
                let lanes = modulus.splat::<V>();
                for x in i16::MIN..=i16::MAX {
                    let a = V::splat(x);
                    let results = [lanes.reduce(a), lanes.centre(a), lanes.canonical(a)];
                    (self.0)(modulus, x, results.map(lowest));
                }
            }
        }
    }

    #[inline(always)]
    fn lowest<V: Lanes>(x: V) -> i16 {
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

    /// Calls `check` with `a`, `w` and their products with `w` as a constant and as a variable.
    struct Products<F>(F);

    impl<F: FnMut(&Modulus, i16, i16, [i16; 2])> Vectorised for Products<F> {
        type Output = ();

        #[inline(always)]
        fn run<V: Lanes>(mut self) {
            for modulus in &MODULI {
                let lanes = modulus.splat::<V>();
                let half = modulus.half();
                for w in [0, 1, -1, 2, 1234, half, -half, half - 1] {
                    let factor = modulus.factor(i64::from(w)).splat();
                    let variable = lanes.variable(V::splat(w));
                    for a in (i16::MIN..=i16::MAX).step_by(7).chain([i16::MAX, 0, 1, -1]) {
                        let a_lanes = V::splat(a);
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
