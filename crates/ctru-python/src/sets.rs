//! The parameter sets and encodings that Python names, and their sizes.

use ctru_kem::engine::DeviceOptions;
use ctru_kem::engine::device::plan::{Keys, Operation, Place, of_batch};
use ctru_kem::{Encoding, SHARED_SECRET_BYTES, Set, Sizes};
use pyo3::prelude::*;

use crate::errors::value_error;

/// Returns the set of hybrids with this name.
///
/// # Errors
/// `ValueError` if there is no such set.
pub(crate) fn hybrid_named(set: &str) -> PyResult<ctru_hybrid::Set> {
    set.parse().map_err(|error| value_error(format!("set is {set:?}: {error}")))
}

/// Returns the set and the encoding with these names.
///
/// # Errors
/// `ValueError` if there is no such set or encoding.
pub(crate) fn named(set: &str, encoding: &str) -> PyResult<ctru_kem::Parameters> {
    let set: Set = set.parse().map_err(|_| {
        let names: Vec<_> = Set::ALL.iter().map(|set| format!("'{}'", set.id())).collect();
        value_error(format!("set is {set:?}, not one of {}", names.join(", ")))
    })?;
    let encoding: Encoding = encoding.parse().map_err(|_| {
        let [first, second] = Encoding::ALL else { unreachable!("there are two encodings") };
        value_error(format!("encoding is {encoding:?}, not '{first}' or '{second}'"))
    })?;
    ctru_kem::Parameters::new(set, encoding).map_err(value_error)
}

/// What a key of Python shows of its parameters.
pub(crate) trait Shown: Copy {
    /// Returns the name of the set, such as `761`.
    fn id(self) -> &'static str;
    /// Returns the arguments of Python's functions that name the parameters.
    fn arguments(self) -> String;
}

impl Shown for ctru_hybrid::Set {
    fn id(self) -> &'static str {
        Self::id(self)
    }
    fn arguments(self) -> String {
        format!("set='{}'", self.id())
    }
}

impl Shown for ctru_kem::Parameters {
    fn id(self) -> &'static str {
        self.set().id()
    }
    fn arguments(self) -> String {
        format!("set='{}' encoding='{}'", self.set().id(), self.encoding())
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

impl From<ctru_kem::Parameters> for Parameters {
    fn from(parameters: ctru_kem::Parameters) -> Self {
        let Sizes { encapsulation_key, decapsulation_key, ciphertext } = parameters.sizes();
        Self {
            set: parameters.set().id(),
            encoding: parameters.encoding().name(),
            public_key_bytes: encapsulation_key,
            private_key_bytes: decapsulation_key,
            ciphertext_bytes: ciphertext,
            shared_secret_bytes: SHARED_SECRET_BYTES,
            n: parameters.degree(),
            q: parameters.modulus(),
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
    Ok(named(set, encoding)?.into())
}

/// Returns whether engines on GPUs have kernels for a parameter set.
#[pyfunction]
pub(crate) fn has_kernels(set: &str) -> PyResult<bool> {
    let batch = (Operation::KeyPairs, 1, Keys::Each, Place::Pageable);
    let set = named(set, Encoding::MixedRadix.name())?;
    Ok(of_batch(set, &DeviceOptions::default(), ("", 1), batch).is_ok())
}
