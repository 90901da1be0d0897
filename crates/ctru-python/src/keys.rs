//! Keys for one operation at a time.

use std::fmt;

use ctru_kem::{
    Ciphertext, DecapsulationKey, EncapsulationKey, ParameterSet, SEED_BYTES, SharedSecret,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use crate::arrays::{copy_of, copy_to, with_bytes};
use crate::errors::{InvalidKey, type_error, value_error};
use crate::seeds::fill_randomly;
use crate::sets::{Set, with_set};

/// Bytes of the seed of a key pair: the seed of the polynomials, then `z`.
const KEY_SEED_BYTES: usize = 2 * SEED_BYTES;

/// The seed of a key pair, in a box, because a value that is moved leaves a copy behind, which
/// nothing wipes.
type KeySeed = Box<Zeroizing<[u8; KEY_SEED_BYTES]>>;

/// A public key of any parameter set.
trait Public: Send + Sync {
    fn bytes(&self) -> &[u8];
    /// Encapsulates once. Returns the ciphertext and the shared secret.
    fn encapsulate(&self, seed: &[u8; SEED_BYTES]) -> (Vec<u8>, SharedSecret);
}

/// A private key of any parameter set.
trait Private: Send + Sync {
    fn bytes(&self) -> &[u8];
    fn public(&self) -> Box<dyn Public>;
    /// Decapsulates a ciphertext. Copies it first, because another thread can change it when the
    /// GIL is released.
    ///
    /// # Errors
    /// `ValueError` if the ciphertext has a wrong length.
    fn decapsulate(&self, py: Python<'_>, ciphertext: &[u8]) -> PyResult<SharedSecret>;
}

impl<P: ParameterSet> Public for EncapsulationKey<P> {
    fn bytes(&self) -> &[u8] {
        self.as_ref()
    }

    fn encapsulate(&self, seed: &[u8; SEED_BYTES]) -> (Vec<u8>, SharedSecret) {
        let (ciphertext, secret) = self.encapsulate_deterministic(seed);
        (ciphertext.as_ref().to_vec(), secret)
    }
}

impl<P: ParameterSet> Private for DecapsulationKey<P> {
    fn bytes(&self) -> &[u8] {
        self.as_ref()
    }

    fn public(&self) -> Box<dyn Public> {
        Box::new(self.encapsulation_key())
    }

    fn decapsulate(&self, py: Python<'_>, ciphertext: &[u8]) -> PyResult<SharedSecret> {
        let ciphertext = Ciphertext::from_bytes(ciphertext)
            .map_err(|error| value_error(format!("ciphertext is not valid: {error}")))?;
        Ok(py.detach(|| Self::decapsulate(self, &ciphertext)))
    }
}

/// Returns the exception for bytes that are not a key.
fn invalid(error: impl fmt::Display) -> PyErr {
    InvalidKey::new_err(format!("data is not a key: {error}"))
}

/// A public key.
#[pyclass(frozen, module = "ctru")]
pub(crate) struct PublicKey {
    set: Set,
    key: Box<dyn Public>,
}

/// A private key, with its public key.
#[pyclass(frozen, module = "ctru")]
pub(crate) struct PrivateKey {
    set: Set,
    key: Box<dyn Private>,
    seed: Option<KeySeed>,
}

impl PublicKey {
    /// Returns the parameter set and the bytes of the key.
    pub(crate) fn parts(&self) -> (Set, &[u8]) {
        (self.set, self.key.bytes())
    }
}

#[pymethods]
impl PublicKey {
    #[staticmethod]
    #[pyo3(signature = (set, data, *, encoding = "mixed-radix"))]
    fn from_bytes(set: &str, data: &Bound<'_, PyAny>, encoding: &str) -> PyResult<Self> {
        let set = Set::new(set, encoding)?;
        let data = copy_of(data, "data")?;
        let key: Box<dyn Public> = with_set!(set, P => {
            Box::new(EncapsulationKey::<P>::from_bytes(&data).map_err(invalid)?)
        });
        Ok(Self { set, key })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.key.bytes())
    }

    fn encapsulate<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let mut seed = Zeroizing::new([0; SEED_BYTES]);
        fill_randomly(&mut *seed)?;
        let (ciphertext, secret) = py.detach(|| self.key.encapsulate(&seed));
        Ok((PyBytes::new(py, secret.as_bytes()), PyBytes::new(py, &ciphertext)))
    }

    #[getter]
    fn set(&self) -> &'static str {
        self.set.name()
    }

    #[getter]
    fn encoding(&self) -> &'static str {
        self.set.encoding()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.parts().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let (set, bytes) = self.parts();
        let start: String = bytes[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let (name, encoding) = (set.name(), set.encoding());
        format!("<ctru.PublicKey set='{name}' encoding='{encoding}' {start}..>")
    }
}

impl PrivateKey {
    /// Returns the parameter set and the bytes of the key, which are secret.
    pub(crate) fn parts(&self) -> (Set, &[u8]) {
        (self.set, self.key.bytes())
    }

    /// Generates the key that a seed determines.
    fn from_seed(py: Python<'_>, set: Set, seed: KeySeed) -> Self {
        let (polynomials, z) = seed.split_at(SEED_BYTES);
        let polynomials = polynomials.try_into().expect("half of the seed");
        let z = z.try_into().expect("half of the seed");
        let key: Box<dyn Private> = with_set!(set, P => {
            py.detach(|| Box::new(DecapsulationKey::<P>::generate_deterministic(polynomials, z)))
        });
        Self { set, key, seed: Some(seed) }
    }
}

#[pymethods]
impl PrivateKey {
    #[staticmethod]
    #[pyo3(signature = (set, *, encoding = "mixed-radix"))]
    fn generate(py: Python<'_>, set: &str, encoding: &str) -> PyResult<Self> {
        let set = Set::new(set, encoding)?;
        let mut seed = KeySeed::new(Zeroizing::new([0; KEY_SEED_BYTES]));
        fill_randomly(&mut **seed)?;
        Ok(Self::from_seed(py, set, seed))
    }

    #[staticmethod]
    #[pyo3(signature = (set, seed, *, encoding = "mixed-radix"))]
    fn from_seed_bytes(set: &str, seed: &Bound<'_, PyAny>, encoding: &str) -> PyResult<Self> {
        let set = Set::new(set, encoding)?;
        let mut copy = KeySeed::new(Zeroizing::new([0; KEY_SEED_BYTES]));
        copy_to(seed, "seed", &mut **copy)?;
        Ok(Self::from_seed(seed.py(), set, copy))
    }

    #[staticmethod]
    #[pyo3(signature = (set, data, *, encoding = "mixed-radix"))]
    fn from_bytes(set: &str, data: &Bound<'_, PyAny>, encoding: &str) -> PyResult<Self> {
        let set = Set::new(set, encoding)?;
        let data = copy_of(data, "data")?;
        let key: Box<dyn Private> = with_set!(set, P => {
            Box::new(DecapsulationKey::<P>::from_bytes(&data).map_err(invalid)?)
        });
        Ok(Self { set, key, seed: None })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.key.bytes())
    }

    fn seed_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let seed = self
            .seed
            .as_ref()
            .ok_or_else(|| value_error("the seed is not known: the key was read from its bytes"))?;
        Ok(PyBytes::new(py, &***seed))
    }

    fn public_key(&self) -> PublicKey {
        PublicKey { set: self.set, key: self.key.public() }
    }

    fn decapsulate<'py>(
        &self,
        py: Python<'py>,
        ciphertext: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let secret = with_bytes(ciphertext, "ciphertext", |ciphertext| {
            self.key.decapsulate(py, ciphertext)
        })??;
        Ok(PyBytes::new(py, secret.as_bytes()))
    }

    #[getter]
    fn set(&self) -> &'static str {
        self.set.name()
    }

    #[getter]
    fn encoding(&self) -> &'static str {
        self.set.encoding()
    }

    fn __repr__(&self) -> String {
        format!("<ctru.PrivateKey set='{}' encoding='{}'>", self.set.name(), self.set.encoding())
    }

    fn __reduce_ex__(&self, _protocol: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Err(type_error("a private key cannot be pickled; store to_bytes() where it is safe"))
    }

    fn __copy__(&self) -> PyResult<Py<PyAny>> {
        Err(type_error("a private key cannot be copied"))
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Err(type_error("a private key cannot be copied"))
    }
}
