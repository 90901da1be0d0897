//! Checks that operations on single keys wipe the secrets that they put on the stack.
//!
//! The tests look for seeds, messages, seeds of coins, coins, the packed `f` of a key that is used,
//! and its `z`. They do not look for results (new keys and shared secrets), because moving a value
//! leaves a copy. They do not look for unpacked polynomials and hash states, because the compiler
//! may spill parts of them to the stack. Without optimisation, each move leaves a copy, so they are
//! not in tests/suites.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

use corosensei::stack::{DefaultStack, Stack};
use ctru_kem::{Ciphertext, CtruPrimeSet, DecapsulationKey, SEED_BYTES};
use ctru_math::Ring;
use ctru_tests::backends::on_every_backend;
use ctru_tests::every_ctru_prime_set;
use ctru_tests::hashes::{sha3_512, shake256};
use ctru_tests::words::words_in;

every_ctru_prime_set!(
    key_generation_wipes_seed_and_coins,
    encapsulation_wipes_seeds_message_and_coins,
    decapsulation_wipes_key_message_and_coins
);

/// Returns the bytes that `work` leaves on a stack of its own.
fn left_by(work: impl FnOnce()) -> Vec<u8> {
    const BYTES: usize = 1 << 20;
    let mut stack = DefaultStack::new(BYTES).unwrap();
    corosensei::on_stack(&mut stack, work);
    let lowest = stack.base().get() - BYTES;
    // SAFETY: the stack has `BYTES` bytes above its guard page, which the system has set to zero.
    // No code runs on it any more, and a volatile read assumes nothing about the writer.
    #[allow(unsafe_code)]
    (0..BYTES)
        .map(|i| unsafe { std::ptr::with_exposed_provenance::<u8>(lowest + i).read_volatile() })
        .collect()
}

/// Checks that memory does not hold eight consecutive bytes of a secret.
///
/// The crate `sha3` copies the last block of its input and does not wipe the copy, so the tests
/// tolerate the bytes of a message that are in the last block of `ID(pk) || message`.
fn assert_absent(memory: &[u8], secrets: &[(&str, &[u8])]) {
    assert!(memory.iter().any(|&byte| byte != 0), "nothing ran on the stack");
    let wiped: Vec<&[u8]> = secrets
        .iter()
        .map(|(name, secret)| match *name {
            "message" => &secret[..(ID + secret.len()) / SHA3_512_BLOCK * SHA3_512_BLOCK - ID],
            _ => secret,
        })
        .collect();
    for ((name, _), found) in secrets.iter().zip(words_in(memory, &wiped)) {
        assert_eq!(found, 0, "words of a secret that are left: {name}");
    }
}

/// Bytes of `ID(pk)`, the start of the input of the message hash.
const ID: usize = 33;
/// Bytes per block of SHA3-512.
const SHA3_512_BLOCK: usize = 72;

const SEED: [u8; SEED_BYTES] = *b"a seed without words that repeat";
const KEY_SEED: [u8; SEED_BYTES] = *b"another one, for the polynomials";
const Z: [u8; SEED_BYTES] = *b"and this will be the rejection's";

fn key<P: CtruPrimeSet>() -> DecapsulationKey<P> {
    DecapsulationKey::generate_deterministic(&KEY_SEED, &Z)
}

/// Returns the message that `SEED` gives, the seed of its coins, and the coins.
fn message<P: CtruPrimeSet>(key: &DecapsulationKey<P>) -> [Vec<u8>; 3] {
    let message = shake256(&SEED, P::Ring::MESSAGE_BYTES);
    let encapsulation_key = key.encapsulation_key();
    let digest = sha3_512(&[&encapsulation_key.as_ref()[..ID], &message].concat());
    let coins = shake256(&digest[32..], P::Ring::COIN_BYTES);
    [message, digest[32..].to_vec(), coins]
}

fn key_generation_wipes_seed_and_coins<P: CtruPrimeSet>() {
    let coins = shake256(&KEY_SEED, 2 * P::Ring::COIN_BYTES);
    on_every_backend(|| {
        let mut generated = DecapsulationKey::placeholder();
        let left = left_by(|| generated = key::<P>());
        assert_absent(&left, &[("coins", &coins), ("seed", &KEY_SEED)]);
        let left = left_by(|| generated.check().unwrap());
        let f = &generated.as_ref()[..P::Ring::SECRET_POLY_BYTES];
        assert_absent(&left, &[("f", f), ("z", &Z)]);
    });
}

fn encapsulation_wipes_seeds_message_and_coins<P: CtruPrimeSet>() {
    let key = key::<P>();
    let [message, coin_seed, coins] = message(&key);
    let encapsulation_key = key.encapsulation_key();
    on_every_backend(|| {
        let left = left_by(|| drop(encapsulation_key.encapsulate_deterministic(&SEED)));
        let secrets: [(&str, &[u8]); 4] = [
            ("seed", &SEED),
            ("message", &message),
            ("seed of the coins", &coin_seed),
            ("coins", &coins),
        ];
        assert_absent(&left, &secrets);
    });
}

fn decapsulation_wipes_key_message_and_coins<P: CtruPrimeSet>() {
    let key = key::<P>();
    let [message, coin_seed, coins] = message(&key);
    let (ciphertext, secret) = key.encapsulation_key().encapsulate_deterministic(&SEED);
    let mut tampered = ciphertext.as_ref().to_vec();
    tampered[0] ^= 1;
    let tampered = Ciphertext::from_bytes(&tampered).unwrap();
    on_every_backend(|| {
        for (received, accepted) in [(&ciphertext, true), (&tampered, false)] {
            let mut answer = None;
            let left = left_by(|| answer = Some(key.decapsulate(received)));
            assert_eq!(answer.as_ref() == Some(&secret), accepted);
            let f = &key.as_ref()[..P::Ring::SECRET_POLY_BYTES];
            // Decryption corrects the changed bit, so the message and the coins are the same.
            let secrets: [(&str, &[u8]); 5] = [
                ("f", f),
                ("z", &Z),
                ("message", &message),
                ("seed of the coins", &coin_seed),
                ("coins", &coins),
            ];
            assert_absent(&left, &secrets);
        }
    });
}
