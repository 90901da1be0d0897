//! The hash functions of the scheme, with their input formats, for `N` operations at a time.
//!
//! The crates `sha3` and `shake` hash wherever one state is hashed, except with AVX-512. Our own
//! Keccak (`keccak`, `sponge`, `lanes`) hashes interleaved states: those of a batch's operations in
//! AVX2 and AVX-512, and the two of a single decapsulation in AVX-512. With AVX-512 it hashes one
//! state as well, because there it is faster: on an AMD EPYC with Zen 5 cores, for n = 761, the
//! three hashes of an encapsulation take 1.40 us, and 1.80 us with `sha3` and `shake`. Without
//! vectors the crates take 2 to 4 percent less time than our own code did.

mod inputs;
mod interleaved;
mod keccak;
mod lanes;
mod sponge;
#[cfg(test)]
mod tests;

use core::array;

use ctru_math::Ring;

use crate::wipe::Secret;
use inputs::{Digest, KEY_ID_BYTES, MESSAGE_INPUT, REJECTION_INPUT, SHAKE256_INPUT, seed_input};
use interleaved::Interleaved;
use lanes::Vectors;
use sponge::{Padded, Sha3_512, Shake256, hash};

pub(crate) use inputs::Id;
pub use inputs::{SEED_BYTES, SHARED_SECRET_BYTES};

/// Bytes of the coins of the largest key, `f'` and `g` together.
const KEY_COINS: usize = 2 * 639;

/// The hashes of a message.
pub(crate) struct Hashed<R: Ring> {
    /// `SHA3-512(ID(pk) || message) = K || s`.
    digest: Secret<Digest>,
    /// The coins of the encryption, `SHAKE256(s)`.
    pub(crate) coins: Secret<R::CoinBytes>,
}

impl<R: Ring> Hashed<R> {
    const INPUT_FITS: () = assert!(KEY_ID_BYTES + R::MESSAGE_BYTES < MESSAGE_INPUT);

    pub(crate) fn new() -> Self {
        let () = Self::INPUT_FITS;
        Self { digest: Secret::zeroed(), coins: Secret::zeroed() }
    }

    /// Returns the shared secret `K`.
    pub(crate) fn secret(&self) -> &[u8; SHARED_SECRET_BYTES] {
        self.digest.first_chunk().expect("half of the digest")
    }
}

/// Writes the first bytes of `SHAKE256(parts)` of each input to its output. The parts of an input
/// have at most 135 bytes together.
pub(crate) fn shake256<const PARTS: usize, const N: usize>(
    inputs: [[&[u8]; PARTS]; N],
    mut outputs: [&mut [u8]; N],
) {
    shake256_padded(&inputs.map(|parts| Padded::new(&parts)), &mut outputs);
}

/// Writes the first bytes of SHAKE256 of each input. Not generic, so that only this crate compiles
/// it.
fn shake256_padded(inputs: &[Padded<Shake256, SHAKE256_INPUT>], outputs: &mut [&mut [u8]]) {
    hash(inputs, outputs);
}

/// Returns the messages `SHAKE256(seed)`.
pub(crate) fn fresh_messages<R: Ring, const N: usize>(
    seeds: [&[u8; SEED_BYTES]; N],
) -> [Secret<R::MessageBytes>; N] {
    let mut messages: [Secret<R::MessageBytes>; N] = array::from_fn(|_| Secret::zeroed());
    shake256(
        seeds.map(|seed| [seed.as_slice()]),
        messages.each_mut().map(|message| message.as_mut()),
    );
    messages
}

/// Returns the hashes of messages to the keys with these ids.
pub(crate) fn messages<R: Ring, const N: usize>(
    ids: [&Id; N],
    messages: &[Secret<R::MessageBytes>; N],
) -> [Hashed<R>; N] {
    let inputs: [_; N] = array::from_fn(|i| Padded::new(&[ids[i], messages[i].as_ref()]));
    let mut hashed = array::from_fn(|_| Hashed::new());
    hash_messages(&inputs, &mut hashed);
    hashed
}

/// Writes the hashes of padded messages.
fn hash_messages<R: Ring, const N: usize>(
    inputs: &[Padded<Sha3_512, MESSAGE_INPUT>; N],
    hashed: &mut [Hashed<R>; N],
) {
    hash(inputs, &mut hashed.each_mut().map(|hashed| hashed.digest.as_mut_slice()));
    let seeds = hashed.each_ref().map(|hashed| seed_input(&hashed.digest));
    shake256_padded(&seeds, &mut hashed.each_mut().map(|hashed| hashed.coins.as_mut()));
}

/// Writes the hashes of decrypted messages to `hashed`. Writes the secrets of rejected ciphertexts,
/// the first halves of `SHA3-512(ID(pk) || z || ciphertext)`, to `rejected`. The caller wipes both.
pub(crate) fn decapsulations<R: Ring, const N: usize>(
    ids: [&Id; N],
    messages: &[Secret<R::MessageBytes>; N],
    z: [&[u8; SEED_BYTES]; N],
    ciphertexts: [&R::CiphertextBytes; N],
    hashed: &mut [Hashed<R>; N],
    rejected: &mut [Secret<[u8; SHARED_SECRET_BYTES]>; N],
) {
    const { assert!(KEY_ID_BYTES + SEED_BYTES + R::CIPHERTEXT_BYTES < REJECTION_INPUT) };
    let inputs: [_; N] = array::from_fn(|i| Padded::new(&[ids[i], messages[i].as_ref()]));
    let rejections: [Padded<Sha3_512, REJECTION_INPUT>; N] =
        array::from_fn(|i| Padded::new(&[ids[i], z[i], ciphertexts[i].as_ref()]));
    let ([message], [rejection], [rejected_one]) =
        (&inputs[..], &rejections[..], &mut rejected[..])
    else {
        hash(&rejections, &mut rejected.each_mut().map(|secret| secret.as_mut_slice()));
        return hash_messages(&inputs, hashed);
    };
    let Hashed { digest, coins } = &mut hashed[0];
    let coins = coins.as_mut();
    let work = Interleaved { message, rejection, digest, coins, rejected: rejected_one };
    Vectors::in_use().run(1, work);
}

/// Returns the coins of `f'` and of `g`, which follow each other in `SHAKE256(seed)`.
pub(crate) fn key_coins<R: Ring, const N: usize>(
    seeds: [&[u8; SEED_BYTES]; N],
) -> [[Secret<R::CoinBytes>; 2]; N] {
    const { assert!(2 * R::COIN_BYTES <= KEY_COINS) };
    let mut output: [Secret<[u8; KEY_COINS]>; N] = array::from_fn(|_| Secret::zeroed());
    let seeds = seeds.map(|seed| [seed.as_slice()]);
    shake256(seeds, output.each_mut().map(|output| &mut output[..2 * R::COIN_BYTES]));
    let half = |output: &[u8; KEY_COINS], start| Secret::copied(&output[start..][..R::COIN_BYTES]);
    output.each_ref().map(|output| [0, R::COIN_BYTES].map(|start| half(output, start)))
}
