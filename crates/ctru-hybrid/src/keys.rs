//! Keys and ciphertexts, with the names of the crate `ctru-kem`.

use core::fmt;

use ctru_kem::{InvalidEncapsulationKey, InvalidLength, InvalidSeed, SEED_BYTES, SharedSecret};
use ctru_math::array::Array;
use rand_core::{CryptoRng, TryCryptoRng};
use shake::digest::{ExtendableOutputReset, Update};
use shake::{Shake256, XofReader};
use subtle::{Choice, ConstantTimeEq};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::combine::combine;
use crate::params::{
    COIN_BYTES, CiphertextBytes, DECAPSULATION_KEY_BYTES, EncapsulationKeyBytes, ParameterSet,
    X25519_BYTES,
};

/// An encapsulation key: that of CTRU-Prime in mixed-radix encoding, then the public key of X25519.
/// It is public.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EncapsulationKey<P: ParameterSet> {
    bytes: EncapsulationKeyBytes<P>,
    /// The first part of `bytes`, which has been checked.
    ctru: ctru_kem::EncapsulationKey<P::Ctru>,
}

/// A decapsulation key: 32 bytes, from which both private keys come, and what is computed from
/// them. Wiped when dropped.
///
/// The name of the parameter set enters the computation, so the same bytes give unrelated keys for
/// two sets.
#[derive(Clone)]
pub struct DecapsulationKey<P: ParameterSet> {
    bytes: Zeroizing<[u8; DECAPSULATION_KEY_BYTES]>,
    ctru: ctru_kem::DecapsulationKey<P::Ctru>,
    x25519: StaticSecret,
    encapsulation_key: EncapsulationKey<P>,
}

/// A ciphertext: that of CTRU-Prime, then an ephemeral public key of X25519. Every byte string of
/// the right length is a ciphertext.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Ciphertext<P: ParameterSet> {
    bytes: CiphertextBytes<P>,
}

/// Returns the concatenation of bytes of the KEM and a public key of X25519.
pub(crate) fn joined<A: Array<u8>>(kem: &[u8], x25519: &PublicKey) -> A {
    let mut bytes = A::zeroed();
    let (first, last) = bytes.as_mut().split_at_mut(A::LEN - X25519_BYTES);
    first.copy_from_slice(kem);
    last.copy_from_slice(x25519.as_bytes());
    bytes
}

/// Returns the two parts of the bytes of an encapsulation key or of a ciphertext.
pub(crate) fn parts(bytes: &[u8]) -> (&[u8], PublicKey) {
    let (kem, x25519) = bytes.split_last_chunk::<X25519_BYTES>().expect("longer than a key");
    (kem, PublicKey::from(*x25519))
}

/// Bytes to which a decapsulation key is expanded: the seed and `z` of CTRU-Prime, then the private
/// key of X25519.
const EXPANDED_BYTES: usize = 2 * SEED_BYTES + X25519_BYTES;

/// Writes `SHAKE256("CTRU-Prime-761 X25519 key v1" || key)`, with the name of the set, to
/// `expanded`.
fn expand<P: ParameterSet>(
    key: &[u8; DECAPSULATION_KEY_BYTES],
    expanded: &mut [u8; EXPANDED_BYTES],
) {
    let mut shake = Shake256::default();
    shake.update(P::NAME.as_bytes());
    shake.update(b" key v1");
    shake.update(key);
    // This call takes `shake` by reference. A move would leave a copy of its state in memory.
    shake.finalize_xof_reset().read(expanded);
}

/// Returns the private key of X25519 at the end of an expanded decapsulation key or of coins.
pub(crate) fn private_x25519<const BYTES: usize>(bytes: &[u8; BYTES]) -> StaticSecret {
    let bytes: &[u8; X25519_BYTES] = bytes.last_chunk().expect("longer than a key");
    StaticSecret::from(*bytes)
}

/// Checks the number of bytes.
pub(crate) fn check_length(expected: usize, bytes: &[u8]) -> Result<(), InvalidLength> {
    let actual = bytes.len();
    if actual == expected { Ok(()) } else { Err(InvalidLength { expected, actual }) }
}

impl<P: ParameterSet> EncapsulationKey<P> {
    /// Reads a key from its [`ParameterSet::ENCAPSULATION_KEY_BYTES`] bytes. All 32-byte strings
    /// are public keys of X25519.
    ///
    /// # Errors
    /// [`InvalidEncapsulationKey`] if the length is wrong or the key of CTRU-Prime is invalid.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidEncapsulationKey> {
        check_length(P::ENCAPSULATION_KEY_BYTES, bytes)?;
        let (ctru, x25519) = parts(bytes);
        let ctru = ctru_kem::EncapsulationKey::from_bytes(ctru)?;
        Ok(Self::new(ctru, &x25519))
    }

    fn new(ctru: ctru_kem::EncapsulationKey<P::Ctru>, x25519: &PublicKey) -> Self {
        Self { bytes: joined(ctru.as_ref(), x25519), ctru }
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

    /// Encapsulates a fresh shared secret. Takes 64 bytes from `rng`.
    #[must_use]
    pub fn encapsulate_with_rng<G: CryptoRng + ?Sized>(
        &self,
        rng: &mut G,
    ) -> (Ciphertext<P>, SharedSecret) {
        let Ok(sent) = self.try_encapsulate_with_rng(rng);
        sent
    }

    /// Encapsulates a fresh shared secret. Takes 64 bytes from a generator that can fail.
    ///
    /// # Errors
    /// The error of the generator.
    pub fn try_encapsulate_with_rng<G: TryCryptoRng + ?Sized>(
        &self,
        rng: &mut G,
    ) -> Result<(Ciphertext<P>, SharedSecret), G::Error> {
        let mut coins = Zeroizing::new([0; COIN_BYTES]);
        rng.try_fill_bytes(&mut *coins)?;
        Ok(self.encapsulate_deterministic(&coins))
    }

    /// Encapsulates a fresh shared secret with the operating system's randomness.
    ///
    /// # Errors
    /// [`getrandom::Error`] if the system provides no randomness.
    #[cfg(feature = "getrandom")]
    pub fn try_encapsulate(&self) -> Result<(Ciphertext<P>, SharedSecret), getrandom::Error> {
        self.try_encapsulate_with_rng(&mut getrandom::SysRng)
    }

    /// Encapsulates the shared secret that `coins` determine: 32 bytes for CTRU-Prime, then the
    /// ephemeral private key of X25519.
    ///
    /// The coins must be uniform and secret, and they must be used once.
    #[must_use]
    pub fn encapsulate_deterministic(
        &self,
        coins: &[u8; COIN_BYTES],
    ) -> (Ciphertext<P>, SharedSecret) {
        let (_, receiver) = parts(self.as_ref());
        let ephemeral = private_x25519(coins);
        let seed = coins.first_chunk().expect("coins are longer than a seed");
        let (ctru_ciphertext, ctru) = self.ctru.encapsulate_deterministic(seed);
        let bytes = joined(ctru_ciphertext.as_ref(), &PublicKey::from(&ephemeral));
        let ciphertext = Ciphertext { bytes };
        let x25519 = ephemeral.diffie_hellman(&receiver);
        let secret = combine::<P>(&ctru, &x25519, ciphertext.as_ref(), self.as_ref());
        (ciphertext, secret)
    }
}

from_random_bytes!([P: ParameterSet] DecapsulationKey<P>, 32);

impl<P: ParameterSet> DecapsulationKey<P> {
    /// Reads a key from its [`DECAPSULATION_KEY_BYTES`] bytes. All byte strings of this length are
    /// keys. The function generates the keys that the bytes determine.
    ///
    /// # Errors
    /// [`InvalidSeed`] if the number of bytes differs.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidSeed> {
        match bytes.try_into() {
            Ok(bytes) => Ok(Self::generate_deterministic(bytes)),
            Err(_) => {
                Err(InvalidSeed::of_length(DECAPSULATION_KEY_BYTES, bytes.len(), EXPANDED_BYTES))
            }
        }
    }

    /// Returns the encoded key, an array of [`DECAPSULATION_KEY_BYTES`] bytes. The bytes are
    /// secret.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; DECAPSULATION_KEY_BYTES] {
        &self.bytes
    }

    /// Returns the encapsulation key that belongs to this key.
    #[must_use]
    pub fn encapsulation_key(&self) -> EncapsulationKey<P> {
        self.encapsulation_key.clone()
    }

    /// Generates the key whose bytes are `bytes`.
    ///
    /// They must be uniform and secret.
    #[must_use]
    pub fn generate_deterministic(bytes: &[u8; DECAPSULATION_KEY_BYTES]) -> Self {
        let mut expanded = Zeroizing::new([0; EXPANDED_BYTES]);
        expand::<P>(bytes, &mut expanded);
        let [seed, z, _] = expanded.as_chunks::<SEED_BYTES>().0 else {
            unreachable!("an expanded key has three parts")
        };
        let ctru = ctru_kem::DecapsulationKey::generate_deterministic(seed, z);
        let x25519 = private_x25519(&expanded);
        let encapsulation_key =
            EncapsulationKey::new(ctru.encapsulation_key(), &PublicKey::from(&x25519));
        Self { bytes: Zeroizing::new(*bytes), ctru, x25519, encapsulation_key }
    }

    /// Returns the shared secret of a ciphertext.
    ///
    /// If encapsulation to this key did not make the ciphertext, the function returns a
    /// pseudo-random secret. A result of X25519 that is zero is no exception: the part of
    /// CTRU-Prime still protects the secret. Neither the result nor the time shows whether the part
    /// of CTRU-Prime was rejected.
    #[must_use]
    pub fn decapsulate(&self, ciphertext: &Ciphertext<P>) -> SharedSecret {
        let (ctru, ephemeral) = parts(ciphertext.as_ref());
        let ctru = ctru_kem::Ciphertext::from_bytes(ctru).expect("the length is right");
        let ctru = self.ctru.decapsulate(&ctru);
        let x25519 = self.x25519.diffie_hellman(&ephemeral);
        combine::<P>(&ctru, &x25519, ciphertext.as_ref(), self.encapsulation_key.as_ref())
    }
}

impl<P: ParameterSet> Ciphertext<P> {
    /// Reads a ciphertext from its [`ParameterSet::CIPHERTEXT_BYTES`] bytes.
    ///
    /// # Errors
    /// [`InvalidLength`] if the number of bytes differs. There is no other error: decapsulation
    /// rejects a wrong ciphertext implicitly.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidLength> {
        check_length(P::CIPHERTEXT_BYTES, bytes)?;
        Ok(Self { bytes: Array::from_fn(|i| bytes[i]) })
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
}

impl<P: ParameterSet> ZeroizeOnDrop for DecapsulationKey<P> {}

impl<P: ParameterSet> fmt::Debug for DecapsulationKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DecapsulationKey<{}>(..)", P::NAME)
    }
}

impl<P: ParameterSet> ConstantTimeEq for DecapsulationKey<P> {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.bytes.ct_eq(&*other.bytes)
    }
}

impl<P: ParameterSet> PartialEq for DecapsulationKey<P> {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}

impl<P: ParameterSet> Eq for DecapsulationKey<P> {}

/// Implements the traits that all keys and ciphertexts have.
macro_rules! bytes_type {
    ($name:ident, $error:ty) => {
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
    };
}

bytes_type!(EncapsulationKey, InvalidEncapsulationKey);
bytes_type!(DecapsulationKey, InvalidSeed);
bytes_type!(Ciphertext, InvalidLength);

/// Implements [`fmt::Debug`] for a type without secrets.
macro_rules! debug {
    ($name:ident) => {
        impl<P: ParameterSet> fmt::Debug for $name<P> {
            /// Writes the first eight bytes, which are enough to distinguish values.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "<{}>("), P::NAME)?;
                for byte in &self.as_ref()[..8] {
                    write!(f, "{byte:02x}")?;
                }
                f.write_str("..)")
            }
        }
    };
}

debug!(EncapsulationKey);
debug!(Ciphertext);
