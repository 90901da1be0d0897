//! Encapsulation and decapsulation with decoded keys (paper, Algorithms 5 and 6), and the
//! small polynomials of a key pair (Algorithm 4). Nothing here depends on the encoding of keys.

use core::array;
use core::hint::black_box;

use ctru_math::mul::Multiplier;
use ctru_math::{Arithmetic, Poly, SmallPoly};
use subtle::{ConditionallySelectable, ConstantTimeEq};

use super::pke::{self, KeyPolynomials};
use crate::error::InvalidDecapsulationKey;
use crate::hash::{self, Hashed, Id};
use crate::scheme::{SecretBytes, Seed, equal, one, one_mut};
use crate::wipe::Secret;

/// A decoded encapsulation key: the polynomial `h` and `ID(pk)`.
#[allow(missing_debug_implementations, reason = "the public type around it has one")]
pub struct DecodedEncapsulationKey<R: Arithmetic> {
    pub(super) h: Poly<R>,
    pub(super) id: Id,
}

/// A decoded decapsulation key: the secret polynomial `f`, the secret `z` of implicit rejection,
/// and the decoded encapsulation key. Wiped when dropped.
#[allow(missing_debug_implementations, reason = "the public type around it has one")]
pub struct DecodedDecapsulationKey<R: Arithmetic> {
    pub(super) f: SmallPoly<R>,
    pub(super) z: Secret<Seed>,
    pub(super) encapsulation_key: DecodedEncapsulationKey<R>,
}

/// Samples the polynomials of a key pair from `seed`.
///
/// This is a function of its own, so that [`wipe_stack`](crate::wipe::wipe_stack) reaches what its
/// calls leave on the stack.
#[inline(never)]
pub(super) fn sample_key<R: Arithmetic>(seed: &Seed) -> KeyPolynomials<R> {
    let mut coins = [[Secret::zeroed(), Secret::zeroed()]];
    hash::key_coins::<R, 1>([seed], &mut coins);
    KeyPolynomials::sample(&coins[0])
}

/// Checks that key generation can sample `g = h f`: that `g` is not 0 and that all its
/// coefficients are in `-eta..=eta` modulo `q`.
pub(super) fn check<R: Arithmetic>(
    key: &DecodedDecapsulationKey<R>,
) -> Result<(), InvalidDecapsulationKey> {
    let (q, eta) = (R::Q as u16, R::ETA as u16);
    let mut multiplier = Multiplier::new();
    let g = multiplier.mul_small(&key.encapsulation_key.h, &key.f);
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

/// Encapsulates the message `SHAKE256(seed)` for each operation. They are hashed together
/// (Algorithm 5).
pub(super) fn encapsulate<R: Arithmetic, const N: usize>(
    keys: [&DecodedEncapsulationKey<R>; N],
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

/// Decapsulates (Algorithm 6). The ciphertexts are hashed together.
pub(super) fn decapsulate<R: Arithmetic, const N: usize>(
    keys: [&DecodedDecapsulationKey<R>; N],
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
        let accepted = equal(ciphertexts[i].as_ref(), &[expected.as_ref()]);
        let candidates = rejected[i].iter().zip(hashed[i].secret());
        for (chosen, (rejected, secret)) in secrets[i].iter_mut().zip(candidates) {
            *chosen = u8::conditional_select(rejected, secret, accepted);
        }
    }
}
