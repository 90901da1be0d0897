//! `Serialize` and `Deserialize`: hexadecimal in JSON, bytes in postcard.

use ctru_kem::{
    Ciphertext, CtruPrimeSet, DecapsulationKey, EncapsulationKey, KEY_PAIR_SEED_BYTES, KeyPairSeed,
    ParameterSet, SEED_BYTES,
};
use ctru_math::Ring;
use ctru_tests::{every_ctru_prime_set, every_set};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

every_set!(round_trips);
every_ctru_prime_set!(refused_values_are_errors);

struct Values<P: ParameterSet> {
    encapsulation_key: EncapsulationKey<P>,
    decapsulation_key: DecapsulationKey<P>,
    ciphertext: Ciphertext<P>,
}

impl<P: ParameterSet> Values<P> {
    fn new() -> Self {
        let decapsulation_key =
            DecapsulationKey::generate_deterministic(&[1; SEED_BYTES], &[2; SEED_BYTES]);
        let encapsulation_key = decapsulation_key.encapsulation_key();
        let (ciphertext, _) = encapsulation_key.encapsulate_deterministic(&[3; SEED_BYTES]);
        Self { encapsulation_key, decapsulation_key, ciphertext }
    }
}

fn round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, bytes: &[u8]) {
    let json = serde_json::to_string(value).unwrap();
    assert_eq!(json, format!("\"{}\"", const_hex::encode(bytes)));
    assert_eq!(&serde_json::from_str::<T>(&json).unwrap(), value);
    assert_eq!(&serde_json::from_reader::<_, T>(json.as_bytes()).unwrap(), value);
    assert_eq!(&serde_json::from_str::<Vec<T>>(&format!("[{json}]")).unwrap()[0], value);

    let binary = postcard::to_stdvec(value).unwrap();
    // postcard writes the length as a varint, of one byte up to 127 and of two for all other sizes
    // here, then the bytes.
    let varint = if bytes.len() < 128 { 1 } else { 2 };
    assert_eq!(&binary[varint..], bytes);
    assert_eq!(&postcard::from_bytes::<T>(&binary).unwrap(), value);
}

fn round_trips<P: ParameterSet>() {
    let Values { encapsulation_key, decapsulation_key, ciphertext } = Values::<P>::new();
    round_trip(&encapsulation_key, encapsulation_key.as_ref());
    round_trip(&decapsulation_key, decapsulation_key.as_ref());
    round_trip(&ciphertext, ciphertext.as_ref());
    let seed = KeyPairSeed::<P>::from_bytes(&[7; SEED_BYTES]).unwrap();
    round_trip(&seed, seed.as_ref());
    refused::<KeyPairSeed<P>>(&[7; SEED_BYTES - 1], "expected 32 bytes, got 31");
    refused::<KeyPairSeed<P>>(&[7; KEY_PAIR_SEED_BYTES], "before 2026-11");
}

/// Checks that both formats refuse the bytes with a message that contains `reason`.
fn refused<T: DeserializeOwned + Debug>(bytes: &[u8], reason: &str) {
    let error =
        serde_json::from_str::<T>(&format!("\"{}\"", const_hex::encode(bytes))).unwrap_err();
    assert!(error.to_string().contains(reason), "{error} does not say {reason}");
    let binary = postcard::to_stdvec(&Bytes(bytes)).unwrap();
    assert!(postcard::from_bytes::<T>(&binary).is_err(), "postcard accepts a value: {reason}");
}

struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

fn refused_values_are_errors<P: CtruPrimeSet>() {
    let Values { encapsulation_key, decapsulation_key, ciphertext } = Values::<P>::new();
    for wrong in [0, 1, 31, 3000] {
        let bytes = vec![0; wrong];
        refused::<EncapsulationKey<P>>(
            &bytes,
            &format!("expected {} bytes", P::ENCAPSULATION_KEY_BYTES),
        );
        refused::<DecapsulationKey<P>>(
            &bytes,
            &format!("expected {} bytes", P::DECAPSULATION_KEY_BYTES),
        );
        refused::<Ciphertext<P>>(
            &bytes,
            &format!("expected {} bytes, got {wrong}", P::CIPHERTEXT_BYTES),
        );
    }
    for (bytes, change) in [(encapsulation_key.as_ref(), -1), (encapsulation_key.as_ref(), 1)] {
        let mut other = bytes.to_vec();
        other.resize(bytes.len().saturating_add_signed(change), 0);
        refused::<EncapsulationKey<P>>(&other, "bytes, got");
    }
    let no_key = vec![0xff; P::ENCAPSULATION_KEY_BYTES];
    let reason = match P::PARAMETERS.encoding().name() {
        "packed13" => "the coefficient of x^0 is not below q",
        _ => "not the canonical encoding",
    };
    refused::<EncapsulationKey<P>>(&no_key, reason);

    let zeros = vec![0; P::ENCAPSULATION_KEY_BYTES];
    refused::<EncapsulationKey<P>>(&zeros, "the polynomial is zero");
    let mut with_zeros = decapsulation_key.as_ref().to_vec();
    with_zeros[P::Ring::SECRET_POLY_BYTES..][..zeros.len()].fill(0);
    refused::<DecapsulationKey<P>>(&with_zeros, "the polynomial is zero");

    let mut with_invalid_key = decapsulation_key.as_ref().to_vec();
    with_invalid_key[P::Ring::SECRET_POLY_BYTES..][..no_key.len()].copy_from_slice(&no_key);
    refused::<DecapsulationKey<P>>(&with_invalid_key, reason);
    let mut with_nibble = decapsulation_key.as_ref().to_vec();
    with_nibble[1] = 0xff;
    refused::<DecapsulationKey<P>>(&with_nibble, "coefficients that no key has");

    // JSON with half a byte, with other digits than hexadecimal ones, or with another type is
    // refused.
    let hex = const_hex::encode(ciphertext.as_ref());
    let odd = format!("\"{}\"", &hex[1..]);
    let letters = format!("\"zz{}\"", &hex[2..]);
    for text in [&odd[..], &letters, "null", "7", "[1,2,3]", "{}", "\"", ""] {
        assert!(serde_json::from_str::<Ciphertext<P>>(text).is_err(), "{text}");
        assert!(serde_json::from_str::<EncapsulationKey<P>>(text).is_err(), "{text}");
        assert!(serde_json::from_str::<DecapsulationKey<P>>(text).is_err(), "{text}");
    }
    let whole = postcard::to_stdvec(&ciphertext).unwrap();
    assert!(postcard::from_bytes::<Ciphertext<P>>(&whole[..whole.len() - 1]).is_err());
}
