//! Keys as SubjectPublicKeyInfo and PKCS#8.

use ctru_kem::pkcs8::spki::Error as PublicKeyError;
use ctru_kem::pkcs8::{
    AssociatedOid, DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, Error,
    KeyError, LineEnding,
};
use ctru_kem::{
    CtruPrime653, CtruPrime761, CtruPrime1277, DecapsulationKey, EncapsulationKey, InvalidLength,
    KeyPairSeed, ParameterSet, SEED_BYTES,
};
use ctru_tests::der;
use ctru_tests::vectors::array;

/// The seed whose bytes count up from 1.
fn seed<P: ParameterSet>() -> KeyPairSeed<P> {
    KeyPairSeed::from_bytes(&(1..=64).collect::<Vec<u8>>()).unwrap()
}

/// Checks a set whose placeholder ends in `number`.
fn check<P: ParameterSet + AssociatedOid>(number: u8) {
    let oid = der::placeholder(1, number);
    assert_eq!(P::OID.to_string(), format!("1.3.6.1.4.1.32473.1.{number}"));
    let seed = seed::<P>();
    let key = seed.decapsulation_key();
    let public = key.encapsulation_key();

    let file = seed.to_pkcs8_der().unwrap();
    let inner = der::element(0x80, &[seed.as_ref()]);
    assert_eq!(file.as_bytes(), der::private_key(0, &oid, &[], &inner, &[]));
    assert_eq!(KeyPairSeed::<P>::from_pkcs8_der(file.as_bytes()), Ok(seed.clone()));
    assert_eq!(DecapsulationKey::<P>::from_pkcs8_der(file.as_bytes()), Ok(key));

    let public_file = public.to_public_key_der().unwrap();
    assert_eq!(public_file.as_bytes(), der::public_key(&oid, &[], public.as_ref()));
    assert_eq!(
        EncapsulationKey::<P>::from_public_key_der(public_file.as_bytes()).as_ref(),
        Ok(&public)
    );

    for ending in [LineEnding::LF, LineEnding::CRLF] {
        let text = seed.to_pkcs8_pem(ending).unwrap();
        assert!(text.starts_with("-----BEGIN PRIVATE KEY-----"), "{}", &text[..40]);
        assert_eq!(KeyPairSeed::<P>::from_pkcs8_pem(&text), Ok(seed.clone()));
        let text = public.to_public_key_pem(ending).unwrap();
        assert!(text.starts_with("-----BEGIN PUBLIC KEY-----"), "{text}");
        assert_eq!(EncapsulationKey::<P>::from_public_key_pem(&text).as_ref(), Ok(&public));
        // A label of another kind is refused.
        assert!(KeyPairSeed::<P>::from_pkcs8_pem(&text).is_err());
    }

    der::wrong_private_keys(&oid, seed.as_ref(), |bytes, what| {
        assert!(KeyPairSeed::<P>::from_pkcs8_der(bytes).is_err(), "{what} is accepted");
        assert!(DecapsulationKey::<P>::from_pkcs8_der(bytes).is_err(), "{what} is accepted");
    });
    der::wrong_public_keys(&oid, public.as_ref(), |bytes, what| {
        assert!(EncapsulationKey::<P>::from_public_key_der(bytes).is_err(), "{what} is accepted");
    });
    errors_say_what_is_wrong::<P>(&oid, seed.as_ref(), public.as_ref());
}

fn errors_say_what_is_wrong<P: ParameterSet + AssociatedOid>(
    oid: &[u8],
    seed: &[u8],
    public: &[u8],
) {
    let read = KeyPairSeed::<P>::from_pkcs8_der;
    let inner = der::element(0x80, &[seed]);
    let other = der::private_key(0, &der::placeholder(2, 1), &[], &inner, &[]);
    let error = read(&other).unwrap_err();
    assert!(matches!(error, Error::PublicKey(PublicKeyError::OidUnknown { .. })), "{error}");
    assert!(error.to_string().contains("1.3.6.1.4.1.32473.2.1"), "{error}");

    let null = der::element(5, &[]);
    let with_parameters = der::private_key(0, oid, &null, &inner, &[]);
    assert_eq!(read(&with_parameters), Err(Error::ParametersMalformed));
    let with_attributes = der::private_key(0, oid, &[], &inner, &der::element(0xa0, &[]));
    assert_eq!(read(&with_attributes), Err(KeyError::Invalid.into()));
    for (seed, error) in
        [(&seed[1..], KeyError::TooShort), (&[seed, &[0]].concat(), KeyError::TooLong)]
    {
        let inner = der::element(0x80, &[seed]);
        assert_eq!(read(&der::private_key(0, oid, &[], &inner, &[])), Err(error.into()));
    }
    let expanded = der::private_key(0, oid, &[], &der::element(4, &[seed]), &[]);
    assert!(matches!(read(&expanded), Err(Error::Asn1(_))));

    let read = EncapsulationKey::<P>::from_public_key_der;
    let zeros = vec![0; public.len()];
    let error = read(&der::public_key(oid, &[], &zeros)).unwrap_err();
    assert_eq!(error, PublicKeyError::KeyMalformed);
    let error = read(&der::public_key(&der::placeholder(1, 9), &[], public)).unwrap_err();
    assert!(matches!(error, PublicKeyError::OidUnknown { .. }), "{error}");
    let error = read(&der::public_key(oid, &null, public)).unwrap_err();
    assert!(matches!(error, PublicKeyError::Asn1(_)), "{error}");
}

#[test]
fn files_are_ours_and_only_ours_are_read() {
    check::<CtruPrime653>(1);
    check::<CtruPrime761>(2);
    check::<CtruPrime1277>(3);
}

#[test]
fn seeds_are_keys() {
    type Seed = KeyPairSeed<CtruPrime761>;
    let seed = seed::<CtruPrime761>();
    let (first, z) = seed.as_bytes().split_at(SEED_BYTES);
    let key = DecapsulationKey::generate_deterministic(&array(first), &array(z));
    assert_eq!(seed.decapsulation_key(), key);
    for length in [0, 32, 63, 65, 96] {
        let error = InvalidLength { expected: 64, actual: length };
        assert_eq!(Seed::from_bytes(&vec![1; length]), Err(error));
    }
    assert_ne!(Seed::try_generate().unwrap(), Seed::try_generate().unwrap());
    assert_eq!(format!("{seed:?}"), "KeyPairSeed<CTRU-Prime-761>(..)");
    let mut bytes = *seed.as_bytes();
    bytes[63] ^= 1;
    assert_ne!(Seed::from_bytes(&bytes).unwrap(), seed);
}
