//! The KEMs that stand beside X25519: CTRU-Prime of each set, and ML-KEM-768.

use std::marker::PhantomData;

use ctru_kem::{Ciphertext, CtruPrimeSet, DecapsulationKey, EncapsulationKey, MixedRadix};
use ml_kem::kem::Decapsulate as _;
use ml_kem::{B32, KeyExport as _, ml_kem_768};
use rustls::{Error, PeerMisbehaved};
use zeroize::{Zeroize, Zeroizing};

/// A KEM whose public keys, ciphertexts and secrets are bytes.
pub(crate) trait Kem: Send + Sync + 'static {
    /// The name of the group.
    const NAME: &'static str;
    /// Bytes of a public key.
    const PUBLIC_KEY: usize;
    /// Bytes of a ciphertext.
    const CIPHERTEXT: usize;
    /// A private key, which wipes itself.
    type PrivateKey: Send + Sync;

    /// Returns a fresh private key with its public key.
    ///
    /// # Errors
    /// [`Error::FailedToGetRandomBytes`] if the system provides none.
    fn generate() -> Result<(Self::PrivateKey, Vec<u8>), Error>;

    /// Returns a ciphertext with its secret.
    ///
    /// # Errors
    /// [`PeerMisbehaved::InvalidKeyShare`] if the public key is refused, and
    /// [`Error::FailedToGetRandomBytes`] if the system provides none.
    fn encapsulate(public_key: &[u8]) -> Result<(Vec<u8>, Secret), Error>;

    /// Returns the secret of a ciphertext.
    ///
    /// # Errors
    /// [`PeerMisbehaved::InvalidKeyShare`] if the ciphertext is refused.
    fn decapsulate(key: &Self::PrivateKey, ciphertext: &[u8]) -> Result<Secret, Error>;
}

/// A shared secret. Wiped when dropped.
pub(crate) type Secret = Zeroizing<[u8; 32]>;

/// Returns the error for a share that is refused. rustls answers it with the alert
/// illegal_parameter.
pub(crate) fn refused<E>(_: E) -> Error {
    PeerMisbehaved::InvalidKeyShare.into()
}

/// Returns random bytes.
///
/// # Errors
/// [`Error::FailedToGetRandomBytes`] if the system provides none.
fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, Error> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(&mut *bytes).map_err(|_| Error::FailedToGetRandomBytes)?;
    Ok(bytes)
}

/// CTRU-Prime of the set `P`.
pub(crate) struct CtruPrime<P>(PhantomData<P>);

impl<P: CtruPrimeSet<Encoding = MixedRadix>> Kem for CtruPrime<P> {
    const NAME: &'static str = P::NAME;
    const PUBLIC_KEY: usize = P::ENCAPSULATION_KEY_BYTES;
    const CIPHERTEXT: usize = P::CIPHERTEXT_BYTES;
    type PrivateKey = DecapsulationKey<P>;

    fn generate() -> Result<(Self::PrivateKey, Vec<u8>), Error> {
        let key =
            DecapsulationKey::<P>::try_generate().map_err(|_| Error::FailedToGetRandomBytes)?;
        let public_key = key.encapsulation_key().as_ref().to_vec();
        Ok((key, public_key))
    }

    fn encapsulate(public_key: &[u8]) -> Result<(Vec<u8>, Secret), Error> {
        let key = EncapsulationKey::<P>::from_bytes(public_key).map_err(refused)?;
        let (ciphertext, secret) =
            key.try_encapsulate().map_err(|_| Error::FailedToGetRandomBytes)?;
        Ok((ciphertext.as_ref().to_vec(), Secret::new(*secret.as_bytes())))
    }

    fn decapsulate(key: &Self::PrivateKey, ciphertext: &[u8]) -> Result<Secret, Error> {
        let ciphertext = Ciphertext::from_bytes(ciphertext).map_err(refused)?;
        Ok(Secret::new(*key.decapsulate(&ciphertext).as_bytes()))
    }
}

/// ML-KEM-768 (FIPS 203).
pub(crate) struct MlKem768;

/// Takes the bytes out of a secret, and wipes it.
fn taken(mut secret: B32) -> Secret {
    let mut bytes = Secret::default();
    bytes.copy_from_slice(&secret);
    secret.as_mut_slice().zeroize();
    bytes
}

impl Kem for MlKem768 {
    const NAME: &'static str = "ML-KEM-768";
    const PUBLIC_KEY: usize = 1184;
    const CIPHERTEXT: usize = 1088;
    type PrivateKey = ml_kem_768::DecapsulationKey;

    fn generate() -> Result<(Self::PrivateKey, Vec<u8>), Error> {
        let seed = random::<64>()?;
        let mut bytes = ml_kem::Seed::from(*seed);
        // The key keeps its seed, and wipes it.
        let key = ml_kem_768::DecapsulationKey::from_seed(bytes);
        bytes.as_mut_slice().zeroize();
        let public_key = key.encapsulation_key().to_bytes().to_vec();
        Ok((key, public_key))
    }

    fn encapsulate(public_key: &[u8]) -> Result<(Vec<u8>, Secret), Error> {
        let public_key = public_key.try_into().map_err(refused)?;
        // Refuses coefficients that are not reduced (FIPS 203, section 7.2).
        let key = ml_kem_768::EncapsulationKey::new(public_key).map_err(refused)?;
        let message = random::<32>()?;
        let mut bytes = B32::from(*message);
        let (ciphertext, secret) = key.encapsulate_deterministic(&bytes);
        bytes.as_mut_slice().zeroize();
        Ok((ciphertext.to_vec(), taken(secret)))
    }

    fn decapsulate(key: &Self::PrivateKey, ciphertext: &[u8]) -> Result<Secret, Error> {
        Ok(taken(key.decapsulate(ciphertext.try_into().map_err(refused)?)))
    }
}
