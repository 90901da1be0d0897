//! Modular arithmetic in 16-bit lanes, for odd moduli between 2^12 and 2^14.

use super::Lanes;

/// An odd modulus `m`, `2^12 < m < 2^14`, with its constants.
///
/// Representatives are signed and lazy: each operation says which inputs it takes and how far from 0 its result can be.
/// Products are Montgomery's in signed form (Seiler, ePrint 2018/039) with `R = 2^16`.
#[derive(Copy, Clone)]
pub(crate) struct Modulus {
    /// `m`.
    pub(crate) m: i16,
    /// `m^-1 mod 2^16`.
    inverse: i16,
    /// `round(2^27 / m)`.
    barrett: i16,
}

/// A constant factor in Montgomery form `w 2^16 mod m`, centred, and that times `m^-1 mod 2^16`.
#[derive(Copy, Clone)]
pub(crate) struct Factor<T> {
    pub(crate) value: T,
    pub(crate) by_inverse: T,
}

impl Factor<i16> {
    #[inline(always)]
    pub(crate) fn splat<V: Lanes>(self) -> Factor<V> {
        Factor { value: V::splat(self.value), by_inverse: V::splat(self.by_inverse) }
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
        Self { m: m as i16, inverse: inverse as i16, barrett: (((1 << 27) + m / 2) / m) as i16 }
    }

    /// `(m - 1) / 2`.
    pub(crate) const fn half(&self) -> i16 {
        self.m / 2
    }

    /// Bound of `mul`'s result where one input is at most `a` and the other at most `m/2` in absolute value.
    pub(crate) const fn mul_bound(&self, a: i32) -> i32 {
        a * self.half() as i32 / (1 << 16) + self.half() as i32 + 2
    }

    /// Bound of [`reduce`](Self::reduce)'s result.
    pub(crate) const fn reduce_bound(&self) -> i32 {
        self.half() as i32 + 9
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

    /// The factor that multiplies by `w / 2^16`: what a variable is as a multiplicand.
    #[inline(always)]
    pub(crate) fn variable<V: Lanes>(&self, w: V) -> Factor<V> {
        Factor { value: w, by_inverse: w.mul_low(V::splat(self.inverse)) }
    }

    /// `a w` for a constant `w`, `a b / 2^16` for a variable `b`. Any `a`; result at most `|a value| / 2^16 + m/2 + 1`.
    #[inline(always)]
    pub(crate) fn mul<V: Lanes>(&self, a: V, w: Factor<V>) -> V {
        let quotient = a.mul_low(w.by_inverse);
        a.mul_high(w.value).sub(quotient.mul_high(V::splat(self.m)))
    }

    /// Any `a` to a representative of at most [`reduce_bound`](Self::reduce_bound) in absolute value (Barrett).
    #[inline(always)]
    pub(crate) fn reduce<V: Lanes>(&self, a: V) -> V {
        let quotient = a.mul_high(V::splat(self.barrett)).add(V::splat(1 << 10)).shift_right::<11>();
        a.sub(quotient.mul_low(V::splat(self.m)))
    }

    /// `|a| < 3m/2` to the representative in `-(m-1)/2..=(m-1)/2`.
    #[inline(always)]
    pub(crate) fn centre<V: Lanes>(&self, a: V) -> V {
        let (m, half) = (V::splat(self.m), V::splat(self.half()));
        let a = a.sub(a.greater_than(half).and(m));
        a.add(V::splat(-self.half()).greater_than(a).and(m))
    }

    /// `|a| < m` to the representative in `0..m`.
    #[inline(always)]
    pub(crate) fn canonical<V: Lanes>(&self, a: V) -> V {
        a.add(a.shift_right::<15>().and(V::splat(self.m)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::Baseline;

    const MODULI: [Modulus; 6] = [
        Modulus::new(4591),
        Modulus::new(4621),
        Modulus::new(7879),
        Modulus::new(7681),
        Modulus::new(10753),
        Modulus::new(11777),
    ];

    fn lane(f: impl Fn(Baseline) -> Baseline, x: i16) -> i64 {
        let mut out = [0; 8];
        f(Baseline::splat(x)).store(&mut out);
        i64::from(out[0])
    }

    #[test]
    fn every_input_of_reduce_centre_and_canonical() {
        for modulus in MODULI {
            let m = i64::from(modulus.m);
            for x in i16::MIN..=i16::MAX {
                let reduced = lane(|v| modulus.reduce(v), x);
                assert_eq!((i64::from(x) - reduced).rem_euclid(m), 0);
                assert!(reduced.abs() <= i64::from(modulus.reduce_bound()), "{x} mod {m}: {reduced}");
                let x64 = i64::from(x);
                if 2 * x64.abs() < 3 * m {
                    let centred = lane(|v| modulus.centre(v), x);
                    assert_eq!((x64 - centred).rem_euclid(m), 0);
                    assert!(centred.abs() <= m / 2);
                }
                if x64.abs() < m {
                    assert_eq!(lane(|v| modulus.canonical(v), x), x64.rem_euclid(m));
                }
            }
        }
    }

    #[test]
    fn products_by_constants_and_variables() {
        for modulus in MODULI {
            let m = i64::from(modulus.m);
            let half = modulus.half();
            for w in [0, 1, -1, 2, 1234, half, -half, half - 1] {
                let factor = modulus.factor(i64::from(w));
                for a in (i16::MIN..=i16::MAX).step_by(7).chain([i16::MAX, 0, 1, -1]) {
                    let (a64, w64) = (i64::from(a), i64::from(w));
                    let product = lane(|v| modulus.mul(v, factor.splat()), a);
                    assert_eq!((product - a64 * w64).rem_euclid(m), 0);
                    assert!(product.abs() <= i64::from(modulus.mul_bound(i32::from(a).abs())));
                    let product = lane(|v| modulus.mul(v, modulus.variable(Baseline::splat(w))), a);
                    assert_eq!(((product << 16) - a64 * w64).rem_euclid(m), 0);
                    assert!(product.abs() <= i64::from(modulus.mul_bound(i32::from(a).abs())));
                }
            }
        }
    }
}
