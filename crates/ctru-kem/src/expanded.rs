//! Keys decoded to polynomials, and the KEM on them (paper, Algorithms 4 to 6). What serves many operations is computed
//! once here.

use core::array;
use core::hint::black_box;
use core::marker::PhantomData;

use ctru_math::codec::secret_poly;
use ctru_math::invert::invert;
use ctru_math::product::residue::Multiplier;
use ctru_math::{Poly, Ring, SmallPoly};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::error::InvalidDecapsulationKey;
use crate::hash::{self, Hashed, Id};
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, Parts, SharedSecret};
use crate::params::{ParameterSet, PublicKeyEncoding, SEED_BYTES, SHARED_SECRET_BYTES};
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
pub(crate) fn encapsulate<P: ParameterSet, const N: usize>(
    keys: [&ExpandedEncapsulationKey<P>; N],
    seeds: [&[u8; SEED_BYTES]; N],
) -> [(Ciphertext<P>, SharedSecret); N] {
    let messages = hash::fresh_messages::<P::Ring, N>(seeds);
    let hashed = hash::messages::<P::Ring, N>(keys.map(|key| &key.id), &messages);
    let mut multiplier = Multiplier::new();
    array::from_fn(|i| {
        let bytes = pke::encrypt(&mut multiplier, &keys[i].h, &messages[i], &hashed[i].coins);
        (Ciphertext { bytes }, SharedSecret::new(hashed[i].secret()))
    })
}

/// Algorithm 6. Whether a ciphertext is rejected shows in nothing but the result.
pub(crate) fn decapsulate<P: ParameterSet, const N: usize>(
    keys: [&ExpandedDecapsulationKey<P>; N],
    ciphertexts: [&Ciphertext<P>; N],
) -> [SharedSecret; N] {
    let ciphertexts = ciphertexts.map(|ciphertext| &ciphertext.bytes);
    let mut multiplier = Multiplier::new();
    let messages = array::from_fn(|i| pke::decrypt(&mut multiplier, &keys[i].f, ciphertexts[i]));
    let ids = keys.map(|key| &key.public.id);
    let (hashed, rejected) =
        hash::decapsulations::<P::Ring, N>(ids, &messages, keys.map(|key| &*key.z), ciphertexts);
    array::from_fn(|i| {
        let Hashed { coins, .. } = &hashed[i];
        let expected = Secret::new(pke::encrypt(&mut multiplier, &keys[i].public.h, &messages[i], coins));
        let accepted = equal(expected.as_ref(), ciphertexts[i].as_ref());
        let mut chosen = Secret::<[u8; SHARED_SECRET_BYTES]>::zeroed();
        for (chosen, (rejected, secret)) in chosen.iter_mut().zip(rejected[i].iter().zip(hashed[i].secret()))
        {
            *chosen = u8::conditional_select(rejected, secret, accepted);
        }
        SharedSecret::new(&chosen)
    })
}

/// Whether all bytes are equal, in a time that tells nothing. Whole vectors at a time: `subtle` looks at bytes one by one.
fn equal(a: &[u8], b: &[u8]) -> Choice {
    let difference = a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b));
    // The compiler must not know that only zero matters before all bytes are looked at.
    black_box(difference).ct_eq(&0)
}

/// Algorithm 4: the key pair of a seed and a rejection secret `z`.
pub(crate) fn generate<P: ParameterSet>(
    seed: &[u8; SEED_BYTES],
    z: &[u8; SEED_BYTES],
) -> (EncapsulationKey<P>, DecapsulationKey<P>) {
    let [polynomials] = pke::sample_keys::<P::Ring, 1>([seed]);
    let inverse = invert(&Poly::from(&polynomials.f))
        .expect("f(0) is odd and small, so f is not zero, and R_q is a field");
    assemble(&mut Multiplier::new(), &polynomials, &inverse, z)
}

/// The key pair for `f`, `g` and `f^-1`.
pub(crate) fn assemble<P: ParameterSet>(
    multiplier: &mut Multiplier<P::Ring>,
    KeyPolynomials { f, g }: &KeyPolynomials<P::Ring>,
    inverse: &Poly<P::Ring>,
    z: &[u8; SEED_BYTES],
) -> (EncapsulationKey<P>, DecapsulationKey<P>) {
    let h = multiplier.mul_small(inverse, g);
    let public = EncapsulationKey { bytes: P::Encoding::encode(&h) };
    let secret = DecapsulationKey::from_parts(&secret_poly::pack(f), &public, z);
    (public, secret)
}
