//! Keys, ciphertexts and shared secrets as types over byte arrays.
//!
//! The constructors refuse malformed keys, so a value of a key type is always well formed. The
//! names follow the crate `kem`. The methods forward to functions of the parameter set, which are
//! compiled in this crate.

use core::fmt;
use core::hash::{Hash, Hasher};

use ctru_math::array::Array;
use rand_core::{CryptoRng, TryCryptoRng};
use subtle::{Choice, ConstantTimeEq};
#[cfg(feature = "serde")]
use zeroize::Zeroizing;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::bytes::{self, Transparent};
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidLength};
use crate::hash::{SEED_BYTES, SHARED_SECRET_BYTES};
use crate::params::{CiphertextBytes, DecapsulationKeyBytes, EncapsulationKeyBytes, ParameterSet};
use crate::scheme::Scheme;
use crate::source::with_source;
use crate::wipe::wipe;

/// An encapsulation key: the encoding of the polynomial `h`, which is `g / f` for CTRU-Prime and
/// `g / (3 f)` for NTRU Prime. It is public.
#[repr(transparent)]
pub struct EncapsulationKey<P: ParameterSet> {
    bytes: EncapsulationKeyBytes<P>,
}

// SAFETY: `EncapsulationKey` is declared as `repr(transparent)` over this array. Operations on
// bytes that are not a key may panic, but they are memory-safe.
#[allow(unsafe_code)]
unsafe impl<P: ParameterSet> Transparent for EncapsulationKey<P> {
    type Bytes = EncapsulationKeyBytes<P>;
}

/// A decapsulation key: the packed secret polynomial `f` (and `1/g` for NTRU Prime), the
/// encapsulation key, and the secret of implicit rejection. Wiped when dropped.
///
/// Drop a key to wipe it. The type does not implement [`Zeroize`], because a wiped key that is
/// still a value could be used: whatever it held then, everybody could compute what it
/// decapsulates.
///
/// ```compile_fail
/// # use ctru_kem::{CtruPrime761, DecapsulationKey};
/// let mut key = DecapsulationKey::<CtruPrime761>::placeholder();
/// zeroize::Zeroize::zeroize(&mut key);
/// ```
#[repr(transparent)]
pub struct DecapsulationKey<P: ParameterSet> {
    bytes: DecapsulationKeyBytes<P>,
}

// SAFETY: `DecapsulationKey` is declared as `repr(transparent)` over this array. Operations on
// bytes that are not a key may panic, but they are memory-safe.
#[allow(unsafe_code)]
unsafe impl<P: ParameterSet> Transparent for DecapsulationKey<P> {
    type Bytes = DecapsulationKeyBytes<P>;
}

/// A ciphertext. Every byte string of the right length is a ciphertext. If encapsulation did not
/// make it, decapsulation returns a secret that nobody else knows.
#[repr(transparent)]
pub struct Ciphertext<P: ParameterSet> {
    bytes: CiphertextBytes<P>,
}

// SAFETY: `Ciphertext` is declared as `repr(transparent)` over this array, and any bytes are a
// ciphertext.
#[allow(unsafe_code)]
unsafe impl<P: ParameterSet> Transparent for Ciphertext<P> {
    type Bytes = CiphertextBytes<P>;
}

/// The secret that both sides share, 32 bytes. Wiped when dropped.
#[derive(Clone)]
#[repr(transparent)]
pub struct SharedSecret {
    pub(crate) bytes: [u8; SHARED_SECRET_BYTES],
}

// SAFETY: `SharedSecret` is declared as `repr(transparent)` over this array, and any bytes are a
// secret.
#[allow(unsafe_code)]
unsafe impl Transparent for SharedSecret {
    type Bytes = [u8; SHARED_SECRET_BYTES];
}

/// Returns a copy of the bytes as an array.
///
/// # Errors
/// [`InvalidLength`] if the number of bytes differs from the length of the array.
fn copied<A: Array<u8>>(bytes: &[u8]) -> Result<A, InvalidLength> {
    if bytes.len() == A::LEN {
        let mut array = A::zeroed();
        array.as_mut().copy_from_slice(bytes);
        Ok(array)
    } else {
        Err(InvalidLength { expected: A::LEN, actual: bytes.len() })
    }
}

impl<P: ParameterSet> EncapsulationKey<P> {
    /// Reads a key from its [`ParameterSet::ENCAPSULATION_KEY_BYTES`] bytes.
    ///
    /// # Errors
    /// [`InvalidEncapsulationKey`] if the length is wrong. For CTRU-Prime, also if the bytes are
    /// not the encoding of a polynomial, or the polynomial is 0.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidEncapsulationKey> {
        let key = Self { bytes: copied(bytes)? };
        P::check_encapsulation_key(key.bytes.as_ref())?;
        Ok(key)
    }

    /// Returns the encoded key, [`ParameterSet::ENCAPSULATION_KEY_BYTES`] bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Returns the encoded key as an array.
    #[must_use]
    pub fn as_array(&self) -> &EncapsulationKeyBytes<P> {
        &self.bytes
    }

    /// Returns the key whose bytes are all zero. Output slices hold it before an engine fills them.
    ///
    /// Single operations accept it, but the shared secrets that are encapsulated to it are no
    /// secrets. [`from_bytes`](Self::from_bytes) refuses its bytes for CTRU-Prime, where `h = 0`,
    /// and accepts them for NTRU Prime, where all bytes are a key.
    #[must_use]
    pub fn placeholder() -> Self {
        let mut key = Self { bytes: Array::zeroed() };
        P::write_encapsulation_placeholder(key.bytes.as_mut());
        key
    }
}

impl<P: ParameterSet> DecapsulationKey<P> {
    /// Reads a key from its [`ParameterSet::DECAPSULATION_KEY_BYTES`] bytes.
    ///
    /// The function does not check that the encapsulation key inside belongs to the secret
    /// polynomials; [`check`](Self::check) does. The time depends only on the result and on the
    /// encapsulation key.
    ///
    /// # Errors
    /// [`InvalidDecapsulationKey`] if the length is wrong, if key generation cannot make a secret
    /// polynomial, or if the encapsulation key is invalid or, for NTRU Prime, its hash is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidDecapsulationKey> {
        let key = Self { bytes: copied(bytes)? };
        P::check_decapsulation_key(key.bytes.as_ref())?;
        Ok(key)
    }

    /// Checks that the encapsulation key belongs to the secret polynomials. For CTRU-Prime, `h f`
    /// must be a polynomial `g` that key generation can sample. For NTRU Prime, `3 f h` must be
    /// small, and the inverse of `1/g` modulo 3.
    ///
    /// The check takes one or two products of polynomials. Its time depends only on the result and
    /// on the encapsulation key. The secret of implicit rejection needs no check, because it can be
    /// any bytes.
    ///
    /// # Errors
    /// [`InvalidDecapsulationKey::Inconsistent`] if they do not belong together. The
    /// [placeholder](Self::placeholder) gives this error.
    pub fn check(&self) -> Result<(), InvalidDecapsulationKey> {
        P::check_consistency(self.bytes.as_ref())
    }

    /// [Checks](Self::check) the key, encapsulates to its encapsulation key with the randomness of
    /// `seed`, and decapsulates.
    ///
    /// Some standards require this pairwise test after key generation. It finds faults of the
    /// computation. The seed need not be secret, because the test discards the shared secrets.
    ///
    /// ```
    /// # use ctru_kem::{CtruPrime761, DecapsulationKey};
    /// let key = DecapsulationKey::<CtruPrime761>::generate_deterministic(&[1; 32], &[2; 32]);
    /// key.pairwise_test(&[3; 32])?;
    /// # Ok::<(), ctru_kem::InvalidDecapsulationKey>(())
    /// ```
    ///
    /// # Errors
    /// [`InvalidDecapsulationKey::Inconsistent`] as for [`check`](Self::check),
    /// [`InvalidDecapsulationKey::PairwiseTest`] if the two secrets differ.
    pub fn pairwise_test(&self, seed: &[u8; SEED_BYTES]) -> Result<(), InvalidDecapsulationKey> {
        P::pairwise_test(self.bytes.as_ref(), seed)
    }

    /// Returns the encoded key, [`ParameterSet::DECAPSULATION_KEY_BYTES`] bytes. They are secret.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Returns the encoded key as an array. The bytes are secret.
    #[must_use]
    pub fn as_array(&self) -> &DecapsulationKeyBytes<P> {
        &self.bytes
    }

    /// Returns a key that everybody knows: `f = 1`, `h = 0` and `z = 0` for CTRU-Prime. Engines
    /// fill slices that the caller has allocated, so the slices must hold keys before.
    ///
    /// Single operations accept the placeholder, but [`from_bytes`](Self::from_bytes) refuses its
    /// bytes and [`check`](Self::check) returns an error.
    ///
    /// The type does not implement `Default`, because a default could put a known key where the
    /// caller expects a secret one.
    #[must_use]
    pub fn placeholder() -> Self {
        let mut key = Self { bytes: Array::zeroed() };
        P::write_decapsulation_placeholder(key.bytes.as_mut());
        key
    }

    /// Returns the encapsulation key that this key contains.
    #[must_use]
    pub fn encapsulation_key(&self) -> EncapsulationKey<P> {
        self.public().clone()
    }

    /// Returns the encapsulation key that this key contains, where it is.
    pub(crate) fn public(&self) -> &EncapsulationKey<P> {
        let bytes = &self.bytes.as_ref()[P::Scheme::SECRET_BYTES..][..P::ENCAPSULATION_KEY_BYTES];
        &bytes::values(bytes).expect("the bytes of one key")[0]
    }

    /// Generates a key with random bytes of `rng`. [`encapsulation_key`](Self::encapsulation_key)
    /// returns its encapsulation key.
    ///
    /// CTRU-Prime takes 32 bytes twice: the seed, and `z`. NTRU Prime takes the words of each
    /// polynomial, and then the secret of implicit rejection, each in one request, as the submitted
    /// program does.
    #[must_use]
    pub fn generate_from_rng<G: CryptoRng + ?Sized>(rng: &mut G) -> Self {
        let Ok(key) = Self::try_generate_from_rng(rng);
        key
    }

    /// Generates a key with random bytes of a generator that can fail, as
    /// [`generate_from_rng`](Self::generate_from_rng) does.
    ///
    /// # Errors
    /// The error of the generator.
    pub fn try_generate_from_rng<G: TryCryptoRng + ?Sized>(rng: &mut G) -> Result<Self, G::Error> {
        let mut key = Self { bytes: Array::zeroed() };
        with_source(rng, |source| P::generate_from(source, key.bytes.as_mut()))?;
        Ok(key)
    }

    /// Generates a key with the operating system's randomness.
    ///
    /// # Errors
    /// [`getrandom::Error`] if the system provides no randomness.
    #[cfg(feature = "getrandom")]
    pub fn try_generate() -> Result<Self, getrandom::Error> {
        Self::try_generate_from_rng(&mut getrandom::SysRng)
    }

    /// Generates the key that `seed` and `z` determine (CTRU-Prime: paper, Algorithm 4). `z` is the
    /// secret of implicit rejection. NTRU Prime takes that from `seed`, too, and does not use `z`.
    ///
    /// Both must be uniform and secret, and each must be used for one key only. Those of CTRU-Prime
    /// must not serve two parameter sets or two encodings: the set is not part of what is hashed,
    /// so the same seed gives related keys for two sets. A [`KeyPairSeed`](crate::KeyPairSeed) is
    /// bound to its set.
    #[must_use]
    pub fn generate_deterministic(seed: &[u8; SEED_BYTES], z: &[u8; SEED_BYTES]) -> Self {
        let mut key = Self { bytes: Array::zeroed() };
        P::generate(seed, z, key.bytes.as_mut());
        key
    }
}

impl<P: ParameterSet> Ciphertext<P> {
    /// Reads a ciphertext from its [`ParameterSet::CIPHERTEXT_BYTES`] bytes.
    ///
    /// # Errors
    /// [`InvalidLength`] if the number of bytes differs. There is no other error: decapsulation
    /// rejects a wrong ciphertext implicitly.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidLength> {
        Ok(Self { bytes: copied(bytes)? })
    }

    /// Returns the ciphertext's [`ParameterSet::CIPHERTEXT_BYTES`] bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Returns the ciphertext's bytes as an array.
    #[must_use]
    pub fn as_array(&self) -> &CiphertextBytes<P> {
        &self.bytes
    }

    pub(crate) fn as_mut_bytes(&mut self) -> &mut [u8] {
        self.bytes.as_mut()
    }
}

impl<P: ParameterSet> Default for Ciphertext<P> {
    /// Returns a ciphertext of zeros. Output slices hold it before an engine fills them.
    fn default() -> Self {
        Self { bytes: Array::zeroed() }
    }
}

impl Default for SharedSecret {
    /// Returns the placeholder, 32 zero bytes. It is *not a secret*. Output slices hold it before
    /// an engine fills them, and still hold it after a batch that failed; see
    /// [`is_placeholder`](Self::is_placeholder).
    fn default() -> Self {
        Self { bytes: [0; SHARED_SECRET_BYTES] }
    }
}

impl SharedSecret {
    /// Returns the secret with these bytes, which another program or a protocol has kept.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; SHARED_SECRET_BYTES]) -> Self {
        Self { bytes: *bytes }
    }

    /// Returns whether this is the placeholder, 32 zero bytes. If so, no operation has written the
    /// secret: either none has run, or its error was ignored.
    #[must_use]
    pub fn is_placeholder(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the 32 bytes of the secret.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; SHARED_SECRET_BYTES] {
        &self.bytes
    }
}

impl Zeroize for SharedSecret {
    fn zeroize(&mut self) {
        self.bytes.zeroize();
    }
}

impl Drop for SharedSecret {
    fn drop(&mut self) {
        self.zeroize();
    }
}

impl ZeroizeOnDrop for SharedSecret {}

impl AsRef<[u8]> for SharedSecret {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret(..)")
    }
}

impl ConstantTimeEq for SharedSecret {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.bytes.ct_eq(&other.bytes)
    }
}

impl PartialEq for SharedSecret {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}
impl Eq for SharedSecret {}

impl<P: ParameterSet> Drop for DecapsulationKey<P> {
    fn drop(&mut self) {
        wipe(self.bytes.as_mut(), 0);
    }
}

/// Implements the traits of the types with secrets: decapsulation keys and their seeds.
macro_rules! secret_bytes_type {
    ($name:ident) => {
        impl<P: ParameterSet> ZeroizeOnDrop for $name<P> {}

        impl<P: ParameterSet> fmt::Debug for $name<P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "<{}>(..)"), P::NAME)
            }
        }

        impl<P: ParameterSet> ConstantTimeEq for $name<P> {
            fn ct_eq(&self, other: &Self) -> Choice {
                self.as_ref().ct_eq(other.as_ref())
            }
        }

        impl<P: ParameterSet> PartialEq for $name<P> {
            fn eq(&self, other: &Self) -> bool {
                self.ct_eq(other).into()
            }
        }

        impl<P: ParameterSet> Eq for $name<P> {}
    };
}
pub(crate) use secret_bytes_type;

secret_bytes_type!(DecapsulationKey);

/// Implements the traits that all keys and ciphertexts have.
macro_rules! bytes_type {
    ($name:ident, $error:ty) => {
        impl<P: ParameterSet> Clone for $name<P> {
            fn clone(&self) -> Self {
                Self { bytes: self.bytes }
            }
        }

        impl<P: ParameterSet> AsRef<[u8]> for $name<P> {
            fn as_ref(&self) -> &[u8] {
                self.bytes.as_ref()
            }
        }

        read_from_bytes!($name, $error);
    };
}

/// Implements the traits that read a value from its bytes, and `Serialize`.
macro_rules! read_from_bytes {
    ($name:ident, $error:ty) => {
        impl<P: ParameterSet> TryFrom<&[u8]> for $name<P> {
            type Error = $error;
            fn try_from(bytes: &[u8]) -> Result<Self, $error> {
                Self::from_bytes(bytes)
            }
        }

        #[cfg(feature = "serde")]
        impl<P: ParameterSet> serdect::serde::Serialize for $name<P> {
            fn serialize<S: serdect::serde::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serdect::slice::serialize_hex_lower_or_bin(&self, serializer)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de, P: ParameterSet> serdect::serde::Deserialize<'de> for $name<P> {
            fn deserialize<D: serdect::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                let bytes =
                    Zeroizing::new(serdect::slice::deserialize_hex_or_bin_vec(deserializer)?);
                Self::from_bytes(&bytes).map_err(serdect::serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use read_from_bytes;

bytes_type!(EncapsulationKey, InvalidEncapsulationKey);
bytes_type!(DecapsulationKey, InvalidDecapsulationKey);
bytes_type!(Ciphertext, InvalidLength);

/// Implements the traits of the types without secrets: encapsulation keys and ciphertexts.
macro_rules! public_bytes_type {
    ($name:ident) => {
        impl<P: ParameterSet> PartialEq for $name<P> {
            fn eq(&self, other: &Self) -> bool {
                self.as_ref() == other.as_ref()
            }
        }

        impl<P: ParameterSet> Eq for $name<P> {}

        impl<P: ParameterSet> Hash for $name<P> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.as_ref().hash(state);
            }
        }

        impl<P: ParameterSet> fmt::Debug for $name<P> {
            /// Writes the first eight bytes, which are enough to distinguish values.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let encoding = P::PARAMETERS.encoding;
                write!(f, concat!(stringify!($name), "<{}, {}>("), P::NAME, encoding)?;
                for byte in &self.as_ref()[..8] {
                    write!(f, "{byte:02x}")?;
                }
                f.write_str("..)")
            }
        }
    };
}

public_bytes_type!(EncapsulationKey);
public_bytes_type!(Ciphertext);
