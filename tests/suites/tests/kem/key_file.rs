//! Keys as SubjectPublicKeyInfo and PKCS#8.

use ctru_kem::pkcs8::spki::Error as PublicKeyError;
use ctru_kem::pkcs8::{
    AssociatedOid, DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, Error,
    KeyError, LineEnding,
};
use ctru_kem::{
    CtruPrime653, CtruPrime761, CtruPrime1277, DecapsulationKey, EncapsulationKey, InvalidLength,
    InvalidSeed, KeyPairSeed, Packed13, ParameterSet, SEED_BYTES,
};
use ctru_tests::der;
use ctru_tests::hashes::shake256;
use ctru_tests::vectors::array;

/// The seed whose bytes count up from 1.
fn seed<P: ParameterSet>() -> KeyPairSeed<P> {
    KeyPairSeed::from_bytes(&(1..=32).collect::<Vec<u8>>()).unwrap()
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
        pem_is_read_as_its_rfc_asks(&seed, &public, ending);
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

/// Checks white space, text around, and blocks of other algorithms and labels.
fn pem_is_read_as_its_rfc_asks<P: ParameterSet + AssociatedOid>(
    seed: &KeyPairSeed<P>,
    public: &EncapsulationKey<P>,
    ending: LineEnding,
) {
    let foreign = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbL\n\
                   DFw4rXAxZuE=\n-----END PUBLIC KEY-----\n-----BEGIN CERTIFICATE-----\n";
    let private = seed.to_pkcs8_pem(ending).unwrap();
    let public_text = public.to_public_key_pem(ending).unwrap();
    for change in [
        |text: &str| text.replace('\n', " \t\n\n \x0b"),
        |text: &str| format!("\u{feff}{text}"),
        |text: &str| text.replace("\r\n", "\n").replace('\n', "\r"),
    ] {
        // A reader that went back to the start of the line at each mark would take minutes.
        let long = "x-----BEGIN ".repeat(1 << 15) + "\n";
        for before in ["", "some words: -----BEGIN\n", &long, foreign] {
            let text = change(&format!("{before}{}", *private));
            assert_eq!(KeyPairSeed::<P>::from_pkcs8_pem(&text).as_ref(), Ok(seed), "{text}");
            let key = DecapsulationKey::<P>::from_pkcs8_pem(&text);
            assert_eq!(key, Ok(seed.decapsulation_key()));
            let text = change(&format!("{before}{}{public_text}", *private));
            assert_eq!(EncapsulationKey::<P>::from_public_key_pem(&text).as_ref(), Ok(public));
        }
    }
    for damaged in [
        String::new(),
        public_text.replacen('\n', "\nKey: value\n", 1),
        public_text.replacen('M', "-", 1),
        public_text.replace("-----END", "-----BEGIN"),
        public_text.replacen('\n', "\n\u{a0}", 1),
    ] {
        EncapsulationKey::<P>::from_public_key_pem(&damaged).unwrap_err();
    }
    // The error tells of the other algorithm.
    let error = EncapsulationKey::<P>::from_public_key_pem(foreign).unwrap_err();
    assert!(matches!(error, PublicKeyError::OidUnknown { .. }), "{error}");
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
    // The last two are the files from before seeds were bound to a set.
    for (seed, error) in [
        (&seed[1..], KeyError::TooShort),
        (&[seed, &[0]].concat(), KeyError::TooLong),
        (&[7; 64], KeyError::TooLong),
        (&[7; 96], KeyError::TooLong),
    ] {
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

/// Checks that a seed gives the key of the 64 bytes that its hash with the set's name gives.
fn expands<P: ParameterSet>(name: &str) {
    let seed = seed::<P>();
    let input = [format!("{name} key v1").as_bytes(), seed.as_ref()].concat();
    let bytes = shake256(&input, 2 * SEED_BYTES);
    let (first, z) = bytes.split_at(SEED_BYTES);
    let expected = DecapsulationKey::generate_deterministic(&array(first), &array(z));
    assert_eq!(seed.decapsulation_key(), expected);
}

#[test]
fn seeds_are_expanded_with_the_name_of_the_set() {
    expands::<CtruPrime653>("CTRU-Prime-653");
    expands::<CtruPrime761>("CTRU-Prime-761");
    expands::<CtruPrime1277>("CTRU-Prime-1277");
    expands::<CtruPrime761<Packed13>>("CTRU-Prime-761");
}

/// Returns the first coefficients of the secret polynomial of a key.
fn secret_polynomial<P: ParameterSet>(key: &DecapsulationKey<P>) -> Vec<u8> {
    let packed = &key.as_ref()[..320];
    packed.iter().flat_map(|byte| [byte & 15, byte >> 4]).collect()
}

/// Checks that one seed gives no related keys. By chance, two coefficients of `f` are equal with a
/// probability of 70/256 between 761 and 1277.
#[test]
fn one_seed_gives_unrelated_keys_for_two_sets() {
    let bytes = [0x42; SEED_BYTES];
    let key = KeyPairSeed::<CtruPrime761>::from_bytes(&bytes).unwrap().decapsulation_key();
    let other = KeyPairSeed::<CtruPrime1277>::from_bytes(&bytes).unwrap().decapsulation_key();
    let (f, other_f) = (secret_polynomial(&key), secret_polynomial(&other));
    let equal = f.iter().zip(&other_f).filter(|(a, b)| a == b).count();
    // The standard deviation is 11.
    assert!((110..=240).contains(&equal), "{equal} of 640 coefficients");
    assert_ne!(key.as_ref().last_chunk::<32>(), other.as_ref().last_chunk::<32>());
}

#[test]
fn seeds_of_other_lengths_are_refused() {
    type Seed = KeyPairSeed<CtruPrime761>;
    for length in [0, 31, 33, 63, 65, 96] {
        let error = InvalidLength { expected: 32, actual: length };
        assert_eq!(Seed::from_bytes(&vec![1; length]), Err(error.into()));
    }
    let error = Seed::from_bytes(&[1; 64]).unwrap_err();
    assert_eq!(error, InvalidSeed::Unbound { expected: 32, actual: 64 });
    assert_eq!(
        error.to_string(),
        "64 bytes are a private key from before 2026-11, which is not bound to a parameter set; \
         make a new key, of 32 bytes"
    );
}

#[test]
fn seeds_are_values() {
    type Seed = KeyPairSeed<CtruPrime761>;
    let seed = seed::<CtruPrime761>();
    assert_ne!(Seed::try_generate().unwrap(), Seed::try_generate().unwrap());
    assert_eq!(format!("{seed:?}"), "KeyPairSeed<CTRU-Prime-761>(..)");
    let mut bytes = *seed.as_bytes();
    bytes[31] ^= 1;
    assert_ne!(Seed::from_bytes(&bytes).unwrap(), seed);
}
