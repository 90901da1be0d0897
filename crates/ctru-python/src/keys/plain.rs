//! Keys of CTRU-Prime.

use ctru_kem::KEY_PAIR_SEED_BYTES;
use pyo3::types::PyDict;

use super::*;
use crate::sets::{Set, with_set};

classes! {
    ctru_kem, Set, with_set, SEED_BYTES;

    class PublicKey {
        #[staticmethod]
        #[pyo3(signature = (set, data, *, encoding = "mixed-radix"))]
        fn from_bytes(set: &str, data: &Bound<'_, PyAny>, encoding: &str) -> PyResult<Self> {
            Self::read(Set::new(set, encoding)?, data)
        }

        /// Returns how to make the key again, for `pickle` and `copy`.
        fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Remade<'py>> {
            let (py, key) = (slf.py(), slf.get());
            let encoding = PyDict::new(py);
            encoding.set_item("encoding", key.encoding())?;
            // A pickle calls with positions only.
            let partial = py.import("functools")?.getattr("partial")?;
            let read = partial.call((slf.get_type().getattr("from_bytes")?,), Some(&encoding))?;
            Ok((read, (key.set(), key.to_bytes(py))))
        }

        #[getter]
        fn encoding(&self) -> &'static str {
            self.set.encoding()
        }
    }

    class PrivateKey(seed: Option<Secret<KEY_PAIR_SEED_BYTES>> = None) {
        #[staticmethod]
        #[pyo3(signature = (set, *, encoding = "mixed-radix"))]
        fn generate(py: Python<'_>, set: &str, encoding: &str) -> PyResult<Self> {
            Ok(Self::from_seed(py, Set::new(set, encoding)?, random()?))
        }

        #[staticmethod]
        #[pyo3(signature = (set, seed, *, encoding = "mixed-radix"))]
        fn from_seed_bytes(set: &str, seed: &Bound<'_, PyAny>, encoding: &str) -> PyResult<Self> {
            Ok(Self::from_seed(seed.py(), Set::new(set, encoding)?, secret(seed, "seed")?))
        }

        #[staticmethod]
        #[pyo3(signature = (set, data, *, encoding = "mixed-radix"))]
        fn from_bytes(set: &str, data: &Bound<'_, PyAny>, encoding: &str) -> PyResult<Self> {
            Self::read(Set::new(set, encoding)?, data)
        }

        fn seed_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
            let seed = self.seed.as_ref().ok_or_else(|| {
                value_error("the seed is not known: the key was read from its bytes")
            })?;
            Ok(PyBytes::new(py, &***seed))
        }

        #[getter]
        fn encoding(&self) -> &'static str {
            self.set.encoding()
        }
    }
}

impl PrivateKey {
    /// Returns the parameter set and the bytes of the key, which are secret.
    pub(crate) fn parts(&self) -> (Set, &[u8]) {
        (self.set, self.key.bytes())
    }

    /// Generates the key that a seed determines: the seed of the polynomials, then `z`.
    fn from_seed(py: Python<'_>, set: Set, seed: Secret<KEY_PAIR_SEED_BYTES>) -> Self {
        let [polynomials, z] = seed.as_chunks::<SEED_BYTES>().0 else {
            unreachable!("a seed has two parts")
        };
        let key: Box<dyn Private<SEED_BYTES>> = with_set!(set, P => {
            py.detach(|| {
                let generate = ctru_kem::DecapsulationKey::<P>::generate_deterministic;
                Box::new(generate(polynomials, z))
            })
        });
        Self { set, key, seed: Some(seed) }
    }
}
