//! The hash functions of the scheme, with their input formats, for `N` operations at a time.
//!
//! Two implementations share the work:
//!
//! - The crates `sha3` and `shake` hash one input at a time. On one state without vectors they take
//!   2 to 4 percent less time than our own code did.
//! - Our own Keccak (`keccak`, `sponge`, `lanes`) hashes interleaved states. With AVX2, AVX-512 and
//!   simd128 these are the states of a batch's operations. With AVX-512 they are also the two
//!   states of a single decapsulation.
//!
//! Streamlined NTRU Prime has SHA-512 (`sha512`): of one input by the crate `sha2`, of several on
//! interleaved states. Its seeds are expanded by SHAKE256.
//!
//! With AVX-512 and in WebAssembly our own Keccak hashes one state as well, because it is faster
//! there. On an AMD EPYC with Zen 5 cores, for n = 761 and with AVX-512, the three hashes of an
//! encapsulation take 1.40 us; with `sha3` and `shake` they take 1.80 us. In WebAssembly on the
//! same CPU, in Node.js 20, a permutation of one state takes 0.30 us and one of two states 0.41 us;
//! one of the crates takes 0.60 us. NEON has no Keccak of ours: without the SHA-3 instructions it
//! has no instruction that rotates.
//!
//! Source: paper, Algorithms 4 to 6.

#![cfg_attr(
    not(any(target_arch = "x86_64", target_feature = "simd128")),
    allow(dead_code, reason = "only x86-64 and simd128 have vectors that hold interleaved states")
)]

mod inputs;
mod interleaved;
mod keccak;
mod lanes;
mod sha512;
mod sponge;
#[cfg(test)]
mod tests;

use core::array;

use ctru_math::Ring;

use crate::wipe::Secret;
use inputs::{Digest, KEY_ID_BYTES, MESSAGE_INPUT, REJECTION_INPUT, SHAKE256_INPUT, fill_seed};
use interleaved::Interleaved;
use lanes::Vectors;
use sponge::{Padded, Sha3_512, Shake256, hash};

pub(crate) use inputs::Id;
#[cfg(feature = "std")]
pub(crate) use inputs::NO_ID;
pub use inputs::{KEY_PAIR_SEED_BYTES, SEED_BYTES, SHARED_SECRET_BYTES};
pub(crate) use sha512::half_sha512;

/// The number of operations that share their hashing. The widest vectors hold eight Keccak states,
/// those of WebAssembly two.
#[cfg(feature = "std")]
pub(crate) const GROUP: usize = if !cfg!(target_family = "wasm") {
    8
} else if cfg!(target_feature = "simd128") {
    2
} else {
    1
};

/// Bytes of the coins of the largest parameter set, those of `f'` and `g` together.
const KEY_COINS: usize = 2 * 639;

/// The results of hashing a message; wiped when dropped.
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

/// Fills each output with the first bytes of SHAKE256 of its input.
///
/// An input is the concatenation of its parts, which have at most 135 bytes together. All inputs
/// have the same length, and all outputs have the same length.
pub(crate) fn shake256<const PARTS: usize, const N: usize>(
    inputs: [[&[u8]; PARTS]; N],
    mut outputs: [&mut [u8]; N],
) {
    let mut padded = [const { Padded::room() }; N];
    for (padded, parts) in padded.iter_mut().zip(&inputs) {
        padded.fill(parts);
    }
    shake256_padded(&padded, &mut outputs);
}

/// Does the same for as many inputs as there are outputs, at most [`GROUP`].
#[cfg(feature = "std")]
pub(crate) fn shake256_group<'a, const PARTS: usize>(
    inputs: impl Iterator<Item = [&'a [u8]; PARTS]>,
    outputs: &mut [&mut [u8]],
) {
    let mut padded = [const { Padded::room() }; GROUP];
    for (padded, parts) in padded.iter_mut().zip(inputs) {
        padded.fill(&parts);
    }
    shake256_padded(&padded[..outputs.len()], outputs);
}

/// Fills each output with the first bytes of SHAKE256 of its padded input.
///
/// The function is not generic in `N`, so that it is compiled once.
fn shake256_padded(inputs: &[Padded<Shake256, SHAKE256_INPUT>], outputs: &mut [&mut [u8]]) {
    hash(inputs, outputs);
}

/// Writes the message `SHAKE256(seed)` of each seed to `messages`.
pub(crate) fn fresh_messages<R: Ring, const N: usize>(
    seeds: [&[u8; SEED_BYTES]; N],
    messages: &mut [Secret<R::MessageBytes>; N],
) {
    shake256(
        seeds.map(|seed| [seed.as_slice()]),
        messages.each_mut().map(|message| message.as_mut()),
    );
}

/// Writes the hashes of each message with the `ID(pk)` of its encapsulation key to `hashed`.
pub(crate) fn messages<R: Ring, const N: usize>(
    ids: [&Id; N],
    messages: &[Secret<R::MessageBytes>; N],
    hashed: &mut [Hashed<R>; N],
) {
    let mut inputs = [const { Padded::room() }; N];
    for (input, (id, message)) in inputs.iter_mut().zip(ids.iter().zip(messages)) {
        input.fill(&[*id, message.as_ref()]);
    }
    hash_messages(&inputs, hashed);
}

/// Writes the hashes of padded messages to `hashed`.
fn hash_messages<R: Ring, const N: usize>(
    inputs: &[Padded<Sha3_512, MESSAGE_INPUT>; N],
    hashed: &mut [Hashed<R>; N],
) {
    hash(inputs, &mut hashed.each_mut().map(|hashed| hashed.digest.as_mut_slice()));
    let mut seeds = [const { Padded::room() }; N];
    for (seed, hashed) in seeds.iter_mut().zip(&*hashed) {
        fill_seed(seed, &hashed.digest);
    }
    shake256_padded(&seeds, &mut hashed.each_mut().map(|hashed| hashed.coins.as_mut()));
}

/// Writes the shared secrets for the case of rejection to `rejected`, of at most `N` operations:
/// the first half of `SHA3-512(ID(pk) || z || ciphertext)` for each. `inputs` returns these three
/// parts.
#[cfg(feature = "gpu")]
pub(crate) fn rejections<'a, const N: usize>(
    inputs: &mut impl Iterator<Item = [&'a [u8]; 3]>,
    rejected: &mut [Secret<[u8; SHARED_SECRET_BYTES]>],
) {
    let count = rejected.len();
    let mut padded = [const { Padded::<Sha3_512, REJECTION_INPUT>::room() }; N];
    // The limit comes first, so that no input of the next call is taken.
    for (padded, parts) in padded[..count].iter_mut().zip(inputs) {
        padded.fill(&parts);
    }
    let mut rest = rejected.iter_mut();
    let mut outputs: [&mut [u8]; N] =
        array::from_fn(|_| rest.next().map_or_else(Default::default, |to| to.as_mut_slice()));
    hash(&padded[..count], &mut outputs[..count]);
}

/// Returns the largest number of states that this CPU hashes together.
#[cfg(feature = "gpu")]
pub(crate) fn states() -> usize {
    Vectors::in_use().states()
}

/// Computes all hashes of `N` decapsulations.
///
/// Writes the hashes of the decrypted messages to `hashed`. Writes the shared secrets for the case
/// of rejection to `rejected`: the first half of `SHA3-512(ID(pk) || z || ciphertext)` for each
/// operation. Both are wiped when dropped.
pub(crate) fn decapsulations<R: Ring, const N: usize>(
    ids: [&Id; N],
    messages: &[Secret<R::MessageBytes>; N],
    z: [&[u8; SEED_BYTES]; N],
    ciphertexts: [&R::CiphertextBytes; N],
    hashed: &mut [Hashed<R>; N],
    rejected: &mut [Secret<[u8; SHARED_SECRET_BYTES]>; N],
) {
    const { assert!(KEY_ID_BYTES + SEED_BYTES + R::CIPHERTEXT_BYTES < REJECTION_INPUT) };
    let mut inputs = [const { Padded::room() }; N];
    let mut rejections = [const { Padded::<Sha3_512, REJECTION_INPUT>::room() }; N];
    for i in 0..N {
        inputs[i].fill(&[ids[i], messages[i].as_ref()]);
        rejections[i].fill(&[ids[i], z[i], ciphertexts[i].as_ref()]);
    }
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

/// Writes the coins of `f'` and the coins of `g` for each seed to `coins`: the first and the second
/// [`COIN_BYTES`](Ring::COIN_BYTES) bytes of `SHAKE256(seed)`.
pub(crate) fn key_coins<R: Ring, const N: usize>(
    seeds: [&[u8; SEED_BYTES]; N],
    coins: &mut [[Secret<R::CoinBytes>; 2]; N],
) {
    const { assert!(2 * R::COIN_BYTES <= KEY_COINS) };
    let mut output: [Secret<[u8; KEY_COINS]>; N] = array::from_fn(|_| Secret::zeroed());
    let seeds = seeds.map(|seed| [seed.as_slice()]);
    shake256(seeds, output.each_mut().map(|output| &mut output[..2 * R::COIN_BYTES]));
    for (output, coins) in output.iter().zip(coins) {
        for (from, half) in output.chunks(R::COIN_BYTES).zip(coins) {
            half.copy_from(from);
        }
    }
}
