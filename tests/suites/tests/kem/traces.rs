//! Checks that the addresses that the threads of a device access do not depend on secrets, in whole
//! operations of the engine.

use crate::common::emulated_as;
use ctru_gpu_kernels::emulator::Event;
use ctru_gpu_runtime::emulated::EmulatedDevice;
use ctru_kem::engine::{
    Context, DeviceEngine, DeviceOptions, Engine, Expand, KEY_PAIR_SEED_BYTES, Keys, Seeds,
};
use ctru_kem::{
    Ciphertext, CtruPrimeSet, DecapsulationKey, EncapsulationKey, SEED_BYTES, SharedSecret,
};
use ctru_tests::every_ctru_prime_set_at_length;

every_ctru_prime_set_at_length!(key_generation, encapsulation, decapsulation);

const AS_LARGE: [bool; 2] = [false, true];

/// Two secrets, each a byte from which seeds are made.
const SECRETS: [u8; 2] = [1, 0xd6];

type Emulated = DeviceEngine<EmulatedDevice>;

/// Returns the memory accesses of all launches of a batch of at most `count` operations.
fn trace(as_large: bool, count: usize, batch: impl FnOnce(&Emulated)) -> Vec<Event> {
    let device = EmulatedDevice::traced();
    let options = DeviceOptions { chunk: count, slots: 1, ..emulated_as(as_large) };
    let engine = DeviceEngine::new(device.clone(), options).unwrap();
    batch(&engine);
    device.take_trace()
}

/// Checks that all traces are equal. `assert_eq!` would print them whole.
fn assert_same(what: &str, traces: &[Vec<Event>]) {
    let [first, others @ ..] = traces else { panic!("no trace") };
    assert!(first.len() > 10_000, "{what}: only {} accesses", first.len());
    for other in others {
        let differing = first.iter().zip(other).find(|(event, other)| event != other);
        assert!(first == other, "{what}: the trace depends on the secret: {differing:?}");
    }
}

fn seeds<const N: usize>(secret: u8, count: usize) -> Vec<[u8; N]> {
    (0..count).map(|i| std::array::from_fn(|j| secret ^ (N * i + j) as u8)).collect()
}

fn expand(seed: &[u8; SEED_BYTES]) -> Expand<'_> {
    Expand { seed, context: Context::EMPTY, first: 0 }
}

/// Generates keys to pinned memory, so that the device encodes some of the encapsulation keys.
fn key_generation<P: CtruPrimeSet>() {
    const COUNT: usize = 9;
    let traces = SECRETS.map(|secret| {
        trace(false, COUNT, |engine| {
            let mut encapsulation_keys =
                engine.pin(vec![EncapsulationKey::<P>::placeholder(); COUNT]).unwrap();
            let mut decapsulation_keys =
                engine.pin(vec![DecapsulationKey::<P>::placeholder(); COUNT]).unwrap();
            let each = seeds::<KEY_PAIR_SEED_BYTES>(secret, COUNT);
            engine
                .generate(Seeds::Each(&each), &mut encapsulation_keys, &mut decapsulation_keys)
                .unwrap();
            decapsulation_keys[0].check().unwrap();
            engine
                .generate_decapsulation_keys(
                    Seeds::Expand(expand(&[secret; SEED_BYTES])),
                    &mut decapsulation_keys[..1],
                )
                .unwrap();
            decapsulation_keys[0].check().unwrap();
        })
    });
    assert_same("key generation", &traces);
}

/// Encapsulates to fixed keys, in every form and with every product.
fn encapsulation<P: CtruPrimeSet>() {
    const COUNT: usize = 2;
    let encapsulation_keys: Vec<EncapsulationKey<P>> = seeds(7, COUNT)
        .iter()
        .map(|seed| DecapsulationKey::generate_deterministic(seed, seed).encapsulation_key())
        .collect();
    for as_large in AS_LARGE {
        let traces = SECRETS.map(|secret| {
            trace(as_large, COUNT, |engine| {
                let loaded = engine.load_encapsulation_keys(&encapsulation_keys).unwrap();
                let (each, master) = (seeds(secret, COUNT), [secret; SEED_BYTES]);
                for (keys, seeds) in [
                    (Keys::One(&encapsulation_keys[0]), Seeds::Each(&each)),
                    (Keys::Each(&encapsulation_keys), Seeds::Expand(expand(&master))),
                    (Keys::Loaded(&loaded), Seeds::Each(&each)),
                ] {
                    let mut ciphertexts = vec![Ciphertext::default(); COUNT];
                    let mut secrets = vec![SharedSecret::default(); COUNT];
                    engine.encapsulate(keys, seeds, &mut ciphertexts, &mut secrets).unwrap();
                }
            })
        });
        assert_same(&format!("encapsulation, as_large {as_large}"), &traces);
    }
}

/// Decapsulates with two sets of keys and messages. None, some or all of the ciphertexts are
/// rejected.
fn decapsulation<P: CtruPrimeSet>() {
    const COUNT: usize = 2;
    for as_large in AS_LARGE {
        let mut traces = Vec::new();
        for (key_secret, message_secret, rejected) in [(1, 2, 0..0), (0xd6, 5, 1..2), (1, 2, 0..2)]
        {
            let decapsulation_keys: Vec<DecapsulationKey<P>> = seeds(key_secret, COUNT)
                .iter()
                .map(|seed| DecapsulationKey::generate_deterministic(seed, seed))
                .collect();
            let sent = |key: &dyn Fn(usize) -> usize| -> (Vec<_>, Vec<_>) {
                let operations = seeds(message_secret, COUNT).into_iter().enumerate();
                operations
                    .map(|(i, seed)| {
                        let (sent, secret) = decapsulation_keys[key(i)]
                            .encapsulation_key()
                            .encapsulate_deterministic(&seed);
                        let mut bytes = sent.as_ref().to_vec();
                        bytes[5 * i] ^= u8::from(rejected.contains(&i));
                        (Ciphertext::from_bytes(&bytes).unwrap(), secret)
                    })
                    .unzip()
            };
            let (to_one, to_each) = (sent(&|_| 0), sent(&|i| i));
            traces.push(trace(as_large, COUNT, |engine| {
                let loaded = engine.load_decapsulation_keys(&decapsulation_keys).unwrap();
                for (keys, (ciphertexts, secrets)) in [
                    (Keys::One(&decapsulation_keys[0]), &to_one),
                    (Keys::Each(&decapsulation_keys[..]), &to_each),
                    (Keys::Loaded(&loaded), &to_each),
                ] {
                    let mut answers = vec![SharedSecret::default(); COUNT];
                    engine.decapsulate(keys, ciphertexts, &mut answers).unwrap();
                    for i in 0..COUNT {
                        assert_eq!(answers[i] != secrets[i], rejected.contains(&i));
                    }
                }
            }));
        }
        assert_same(&format!("decapsulation, as_large {as_large}"), &traces);
    }
}
