//! Keys of CTRU-Prime and NTRU Prime.

use ctru_kem::{KEY_PAIR_SEED_BYTES, KeyPairSeed, Parameters, with_parameters};
use pyo3::types::PyDict;

use super::*;
use crate::sets::named;

classes! {
    ctru_kem, Parameters, with_parameters, SEED_BYTES;

    /// A public key. Keys with the same bytes are equal. It can be copied and pickled.
    class PublicKey {
        /// Reads a key. Raises `InvalidKey` if the bytes are not a key.
        #[staticmethod]
        #[pyo3(signature = (set, data, *, encoding = "mixed-radix"))]
        fn from_bytes(set: &str, data: &Bound<'_, PyAny>, encoding: &str) -> PyResult<Self> {
            Self::read(named(set, encoding)?, data)
        }

        /// Returns how to make the key again, for `pickle` and `copy`.
        fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Remade<'py>> {
            let (py, key) = (slf.py(), slf.get());
            let encoding = PyDict::new(py);
            encoding.set_item("encoding", key.encoding())?;
            // A pickle calls with positions only.
            let partial = calls::attribute(&calls::import(py, "functools")?, "partial")?;
            let read = calls::attribute(slf.get_type().as_any(), "from_bytes")?;
            let read = calls::call(&partial, (read,), Some(&encoding))?;
            Ok((read, (key.set(), key.to_bytes(py))))
        }

        /// The encoding of the public key: "mixed-radix" or "packed13".
        #[getter]
        fn encoding(&self) -> &'static str {
            self.set.encoding().name()
        }
    }

    /// A private key, with its public key. It cannot be copied or pickled.
    class PrivateKey(seed: Option<Zeroizing<Vec<u8>>> = None) {
        /// Generates a key with the system's randomness.
        #[staticmethod]
        #[pyo3(signature = (set, *, encoding = "mixed-radix"))]
        fn generate(py: Python<'_>, set: &str, encoding: &str) -> PyResult<Self> {
            let set = named(set, encoding)?;
            let mut seed = Zeroizing::new(vec![0; SEED_BYTES]);
            fill_randomly(&mut seed)?;
            Self::seeded(py, set, seed)
        }

        /// Generates the key that 32 bytes determine. The same bytes give an unrelated key for
        /// another set. A seed must serve one encoding only.
        #[staticmethod]
        #[pyo3(signature = (set, seed, *, encoding = "mixed-radix"))]
        fn from_seed(set: &str, seed: &Bound<'_, PyAny>, encoding: &str) -> PyResult<Self> {
            Self::seeded(seed.py(), named(set, encoding)?, copy_of(seed, "seed")?)
        }

        /// Generates the key that 64 bytes determine: the seed of the polynomials, then `z`. For
        /// NTRU Prime, these are 32 bytes. It is for test vectors only: with the same bytes,
        /// another set has a related key.
        #[staticmethod]
        #[pyo3(signature = (set, pair, *, encoding = "mixed-radix"))]
        fn from_vector_seeds(
            set: &str,
            pair: &Bound<'_, PyAny>,
            encoding: &str,
        ) -> PyResult<Self> {
            let set = named(set, encoding)?;
            let py = pair.py();
            let mut both = Secret::new(Zeroizing::new([0; KEY_PAIR_SEED_BYTES]));
            copy_to(pair, "pair", &mut both[..set.key_pair_seed_bytes()])?;
            let pair = both;
            let [seed, z] = pair.as_chunks::<SEED_BYTES>().0 else {
                unreachable!("a pair has two parts")
            };
            let key: Box<dyn Private<SEED_BYTES>> = with_parameters!(set, P => {
                let generate = ctru_kem::DecapsulationKey::<P>::generate_deterministic;
                py.detach(|| Box::new(generate(seed, z)))
            });
            Ok(Self { set, key, seed: None })
        }

        /// Reads a key. Raises `InvalidKey` if the bytes are not a key.
        ///
        /// The function does not check that the public key inside belongs to the private one.
        #[staticmethod]
        #[pyo3(signature = (set, data, *, encoding = "mixed-radix"))]
        fn from_bytes(set: &str, data: &Bound<'_, PyAny>, encoding: &str) -> PyResult<Self> {
            Self::read(named(set, encoding)?, data)
        }

        /// Returns the 32 bytes that determine the key, which are secret. Raises `ValueError` if
        /// they are not known, because the key was neither generated nor made from a seed.
        fn seed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
            let seed = self.seed.as_ref().ok_or_else(|| {
                value_error("the seed is not known: the key was not made from one")
            })?;
            Ok(PyBytes::new(py, seed))
        }

        /// The encoding of the public key: "mixed-radix" or "packed13".
        #[getter]
        fn encoding(&self) -> &'static str {
            self.set.encoding().name()
        }
    }
}

impl PrivateKey {
    /// Returns the parameter set and the bytes of the key, which are secret.
    pub(crate) fn parts(&self) -> (Parameters, &[u8]) {
        (self.set, self.key.bytes())
    }

    /// Generates the key that a seed determines.
    ///
    /// # Errors
    /// `ValueError` if the seed has a wrong length.
    fn seeded(py: Python<'_>, set: Parameters, seed: Zeroizing<Vec<u8>>) -> PyResult<Self> {
        let key: Box<dyn Private<SEED_BYTES>> = with_parameters!(set, P => {
            let pair = KeyPairSeed::<P>::from_bytes(&seed)
                .map_err(|error| value_error(format!("seed is not valid: {error}")))?;
            py.detach(|| Box::new(pair.decapsulation_key()))
        });
        Ok(Self { set, key, seed: Some(seed) })
    }
}
