//! Compares the crate with the vectors that `tests/hybrid.py` has made, and with its definition.

use ctru_hybrid::{
    Ciphertext, CtruPrime653, CtruPrime761, CtruPrime1277, DecapsulationKey, EncapsulationKey,
    ParameterSet, X25519CtruPrime,
};
use ctru_tests::vectors::{Hybrid, array};
use sha3::{Digest, Sha3_256};

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

/// Checks the secrets of the two parts, and that the shared secret is their hash.
fn check_parts<C: ctru_kem::ParameterSet>(vector: &Hybrid) {
    let [seed, z, x25519] = vector.private_key.as_chunks::<32>().0 else {
        panic!("a private key has 96 bytes");
    };
    let (ctru, ephemeral) = vector.ciphertext.split_last_chunk::<32>().unwrap();
    let key = ctru_kem::DecapsulationKey::<C>::generate_deterministic(seed, z);
    let secret = key.decapsulate(&ctru_kem::Ciphertext::from_bytes(ctru).unwrap());
    assert_eq!(*secret.as_bytes(), vector.ss_ctru);
    assert_eq!(x25519_dalek::x25519(*x25519, *ephemeral), vector.ss_x25519);

    let mut hash = Sha3_256::new();
    for part in [&vector.ss_ctru[..], &vector.ss_x25519, ctru, ephemeral, &vector.public_key] {
        hash.update(part);
    }
    hash.update(format!("CTRU-Prime-{} X25519 SHA3-256 v1", vector.n));
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
