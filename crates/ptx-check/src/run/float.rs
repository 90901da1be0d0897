//! Floating-point numbers of all formats, with all roundings.
//!
//! A number is taken apart into an integer and a power of two. Operations on these are exact, but
//! for bits far below what any format keeps, whose lowest bit tells whether others were lost.

/// The bits of a number: a sign, an exponent and a fraction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Format {
    exponent: u32,
    fraction: u32,
    /// The number of unused bits below the fraction.
    unused: u32,
}

/// Which of the two next numbers a result becomes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    /// The nearest, or the even one.
    Nearest,
    /// The nearest, or the one that is farther from zero.
    Away,
    Zero,
    Down,
    Up,
}

impl Rounding {
    /// Reads the name of a rounding to numbers of a format.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "rn" => Self::Nearest,
            "rna" => Self::Away,
            "rz" => Self::Zero,
            "rm" => Self::Down,
            "rp" => Self::Up,
            _ => return None,
        })
    }
}

/// A number.
#[derive(Copy, Clone, Debug)]
pub(super) enum Number {
    Nan,
    Infinite { is_negative: bool },
    Finite(Finite),
}

/// `integer` times two to the power of `power`.
#[derive(Copy, Clone, Debug)]
pub(super) struct Finite {
    pub(super) is_negative: bool,
    pub(super) integer: u128,
    pub(super) power: i32,
}

use Number::{Infinite, Nan};

impl Format {
    pub(super) const HALF: Self = Self { exponent: 5, fraction: 10, unused: 0 };
    pub(super) const BFLOAT: Self = Self { exponent: 8, fraction: 7, unused: 0 };
    pub(super) const TENSOR: Self = Self { exponent: 8, fraction: 10, unused: 13 };
    pub(super) const SINGLE: Self = Self { exponent: 8, fraction: 23, unused: 0 };
    pub(super) const DOUBLE: Self = Self { exponent: 11, fraction: 52, unused: 0 };

    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "f16" => Self::HALF,
            "bf16" => Self::BFLOAT,
            "tf32" => Self::TENSOR,
            "f32" => Self::SINGLE,
            "f64" => Self::DOUBLE,
            _ => return None,
        })
    }

    pub(super) const fn bits(self) -> u32 {
        1 + self.exponent + self.fraction + self.unused
    }

    /// The exponent of the smallest number with all bits of its fraction.
    const fn least(self) -> i32 {
        2 - (1 << (self.exponent - 1))
    }

    /// The exponent of numbers that are infinite or NaN, as their bits have it.
    const fn top(self) -> u64 {
        (1 << self.exponent) - 1
    }

    pub(super) const fn sign(self) -> u64 {
        1 << (self.bits() - 1)
    }

    pub(super) fn decode(self, bits: u64) -> Number {
        let is_negative = bits & self.sign() != 0;
        let bits = (bits & (self.sign() - 1)) >> self.unused;
        let (exponent, fraction) = (bits >> self.fraction, bits & ((1 << self.fraction) - 1));
        match (exponent, fraction) {
            (top, 0) if top == self.top() => Infinite { is_negative },
            (top, _) if top == self.top() => Nan,
            _ => {
                let hidden = u64::from(exponent != 0) << self.fraction;
                let power = exponent.max(1) as i32 - 1 + self.least() - self.fraction as i32;
                Finite { is_negative, integer: (hidden | fraction).into(), power }.number()
            }
        }
    }

    pub(super) fn encode(self, number: Number, rounding: Rounding) -> u64 {
        let finite = match number {
            // GPUs have one NaN of up to 32 bits.
            Nan if self.bits() == 64 => return 0x7ff8 << 48,
            Nan => return self.sign() - 1,
            Infinite { is_negative } => return self.infinite(is_negative),
            Number::Finite(finite) => finite,
        };
        let sign = u64::from(finite.is_negative) * self.sign();
        if finite.integer == 0 {
            return sign;
        }
        let exponent = (127 - finite.integer.leading_zeros() as i32) + finite.power;
        let steps = (exponent - self.least()).max(0);
        let power = steps + self.least() - self.fraction as i32;
        let kept = finite.rounded(power, rounding);
        // The highest bit of the integer adds one to the exponent, which is zero without it.
        let whole = ((steps as u128) << self.fraction) + kept;
        if whole >> self.fraction >= self.top().into() {
            let stays_finite = match rounding {
                Rounding::Nearest | Rounding::Away => false,
                Rounding::Zero => true,
                Rounding::Down => !finite.is_negative,
                Rounding::Up => finite.is_negative,
            };
            let one = u64::from(stays_finite) << self.unused;
            return self.infinite(finite.is_negative) - one;
        }
        sign | (whole as u64) << self.unused
    }

    const fn infinite(self, is_negative: bool) -> u64 {
        let sign = if is_negative { self.sign() } else { 0 };
        sign | (self.top() << self.fraction << self.unused)
    }

    /// Makes a number zero that has not all bits of its fraction.
    pub(super) const fn flushed(self, bits: u64) -> u64 {
        let is_small = bits >> self.unused >> self.fraction & self.top() == 0;
        if is_small { bits & self.sign() } else { bits }
    }

    /// Returns a number as one of 64 bits, which has all numbers of the other formats.
    pub(super) fn double(self, bits: u64) -> f64 {
        match self {
            Self::DOUBLE => f64::from_bits(bits),
            Self::SINGLE => f32::from_bits(bits as u32).into(),
            _ => f64::from_bits(Self::DOUBLE.encode(self.decode(bits), Rounding::Nearest)),
        }
    }

    /// Rounds a number of 64 bits.
    pub(super) fn of_double(self, value: f64) -> u64 {
        self.encode(Self::DOUBLE.decode(value.to_bits()), Rounding::Nearest)
    }
}

impl Finite {
    pub(super) const fn number(self) -> Number {
        Number::Finite(self)
    }

    /// Returns the nearest multiple of two to the power of `power`, divided by it, or the largest
    /// integer.
    pub(super) fn rounded(self, power: i32, rounding: Rounding) -> u128 {
        let Ok(lost) = u32::try_from(power - self.power) else {
            let more = (self.power - power) as u32;
            let fits = more <= self.integer.leading_zeros();
            return if fits { self.integer << more } else { u128::MAX };
        };
        let kept = self.integer.checked_shr(lost).unwrap_or(0);
        let rest = self.integer - kept.checked_shl(lost).unwrap_or(0);
        let half = 1_u128.checked_shl(lost.wrapping_sub(1)).unwrap_or(u128::MAX);
        let is_up = rest != 0
            && match rounding {
                Rounding::Nearest => rest > half || rest == half && kept & 1 == 1,
                Rounding::Away => rest >= half,
                Rounding::Zero => false,
                Rounding::Down => self.is_negative,
                Rounding::Up => !self.is_negative,
            };
        kept + u128::from(is_up)
    }

    /// Moves the highest bit to bit 125, which leaves room for a sum.
    const fn high(self) -> Self {
        let up = self.integer.leading_zeros() as i32 - 2;
        let integer = if up < 0 { self.integer } else { self.integer << up };
        Self { integer, power: self.power - if up < 0 { 0 } else { up }, ..self }
    }

    fn plus(self, other: Self, rounding: Rounding) -> Self {
        match (self.integer, other.integer) {
            (0, 0) => {
                let (a, b) = (self.is_negative, other.is_negative);
                let is_negative = if rounding == Rounding::Down { a || b } else { a && b };
                return Self { is_negative, ..self };
            }
            (0, _) => return other,
            (_, 0) => return self,
            _ => {}
        }
        let (mut large, mut small) = (self.high(), other.high());
        if (small.power, small.integer) > (large.power, large.integer) {
            (large, small) = (small, large);
        }
        let lost = large.power.abs_diff(small.power);
        let kept = small.integer.checked_shr(lost).unwrap_or(0);
        let has_lost = kept.checked_shl(lost).unwrap_or(0) != small.integer;
        let small_integer = kept | u128::from(has_lost);
        let is_sum = large.is_negative == small.is_negative;
        let integer = match is_sum {
            true => large.integer + small_integer,
            false => large.integer - small_integer,
        };
        let is_negative = match integer {
            0 => rounding == Rounding::Down,
            _ => large.is_negative,
        };
        Self { is_negative, integer, power: large.power }
    }
}

impl Number {
    pub(super) const fn is_negative(self) -> bool {
        match self {
            Nan => false,
            Infinite { is_negative } => is_negative,
            Self::Finite(finite) => finite.is_negative,
        }
    }

    /// Returns the sum, whose zero has the sign that belongs to the rounding.
    pub(super) fn plus(self, other: Self, rounding: Rounding) -> Self {
        match (self, other) {
            (Nan, _) | (_, Nan) => Nan,
            (Self::Finite(a), Self::Finite(b)) => a.plus(b, rounding).number(),
            (Infinite { .. }, Infinite { .. }) if self.is_negative() != other.is_negative() => Nan,
            (Infinite { .. }, _) => self,
            _ => other,
        }
    }

    pub(super) fn times(self, other: Self) -> Self {
        let is_negative = self.is_negative() != other.is_negative();
        match (self, other) {
            (Nan, _) | (_, Nan) => Nan,
            (Self::Finite(a), Self::Finite(b)) => {
                let integer = a.integer * b.integer;
                Finite { is_negative, integer, power: a.power + b.power }.number()
            }
            (Self::Finite(Finite { integer: 0, .. }), _)
            | (_, Self::Finite(Finite { integer: 0, .. })) => Nan,
            _ => Infinite { is_negative },
        }
    }

    pub(super) fn over(self, other: Self) -> Self {
        let is_negative = self.is_negative() != other.is_negative();
        match (self, other) {
            (Nan, _) | (_, Nan) | (Infinite { .. }, Infinite { .. }) => Nan,
            (Infinite { .. }, _) => Infinite { is_negative },
            (_, Infinite { .. }) => Finite { is_negative, integer: 0, power: 0 }.number(),
            (Self::Finite(a), Self::Finite(b)) => match (a.integer, b.integer) {
                (0, 0) => Nan,
                (_, 0) => Infinite { is_negative },
                _ => {
                    let a = a.high();
                    let has_rest = a.integer % b.integer != 0;
                    let integer = (a.integer / b.integer) | u128::from(has_rest);
                    Finite { is_negative, integer, power: a.power - b.power }.number()
                }
            },
        }
    }

    pub(super) fn root(self) -> Self {
        match self {
            Self::Finite(Finite { integer: 0, .. }) => self,
            _ if self.is_negative() => Nan,
            Self::Finite(finite) => {
                let high = finite.high();
                // Half of the power must be a whole number.
                let (integer, power) = match high.power % 2 {
                    0 => (high.integer, high.power),
                    _ => (high.integer * 2, high.power - 1),
                };
                let root = integer.isqrt();
                let has_rest = root * root != integer;
                // Room for the bit that tells of the rest.
                let integer = root << 1 | u128::from(has_rest);
                Finite { integer, power: power / 2 - 1, ..high }.number()
            }
            other => other,
        }
    }

    /// Returns a number without a fraction.
    pub(super) fn whole(self, rounding: Rounding) -> Self {
        match self {
            Self::Finite(finite) if finite.power < 0 => {
                Finite { integer: finite.rounded(0, rounding), power: 0, ..finite }.number()
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares all operations with those of the CPU, which rounds to the nearest number.
    #[test]
    fn equals_the_cpu() {
        let mut random = fastrand::Rng::with_seed(3);
        let rounding = Rounding::Nearest;
        let mut single = || {
            let bits = match random.u8(..8) {
                // Near one another, small, and special.
                0..3 => 0x3f80_0000 ^ random.u32(..1 << 26),
                3 => random.u32(..1 << 24),
                4 => [0, 0x8000_0000, 0x7f80_0000, 0xff80_0000, 0x7f7f_ffff, 1][random.usize(..6)],
                _ => random.u32(..),
            };
            f32::from_bits(bits)
        };
        let decode = |value: f32| Format::SINGLE.decode(value.to_bits().into());
        for _ in 0..200_000 {
            let (a, b, c) = (single(), single(), single());
            let (x, y, z) = (decode(a), decode(b), decode(c));
            for (name, result, expected) in [
                ("add", x.plus(y, rounding), a + b),
                ("mul", x.times(y), a * b),
                ("div", x.over(y), a / b),
                ("sqrt", x.root(), a.sqrt()),
                ("fma", x.times(y).plus(z, rounding), a.mul_add(b, c)),
                ("whole", x.whole(rounding), a.round_ties_even()),
            ] {
                let result = f32::from_bits(Format::SINGLE.encode(result, rounding) as u32);
                let is_equal = result.to_bits() == expected.to_bits();
                assert!(
                    is_equal || result.is_nan() && expected.is_nan(),
                    "{name} {a:e} {b:e} {c:e}: {result:e}, not {expected:e}"
                );
            }
            let (d, e) = (f64::from(a) * f64::from(b), f64::from(c).sqrt());
            let (x, y) = (d.to_bits(), e.to_bits());
            let sum = Format::DOUBLE.decode(x).plus(Format::DOUBLE.decode(y), rounding);
            let sum = f64::from_bits(Format::DOUBLE.encode(sum, rounding));
            assert!(sum == d + e || sum.is_nan() && (d + e).is_nan());
            let narrow = f32::from_bits(Format::SINGLE.of_double(d) as u32);
            assert!(narrow.to_bits() == (d as f32).to_bits() || d.is_nan());
        }
    }

    #[test]
    fn directions_of_rounding() {
        let third = |rounding| {
            let [one, three] = [1.0_f32, -3.0].map(|v| Format::SINGLE.decode(v.to_bits().into()));
            Format::HALF.encode(one.over(three), rounding)
        };
        // A third is 0x3555 and 1/3 of a step.
        assert_eq!(third(Rounding::Nearest), 0xb555);
        assert_eq!(third(Rounding::Away), 0xb555);
        assert_eq!((third(Rounding::Zero), third(Rounding::Up)), (0xb555, 0xb555));
        assert_eq!(third(Rounding::Down), 0xb556);
        let large = Format::SINGLE.decode(70_000_f32.to_bits().into());
        for (rounding, bits) in [
            (Rounding::Nearest, 0x7c00),
            (Rounding::Zero, 0x7bff),
            (Rounding::Down, 0x7bff),
            (Rounding::Up, 0x7c00),
        ] {
            assert_eq!(Format::HALF.encode(large, rounding), bits, "{rounding:?}");
        }
        let tie = Format::SINGLE.decode(0x3f80_1000);
        assert_eq!(Format::TENSOR.encode(tie, Rounding::Nearest), 0x3f80_0000);
        assert_eq!(Format::TENSOR.encode(tie, Rounding::Away), 0x3f80_2000);
        // The smallest halves have no bit above their fraction.
        assert_eq!(Format::HALF.of_double(2_f64.powi(-24)), 1);
        assert_eq!(Format::HALF.double(1), 2_f64.powi(-24));
        assert_eq!(Format::HALF.flushed(0x83ff), 0x8000);
    }
}
