//! Rows of bytes as keys, ciphertexts and shared secrets in the same memory.

use ctru_kem::{
    Ciphertext, CtruPrimeSet, DecapsulationKey, EncapsulationKey, InvalidDecapsulationKey,
    InvalidEncapsulationKey, InvalidLength, InvalidRow, ParameterSet, SEED_BYTES, SharedSecret,
};
use ctru_tests::{every_ctru_prime_set, every_set};

every_set!(rows_are_keys, incomplete_rows);
every_ctru_prime_set!(faulty_rows);

/// Returns the encapsulation key and the decapsulation key of a seed.
fn pair<P: ParameterSet>(seed: u8) -> (EncapsulationKey<P>, DecapsulationKey<P>) {
    let key = DecapsulationKey::generate_deterministic(&[seed; SEED_BYTES], &[!seed; SEED_BYTES]);
    (key.encapsulation_key(), key)
}

/// Returns `count` rows that repeat the bytes of a key.
fn repeated(key: impl AsRef<[u8]>, count: usize) -> Vec<u8> {
    key.as_ref().repeat(count)
}

fn rows_are_keys<P: ParameterSet>() {
    let pairs: Vec<_> = (0..5).map(pair::<P>).collect();
    let (public, private): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    let bytes: Vec<u8> = public.iter().flat_map(|key| key.as_ref().to_vec()).collect();
    let rows = EncapsulationKey::<P>::from_rows(&bytes).unwrap();
    assert_eq!(rows, public);
    assert_eq!(rows.as_ptr().addr(), bytes.as_ptr().addr());
    let bytes: Vec<u8> = private.iter().flat_map(|key| key.as_ref().to_vec()).collect();
    assert!(DecapsulationKey::<P>::from_rows(&bytes).unwrap() == private);

    assert_eq!(EncapsulationKey::<P>::check_rows(&[]), Ok(()));
    // Several threads share so many rows.
    assert_eq!(EncapsulationKey::<P>::check_rows(&repeated(&public[0], 3000)), Ok(()));
    assert_eq!(DecapsulationKey::<P>::check_rows(&repeated(&private[0], 3000)), Ok(()));

    let mut bytes = vec![0xff; 3 * P::DECAPSULATION_KEY_BYTES];
    let keys = DecapsulationKey::<P>::placeholders_in(&mut bytes).unwrap();
    assert!(keys == vec![DecapsulationKey::<P>::placeholder(); 3]);
    keys[1] = private[0].clone();
    assert_eq!(
        bytes[P::DECAPSULATION_KEY_BYTES..][..private[0].as_ref().len()],
        *private[0].as_ref()
    );
    let mut bytes = vec![0xff; 2 * P::ENCAPSULATION_KEY_BYTES];
    let keys = EncapsulationKey::<P>::placeholders_in(&mut bytes).unwrap();
    assert_eq!(keys, vec![EncapsulationKey::<P>::placeholder(); 2]);

    let (ciphertext, secret) = public[0].encapsulate_deterministic(&[3; SEED_BYTES]);
    let bytes = repeated(&ciphertext, 2);
    assert_eq!(Ciphertext::<P>::from_rows(&bytes).unwrap(), [ciphertext.clone(), ciphertext]);
    let mut bytes = [0; 64];
    SharedSecret::from_rows_mut(&mut bytes).unwrap()[1] = secret.clone();
    assert_eq!(SharedSecret::from_rows(&bytes).unwrap(), [SharedSecret::default(), secret]);
}

/// Puts faults into single rows among 3000 and compares the errors with those of `from_bytes`.
fn faulty_rows<P: CtruPrimeSet>() {
    const COUNT: usize = 3000;
    let (public, private) = pair::<P>(1);
    let row = P::ENCAPSULATION_KEY_BYTES;
    let valid = repeated(&public, COUNT);
    let all_ones = vec![0xff; row];
    let zero = EncapsulationKey::<P>::placeholder();
    for (faults, expected) in [
        (vec![(0, &all_ones[..])], 0),
        (vec![(COUNT - 1, zero.as_ref())], COUNT - 1),
        (vec![(2999, &all_ones), (700, zero.as_ref()), (1700, &all_ones)], 700),
        (vec![(513, zero.as_ref()), (512, &all_ones), (1500, zero.as_ref())], 512),
    ] {
        let mut bytes = valid.clone();
        for (number, fault) in &faults {
            bytes[number * row..][..row].copy_from_slice(fault);
        }
        let fault = &bytes[expected * row..][..row];
        let error = EncapsulationKey::<P>::from_bytes(fault).unwrap_err();
        let refused = EncapsulationKey::<P>::check_rows(&bytes).unwrap_err();
        assert_eq!(refused, InvalidRow { row: expected, error });
        assert_eq!(refused.to_string(), format!("row {expected}: {error}"));
    }

    let row = P::DECAPSULATION_KEY_BYTES;
    let mut bytes = repeated(&private, COUNT);
    let secret_polynomial = row - P::ENCAPSULATION_KEY_BYTES - 32;
    bytes[2000 * row + secret_polynomial..][..zero.as_ref().len()].copy_from_slice(zero.as_ref());
    let error = InvalidDecapsulationKey::EncapsulationKey(InvalidEncapsulationKey::Zero);
    assert_eq!(DecapsulationKey::<P>::check_rows(&bytes), Err(InvalidRow { row: 2000, error }));
    bytes[1999 * row] ^= 1;
    let error = InvalidDecapsulationKey::SecretPolynomial;
    assert_eq!(DecapsulationKey::<P>::check_rows(&bytes), Err(InvalidRow { row: 1999, error }));
}

fn incomplete_rows<P: ParameterSet>() {
    let (public, private) = pair::<P>(1);
    let expected = P::ENCAPSULATION_KEY_BYTES;
    let error = InvalidEncapsulationKey::Length(InvalidLength { expected, actual: 7 });
    let mut bytes = repeated(&public, 4);
    bytes.truncate(3 * expected + 7);
    // The length counts before the content.
    bytes[0] = !bytes[0];
    assert_eq!(EncapsulationKey::<P>::check_rows(&bytes), Err(InvalidRow { row: 3, error }));
    let error = InvalidLength { expected, actual: 7 };
    assert_eq!(EncapsulationKey::<P>::placeholders_in(&mut bytes).unwrap_err(), error);
    assert_eq!(bytes[1..expected], public.as_ref()[1..]);

    let expected = P::DECAPSULATION_KEY_BYTES;
    let error = InvalidDecapsulationKey::Length(InvalidLength { expected, actual: expected - 1 });
    let bytes = &private.as_ref()[1..];
    assert_eq!(DecapsulationKey::<P>::check_rows(bytes), Err(InvalidRow { row: 0, error }));

    let expected = P::CIPHERTEXT_BYTES;
    let error = InvalidLength { expected, actual: 1 };
    let mut bytes = vec![0; expected + 1];
    assert_eq!(Ciphertext::<P>::from_rows(&bytes).unwrap_err(), error);
    assert_eq!(Ciphertext::<P>::from_rows_mut(&mut bytes).unwrap_err(), error);
    let error = InvalidLength { expected: 32, actual: 31 };
    assert_eq!(SharedSecret::from_rows(&[0; 63]).unwrap_err(), error);
}
