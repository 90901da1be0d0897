//! Keys, ciphertexts and shared secrets as types over byte arrays.
//!
//! The constructors refuse malformed keys, so a value of a key type is always well formed. The
//! names follow the crate `kem`. The methods call those of the parameter set, which this crate
//! compiles.

use core::fmt;
use core::hash::{Hash, Hasher};

use ctru_math::Ring;
use ctru_math::array::Array;
use rand_core::{CryptoRng, TryCryptoRng};
use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::encoding::PublicKeyEncoding;
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidLength};
use crate::hash::{SEED_BYTES, SHARED_SECRET_BYTES};
use crate::params::{CiphertextBytes, DecapsulationKeyBytes, EncapsulationKeyBytes, ParameterSet};
use crate::wipe::wipe;

/// A public key: the encoding of `h = g / f`.
#[repr(transparent)]
pub struct EncapsulationKey<P: ParameterSet> {
    bytes: EncapsulationKeyBytes<P>,
}

/// A decapsulation key: the packed secret polynomial `f`, the encapsulation key, and the secret `z`
/// of implicit rejection. Wiped when dropped.
#[repr(transparent)]
pub struct DecapsulationKey<P: ParameterSet> {
    bytes: DecapsulationKeyBytes<P>,
}

/// A ciphertext. Any bytes of the right length are one: decapsulation of bytes that encapsulation
/// did not make returns a secret that nobody else knows.
#[repr(transparent)]
pub struct Ciphertext<P: ParameterSet> {
    bytes: CiphertextBytes<P>,
}

/// The secret that both sides share, 32 bytes. Wiped when dropped.
#[derive(Clone)]
#[repr(transparent)]
pub struct SharedSecret {
    bytes: [u8; SHARED_SECRET_BYTES],
}

/// Returns the bytes as an array, if there are as many as it has.
fn copied<A: Array<u8>>(bytes: &[u8]) -> Result<A, InvalidLength> {
    if bytes.len() == A::LEN {
        Ok(array_of(bytes))
    } else {
        Err(InvalidLength { expected: A::LEN, actual: bytes.len() })
    }
}

/// Returns the bytes as an array.
///
/// # Panics
/// If there are not as many as the array has.
fn array_of<A: Array<u8>>(bytes: &[u8]) -> A {
    let mut array = A::zeroed();
    array.as_mut().copy_from_slice(bytes);
    array
}

fn random_seed<G: TryCryptoRng + ?Sized>(
    rng: &mut G,
) -> Result<Zeroizing<[u8; SEED_BYTES]>, G::Error> {
    let mut seed = Zeroizing::new([0; SEED_BYTES]);
    rng.try_fill_bytes(&mut *seed)?;
    Ok(seed)
}

fn infallible<T>(result: Result<T, core::convert::Infallible>) -> T {
    match result {
        Ok(value) => value,
        Err(never) => match never {},
    }
}

impl<P: ParameterSet> EncapsulationKey<P> {
    /// Reads a key.
    ///
    /// # Errors
    /// [`InvalidEncapsulationKey`] if the length is wrong, the bytes are not the encoding of a
    /// polynomial, or the polynomial is 0.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidEncapsulationKey> {
        let key = Self { bytes: copied(bytes)? };
        P::check_encapsulation_key(&key.bytes)?;
        Ok(key)
    }

    /// Returns the encoded key, an array of [`ParameterSet::ENCAPSULATION_KEY_BYTES`] bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &EncapsulationKeyBytes<P> {
        &self.bytes
    }

    /// Returns the key `h = 0`, which output slices hold before an engine fills them.
    ///
    /// It can be used like any key, but everybody can read what is encapsulated to it.
    /// [`from_bytes`](Self::from_bytes) refuses its bytes, which are all zero.
    #[must_use]
    pub fn placeholder() -> Self {
        Self { bytes: P::encapsulation_placeholder() }
    }

    /// Encapsulates a fresh shared secret.
    #[must_use]
    pub fn encapsulate_with_rng<G: CryptoRng + ?Sized>(
        &self,
        rng: &mut G,
    ) -> (Ciphertext<P>, SharedSecret) {
        infallible(self.try_encapsulate_with_rng(rng))
    }

    /// Encapsulates a fresh shared secret with a generator that can fail.
    ///
    /// # Errors
    /// The error of the generator.
    pub fn try_encapsulate_with_rng<G: TryCryptoRng + ?Sized>(
        &self,
        rng: &mut G,
    ) -> Result<(Ciphertext<P>, SharedSecret), G::Error> {
        Ok(self.encapsulate_deterministic(&*random_seed(rng)?))
    }

    /// Encapsulates a fresh shared secret with the operating system's randomness.
    ///
    /// # Errors
    /// [`getrandom::Error`] if the system has none.
    #[cfg(feature = "getrandom")]
    pub fn try_encapsulate(&self) -> Result<(Ciphertext<P>, SharedSecret), getrandom::Error> {
        self.try_encapsulate_with_rng(&mut getrandom::SysRng)
    }

    /// Encapsulates with the randomness of `seed`, which must be uniform, secret and used once.
    #[must_use]
    pub fn encapsulate_deterministic(
        &self,
        seed: &[u8; SEED_BYTES],
    ) -> (Ciphertext<P>, SharedSecret) {
        let mut sent = Default::default();
        let (ciphertext, secret): &mut (Ciphertext<P>, SharedSecret) = &mut sent;
        P::encapsulate(&self.bytes, seed, &mut ciphertext.bytes, &mut secret.bytes);
        sent
    }
}

impl<P: ParameterSet> DecapsulationKey<P> {
    /// Reads a key.
    ///
    /// It does not check that the public part belongs to the secret polynomial;
    /// [`check`](Self::check) does. The time depends on the result and the public part only.
    ///
    /// # Errors
    /// [`InvalidDecapsulationKey`] if the length is wrong, if key generation cannot make the secret
    /// polynomial, or if the public part is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidDecapsulationKey> {
        let key = Self { bytes: copied(bytes)? };
        P::check_decapsulation_key(&key.bytes)?;
        Ok(key)
    }

    /// Checks that the public part belongs to the secret polynomial: that key generation can sample
    /// the polynomial `g = h f`.
    ///
    /// It takes one product. The time depends on the result and the public part only. Nothing can
    /// be checked about the rejection secret `z`: any 32 bytes are one.
    ///
    /// # Errors
    /// [`InvalidDecapsulationKey::Inconsistent`] if it does not, as for a
    /// [placeholder](Self::placeholder).
    pub fn check(&self) -> Result<(), InvalidDecapsulationKey> {
        P::check_consistency(&self.bytes)
    }

    /// [Checks](Self::check) the key, encapsulates to its public part with the randomness of `seed`
    /// and decapsulates.
    ///
    /// Some standards want this pairwise test after key generation. It finds faults of the
    /// computation. Its ciphertext and secrets are thrown away, so any seed will do.
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
        P::pairwise_test(&self.bytes, seed)
    }

    /// Returns the key's bytes, a secret: an array of [`ParameterSet::DECAPSULATION_KEY_BYTES`]
    /// bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &DecapsulationKeyBytes<P> {
        &self.bytes
    }

    /// Returns a key that everybody knows, which output slices hold before an engine fills them.
    ///
    /// [`zeroize`](Zeroize::zeroize) leaves it as well. It can be used like any key, but
    /// [`from_bytes`](Self::from_bytes) refuses its bytes and [`check`](Self::check) refuses the
    /// key.
    ///
    /// Engines fill slices of the caller, in memory that is pinned or used again for the next
    /// batch, so slices must hold keys before. There is no `Default`, which could put a known key
    /// where nobody asked for one.
    #[must_use]
    pub fn placeholder() -> Self {
        let mut key = Self { bytes: Array::zeroed() };
        P::write_decapsulation_placeholder(&mut key.bytes);
        key
    }

    /// Returns the encapsulation key, a part of this key.
    #[must_use]
    pub fn encapsulation_key(&self) -> EncapsulationKey<P> {
        EncapsulationKey { bytes: array_of(self.public_bytes()) }
    }

    /// Returns the bytes of the encapsulation key.
    pub(crate) fn public_bytes(&self) -> &[u8] {
        &self.bytes.as_ref()[P::Ring::SECRET_POLY_BYTES..][..P::ENCAPSULATION_KEY_BYTES]
    }

    /// Generates a key. [`encapsulation_key`](Self::encapsulation_key) returns its public part.
    #[must_use]
    pub fn generate_from_rng<G: CryptoRng + ?Sized>(rng: &mut G) -> Self {
        infallible(Self::try_generate_from_rng(rng))
    }

    /// Generates a key with a generator that can fail.
    ///
    /// # Errors
    /// The error of the generator.
    pub fn try_generate_from_rng<G: TryCryptoRng + ?Sized>(rng: &mut G) -> Result<Self, G::Error> {
        let (seed, z) = (random_seed(rng)?, random_seed(rng)?);
        Ok(Self::generate_deterministic(&seed, &z))
    }

    /// Generates a key with the operating system's randomness.
    ///
    /// # Errors
    /// [`getrandom::Error`] if the system has none.
    #[cfg(feature = "getrandom")]
    pub fn try_generate() -> Result<Self, getrandom::Error> {
        Self::try_generate_from_rng(&mut getrandom::SysRng)
    }

    /// Generates the key of `seed` with the rejection secret `z`. Both must be uniform, secret and
    /// used once.
    #[must_use]
    pub fn generate_deterministic(seed: &[u8; SEED_BYTES], z: &[u8; SEED_BYTES]) -> Self {
        let mut key = Self { bytes: Array::zeroed() };
        P::generate(seed, z, &mut key.bytes);
        key
    }

    /// Returns the shared secret of a ciphertext.
    ///
    /// For a ciphertext that encapsulation to this key did not make it returns a pseudo-random
    /// secret that depends on the key and the ciphertext. Neither the kind of the result nor the
    /// time shows which of the two it is.
    #[must_use]
    pub fn decapsulate(&self, ciphertext: &Ciphertext<P>) -> SharedSecret {
        let mut secret = SharedSecret::default();
        P::decapsulate(&self.bytes, &ciphertext.bytes, &mut secret.bytes);
        secret
    }
}

impl<P: ParameterSet> Ciphertext<P> {
    /// Reads a ciphertext.
    ///
    /// # Errors
    /// [`InvalidLength`]. Nothing else can be wrong with a ciphertext, and decapsulation does not
    /// say which ones it rejects.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidLength> {
        Ok(Self { bytes: copied(bytes)? })
    }

    /// Returns the ciphertext's bytes, an array of [`ParameterSet::CIPHERTEXT_BYTES`] bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &CiphertextBytes<P> {
        &self.bytes
    }
}

impl<P: ParameterSet> Default for Ciphertext<P> {
    /// Returns a ciphertext of zeros, which output slices hold before an engine fills them.
    fn default() -> Self {
        Self { bytes: Array::zeroed() }
    }
}

impl Default for SharedSecret {
    /// Returns the placeholder that output slices hold before an engine fills them, 32 bytes of
    /// zero: *no secret*. A slice still holds it after a batch that failed; see
    /// [`is_placeholder`](Self::is_placeholder).
    fn default() -> Self {
        Self { bytes: [0; SHARED_SECRET_BYTES] }
    }
}

impl SharedSecret {
    /// Replaces the secret by one that a device computed, as little-endian words.
    #[cfg(feature = "gpu")]
    pub(crate) fn overwrite(&mut self, words: &[u64]) {
        for (bytes, word) in self.bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
    }

    /// Returns whether this is the placeholder of 32 zero bytes, which no operation returns: an
    /// error was ignored, or nothing has been computed yet.
    #[must_use]
    pub fn is_placeholder(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the secret's bytes.
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

impl<P: ParameterSet> Zeroize for DecapsulationKey<P> {
    /// Wipes the key and leaves the [placeholder](DecapsulationKey::placeholder), because zeros are
    /// no valid key.
    fn zeroize(&mut self) {
        *self = Self::placeholder();
    }
}

impl<P: ParameterSet> Drop for DecapsulationKey<P> {
    fn drop(&mut self) {
        wipe(self.bytes.as_mut(), 0);
    }
}

impl<P: ParameterSet> ZeroizeOnDrop for DecapsulationKey<P> {}

impl<P: ParameterSet> fmt::Debug for DecapsulationKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DecapsulationKey<{}>(..)", P::NAME)
    }
}

impl<P: ParameterSet> ConstantTimeEq for DecapsulationKey<P> {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.bytes.as_ref().ct_eq(other.bytes.as_ref())
    }
}

impl<P: ParameterSet> PartialEq for DecapsulationKey<P> {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}

/// Implements what keys and ciphertexts have in common.
macro_rules! bytes_type {
    ($name:ident, $error:ty) => {
        impl<P: ParameterSet> Clone for $name<P> {
            fn clone(&self) -> Self {
                Self { bytes: self.bytes }
            }
        }

        impl<P: ParameterSet> Eq for $name<P> {}

        impl<P: ParameterSet> AsRef<[u8]> for $name<P> {
            fn as_ref(&self) -> &[u8] {
                self.bytes.as_ref()
            }
        }

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
                serdect::slice::serialize_hex_lower_or_bin(&self.bytes, serializer)
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

bytes_type!(EncapsulationKey, InvalidEncapsulationKey);
bytes_type!(DecapsulationKey, InvalidDecapsulationKey);
bytes_type!(Ciphertext, InvalidLength);

/// Implements what keys and ciphertexts without secrets have in common.
macro_rules! public_bytes_type {
    ($name:ident) => {
        impl<P: ParameterSet> PartialEq for $name<P> {
            fn eq(&self, other: &Self) -> bool {
                self.as_ref() == other.as_ref()
            }
        }

        impl<P: ParameterSet> Hash for $name<P> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.as_ref().hash(state);
            }
        }

        impl<P: ParameterSet> fmt::Debug for $name<P> {
            /// Writes the first eight bytes, which tell values apart.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "<{}, {}>("), P::NAME, P::Encoding::NAME)?;
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
