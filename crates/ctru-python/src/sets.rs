//! The choice of a parameter set and an encoding at run time, and their sizes.

use std::fmt;

use ctru_kem::{MixedRadix, Packed13, ParameterSet, PublicKeyEncoding, SHARED_SECRET_BYTES};
use ctru_math::Ring;
use pyo3::prelude::*;

use crate::errors::value_error;

/// The degree of a parameter set.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Degree {
    N653,
    N761,
    N1277,
}

/// An encoding of public keys.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Encoding {
    MixedRadix,
    Packed13,
}

/// A parameter set as a value.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Set {
    pub(crate) degree: Degree,
    pub(crate) encoding: Encoding,
}

/// Evaluates an expression in which `$P` is the type of a parameter set.
macro_rules! with_set {
    ($set:expr, $P:ident => $body:expr) => {{
        use ctru_kem::{CtruPrime653, CtruPrime761, CtruPrime1277, MixedRadix, Packed13};
        use $crate::sets::{Degree, Encoding, Set};
        macro_rules! with {
            ($type:ty) => {{
                type $P = $type;
                $body
            }};
        }
        let Set { degree, encoding } = $set;
        match (degree, encoding) {
            (Degree::N653, Encoding::MixedRadix) => with!(CtruPrime653<MixedRadix>),
            (Degree::N653, Encoding::Packed13) => with!(CtruPrime653<Packed13>),
            (Degree::N761, Encoding::MixedRadix) => with!(CtruPrime761<MixedRadix>),
            (Degree::N761, Encoding::Packed13) => with!(CtruPrime761<Packed13>),
            (Degree::N1277, Encoding::MixedRadix) => with!(CtruPrime1277<MixedRadix>),
            (Degree::N1277, Encoding::Packed13) => with!(CtruPrime1277<Packed13>),
        }
    }};
}
pub(crate) use with_set;

/// Evaluates an expression in which `$P` is the type of CTRU-Prime with X25519 of a degree.
macro_rules! with_hybrid {
    ($degree:expr, $P:ident => $body:expr) => {{
        use ctru_hybrid::{CtruPrime653, CtruPrime761, CtruPrime1277, X25519CtruPrime};
        use $crate::sets::Degree;
        macro_rules! with {
            ($type:ty) => {{
                type $P = X25519CtruPrime<$type>;
                $body
            }};
        }
        match $degree {
            Degree::N653 => with!(CtruPrime653),
            Degree::N761 => with!(CtruPrime761),
            Degree::N1277 => with!(CtruPrime1277),
        }
    }};
}
pub(crate) use with_hybrid;

impl Degree {
    /// Returns the degree of the set with this name.
    ///
    /// # Errors
    /// `ValueError` if there is no such set.
    pub(crate) fn named(set: &str) -> PyResult<Self> {
        match set {
            "653" => Ok(Self::N653),
            "761" => Ok(Self::N761),
            "1277" => Ok(Self::N1277),
            _ => Err(value_error(format!("set is {set:?}, not one of '653', '761', '1277'"))),
        }
    }

    /// Returns the name of the set without the encoding.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::N653 => "653",
            Self::N761 => "761",
            Self::N1277 => "1277",
        }
    }
}

impl fmt::Display for Degree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "set='{}'", self.name())
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} encoding='{}'", self.degree, self.encoding())
    }
}

impl Set {
    /// Returns the set with these names.
    ///
    /// # Errors
    /// `ValueError` if there is no such set or encoding.
    pub(crate) fn new(set: &str, encoding: &str) -> PyResult<Self> {
        let degree = Degree::named(set)?;
        let encoding = if encoding == MixedRadix::NAME {
            Encoding::MixedRadix
        } else if encoding == Packed13::NAME {
            Encoding::Packed13
        } else {
            let message = format!("encoding is {encoding:?}, not 'mixed-radix' or 'packed13'");
            return Err(value_error(message));
        };
        Ok(Self { degree, encoding })
    }

    /// Returns the name of the set without the encoding.
    pub(crate) fn name(self) -> &'static str {
        self.degree.name()
    }

    /// Returns the name of the encoding.
    pub(crate) fn encoding(self) -> &'static str {
        match self.encoding {
            Encoding::MixedRadix => MixedRadix::NAME,
            Encoding::Packed13 => Packed13::NAME,
        }
    }

    /// Returns the sizes and constants of the set.
    pub(crate) fn parameters(self) -> Parameters {
        with_set!(self, P => Parameters::of::<P>(self))
    }
}

/// The sizes in bytes and the constants of a parameter set.
#[pyclass(frozen, module = "ctru", get_all)]
#[derive(Copy, Clone, Debug)]
pub(crate) struct Parameters {
    /// The name of the parameter set, such as "761".
    set: &'static str,
    /// The encoding of public keys: "mixed-radix" or "packed13".
    encoding: &'static str,
    /// The bytes of a public key.
    pub(crate) public_key_bytes: usize,
    /// The bytes of a private key.
    pub(crate) private_key_bytes: usize,
    /// The bytes of a ciphertext.
    pub(crate) ciphertext_bytes: usize,
    /// The bytes of a shared secret.
    pub(crate) shared_secret_bytes: usize,
    /// The degree of the ring.
    n: usize,
    /// The modulus of the ring.
    q: u32,
}

impl Parameters {
    fn of<P: ParameterSet>(set: Set) -> Self {
        Self {
            set: set.name(),
            encoding: set.encoding(),
            public_key_bytes: P::ENCAPSULATION_KEY_BYTES,
            private_key_bytes: P::DECAPSULATION_KEY_BYTES,
            ciphertext_bytes: P::CIPHERTEXT_BYTES,
            shared_secret_bytes: SHARED_SECRET_BYTES,
            n: P::Ring::N,
            q: P::Ring::Q,
        }
    }
}

#[pymethods]
impl Parameters {
    fn __repr__(&self) -> String {
        let Self { set, encoding, n, q, .. } = self;
        format!("<ctru.Parameters set='{set}' encoding='{encoding}' n={n} q={q}>")
    }
}

/// Returns the sizes and constants of a parameter set.
#[pyfunction]
#[pyo3(signature = (set, *, encoding = "mixed-radix"))]
pub(crate) fn parameters(set: &str, encoding: &str) -> PyResult<Parameters> {
    Ok(Set::new(set, encoding)?.parameters())
}
