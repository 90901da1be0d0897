//! Keys of CTRU-Prime with X25519. A private key is the 32 bytes from which it is generated.

use ctru_hybrid::{COIN_BYTES, DECAPSULATION_KEY_BYTES, Set, with_hybrid};

use super::*;
use crate::sets::hybrid_named;

classes! {
    ctru_hybrid, Set, with_hybrid, COIN_BYTES;

    /// A public key of CTRU-Prime with X25519. Keys with the same bytes are equal. It can be copied
    /// and pickled.
    class HybridPublicKey {
        /// Reads a key. Raises `InvalidKey` if the bytes are not a key.
        #[staticmethod]
        fn from_bytes(set: &str, data: &Bound<'_, PyAny>) -> PyResult<Self> {
            Self::read(hybrid_named(set)?, data)
        }

        /// Returns how to make the key again, for `pickle` and `copy`.
        fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Remade<'py>> {
            let key = slf.get();
            let read = calls::attribute(slf.get_type().as_any(), "from_bytes")?;
            Ok((read, (key.set(), key.to_bytes(slf.py()))))
        }
    }

    /// A private key of CTRU-Prime with X25519, with its public key. It cannot be copied or
    /// pickled.
    class HybridPrivateKey() {
        /// Generates a key with the system's randomness.
        #[staticmethod]
        fn generate(py: Python<'_>, set: &str) -> PyResult<Self> {
            let set = hybrid_named(set)?;
            let bytes = random::<DECAPSULATION_KEY_BYTES>()?;
            let key: Box<dyn Private<COIN_BYTES>> = with_hybrid!(set, P => {
                py.detach(|| {
                    let generate = ctru_hybrid::DecapsulationKey::<P>::generate_deterministic;
                    Box::new(generate(&bytes))
                })
            });
            Ok(Self { set, key })
        }

        /// Reads a key, 32 bytes, from which both private keys are generated. The same bytes give
        /// an unrelated key for another set. Raises `InvalidKey` if there is another number of
        /// bytes.
        #[staticmethod]
        fn from_bytes(set: &str, data: &Bound<'_, PyAny>) -> PyResult<Self> {
            Self::read(hybrid_named(set)?, data)
        }
    }
}
