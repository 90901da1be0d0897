//! Keys in DER, PEM, JSON and postcard.

use core::fmt::Debug;

use ctru_kem::pkcs8::{
    AssociatedOid, DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, LineEnding,
};
use ctru_kem::{Ciphertext, DecapsulationKey, EncapsulationKey, KeyPairSeed, ParameterSet};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{for_each_hybrid, for_each_set};

/// Reads the bytes as DER and, if they are text, as PEM. A file that is accepted gives a value that
/// can be written and read again.
pub(crate) fn read_files(input: &[u8]) {
    use ctru_kem::{CtruPrime653, CtruPrime761, CtruPrime1277};
    read_private::<KeyPairSeed<CtruPrime653>>(input);
    read_private::<KeyPairSeed<CtruPrime761>>(input);
    read_private::<KeyPairSeed<CtruPrime1277>>(input);
    read_public::<EncapsulationKey<CtruPrime653>>(input);
    read_public::<EncapsulationKey<CtruPrime761>>(input);
    read_public::<EncapsulationKey<CtruPrime1277>>(input);
    for_each_hybrid!(read_hybrid(input));
}

fn read_hybrid<P: ctru_hybrid::ParameterSet + AssociatedOid>(input: &[u8]) {
    read_private::<ctru_hybrid::DecapsulationKey<P>>(input);
    read_public::<ctru_hybrid::EncapsulationKey<P>>(input);
}

fn read_private<K: DecodePrivateKey + EncodePrivateKey>(input: &[u8]) {
    if let Ok(key) = K::from_pkcs8_der(input) {
        let der = key.to_pkcs8_der().expect("it has been read");
        assert_eq!(der.as_bytes(), input, "two files mean the same key");
    }
    let Ok(text) = str::from_utf8(input) else { return };
    if let Ok(key) = K::from_pkcs8_pem(text) {
        let pem = key.to_pkcs8_pem(LineEnding::LF).expect("it has been read");
        let again = K::from_pkcs8_pem(&pem).expect("it has been written");
        let der = |key: &K| key.to_pkcs8_der().expect("it has been read");
        assert_eq!(der(&key).as_bytes(), der(&again).as_bytes());
    }
}

fn read_public<K: DecodePublicKey + EncodePublicKey>(input: &[u8]) {
    if let Ok(key) = K::from_public_key_der(input) {
        let der = key.to_public_key_der().expect("it has been read");
        assert_eq!(der.as_bytes(), input, "two files mean the same key");
    }
    let Ok(text) = str::from_utf8(input) else { return };
    if let Ok(key) = K::from_public_key_pem(text) {
        let pem = key.to_public_key_pem(LineEnding::LF).expect("it has been read");
        K::from_public_key_pem(&pem).expect("it has been written");
    }
}

/// Files with keys, in DER and PEM.
pub(crate) fn file_examples() -> Vec<Vec<u8>> {
    use ctru_kem::CtruPrime653;
    let seed = KeyPairSeed::<CtruPrime653>::from_bytes(&[7; 32]).expect("the length is right");
    let public = seed.decapsulation_key().encapsulation_key();
    let mut files = vec![];
    write(&mut files, &seed, &public);
    for_each_hybrid!(write_hybrid(&mut files));
    files
}

fn write_hybrid<P: ctru_hybrid::ParameterSet + AssociatedOid>(files: &mut Vec<Vec<u8>>) {
    let key = ctru_hybrid::DecapsulationKey::<P>::generate_deterministic(&[4; 32]);
    write(files, &key, &key.encapsulation_key());
}

fn write(files: &mut Vec<Vec<u8>>, private: &impl EncodePrivateKey, public: &impl EncodePublicKey) {
    const WRITTEN: &str = "keys can be written";
    files.push(private.to_pkcs8_der().expect(WRITTEN).as_bytes().to_vec());
    files.push(private.to_pkcs8_pem(LineEnding::LF).expect(WRITTEN).as_bytes().to_vec());
    files.push(public.to_public_key_der().expect(WRITTEN).as_bytes().to_vec());
    files.push(public.to_public_key_pem(LineEnding::CRLF).expect(WRITTEN).into_bytes());
}

/// Reads the bytes as JSON and as postcard.
pub(crate) fn read_serde(input: &[u8]) {
    for_each_set!(read_values(input));
}

fn read_values<P: ParameterSet>(input: &[u8]) {
    read_value::<EncapsulationKey<P>>(input);
    read_value::<DecapsulationKey<P>>(input);
    read_value::<Ciphertext<P>>(input);
}

fn read_value<T: Serialize + DeserializeOwned + PartialEq + Debug>(input: &[u8]) {
    if let Ok(value) = serde_json::from_slice::<T>(input) {
        let json = serde_json::to_vec(&value).expect("it has been read");
        assert_eq!(serde_json::from_slice::<T>(&json).expect("it has been written"), value);
    }
    if let Ok(value) = postcard::from_bytes::<T>(input) {
        let bytes = postcard::to_stdvec(&value).expect("it has been read");
        assert_eq!(postcard::from_bytes::<T>(&bytes).expect("it has been written"), value);
    }
}

/// Values in JSON and in postcard.
pub(crate) fn serde_examples() -> Vec<Vec<u8>> {
    let values = for_each_set!(serialised());
    values.into_iter().flatten().collect()
}

fn serialised<P: ParameterSet>() -> Vec<Vec<u8>> {
    let key = DecapsulationKey::<P>::generate_deterministic(&[1; 32], &[2; 32]);
    let public = key.encapsulation_key();
    const WRITTEN: &str = "keys can be written";
    vec![
        serde_json::to_vec(&key).expect(WRITTEN),
        serde_json::to_vec(&public).expect(WRITTEN),
        postcard::to_stdvec(&public).expect(WRITTEN),
    ]
}
