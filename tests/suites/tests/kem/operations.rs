//! Tests the methods of the key types: keys, encapsulation and decapsulation.

use std::collections::HashSet;

use ctru_tests::hashes::{sha3_512, shake256};
use ctru_tests::random::{Exhausted, finite, infallible};
use ctru_tests::vectors::array;
use ctru_tests::{every_ctru_prime_set, every_set, strategies};

use crate::common::{decode, encode};
use ctru_kem::{
    Ciphertext, CtruPrime653, CtruPrime761, CtruPrime1277, CtruPrimeSet, DecapsulationKey,
    EncapsulationKey, InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidLength, MixedRadix,
    Packed13, ParameterSet, SEED_BYTES, SHARED_SECRET_BYTES, SharedSecret,
};
use ctru_math::codec::{bits, mixed_radix};
use ctru_math::{NtruPrimeRing, Poly, Ring};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use rand_core::TryCryptoRng;
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

every_set!(
    round_trips,
    decoded_keys_give_the_same_results,
    wrong_lengths,
    differences_do_not_cancel,
    a_wiped_secret_is_the_placeholder,
    debug_shows_no_secret,
);
every_ctru_prime_set!(
    equality,
    ciphertexts_of_every_other_length,
    every_tampered_byte_is_rejected,
    rejection_depends_on_ciphertext_and_key,
    secrets_follow_the_specification,
    secret_nibbles,
    accepted_keys_round_trip,
    accepted_encapsulation_keys_are_canonical,
    the_zero_key_is_refused,
    placeholders,
    generators,
);

/// Returns a key whose seeds consist of `byte`.
fn key<P: ParameterSet>(byte: u8) -> DecapsulationKey<P> {
    DecapsulationKey::generate_deterministic(&[byte; SEED_BYTES], &[!byte; SEED_BYTES])
}

/// Returns the last bytes of a key: the secret `z` of implicit rejection.
fn z<P: CtruPrimeSet>(key: &DecapsulationKey<P>) -> &[u8] {
    &key.as_ref()[P::DECAPSULATION_KEY_BYTES - SEED_BYTES..]
}

/// Returns the first half of `SHA3-512(ID(pk) || middle || end)`.
fn hash<P: CtruPrimeSet>(
    key: &DecapsulationKey<P>,
    middle: &[u8],
    end: &[u8],
) -> [u8; SHARED_SECRET_BYTES] {
    let encapsulation_key = key.encapsulation_key();
    let input = [&encapsulation_key.as_ref()[..33], middle, end].concat();
    array(&sha3_512(&input)[..SHARED_SECRET_BYTES])
}

fn ciphertext<P: ParameterSet>(bytes: &[u8]) -> Ciphertext<P> {
    Ciphertext::from_bytes(bytes).unwrap()
}

/// Runs `test` on `cases` values of the strategy.
fn proptest<S: Strategy>(
    cases: u32,
    strategy: S,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    // A trait object, so that a property is compiled once and not for each parameter set.
    let test: &dyn Fn(S::Value) -> Result<(), TestCaseError> = &test;
    TestRunner::new(config).run(&strategy, test).unwrap();
}

fn decoded_keys_give_the_same_results<P: ParameterSet>() {
    let key = DecapsulationKey::<P>::try_generate().unwrap();
    let public = key.encapsulation_key();
    let (decoded_public, decoded) = (public.decode(), key.decode());
    for seed in [[0; SEED_BYTES], [0xff; SEED_BYTES], [7; SEED_BYTES]] {
        let (sent, secret) = public.encapsulate_deterministic(&seed);
        assert_eq!(decoded_public.encapsulate_deterministic(&seed), (sent.clone(), secret.clone()));
        assert_eq!(decoded.decapsulate(&sent), secret);
        // In generic code, bytes are slices.
        let mut altered = sent.as_bytes().to_vec();
        altered[seed[0] as usize] ^= 1;
        assert!(sent.as_bytes() != altered);
        let altered = ciphertext(&altered);
        assert_eq!(decoded.decapsulate(&altered), key.decapsulate(&altered));
    }
    let (sent, secret) = decoded_public.try_encapsulate().unwrap();
    assert_eq!(key.decapsulate(&sent), secret);
    let shown = format!("{decoded:?}, {decoded_public:?}");
    let expected = "DecodedDecapsulationKey<N>(..), DecodedEncapsulationKey<N>(..)";
    assert_eq!(shown, expected.replace('N', P::NAME));
    assert_eq!(key.as_array().as_ref(), key.as_bytes());
}

fn round_trips<P: ParameterSet>() {
    let decapsulation_key = DecapsulationKey::<P>::try_generate().unwrap();
    let encapsulation_key = decapsulation_key.encapsulation_key();
    let mut secrets = HashSet::new();
    for _ in 0..20 {
        let (ciphertext, secret) = encapsulation_key.try_encapsulate().unwrap();
        assert_eq!(decapsulation_key.decapsulate(&ciphertext), secret);
        assert!(secrets.insert(*secret.as_bytes()), "the system's randomness repeats");
    }
    assert_ne!(DecapsulationKey::<P>::try_generate().unwrap(), decapsulation_key);

    proptest(20, any::<[[u8; SEED_BYTES]; 3]>(), |[seed, z, encapsulation_seed]| {
        let decapsulation_key = DecapsulationKey::<P>::generate_deterministic(&seed, &z);
        let encapsulation_key = decapsulation_key.encapsulation_key();
        let (sent, secret) = encapsulation_key.encapsulate_deterministic(&encapsulation_seed);
        prop_assert_eq!(sent.as_ref().len(), P::CIPHERTEXT_BYTES);
        prop_assert_eq!(&decapsulation_key.decapsulate(&sent), &secret);

        // Both sides read bytes, and a second run returns the same bytes.
        let received = DecapsulationKey::<P>::from_bytes(decapsulation_key.as_ref()).unwrap();
        prop_assert_eq!(&received.decapsulate(&ciphertext(sent.as_ref())), &secret);
        let received = EncapsulationKey::<P>::try_from(encapsulation_key.as_ref()).unwrap();
        prop_assert_eq!(received.encapsulate_deterministic(&encapsulation_seed), (sent, secret));
        prop_assert_eq!(
            DecapsulationKey::<P>::generate_deterministic(&seed, &z),
            decapsulation_key
        );
        Ok(())
    });
}

/// Flips one bit of each byte of a ciphertext, and each bit of the last byte, padding included.
fn every_tampered_byte_is_rejected<P: CtruPrimeSet>() {
    let decapsulation_key = key::<P>(1);
    let (sent, secret) =
        decapsulation_key.encapsulation_key().encapsulate_deterministic(&[2; SEED_BYTES]);
    let last = P::CIPHERTEXT_BYTES - 1;
    let padding = 8 * P::CIPHERTEXT_BYTES - P::Ring::Q2_BITS as usize * P::Ring::N;
    assert!(padding > 0 && sent.as_ref()[last] >> (8 - padding) == 0);

    let flips =
        (0..=last).map(|byte| (byte, 1 << (byte % 8))).chain((0..8).map(|bit| (last, 1 << bit)));
    for (byte, flip) in flips {
        let mut bytes = sent.as_ref().to_vec();
        bytes[byte] ^= flip;
        let answer = decapsulation_key.decapsulate(&ciphertext(&bytes));
        assert_ne!(answer, secret, "byte {byte} ^ {flip}");
        assert_eq!(
            *answer.as_ref(),
            hash(&decapsulation_key, z(&decapsulation_key), &bytes),
            "byte {byte} ^ {flip}"
        );
        assert_eq!(
            answer,
            decapsulation_key.decapsulate(&ciphertext(&bytes)),
            "byte {byte} ^ {flip}"
        );
    }
    // The untampered ciphertext does not give the rejection secret.
    assert_ne!(*secret.as_bytes(), hash(&decapsulation_key, z(&decapsulation_key), sent.as_ref()));
}

/// Flips the same bit in two bytes at the beginning or at the end of a ciphertext.
fn differences_do_not_cancel<P: ParameterSet>() {
    let decapsulation_key = key::<P>(1);
    let (sent, secret) =
        decapsulation_key.encapsulation_key().encapsulate_deterministic(&[2; SEED_BYTES]);
    for distance in [1, 2, 4, 8, 16] {
        for first in [0, P::CIPHERTEXT_BYTES - 1 - distance] {
            let mut bytes = sent.as_bytes().to_vec();
            bytes[first] ^= 1;
            bytes[first + distance] ^= 1;
            let received = Ciphertext::from_bytes(&bytes).unwrap();
            assert_ne!(decapsulation_key.decapsulate(&received), secret, "{first} {distance}");
        }
    }
}

fn rejection_depends_on_ciphertext_and_key<P: CtruPrimeSet>() {
    let keys = [
        DecapsulationKey::<P>::generate_deterministic(&[1; SEED_BYTES], &[2; SEED_BYTES]),
        // The same polynomials with another z.
        DecapsulationKey::generate_deterministic(&[1; SEED_BYTES], &[3; SEED_BYTES]),
        // The same z with other polynomials.
        DecapsulationKey::generate_deterministic(&[4; SEED_BYTES], &[2; SEED_BYTES]),
    ];
    assert_eq!(keys[0].encapsulation_key(), keys[1].encapsulation_key());
    let strategy = vec(strategies::bytes(P::CIPHERTEXT_BYTES), 1..8);
    proptest(16, strategy, |ciphertexts| {
        let distinct: HashSet<_> = ciphertexts.into_iter().collect();
        let mut answers = HashSet::new();
        for bytes in &distinct {
            for key in &keys {
                let answer = *key.decapsulate(&ciphertext(bytes)).as_bytes();
                prop_assert_eq!(answer, hash(key, z(key), bytes));
                answers.insert(answer);
            }
        }
        prop_assert_eq!(answers.len(), distinct.len() * keys.len());
        Ok(())
    });
}

/// Checks that the secret is the hash of the message, and that the message is the hash of the seed.
fn secrets_follow_the_specification<P: CtruPrimeSet>() {
    let decapsulation_key = key::<P>(5);
    proptest(20, any::<[u8; SEED_BYTES]>(), |seed| {
        let message = shake256(&seed, P::Ring::MESSAGE_BYTES);
        let (_, secret) = decapsulation_key.encapsulation_key().encapsulate_deterministic(&seed);
        prop_assert_eq!(*secret.as_bytes(), hash(&decapsulation_key, &message, &[]));
        Ok(())
    });
}

fn sizes<P: ParameterSet>() -> [usize; 3] {
    [P::ENCAPSULATION_KEY_BYTES, P::DECAPSULATION_KEY_BYTES, P::CIPHERTEXT_BYTES]
}

fn wrong_lengths<P: ParameterSet>() {
    let others = [
        sizes::<CtruPrime653<MixedRadix>>(),
        sizes::<CtruPrime653<Packed13>>(),
        sizes::<CtruPrime761<MixedRadix>>(),
        sizes::<CtruPrime761<Packed13>>(),
        sizes::<CtruPrime1277<MixedRadix>>(),
        sizes::<CtruPrime1277<Packed13>>(),
    ];
    let decapsulation_key = key::<P>(6);
    let encapsulation_key = decapsulation_key.encapsulation_key();
    let (sent, _) = encapsulation_key.encapsulate_deterministic(&[7; SEED_BYTES]);
    let values = [encapsulation_key.as_ref(), decapsulation_key.as_ref(), sent.as_ref()];
    let [encapsulation_key_len, decapsulation_key_len, ciphertext_len] = sizes::<P>();
    for expected in sizes::<P>() {
        let lengths = [0, 1, expected - 1, expected + 1, 2 * expected].into_iter();
        for actual in lengths.chain(others.into_iter().flatten()) {
            for value in values {
                // The bytes are a prefix or a repetition of a valid value, so only the length is
                // wrong.
                let bytes: Vec<u8> = value.iter().copied().cycle().take(actual).collect();
                let error = |expected| InvalidLength { expected, actual };
                if actual != encapsulation_key_len {
                    let error = InvalidEncapsulationKey::Length(error(encapsulation_key_len));
                    assert_eq!(EncapsulationKey::<P>::from_bytes(&bytes), Err(error));
                    assert_eq!(EncapsulationKey::<P>::try_from(&bytes[..]), Err(error));
                }
                if actual != decapsulation_key_len {
                    let error = InvalidDecapsulationKey::Length(error(decapsulation_key_len));
                    assert_eq!(DecapsulationKey::<P>::from_bytes(&bytes), Err(error));
                    assert_eq!(DecapsulationKey::<P>::try_from(&bytes[..]), Err(error));
                }
                if actual != ciphertext_len {
                    assert_eq!(Ciphertext::<P>::from_bytes(&bytes), Err(error(ciphertext_len)));
                    assert_eq!(Ciphertext::<P>::try_from(&bytes[..]), Err(error(ciphertext_len)));
                } else {
                    assert!(Ciphertext::<P>::from_bytes(&bytes).is_ok());
                }
            }
        }
    }
    let error = InvalidLength { expected: encapsulation_key_len, actual: 3 };
    assert_eq!(error.to_string(), format!("expected {encapsulation_key_len} bytes, got 3"));
    assert_eq!(InvalidEncapsulationKey::from(error).to_string(), error.to_string());
    assert_eq!(InvalidDecapsulationKey::from(error).to_string(), error.to_string());
}

/// Reads ciphertexts of each length up to more than twice the right one, of zeros and of ones, and
/// of a mebibyte. What is accepted gives a secret and nothing else, which the types show.
fn ciphertexts_of_every_other_length<P: CtruPrimeSet>() {
    let answer: fn(&DecapsulationKey<P>, &Ciphertext<P>) -> SharedSecret =
        DecapsulationKey::decapsulate;
    let decapsulation_key = key::<P>(6);
    let expected = P::CIPHERTEXT_BYTES;
    for fill in [0, 0xff] {
        let longest = vec![fill; 1 << 20];
        for actual in (0..=2 * expected + 8).chain([1 << 20]) {
            let read = Ciphertext::<P>::from_bytes(&longest[..actual]);
            if actual == expected {
                let secret = answer(&decapsulation_key, &read.unwrap());
                let rejected = hash(&decapsulation_key, z(&decapsulation_key), &longest[..actual]);
                assert_eq!(*secret.as_bytes(), rejected);
            } else {
                assert_eq!(read, Err(InvalidLength { expected, actual }));
            }
        }
    }
}

/// Returns the bytes of `decapsulation_key` with another encapsulation key inside.
fn with_encapsulation_key<P: CtruPrimeSet>(
    decapsulation_key: &DecapsulationKey<P>,
    encapsulation_key: &[u8],
) -> Vec<u8> {
    let mut bytes = decapsulation_key.as_ref().to_vec();
    bytes[P::Ring::SECRET_POLY_BYTES..][..P::ENCAPSULATION_KEY_BYTES]
        .copy_from_slice(encapsulation_key);
    bytes
}

/// Checks that `encapsulation_key` is refused with `error`, alone and inside a decapsulation key.
fn refused<P: CtruPrimeSet>(
    decapsulation_key: &DecapsulationKey<P>,
    encapsulation_key: &[u8],
    error: InvalidEncapsulationKey,
) {
    assert_eq!(EncapsulationKey::<P>::from_bytes(encapsulation_key), Err(error));
    let bytes = with_encapsulation_key(decapsulation_key, encapsulation_key);
    assert_eq!(
        DecapsulationKey::<P>::from_bytes(&bytes),
        Err(InvalidDecapsulationKey::EncapsulationKey(error))
    );
}

/// Overwrites the 13 bits of a coefficient.
fn set_coefficient(bytes: &mut [u8], index: usize, value: u32) {
    for bit in 0..13 {
        let position = 13 * index + bit;
        bytes[position / 8] &= !(1 << (position % 8));
        bytes[position / 8] |= ((value >> bit & 1) as u8) << (position % 8);
    }
}

fn packed13_refuses<P: CtruPrimeSet<Encoding = Packed13>>() {
    let decapsulation_key = key::<P>(8);
    let encapsulation_key = decapsulation_key.encapsulation_key();
    let (n, q) = (P::Ring::N, P::Ring::Q);
    for index in [0, 1, 2, 3, 4, 5, 6, 7, 8, n / 2, n - 9, n - 6, n - 5, n - 4, n - 3, n - 2, n - 1]
    {
        let error = InvalidEncapsulationKey::Coefficient { index };
        assert_eq!(error.to_string(), format!("the coefficient of x^{index} is not below q"));
        let mut bytes = encapsulation_key.as_ref().to_vec();
        for value in [q, q + 1, 8190, 8191] {
            set_coefficient(&mut bytes, index, value);
            refused(&decapsulation_key, &bytes, error);
        }
        // The error names the first of several wrong coefficients.
        set_coefficient(&mut bytes, n - 1, q);
        refused(&decapsulation_key, &bytes, error);
        set_coefficient(&mut bytes, n - 1, 0);
        for value in [0, q - 1] {
            set_coefficient(&mut bytes, index, value);
            assert_eq!(EncapsulationKey::<P>::from_bytes(&bytes).unwrap().as_ref(), bytes);
        }
    }
    let padding = 8 * P::ENCAPSULATION_KEY_BYTES - 13 * n;
    assert_eq!(padding, if P::Ring::N == 761 { 3 } else { 7 });
    for bit in 8 - padding..8 {
        let mut bytes = encapsulation_key.as_ref().to_vec();
        *bytes.last_mut().unwrap() |= 1 << bit;
        refused(&decapsulation_key, &bytes, InvalidEncapsulationKey::Padding);
    }
    refused(
        &decapsulation_key,
        &vec![0xff; P::ENCAPSULATION_KEY_BYTES],
        InvalidEncapsulationKey::Coefficient { index: 0 },
    );
}

#[test]
fn packed13_keys_with_large_coefficients_or_padding_are_refused() {
    packed13_refuses::<CtruPrime653<Packed13>>();
    packed13_refuses::<CtruPrime761<Packed13>>();
    packed13_refuses::<CtruPrime1277<Packed13>>();
}

fn mixed_radix_refuses<P: CtruPrimeSet<Encoding = MixedRadix>>(root: u32, root_bytes: usize) {
    let error = InvalidEncapsulationKey::NotCanonical;
    let decapsulation_key = key::<P>(9);
    let encapsulation_key = decapsulation_key.encapsulation_key();
    let (n, q) = (P::Ring::N, P::Ring::Q as u16);

    // The last bytes encode the root. They get values that are not below the radix of the root.
    for value in (root..1 << (8 * root_bytes)).step_by(1 + (root as usize / 97)) {
        let mut bytes = encapsulation_key.as_ref().to_vec();
        let start = bytes.len() - root_bytes;
        bytes[start..].copy_from_slice(&value.to_le_bytes()[..root_bytes]);
        refused(&decapsulation_key, &bytes, error);
    }
    // Two neighbouring coefficients are q - 1, so they combine to q^2 - 1. Two bytes of the string
    // are the low bytes of this number. With 0xff in both bytes, the number is q^2 or more.
    for pair in [0, 1, 2, n / 4, n / 2 - 2, n / 2 - 1] {
        let mut coefficients = vec![0; n];
        coefficients[2 * pair..2 * pair + 2].fill(q - 1);
        let poly = Poly::<P::Ring>::from_coefficients(&coefficients).unwrap();
        let mut bytes = mixed_radix::encode(&poly).as_ref().to_vec();
        assert_eq!(EncapsulationKey::<P>::from_bytes(&bytes).unwrap().as_ref(), bytes);
        bytes[2 * pair..2 * pair + 2].fill(0xff);
        refused(&decapsulation_key, &bytes, error);
    }
    refused(&decapsulation_key, &vec![0xff; P::ENCAPSULATION_KEY_BYTES], error);

    // A string is accepted if and only if it encodes to itself again.
    let strategy = (strategies::bytes(P::ENCAPSULATION_KEY_BYTES), any::<bool>(), any::<u32>());
    let canonical_seen = std::cell::Cell::new(0);
    proptest(200, strategy, |(mut bytes, small_root, value)| {
        if small_root {
            let start = bytes.len() - root_bytes;
            bytes[start..].copy_from_slice(&(value % root).to_le_bytes()[..root_bytes]);
        }
        let again = mixed_radix::encode(&mixed_radix::decode::<P::Ring>(&array(&bytes)));
        if bytes.iter().all(|&byte| byte == 0) {
            refused(&decapsulation_key, &bytes, InvalidEncapsulationKey::Zero);
        } else if again.as_ref() == bytes {
            canonical_seen.set(canonical_seen.get() + 1);
            let key = EncapsulationKey::<P>::from_bytes(&bytes);
            prop_assert_eq!(key.as_ref().map(|key| key.as_ref()), Ok(&bytes[..]));
        } else {
            refused(&decapsulation_key, &bytes, error);
        }
        Ok(())
    });
    assert!(canonical_seen.get() > 0, "no string was canonical");
}

#[test]
fn mixed_radix_keys_that_do_not_reencode_are_refused() {
    mixed_radix_refuses::<CtruPrime653<MixedRadix>>(86, 1);
    mixed_radix_refuses::<CtruPrime761<MixedRadix>>(1608, 2);
    mixed_radix_refuses::<CtruPrime1277<MixedRadix>>(3696, 2);
}

/// Tries all 16 nibbles at each kind of position: `f_0`, odd and even powers, the last power, and
/// the unused nibble after it.
fn secret_nibbles<P: CtruPrimeSet>() {
    let decapsulation_key = key::<P>(10);
    let (sent, _) =
        decapsulation_key.encapsulation_key().encapsulate_deterministic(&[11; SEED_BYTES]);
    let n = P::Ring::N;
    for index in [0, 1, 2, 3, 4, 5, n / 2, n / 2 + 1, n - 3, n - 2, n - 1, n] {
        for nibble in 0..16 {
            let mut bytes = decapsulation_key.as_ref().to_vec();
            let shift = 4 * (index % 2);
            bytes[index / 2] = bytes[index / 2] & !(15 << shift) | nibble << shift;
            // f = 2 f' + 1 with |f'_i| <= eta, stored as 2 eta + 1 - f_i.
            let valid = match index {
                0 => nibble % 2 == 0 && u32::from(nibble) <= 4 * P::Ring::ETA,
                _ if index == n => nibble == 0,
                _ => nibble % 2 == 1 && u32::from(nibble) <= 4 * P::Ring::ETA + 1,
            };
            match DecapsulationKey::<P>::from_bytes(&bytes) {
                Ok(key) => {
                    assert!(valid, "nibble {nibble} of coefficient {index} is accepted");
                    assert_eq!(key.as_ref(), bytes);
                    let _ = key.decapsulate(&sent);
                }
                Err(error) => {
                    assert!(!valid, "nibble {nibble} of coefficient {index} is refused");
                    assert_eq!(error, InvalidDecapsulationKey::SecretPolynomial);
                    assert!(
                        !error.to_string().chars().any(char::is_numeric),
                        "{error} tells where"
                    );
                }
            }
        }
    }
}

/// Checks that an accepted decapsulation key returns the bytes from which it was read, and that its
/// operations do not panic.
fn accepted_keys_round_trip<P: CtruPrimeSet>() {
    let [first, second] = [key::<P>(12), key::<P>(13)];
    let (sent, _) = first.encapsulation_key().encapsulate_deterministic(&[14; SEED_BYTES]);
    let mutations = vec((any::<Index>(), any::<u8>()), 0..4);
    let seen = std::cell::Cell::new([0; 2]);
    proptest(400, (mutations, any::<bool>(), any::<bool>()), |(mutations, in_z, other_key)| {
        // Reading accepts the encapsulation key of another key, because it does not check that f
        // and h belong together.
        let mut bytes = match other_key {
            true => with_encapsulation_key(&first, second.encapsulation_key().as_ref()),
            false => first.as_ref().to_vec(),
        };
        let start = if in_z { P::DECAPSULATION_KEY_BYTES - SEED_BYTES } else { 0 };
        for (index, value) in mutations {
            let place = start + index.index(bytes.len() - start);
            bytes[place] ^= value;
        }
        let accepted = DecapsulationKey::<P>::from_bytes(&bytes);
        let mut counts = seen.get();
        counts[usize::from(accepted.is_ok())] += 1;
        seen.set(counts);
        if let Ok(key) = accepted {
            prop_assert_eq!(key.as_ref(), bytes);
            let encapsulation_key = key.encapsulation_key();
            prop_assert!(
                EncapsulationKey::from_bytes(encapsulation_key.as_ref())
                    == Ok(encapsulation_key.clone())
            );
            let _ = key.decapsulate(&sent);
            let (again, _) = encapsulation_key.encapsulate_deterministic(&[15; SEED_BYTES]);
            let _ = key.decapsulate(&again);
        }
        Ok(())
    });
    let [refused, accepted] = seen.get();
    assert!(refused >= 20 && accepted >= 20, "{refused} refused, {accepted} accepted");
}

/// Checks that the bytes of an accepted encapsulation key are the encoding of a polynomial, and
/// that every polynomial except 0 is accepted.
fn accepted_encapsulation_keys_are_canonical<P: CtruPrimeSet>() {
    let honest = key::<P>(16).encapsulation_key();
    proptest(200, vec((any::<Index>(), any::<u8>()), 0..4), |mutations| {
        let mut bytes = honest.as_ref().to_vec();
        for (index, value) in mutations {
            let place = index.index(bytes.len());
            bytes[place] ^= value;
        }
        if let Ok(key) = EncapsulationKey::<P>::from_bytes(&bytes) {
            prop_assert_eq!(key.as_ref(), &bytes);
            let poly = decode::<P>(key.as_ref());
            prop_assert!(encode::<P>(&poly).as_ref() == bytes);
            let _ = key.encapsulate_deterministic(&[17; SEED_BYTES]);
        }
        Ok(())
    });
    proptest(100, strategies::poly::<P::Ring>(), |poly| {
        prop_assume!(poly != Poly::zero());
        let bytes = encode::<P>(&poly);
        let key = EncapsulationKey::<P>::from_bytes(bytes.as_ref()).unwrap();
        prop_assert_eq!(key.as_ref(), &bytes[..]);
        let (_, secret) = key.encapsulate_deterministic(&[18; SEED_BYTES]);
        prop_assert_ne!(secret, SharedSecret::default());
        Ok(())
    });
    // Unpacking inverts packing with 13 bits per coefficient.
    let poly = decode::<P>(honest.as_ref());
    assert_eq!(bits::unpack13(&bits::pack13(&poly)), Ok(poly));
}

/// Checks that a key of zeros is refused. A power cut can leave a file of zeros, and a ciphertext
/// for `h = 0` would show its message.
fn the_zero_key_is_refused<P: CtruPrimeSet>() {
    let zeros = vec![0; P::ENCAPSULATION_KEY_BYTES];
    assert_eq!(encode::<P>(&Poly::<P::Ring>::zero()).as_ref(), zeros);
    assert_eq!(InvalidEncapsulationKey::Zero.to_string(), "the polynomial is zero");
    refused(&key::<P>(27), &zeros, InvalidEncapsulationKey::Zero);
    // Other constant polynomials are accepted.
    let one = encode::<P>(&Poly::<P::Ring>::one());
    assert!(EncapsulationKey::<P>::from_bytes(one.as_ref()).is_ok());
}

/// Checks that `from_bytes` refuses the bytes of placeholders.
fn placeholders<P: CtruPrimeSet>() {
    let encapsulation_key = EncapsulationKey::<P>::placeholder();
    let decapsulation_key = DecapsulationKey::<P>::placeholder();
    let error = InvalidEncapsulationKey::Zero;
    assert_eq!(EncapsulationKey::<P>::from_bytes(encapsulation_key.as_ref()), Err(error));
    let error = InvalidDecapsulationKey::EncapsulationKey(error);
    assert_eq!(DecapsulationKey::<P>::from_bytes(decapsulation_key.as_ref()), Err(error));
    assert_eq!(decapsulation_key.encapsulation_key(), encapsulation_key);
    assert_eq!(Ciphertext::<P>::default().as_ref(), vec![0; P::CIPHERTEXT_BYTES]);
    assert_eq!(SharedSecret::default().as_ref(), &[0; SHARED_SECRET_BYTES]);
    // The placeholder is well formed: decapsulation returns a secret.
    let (sent, secret) = encapsulation_key.encapsulate_deterministic(&[19; SEED_BYTES]);
    let _ = decapsulation_key.decapsulate(&sent);
    assert!(SharedSecret::default().is_placeholder());
    assert!(!secret.is_placeholder());
    assert!(
        !SharedSecret::from_bytes(&array(&[[0; 31].as_slice(), &[1]].concat())).is_placeholder()
    );
}

/// Checks that a wiped secret is the placeholder. Keys have no such function: a wiped key that
/// could still decapsulate would give secrets that everybody can compute.
fn a_wiped_secret_is_the_placeholder<P: ParameterSet>() {
    let public = key::<P>(28).encapsulation_key();
    let (_, mut secret) = public.encapsulate_deterministic(&[29; SEED_BYTES]);
    secret.zeroize();
    assert!(secret.is_placeholder());
}

/// Returns whether the text shows three bytes in a row, in hexadecimal or decimal.
fn shows(text: &str, bytes: &[u8]) -> bool {
    let text = text.to_lowercase();
    bytes.windows(3).any(|window| {
        let hex: Vec<_> = window.iter().map(|byte| format!("{byte:02x}")).collect();
        let decimal: Vec<_> = window.iter().map(u8::to_string).collect();
        [hex.concat(), hex.join(", "), decimal.join(", ")].iter().any(|shown| text.contains(shown))
    })
}

fn debug_shows_no_secret<P: ParameterSet>() {
    let decapsulation_key = key::<P>(20);
    let encapsulation_key = decapsulation_key.encapsulation_key();
    let (sent, secret) = encapsulation_key.encapsulate_deterministic(&[21; SEED_BYTES]);
    for text in [format!("{decapsulation_key:?}"), format!("{decapsulation_key:#?}")] {
        assert!(text.contains(P::NAME), "{text}");
        assert!(!shows(&text, decapsulation_key.as_ref()), "{text}");
    }
    // The output does not depend on the secret.
    assert_eq!(format!("{decapsulation_key:?}"), format!("{:?}", key::<P>(22)));
    assert_eq!(format!("{secret:?}"), "SharedSecret(..)");
    assert!(!shows(&format!("{secret:#?}"), secret.as_ref()));
    // The search itself works: it finds the bytes of public values, which `Debug` shows.
    assert!(shows(&format!("{encapsulation_key:?}"), encapsulation_key.as_ref()));
    assert!(shows(&format!("{sent:?}"), sent.as_ref()));
    assert!(shows(&format!("{:?}", secret.as_ref()), secret.as_ref()));
}

#[test]
fn secrets_from_bytes() {
    let bytes = array(&(0..32).collect::<Vec<u8>>());
    let secret = SharedSecret::from_bytes(&bytes);
    assert_eq!(secret.as_bytes(), &bytes);
    assert_eq!(format!("{secret:?}"), "SharedSecret(..)");
}

fn equality<P: CtruPrimeSet>() {
    let decapsulation_key = key::<P>(23);
    assert!(bool::from(decapsulation_key.ct_eq(&decapsulation_key.clone())));
    // Keys that differ in one place: in z, then in the secret polynomial.
    for place in P::DECAPSULATION_KEY_BYTES - SEED_BYTES..P::DECAPSULATION_KEY_BYTES {
        let mut bytes = decapsulation_key.as_ref().to_vec();
        bytes[place] ^= 0x80;
        let other = DecapsulationKey::<P>::from_bytes(&bytes).unwrap();
        assert!(!bool::from(decapsulation_key.ct_eq(&other)) && decapsulation_key != other);
    }
    for place in 1..P::Ring::SECRET_POLY_BYTES - 1 {
        let mut bytes = decapsulation_key.as_ref().to_vec();
        bytes[place] = if bytes[place] == 0x11 { 0x33 } else { 0x11 };
        let other = DecapsulationKey::<P>::from_bytes(&bytes).unwrap();
        assert!(!bool::from(decapsulation_key.ct_eq(&other)) && decapsulation_key != other);
    }
    let encapsulation_key = decapsulation_key.encapsulation_key();
    assert_eq!(encapsulation_key, encapsulation_key.clone());
    assert_ne!(encapsulation_key, key::<P>(24).encapsulation_key());

    let (sent, secret) = encapsulation_key.encapsulate_deterministic(&[25; SEED_BYTES]);
    let (other_sent, other_secret) = encapsulation_key.encapsulate_deterministic(&[26; SEED_BYTES]);
    assert!(bool::from(secret.ct_eq(&secret.clone())) && !bool::from(secret.ct_eq(&other_secret)));
    assert!(secret != other_secret && sent != other_sent);

    let hashes = HashSet::from([sent.clone(), sent.clone(), other_sent]);
    assert_eq!(hashes.len(), 2);
    assert!(hashes.contains(&sent));
    assert_eq!(HashSet::from([encapsulation_key.clone(), encapsulation_key]).len(), 1);
}

/// Checks that a generator's bytes become the seed and then `z`, and that its errors are returned.
fn generators<P: CtruPrimeSet>() {
    let bytes: Vec<u8> = (100..164).collect();
    let (seed, z) = bytes.split_at(SEED_BYTES);
    let decapsulation_key = DecapsulationKey::<P>::generate_deterministic(&array(seed), &array(z));
    assert_eq!(
        DecapsulationKey::<P>::try_generate_from_rng(&mut finite(&bytes)).unwrap(),
        decapsulation_key
    );
    assert_eq!(
        DecapsulationKey::<P>::generate_from_rng(&mut infallible(&bytes)),
        decapsulation_key
    );

    let encapsulation_key = decapsulation_key.encapsulation_key();
    let expected = encapsulation_key.encapsulate_deterministic(&array(seed));
    assert_eq!(encapsulation_key.try_encapsulate_with_rng(&mut finite(seed)).unwrap(), expected);
    assert_eq!(encapsulation_key.encapsulate_with_rng(&mut infallible(seed)), expected);
    // A generator can be a trait object.
    let generator: &mut dyn TryCryptoRng<Error = Exhausted> = &mut finite(&bytes);
    assert_eq!(DecapsulationKey::<P>::try_generate_from_rng(generator).unwrap(), decapsulation_key);

    let error = Exhausted { asked: SEED_BYTES };
    for given in [0, SEED_BYTES - 1, SEED_BYTES, 2 * SEED_BYTES - 1] {
        let failing = &mut finite(&bytes[..given]);
        assert_eq!(
            DecapsulationKey::<P>::try_generate_from_rng(failing).as_ref(),
            Err(&error),
            "{given}"
        );
    }
    for given in [0, SEED_BYTES - 1] {
        let failing = &mut finite(&bytes[..given]);
        assert_eq!(
            encapsulation_key.try_encapsulate_with_rng(failing).as_ref(),
            Err(&error),
            "{given}"
        );
    }
}
