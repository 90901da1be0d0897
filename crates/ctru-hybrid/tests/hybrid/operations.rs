//! Encapsulation and decapsulation: round trips, altered bytes, randomness.

use std::collections::HashSet;

use ctru_hybrid::{
    COIN_BYTES, Ciphertext, DECAPSULATION_KEY_BYTES, DecapsulationKey, EncapsulationKey,
    ParameterSet, X25519_BYTES, known_answer_test,
};
use ctru_tests::random::{Exhausted, finite, infallible};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::{coins, key};

every_set!(
    known_answers,
    round_trips,
    every_byte_of_a_ciphertext_counts,
    every_byte_of_an_encapsulation_key_counts,
    every_byte_of_a_decapsulation_key_counts,
    every_coin_counts,
    randomness_of_the_system,
    randomness_of_a_generator,
);

/// Checks the answers, which `tests/hybrid.py` has computed.
fn known_answers<P: ParameterSet>() {
    assert_eq!(known_answer_test::<P>(), Ok(()));
}

fn round_trips<P: ParameterSet>() {
    let config = Config { cases: 20, failure_persistence: None, ..Config::default() };
    let inputs = (any::<[u8; 32]>(), any::<[[u8; 32]; 2]>());
    TestRunner::new(config)
        .run(&inputs, |(private, coins)| {
            let key = DecapsulationKey::<P>::from_bytes(&private).unwrap();
            let coins: &[u8; COIN_BYTES] = coins.as_flattened().first_chunk().unwrap();
            let (sent, secret) = key.encapsulation_key().encapsulate_deterministic(coins);
            prop_assert_eq!(&key.decapsulate(&sent), &secret);

            // Both sides read bytes, and a second run returns the same bytes.
            let again = DecapsulationKey::<P>::try_from(key.as_ref()).unwrap();
            let received = Ciphertext::try_from(sent.as_ref()).unwrap();
            prop_assert_eq!(&again.decapsulate(&received), &secret);
            let public = key.encapsulation_key();
            let public = EncapsulationKey::<P>::try_from(public.as_ref()).unwrap();
            prop_assert_eq!(public.encapsulate_deterministic(coins), (sent, secret));
            Ok(())
        })
        .unwrap();
}

/// Flips one bit of each byte of a ciphertext, and the bit of a public key that X25519 ignores.
fn every_byte_of_a_ciphertext_counts<P: ParameterSet>() {
    let key = key::<P>(1);
    let (sent, secret) = key.encapsulation_key().encapsulate_deterministic(&coins(2));
    let last = P::CIPHERTEXT_BYTES - 1;
    let flips = (0..last).map(|byte| (byte, 1 << (byte % 8))).chain([(last, 1), (last, 0x80)]);
    let mut answers = HashSet::from([*secret.as_bytes()]);
    for (byte, flip) in flips {
        let mut bytes = sent.as_ref().to_vec();
        bytes[byte] ^= flip;
        let answer = key.decapsulate(&Ciphertext::from_bytes(&bytes).unwrap());
        assert!(answers.insert(*answer.as_bytes()), "byte {byte} ^ {flip}");
    }
}

/// Flips one bit of each byte of an encapsulation key. The altered key is refused, or it gives
/// other secrets than the key, even if it begins like the key.
fn every_byte_of_an_encapsulation_key_counts<P: ParameterSet>() {
    let public = key::<P>(5).encapsulation_key();
    let (_, secret) = public.encapsulate_deterministic(&coins(6));
    let mut accepted = 0;
    for byte in 0..P::ENCAPSULATION_KEY_BYTES {
        let mut bytes = public.as_ref().to_vec();
        bytes[byte] ^= 1 << (byte % 8);
        if let Ok(altered) = EncapsulationKey::<P>::from_bytes(&bytes) {
            accepted += 1;
            assert_eq!(altered.as_ref(), bytes);
            assert_ne!(altered.encapsulate_deterministic(&coins(6)).1, secret, "byte {byte}");
        }
    }
    assert!(accepted > P::ENCAPSULATION_KEY_BYTES / 2, "only {accepted} accepted");
}

/// Flips one bit of each byte of a private key, which changes both parts of the public key.
fn every_byte_of_a_decapsulation_key_counts<P: ParameterSet>() {
    let key = key::<P>(7);
    let (sent, secret) = key.encapsulation_key().encapsulate_deterministic(&coins(8));
    for byte in 0..DECAPSULATION_KEY_BYTES {
        let mut bytes = *key.as_bytes();
        bytes[byte] ^= 1 << (byte % 8);
        let altered = DecapsulationKey::<P>::generate_deterministic(&bytes);
        assert_ne!(altered.decapsulate(&sent), secret, "byte {byte}");
        let (public, altered) = (key.encapsulation_key(), altered.encapsulation_key());
        let point = P::ENCAPSULATION_KEY_BYTES - X25519_BYTES;
        assert_ne!(public.as_ref()[..point], altered.as_ref()[..point], "byte {byte}");
        assert_ne!(public.as_ref()[point..], altered.as_ref()[point..], "byte {byte}");
    }
}

fn every_coin_counts<P: ParameterSet>() {
    let public = key::<P>(9).encapsulation_key();
    let (sent, secret) = public.encapsulate_deterministic(&coins(10));
    for byte in 0..COIN_BYTES {
        let mut coins = coins(10);
        coins[byte] ^= 1 << 4;
        let (other, other_secret) = public.encapsulate_deterministic(&coins);
        assert_ne!(other_secret, secret);
        // Each half of the coins makes its part of the ciphertext.
        let point = P::CIPHERTEXT_BYTES - X25519_BYTES;
        let same =
            |range: std::ops::Range<usize>| sent.as_ref()[range.clone()] == other.as_ref()[range];
        assert_eq!(same(0..point), byte >= 32, "byte {byte}");
        assert_eq!(same(point..P::CIPHERTEXT_BYTES), byte < 32, "byte {byte}");
    }
}

fn randomness_of_the_system<P: ParameterSet>() {
    let key = DecapsulationKey::<P>::try_generate().unwrap();
    assert_ne!(DecapsulationKey::<P>::try_generate().unwrap(), key);
    let mut secrets = HashSet::new();
    for _ in 0..20 {
        let (sent, secret) = key.encapsulation_key().try_encapsulate().unwrap();
        assert_eq!(key.decapsulate(&sent), secret);
        assert!(secrets.insert(*secret.as_bytes()), "the system's randomness repeats");
    }
}

/// Checks that a generator's bytes become the private key or the coins, and that its errors are
/// returned.
fn randomness_of_a_generator<P: ParameterSet>() {
    let bytes: Vec<u8> = (1..=64).collect();
    let private = &bytes[..DECAPSULATION_KEY_BYTES];
    let expected = DecapsulationKey::<P>::from_bytes(private).unwrap();
    let fallible = &mut finite(private);
    assert_eq!(DecapsulationKey::<P>::try_generate_from_rng(fallible).as_ref(), Ok(&expected));
    assert_eq!(DecapsulationKey::<P>::generate_from_rng(&mut infallible(private)), expected);
    let short = &mut finite(&private[1..]);
    assert_eq!(DecapsulationKey::<P>::try_generate_from_rng(short), Err(Exhausted { asked: 32 }));

    let public = expected.encapsulation_key();
    let coins = &bytes[..COIN_BYTES];
    let sent = public.encapsulate_deterministic(coins.try_into().unwrap());
    let fallible = &mut finite(coins);
    assert_eq!(public.try_encapsulate_with_rng(fallible).as_ref(), Ok(&sent));
    assert_eq!(public.encapsulate_with_rng(&mut infallible(coins)), sent);
    let short = &mut finite(&coins[1..]);
    assert_eq!(public.try_encapsulate_with_rng(short), Err(Exhausted { asked: COIN_BYTES }));
}
