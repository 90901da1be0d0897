//! Keys of CTRU-Prime.

use ctru_kem::{KEY_PAIR_SEED_BYTES, KeyPairSeed};
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

    class PrivateKey(seed: Option<Zeroizing<Vec<u8>>> = None) {
        #[staticmethod]
        #[pyo3(signature = (set, *, encoding = "mixed-radix"))]
        fn generate(py: Python<'_>, set: &str, encoding: &str) -> PyResult<Self> {
            let set = Set::new(set, encoding)?;
            let mut seed = Zeroizing::new(vec![0; SEED_BYTES]);
            fill_randomly(&mut seed)?;
            Self::seeded(py, set, seed)
        }

        #[staticmethod]
        #[pyo3(signature = (set, seed, *, encoding = "mixed-radix"))]
        fn from_seed(set: &str, seed: &Bound<'_, PyAny>, encoding: &str) -> PyResult<Self> {
            Self::seeded(seed.py(), Set::new(set, encoding)?, copy_of(seed, "seed")?)
        }

        #[staticmethod]
        #[pyo3(signature = (set, pair, *, encoding = "mixed-radix"))]
        fn from_vector_seeds(
            set: &str,
            pair: &Bound<'_, PyAny>,
            encoding: &str,
        ) -> PyResult<Self> {
            let set = Set::new(set, encoding)?;
            let (py, pair) = (pair.py(), secret::<KEY_PAIR_SEED_BYTES>(pair, "pair")?);
            let [seed, z] = pair.as_chunks::<SEED_BYTES>().0 else {
                unreachable!("a pair has two parts")
            };
            let key: Box<dyn Private<SEED_BYTES>> = with_set!(set, P => {
                let generate = ctru_kem::DecapsulationKey::<P>::generate_deterministic;
                py.detach(|| Box::new(generate(seed, z)))
            });
            Ok(Self { set, key, seed: None })
        }

        #[staticmethod]
        #[pyo3(signature = (set, data, *, encoding = "mixed-radix"))]
        fn from_bytes(set: &str, data: &Bound<'_, PyAny>, encoding: &str) -> PyResult<Self> {
            Self::read(Set::new(set, encoding)?, data)
        }

        fn seed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
            let seed = self.seed.as_ref().ok_or_else(|| {
                value_error("the seed is not known: the key was not made from one")
            })?;
            Ok(PyBytes::new(py, seed))
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

    /// Generates the key that a seed determines.
    ///
    /// # Errors
    /// `ValueError` if the seed has a wrong length.
    fn seeded(py: Python<'_>, set: Set, seed: Zeroizing<Vec<u8>>) -> PyResult<Self> {
        let key: Box<dyn Private<SEED_BYTES>> = with_set!(set, P => {
            let pair = KeyPairSeed::<P>::from_bytes(&seed)
                .map_err(|error| value_error(format!("seed is not valid: {error}")))?;
            py.detach(|| Box::new(pair.decapsulation_key()))
        });
        Ok(Self { set, key, seed: Some(seed) })
    }
}
