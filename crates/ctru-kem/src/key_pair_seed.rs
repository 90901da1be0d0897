//! The short form of a private key: the bytes from which a key pair is generated.

use core::fmt;
use core::marker::PhantomData;

use rand_core::{CryptoRng, TryCryptoRng};
use subtle::{Choice, ConstantTimeEq};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::error::InvalidLength;
use crate::hash::{KEY_PAIR_SEED_BYTES, SEED_BYTES};
use crate::keys::{DecapsulationKey, read_from_bytes};
use crate::params::ParameterSet;

/// The 64 bytes from which a key pair is generated: the seed of the polynomials, then `z`. Wiped
/// when dropped.
///
/// It is the shortest form in which a private key can be stored, and the form of key files. A
/// [`DecapsulationKey`] does not know its seed, so who wants to store the seed has to generate it
/// first.
///
/// ```
/// # use ctru_kem::{CtruPrime761, KeyPairSeed};
/// let seed = KeyPairSeed::<CtruPrime761>::from_bytes(&[7; 64])?;
/// let key = seed.decapsulation_key();
/// # Ok::<(), ctru_kem::InvalidLength>(())
/// ```
#[derive(Clone)]
pub struct KeyPairSeed<P: ParameterSet> {
    bytes: Zeroizing<[u8; KEY_PAIR_SEED_BYTES]>,
    set: PhantomData<P>,
}

impl<P: ParameterSet> KeyPairSeed<P> {
    /// Reads a seed from its [`KEY_PAIR_SEED_BYTES`] bytes. All byte strings of this length are
    /// seeds. Those of a key that is to be secret must be uniform and secret.
    ///
    /// # Errors
    /// [`InvalidLength`] if the number of bytes differs.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidLength> {
        match bytes.try_into() {
            Ok(bytes) => Ok(Self { bytes: Zeroizing::new(bytes), set: PhantomData }),
            Err(_) => Err(InvalidLength { expected: KEY_PAIR_SEED_BYTES, actual: bytes.len() }),
        }
    }

    /// Returns the [`KEY_PAIR_SEED_BYTES`] bytes. They are secret.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; KEY_PAIR_SEED_BYTES] {
        &self.bytes
    }

    /// Takes a seed of 64 bytes from `rng`.
    #[must_use]
    pub fn generate_from_rng<G: CryptoRng + ?Sized>(rng: &mut G) -> Self {
        let Ok(seed) = Self::try_generate_from_rng(rng);
        seed
    }

    /// Takes a seed of 64 bytes from a generator that can fail.
    ///
    /// # Errors
    /// The error of the generator.
    pub fn try_generate_from_rng<G: TryCryptoRng + ?Sized>(rng: &mut G) -> Result<Self, G::Error> {
        let mut bytes = Zeroizing::new([0; KEY_PAIR_SEED_BYTES]);
        rng.try_fill_bytes(&mut *bytes)?;
        Ok(Self { bytes, set: PhantomData })
    }

    /// Takes a seed from the operating system's randomness.
    ///
    /// # Errors
    /// [`getrandom::Error`] if the system provides no randomness.
    #[cfg(feature = "getrandom")]
    pub fn try_generate() -> Result<Self, getrandom::Error> {
        Self::try_generate_from_rng(&mut getrandom::SysRng)
    }

    /// Generates the key that the seed determines (paper, Algorithm 4).
    #[must_use]
    pub fn decapsulation_key(&self) -> DecapsulationKey<P> {
        let [seed, z] = self.bytes.as_chunks::<SEED_BYTES>().0 else {
            unreachable!("a seed has two halves of 32 bytes")
        };
        DecapsulationKey::generate_deterministic(seed, z)
    }
}

read_from_bytes!(KeyPairSeed, InvalidLength);

impl<P: ParameterSet> ZeroizeOnDrop for KeyPairSeed<P> {}

impl<P: ParameterSet> AsRef<[u8]> for KeyPairSeed<P> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_slice()
    }
}

impl<P: ParameterSet> fmt::Debug for KeyPairSeed<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyPairSeed<{}>(..)", P::NAME)
    }
}

impl<P: ParameterSet> ConstantTimeEq for KeyPairSeed<P> {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.bytes.ct_eq(other.bytes.as_slice())
    }
}

impl<P: ParameterSet> PartialEq for KeyPairSeed<P> {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}
impl<P: ParameterSet> Eq for KeyPairSeed<P> {}
