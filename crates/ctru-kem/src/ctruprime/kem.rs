//! CTRU-Prime (paper, Algorithms 4 to 6), from bytes to bytes. The bytes of a decapsulation key are
//! `f || encapsulation key || z`: the packed secret polynomial, the encoded polynomial `h = g / f`,
//! and the secret of implicit rejection.

use core::array;
use core::hint::black_box;
use core::marker::PhantomData;

#[cfg(feature = "std")]
use ctru_math::array::Array;
use ctru_math::codec::secret_poly;
use ctru_math::invert::invert;
use ctru_math::mul::Multiplier;
use ctru_math::{Arithmetic, Poly, SmallPoly};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use super::layout::{Parts, assemble, write_parts};
use super::pke::{self, KeyPolynomials};
#[cfg(feature = "std")]
use crate::batch::Seeds;
use crate::encoding::Encode;
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey};
use crate::hash::{self, Hashed, Id, KEY_PAIR_SEED_BYTES, SEED_BYTES};
use crate::scheme::{Scheme, SecretBytes, Seed, one, one_mut};
use crate::source::{NoRandomness, Source};
use crate::wipe::{Secret, wipe_stack};

/// CTRU-Prime on the ring `R` with the encoding `E` of encapsulation keys.
#[derive(Debug)]
pub struct CtruPrime<R, E>(PhantomData<(R, E)>);

/// A decoded encapsulation key: the polynomial `h` and `ID(pk)`.
#[allow(missing_debug_implementations, reason = "the public type around it has one")]
pub struct DecodedEncapsulationKey<R: Arithmetic> {
    h: Poly<R>,
    id: Id,
}

/// A decoded decapsulation key: the secret polynomial `f`, the secret `z` of implicit rejection,
/// and the decoded encapsulation key. Wiped when dropped.
#[allow(missing_debug_implementations, reason = "the public type around it has one")]
pub struct DecodedDecapsulationKey<R: Arithmetic> {
    f: SmallPoly<R>,
    z: Secret<Seed>,
    encapsulation_key: DecodedEncapsulationKey<R>,
}

/// Returns how many decapsulation keys this thread has decoded. For tests, in builds with debug
/// assertions only.
#[doc(hidden)]
#[cfg(all(feature = "std", debug_assertions))]
pub fn decoded_keys() -> usize {
    DECODED.get()
}

#[cfg(all(feature = "std", debug_assertions))]
std::thread_local! {
    static DECODED: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

fn count_decoding() {
    #[cfg(all(feature = "std", debug_assertions))]
    DECODED.set(DECODED.get() + 1);
}

impl<R: Arithmetic, E: Encode> Scheme for CtruPrime<R, E> {
    type EncapsulationKeyBytes = E::Bytes<R>;
    type Public = DecodedEncapsulationKey<R>;
    type Private = DecodedDecapsulationKey<R>;

    const DEGREE: usize = R::N;
    const MODULUS: u32 = R::Q;
    const KEY_PAIR_SEED_BYTES: usize = KEY_PAIR_SEED_BYTES;
    const SECRET_BYTES: usize = R::SECRET_POLY_BYTES;
    #[cfg(feature = "std")]
    const EXPAND_CODE: u8 = E::ENCODING as u8;

    /// The 64 bytes are `SHAKE256(name || " key v1" || seed)`.
    fn expand_key_pair_seed(name: &str, seed: &Seed, pair: &mut [u8; KEY_PAIR_SEED_BYTES]) {
        hash::shake256([[name.as_bytes(), b" key v1", seed]], [pair]);
    }

    fn generate(seed: &Seed, z: &Seed, key: &mut [u8]) {
        let polynomials = sample_key::<R>(seed);
        wipe_stack::<{ 8 << 10 }>();
        let inverse = invert(&Poly::from(&polynomials.f))
            .expect("f(0) is odd and small, so f is not zero, and R_q is a field");
        assemble::<R, E>(&mut Multiplier::new(), &polynomials, &inverse, z, key);
    }

    fn generate_from(source: Source<'_>, key: &mut [u8]) -> Result<(), NoRandomness> {
        let (mut seed, mut z) = (Secret::<Seed>::zeroed(), Secret::<Seed>::zeroed());
        source(&mut *seed)?;
        source(&mut *z)?;
        Self::generate(&seed, &z, key);
        Ok(())
    }

    #[cfg(feature = "std")]
    fn generate_together<K: Array<u8>>(
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        first: usize,
        encapsulation_keys: &mut [E::Bytes<R>],
        decapsulation_keys: &mut [K],
    ) {
        let (public, private) = (encapsulation_keys, decapsulation_keys);
        super::together::generate_together::<R, E, K>(
            (seeds, Self::KEY_GENERATION),
            first,
            public,
            private,
        );
    }

    fn public(key: &E::Bytes<R>) -> Self::Public {
        DecodedEncapsulationKey { h: E::decode_validated(key), id: *id_of(key) }
    }

    fn read_public(key: &E::Bytes<R>) -> Result<Self::Public, InvalidEncapsulationKey> {
        let h = E::decode::<R>(key)?;
        if h.coefficients().iter().all(|&c| c == 0) {
            return Err(InvalidEncapsulationKey::Zero);
        }
        Ok(DecodedEncapsulationKey { h, id: *id_of(key) })
    }

    #[cfg(feature = "std")]
    fn no_public() -> Self::Public {
        DecodedEncapsulationKey { h: Poly::zero(), id: hash::NO_ID }
    }

    fn private(key: &[u8]) -> Self::Private {
        count_decoding();
        let mut parts = Parts::<R, E>::zeroed();
        parts.copy_from(key);
        let mut decoded = DecodedDecapsulationKey {
            f: secret_poly::unpack::<R>(&parts.f).expect("a validated decapsulation key"),
            z: Secret::zeroed(),
            encapsulation_key: Self::public(&parts.encapsulation_key),
        };
        decoded.z.copy_from(parts.z.as_slice());
        decoded
    }

    /// Does not check that the two polynomials belong together; `check` does.
    fn read_private(key: &[u8]) -> Result<Self::Private, InvalidDecapsulationKey> {
        count_decoding();
        let mut parts = Parts::<R, E>::zeroed();
        parts.copy_from(key);
        let f = secret_poly::unpack::<R>(&parts.f)
            .map_err(|_| InvalidDecapsulationKey::SecretPolynomial)?;
        let encapsulation_key = Self::read_public(&parts.encapsulation_key)
            .map_err(InvalidDecapsulationKey::EncapsulationKey)?;
        let mut decoded = DecodedDecapsulationKey { f, z: Secret::zeroed(), encapsulation_key };
        decoded.z.copy_from(parts.z.as_slice());
        Ok(decoded)
    }

    #[cfg(feature = "std")]
    fn no_private() -> Self::Private {
        DecodedDecapsulationKey {
            f: SmallPoly::zero(),
            z: Secret::zeroed(),
            encapsulation_key: Self::no_public(),
        }
    }

    fn public_of(key: &Self::Private) -> &Self::Public {
        &key.encapsulation_key
    }

    #[cfg(feature = "std")]
    fn id(key: &Self::Public) -> Id {
        key.id
    }

    /// Checks that key generation can sample `g = h f`: that `g` is not 0 and that all its
    /// coefficients are in `-eta..=eta` modulo `q`.
    fn check(key: &Self::Private) -> Result<(), InvalidDecapsulationKey> {
        let (q, eta) = (R::Q as u16, R::ETA as u16);
        let g = Multiplier::new().mul_small(&key.encapsulation_key.h, &key.f);
        let (mut faults, mut bits) = (0, 0);
        for &c in g.coefficients() {
            // Both differences have the highest bit set if and only if eta < c < q - eta.
            faults |= eta.wrapping_sub(c) & c.wrapping_sub(q - eta);
            bits |= c;
        }
        // Without the barriers, the compiler could leave the loop at the first fault, and the time
        // would depend on its position.
        let consistent = black_box(faults >> 15).ct_eq(&0) & !black_box(bits).ct_eq(&0);
        if consistent.into() { Ok(()) } else { Err(InvalidDecapsulationKey::Inconsistent) }
    }

    /// Writes the encoding of `h = 0`.
    fn write_encapsulation_placeholder(key: &mut [u8]) {
        key.copy_from_slice(E::encode(&Poly::<R>::zero()).as_ref());
    }

    /// Writes the decapsulation key of `f = 1`, `h = 0` and `z = 0`.
    fn write_decapsulation_placeholder(key: &mut [u8]) {
        let h = E::encode(&Poly::<R>::zero());
        write_parts(key, &SmallPoly::<R>::one(), h.as_ref(), &[0; SEED_BYTES]);
    }

    /// Encapsulates the message `SHAKE256(seed)` for each operation. They are hashed together
    /// (Algorithm 5).
    fn encapsulate<const N: usize>(
        keys: [&Self::Public; N],
        seeds: [&Seed; N],
        ciphertexts: [&mut [u8]; N],
        secrets: &mut [SecretBytes; N],
    ) {
        let mut messages = array::from_fn(|_| Secret::zeroed());
        hash::fresh_messages::<R, N>(seeds, &mut messages);
        let mut hashed = array::from_fn(|_| Hashed::new());
        hash::messages::<R, N>(keys.map(|key| &key.id), &messages, &mut hashed);
        let mut multiplier = Multiplier::new();
        for (i, ciphertext) in ciphertexts.into_iter().enumerate() {
            let Hashed { coins, .. } = &hashed[i];
            let ciphertext = one_mut(ciphertext);
            pke::encrypt(&mut multiplier, &keys[i].h, &messages[i], coins, ciphertext);
            secrets[i] = *hashed[i].secret();
        }
    }

    fn encapsulate_from(
        key: &Self::Public,
        source: Source<'_>,
        ciphertext: &mut [u8],
        secret: &mut SecretBytes,
    ) -> Result<(), NoRandomness> {
        let mut seed = Secret::<Seed>::zeroed();
        source(&mut *seed)?;
        Self::encapsulate([key], [&seed], [ciphertext], array::from_mut(secret));
        Ok(())
    }

    /// Decapsulates (Algorithm 6). The ciphertexts are hashed together.
    fn decapsulate<const N: usize>(
        keys: [&Self::Private; N],
        ciphertexts: [&[u8]; N],
        secrets: &mut [SecretBytes; N],
    ) {
        let ciphertexts: [&R::CiphertextBytes; N] = ciphertexts.map(one);
        let mut multiplier = Multiplier::new();
        let mut messages: [_; N] = array::from_fn(|_| Secret::zeroed());
        for i in 0..N {
            pke::decrypt(&mut multiplier, &keys[i].f, ciphertexts[i], &mut messages[i]);
        }
        let (ids, z) = (keys.map(|key| &key.encapsulation_key.id), keys.map(|key| &*key.z));
        let mut hashed = array::from_fn(|_| Hashed::<R>::new());
        let mut rejected = array::from_fn(|_| Secret::zeroed());
        let (hashes, secrets_if_rejected) = (&mut hashed, &mut rejected);
        hash::decapsulations::<R, N>(ids, &messages, z, ciphertexts, hashes, secrets_if_rejected);
        let mut expected = Secret::zeroed();
        for i in 0..N {
            let Hashed { coins, .. } = &hashed[i];
            let h = &keys[i].encapsulation_key.h;
            pke::encrypt(&mut multiplier, h, &messages[i], coins, &mut expected);
            let accepted = equal(expected.as_ref(), ciphertexts[i].as_ref());
            let candidates = rejected[i].iter().zip(hashed[i].secret());
            for (chosen, (rejected, secret)) in secrets[i].iter_mut().zip(candidates) {
                *chosen = u8::conditional_select(rejected, secret, accepted);
            }
        }
    }
}

/// Returns the bytes of an encoded encapsulation key that are `ID(pk)`.
fn id_of(key: &impl AsRef<[u8]>) -> &Id {
    key.as_ref().first_chunk().expect("a key is longer than its id")
}

/// Samples the polynomials of a key pair from `seed`.
///
/// This is a function of its own, so that [`wipe_stack`] reaches what its calls leave on the stack.
#[inline(never)]
fn sample_key<R: Arithmetic>(seed: &Seed) -> KeyPolynomials<R> {
    let mut coins = [[Secret::zeroed(), Secret::zeroed()]];
    hash::key_coins::<R, 1>([seed], &mut coins);
    KeyPolynomials::sample(&coins[0])
}

/// Returns whether all bytes are equal, in constant time. The compiler compares whole vectors,
/// while `subtle` compares single bytes.
fn equal(a: &[u8], b: &[u8]) -> Choice {
    let difference = a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b));
    // Without the barrier, the compiler could leave the loop at the first difference.
    black_box(difference).ct_eq(&0)
}
