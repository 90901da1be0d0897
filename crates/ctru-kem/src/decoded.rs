//! Encapsulation and decapsulation: with keys, and with decoded keys for people who use one many
//! times.

use core::fmt;

use rand_core::{CryptoRng, TryCryptoRng};

use crate::hash::SEED_BYTES;
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::ParameterSet;
use crate::scheme::{DecodedPrivate, DecodedPublic};
use crate::source::with_source;

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
pub struct DecodedEncapsulationKey<P: ParameterSet>(DecodedPublic<P>);

/// A decapsulation key in the form in which the arithmetic needs it, wiped when dropped. It gives
/// the results of the key that [`DecapsulationKey::decode`] has decoded.
pub struct DecodedDecapsulationKey<P: ParameterSet>(DecodedPrivate<P>);

/// Implements encapsulation for a type of keys.
macro_rules! encapsulation {
    ($type:ident, $key:ident => $decoded:expr) => {
        impl<P: ParameterSet> $type<P> {
            /// Encapsulates the shared secret that `seed` determines (CTRU-Prime: paper, Algorithm
            /// 5).
            ///
            /// The seed must be uniform and secret, and it must be used once.
            #[must_use]
            pub fn encapsulate_deterministic(
                &self,
                seed: &[u8; SEED_BYTES],
            ) -> (Ciphertext<P>, SharedSecret) {
                let $key = self;
                let mut sent = Default::default();
                let (ciphertext, secret): &mut (Ciphertext<P>, SharedSecret) = &mut sent;
                P::encapsulate($decoded, seed, ciphertext.as_mut_bytes(), &mut secret.bytes);
                sent
            }

            /// Encapsulates a fresh shared secret with random bytes of `rng`: 32 for CTRU-Prime,
            /// four times the degree of the ring for NTRU Prime, in one request.
            #[must_use]
            pub fn encapsulate_with_rng<G: CryptoRng + ?Sized>(
                &self,
                rng: &mut G,
            ) -> (Ciphertext<P>, SharedSecret) {
                let Ok(sent) = self.try_encapsulate_with_rng(rng);
                sent
            }

            /// Encapsulates a fresh shared secret with random bytes of a generator that can fail,
            /// as [`encapsulate_with_rng`](Self::encapsulate_with_rng) does.
            ///
            /// # Errors
            /// The error of the generator.
            pub fn try_encapsulate_with_rng<G: TryCryptoRng + ?Sized>(
                &self,
                rng: &mut G,
            ) -> Result<(Ciphertext<P>, SharedSecret), G::Error> {
                let $key = self;
                let mut sent = Default::default();
                let (ciphertext, secret): &mut (Ciphertext<P>, SharedSecret) = &mut sent;
                let (ciphertext, secret) = (ciphertext.as_mut_bytes(), &mut secret.bytes);
                with_source(rng, |source| {
                    P::encapsulate_from($decoded, source, ciphertext, secret)
                })?;
                Ok(sent)
            }

            /// Encapsulates a fresh shared secret with the operating system's randomness.
            ///
            /// # Errors
            /// [`getrandom::Error`] if the system provides no randomness.
            #[cfg(feature = "getrandom")]
            pub fn try_encapsulate(
                &self,
            ) -> Result<(Ciphertext<P>, SharedSecret), getrandom::Error> {
                self.try_encapsulate_with_rng(&mut getrandom::SysRng)
            }
        }
    };
}
encapsulation!(EncapsulationKey, key => &key.decode().0);
encapsulation!(DecodedEncapsulationKey, key => &key.0);

impl<P: ParameterSet> EncapsulationKey<P> {
    /// Decodes the key, for people who encapsulate to it many times.
    #[must_use]
    pub fn decode(&self) -> DecodedEncapsulationKey<P> {
        DecodedEncapsulationKey(P::decode_encapsulation_key(self.as_bytes()))
    }
}

impl<P: ParameterSet> DecapsulationKey<P> {
    /// Decodes the key, for people who decapsulate with it many times.
    #[must_use]
    pub fn decode(&self) -> DecodedDecapsulationKey<P> {
        DecodedDecapsulationKey(P::decode_decapsulation_key(self.as_bytes()))
    }

    /// Returns the shared secret of a ciphertext (CTRU-Prime: paper, Algorithm 6).
    ///
    /// If encapsulation to this key did not make the ciphertext, the function returns a
    /// pseudo-random secret that depends on the key and the ciphertext (implicit rejection).
    /// Neither the result nor the time shows whether the ciphertext was rejected.
    #[must_use]
    pub fn decapsulate(&self, ciphertext: &Ciphertext<P>) -> SharedSecret {
        self.decode().decapsulate(ciphertext)
    }
}

impl<P: ParameterSet> DecodedDecapsulationKey<P> {
    /// Returns the shared secret of a ciphertext, as [`DecapsulationKey::decapsulate`] does.
    #[must_use]
    pub fn decapsulate(&self, ciphertext: &Ciphertext<P>) -> SharedSecret {
        let mut secret = SharedSecret::default();
        P::decapsulate(&self.0, ciphertext.as_bytes(), &mut secret.bytes);
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
