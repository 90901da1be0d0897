//! The scheme, as the parameter sets use it.

use core::marker::PhantomData;
#[cfg(feature = "std")]
use std::vec::Vec;

use ctru_math::array::Array;

#[cfg(feature = "std")]
use super::batch::generate_from_seeds;
use super::draw::{Named, Use, from_seed, short_from_seeds};
use super::kem::{
    PrivateKey, PublicKey, decapsulate, encapsulate, generate, parts, write_placeholder,
};
#[cfg(feature = "std")]
use crate::batch::Seeds;
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey};
#[cfg(feature = "std")]
use crate::hash::{Id, NO_ID};
use crate::hash::{KEY_PAIR_SEED_BYTES, SEED_BYTES};
use crate::scheme::{Scheme, SecretBytes, Seed};
use crate::source::{NoRandomness, Source};
#[cfg(feature = "std")]
use crate::wipe::Secret;

/// Streamlined NTRU Prime on the ring `R`.
///
/// A key pair follows from the seed alone; `z` is not used.
#[derive(Debug)]
pub struct NtruPrime<R>(PhantomData<R>);

impl<R: Named> Scheme for NtruPrime<R> {
    type EncapsulationKeyBytes = R::MixedRadixBytes;
    type Public = PublicKey<R>;
    type Private = PrivateKey<R>;

    const DEGREE: usize = R::N;
    const MODULUS: u32 = R::Q;
    const KEY_PAIR_SEED_BYTES: usize = SEED_BYTES;
    const SECRET_BYTES: usize = parts::<R>().public;
    #[cfg(feature = "std")]
    const EXPAND_CODE: u8 = 3;

    /// The first half is the seed.
    fn expand_key_pair_seed(_: &str, seed: &Seed, pair: &mut [u8; KEY_PAIR_SEED_BYTES]) {
        pair[..SEED_BYTES].copy_from_slice(seed);
    }

    fn generate(seed: &Seed, _: &Seed, key: &mut [u8]) {
        let made = Self::generate_from(&mut from_seed::<R>(Use::KeyPair, seed), key);
        made.expect("a seed gives all bytes");
    }

    fn generate_from(source: Source<'_>, key: &mut [u8]) -> Result<(), NoRandomness> {
        generate::<R>(source, &mut R::MixedRadixBytes::zeroed(), key)
    }

    #[cfg(feature = "std")]
    fn generate_together<K: Array<u8>>(
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        first: usize,
        encapsulation_keys: &mut [R::MixedRadixBytes],
        decapsulation_keys: &mut [K],
    ) {
        let mut none = Vec::new();
        let public = if encapsulation_keys.is_empty() {
            none.resize(decapsulation_keys.len(), R::MixedRadixBytes::zeroed());
            &mut none[..]
        } else {
            encapsulation_keys
        };
        let mut pairs: Vec<_> = public.iter().map(|_| Secret::zeroed()).collect();
        for (i, pair) in pairs.iter_mut().enumerate() {
            seeds.write_group(Self::KEY_GENERATION, first + i, [&NO_ID], [&mut **pair]);
        }
        let seeds = pairs.iter().map(|pair| pair.first_chunk().expect("half of the pair"));
        generate_from_seeds::<R, K>(&seeds.collect::<Vec<_>>(), public, decapsulation_keys);
    }

    fn public(key: &R::MixedRadixBytes) -> PublicKey<R> {
        PublicKey::new(key)
    }

    // All bytes are a key.
    fn check_public(_: &R::MixedRadixBytes) -> Result<(), InvalidEncapsulationKey> {
        Ok(())
    }

    #[cfg(feature = "std")]
    fn public_each<const N: usize>(keys: [&R::MixedRadixBytes; N]) -> [PublicKey<R>; N] {
        PublicKey::each(keys)
    }

    #[cfg(feature = "std")]
    fn read_public_each<const N: usize>(
        keys: [&R::MixedRadixBytes; N],
    ) -> [Result<PublicKey<R>, InvalidEncapsulationKey>; N] {
        PublicKey::each(keys).map(Ok)
    }

    fn private(key: &[u8]) -> PrivateKey<R> {
        PrivateKey::new(key)
    }

    fn check_private(key: &[u8]) -> Result<(), InvalidDecapsulationKey> {
        PrivateKey::<R>::check(key)
    }

    #[cfg(feature = "std")]
    fn private_each<const N: usize>(keys: [&[u8]; N]) -> [PrivateKey<R>; N] {
        PrivateKey::each(keys)
    }

    #[cfg(feature = "std")]
    fn read_private_each<const N: usize>(
        keys: [&[u8]; N],
    ) -> [Result<PrivateKey<R>, InvalidDecapsulationKey>; N] {
        PrivateKey::read_each(keys)
    }

    fn public_of(key: &PrivateKey<R>) -> &PublicKey<R> {
        &key.public_key
    }

    #[cfg(feature = "std")]
    fn id(key: &PublicKey<R>) -> Id {
        let mut id = NO_ID;
        id[..key.hash.len()].copy_from_slice(&key.hash);
        id
    }

    fn check(key: &PrivateKey<R>) -> Result<(), InvalidDecapsulationKey> {
        if key.is_consistent() { Ok(()) } else { Err(InvalidDecapsulationKey::Inconsistent) }
    }

    /// Writes zeros. They are a key, as all bytes are.
    fn write_encapsulation_placeholder(key: &mut [u8]) {
        key.fill(0);
    }

    fn write_decapsulation_placeholder(key: &mut [u8]) {
        write_placeholder::<R>(key);
    }

    fn encapsulate<const N: usize>(
        keys: [&PublicKey<R>; N],
        seeds: [&Seed; N],
        ciphertexts: [&mut [u8]; N],
        secrets: &mut [SecretBytes; N],
    ) {
        let r = short_from_seeds::<R, N>(seeds);
        encapsulate(keys, r.each_ref(), ciphertexts, secrets);
    }

    fn encapsulate_from(
        key: &PublicKey<R>,
        source: Source<'_>,
        ciphertext: &mut [u8],
        secret: &mut SecretBytes,
    ) -> Result<(), NoRandomness> {
        key.encapsulate(source, ciphertext, secret)
    }

    fn decapsulate<const N: usize>(
        keys: [&PrivateKey<R>; N],
        ciphertexts: [&[u8]; N],
        secrets: &mut [SecretBytes; N],
    ) {
        decapsulate(keys, ciphertexts, secrets);
    }
}
