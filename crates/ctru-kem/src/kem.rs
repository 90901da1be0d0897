//! The KEM (paper, Algorithms 4 to 6), from bytes to bytes, for one operation or `N` at a time.
//!
//! Operations take keys whose polynomials are decoded, so that a key that serves many operations is
//! decoded once. A decapsulation key in bytes is `f || encapsulation key || z`: the packed secret
//! polynomial, the encoded public polynomial `h = g / f`, and the secret of implicit rejection.

use core::hint::black_box;
use core::{array, fmt};

use ctru_math::array::Array;
use ctru_math::codec::secret_poly;
use ctru_math::invert::invert;
use ctru_math::mul::Multiplier;
use ctru_math::{Poly, Ring, SmallPoly};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::encoding::Encode;
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey};
use crate::hash::{self, Hashed, Id, SEED_BYTES, SHARED_SECRET_BYTES};
use crate::pke::{self, KeyPolynomials};
use crate::wipe::{Secret, wipe};

/// 32 bytes that follow from nothing public: a seed or `z`.
type Seed = [u8; SEED_BYTES];
/// The bytes of a shared secret.
type SecretBytes = [u8; SHARED_SECRET_BYTES];

/// An encapsulation key as polynomial and `ID(pk)`.
#[cfg_attr(not(feature = "std"), expect(unreachable_pub, reason = "engines name it"))]
pub struct DecodedEncapsulationKey<R: Ring> {
    h: Poly<R>,
    id: Id,
}

/// A decapsulation key as polynomials, wiped when dropped.
#[cfg_attr(not(feature = "std"), expect(unreachable_pub, reason = "engines name it"))]
pub struct DecodedDecapsulationKey<R: Ring> {
    f: SmallPoly<R>,
    z: Secret<Seed>,
    public: DecodedEncapsulationKey<R>,
}

impl<R: Ring> fmt::Debug for DecodedEncapsulationKey<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DecodedEncapsulationKey(..)")
    }
}

impl<R: Ring> fmt::Debug for DecodedDecapsulationKey<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DecodedDecapsulationKey(..)")
    }
}

impl<R: Ring> DecodedEncapsulationKey<R> {
    /// Decodes a key that [`check_encapsulation_key`] accepts.
    pub(crate) fn new<E: Encode>(key: &E::Bytes<R>) -> Self {
        let id = *key.as_ref().first_chunk().expect("a key is longer than its id");
        Self { h: E::decode_validated(key), id }
    }

    /// Encapsulates once.
    pub(crate) fn encapsulate(
        &self,
        seed: &Seed,
        ciphertext: &mut R::CiphertextBytes,
        secret: &mut SecretBytes,
    ) {
        encapsulate([self], [seed], array::from_mut(ciphertext), array::from_mut(secret));
    }
}

impl<R: Ring> DecodedDecapsulationKey<R> {
    /// Decodes a key that [`check_decapsulation_key`] accepts.
    pub(crate) fn new<E: Encode>(key: &[u8]) -> Self {
        let Parts { f, public, z } = Parts::<R, E>::of(key);
        Self {
            f: secret_poly::unpack::<R>(&f).expect("a validated decapsulation key"),
            z,
            public: DecodedEncapsulationKey::new::<E>(&public),
        }
    }

    /// Decapsulates once.
    pub(crate) fn decapsulate(&self, ciphertext: &R::CiphertextBytes, secret: &mut SecretBytes) {
        decapsulate([self], array::from_ref(ciphertext), array::from_mut(secret));
    }

    /// Checks that `h f` is not 0 and that key generation can sample it.
    pub(crate) fn check(&self) -> Result<(), InvalidDecapsulationKey> {
        let (q, eta) = (R::Q as u16, R::ETA as u16);
        let g = Multiplier::new().mul_small(&self.public.h, &self.f);
        let (mut faults, mut bits) = (0, 0);
        for &c in g.coefficients() {
            // Both differences have the highest bit set only where eta < c < q - eta.
            faults |= eta.wrapping_sub(c) & c.wrapping_sub(q - eta);
            bits |= c;
        }
        // Without the barriers the compiler could leave the loop at the first fault.
        let consistent = black_box(faults >> 15).ct_eq(&0) & !black_box(bits).ct_eq(&0);
        if consistent.into() { Ok(()) } else { Err(InvalidDecapsulationKey::Inconsistent) }
    }

    /// Checks the key, then encapsulates to it and decapsulates.
    pub(crate) fn pairwise_test(&self, seed: &Seed) -> Result<(), InvalidDecapsulationKey> {
        self.check()?;
        let mut ciphertext = R::CiphertextBytes::zeroed();
        let (mut sent, mut received) = (Secret::<SecretBytes>::zeroed(), Secret::zeroed());
        self.public.encapsulate(seed, &mut ciphertext, &mut sent);
        self.decapsulate(&ciphertext, &mut received);
        if sent.ct_eq(&*received).into() {
            Ok(())
        } else {
            Err(InvalidDecapsulationKey::PairwiseTest)
        }
    }
}

/// Copies of the parts of a decapsulation key.
struct Parts<R: Ring, E: Encode> {
    f: Secret<R::SecretPolyBytes>,
    public: E::Bytes<R>,
    z: Secret<Seed>,
}

impl<R: Ring, E: Encode> Parts<R, E> {
    fn of(key: &[u8]) -> Self {
        let (f, rest) = key.split_at(R::SECRET_POLY_BYTES);
        let (public, z) = rest.split_at(E::Bytes::<R>::LEN);
        let mut public_part = E::Bytes::<R>::zeroed();
        public_part.as_mut().copy_from_slice(public);
        Self { f: Secret::copied(f), public: public_part, z: Secret::copied(z) }
    }
}

/// Writes a decapsulation key that consists of these parts.
fn write_parts<R: Ring>(key: &mut [u8], f: &SmallPoly<R>, public: &[u8], z: &Seed) {
    let (f_bytes, rest) = key.split_at_mut(R::SECRET_POLY_BYTES);
    let (public_bytes, z_bytes) = rest.split_at_mut(public.len());
    let mut packed = secret_poly::pack(f);
    f_bytes.copy_from_slice(packed.as_ref());
    wipe(packed.as_mut(), 0);
    public_bytes.copy_from_slice(public);
    z_bytes.copy_from_slice(z);
}

/// Checks that bytes are the encoding of a polynomial other than 0.
pub(crate) fn check_encapsulation_key<R: Ring, E: Encode>(
    key: &E::Bytes<R>,
) -> Result<(), InvalidEncapsulationKey> {
    let h = E::decode::<R>(key)?;
    if h.coefficients().iter().all(|&c| c == 0) {
        Err(InvalidEncapsulationKey::Zero)
    } else {
        Ok(())
    }
}

/// Checks that bytes of the right number are a decapsulation key. Whether its parts belong together
/// is what [`DecodedDecapsulationKey::check`] checks.
pub(crate) fn check_decapsulation_key<R: Ring, E: Encode>(
    key: &[u8],
) -> Result<(), InvalidDecapsulationKey> {
    let Parts { f, public, .. } = Parts::<R, E>::of(key);
    secret_poly::unpack::<R>(&f).map_err(|_| InvalidDecapsulationKey::SecretPolynomial)?;
    check_encapsulation_key::<R, E>(&public).map_err(InvalidDecapsulationKey::PublicPart)
}

/// Returns the encoding of `h = 0`.
pub(crate) fn encapsulation_placeholder<R: Ring, E: Encode>() -> E::Bytes<R> {
    E::encode(&Poly::<R>::zero())
}

/// Writes the decapsulation key of `f = 1`, `h = 0` and `z = 0`.
pub(crate) fn write_decapsulation_placeholder<R: Ring, E: Encode>(key: &mut [u8]) {
    let public = encapsulation_placeholder::<R, E>();
    write_parts(key, &SmallPoly::<R>::one(), public.as_ref(), &[0; SEED_BYTES]);
}

/// Generates the decapsulation key of a seed and a rejection secret `z` (Algorithm 4).
pub(crate) fn generate<R: Ring, E: Encode>(seed: &Seed, z: &Seed, key: &mut [u8]) {
    let [polynomials] = pke::sample_keys::<R, 1>([seed]);
    let inverse = invert(&Poly::from(&polynomials.f))
        .expect("f(0) is odd and small, so f is not zero, and R_q is a field");
    assemble::<R, E>(&mut Multiplier::new(), &polynomials, &inverse, z, key);
}

/// Writes the decapsulation key of `f`, `g`, `f^-1` and `z`. Returns its encapsulation key.
pub(crate) fn assemble<R: Ring, E: Encode>(
    multiplier: &mut Multiplier<R>,
    KeyPolynomials { f, g }: &KeyPolynomials<R>,
    inverse: &Poly<R>,
    z: &Seed,
    key: &mut [u8],
) -> E::Bytes<R> {
    let public = E::encode(&multiplier.mul_small(inverse, g));
    write_parts(key, f, public.as_ref(), z);
    public
}

/// Encapsulates the messages `SHAKE256(seed)` (Algorithm 5), `N` operations that share their
/// hashing. The caller wipes the secrets.
pub(crate) fn encapsulate<R: Ring, const N: usize>(
    keys: [&DecodedEncapsulationKey<R>; N],
    seeds: [&Seed; N],
    ciphertexts: &mut [R::CiphertextBytes; N],
    secrets: &mut [SecretBytes; N],
) {
    let messages = hash::fresh_messages::<R, N>(seeds);
    let hashed = hash::messages::<R, N>(keys.map(|key| &key.id), &messages);
    let mut multiplier = Multiplier::new();
    for i in 0..N {
        let Hashed { coins, .. } = &hashed[i];
        pke::encrypt(&mut multiplier, &keys[i].h, &messages[i], coins, &mut ciphertexts[i]);
        secrets[i] = *hashed[i].secret();
    }
}

/// Decapsulates (Algorithm 6), `N` operations that share their hashing. Only the result depends on
/// whether a ciphertext is rejected. The caller wipes the secrets.
pub(crate) fn decapsulate<R: Ring, const N: usize>(
    keys: [&DecodedDecapsulationKey<R>; N],
    ciphertexts: &[R::CiphertextBytes; N],
    secrets: &mut [SecretBytes; N],
) {
    let mut multiplier = Multiplier::new();
    let mut messages: [_; N] = array::from_fn(|_| Secret::zeroed());
    for i in 0..N {
        pke::decrypt(&mut multiplier, &keys[i].f, &ciphertexts[i], &mut messages[i]);
    }
    let (ids, z) = (keys.map(|key| &key.public.id), keys.map(|key| &*key.z));
    let mut hashed = array::from_fn(|_| Hashed::<R>::new());
    let mut rejected = array::from_fn(|_| Secret::zeroed());
    let received = ciphertexts.each_ref();
    hash::decapsulations::<R, N>(ids, &messages, z, received, &mut hashed, &mut rejected);
    let mut expected = Secret::zeroed();
    for i in 0..N {
        let Hashed { coins, .. } = &hashed[i];
        pke::encrypt(&mut multiplier, &keys[i].public.h, &messages[i], coins, &mut expected);
        let accepted = equal(expected.as_ref(), ciphertexts[i].as_ref());
        let candidates = rejected[i].iter().zip(hashed[i].secret());
        for (chosen, (rejected, secret)) in secrets[i].iter_mut().zip(candidates) {
            *chosen = u8::conditional_select(rejected, secret, accepted);
        }
    }
}

/// Returns whether all bytes are equal, in constant time. It compares whole vectors, where `subtle`
/// compares single bytes.
fn equal(a: &[u8], b: &[u8]) -> Choice {
    let difference = a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b));
    // Without the barrier the compiler could leave the loop at the first difference.
    black_box(difference).ct_eq(&0)
}
