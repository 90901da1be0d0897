//! The KEM (paper, Algorithms 4 to 6), from bytes to bytes, for `N` operations at a time.
//!
//! Operations take decoded keys, so that a key that serves many operations is decoded once. The
//! bytes of a decapsulation key are `f || encapsulation key || z`: the packed secret polynomial,
//! the encoded polynomial `h = g / f`, and the secret of implicit rejection.

use core::hint::black_box;
use core::{array, fmt};

use ctru_math::array::Array;
use ctru_math::codec::secret_poly;
use ctru_math::invert::invert;
use ctru_math::mul::Multiplier;
use ctru_math::{Arithmetic, Poly, SmallPoly};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::encoding::Encode;
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey};
use crate::hash::{self, Hashed, Id, SEED_BYTES, SHARED_SECRET_BYTES};
use crate::pke::{self, KeyPolynomials};
use crate::wipe::{Secret, wipe, wipe_stack};

/// The 32 bytes of a seed or of `z`, the secret of implicit rejection.
type Seed = [u8; SEED_BYTES];
/// The bytes of a shared secret.
type SecretBytes = [u8; SHARED_SECRET_BYTES];

/// A decoded encapsulation key: the polynomial `h` and `ID(pk)`.
pub struct DecodedEncapsulationKey<R: Arithmetic> {
    h: Poly<R>,
    id: Id,
}

/// A decoded decapsulation key: the secret polynomial `f`, the secret `z` of implicit rejection,
/// and the decoded encapsulation key. Wiped when dropped.
pub struct DecodedDecapsulationKey<R: Arithmetic> {
    f: SmallPoly<R>,
    z: Secret<Seed>,
    encapsulation_key: DecodedEncapsulationKey<R>,
}

impl<R: Arithmetic> fmt::Debug for DecodedEncapsulationKey<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DecodedEncapsulationKey(..)")
    }
}

impl<R: Arithmetic> fmt::Debug for DecodedDecapsulationKey<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DecodedDecapsulationKey(..)")
    }
}

impl<R: Arithmetic> DecodedEncapsulationKey<R> {
    /// Decodes a key that [`read`](Self::read) accepts.
    pub(crate) fn new<E: Encode>(key: &E::Bytes<R>) -> Self {
        Self { h: E::decode_validated(key), id: *id_of(key) }
    }

    /// Decodes bytes after checking that they are the encoding of a polynomial other than 0.
    ///
    /// # Errors
    /// [`InvalidEncapsulationKey`] if they are not.
    pub(crate) fn read<E: Encode>(key: &E::Bytes<R>) -> Result<Self, InvalidEncapsulationKey> {
        let h = E::decode::<R>(key)?;
        if h.coefficients().iter().all(|&c| c == 0) {
            return Err(InvalidEncapsulationKey::Zero);
        }
        Ok(Self { h, id: *id_of(key) })
    }

    /// Returns zeros, which are not a key.
    #[cfg(feature = "std")]
    pub(crate) fn zeroed() -> Self {
        Self { h: Poly::zero(), id: hash::NO_ID }
    }

    /// Returns `ID(pk)`.
    #[cfg(feature = "std")]
    pub(crate) fn id(&self) -> &Id {
        &self.id
    }

    /// Encapsulates once, with the randomness of `seed`. The caller wipes the shared secret.
    pub(crate) fn encapsulate(
        &self,
        seed: &Seed,
        ciphertext: &mut R::CiphertextBytes,
        secret: &mut SecretBytes,
    ) {
        encapsulate([self], [seed], array::from_mut(ciphertext), array::from_mut(secret));
    }
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

impl<R: Arithmetic> DecodedDecapsulationKey<R> {
    /// Decodes a key that [`read`](Self::read) accepts.
    pub(crate) fn new<E: Encode>(key: &[u8]) -> Self {
        count_decoding();
        let mut parts = Parts::<R, E>::zeroed();
        parts.copy_from(key);
        let mut decoded = Self {
            f: secret_poly::unpack::<R>(&parts.f).expect("a validated decapsulation key"),
            z: Secret::zeroed(),
            encapsulation_key: DecodedEncapsulationKey::new::<E>(&parts.encapsulation_key),
        };
        decoded.z.copy_from(parts.z.as_slice());
        decoded
    }

    /// Decodes bytes after checking that the polynomials `f` and `h` are well formed. `key` has the
    /// length of a decapsulation key.
    ///
    /// The function does not check that the two polynomials belong together; [`check`](Self::check)
    /// does.
    ///
    /// # Errors
    /// [`InvalidDecapsulationKey`] if key generation cannot make the secret polynomial, or if the
    /// encapsulation key is invalid.
    pub(crate) fn read<E: Encode>(key: &[u8]) -> Result<Self, InvalidDecapsulationKey> {
        count_decoding();
        let mut parts = Parts::<R, E>::zeroed();
        parts.copy_from(key);
        let f = secret_poly::unpack::<R>(&parts.f)
            .map_err(|_| InvalidDecapsulationKey::SecretPolynomial)?;
        let encapsulation_key = DecodedEncapsulationKey::read::<E>(&parts.encapsulation_key)
            .map_err(InvalidDecapsulationKey::EncapsulationKey)?;
        let mut decoded = Self { f, z: Secret::zeroed(), encapsulation_key };
        decoded.z.copy_from(parts.z.as_slice());
        Ok(decoded)
    }

    /// Returns zeros, which are not a key.
    #[cfg(feature = "std")]
    pub(crate) fn zeroed() -> Self {
        let encapsulation_key = DecodedEncapsulationKey::zeroed();
        Self { f: SmallPoly::zero(), z: Secret::zeroed(), encapsulation_key }
    }

    /// Decapsulates once. The caller wipes the shared secret.
    pub(crate) fn decapsulate(&self, ciphertext: &R::CiphertextBytes, secret: &mut SecretBytes) {
        decapsulate([self], array::from_ref(ciphertext), array::from_mut(secret));
    }

    /// Checks that key generation can sample `g = h f`: that `g` is not 0 and that all its
    /// coefficients are in `-eta..=eta` modulo `q`.
    ///
    /// # Errors
    /// [`InvalidDecapsulationKey::Inconsistent`] if `g` is 0 or has another coefficient.
    pub(crate) fn check(&self) -> Result<(), InvalidDecapsulationKey> {
        let (q, eta) = (R::Q as u16, R::ETA as u16);
        let g = Multiplier::new().mul_small(&self.encapsulation_key.h, &self.f);
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

    /// Checks the key, then encapsulates to its encapsulation key and decapsulates.
    ///
    /// # Errors
    /// [`InvalidDecapsulationKey::Inconsistent`] if the check fails, or
    /// [`InvalidDecapsulationKey::PairwiseTest`] if the shared secrets differ.
    pub(crate) fn pairwise_test(&self, seed: &Seed) -> Result<(), InvalidDecapsulationKey> {
        self.check()?;
        let mut ciphertext = R::CiphertextBytes::zeroed();
        let (mut sent, mut received) = (Secret::<SecretBytes>::zeroed(), Secret::zeroed());
        self.encapsulation_key.encapsulate(seed, &mut ciphertext, &mut sent);
        self.decapsulate(&ciphertext, &mut received);
        if sent.ct_eq(&*received).into() {
            Ok(())
        } else {
            Err(InvalidDecapsulationKey::PairwiseTest)
        }
    }
}

/// Copies of the parts of a decapsulation key.
struct Parts<R: Arithmetic, E: Encode> {
    f: Secret<R::SecretPolyBytes>,
    encapsulation_key: E::Bytes<R>,
    z: Secret<Seed>,
}

impl<R: Arithmetic, E: Encode> Parts<R, E> {
    fn zeroed() -> Self {
        Self {
            f: Secret::zeroed(),
            encapsulation_key: E::Bytes::<R>::zeroed(),
            z: Secret::zeroed(),
        }
    }

    /// Copies the parts out of an encoded decapsulation key.
    fn copy_from(&mut self, key: &[u8]) {
        let (f, rest) = key.split_at(R::SECRET_POLY_BYTES);
        let (h, z) = rest.split_at(E::Bytes::<R>::LEN);
        self.f.copy_from(f);
        self.encapsulation_key.as_mut().copy_from_slice(h);
        self.z.copy_from(z);
    }
}

/// Writes the decapsulation key that consists of these parts to `key`.
fn write_parts<R: Arithmetic>(
    key: &mut [u8],
    f: &SmallPoly<R>,
    encapsulation_key: &[u8],
    z: &Seed,
) {
    let (f_bytes, rest) = key.split_at_mut(R::SECRET_POLY_BYTES);
    let (h_bytes, z_bytes) = rest.split_at_mut(encapsulation_key.len());
    let mut packed = secret_poly::pack(f);
    f_bytes.copy_from_slice(packed.as_ref());
    wipe(packed.as_mut(), 0);
    h_bytes.copy_from_slice(encapsulation_key);
    z_bytes.copy_from_slice(z);
}

/// Returns the bytes of an encoded encapsulation key that are `ID(pk)`.
fn id_of(key: &impl AsRef<[u8]>) -> &Id {
    key.as_ref().first_chunk().expect("a key is longer than its id")
}

/// Returns the encoding of `h = 0`.
pub(crate) fn encapsulation_placeholder<R: Arithmetic, E: Encode>() -> E::Bytes<R> {
    E::encode(&Poly::<R>::zero())
}

/// Writes the decapsulation key of `f = 1`, `h = 0` and `z = 0`.
pub(crate) fn write_decapsulation_placeholder<R: Arithmetic, E: Encode>(key: &mut [u8]) {
    let encapsulation_key = encapsulation_placeholder::<R, E>();
    write_parts(key, &SmallPoly::<R>::one(), encapsulation_key.as_ref(), &[0; SEED_BYTES]);
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

/// Generates the decapsulation key that `seed` and `z` determine, and writes it to `key` (Algorithm
/// 4).
pub(crate) fn generate<R: Arithmetic, E: Encode>(seed: &Seed, z: &Seed, key: &mut [u8]) {
    let polynomials = sample_key::<R>(seed);
    wipe_stack::<{ 8 << 10 }>();
    let inverse = invert(&Poly::from(&polynomials.f))
        .expect("f(0) is odd and small, so f is not zero, and R_q is a field");
    assemble::<R, E>(&mut Multiplier::new(), &polynomials, &inverse, z, key);
}

/// Computes `h = g / f` from `inverse`, which is `1 / f`. Writes the decapsulation key of `f`, `h`
/// and `z` to `key`, and returns the encapsulation key, the encoding of `h`.
pub(crate) fn assemble<R: Arithmetic, E: Encode>(
    multiplier: &mut Multiplier<R>,
    KeyPolynomials { f, g }: &KeyPolynomials<R>,
    inverse: &Poly<R>,
    z: &Seed,
    key: &mut [u8],
) -> E::Bytes<R> {
    let encapsulation_key = E::encode(&multiplier.mul_small(inverse, g));
    write_parts(key, f, encapsulation_key.as_ref(), z);
    encapsulation_key
}

/// Encapsulates the message `SHAKE256(seed)` for each of `N` operations, which are hashed together
/// (Algorithm 5). The caller wipes the shared secrets.
pub(crate) fn encapsulate<R: Arithmetic, const N: usize>(
    keys: [&DecodedEncapsulationKey<R>; N],
    seeds: [&Seed; N],
    ciphertexts: &mut [R::CiphertextBytes; N],
    secrets: &mut [SecretBytes; N],
) {
    let mut messages = array::from_fn(|_| Secret::zeroed());
    hash::fresh_messages::<R, N>(seeds, &mut messages);
    let mut hashed = array::from_fn(|_| Hashed::new());
    hash::messages::<R, N>(keys.map(|key| &key.id), &messages, &mut hashed);
    let mut multiplier = Multiplier::new();
    for i in 0..N {
        let Hashed { coins, .. } = &hashed[i];
        pke::encrypt(&mut multiplier, &keys[i].h, &messages[i], coins, &mut ciphertexts[i]);
        secrets[i] = *hashed[i].secret();
    }
}

/// Decapsulates `N` ciphertexts, which are hashed together (Algorithm 6).
///
/// No branch, address or time depends on whether a ciphertext is rejected. The caller wipes the
/// shared secrets.
pub(crate) fn decapsulate<R: Arithmetic, const N: usize>(
    keys: [&DecodedDecapsulationKey<R>; N],
    ciphertexts: &[R::CiphertextBytes; N],
    secrets: &mut [SecretBytes; N],
) {
    let mut multiplier = Multiplier::new();
    let mut messages: [_; N] = array::from_fn(|_| Secret::zeroed());
    for i in 0..N {
        pke::decrypt(&mut multiplier, &keys[i].f, &ciphertexts[i], &mut messages[i]);
    }
    let (ids, z) = (keys.map(|key| &key.encapsulation_key.id), keys.map(|key| &*key.z));
    let mut hashed = array::from_fn(|_| Hashed::<R>::new());
    let mut rejected = array::from_fn(|_| Secret::zeroed());
    let received = ciphertexts.each_ref();
    hash::decapsulations::<R, N>(ids, &messages, z, received, &mut hashed, &mut rejected);
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

/// Returns whether all bytes are equal, in constant time. The compiler compares whole vectors,
/// while `subtle` compares single bytes.
fn equal(a: &[u8], b: &[u8]) -> Choice {
    let difference = a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b));
    // Without the barrier, the compiler could leave the loop at the first difference.
    black_box(difference).ct_eq(&0)
}

#[cfg(test)]
mod tests {
    use std::format;

    use ctru_math::R653;

    use super::*;
    use crate::encoding::MixedRadix;
    use crate::{CtruPrime653, ParameterSet};

    #[test]
    fn debug_shows_no_decoded_key() {
        let mut bytes = [0; <CtruPrime653 as ParameterSet>::DECAPSULATION_KEY_BYTES];
        generate::<R653, MixedRadix>(&[1; SEED_BYTES], &[2; SEED_BYTES], &mut bytes);
        let key = DecodedDecapsulationKey::<R653>::new::<MixedRadix>(&bytes);
        assert_eq!(format!("{key:?}"), "DecodedDecapsulationKey(..)");
        assert_eq!(format!("{:?}", key.encapsulation_key), "DecodedEncapsulationKey(..)");
    }
}
