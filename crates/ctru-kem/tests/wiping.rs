//! Checks that operations on single keys wipe the secrets that they put on the stack.
//!
//! The tests look for seeds, messages, seeds of coins, coins, the packed `f` of a key that is used,
//! and its `z`. They do not look for results (new keys and shared secrets), because moving a value
//! leaves a copy. They look for unpacked polynomials only after keys are generated or read, because
//! elsewhere the compiler may spill parts of them to the stack, as it may those of hash states.
//! Without optimisation, each move leaves a copy, so they are not in tests/suites.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

use std::slice;

use corosensei::stack::{DefaultStack, Stack};
use ctru_kem::engine::{CpuEngine, Engine, Keys, Seeds};
use ctru_kem::ntruprime::{Named, short_from_seeds};
use ctru_kem::{
    Ciphertext, CtruPrimeSet, DecapsulationKey, KeyPairSeed, ParameterSet, SEED_BYTES,
    SharedSecret, Sntrup653, Sntrup761, Sntrup1277,
};
use ctru_math::array::Array;
use ctru_math::codec::{secret_poly, ternary};
use ctru_math::short::small;
use ctru_math::{NtruPrimeRing, R653, R761, R1277, Ring, SmallPoly};
use ctru_tests::backends::on_every_backend;
use ctru_tests::every_ctru_prime_set;
use ctru_tests::hashes::{sha3_512, shake256};
use ctru_tests::random::finite;
use ctru_tests::words::words_in;
use sha2::{Digest, Sha512};

every_ctru_prime_set!(
    key_generation_wipes_seed_and_coins,
    reading_a_key_wipes_its_polynomial,
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

/// Returns how many strings of eight coefficients of a polynomial are in memory. Strings with few
/// changes do not count, because they may be numbers.
fn coefficients_in<R: NtruPrimeRing>(memory: &[u8], polynomial: &SmallPoly<R>) -> usize {
    let bytes: Vec<_> = polynomial.coefficients().iter().map(|&c| c as u8).collect();
    let is_distinct = |word: &&[u8]| word.windows(2).filter(|pair| pair[0] != pair[1]).count() > 4;
    let words: Vec<_> = bytes.windows(8).filter(is_distinct).collect();
    assert!(words.len() > 200);
    words_in(memory, &words).iter().sum()
}

/// Returns what a batch of one decapsulation leaves on the stack of the thread that calls.
fn left_by_batch<P: ParameterSet>(key: &DecapsulationKey<P>) -> Vec<u8> {
    let engine = CpuEngine::with_threads(1).unwrap();
    let (ciphertext, secret) = key.encapsulation_key().encapsulate_deterministic(&SEED);
    let mut answers = [SharedSecret::default()];
    let ciphertexts = slice::from_ref(&ciphertext);
    let left = left_by(|| engine.decapsulate(Keys::One(key), ciphertexts, &mut answers).unwrap());
    assert_eq!(answers, [secret]);
    left
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
    let seed = KeyPairSeed::<P>::from_bytes(&SEED).unwrap();
    let expanded = shake256(&[P::NAME.as_bytes(), b" key v1", &SEED].concat(), 2 * SEED_BYTES);
    on_every_backend(|| {
        let mut generated = DecapsulationKey::placeholder();
        let left = left_by(|| generated = key::<P>());
        assert_absent(&left, &[("coins", &coins), ("seed", &KEY_SEED)]);
        let left = left_by(|| drop(seed.decapsulation_key()));
        assert_absent(&left, &[("expanded seed", &expanded[..SEED_BYTES]), ("key file", &SEED)]);
        let left = left_by(|| generated.check().unwrap());
        let f = &generated.as_ref()[..P::Ring::SECRET_POLY_BYTES];
        assert_absent(&left, &[("f", f), ("z", &Z)]);
    });
}

fn reading_a_key_wipes_its_polynomial<P: CtruPrimeSet>() {
    let key = key::<P>();
    let mut packed = <P::Ring as Ring>::SecretPolyBytes::zeroed();
    packed.as_mut().copy_from_slice(&key.as_bytes()[..P::Ring::SECRET_POLY_BYTES]);
    let f = secret_poly::unpack::<P::Ring>(&packed).unwrap();
    on_every_backend(|| {
        let left = left_by(|| drop(DecapsulationKey::<P>::from_bytes(key.as_bytes()).unwrap()));
        assert_eq!(coefficients_in(&left, &f), 0);
        assert_eq!(coefficients_in(&left_by_batch(&key), &f), 0);
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

/// More strings of a polynomial than the compiler spills, which depends on the build: a transform's
/// sums in 16 bits, some of which look like coefficients.
const SPILLED: usize = 20;

/// Does the same for Streamlined NTRU Prime: with the seeds, the random words of polynomials, the
/// polynomial `r` of a ciphertext with its hash, and `f`, `1/g` and `rho` of a key that is used.
fn ntru_prime<P: ParameterSet, R: Named>() {
    let words = |usage: &str, seed: &[u8], polynomials: usize| {
        let input = [R::NAME.as_bytes(), usage.as_bytes(), seed].concat();
        shake256(&input, polynomials * 4 * R::N)
    };
    let (key_words, words) = (words(" key pair", &KEY_SEED, 2), words(" encapsulation", &SEED, 1));
    let mut words_of_g = R::Coeffs::<[u8; 4]>::zeroed();
    words_of_g.as_mut().as_flattened_mut().copy_from_slice(&key_words[..4 * R::N]);
    let g = small::<R>(&words_of_g);
    let mut r = R::TernaryBytes::zeroed();
    ternary::pack(&short_from_seeds::<R, 1>([&SEED])[0], &mut r);
    let r = r.as_ref();
    let r_hash = Sha512::digest([&[3], r].concat());
    let of_message: [(&str, &[u8]); 2] = [("r", r), ("hash of r", &r_hash[..32])];
    let of_encapsulation = [("seed", &SEED[..]), ("words", &words), of_message[0], of_message[1]];
    let key = || DecapsulationKey::<P>::generate_deterministic(&KEY_SEED, &Z);
    on_every_backend(|| {
        let mut private = DecapsulationKey::placeholder();
        let mut private_again = DecapsulationKey::placeholder();
        let left = left_by(|| private = key());
        assert_absent(&left, &[("seed", &KEY_SEED), ("words", &key_words)]);
        let (polynomials, rest) = private.as_bytes().split_at(2 * R::TERNARY_BYTES);
        let (f, g_inverse) = polynomials.split_at(R::TERNARY_BYTES);
        let unpacked = [f, g_inverse].map(|bytes| {
            let mut packed = R::TernaryBytes::zeroed();
            packed.as_mut().copy_from_slice(bytes);
            ternary::unpack::<R>(&packed).unwrap()
        });
        assert!(unpacked.iter().all(|polynomial| coefficients_in(&left, polynomial) < SPILLED));
        // The generator has the words of `g` and none for `f`.
        let mut g_words = finite(&key_words[..4 * R::N]);
        let left = left_by(|| {
            DecapsulationKey::<P>::try_generate_from_rng(&mut g_words).unwrap_err();
        });
        assert_absent(&left, &[("words", &key_words)]);
        assert_eq!(coefficients_in(&left, &g), 0);
        assert_eq!(coefficients_in(&left, &unpacked[1]), 0);
        let left = left_by(|| drop(DecapsulationKey::<P>::from_bytes(private.as_bytes()).unwrap()));
        assert!(unpacked.iter().all(|polynomial| coefficients_in(&left, polynomial) == 0));
        let left = left_by_batch(&private);
        assert!(unpacked.iter().all(|polynomial| coefficients_in(&left, polynomial) < SPILLED));
        let (engine, seeds) = (CpuEngine::with_threads(1).unwrap(), [[KEY_SEED, Z].concat()]);
        let seeds = seeds.map(|seeds| seeds.try_into().unwrap());
        let made = slice::from_mut(&mut private_again);
        let left = left_by(|| {
            engine.generate_decapsulation_keys(Seeds::Each(&seeds), made).unwrap();
        });
        assert!(private_again == private);
        assert!(unpacked.iter().all(|polynomial| coefficients_in(&left, polynomial) < SPILLED));
        let rho = &rest[P::ENCAPSULATION_KEY_BYTES..][..R::TERNARY_BYTES];
        let of_key = [("f", f), ("1/g", g_inverse), ("rho", rho)];
        let left = left_by(|| private.check().unwrap());
        assert_absent(&left, &of_key);

        let public = private.encapsulation_key();
        let left = left_by(|| drop(public.encapsulate_deterministic(&SEED)));
        assert_absent(&left, &of_encapsulation);
        let (ciphertext, secret) = public.encapsulate_deterministic(&SEED);
        let mut tampered = ciphertext.as_bytes().to_vec();
        *tampered.last_mut().unwrap() ^= 1;
        let tampered = Ciphertext::from_bytes(&tampered).unwrap();
        for (received, accepted) in [(&ciphertext, true), (&tampered, false)] {
            let mut answer = None;
            let left = left_by(|| answer = Some(private.decapsulate(received)));
            assert_eq!(answer.as_ref() == Some(&secret), accepted);
            assert_absent(&left, &of_key);
            assert_absent(&left, &of_message);
        }
    });
}

#[test]
fn ntru_prime_wipes_secrets() {
    ntru_prime::<Sntrup653, R653>();
    ntru_prime::<Sntrup761, R761>();
    ntru_prime::<Sntrup1277, R1277>();
}
