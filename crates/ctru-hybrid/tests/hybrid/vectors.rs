//! Compares the crate with the vectors that `tests/hybrid.py` has made, and with its definition.

use ctru_hybrid::{
    Ciphertext, CtruPrime653, CtruPrime761, CtruPrime1277, DecapsulationKey, EncapsulationKey,
    ParameterSet, X25519CtruPrime,
};
use ctru_tests::vectors::{Hybrid, array};
use sha3::{Digest, Sha3_256};
use shake::{ExtendableOutput, Shake256, Update, XofReader};

fn check<P: ParameterSet, C: ctru_kem::ParameterSet>(n: usize) {
    let vectors = Hybrid::load(n);
    assert_eq!(vectors.len(), 100);
    for (line, vector) in vectors.iter().enumerate() {
        assert_eq!(vector.n, n);
        let key = DecapsulationKey::<P>::from_bytes(&vector.private_key).unwrap();
        assert_eq!(key.as_bytes()[..], vector.private_key);
        let public = EncapsulationKey::<P>::from_bytes(&vector.public_key).unwrap();
        assert_eq!(key.encapsulation_key(), public, "line {line}");
        let (sent, secret) = public.encapsulate_deterministic(&array(&vector.coins));
        assert_eq!(sent.as_ref(), vector.ciphertext, "line {line}");
        assert_eq!(*secret.as_bytes(), vector.shared_secret, "line {line}");
        let received = Ciphertext::<P>::from_bytes(&vector.ciphertext).unwrap();
        assert_eq!(key.decapsulate(&received), secret, "line {line}");
        check_parts::<C>(vector);
    }
}

/// Returns the seed and `z` of CTRU-Prime and the private key of X25519 that belong to a key.
fn expanded(n: usize, private_key: &[u8]) -> [[u8; 32]; 3] {
    let mut shake = Shake256::default();
    Update::update(&mut shake, format!("CTRU-Prime-{n} X25519 key v1").as_bytes());
    Update::update(&mut shake, private_key);
    let mut parts = [[0; 32]; 3];
    shake.finalize_xof().read(parts.as_flattened_mut());
    parts
}

/// Checks the secrets of the two parts, and that the shared secret is their hash.
fn check_parts<C: ctru_kem::ParameterSet>(vector: &Hybrid) {
    let [seed, z, x25519] = &expanded(vector.n, &vector.private_key);
    let (ctru, ephemeral) = vector.ciphertext.split_last_chunk::<32>().unwrap();
    let key = ctru_kem::DecapsulationKey::<C>::generate_deterministic(seed, z);
    let secret = key.decapsulate(&ctru_kem::Ciphertext::from_bytes(ctru).unwrap());
    assert_eq!(*secret.as_bytes(), vector.ss_ctru);
    assert_eq!(x25519_dalek::x25519(*x25519, *ephemeral), vector.ss_x25519);

    let mut hash = Sha3_256::new();
    for part in [&vector.ss_ctru[..], &vector.ss_x25519, ctru, ephemeral, &vector.public_key] {
        Digest::update(&mut hash, part);
    }
    Digest::update(&mut hash, format!("CTRU-Prime-{} X25519 SHA3-256 v1", vector.n));
    assert_eq!(hash.finalize()[..], vector.shared_secret);
}

#[test]
fn n653() {
    check::<X25519CtruPrime<CtruPrime653>, CtruPrime653>(653);
}

#[test]
fn n761() {
    check::<X25519CtruPrime<CtruPrime761>, CtruPrime761>(761);
}

#[test]
fn n1277() {
    check::<X25519CtruPrime<CtruPrime1277>, CtruPrime1277>(1277);
}

/// Checks that one string gives no related keys: two coefficients of a polynomial are equal by
/// chance, with a probability of 70/256 between 761 and 1277, and the keys of X25519 differ.
#[test]
fn one_string_gives_unrelated_keys_for_two_sets() {
    let bytes = [0x42; 32];
    let [seed, _, x25519] = expanded(761, &bytes);
    let [other_seed, _, other_x25519] = expanded(1277, &bytes);
    let f = secret_polynomial::<CtruPrime761>(&seed);
    let other_f = secret_polynomial::<CtruPrime1277>(&other_seed);
    let equal = f.iter().zip(&other_f).filter(|(a, b)| a == b).count();
    // The standard deviation is 11.
    assert!((110..=240).contains(&equal), "{equal} of 640 coefficients");
    assert_ne!(x25519, other_x25519);

    // These are the keys that the crate makes of the string.
    let key = DecapsulationKey::<X25519CtruPrime<CtruPrime761>>::generate_deterministic(&bytes);
    let other = DecapsulationKey::<X25519CtruPrime<CtruPrime1277>>::generate_deterministic(&bytes);
    check_public::<CtruPrime761>(key.encapsulation_key().as_ref(), &seed, &x25519);
    check_public::<CtruPrime1277>(other.encapsulation_key().as_ref(), &other_seed, &other_x25519);
}

/// Returns the first coefficients of the secret polynomial that belongs to a seed.
fn secret_polynomial<C: ctru_kem::ParameterSet>(seed: &[u8; 32]) -> Vec<u8> {
    let key = ctru_kem::DecapsulationKey::<C>::generate_deterministic(seed, &[0; 32]);
    key.as_ref()[..320].iter().flat_map(|byte| [byte & 15, byte >> 4]).collect()
}

fn check_public<C: ctru_kem::ParameterSet>(public: &[u8], seed: &[u8; 32], x25519: &[u8; 32]) {
    let ctru = ctru_kem::DecapsulationKey::<C>::generate_deterministic(seed, &[0; 32]);
    let x25519 = x25519_dalek::x25519(*x25519, x25519_dalek::X25519_BASEPOINT_BYTES);
    assert_eq!(public, [ctru.encapsulation_key().as_ref(), &x25519].concat());
}
