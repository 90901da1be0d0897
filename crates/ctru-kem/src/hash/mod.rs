//! The hash functions of the scheme, with their input formats, for `N` operations at a time.

mod keccak;
mod side_by_side;
mod sponge;
#[cfg(test)]
mod tests;
mod words;

use core::array;

use ctru_math::Ring;

use crate::wipe::Secret;
use side_by_side::SideBySide;
use sponge::{Function, Padded, Sha3_512, Shake256, hash};
use words::dispatch;

/// Bytes of a shared secret.
pub const SHARED_SECRET_BYTES: usize = 32;
/// Bytes of each seed: of key generation, of encapsulation, and of implicit rejection (`z`).
pub const SEED_BYTES: usize = 32;
/// Bytes of `ID(pk)`, the first bytes of the encoded public key. They enter every hash of a message.
pub const KEY_ID_BYTES: usize = 33;

/// Inputs of SHAKE256 here are short: one block, padding included.
const SHAKE256_INPUT: usize = Shake256::BLOCK;
/// `ID(pk)` and the longest message, 79 bytes, with padding.
const MESSAGE_INPUT: usize = 2 * Sha3_512::BLOCK;
/// `ID(pk)`, `z` and the longest ciphertext, 1597 bytes, with padding.
const REJECTION_INPUT: usize = 24 * Sha3_512::BLOCK;

/// The most coins that a key takes.
const KEY_COINS: usize = 2 * 639;

/// `ID(pk)`.
pub(crate) type Id = [u8; KEY_ID_BYTES];

/// `K || s`.
type Digest = [u8; SHARED_SECRET_BYTES + SEED_BYTES];

/// What a message gives.
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

    /// The shared secret `K`.
    pub(crate) fn secret(&self) -> &[u8; SHARED_SECRET_BYTES] {
        self.digest.first_chunk().expect("half of the digest")
    }
}

/// The seed `s` of a digest as input.
fn seed_input(digest: &Digest) -> Padded<Shake256, SHAKE256_INPUT> {
    Padded::new(&[&digest[SHARED_SECRET_BYTES..]])
}

/// The first bytes of `SHAKE256(parts)`: at most 135 bytes in all for each.
pub(crate) fn shake256<const PARTS: usize, const N: usize>(
    inputs: [[&[u8]; PARTS]; N],
    mut outputs: [&mut [u8]; N],
) {
    hash(&inputs.map(|parts| Padded::<Shake256, SHAKE256_INPUT>::new(&parts)), &mut outputs);
}

/// The messages `SHAKE256(seed)`.
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

/// What messages to the keys of these ids give.
pub(crate) fn messages<R: Ring, const N: usize>(
    ids: [&Id; N],
    messages: &[Secret<R::MessageBytes>; N],
) -> [Hashed<R>; N] {
    let inputs: [_; N] = array::from_fn(|i| Padded::new(&[ids[i], messages[i].as_ref()]));
    let mut hashed = array::from_fn(|_| Hashed::new());
    hash_messages(&inputs, &mut hashed);
    hashed
}

fn hash_messages<R: Ring, const N: usize>(
    inputs: &[Padded<Sha3_512, MESSAGE_INPUT>; N],
    hashed: &mut [Hashed<R>; N],
) {
    hash(inputs, &mut hashed.each_mut().map(|hashed| hashed.digest.as_mut_slice()));
    let seeds = hashed.each_ref().map(|hashed| seed_input(&hashed.digest));
    hash(&seeds, &mut hashed.each_mut().map(|hashed| hashed.coins.as_mut()));
}

/// What decrypted messages give, and the shared secrets of their ciphertexts if those are rejected: the first half of
/// `SHA3-512(ID(pk) || z || ciphertext)`. Both are written to where their owner wipes them.
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
    dispatch(
        1,
        SideBySide { message, rejection, digest, coins: coins.as_mut(), rejected: rejected_one },
    );
}

/// The coins of `f'` and `g`, which follow each other in `SHAKE256(seed)`.
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
