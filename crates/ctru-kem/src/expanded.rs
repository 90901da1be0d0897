//! Keys decoded to polynomials, and the KEM on them (paper, Algorithms 4 to 6). What serves many operations is computed
//! once here.

use core::marker::PhantomData;

use ctru_math::codec::secret_poly;
use ctru_math::invert::invert;
use ctru_math::product::residue;
use ctru_math::{Poly, Ring, SmallPoly};
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::hash;
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::{KEY_ID_BYTES, ParameterSet, PublicKeyEncoding, SEED_BYTES};
use crate::pke;

/// An encapsulation key as polynomial and `ID(pk)`.
pub(crate) struct ExpandedEncapsulationKey<P: ParameterSet> {
    h: Poly<P::Ring>,
    id: [u8; KEY_ID_BYTES],
    parameter_set: PhantomData<P>,
}

/// A decapsulation key as polynomials.
pub(crate) struct ExpandedDecapsulationKey<P: ParameterSet> {
    f: SmallPoly<P::Ring>,
    z: Zeroizing<[u8; SEED_BYTES]>,
    public: ExpandedEncapsulationKey<P>,
}

impl<P: ParameterSet> ExpandedEncapsulationKey<P> {
    pub(crate) fn new(key: &EncapsulationKey<P>) -> Self {
        let mut id = [0; KEY_ID_BYTES];
        id.copy_from_slice(&key.as_bytes()[..KEY_ID_BYTES]);
        Self { h: P::Encoding::decode_validated(&key.bytes), id, parameter_set: PhantomData }
    }

    /// Algorithm 5 for the message `SHAKE256(seed)`.
    pub(crate) fn encapsulate(&self, seed: &[u8; SEED_BYTES]) -> (Ciphertext<P>, SharedSecret) {
        let message = hash::read::<<P::Ring as Ring>::MessageBytes>(&mut hash::shake256(&[seed]));
        let (secret, seed) = hash::secret_and_seed(&self.id, message.array.as_ref());
        let bytes = pke::encrypt(&self.h, &message.array, &seed);
        (Ciphertext { bytes }, SharedSecret::new(&secret))
    }
}

impl<P: ParameterSet> ExpandedDecapsulationKey<P> {
    pub(crate) fn new(key: &DecapsulationKey<P>) -> Self {
        let (f, public, z) = key.parts();
        Self {
            f: secret_poly::unpack(&f.array).expect("a validated decapsulation key"),
            z,
            public: ExpandedEncapsulationKey::new(&public),
        }
    }

    /// Algorithm 6. Whether the ciphertext is rejected shows in nothing but the result.
    pub(crate) fn decapsulate(&self, ciphertext: &Ciphertext<P>) -> SharedSecret {
        let ExpandedEncapsulationKey { h, id, .. } = &self.public;
        let message = pke::decrypt(&self.f, &ciphertext.bytes);
        let (secret, seed) = hash::secret_and_seed(id, message.array.as_ref());
        let expected = Zeroizing::new(hash::Bytes { array: pke::encrypt(h, &message.array, &seed) });
        let rejection = hash::rejection_secret(id, &self.z, ciphertext.as_bytes());
        let accepted = expected.array.as_ref().ct_eq(ciphertext.as_bytes());
        let mut chosen = Zeroizing::new([0; SEED_BYTES]);
        for (chosen, (rejection, secret)) in chosen.iter_mut().zip(rejection.iter().zip(secret.iter())) {
            *chosen = u8::conditional_select(rejection, secret, accepted);
        }
        SharedSecret::new(&chosen)
    }
}

/// Algorithm 4: the key pair of a seed and a rejection secret `z`.
pub(crate) fn generate<P: ParameterSet>(
    seed: &[u8; SEED_BYTES],
    z: &[u8; SEED_BYTES],
) -> (EncapsulationKey<P>, DecapsulationKey<P>) {
    let (f, g) = pke::sample_key::<P::Ring>(seed);
    let inverse =
        invert(&Poly::from(&f)).expect("f(0) is odd and small, so f is not zero, and R_q is a field");
    assemble(&f, &g, &inverse, z)
}

/// The key pair for `f`, `g` and `f^-1`.
pub(crate) fn assemble<P: ParameterSet>(
    f: &SmallPoly<P::Ring>,
    g: &SmallPoly<P::Ring>,
    inverse: &Poly<P::Ring>,
    z: &[u8; SEED_BYTES],
) -> (EncapsulationKey<P>, DecapsulationKey<P>) {
    let h = residue::mul_small(inverse, g);
    let public = EncapsulationKey { bytes: P::Encoding::encode(&h) };
    let secret = DecapsulationKey::from_parts(&secret_poly::pack(f), &public, z);
    (public, secret)
}
