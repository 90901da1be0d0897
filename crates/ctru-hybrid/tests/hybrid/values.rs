//! Keys and ciphertexts as values: lengths, refused bytes, equality, `Debug`.

use std::collections::HashSet;

use ctru_hybrid::{
    Ciphertext, DecapsulationKey, EncapsulationKey, InvalidEncapsulationKey, InvalidLength,
    InvalidSeed, ParameterSet, SharedSecret, X25519_BYTES,
};
use subtle::ConstantTimeEq;

use crate::{coins, degree, key};

every_set!(wrong_lengths, refused_keys, names, equality, debug_shows_no_secret);

fn wrong_lengths<P: ParameterSet>() {
    let key = key::<P>(1);
    let public = key.encapsulation_key();
    let (sent, _) = public.encapsulate_deterministic(&coins(2));
    let mut lengths = vec![0, 1, 31, 33, 64, 95, 97, 128];
    for expected in [P::ENCAPSULATION_KEY_BYTES, P::CIPHERTEXT_BYTES] {
        let ctru = expected - X25519_BYTES;
        lengths.extend([ctru, expected - 1, expected, expected + 1, 2 * expected]);
    }
    for actual in lengths {
        // The bytes are a prefix or a repetition of a valid value, so only the length is wrong.
        let of = |bytes: &[u8]| -> Vec<u8> { bytes.iter().copied().cycle().take(actual).collect() };
        let error = |expected| InvalidLength { expected, actual };
        if actual != P::ENCAPSULATION_KEY_BYTES {
            let error = InvalidEncapsulationKey::Length(error(P::ENCAPSULATION_KEY_BYTES));
            assert_eq!(EncapsulationKey::<P>::from_bytes(&of(public.as_ref())), Err(error));
        }
        if actual != P::CIPHERTEXT_BYTES {
            let error = error(P::CIPHERTEXT_BYTES);
            assert_eq!(Ciphertext::<P>::from_bytes(&of(sent.as_ref())), Err(error));
        }
        let error = InvalidSeed::Length(error(32));
        assert_eq!(DecapsulationKey::<P>::from_bytes(&of(key.as_ref())), Err(error));
    }
    // A key from before keys were bound to a set.
    let error = DecapsulationKey::<P>::from_bytes(&[1; 96]).unwrap_err();
    assert_eq!(error, InvalidSeed::Unbound { expected: 32, actual: 96 });
    assert!(error.to_string().contains("before 2026-11"), "{error}");
}

/// Checks that keys of CTRU-Prime that `ctru-kem` refuses are refused, with its error.
fn refused_keys<P: ParameterSet>() {
    let public = key::<P>(3).encapsulation_key();
    let ctru = P::ENCAPSULATION_KEY_BYTES - X25519_BYTES;
    let mut bytes = public.as_ref().to_vec();
    for (fill, error) in
        [(0, InvalidEncapsulationKey::Zero), (0xff, InvalidEncapsulationKey::NotCanonical)]
    {
        bytes[..ctru].fill(fill);
        assert_eq!(EncapsulationKey::<P>::from_bytes(&bytes), Err(error));
    }
    // All strings are public keys of X25519.
    for fill in [0, 0xff] {
        let mut bytes = public.as_ref().to_vec();
        bytes[ctru..].fill(fill);
        let key = EncapsulationKey::<P>::from_bytes(&bytes).unwrap();
        assert_eq!(key.as_bytes(), bytes);
    }
}

fn names<P: ParameterSet>() {
    assert_eq!(P::NAME, format!("CTRU-Prime-{} X25519", degree::<P>()));
}

fn equality<P: ParameterSet>() {
    let key = key::<P>(4);
    for byte in 0..32 {
        let mut bytes = *key.as_bytes();
        bytes[byte] ^= 0x80;
        let other = DecapsulationKey::<P>::generate_deterministic(&bytes);
        assert!(!bool::from(key.ct_eq(&other)) && key != other, "byte {byte}");
    }
    assert!(bool::from(key.ct_eq(&key.clone())));
    let public = key.encapsulation_key();
    let (sent, secret) = public.encapsulate_deterministic(&coins(5));
    let (other, other_secret) = public.encapsulate_deterministic(&coins(6));
    assert!(secret != other_secret && sent != other);
    assert_eq!(HashSet::from([sent.clone(), sent, other]).len(), 2);
    assert_eq!(HashSet::from([public.clone(), public]).len(), 1);
    assert_eq!(SharedSecret::from_bytes(secret.as_bytes()), secret);
}

/// Checks that `Debug` of a private key does not depend on its bytes.
fn debug_shows_no_secret<P: ParameterSet>() {
    let text = format!("{:?}", key::<P>(7));
    assert_eq!(text, format!("DecapsulationKey<{}>(..)", P::NAME));
    let public = key::<P>(7).encapsulation_key();
    let first = const_hex::encode(&public.as_ref()[..8]);
    assert_eq!(format!("{public:?}"), format!("EncapsulationKey<{}>({first}..)", P::NAME));
    let (sent, _) = public.encapsulate_deterministic(&coins(8));
    let first = const_hex::encode(&sent.as_ref()[..8]);
    assert_eq!(format!("{sent:?}"), format!("Ciphertext<{}>({first}..)", P::NAME));
}
