//! Streamlined NTRU Prime against a plain implementation, on keys and ciphertexts from outside.

use ctru_kem::{
    Ciphertext, DecapsulationKey, EncapsulationKey, ParameterSet, Sntrup653, Sntrup761, Sntrup857,
    Sntrup953, Sntrup1013, Sntrup1277,
};
use sha2::{Digest, Sha512};

use super::operations::same_on_backends;
use super::plain::{ALL, Plain};

/// Calls `$visit::<P>($argument)` for the set that the first byte of the input chooses.
macro_rules! with_set {
    ($input:ident, $visit:ident) => {{
        let (&first, rest) = $input.split_first().unwrap_or((&0, &[]));
        let plain = ALL[usize::from(first) % ALL.len()];
        match plain.p {
            653 => $visit::<Sntrup653>(plain, rest),
            761 => $visit::<Sntrup761>(plain, rest),
            857 => $visit::<Sntrup857>(plain, rest),
            953 => $visit::<Sntrup953>(plain, rest),
            1013 => $visit::<Sntrup1013>(plain, rest),
            _ => $visit::<Sntrup1277>(plain, rest),
        }
    }};
}

/// Takes the first bytes of the input. Zeros come after its end.
fn take(input: &mut &[u8], count: usize) -> Vec<u8> {
    let (first, rest) = input.split_at(count.min(input.len()));
    *input = rest;
    let mut taken = first.to_vec();
    taken.resize(count, 0);
    taken
}

/// Encapsulates to any bytes, with any seed.
pub(crate) fn encapsulate(input: &[u8]) {
    with_set!(input, encapsulate_one);
}

fn encapsulate_one<P: ParameterSet>(plain: Plain, mut input: &[u8]) {
    let seed: [u8; 32] = take(&mut input, 32).try_into().expect("as many bytes");
    let public = take(&mut input, P::ENCAPSULATION_KEY_BYTES);
    let key = EncapsulationKey::<P>::from_bytes(&public).expect("all bytes are a key");
    let (ciphertext, secret) = same_on_backends(|| key.encapsulate_deterministic(&seed));
    let expected = plain.encapsulate(&public, &seed);
    assert!((ciphertext.as_bytes(), secret.as_bytes()) == (&expected.0[..], &expected.1));
}

/// Decapsulates any bytes with any bytes. If the first byte is odd, the key has the hash of its
/// public key.
pub(crate) fn decapsulate(input: &[u8]) {
    with_set!(input, decapsulate_one);
}

fn decapsulate_one<P: ParameterSet>(plain: Plain, mut input: &[u8]) {
    let is_repaired = take(&mut input, 1)[0] % 2 == 1;
    let mut private = take(&mut input, P::DECAPSULATION_KEY_BYTES);
    if is_repaired {
        let public = &private[2 * plain.small_bytes()..][..P::ENCAPSULATION_KEY_BYTES];
        let hash = Sha512::new_with_prefix([4]).chain_update(public).finalize();
        let start = private.len() - 32;
        private[start..].copy_from_slice(&hash[..32]);
    }
    let bytes = take(&mut input, P::CIPHERTEXT_BYTES);
    let ciphertext = Ciphertext::<P>::from_bytes(&bytes).expect("the length is right");
    let secret = same_on_backends(|| {
        let key = DecapsulationKey::<P>::from_bytes(&private).ok()?;
        Some(key.decapsulate(&ciphertext))
    });
    let expected = plain.decapsulate(&private, &bytes);
    assert!(secret.as_ref().map(|secret| *secret.as_bytes()) == expected);
}

/// Public keys of the smallest and of the largest set, after a seed.
pub(crate) fn public_keys() -> Vec<Vec<u8>> {
    let mut examples = vec![vec![0; 40], vec![5; 2100]];
    for (number, key) in [(0, example::<Sntrup653>()), (5, example::<Sntrup1277>())] {
        examples.push([&[number][..], &[7; 32], &key.1].concat());
    }
    examples
}

/// Private keys and ciphertexts of these sets. Each occurs with its hash, and with one that is
/// written over it.
pub(crate) fn private_keys() -> Vec<Vec<u8>> {
    let mut examples = vec![vec![0; 40], vec![0x55; 3000]];
    for (number, key) in [(0, example::<Sntrup653>()), (5, example::<Sntrup1277>())] {
        for flag in [0, 1] {
            examples.push([&[number, flag][..], &key.0, &key.2].concat());
        }
    }
    examples
}

/// Returns a private key, its public key and a ciphertext.
fn example<P: ParameterSet>() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let key = DecapsulationKey::<P>::generate_deterministic(&[1; 32], &[0; 32]);
    let public = key.encapsulation_key();
    let (ciphertext, _) = public.encapsulate_deterministic(&[3; 32]);
    (key.as_bytes().to_vec(), public.as_bytes().to_vec(), ciphertext.as_bytes().to_vec())
}
