//! Compares the device engine on the emulator with the CPU engine.

use crate::common::{emulated, emulated_as, emulated_by};
use core::slice::from_ref;

use ctru_gpu_runtime::RuntimeError;
use ctru_gpu_runtime::batch::tuning::{AS_LARGE, BY_STEPS, Tuning};
use ctru_gpu_runtime::emulated::EmulatedDevice;
use ctru_kem::engine::device::Prepared;
use ctru_kem::engine::{
    Context, CpuEngine, DeviceEngine, DeviceOptions, Engine, EngineError, Expand, Keys, Seeds,
};
use ctru_kem::{
    Ciphertext, CtruPrime653, CtruPrime761, CtruPrime1277, DecapsulationKey, EncapsulationKey,
    MixedRadix, Packed13, ParameterSet, Parameters, SharedSecret, Sntrup653, Sntrup761, Sntrup1277,
};

const SEEDS: Expand<'_> = Expand {
    seed: b"a master seed for the device's t",
    context: Context::literal(b"tests"),
    first: 7,
};

fn engine() -> DeviceEngine<EmulatedDevice> {
    engine_with(false)
}

fn engine_with(as_large: bool) -> DeviceEngine<EmulatedDevice> {
    let options = DeviceOptions { chunk: 2, slots: 2, ..emulated_as(as_large) };
    DeviceEngine::new(EmulatedDevice::new(), options).unwrap()
}

/// Checks that key generation by powers gives the keys of the CPU, for one key and for several.
#[test]
fn inversion_by_powers_equals_the_cpu() {
    type Set = CtruPrime653;
    let options = DeviceOptions { chunk: 2, slots: 1, ..DeviceOptions::default() };
    let device = DeviceEngine::new(EmulatedDevice::new(), options).unwrap();
    let mut keys = vec![DecapsulationKey::<Set>::placeholder(); 3];
    device.generate_decapsulation_keys(Seeds::Expand(SEEDS), &mut keys).unwrap();
    let mut expected = vec![DecapsulationKey::<Set>::placeholder(); 3];
    let cpu = CpuEngine::with_threads(1).unwrap();
    cpu.generate_decapsulation_keys(Seeds::Expand(SEEDS), &mut expected).unwrap();
    assert!(keys == expected);
}

/// Returns the results of every operation, with keys in every form. The batch of three operations
/// is cut into two chunks.
fn transcript<P: ParameterSet, E: Engine<P>>(engine: &E, seeds_each: bool) -> Vec<Vec<u8>> {
    let count = 3;
    let mut bytes = Vec::new();
    let mut encapsulation_keys = vec![EncapsulationKey::<P>::placeholder(); count];
    let mut decapsulation_keys = vec![DecapsulationKey::<P>::placeholder(); count];
    let pair_seeds: Vec<[u8; 64]> =
        (0..count).map(|i| core::array::from_fn(|j| (i * 64 + j) as u8)).collect();
    let seeds: Vec<[u8; 32]> =
        (0..count).map(|i| core::array::from_fn(|j| (200 - i * 32 - j) as u8)).collect();
    let pair_seeds = if seeds_each { Seeds::Each(&pair_seeds) } else { Seeds::Expand(SEEDS) };
    let seeds = if seeds_each { Seeds::Each(&seeds) } else { Seeds::Expand(SEEDS) };
    engine.generate(pair_seeds, &mut encapsulation_keys, &mut decapsulation_keys).unwrap();
    bytes.extend(encapsulation_keys.iter().map(|key| key.as_ref().to_vec()));
    bytes.extend(decapsulation_keys.iter().map(|key| key.as_ref().to_vec()));
    let mut alone = vec![DecapsulationKey::<P>::placeholder(); count];
    engine.generate_decapsulation_keys(pair_seeds, &mut alone).unwrap();
    assert!(alone == decapsulation_keys);

    let loaded_encapsulation_keys = engine.load_encapsulation_keys(&encapsulation_keys).unwrap();
    let loaded_decapsulation_keys = engine.load_decapsulation_keys(&decapsulation_keys).unwrap();
    for (encaps_keys, decaps_keys) in [
        (Keys::One(&encapsulation_keys[1]), Keys::One(&decapsulation_keys[1])),
        (Keys::Each(&encapsulation_keys), Keys::Each(&decapsulation_keys)),
        (Keys::Loaded(&loaded_encapsulation_keys), Keys::Loaded(&loaded_decapsulation_keys)),
    ] {
        let mut ciphertexts = vec![Ciphertext::<P>::default(); count];
        let mut secrets = vec![SharedSecret::default(); count];
        engine.encapsulate(encaps_keys, seeds, &mut ciphertexts, &mut secrets).unwrap();
        bytes.extend(ciphertexts.iter().map(|ciphertext| ciphertext.as_ref().to_vec()));
        bytes.extend(secrets.iter().map(|secret| secret.as_ref().to_vec()));
        // The last ciphertext is rejected: one of its bits is flipped.
        let mut tampered = ciphertexts[2].as_ref().to_vec();
        *tampered.last_mut().unwrap() ^= 0x80;
        ciphertexts[2] = Ciphertext::from_bytes(&tampered).unwrap();
        let mut decapsulated = vec![SharedSecret::default(); count];
        engine.decapsulate(decaps_keys, &ciphertexts, &mut decapsulated).unwrap();
        assert_eq!(decapsulated[..2], secrets[..2]);
        assert_ne!(decapsulated[2], secrets[2]);
        bytes.extend(decapsulated.iter().map(|secret| secret.as_ref().to_vec()));
    }
    bytes
}

fn check<P: ParameterSet>(seeds_each: bool) {
    let expected = transcript::<P, _>(&CpuEngine::with_threads(1).unwrap(), seeds_each);
    assert_eq!(transcript::<P, _>(&engine(), seeds_each), expected);
    assert_eq!(transcript::<P, _>(&engine_with(true), seeds_each), expected);
}

#[test]
#[ignore = "takes long; CI runs it"]
fn equals_the_cpu_653() {
    check::<CtruPrime653<MixedRadix>>(true);
    check::<CtruPrime653<Packed13>>(false);
    check::<Sntrup653>(true);
}

#[test]
fn equals_the_cpu_761() {
    check::<CtruPrime761<MixedRadix>>(false);
    check::<CtruPrime761<Packed13>>(true);
    check::<Sntrup761>(false);
}

#[test]
#[ignore = "takes long; CI runs it"]
fn equals_the_cpu_1277() {
    check::<CtruPrime1277<MixedRadix>>(true);
    check::<CtruPrime1277<Packed13>>(false);
    check::<Sntrup1277>(true);
}

/// Runs batches on two devices, with ciphertexts and keys in pinned memory.
#[test]
fn several_devices_and_pinned_memory() {
    type P = CtruPrime761;
    let count = 5;
    let options = DeviceOptions { chunk: 2, slots: 1, ..emulated() };
    let devices = vec![EmulatedDevice::new(), EmulatedDevice::new()];
    let engine = DeviceEngine::over(devices.clone(), options).unwrap();
    // Small batches take loaded keys as rows, and large ones as they were decoded.
    let large =
        DeviceEngine::over(devices, DeviceOptions { tuning: Some(&AS_LARGE), ..options }).unwrap();
    let cpu = CpuEngine::with_threads(1).unwrap();
    let mut encapsulation_keys = vec![EncapsulationKey::placeholder(); count];
    let mut decapsulation_keys = vec![DecapsulationKey::placeholder(); count];
    let mut expected = (encapsulation_keys.clone(), decapsulation_keys.clone());
    cpu.generate(Seeds::Expand(SEEDS), &mut expected.0, &mut expected.1).unwrap();
    engine
        .generate(Seeds::Expand(SEEDS), &mut encapsulation_keys, &mut decapsulation_keys)
        .unwrap();
    assert!((&encapsulation_keys, &decapsulation_keys) == (&expected.0, &expected.1));

    let loaded = engine.load_decapsulation_keys(&decapsulation_keys).unwrap();
    let loaded_one = engine.load_decapsulation_keys(&decapsulation_keys[..1]).unwrap();
    let (encapsulation_keys, decapsulation_keys) =
        (engine.pin(encapsulation_keys).unwrap(), engine.pin(decapsulation_keys).unwrap());
    let mut ciphertexts = engine.pin(vec![Ciphertext::<P>::default(); count]).unwrap();
    let mut secrets = vec![SharedSecret::default(); count];
    let mut again = secrets.clone();
    for (encapsulation_keys, decapsulation_keys) in [
        (
            Keys::Each(&encapsulation_keys[..]),
            [Keys::Each(&decapsulation_keys[..]), Keys::Loaded(&loaded)],
        ),
        (
            Keys::One(&encapsulation_keys[0]),
            [Keys::One(&decapsulation_keys[0]), Keys::Loaded(&loaded_one)],
        ),
    ] {
        let mut expected = (vec![Ciphertext::default(); count], secrets.clone());
        let cpu_keys = match encapsulation_keys {
            Keys::One(key) => Keys::One(key),
            Keys::Each(keys) => Keys::Each(keys),
            Keys::Loaded(_) => unreachable!("not in the list"),
        };
        cpu.encapsulate(cpu_keys, Seeds::Expand(SEEDS), &mut expected.0, &mut expected.1).unwrap();
        engine
            .encapsulate(encapsulation_keys, Seeds::Expand(SEEDS), &mut ciphertexts, &mut secrets)
            .unwrap();
        assert!((&ciphertexts[..], &secrets) == (&expected.0[..], &expected.1));
        for decapsulation_keys in decapsulation_keys {
            again.fill(SharedSecret::default());
            if let Keys::Loaded(keys) = decapsulation_keys {
                large.decapsulate(Keys::Loaded(keys), &ciphertexts, &mut again).unwrap();
                assert!(again == secrets);
                again.fill(SharedSecret::default());
            }
            engine.decapsulate(decapsulation_keys, &ciphertexts, &mut again).unwrap();
            assert!(again == secrets);
        }
    }
    assert_eq!(ciphertexts.into_vec().len(), count);
    let no_chunk = DeviceOptions { chunk: 0, ..options };
    let no_slot = DeviceOptions { slots: 0, ..options };
    for (devices, options) in [(0, options), (1, no_chunk), (1, no_slot)] {
        let engine = DeviceEngine::over(vec![EmulatedDevice::new(); devices], options);
        assert!(matches!(engine, Err(EngineError::NoSlots)));
    }
}

/// Generates keys to pinned memory. In the chunk of eight, the device sends some of the
/// encapsulation keys and the host copies the others. In the chunk of two, the host copies both.
fn check_generation_to_pinned_memory<P: ParameterSet>() {
    let count = 10;
    let options = DeviceOptions { chunk: 8, slots: 1, ..emulated() };
    let engine = DeviceEngine::new(EmulatedDevice::new(), options).unwrap();
    let blank = || {
        (
            vec![EncapsulationKey::<P>::placeholder(); count],
            vec![DecapsulationKey::<P>::placeholder(); count],
        )
    };
    let (mut expected, pinned) = (blank(), blank());
    let cpu = CpuEngine::with_threads(1).unwrap();
    cpu.generate(Seeds::Expand(SEEDS), &mut expected.0, &mut expected.1).unwrap();

    let mut encapsulation_keys = engine.pin(pinned.0).unwrap();
    let mut decapsulation_keys = engine.pin(pinned.1).unwrap();
    engine
        .generate(Seeds::Expand(SEEDS), &mut encapsulation_keys, &mut decapsulation_keys)
        .unwrap();
    assert!(
        (&encapsulation_keys[..], &decapsulation_keys[..]) == (&expected.0[..], &expected.1[..])
    );
    decapsulation_keys.fill_with(DecapsulationKey::placeholder);
    engine.generate_decapsulation_keys(Seeds::Expand(SEEDS), &mut decapsulation_keys).unwrap();
    assert!(decapsulation_keys[..] == expected.1[..]);
}

#[test]
fn generation_to_pinned_memory() {
    check_generation_to_pinned_memory::<CtruPrime653<MixedRadix>>();
    check_generation_to_pinned_memory::<CtruPrime761<Packed13>>();
    check_generation_to_pinned_memory::<Sntrup761>();
}

#[test]
#[ignore = "takes long; CI runs it"]
fn generation_of_larger_keys_to_pinned_memory() {
    check_generation_to_pinned_memory::<CtruPrime1277<MixedRadix>>();
}

/// Uses arrays in pinned memory that are too large for staging, so that the device reads them
/// there.
#[test]
#[ignore = "takes long; CI runs it"]
fn large_arrays_are_fetched() {
    type P = CtruPrime653;
    const COUNT: usize = 96;
    const {
        assert!(
            COUNT * P::ENCAPSULATION_KEY_BYTES > 64 << 10 && COUNT * P::CIPHERTEXT_BYTES > 64 << 10
        );
    };
    let cpu = CpuEngine::with_threads(1).unwrap();
    let mut encapsulation_keys = vec![EncapsulationKey::<P>::placeholder(); COUNT];
    let mut decapsulation_keys = vec![DecapsulationKey::placeholder(); COUNT];
    cpu.generate(Seeds::Expand(SEEDS), &mut encapsulation_keys, &mut decapsulation_keys).unwrap();
    let mut expected = (vec![Ciphertext::default(); COUNT], vec![SharedSecret::default(); COUNT]);
    let seeds = Seeds::Expand(SEEDS);
    cpu.encapsulate(Keys::Each(&encapsulation_keys), seeds, &mut expected.0, &mut expected.1)
        .unwrap();

    // The second engine has two chunks under way, of which the first one is too large for staging.
    // Each device of the third one has three chunks for two slots.
    for (chunk, slots, devices) in [(COUNT, 1, 1), (80, 2, 1), (16, 2, 2)] {
        let options = DeviceOptions { chunk, slots, ..emulated() };
        let devices = (0..devices).map(|_| EmulatedDevice::new()).collect();
        let engine = DeviceEngine::over(devices, options).unwrap();
        let encapsulation_keys = engine.pin(encapsulation_keys.clone()).unwrap();
        let decapsulation_keys = engine.pin(decapsulation_keys.clone()).unwrap();
        let mut ciphertexts = engine.pin(vec![Ciphertext::default(); COUNT]).unwrap();
        let mut secrets = vec![SharedSecret::default(); COUNT];
        engine
            .encapsulate(Keys::Each(&encapsulation_keys), seeds, &mut ciphertexts, &mut secrets)
            .unwrap();
        assert!((&ciphertexts[..], &secrets) == (&expected.0[..], &expected.1));
        secrets.fill(SharedSecret::default());
        engine.decapsulate(Keys::Each(&decapsulation_keys), &ciphertexts, &mut secrets).unwrap();
        assert!(secrets == expected.1);
    }
}

/// Runs small batches on two devices, from more threads than there are slots.
#[test]
fn several_callers() {
    type P = CtruPrime653;
    let options = DeviceOptions { chunk: 4, slots: 1, ..emulated() };
    let devices = vec![EmulatedDevice::new(), EmulatedDevice::new()];
    let engine = DeviceEngine::over(devices, options).unwrap();
    let decapsulation_keys: Vec<_> =
        (0..6).map(|i| DecapsulationKey::<P>::generate_deterministic(&[i; 32], &[2; 32])).collect();
    let loaded = engine.load_decapsulation_keys(&decapsulation_keys[..1]).unwrap();
    std::thread::scope(|scope| {
        for (i, decapsulation_key) in decapsulation_keys.iter().enumerate() {
            let (engine, loaded) = (&engine, &loaded);
            scope.spawn(move || {
                let encapsulation_key = decapsulation_key.encapsulation_key();
                let seed = [i as u8; 32];
                let mut ciphertext = [Ciphertext::<P>::default()];
                let mut secret = [SharedSecret::default()];
                let mut again = secret.clone();
                for _ in 0..2 {
                    let seeds = Seeds::Each(&[seed]);
                    engine
                        .encapsulate(
                            Keys::One(&encapsulation_key),
                            seeds,
                            &mut ciphertext,
                            &mut secret,
                        )
                        .unwrap();
                    assert!(
                        (ciphertext[0].clone(), secret[0].clone())
                            == encapsulation_key.encapsulate_deterministic(&seed)
                    );
                    engine
                        .decapsulate(Keys::One(decapsulation_key), &ciphertext, &mut again)
                        .unwrap();
                    assert!(again == secret);
                    engine.decapsulate(Keys::Loaded(loaded), &ciphertext, &mut again).unwrap();
                    assert_eq!(again == secret, i == 0);
                }
            });
        }
    });
}

/// Cancels a batch from another thread. Checks that the outputs that are not done are unchanged.
#[test]
fn a_cancelled_batch_says_what_is_done() {
    type P = CtruPrime653;
    let options = DeviceOptions { chunk: 1, slots: 1, ..emulated() };
    let engine = DeviceEngine::new(EmulatedDevice::new(), options).unwrap();
    let key = DecapsulationKey::<P>::generate_deterministic(&[1; 32], &[2; 32]).encapsulation_key();
    let count = 64;
    let mut ciphertexts = vec![Ciphertext::<P>::default(); count];
    let mut secrets = vec![SharedSecret::default(); count];
    let result = std::thread::scope(|scope| {
        let batch = scope.spawn(|| {
            engine.encapsulate(
                Keys::One(&key),
                Seeds::Expand(SEEDS),
                &mut ciphertexts,
                &mut secrets,
            )
        });
        // A cancellation before the batch begins has no effect on it.
        while !batch.is_finished() {
            engine.cancel();
            std::thread::yield_now();
        }
        batch.join().unwrap()
    });
    let Err(EngineError::Cancelled { done }) = result else { panic!("{result:?}") };
    for (i, secret) in secrets.iter().enumerate() {
        assert_eq!(done.contains(&(i..i + 1)), *secret != SharedSecret::default(), "operation {i}");
    }
    // A cancellation has no effect on the next batch.
    let (ciphertexts, secrets) = (&mut ciphertexts[..2], &mut secrets[..2]);
    engine.encapsulate(Keys::One(&key), Seeds::Expand(SEEDS), ciphertexts, secrets).unwrap();
}

/// Runs `batch` in chunks of one operation, on devices that are lost after 0, `step`, `2 * step`,
/// ... copies and launches, until all `count` operations are done.
///
/// Calls `check` after each run, with the indices of the operations that the error names as done.
/// Returns the number of these operations for each run.
fn lose<T>(
    (count, step): (usize, usize),
    batch: impl Fn(&DeviceEngine<EmulatedDevice>) -> (Result<(), EngineError>, T),
    check: impl Fn(&[usize], T),
) -> Vec<usize> {
    let mut lengths = Vec::new();
    // One launch does a whole operation of a small batch, and several launches one of a large
    // batch.
    for as_large in [false, true] {
        let options = DeviceOptions { chunk: 1, slots: 1, ..emulated_as(as_large) };
        for operations in (0..).step_by(step) {
            let device = EmulatedDevice::lost_after(operations);
            let (result, outputs) = batch(&DeviceEngine::new(device, options).unwrap());
            let done: Vec<usize> = match result {
                Ok(()) => (0..count).collect(),
                Err(EngineError::Device {
                    error: RuntimeError::Driver { code: 719, .. },
                    done,
                }) => done.into_iter().flatten().collect(),
                Err(error) => panic!("{error:?}"),
            };
            check(&done, outputs);
            lengths.push(done.len());
            if done.len() == count {
                break;
            }
        }
    }
    lengths
}

/// Loses the device after each number of copies and launches. Checks that the operations that the
/// error names are done, and that no other output is changed.
#[test]
fn a_lost_device_says_what_is_done() {
    type P = CtruPrime653;
    const COUNT: usize = 3;
    let cpu = CpuEngine::with_threads(1).unwrap();
    let decapsulation_keys: Vec<_> = (0..COUNT as u8)
        .map(|i| DecapsulationKey::<P>::generate_deterministic(&[i; 32], &[2; 32]))
        .collect();
    let encapsulation_keys: Vec<_> =
        decapsulation_keys.iter().map(DecapsulationKey::encapsulation_key).collect();
    let blank = || (vec![Ciphertext::<P>::default(); COUNT], vec![SharedSecret::default(); COUNT]);
    let mut expected = blank();
    let seeds = Seeds::Expand(SEEDS);
    cpu.encapsulate(Keys::Each(&encapsulation_keys), seeds, &mut expected.0, &mut expected.1)
        .unwrap();
    // For each smaller number of finished operations, the device was lost at several points.
    let check_lengths = |lengths: &[usize]| {
        let times = |done| lengths.iter().filter(|&&length| length == done).count();
        assert!((0..COUNT).all(|done| times(done) > 3), "{lengths:?}");
    };

    check_lengths(&lose(
        (COUNT, 1),
        |engine| {
            let (mut ciphertexts, mut secrets) = blank();
            let result = engine.encapsulate(
                Keys::Each(&encapsulation_keys),
                seeds,
                &mut ciphertexts,
                &mut secrets,
            );
            (result, (ciphertexts, secrets))
        },
        |done, (ciphertexts, secrets)| {
            for i in 0..COUNT {
                let (ciphertext, secret) = match done.contains(&i) {
                    true => (&expected.0[i], &expected.1[i]),
                    false => (&Ciphertext::default(), &SharedSecret::default()),
                };
                assert!(ciphertexts[i] == *ciphertext && secrets[i] == *secret, "{done:?}, {i}");
            }
        },
    ));
    check_lengths(&lose(
        (COUNT, 1),
        |engine| {
            let (_, mut secrets) = blank();
            (
                engine.decapsulate(Keys::Each(&decapsulation_keys), &expected.0, &mut secrets),
                secrets,
            )
        },
        |done, secrets| {
            for (i, secret) in secrets.iter().enumerate() {
                let expected =
                    if done.contains(&i) { &expected.1[i] } else { &SharedSecret::default() };
                assert!(secret == expected, "{done:?}, {i}");
            }
        },
    ));
}

/// Loses the device at various points of a key generation to pinned memory. Checks that keys that
/// are not done are placeholders, whatever the device has written.
#[test]
fn a_lost_device_leaves_keys_well_formed() {
    type P = CtruPrime653;
    const COUNT: usize = 2;
    let blank = || {
        (
            vec![EncapsulationKey::<P>::placeholder(); COUNT],
            vec![DecapsulationKey::<P>::placeholder(); COUNT],
        )
    };
    let (mut expected, placeholders) = (blank(), blank());
    let seeds = Seeds::Expand(SEEDS);
    CpuEngine::with_threads(1).unwrap().generate(seeds, &mut expected.0, &mut expected.1).unwrap();
    let mut lengths = lose(
        (COUNT, 5),
        |engine| {
            let (encapsulation_keys, decapsulation_keys) = blank();
            let mut encapsulation_keys = engine.pin(encapsulation_keys).unwrap();
            let mut decapsulation_keys = engine.pin(decapsulation_keys).unwrap();
            (
                engine.generate(seeds, &mut encapsulation_keys, &mut decapsulation_keys),
                (encapsulation_keys, decapsulation_keys),
            )
        },
        |done, (encapsulation_keys, decapsulation_keys)| {
            for i in 0..COUNT {
                let keys = if done.contains(&i) { &expected } else { &placeholders };
                assert!(
                    encapsulation_keys[i] == keys.0[i] && decapsulation_keys[i] == keys.1[i],
                    "{done:?}, {i}"
                );
            }
        },
    );
    lengths.dedup();
    // Once for a small batch, and once for a large one.
    assert_eq!(lengths, [0, 1, 2, 0, 1, 2]);
}

/// Loses the device at every point of a key generation to ordinary memory. Checks that keys that
/// are not done are unchanged.
#[test]
fn a_lost_device_leaves_old_keys() {
    type P = CtruPrime653;
    const COUNT: usize = 2;
    let generate = |seeds| {
        let mut encapsulation_keys = vec![EncapsulationKey::<P>::placeholder(); COUNT];
        let mut decapsulation_keys = vec![DecapsulationKey::<P>::placeholder(); COUNT];
        CpuEngine::with_threads(1)
            .unwrap()
            .generate(seeds, &mut encapsulation_keys, &mut decapsulation_keys)
            .unwrap();
        (encapsulation_keys, decapsulation_keys)
    };
    let seeds = Seeds::Expand(SEEDS);
    let (expected, old) =
        (generate(seeds), generate(Seeds::Expand(Expand { seed: &[7; 32], ..SEEDS })));
    // The step is 1, because only the last of about ten copies and launches per key pair bring the
    // keys to the host.
    let mut lengths = lose(
        (COUNT, 1),
        |engine| {
            let (mut encapsulation_keys, mut decapsulation_keys) = old.clone();
            (
                engine.generate(seeds, &mut encapsulation_keys, &mut decapsulation_keys),
                (encapsulation_keys, decapsulation_keys),
            )
        },
        |done, (encapsulation_keys, decapsulation_keys)| {
            for i in 0..COUNT {
                let keys = if done.contains(&i) { &expected } else { &old };
                assert!(
                    encapsulation_keys[i] == keys.0[i] && decapsulation_keys[i] == keys.1[i],
                    "{done:?}, {i}"
                );
            }
        },
    );
    lengths.dedup();
    // Once for a small batch, and once for a large one.
    assert_eq!(lengths, [0, 1, 2, 0, 1, 2]);
}

/// Checks that keys that another engine has loaded are accepted on the same device and refused on
/// another device, unless the batch is small and takes their rows.
#[test]
fn loaded_keys_stay_on_their_device() {
    type P = CtruPrime653;
    let device = EmulatedDevice::new();
    let options = DeviceOptions { chunk: 2, slots: 1, ..emulated_as(true) };
    let on = |device: &EmulatedDevice| DeviceEngine::new(device.clone(), options).unwrap();
    let decapsulation_key = DecapsulationKey::<P>::generate_deterministic(&[1; 32], &[2; 32]);
    let (ciphertext, secret) =
        decapsulation_key.encapsulation_key().encapsulate_deterministic(&[3; 32]);
    let loaded = on(&device).load_decapsulation_keys(&[decapsulation_key]).unwrap();
    let decapsulate = |engine: &DeviceEngine<_>| {
        let mut secrets = [SharedSecret::default()];
        let result = engine.decapsulate(Keys::Loaded(&loaded), from_ref(&ciphertext), &mut secrets);
        (result, secrets)
    };
    assert!(decapsulate(&on(&device)) == (Ok(()), [secret]));
    let (result, secrets) = decapsulate(&on(&EmulatedDevice::new()));
    let Err(EngineError::Device { error: RuntimeError::Foreign { .. }, done }) = result else {
        panic!("{result:?}");
    };
    assert!(done.is_empty() && secrets == [SharedSecret::default()]);
}

/// Gives an engine on several devices keys that lie on one of them only, or that were loaded in
/// chunks of another size. Checks that each batch is refused and touches nothing, whichever device
/// is the first. Neither matters to a small batch, which takes the rows of the keys.
#[test]
fn loaded_keys_serve_engines_on_the_same_devices() {
    for as_large in [false, true] {
        loaded_keys_on_the_same_devices(as_large);
    }
}

fn loaded_keys_on_the_same_devices(as_large: bool) {
    type P = CtruPrime653;
    let devices = vec![EmulatedDevice::new(), EmulatedDevice::new()];
    let over = |devices: &[EmulatedDevice], chunk| {
        let options = DeviceOptions { chunk, slots: 1, ..emulated_as(as_large) };
        DeviceEngine::over(devices.to_vec(), options).unwrap()
    };
    let keys = vec![DecapsulationKey::<P>::generate_deterministic(&[1; 32], &[2; 32]); 3];
    let (ciphertext, secret) = keys[0].encapsulation_key().encapsulate_deterministic(&[3; 32]);
    let loaded = |engine: DeviceEngine<_>, keys| engine.load_decapsulation_keys(keys).unwrap();
    let decapsulate = |loaded: &_| {
        let mut secrets = vec![SharedSecret::default(); keys.len()];
        let ciphertexts = vec![ciphertext.clone(); keys.len()];
        let result =
            over(&devices, 2).decapsulate(Keys::Loaded(loaded), &ciphertexts, &mut secrets);
        let expected = if result.is_ok() { secret.clone() } else { SharedSecret::default() };
        assert!(secrets.iter().all(|secret| *secret == expected));
        result
    };
    assert_eq!(decapsulate(&loaded(over(&devices, 2), &keys)), Ok(()));
    assert_eq!(decapsulate(&loaded(over(&devices, 1), &keys[..1])), Ok(()));
    let refused_if_large = |refused| if as_large { Err(refused) } else { Ok(()) };
    let foreign = RuntimeError::Foreign { what: "a loaded key", owner: "device" };
    let swapped = [devices[1].clone(), devices[0].clone()];
    for (devices, keys) in [(&devices[..1], &keys[..1]), (&devices[..1], &keys), (&swapped, &keys)]
    {
        let loaded = loaded(over(devices, 2), keys);
        for _ in 0..2 {
            assert_eq!(decapsulate(&loaded), refused_if_large(foreign.clone().into()));
        }
    }
    let other_chunks = loaded(over(&devices, 1), &keys);
    let refused = EngineError::Chunks { loaded: 1, batch: 2 };
    assert_eq!(decapsulate(&other_chunks), refused_if_large(refused));
}

/// Checks that options that are far too large are errors, and that a chunk has at most the
/// operations whose indices fit into 32 bits.
#[test]
fn immense_options() {
    type P = CtruPrime1277<Packed13>;
    let new = |options| {
        let device = EmulatedDevice::with_memory(0);
        let engine = DeviceEngine::new(device, options).unwrap();
        engine.prepare(P::PARAMETERS).unwrap_err()
    };
    let usual = DeviceOptions { slots: 1, ..emulated() };
    let limit = usize::MAX;
    for slots in [1 << 40, usize::MAX / 2, usize::MAX] {
        for memory_limit in [1 << 30, usize::MAX] {
            let error = new(DeviceOptions { slots, memory_limit, ..usual });
            let refused = matches!(error, EngineError::Options { .. })
                || matches!(
                    error,
                    EngineError::Device { error: RuntimeError::OutOfMemory { .. }, .. }
                );
            assert!(refused, "{slots}, {memory_limit}: {error:?}");
        }
    }
    let error = new(DeviceOptions { slots: usize::MAX, ..usual });
    assert_eq!(error, EngineError::Options { needed: limit, limit: usual.memory_limit });
    for chunk in [2_000_000, 1 << 33, usize::MAX] {
        // The device has no memory for the array that is allocated first, the array of the keys.
        match new(DeviceOptions { chunk, memory_limit: limit, ..usual }) {
            EngineError::Device { error: RuntimeError::OutOfMemory { requested, .. }, .. } => {
                let keys = requested / P::DECAPSULATION_KEY_BYTES;
                assert!((1_563_000..=1_563_512).contains(&keys), "{chunk}: {keys}");
            }
            error => panic!("{chunk}: {error:?}"),
        }
    }
}

/// Uses a product tree of several levels, some of which end with a node without a sibling.
fn check_keys_through_a_deep_tree<P: ParameterSet>(options: DeviceOptions) {
    const COUNT: usize = 8 * 8 + 5;
    let options = DeviceOptions { chunk: COUNT, slots: 1, ..options };
    let engine = DeviceEngine::new(EmulatedDevice::new(), options).unwrap();
    let mut encapsulation_keys = vec![EncapsulationKey::<P>::placeholder(); COUNT];
    let mut decapsulation_keys = vec![DecapsulationKey::placeholder(); COUNT];
    engine
        .generate(Seeds::Expand(SEEDS), &mut encapsulation_keys, &mut decapsulation_keys)
        .unwrap();
    let mut expected = (encapsulation_keys.clone(), decapsulation_keys.clone());
    let cpu = CpuEngine::with_threads(1).unwrap();
    cpu.generate(Seeds::Expand(SEEDS), &mut expected.0, &mut expected.1).unwrap();
    assert!((encapsulation_keys, decapsulation_keys) == expected);
}

#[test]
#[ignore = "takes long; CI runs it"]
fn keys_through_a_deep_tree() {
    check_keys_through_a_deep_tree::<CtruPrime653>(DeviceOptions::default());
}

#[test]
#[ignore = "takes long; CI runs it"]
fn keys_through_a_deep_tree_by_division_steps() {
    check_keys_through_a_deep_tree::<CtruPrime761>(emulated());
}

#[test]
fn empty_batches() {
    let engine = engine();
    fn run<P: ParameterSet, E: Engine<P>>(engine: &E) {
        engine.generate(Seeds::Expand(SEEDS), &mut [], &mut []).unwrap();
        engine.generate_decapsulation_keys(Seeds::Expand(SEEDS), &mut []).unwrap();
        engine.encapsulate(Keys::Each(&[]), Seeds::Each(&[]), &mut [], &mut []).unwrap();
        engine.decapsulate(Keys::Each(&[]), &[], &mut []).unwrap();
    }
    run::<CtruPrime761, _>(&engine);
}

#[test]
fn wrong_lengths_touch_nothing() {
    let engine = engine();
    let key = DecapsulationKey::<CtruPrime761>::generate_deterministic(&[1; 32], &[2; 32]);
    let keys = [key.encapsulation_key(), key.encapsulation_key()];
    let mut ciphertexts = vec![Ciphertext::default(); 3];
    let mut secrets = vec![SharedSecret::default(); 3];
    let result =
        engine.encapsulate(Keys::Each(&keys), Seeds::Expand(SEEDS), &mut ciphertexts, &mut secrets);
    assert_eq!(result, Err(EngineError::Length { slice: "keys", expected: 3, actual: 2 }));
    let result = engine.encapsulate(
        Keys::One(&keys[0]),
        Seeds::Each(&[[0; 32]]),
        &mut ciphertexts,
        &mut secrets,
    );
    assert_eq!(result, Err(EngineError::Length { slice: "seeds", expected: 3, actual: 1 }));
    let loaded = engine.load_encapsulation_keys(&keys).unwrap();
    let result = engine.encapsulate(
        Keys::Loaded(&loaded),
        Seeds::Expand(SEEDS),
        &mut ciphertexts,
        &mut secrets,
    );
    assert_eq!(result, Err(EngineError::Length { slice: "loaded keys", expected: 3, actual: 2 }));
    assert!(ciphertexts.iter().all(|ciphertext| ciphertext.as_ref().iter().all(|&byte| byte == 0)));
}

#[test]
fn memory_is_bounded() {
    const PARAMETERS: Parameters = <CtruPrime761>::PARAMETERS;
    let new = |memory_limit| {
        let options = DeviceOptions { chunk: 8192, slots: 4, memory_limit, ..emulated() };
        DeviceEngine::new(EmulatedDevice::new(), options).unwrap().prepare(PARAMETERS)
    };
    let Prepared { chunk, slots, device_bytes, .. } = new(10 << 20).unwrap();
    assert_eq!(slots, 4);
    assert!(chunk > 0 && chunk < 8192);
    // The chunks are as large as the limit permits.
    assert!(device_bytes <= 10 << 20 && 10 << 20 < device_bytes + device_bytes / chunk);
    assert!(matches!(new(1000), Err(EngineError::Options { limit: 1000, .. })));

    let of = |devices, chunk, slots, (coalesced_rows, under_way)| {
        let tuning = Tuning { coalesced_rows, under_way, ..BY_STEPS.clone() };
        let options = DeviceOptions { chunk, slots, ..emulated_by(tuning) };
        let devices = vec![EmulatedDevice::new(); devices];
        DeviceEngine::over(devices, options).unwrap().prepare(PARAMETERS).unwrap()
    };
    // Without small batches.
    let (one, many) = (of(1, 1, 1, (0, 1)), of(2, 8, 3, (0, 1)));
    assert_eq!((one.chunk, one.slots), (1, 1));
    assert_eq!((many.chunk, many.slots), (8, 6));
    // Chunks of one operation take a little more for each.
    let is = |bytes, count, one| (count * one / 16 * 15..=count * one).contains(&bytes);
    assert!(is(many.device_bytes, 48, one.device_bytes));
    assert!(one.pinned_bytes > 0 && is(many.pinned_bytes, 48, one.pinned_bytes));
    // With two times as many groups as are under way on each device.
    let merged = of(2, 8, 3, (4, 5));
    assert!(is(merged.pinned_bytes, 48 + 2 * 2 * 5 * 4, one.pinned_bytes));
}
