//! Polynomials, with one type for each range of coefficients.
//!
//! All three types hold `n` coefficients; the index of a coefficient is its power of `x`.
//! Polynomials may be secret, so they are wiped when dropped, `Debug` shows no coefficient, and
//! comparisons run in constant time.

use core::fmt;
use core::marker::PhantomData;

use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroize;

use crate::array::Array;
use crate::ring::{NtruPrimeRing, Ring};
use crate::wipe::wipe;

/// The reason why a list of numbers cannot be the coefficients of a polynomial.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum CoefficientError {
    /// The list does not hold `n` coefficients.
    Length {
        /// `n` of the ring.
        expected: usize,
        /// Length of the list.
        actual: usize,
    },
    /// The coefficient at this index is out of range.
    Range {
        /// Power of `x`.
        index: usize,
    },
}

impl fmt::Display for CoefficientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { expected, actual } => {
                write!(f, "expected {expected} coefficients, got {actual}")
            }
            Self::Range { index } => write!(f, "the coefficient of x^{index} is out of range"),
        }
    }
}

impl core::error::Error for CoefficientError {}

macro_rules! polynomial {
    ($(#[$doc:meta])* $name:ident<$ring:ident>($element:ty), $range:expr) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name<R: $ring> {
            coeffs: R::Coeffs<$element>,
            ring: PhantomData<R>,
        }

        impl<R: $ring> $name<R> {
            /// Returns the zero polynomial.
            #[must_use]
            pub fn zero() -> Self {
                Self::from_array(R::Coeffs::zeroed())
            }

            /// Returns the constant polynomial 1.
            #[must_use]
            pub fn one() -> Self {
                Self::from_array(R::Coeffs::from_fn(|i| <$element>::from(i == 0)))
            }

            /// Copies `n` coefficients, lowest power first.
            ///
            /// # Errors
            /// Returns [`CoefficientError`] if the list does not have `n` elements or a coefficient
            /// is out of range.
            pub fn from_coefficients(coefficients: &[$element]) -> Result<Self, CoefficientError> {
                if coefficients.len() != R::N {
                    let actual = coefficients.len();
                    return Err(CoefficientError::Length { expected: R::N, actual });
                }
                let in_range = $range;
                match coefficients.iter().position(|&c| !in_range(c)) {
                    Some(index) => Err(CoefficientError::Range { index }),
                    None => Ok(Self::from_array(R::Coeffs::from_fn(|i| coefficients[i]))),
                }
            }

            /// Returns the coefficients, lowest power first.
            #[must_use]
            pub fn coefficients(&self) -> &[$element] {
                self.coeffs.as_ref()
            }

            /// Returns the polynomial of coefficients that the caller knows to be in range.
            pub(crate) fn from_array(coeffs: R::Coeffs<$element>) -> Self {
                let in_range = $range;
                debug_assert!(coeffs.as_ref().iter().all(|&c| in_range(c)));
                Self { coeffs, ring: PhantomData }
            }

            /// Returns the coefficients for writing. The caller keeps them in range.
            pub(crate) fn coefficients_mut(&mut self) -> &mut [$element] {
                self.coeffs.as_mut()
            }
        }

        impl<R: $ring> fmt::Debug for $name<R> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "<{:?}>(..)"), R::default())
            }
        }

        impl<R: $ring> ConstantTimeEq for $name<R> {
            fn ct_eq(&self, other: &Self) -> Choice {
                self.coefficients().ct_eq(other.coefficients())
            }
        }

        impl<R: $ring> PartialEq for $name<R> {
            fn eq(&self, other: &Self) -> bool {
                self.ct_eq(other).into()
            }
        }
        impl<R: $ring> Eq for $name<R> {}

        impl<R: $ring> Zeroize for $name<R> {
            fn zeroize(&mut self) {
                wipe(self.coeffs.as_mut());
            }
        }

        impl<R: $ring> Drop for $name<R> {
            fn drop(&mut self) {
                self.zeroize();
            }
        }

        impl<R: $ring> zeroize::ZeroizeOnDrop for $name<R> {}
    };
}

polynomial! {
    /// An element of `R_q` with canonical coefficients in `0..q`.
    Poly<NtruPrimeRing>(u16), |c: u16| u32::from(c) < R::Q
}
polynomial! {
    /// A polynomial whose coefficients are at most [`SmallPoly::BOUND`] in absolute value.
    ///
    /// In CTRU-Prime, sampled polynomials have coefficients in `-eta..=eta`. The secret `f = 2 f' +
    /// 1` has its coefficient of `x^0` in `1 - 2 eta..=2 eta + 1` and all others in `-2 eta..=2
    /// eta`. In Streamlined NTRU Prime, small polynomials have coefficients in `-1..=1`.
    SmallPoly<NtruPrimeRing>(i8), |c: i8| c.unsigned_abs() as u32 <= R::SMALL
}
polynomial! {
    /// A polynomial with coefficients in `0..q2`, `q2 = 2^Q2_BITS`: a ciphertext, or a decrypted
    /// polynomial before decoding.
    RoundedPoly<Ring>(u16), |c: u16| u32::from(c) < R::Q2
}

impl<R: NtruPrimeRing> SmallPoly<R> {
    /// Largest absolute value of a coefficient: `2 eta + 1` in rings of CTRU-Prime, or else 1.
    pub const BOUND: u32 = R::SMALL;
}

impl<R: NtruPrimeRing> From<&SmallPoly<R>> for Poly<R> {
    /// Returns the same element of `R_q` with canonical coefficients.
    fn from(small: &SmallPoly<R>) -> Self {
        let canonical = |c: i8| (i16::from(c) + (R::Q as i16 & (i16::from(c) >> 15))) as u16;
        Self::from_array(R::Coeffs::from_fn(|i| canonical(small.coefficients()[i])))
    }
}
