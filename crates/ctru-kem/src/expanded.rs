//! Keys decoded to polynomials, and the KEM on them (paper, Algorithms 4 to 6). What serves many operations is computed
//! once here.

use core::array;
use core::hint::black_box;
use core::marker::PhantomData;

use ctru_math::codec::secret_poly;
use ctru_math::invert::invert;
use ctru_math::mul::Multiplier;
use ctru_math::{Poly, Ring, SmallPoly};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::error::InvalidDecapsulationKey;
use crate::hash::{self, Hashed, Id};
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, Parts, SharedSecret};
use crate::params::{ParameterSet, PublicKeyEncoding, SEED_BYTES};
use crate::pke::{self, KeyPolynomials};
use crate::wipe::Secret;

/// An encapsulation key as polynomial and `ID(pk)`.
pub(crate) struct ExpandedEncapsulationKey<P: ParameterSet> {
    h: Poly<P::Ring>,
    id: Id,
    parameter_set: PhantomData<P>,
}

/// A decapsulation key as polynomials.
pub(crate) struct ExpandedDecapsulationKey<P: ParameterSet> {
    f: SmallPoly<P::Ring>,
    z: Secret<[u8; SEED_BYTES]>,
    pub(crate) public: ExpandedEncapsulationKey<P>,
}

impl<P: ParameterSet> ExpandedEncapsulationKey<P> {
    pub(crate) fn new(key: &EncapsulationKey<P>) -> Self {
        let id = *key.as_bytes().first_chunk().expect("a key is longer than its id");
        Self { h: P::Encoding::decode_validated(&key.bytes), id, parameter_set: PhantomData }
    }

    /// One operation.
    pub(crate) fn encapsulate(&self, seed: &[u8; SEED_BYTES]) -> (Ciphertext<P>, SharedSecret) {
        let mut sent = Default::default();
        let (ciphertext, secret): &mut (_, _) = &mut sent;
        encapsulate([self], [seed], array::from_mut(ciphertext), array::from_mut(secret));
        sent
    }
}

impl<P: ParameterSet> ExpandedDecapsulationKey<P> {
    pub(crate) fn new(key: &DecapsulationKey<P>) -> Self {
        let Parts { f, public, z } = key.parts();
        Self {
            f: secret_poly::unpack::<P::Ring>(&f).expect("a validated decapsulation key"),
            z,
            public: ExpandedEncapsulationKey::new(&public),
        }
    }

    /// One operation.
    pub(crate) fn decapsulate(&self, ciphertext: &Ciphertext<P>) -> SharedSecret {
        let mut secret = SharedSecret::default();
        decapsulate([self], [ciphertext], array::from_mut(&mut secret));
        secret
    }

    /// Checks that `h f` is not 0 and that sampling can give it.
    pub(crate) fn check(&self) -> Result<(), InvalidDecapsulationKey> {
        let (q, eta) = (P::Ring::Q as u16, P::Ring::ETA as u16);
        let g = Multiplier::new().mul_small(&self.public.h, &self.f);
        let (mut faults, mut bits) = (0, 0);
        for &c in g.coefficients() {
            // The highest bit is set for eta < c and c < q - eta together.
            faults |= eta.wrapping_sub(c) & c.wrapping_sub(q - eta);
            bits |= c;
        }
        // The compiler must not know what matters before all coefficients are looked at.
        let consistent = black_box(faults >> 15).ct_eq(&0) & !black_box(bits).ct_eq(&0);
        if consistent.into() { Ok(()) } else { Err(InvalidDecapsulationKey::Inconsistent) }
    }
}

/// Algorithm 5 for the messages `SHAKE256(seed)`: as many operations as share their hashing.
/// Secrets are written to where their owner wipes them.
pub(crate) fn encapsulate<P: ParameterSet, const N: usize>(
    keys: [&ExpandedEncapsulationKey<P>; N],
    seeds: [&[u8; SEED_BYTES]; N],
    ciphertexts: &mut [Ciphertext<P>; N],
    secrets: &mut [SharedSecret; N],
) {
    let messages = hash::fresh_messages::<P::Ring, N>(seeds);
    let hashed = hash::messages::<P::Ring, N>(keys.map(|key| &key.id), &messages);
    let mut multiplier = Multiplier::new();
    for i in 0..N {
        let Hashed { coins, .. } = &hashed[i];
        pke::encrypt(&mut multiplier, &keys[i].h, &messages[i], coins, &mut ciphertexts[i].bytes);
        secrets[i].bytes = *hashed[i].secret();
    }
}

/// Algorithm 6. Whether a ciphertext is rejected shows in nothing but the result.
pub(crate) fn decapsulate<P: ParameterSet, const N: usize>(
    keys: [&ExpandedDecapsulationKey<P>; N],
    ciphertexts: [&Ciphertext<P>; N],
    secrets: &mut [SharedSecret; N],
) {
    let ciphertexts = ciphertexts.map(|ciphertext| &ciphertext.bytes);
    let mut multiplier = Multiplier::new();
    let mut messages: [_; N] = array::from_fn(|_| Secret::zeroed());
    for i in 0..N {
        pke::decrypt(&mut multiplier, &keys[i].f, ciphertexts[i], &mut messages[i]);
    }
    let (ids, z) = (keys.map(|key| &key.public.id), keys.map(|key| &*key.z));
    let mut hashed = array::from_fn(|_| Hashed::<P::Ring>::new());
    let mut rejected = array::from_fn(|_| Secret::zeroed());
    hash::decapsulations::<P::Ring, N>(ids, &messages, z, ciphertexts, &mut hashed, &mut rejected);
    let mut expected = Secret::zeroed();
    for i in 0..N {
        let Hashed { coins, .. } = &hashed[i];
        pke::encrypt(&mut multiplier, &keys[i].public.h, &messages[i], coins, &mut expected);
        let accepted = equal(expected.as_ref(), ciphertexts[i].as_ref());
        let candidates = rejected[i].iter().zip(hashed[i].secret());
        for (chosen, (rejected, secret)) in secrets[i].bytes.iter_mut().zip(candidates) {
            *chosen = u8::conditional_select(rejected, secret, accepted);
        }
    }
}

/// Whether all bytes are equal, in a time that tells nothing. Whole vectors at a time: `subtle` looks at bytes one by one.
fn equal(a: &[u8], b: &[u8]) -> Choice {
    let difference = a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b));
    // The compiler must not know that only zero matters before all bytes are looked at.
    black_box(difference).ct_eq(&0)
}

/// Algorithm 4: makes `key` that of a seed and a rejection secret `z`.
pub(crate) fn generate<P: ParameterSet>(
    seed: &[u8; SEED_BYTES],
    z: &[u8; SEED_BYTES],
    key: &mut DecapsulationKey<P>,
) {
    let [polynomials] = pke::sample_keys::<P::Ring, 1>([seed]);
    let inverse = invert(&Poly::from(&polynomials.f))
        .expect("f(0) is odd and small, so f is not zero, and R_q is a field");
    assemble(&mut Multiplier::new(), &polynomials, &inverse, z, key);
}

/// Makes `key` that of `f`, `g`, `f^-1` and `z`. Returns its public part.
pub(crate) fn assemble<P: ParameterSet>(
    multiplier: &mut Multiplier<P::Ring>,
    KeyPolynomials { f, g }: &KeyPolynomials<P::Ring>,
    inverse: &Poly<P::Ring>,
    z: &[u8; SEED_BYTES],
    key: &mut DecapsulationKey<P>,
) -> EncapsulationKey<P> {
    let h = multiplier.mul_small(inverse, g);
    let public = EncapsulationKey { bytes: P::Encoding::encode(&h) };
    key.set_parts(f, &public, z);
    public
}
