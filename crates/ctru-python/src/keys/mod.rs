//! Keys for one operation at a time.
//!
//! There are two kinds of keys: those of CTRU-Prime (`plain`), and those of CTRU-Prime with X25519
//! (`hybrid`). Their crates use the same names, so one macro writes the classes of both.

mod hybrid;
mod plain;

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use ctru_kem::{SEED_BYTES, SharedSecret};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use crate::arrays::{copy_of, copy_to, with_bytes};
use crate::calls;
use crate::errors::{InvalidKey, type_error, value_error};
use crate::seeds::fill_randomly;
use crate::sets::Shown;

pub(crate) use hybrid::{HybridPrivateKey, HybridPublicKey};
pub(crate) use plain::{PrivateKey, PublicKey};

/// A shared secret and its ciphertext, as Python gets them.
type Sent<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// A function that makes a public key, and its arguments: the parameter set and the bytes.
type Remade<'py> = (Bound<'py, PyAny>, (&'static str, Bound<'py, PyBytes>));

/// A public key of any parameter set. `COINS` bytes determine an encapsulation.
trait Public<const COINS: usize>: Send + Sync {
    fn bytes(&self) -> &[u8];
    /// Encapsulates once. Returns the ciphertext and the shared secret.
    fn encapsulate(&self, coins: &[u8; COINS]) -> (Vec<u8>, SharedSecret);
}

/// A private key of any parameter set. `COINS` bytes determine an encapsulation to its public key.
trait Private<const COINS: usize>: Send + Sync {
    fn bytes(&self) -> &[u8];
    fn public(&self) -> Box<dyn Public<COINS>>;
    /// Decapsulates a ciphertext. Copies it first, because another thread can change it when the
    /// GIL is released.
    ///
    /// # Errors
    /// `ValueError` if the ciphertext has a wrong length.
    fn decapsulate(&self, py: Python<'_>, ciphertext: &[u8]) -> PyResult<SharedSecret>;
}

/// Secret bytes from which a key comes, in a box, because a value that is moved leaves a copy
/// behind, which nothing wipes.
type Secret<const BYTES: usize> = Box<Zeroizing<[u8; BYTES]>>;

/// Returns secret bytes of the operating system.
fn random<const BYTES: usize>() -> PyResult<Secret<BYTES>> {
    let mut bytes = Secret::new(Zeroizing::new([0; BYTES]));
    fill_randomly(&mut **bytes)?;
    Ok(bytes)
}

/// Encapsulates to a key without the GIL.
fn encapsulate<'py, const COINS: usize>(
    py: Python<'py>,
    key: &dyn Public<COINS>,
    coins: &[u8; COINS],
) -> Sent<'py> {
    let (ciphertext, secret) = py.detach(|| key.encapsulate(coins));
    (PyBytes::new(py, secret.as_bytes()), PyBytes::new(py, &ciphertext))
}

/// Returns the exception for bytes that are not a key.
fn invalid(error: impl fmt::Display) -> PyErr {
    InvalidKey::new_err(format!("data is not a key: {error}"))
}

/// Writes the classes of a kind of keys, in a module that uses all names of this one.
///
/// `$keys` is the crate of the keys, `$set` the type that names a parameter set, and `$with_set`
/// the macro that makes a type of it. `$coins` is the number of bytes that determine an
/// encapsulation. A private key has the field `$field` in addition, which is `$unknown` if the key
/// was read from its bytes. The blocks have the methods that differ between the kinds.
macro_rules! classes {
    (
        $keys:ident, $set:ty, $with_set:ident, $coins:expr;
        $(#[$about_public:meta])*
        class $public:ident { $($of_public:tt)* }
        $(#[$about_private:meta])*
        class $private:ident ($($field:ident: $type:ty = $unknown:expr)?) { $($of_private:tt)* }
    ) => {
        impl<P: $keys::ParameterSet> Public<{ $coins }> for $keys::EncapsulationKey<P> {
            fn bytes(&self) -> &[u8] {
                self.as_ref()
            }

            fn encapsulate(&self, coins: &[u8; $coins]) -> (Vec<u8>, SharedSecret) {
                let (ciphertext, secret) = self.encapsulate_deterministic(coins);
                (ciphertext.as_ref().to_vec(), secret)
            }
        }

        impl<P: $keys::ParameterSet> Private<{ $coins }> for $keys::DecapsulationKey<P> {
            fn bytes(&self) -> &[u8] {
                self.as_ref()
            }

            fn public(&self) -> Box<dyn Public<{ $coins }>> {
                Box::new(self.encapsulation_key())
            }

            fn decapsulate(&self, py: Python<'_>, ciphertext: &[u8]) -> PyResult<SharedSecret> {
                let ciphertext = $keys::Ciphertext::from_bytes(ciphertext)
                    .map_err(|error| value_error(format!("ciphertext is not valid: {error}")))?;
                Ok(py.detach(|| Self::decapsulate(self, &ciphertext)))
            }
        }

        $(#[$about_public])*
        #[pyclass(frozen, module = "ctru")]
        pub(crate) struct $public {
            set: $set,
            key: Box<dyn Public<{ $coins }>>,
        }

        $(#[$about_private])*
        #[pyclass(frozen, module = "ctru")]
        pub(crate) struct $private {
            set: $set,
            key: Box<dyn Private<{ $coins }>>,
            $($field: $type,)?
        }

        impl $public {
            /// Returns the parameter set and the bytes of the key.
            pub(crate) fn parts(&self) -> ($set, &[u8]) {
                (self.set, self.key.bytes())
            }

            /// Reads a key.
            fn read(set: $set, data: &Bound<'_, PyAny>) -> PyResult<Self> {
                let data = copy_of(data, "data")?;
                let key: Box<dyn Public<{ $coins }>> = $with_set!(set, P => {
                    Box::new($keys::EncapsulationKey::<P>::from_bytes(&data).map_err(invalid)?)
                });
                Ok(Self { set, key })
            }
        }

        #[pymethods]
        impl $public {
            $($of_public)*

            /// Returns the encoded key.
            fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, self.key.bytes())
            }

            /// Encapsulates with the system's randomness. Returns the shared secret, which has 32
            /// bytes, and the ciphertext.
            fn encapsulate<'py>(&self, py: Python<'py>) -> PyResult<Sent<'py>> {
                let mut coins = Zeroizing::new([0; $coins]);
                fill_randomly(&mut *coins)?;
                Ok(encapsulate(py, &*self.key, &coins))
            }

            /// Encapsulates with bytes in place of randomness, for test vectors: 32 for CTRU-Prime
            /// alone, 64 with X25519. They must be uniform and secret, and used once.
            fn encapsulate_deterministic<'py>(
                &self,
                coins: &Bound<'py, PyAny>,
            ) -> PyResult<Sent<'py>> {
                let mut copy = Zeroizing::new([0; $coins]);
                copy_to(coins, "coins", &mut *copy)?;
                Ok(encapsulate(coins.py(), &*self.key, &copy))
            }

            /// The name of the parameter set, such as "761".
            #[getter]
            fn set(&self) -> &'static str {
                self.set.id()
            }

            fn __eq__(&self, other: &Self) -> bool {
                self.parts() == other.parts()
            }

            fn __hash__(&self) -> u64 {
                let mut hasher = DefaultHasher::new();
                self.parts().hash(&mut hasher);
                hasher.finish()
            }

            fn __repr__(&self) -> String {
                let (set, bytes) = self.parts();
                let start: String = bytes[..8].iter().map(|byte| format!("{byte:02x}")).collect();
                format!(concat!("<ctru.", stringify!($public), " {} {}..>"), set.arguments(), start)
            }
        }

        impl $private {
            /// Reads a key.
            fn read(set: $set, data: &Bound<'_, PyAny>) -> PyResult<Self> {
                let py = data.py();
                let data = copy_of(data, "data")?;
                // A key can be a seed, from which this generates.
                let key: Box<dyn Private<{ $coins }>> = $with_set!(set, P => {
                    let read = || $keys::DecapsulationKey::<P>::from_bytes(&data).map(Box::new);
                    py.detach(read).map_err(invalid)?
                });
                Ok(Self { set, key, $($field: $unknown)? })
            }
        }

        #[pymethods]
        impl $private {
            $($of_private)*

            /// Returns the encoded key, which is secret.
            fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, self.key.bytes())
            }

            /// Returns the public key.
            fn public_key(&self) -> $public {
                $public { set: self.set, key: self.key.public() }
            }

            /// Returns the shared secret of a ciphertext.
            ///
            /// If encapsulation to this key did not make the ciphertext, the result is a secret
            /// that nobody else knows.
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

            /// The name of the parameter set, such as "761".
            #[getter]
            fn set(&self) -> &'static str {
                self.set.id()
            }

            fn __repr__(&self) -> String {
                format!(concat!("<ctru.", stringify!($private), " {}>"), self.set.arguments())
            }

            fn __reduce_ex__(&self, _protocol: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                let message = "a private key cannot be pickled; store to_bytes() where it is safe";
                Err(type_error(message))
            }

            fn __copy__(&self) -> PyResult<Py<PyAny>> {
                Err(type_error("a private key cannot be copied"))
            }

            fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                Err(type_error("a private key cannot be copied"))
            }
        }
    };
}
use classes;
