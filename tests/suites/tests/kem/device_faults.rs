//! Makes each call of the device fail in turn, in every operation of the device engine.

use core::slice::from_ref;

use ctru_gpu_runtime::Device;
use ctru_kem::engine::{
    Context, DeviceEngine, DeviceOptions, Engine, EngineError, Expand, Keys, Seeds,
};
use ctru_kem::{
    Ciphertext, CtruPrime653, DecapsulationKey, EncapsulationKey, ParameterSet, SharedSecret,
};

use crate::common::{emulated, emulated_as};
use crate::failing_device::{FailingDevice, failure};

type P = CtruPrime653;
/// The number of operations of a batch, each in a chunk of its own.
const COUNT: usize = 2;
const SEEDS: Expand<'_> = Expand {
    seed: b"a master seed of batches to fail",
    context: Context::literal(b"faults"),
    first: 3,
};

/// The result of a batch, and the bytes of the outputs of each operation.
type Outcome = (Result<(), EngineError>, Vec<Vec<u8>>);

/// The bytes of the outputs of each operation.
fn rows<A: AsRef<[u8]>, B: AsRef<[u8]>>(first: &[A], second: &[B]) -> Vec<Vec<u8>> {
    let pairs = first.iter().zip(second);
    pairs.map(|(first, second)| [first.as_ref(), second.as_ref()].concat()).collect()
}

/// Runs `batch` once for each of its calls of the device, and makes this call fail. Checks the
/// error, that the operations that it names are done, that no other output is changed, that nothing
/// is under way, and that the next batch is right.
fn fail_each_call(
    name: &str,
    device: &FailingDevice,
    engine: &DeviceEngine<FailingDevice>,
    batch: impl Fn(&DeviceEngine<FailingDevice>) -> Outcome,
) {
    device.fail_after(0);
    let (result, blank) = batch(engine);
    assert_eq!(result, Err(EngineError::Device { error: failure(), done: vec![] }), "{name}");
    device.heal();
    let (result, expected) = batch(engine);
    assert_eq!(result, Ok(()));
    let mut counts = Vec::new();
    for calls in 0.. {
        device.fail_after(calls);
        let (result, outputs) = batch(engine);
        if !device.heal() {
            break;
        }
        let Err(EngineError::Device { error, done }) = result else {
            panic!("{name}, call {calls}: {result:?}")
        };
        assert_eq!(error, failure());
        let done: Vec<usize> = done.into_iter().flatten().collect();
        for (operation, row) in outputs.iter().enumerate() {
            let right = if done.contains(&operation) { &expected } else { &blank };
            assert!(*row == right[operation], "{name}, call {calls}, {done:?}, {operation}");
        }
        // Where all work has succeeded, the host has waited for results, not for whole queues.
        if !device.has_failed_at_an_end() {
            assert_eq!(device.busy_queues(), 0, "{name}, call {calls}");
        }
        assert!(batch(engine) == (Ok(()), expected.clone()), "{name}, after call {calls}");
        counts.push(done.len());
    }
    println!("{name}: {} calls", counts.len());
    assert!(counts.len() > 5 && counts.is_sorted());
    // The end of the scope failed after all was done, and calls of the second chunk after the first
    // was done.
    let outputs = expected.len();
    assert_eq!(counts.pop(), Some(outputs));
    assert_eq!(counts.last(), Some(&outputs.saturating_sub(1)));
}

fn engine(as_large: bool) -> (FailingDevice, DeviceEngine<FailingDevice>) {
    let device = FailingDevice::new();
    let options = DeviceOptions { chunk: 1, slots: 1, ..emulated_as(as_large) };
    let engine = DeviceEngine::new(device.clone(), options).unwrap();
    (device, engine)
}

fn keys() -> (Vec<DecapsulationKey<P>>, Vec<EncapsulationKey<P>>) {
    (1..=COUNT as u8)
        .map(|i| DecapsulationKey::<P>::generate_deterministic(&[i; 32], &[2; 32]))
        .map(|key| (key.clone(), key.encapsulation_key()))
        .collect()
}

#[test]
#[ignore = "takes long; CI runs it"]
fn key_generation() {
    let (device, engine) = engine(false);
    let (old, old_public) = keys();
    fail_each_call("key pairs", &device, &engine, |engine| {
        let (mut private, mut public) = (old.clone(), old_public.clone());
        let result = engine.generate(Seeds::Expand(SEEDS), &mut public, &mut private);
        (result, rows(&public, &private))
    });
    fail_each_call("private keys", &device, &engine, |engine| {
        let mut private = old.clone();
        let seeds = [[5; 64], [6; 64]];
        let result = engine.generate_decapsulation_keys(Seeds::Each(&seeds), &mut private);
        (result, rows(&private, &[[]; COUNT]))
    });
}

fn encapsulations(as_large: bool) {
    let (device, engine) = engine(as_large);
    let (_, public) = keys();
    let loaded = engine.load_encapsulation_keys(&public).unwrap();
    let run = |engine: &DeviceEngine<_>, keys| {
        let mut ciphertexts = vec![Ciphertext::<P>::default(); COUNT];
        let mut secrets = vec![SharedSecret::default(); COUNT];
        let seeds = Seeds::Expand(SEEDS);
        let result = engine.encapsulate(keys, seeds, &mut ciphertexts, &mut secrets);
        (result, rows(&ciphertexts, &secrets))
    };
    fail_each_call("one key", &device, &engine, |engine| run(engine, Keys::One(&public[0])));
    fail_each_call("keys", &device, &engine, |engine| run(engine, Keys::Each(&public)));
    fail_each_call("loaded keys", &device, &engine, |engine| run(engine, Keys::Loaded(&loaded)));
}

#[test]
fn encapsulation() {
    encapsulations(false);
    encapsulations(true);
}

fn decapsulations(as_large: bool) {
    let (device, engine) = engine(as_large);
    let (private, public) = keys();
    let ciphertexts: Vec<_> =
        public.iter().map(|key| key.encapsulate_deterministic(&[4; 32]).0).collect();
    let loaded = engine.load_decapsulation_keys(&private).unwrap();
    let run = |engine: &DeviceEngine<_>, keys| {
        let mut secrets = vec![SharedSecret::default(); COUNT];
        let result = engine.decapsulate(keys, &ciphertexts, &mut secrets);
        (result, rows(&secrets, &[[]; COUNT]))
    };
    fail_each_call("one key", &device, &engine, |engine| run(engine, Keys::One(&private[0])));
    fail_each_call("keys", &device, &engine, |engine| run(engine, Keys::Each(&private)));
    fail_each_call("loaded keys", &device, &engine, |engine| run(engine, Keys::Loaded(&loaded)));
}

#[test]
#[ignore = "takes long; CI runs it"]
fn decapsulation() {
    decapsulations(false);
    decapsulations(true);
}

/// Makes each call of the device fail in a small batch, which is one launch. Checks the error, that
/// no output is changed, that nothing is under way, and that the next batch is right.
#[test]
fn a_small_batch_of_decapsulations() {
    let device = FailingDevice::new();
    let options = DeviceOptions { chunk: COUNT, slots: 1, ..emulated() };
    let engine = DeviceEngine::new(device.clone(), options).unwrap();
    let (private, public) = keys();
    let (valid, expected) = public[0].encapsulate_deterministic(&[4; 32]);
    // The second key rejects this ciphertext.
    let ciphertexts = vec![valid; COUNT];
    let rejected = private[1].decapsulate(&ciphertexts[1]);
    let decapsulate = || {
        let mut secrets = vec![SharedSecret::default(); COUNT];
        let result = engine.decapsulate(Keys::Each(&private), &ciphertexts, &mut secrets);
        (result, secrets)
    };
    let right = (Ok(()), vec![expected, rejected]);
    let failed = Err(EngineError::Device { error: failure(), done: vec![] });
    for calls in 0.. {
        device.fail_after(calls);
        let outcome = decapsulate();
        if !device.heal() {
            assert!(calls > 5 && outcome == right, "{calls} calls");
            break;
        }
        assert!(outcome == (failed.clone(), vec![SharedSecret::default(); COUNT]), "call {calls}");
        assert_eq!(device.busy_queues(), 0, "call {calls}");
        assert!(decapsulate() == right, "after call {calls}");
    }
    assert!(engine.common_launches() > 0);
}

/// Checks that memory that cannot be wiped keeps no other memory from being wiped.
fn wiping_goes_on(device: &FailingDevice, engine: &DeviceEngine<FailingDevice>) {
    let wipe = |call| {
        let before = device.calls();
        device.fail_after(call);
        let result = engine.wipe();
        device.heal();
        (result, device.calls() - before)
    };
    let (wiped, all) = wipe(usize::MAX);
    assert_eq!(wiped, Ok(()));
    for call in 0..all {
        let (failed, calls) = wipe(call);
        assert!(failed.is_err() && calls >= all, "call {call} of {all}: {calls}");
    }
}

#[test]
fn loading_and_wiping() {
    let (device, engine) = engine(false);
    let (private, public) = keys();
    fail_each_call("loading public keys", &device, &engine, |engine| {
        (engine.load_encapsulation_keys(&public).map(drop), vec![])
    });
    fail_each_call("loading private keys", &device, &engine, |engine| {
        (engine.load_decapsulation_keys(from_ref(&private[0])).map(drop), vec![])
    });
    fail_each_call("wiping", &device, &engine, |engine| (engine.wipe(), vec![]));
    wiping_goes_on(&device, &engine);
    device.fail_after(0);
    let refused = engine.pin(vec![0u8; 64]).map(|_| ());
    assert_eq!(refused, Err(EngineError::Device { error: failure(), done: vec![] }));
    device.heal();
    engine.pin(vec![0u8; 64]).unwrap();
}

/// Checks that an engine that cannot be made gives all memory back.
#[test]
fn creation() {
    let device = FailingDevice::new();
    let options = DeviceOptions { chunk: 2, slots: 2, ..emulated() };
    for calls in 0.. {
        device.fail_after(calls);
        let engine = DeviceEngine::new(device.clone(), options).unwrap();
        let prepared = engine.prepare(P::PARAMETERS);
        drop(engine);
        if !device.heal() {
            println!("creation: {calls} calls");
            assert!(calls > 30 && prepared.is_ok());
            break;
        }
        let failed = EngineError::Device { error: failure(), done: vec![] };
        assert_eq!(prepared, Err(failed), "call {calls}");
        let memory = device.memory_info().unwrap();
        assert_eq!(memory.free, memory.total, "call {calls}");
    }
}
