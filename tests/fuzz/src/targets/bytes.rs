//! Keys and ciphertexts as plain bytes.

use ctru_hybrid::ssh;
use ctru_kem::{
    Ciphertext, DecapsulationKey, EncapsulationKey, KeyPairSeed, ParameterSet, SharedSecret,
};

use super::{for_each_hybrid, for_each_set};

/// Reads the bytes as a value of each type. A value that is accepted has the same bytes again.
pub(crate) fn read(input: &[u8]) {
    for_each_set!(read_set(input));
    for_each_hybrid!(read_hybrid(input));
    let answer = ssh::Server::generate_deterministic(&[6; 64]).answer(input);
    assert!(answer.is_err() || input.len() == ssh::CLIENT_SHARE_BYTES);
    // Clients generate a key pair, which takes long.
    if input.len() == ssh::SERVER_SHARE_BYTES {
        drop(ssh::Client::generate_deterministic(&[7; 64]).finish(input));
    }
}

fn read_set<P: ParameterSet>(input: &[u8]) {
    if let Ok(key) = EncapsulationKey::<P>::from_bytes(input) {
        assert_eq!(key.as_ref(), input);
        drop(key.encapsulate_deterministic(&[1; 32]));
    }
    if let Ok(key) = DecapsulationKey::<P>::from_bytes(input) {
        assert_eq!(key.as_ref(), input);
        // Some keys are well formed, but nobody generates them.
        let _ = key.check();
    }
    if let Ok(ciphertext) = Ciphertext::<P>::from_bytes(input) {
        assert_eq!(ciphertext.as_ref(), input);
    }
    if let Ok(seed) = KeyPairSeed::<P>::from_bytes(input) {
        assert_eq!(&seed.as_bytes()[..], input);
    }
    if let Some(secret) = input.first_chunk() {
        let secret = SharedSecret::from_bytes(secret);
        assert_eq!(
            secret.is_placeholder(),
            secret.as_bytes() == SharedSecret::default().as_bytes()
        );
    }
}

fn read_hybrid<P: ctru_hybrid::ParameterSet>(input: &[u8]) {
    if let Ok(key) = ctru_hybrid::EncapsulationKey::<P>::from_bytes(input) {
        assert_eq!(key.as_ref(), input);
    }
    if let Ok(key) = ctru_hybrid::DecapsulationKey::<P>::from_bytes(input) {
        assert_eq!(&key.as_bytes()[..], input);
    }
    if let Ok(ciphertext) = ctru_hybrid::Ciphertext::<P>::from_bytes(input) {
        assert_eq!(ciphertext.as_ref(), input);
    }
}

/// Reads the bytes as rows of keys, which must give what single keys give.
pub(crate) fn read_rows(input: &[u8]) {
    for_each_set!(read_rows_of(input));
}

fn read_rows_of<P: ParameterSet>(input: &[u8]) {
    let refused = EncapsulationKey::<P>::check_rows(input).err().map(|refused| refused.row);
    let is_key = |row: &[u8]| EncapsulationKey::<P>::from_bytes(row).is_ok();
    as_single_keys(input, P::ENCAPSULATION_KEY_BYTES, refused, is_key);
    let refused = DecapsulationKey::<P>::check_rows(input).err().map(|refused| refused.row);
    let is_key = |row: &[u8]| DecapsulationKey::<P>::from_bytes(row).is_ok();
    as_single_keys(input, P::DECAPSULATION_KEY_BYTES, refused, is_key);
}

/// Checks which row was refused: an incomplete last one, or else the first that is not a key.
fn as_single_keys(
    input: &[u8],
    bytes: usize,
    refused: Option<usize>,
    is_key: impl Fn(&[u8]) -> bool,
) {
    let expected = match input.len() % bytes {
        0 => input.chunks(bytes).position(|row| !is_key(row)),
        _ => Some(input.len() / bytes),
    };
    assert_eq!(refused, expected);
}

/// Values of each type.
pub(crate) fn examples() -> Vec<Vec<u8>> {
    let hybrids = for_each_hybrid!(hybrid_examples());
    let share = ssh::Client::generate_deterministic(&[8; 64]).share();
    let server = ssh::Server::generate_deterministic(&[9; 64]);
    let (answer, _) = server.answer(&share).expect("a share");
    let shares = [vec![share.to_vec(), answer.to_vec()]];
    for_each_set!(set_examples()).into_iter().chain(hybrids).chain(shares).flatten().collect()
}

fn set_examples<P: ParameterSet>() -> Vec<Vec<u8>> {
    let key = DecapsulationKey::<P>::generate_deterministic(&[1; 32], &[2; 32]);
    let public = key.encapsulation_key();
    let (ciphertext, _) = public.encapsulate_deterministic(&[3; 32]);
    vec![key.as_ref().to_vec(), public.as_ref().to_vec(), ciphertext.as_ref().to_vec()]
}

fn hybrid_examples<P: ctru_hybrid::ParameterSet>() -> Vec<Vec<u8>> {
    let key = ctru_hybrid::DecapsulationKey::<P>::generate_deterministic(&[4; 32]);
    let public = key.encapsulation_key();
    let ciphertext = public.encapsulate_deterministic(&[5; 64]).0;
    vec![key.as_bytes().to_vec(), public.as_ref().to_vec(), ciphertext.as_ref().to_vec()]
}

/// Three keys of each kind, one after the other.
pub(crate) fn row_examples() -> Vec<Vec<u8>> {
    let keys = for_each_set!(set_examples()).into_iter();
    keys.flat_map(|values| values.into_iter().take(2)).map(|key| key.repeat(3)).collect()
}
