//! Compares the hashing kernels with the KEM.

use ctru_gpu_kernels::kernels::{ID_BYTES, SEED_WORDS};
use ctru_gpu_kernels::table::*;
use ctru_kem::engine::{Context, CpuEngine, Engine, Expand, Keys, Seeds};
use ctru_kem::{Ciphertext, CtruPrimeSet, DecapsulationKey, EncapsulationKey, SharedSecret};
use ctru_math::array::Array;
use ctru_math::codec::{bits, mixed_radix};
use ctru_math::compress::compress_with_message;
use ctru_math::mul;
use ctru_math::sample::sample;
use ctru_math::{NtruPrimeRing, Poly};
use ctru_tests::every_ctru_prime_set;

use crate::operations::{Operations, SEED_BYTES, batch, launch, rows, unfilled};

/// Checks that the kernels compute the same as the KEM: the messages, coins and secrets of an
/// honest exchange, and the rejection secrets of ciphertexts with one wrong bit, also in the
/// padding.
fn agrees_with_the_kem<P: CtruPrimeSet>() {
    let operations = Operations::draw::<P::Ring>(3, 3);
    let keys: Vec<_> = operations
        .key_pair_seeds
        .iter()
        .map(|s| DecapsulationKey::<P>::generate_deterministic(&seed(&s[..32]), &seed(&s[32..])))
        .collect();
    let ids =
        |key: &DecapsulationKey<P>| key.encapsulation_key().as_ref()[..ID_BYTES as usize].to_vec();
    let z = |key: &DecapsulationKey<P>| {
        key.as_ref()[P::DECAPSULATION_KEY_BYTES - SEED_BYTES..].to_vec()
    };
    let mut operations = Operations {
        ids: keys.iter().map(ids).collect(),
        z: keys.iter().map(z).collect(),
        ..operations
    };
    let (messages, secrets, coins) = operations.encapsulate::<P::Ring>(&DERIVE_ENCAPSULATION);
    let mut sent = Vec::new();
    for (i, key) in keys.iter().enumerate() {
        let public = key.encapsulation_key();
        let (ciphertext, secret) = public.encapsulate_deterministic(&seed(&operations.seeds[i]));
        assert_eq!(secrets[i], secret.as_ref());
        assert_eq!(encrypt::<P>(&public, &messages[i], &coins[i]), ciphertext.as_ref());
        sent.push(ciphertext.as_ref().to_vec());
    }
    operations.messages = messages;
    assert_eq!(operations.decapsulate::<P::Ring>(&DERIVE_DECAPSULATION), (secrets.clone(), coins));

    operations.ciphertexts = sent;
    operations.ciphertexts[1][100] ^= 1;
    *operations.ciphertexts[2].last_mut().unwrap() ^= 0x80;
    let rejection = operations.reject::<P::Ring>(&REJECTION_SECRET);
    let expected = [&secrets[0], &rejection[1], &rejection[2]];
    for ((key, ciphertext), expected) in keys.iter().zip(&operations.ciphertexts).zip(expected) {
        let received = Ciphertext::from_bytes(ciphertext).unwrap();
        assert_eq!(expected, key.decapsulate(&received).as_ref());
    }
}

fn seed(bytes: &[u8]) -> [u8; SEED_BYTES] {
    bytes.try_into().unwrap()
}

/// Encrypts one message with its coins.
fn encrypt<P: CtruPrimeSet>(public: &EncapsulationKey<P>, message: &[u8], coins: &[u8]) -> Vec<u8> {
    let h: Poly<P::Ring> = match P::PARAMETERS.encoding().name() {
        "packed13" => bits::unpack13(&Array::from_fn(|i| public.as_ref()[i])).unwrap(),
        _ => mixed_radix::decode_canonical(&Array::from_fn(|i| public.as_ref()[i])).unwrap(),
    };
    let sigma = mul::mul_small(&h, &sample(&Array::from_fn(|i| coins[i])));
    let rounded = compress_with_message(&sigma, &Array::from_fn(|i| message[i]));
    bits::pack_rounded(&rounded).as_ref().to_vec()
}

/// Checks that the device expands a master seed to the same seeds as the CPU engine.
fn expands_as_the_engine<P: CtruPrimeSet>() {
    const COUNT: usize = 3;
    let operations = Operations::draw::<P::Ring>(COUNT, COUNT);
    let key = DecapsulationKey::<P>::generate_deterministic(&[1; 32], &[2; 32]).encapsulation_key();
    let engine = CpuEngine::with_threads(1).unwrap();
    let master = seed(&operations.seeds[0]);
    let expand =
        Expand { seed: &master, context: Context::literal(b"kernels"), first: u64::MAX - 2 };
    let encoding = match P::PARAMETERS.encoding().name() {
        "mixed-radix" => 1,
        "packed13" => 2,
        other => panic!("unknown encoding {other}"),
    };
    let [low, high] = (P::Ring::N as u16).to_le_bytes();
    let operations = Operations {
        batch: batch(COUNT, 1),
        expansion: [
            b"ctru expand\x02",
            &[low, high, encoding, 7][..],
            b"kernels",
            &[0; 25],
            &master,
        ]
        .concat(),
        first: expand.first,
        ids: vec![key.as_ref()[..ID_BYTES as usize].to_vec()],
        ..operations
    };
    let seeds = unfilled(COUNT, SEED_WORDS);
    launch(
        EXPAND_SEEDS.of::<P::Ring>(),
        &[&operations.expansion_buffer(), &operations.id_buffer(), &seeds],
        operations.batch,
    );
    let seeds: Vec<_> = rows(&seeds, SEED_WORDS).iter().map(|row| seed(row)).collect();
    let run = |seeds| {
        let mut ciphertexts = vec![Ciphertext::<P>::default(); COUNT];
        let mut secrets = vec![SharedSecret::default(); COUNT];
        engine.encapsulate(Keys::One(&key), seeds, &mut ciphertexts, &mut secrets).unwrap();
        (ciphertexts, secrets)
    };
    assert!(run(Seeds::Each(&seeds)) == run(Seeds::Expand(expand)));
}

every_ctru_prime_set!(agrees_with_the_kem, expands_as_the_engine);
