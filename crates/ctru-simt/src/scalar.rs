//! Scalar arguments of kernels.

use core::fmt;

use crate::simt::{Number, NumberType};

/// The largest number of scalars that a kernel takes.
pub const MOST_SCALARS: usize = 8;

/// A scalar parameter of a kernel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    name: &'static str,
    number_type: NumberType,
}

impl Scalar {
    /// Describes a scalar of type `T`.
    #[must_use]
    pub const fn new<T: Number>(name: &'static str) -> Self {
        Self { name, number_type: T::TYPE }
    }

    /// Returns the name of the parameter.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the type of the parameter.
    #[must_use]
    pub const fn number_type(&self) -> NumberType {
        self.number_type
    }
}

/// The value of a scalar.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Value {
    number_type: NumberType,
    bits: u64,
}

impl Value {
    pub(crate) const ZERO: Self = Self { number_type: NumberType::U64, bits: 0 };

    /// Returns the value of a `u32`, also in constants.
    #[must_use]
    pub const fn u32(number: u32) -> Self {
        Self { number_type: NumberType::U32, bits: number as u64 }
    }

    /// Returns the value of a `u64`, also in constants.
    #[must_use]
    pub const fn u64(number: u64) -> Self {
        Self { number_type: NumberType::U64, bits: number }
    }

    /// Returns the type of the number.
    #[must_use]
    pub const fn number_type(self) -> NumberType {
        self.number_type
    }

    /// Returns the number in the low bytes, little-endian. The other bytes are 0.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.bits
    }

    /// Returns the number, or `None` if its type is not `T`.
    #[must_use]
    pub fn get<T: Number>(self) -> Option<T> {
        (self.number_type == T::TYPE).then(|| T::from_bits(self.bits.into()))
    }
}

impl<T: Number> From<T> for Value {
    fn from(number: T) -> Self {
        // A number has at most eight bytes.
        Self { number_type: T::TYPE, bits: number.to_bits() as u64 }
    }
}

/// The error of values that do not fit the scalars of a kernel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScalarError {
    /// The number of values is not that of the scalars.
    Count {
        /// The name of the kernel.
        kernel: &'static str,
        /// The number of scalars that the kernel takes.
        expected: usize,
        /// The number of values.
        actual: usize,
    },
    /// A value has another type than its scalar.
    Type {
        /// The name of the kernel.
        kernel: &'static str,
        /// The scalar.
        scalar: &'static str,
        /// The type of the scalar.
        expected: NumberType,
        /// The type of the value.
        actual: NumberType,
    },
    /// The kernel is bound to its values.
    Fixed {
        /// The name of the kernel.
        kernel: &'static str,
    },
}

impl fmt::Display for ScalarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { kernel, expected, actual } => {
                write!(f, "{kernel} takes {expected} scalars, but {actual} values are given")
            }
            Self::Fixed { kernel } => write!(f, "{kernel} takes no other values of its scalars"),
            Self::Type { kernel, scalar, expected, actual } => {
                write!(f, "{kernel}: the scalar {scalar} is {expected}, but the value is {actual}")
            }
        }
    }
}

impl core::error::Error for ScalarError {}
