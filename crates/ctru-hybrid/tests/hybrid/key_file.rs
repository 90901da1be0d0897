//! Keys as SubjectPublicKeyInfo and PKCS#8.

use ctru_hybrid::pkcs8::spki::Error as PublicKeyError;
use ctru_hybrid::pkcs8::{
    AssociatedOid, DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, Error,
    LineEnding,
};
use ctru_hybrid::{
    CtruPrime653, CtruPrime761, CtruPrime1277, DecapsulationKey, EncapsulationKey, ParameterSet,
    X25519CtruPrime,
};
use ctru_tests::der;

use crate::key;

/// Checks a set whose placeholder ends in `number`.
fn check<P: ParameterSet + AssociatedOid>(number: u8) {
    let oid = der::placeholder(2, number);
    assert_eq!(P::OID.to_string(), format!("1.3.6.1.4.1.32473.2.{number}"));
    let key = key::<P>(1);
    let public = key.encapsulation_key();

    let file = key.to_pkcs8_der().unwrap();
    let inner = der::element(0x80, &[key.as_ref()]);
    assert_eq!(file.as_bytes(), der::private_key(0, &oid, &[], &inner, &[]));
    assert_eq!(DecapsulationKey::<P>::from_pkcs8_der(file.as_bytes()), Ok(key.clone()));
    let text = key.to_pkcs8_pem(LineEnding::LF).unwrap();
    assert!(text.starts_with("-----BEGIN PRIVATE KEY-----"));
    assert_eq!(DecapsulationKey::<P>::from_pkcs8_pem(&text), Ok(key.clone()));

    let file = public.to_public_key_der().unwrap();
    assert_eq!(file.as_bytes(), der::public_key(&oid, &[], public.as_ref()));
    let read = EncapsulationKey::<P>::from_public_key_der;
    assert_eq!(read(file.as_bytes()).as_ref(), Ok(&public));
    let text = public.to_public_key_pem(LineEnding::LF).unwrap();
    assert_eq!(EncapsulationKey::<P>::from_public_key_pem(&text).as_ref(), Ok(&public));

    der::wrong_private_keys(&oid, key.as_ref(), |bytes, what| {
        assert!(DecapsulationKey::<P>::from_pkcs8_der(bytes).is_err(), "{what} is accepted");
    });
    der::wrong_public_keys(&oid, public.as_ref(), |bytes, what| {
        assert!(read(bytes).is_err(), "{what} is accepted");
    });
    // The key of CTRU-Prime alone has another identifier.
    let other = der::private_key(0, &der::placeholder(1, number), &[], &inner, &[]);
    let error = DecapsulationKey::<P>::from_pkcs8_der(&other).unwrap_err();
    assert!(matches!(error, Error::PublicKey(PublicKeyError::OidUnknown { .. })), "{error}");
}

#[test]
fn files_are_ours_and_only_ours_are_read() {
    check::<X25519CtruPrime<CtruPrime653>>(1);
    check::<X25519CtruPrime<CtruPrime761>>(2);
    check::<X25519CtruPrime<CtruPrime1277>>(3);
}
