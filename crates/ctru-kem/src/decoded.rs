//! Decoded keys, for who uses one key many times.

use core::fmt;

use rand_core::{CryptoRng, TryCryptoRng};

use crate::hash::SEED_BYTES;
use crate::kem;
use crate::keys::{
    Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret, encapsulate_with_randomness,
    infallible, random_seed,
};
use crate::params::ParameterSet;

/// An encapsulation key in the form in which the arithmetic needs it. It gives the results of the
/// key that [`EncapsulationKey::decode`] has decoded.
///
/// ```
/// use ctru_kem::{CtruPrime761, DecapsulationKey};
///
/// let key = DecapsulationKey::<CtruPrime761>::try_generate()?;
/// let (public, private) = (key.encapsulation_key().decode(), key.decode());
/// for _ in 0..3 {
///     let (ciphertext, sent) = public.try_encapsulate()?;
///     assert_eq!(private.decapsulate(&ciphertext), sent);
/// }
/// # Ok::<(), getrandom::Error>(())
/// ```
pub struct DecodedEncapsulationKey<P: ParameterSet>(kem::DecodedEncapsulationKey<P::Ring>);

/// A decapsulation key in the form in which the arithmetic needs it, wiped when dropped. It gives
/// the results of the key that [`DecapsulationKey::decode`] has
/// decoded.
pub struct DecodedDecapsulationKey<P: ParameterSet>(kem::DecodedDecapsulationKey<P::Ring>);

encapsulate_with_randomness!(DecodedEncapsulationKey);

impl<P: ParameterSet> EncapsulationKey<P> {
    /// Decodes the key, for who encapsulates to it many times.
    #[must_use]
    pub fn decode(&self) -> DecodedEncapsulationKey<P> {
        DecodedEncapsulationKey(P::decode_encapsulation_key(self.as_bytes()))
    }
}

impl<P: ParameterSet> DecapsulationKey<P> {
    /// Decodes the key, for who decapsulates with it many times.
    #[must_use]
    pub fn decode(&self) -> DecodedDecapsulationKey<P> {
        DecodedDecapsulationKey(P::decode_decapsulation_key(self.as_bytes()))
    }
}

impl<P: ParameterSet> DecodedEncapsulationKey<P> {
    /// Encapsulates the shared secret that `seed` determines (paper, Algorithm 5).
    ///
    /// The seed must be uniform and secret, and it must be used once.
    #[must_use]
    pub fn encapsulate_deterministic(
        &self,
        seed: &[u8; SEED_BYTES],
    ) -> (Ciphertext<P>, SharedSecret) {
        let mut sent = Default::default();
        let (ciphertext, secret): &mut (Ciphertext<P>, SharedSecret) = &mut sent;
        P::encapsulate_decoded(&self.0, seed, ciphertext.as_mut_bytes(), &mut secret.bytes);
        sent
    }
}

impl<P: ParameterSet> DecodedDecapsulationKey<P> {
    /// Returns the shared secret of a ciphertext (paper, Algorithm 6), as
    /// [`DecapsulationKey::decapsulate`] does.
    #[must_use]
    pub fn decapsulate(&self, ciphertext: &Ciphertext<P>) -> SharedSecret {
        let mut secret = SharedSecret::default();
        P::decapsulate_decoded(&self.0, ciphertext.as_bytes(), &mut secret.bytes);
        secret
    }
}

impl<P: ParameterSet> fmt::Debug for DecodedEncapsulationKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DecodedEncapsulationKey<{}>(..)", P::NAME)
    }
}

impl<P: ParameterSet> fmt::Debug for DecodedDecapsulationKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DecodedDecapsulationKey<{}>(..)", P::NAME)
    }
}
