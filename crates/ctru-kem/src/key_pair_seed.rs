//! The short form of a private key: the bytes from which a key pair is generated.

use core::fmt;
use core::marker::PhantomData;

use rand_core::{CryptoRng, TryCryptoRng};
use subtle::{Choice, ConstantTimeEq};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::error::InvalidSeed;
use crate::hash::{KEY_PAIR_SEED_BYTES, SEED_BYTES};
use crate::keys::{DecapsulationKey, read_from_bytes, secret_bytes_type};
use crate::params::ParameterSet;
use crate::wipe::Secret;

/// The 32 bytes from which a key pair is generated. Wiped when dropped.
///
/// It is the shortest form in which a private key can be stored, and the form of key files. A
/// [`DecapsulationKey`] does not know its seed, so who wants to store the seed has to generate it
/// first.
///
/// The name of the parameter set enters the key generation, so the same bytes give unrelated keys
/// for two sets. The encoding does not enter: one seed gives the same polynomials in both
/// encodings, so it must serve one of them only.
///
/// ```
/// # use ctru_kem::{CtruPrime761, KeyPairSeed};
/// let seed = KeyPairSeed::<CtruPrime761>::from_bytes(&[7; 32])?;
/// let key = seed.decapsulation_key();
/// # Ok::<(), ctru_kem::InvalidSeed>(())
/// ```
#[derive(Clone)]
pub struct KeyPairSeed<P: ParameterSet> {
    bytes: Zeroizing<[u8; SEED_BYTES]>,
    set: PhantomData<P>,
}

impl<P: ParameterSet> KeyPairSeed<P> {
    /// Reads a seed from its [`SEED_BYTES`] bytes. All byte strings of this length are seeds. Those
    /// of a key that is to be secret must be uniform and secret.
    ///
    /// # Errors
    /// [`InvalidSeed`] if the number of bytes differs.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidSeed> {
        match bytes.try_into() {
            Ok(bytes) => Ok(Self { bytes: Zeroizing::new(bytes), set: PhantomData }),
            Err(_) => Err(InvalidSeed::of_length(SEED_BYTES, bytes.len(), KEY_PAIR_SEED_BYTES)),
        }
    }

    /// Returns the [`SEED_BYTES`] bytes. They are secret.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; SEED_BYTES] {
        &self.bytes
    }

    /// Takes a seed of 32 bytes from `rng`.
    #[must_use]
    pub fn generate_from_rng<G: CryptoRng + ?Sized>(rng: &mut G) -> Self {
        let Ok(seed) = Self::try_generate_from_rng(rng);
        seed
    }

    /// Takes a seed of 32 bytes from a generator that can fail.
    ///
    /// # Errors
    /// The error of the generator.
    pub fn try_generate_from_rng<G: TryCryptoRng + ?Sized>(rng: &mut G) -> Result<Self, G::Error> {
        let mut bytes = Zeroizing::new([0; SEED_BYTES]);
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

    /// Generates the key that the seed determines.
    ///
    /// For CTRU-Prime, the seed and `z` of [`DecapsulationKey::generate_deterministic`] are the 64
    /// bytes `SHAKE256("CTRU-Prime-761 key v1" || seed)`, with the [name](ParameterSet::NAME) of
    /// the set. For NTRU Prime, its seed is this one.
    #[must_use]
    pub fn decapsulation_key(&self) -> DecapsulationKey<P> {
        let mut seeds = Secret::<[u8; KEY_PAIR_SEED_BYTES]>::zeroed();
        P::expand_key_pair_seed(&self.bytes, &mut seeds);
        let [seed, z] = seeds.as_chunks::<SEED_BYTES>().0 else {
            unreachable!("64 bytes are two halves of 32 bytes")
        };
        DecapsulationKey::generate_deterministic(seed, z)
    }
}

read_from_bytes!(KeyPairSeed, InvalidSeed);
secret_bytes_type!(KeyPairSeed);

impl<P: ParameterSet> AsRef<[u8]> for KeyPairSeed<P> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_slice()
    }
}
