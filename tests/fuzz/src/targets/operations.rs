//! Operations on keys and ciphertexts from outside: backend against backend, the CPU against the
//! emulator, and keys against their checks.

use std::sync::OnceLock;

use ctru_gpu_runtime::batch::tuning::BY_STEPS;
use ctru_gpu_runtime::emulated::EmulatedDevice;
use ctru_kem::engine::{DeviceEngine, DeviceOptions, Engine, Keys, Seeds};
use ctru_kem::{
    Ciphertext, CtruPrime653, CtruPrime761, CtruPrime1277, DecapsulationKey, EncapsulationKey,
    ParameterSet, Scheme, SharedSecret,
};
use ctru_math::backend;

use super::for_each_set;

/// The first bytes of the input, or zeros after its end.
fn part<const N: usize>(input: &[u8], start: usize) -> [u8; N] {
    core::array::from_fn(|i| input.get(start + i).copied().unwrap_or_default())
}

/// Two seeds of a key pair, one of an encapsulation, and changes of a ciphertext.
pub(crate) fn examples() -> Vec<Vec<u8>> {
    vec![vec![0; 98], vec![0xff; 104], (0..120).collect()]
}

/// Runs `work` on each backend, and checks that all give the same.
pub(super) fn same_on_backends<T: PartialEq>(work: impl Fn() -> T) -> T {
    let before = backend::in_use();
    let mut results = backend::available().map(|backend| {
        backend::select(backend).expect("it is available");
        (backend, work())
    });
    let (_, first) = results.next().expect("there is a backend");
    for (backend, result) in results {
        assert!(result == first, "{backend} differs");
    }
    backend::select(before).expect("it was in use");
    first
}

/// Generates, encapsulates and decapsulates on each backend, and decapsulates a ciphertext with the
/// changes that the input names.
pub(crate) fn on_backends(input: &[u8]) {
    match input.first().copied().unwrap_or_default() % 3 {
        0 => transcript::<CtruPrime653>(input),
        1 => transcript::<CtruPrime761>(input),
        _ => transcript::<CtruPrime1277>(input),
    }
}

fn transcript<P: ParameterSet>(input: &[u8]) {
    same_on_backends(|| {
        let key = DecapsulationKey::<P>::generate_deterministic(&part(input, 0), &part(input, 32));
        let public = key.encapsulation_key();
        let (ciphertext, secret) = public.encapsulate_deterministic(&part(input, 64));
        assert!(key.decapsulate(&ciphertext) == secret, "a decryption has failed");
        let changed = changed(&ciphertext, input);
        let other = key.decapsulate(&changed);
        assert!((other == secret) == (changed == ciphertext), "a changed ciphertext is accepted");
        (key, ciphertext, secret, other)
    });
}

/// Adds the bytes of the input after the seeds to bytes of the ciphertext: each pair is a place and
/// a difference.
fn changed<P: ParameterSet>(ciphertext: &Ciphertext<P>, input: &[u8]) -> Ciphertext<P> {
    let mut bytes = ciphertext.as_ref().to_vec();
    for change in input.get(96..).unwrap_or_default().chunks_exact(2) {
        let place = usize::from(change[0]) * 4 % bytes.len();
        bytes[place] ^= change[1];
    }
    Ciphertext::from_bytes(&bytes).expect("the length is right")
}

/// Decapsulates bytes that nobody has encapsulated.
pub(crate) fn decapsulate(input: &[u8]) {
    for_each_set!(decapsulate_one(input));
}

fn decapsulate_one<P: ParameterSet>(input: &[u8]) {
    if let Ok(ciphertext) = Ciphertext::<P>::from_bytes(input) {
        let key = DecapsulationKey::<P>::generate_deterministic(&[1; 32], &[2; 32]);
        same_on_backends(|| key.decapsulate(&ciphertext));
    }
}

/// Ciphertexts of each set.
pub(crate) fn ciphertexts() -> Vec<Vec<u8>> {
    for_each_set!(ciphertext_of()).to_vec()
}

fn ciphertext_of<P: ParameterSet>() -> Vec<u8> {
    let key = DecapsulationKey::<P>::generate_deterministic(&[1; 32], &[2; 32]);
    key.encapsulation_key().encapsulate_deterministic(&[9; 32]).0.as_ref().to_vec()
}

/// Checks that generated keys pass their checks, and that a key with a change passes them only if
/// it is another whole key.
pub(crate) fn check_keys(input: &[u8]) {
    for_each_set!(check_key(input));
}

fn check_key<P: ParameterSet>(input: &[u8]) {
    let key = DecapsulationKey::<P>::generate_deterministic(&part(input, 0), &part(input, 32));
    key.check().expect("a generated key is right");
    key.pairwise_test(&part(input, 64)).expect("a generated key works");
    let public = EncapsulationKey::<P>::from_bytes(key.encapsulation_key().as_ref());
    assert!(public == Ok(key.encapsulation_key()));
    let mut bytes = key.as_ref().to_vec();
    let Some(&[low, high, difference, ..]) = input.get(96..) else { return };
    let place = usize::from(u16::from_le_bytes([low, high])) % bytes.len();
    bytes[place] ^= difference;
    // The secret of implicit rejection, of which all bytes are right.
    let z = match P::PARAMETERS.set().scheme() {
        Scheme::CtruPrime => bytes.len() - 32..bytes.len(),
        _ => bytes.len() - 32 - P::PARAMETERS.degree().div_ceil(4)..bytes.len() - 32,
    };
    match DecapsulationKey::<P>::from_bytes(&bytes).map(|key| (key.check(), key)) {
        Ok((Ok(()), changed)) => assert!(z.contains(&place) || changed == key),
        Ok((Err(_), _)) | Err(_) => assert!(!z.contains(&place) && difference != 0),
    }
}

/// Decapsulates on the emulator what the CPU has encapsulated, and the other way round.
pub(crate) fn on_emulator(input: &[u8]) {
    type P = CtruPrime653;
    static ENGINE: OnceLock<DeviceEngine<EmulatedDevice>> = OnceLock::new();
    let engine = ENGINE.get_or_init(|| {
        // Inversion by powers takes the emulator seconds.
        let options = DeviceOptions {
            chunk: 1,
            slots: 1,
            tuning: Some(&BY_STEPS),
            ..DeviceOptions::default()
        };
        DeviceEngine::new(EmulatedDevice::new(), options).expect("the host has memory")
    });
    let key = DecapsulationKey::<P>::generate_deterministic(&part(input, 0), &part(input, 32));
    let public = key.encapsulation_key();
    let seed = part(input, 64);
    let (expected, secret) = public.encapsulate_deterministic(&seed);
    let (mut ciphertexts, mut secrets) = ([Ciphertext::default()], [SharedSecret::default()]);
    let seeds = Seeds::Each(core::slice::from_ref(&seed));
    engine
        .encapsulate(Keys::One(&public), seeds, &mut ciphertexts, &mut secrets)
        .expect("the emulator does not fail");
    assert!(ciphertexts[0] == expected && secrets[0] == secret);
    let changed = changed(&expected, input);
    engine
        .decapsulate(Keys::One(&key), core::slice::from_ref(&changed), &mut secrets)
        .expect("the emulator does not fail");
    assert!(secrets[0] == key.decapsulate(&changed));
}
