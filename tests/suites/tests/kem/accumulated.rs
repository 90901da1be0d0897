//! Hashes the results of 10,000 operations of each kind for each parameter set and encoding.
//!
//! The constants come from this test, with an implementation that had passed all known-answer
//! vectors. Other implementations agree on these vectors. The constants cover far more seeds than
//! the vectors, so they show an error that occurs once in some thousand operations. They may change
//! only if the scheme changes.
//!
//! For `i` in `0..10_000` let `X = SHAKE256("ctru accumulated v1" || name || "/" || encoding || "/"
//! || i as 8 bytes, little-endian)`, 100 bytes. Its parts are the seed of the key (32 bytes), `z`
//! (32 bytes), the seed of the encapsulation (32 bytes) and a little-endian number (4 bytes). This
//! number, modulo the number of bits of a ciphertext, is the index of a bit. For each `i`, SHA3-256
//! takes the encapsulation key, the decapsulation key, the ciphertext, the shared secret, and the
//! shared secret of the ciphertext with that bit flipped.

use ctru_kem::engine::{CpuEngine, Engine, KEY_PAIR_SEED_BYTES, Keys, Seeds};
use ctru_kem::{
    Ciphertext, CtruPrime653, CtruPrime761, CtruPrime1277, CtruPrimeSet, DecapsulationKey,
    EncapsulationKey, MixedRadix, Packed13, SEED_BYTES, SharedSecret,
};
use ctru_tests::hashes::{sha3_256, shake256};
use ctru_tests::vectors::array;

const SEEDS: u64 = 10_000;
/// Number of operations that are computed, checked and hashed together.
const BATCH: u64 = 1_000;

struct Input {
    key_pair: [u8; KEY_PAIR_SEED_BYTES],
    encapsulation: [u8; SEED_BYTES],
    flip: usize,
}

fn input<P: CtruPrimeSet>(index: u64) -> Input {
    let name = [P::NAME, "/", P::PARAMETERS.encoding().name(), "/"].concat();
    let parts = [&b"ctru accumulated v1"[..], name.as_bytes(), &index.to_le_bytes()];
    let bytes = shake256(&parts.concat(), 100);
    Input {
        key_pair: array(&bytes[..64]),
        encapsulation: array(&bytes[64..96]),
        flip: u32::from_le_bytes(array(&bytes[96..])) as usize % (8 * P::CIPHERTEXT_BYTES),
    }
}

fn accumulated<P: CtruPrimeSet>() -> String {
    let engine = CpuEngine::new().unwrap();
    let count = BATCH as usize;
    let mut encapsulation_keys = vec![EncapsulationKey::<P>::placeholder(); count];
    let mut decapsulation_keys = vec![DecapsulationKey::placeholder(); count];
    let mut sent = vec![Ciphertext::default(); count];
    let [mut secrets, mut answers, mut rejections] =
        [(); 3].map(|()| vec![SharedSecret::default(); count]);
    let mut results = Vec::new();
    for first in (0..SEEDS).step_by(count) {
        let inputs: Vec<_> = (first..first + BATCH).map(input::<P>).collect();
        let seeds: Vec<_> = inputs.iter().map(|input| input.key_pair).collect();
        engine
            .generate(Seeds::Each(&seeds), &mut encapsulation_keys, &mut decapsulation_keys)
            .unwrap();
        let seeds: Vec<_> = inputs.iter().map(|input| input.encapsulation).collect();
        engine
            .encapsulate(
                Keys::Each(&encapsulation_keys),
                Seeds::Each(&seeds),
                &mut sent,
                &mut secrets,
            )
            .unwrap();
        engine.decapsulate(Keys::Each(&decapsulation_keys), &sent, &mut answers).unwrap();
        assert_eq!(answers, secrets, "a decapsulation failed among {first} to {}", first + BATCH);
        let tampered: Vec<_> = sent
            .iter()
            .zip(&inputs)
            .map(|(sent, input)| {
                let mut bytes = sent.as_ref().to_vec();
                bytes[input.flip / 8] ^= 1 << (input.flip % 8);
                Ciphertext::from_bytes(&bytes).unwrap()
            })
            .collect();
        engine.decapsulate(Keys::Each(&decapsulation_keys), &tampered, &mut rejections).unwrap();
        for i in 0..count {
            assert_ne!(rejections[i], secrets[i]);
            results.extend_from_slice(encapsulation_keys[i].as_ref());
            results.extend_from_slice(decapsulation_keys[i].as_ref());
            results.extend_from_slice(sent[i].as_ref());
            results.extend_from_slice(secrets[i].as_ref());
            results.extend_from_slice(rejections[i].as_ref());
        }
    }
    const_hex::encode(sha3_256(&results))
}

#[test]
#[ignore = "takes long; CI runs it"]
fn ctru_prime_653_mixed_radix() {
    let expected = "4e83f599f82edaebbca5f7f4e7c05747250753d5f2732313aaaa722ab22702b7";
    assert_eq!(accumulated::<CtruPrime653<MixedRadix>>(), expected);
}

#[test]
#[ignore = "takes long; CI runs it"]
fn ctru_prime_653_packed13() {
    let expected = "31257aa0d83cd5e605bae1a817a62b920ea0f0417aa0f3cc2a2b8f382baef21d";
    assert_eq!(accumulated::<CtruPrime653<Packed13>>(), expected);
}

#[test]
fn ctru_prime_761_mixed_radix() {
    let expected = "137bd80fbf91366fc8b4bab6e153ea78f2313446bd3a0d3c2500da7b7320be4d";
    assert_eq!(accumulated::<CtruPrime761<MixedRadix>>(), expected);
}

#[test]
#[ignore = "takes long; CI runs it"]
fn ctru_prime_761_packed13() {
    let expected = "928da71cc18896eb62383d53487a52c2032ba07557ff827a6b6ddcbca1f4db47";
    assert_eq!(accumulated::<CtruPrime761<Packed13>>(), expected);
}

#[test]
#[ignore = "takes long; CI runs it"]
fn ctru_prime_1277_mixed_radix() {
    let expected = "7c1d06cd45b571df9b92d3649e690fdd9a263449c4d7bf0e89a367113d109669";
    assert_eq!(accumulated::<CtruPrime1277<MixedRadix>>(), expected);
}

#[test]
#[ignore = "takes long; CI runs it"]
fn ctru_prime_1277_packed13() {
    let expected = "efedc866ae3a33832ddf7c34182c890c7900438dcbe755e41103a95f7f7f9346";
    assert_eq!(accumulated::<CtruPrime1277<Packed13>>(), expected);
}
