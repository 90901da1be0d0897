//! Gives small batches of several threads to one engine on the emulator, which merges them, and
//! compares the results with those of the CPU engine.

use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Duration;

use ctru_gpu_runtime::batch::tuning::{BY_STEPS, Tuning};
use ctru_gpu_runtime::emulated::EmulatedDevice;
use ctru_kem::engine::{
    BatchEngine, Context, CpuEngine, DeviceEngine, DeviceOptions, Engine, EngineError, Expand,
    KeyRows, Keys, Seeds,
};
use ctru_kem::{
    Ciphertext, CtruPrime653, CtruPrime761, DecapsulationKey, EncapsulationKey, MixedRadix,
    ParameterSet, SharedSecret,
};

use crate::common::emulated_by;
use crate::failing_device::{FailingDevice, failure};

/// Returns the seeds of a caller.
fn expand(caller: &u8) -> Expand<'_> {
    let first = 1000 * u64::from(*caller);
    Expand { seed: &[9; 32], context: Context::literal(b"merged"), first }
}

/// The keys and the ciphertexts of a caller. Two of three ciphertexts have a flipped bit.
struct Inputs<P: ParameterSet> {
    private: Vec<DecapsulationKey<P>>,
    public: Vec<EncapsulationKey<P>>,
    sent: Vec<Ciphertext<P>>,
}

impl<P: ParameterSet> Inputs<P> {
    fn new(caller: u8, count: usize) -> Self {
        let private: Vec<_> = (0..count as u8)
            .map(|i| DecapsulationKey::generate_deterministic(&[32 * caller + i; 32], &[i; 32]))
            .collect();
        let public: Vec<_> = private.iter().map(DecapsulationKey::encapsulation_key).collect();
        let mut sent: Vec<_> =
            public.iter().map(|key| key.encapsulate_deterministic(&[caller; 32]).0).collect();
        for (i, ciphertext) in sent.iter_mut().enumerate().filter(|(i, _)| i % 3 != 0) {
            let mut bytes = ciphertext.as_ref().to_vec();
            bytes[7 * i] ^= 1;
            *ciphertext = Ciphertext::from_bytes(&bytes).unwrap();
        }
        Self { private, public, sent }
    }

    /// Runs encapsulations and decapsulations with these inputs, and returns their results.
    fn run<E: Engine<P>>(&self, engine: &E, caller: u8) -> Result<Outputs<P>, EngineError> {
        let Self { private, public, sent } = self;
        let count = sent.len();
        let each = vec![[caller; 32]; count];
        let mut outputs = Vec::new();
        for (public, private, seeds) in [
            (Keys::Each(&public[..]), Keys::Each(&private[..]), Seeds::Expand(expand(&caller))),
            (Keys::One(&public[0]), Keys::One(&private[0]), Seeds::Each(&each)),
            (Keys::One(&public[0]), Keys::Each(&private[..]), Seeds::Expand(expand(&caller))),
        ] {
            let mut ciphertexts = vec![Ciphertext::default(); count];
            let mut secrets = vec![SharedSecret::default(); count];
            engine.encapsulate(public, seeds, &mut ciphertexts, &mut secrets)?;
            let mut answers = vec![SharedSecret::default(); count];
            engine.decapsulate(private, sent, &mut answers)?;
            outputs.push((ciphertexts, secrets, answers));
        }
        Ok(outputs)
    }
}

type Outputs<P> = Vec<(Vec<Ciphertext<P>>, Vec<SharedSecret>, Vec<SharedSecret>)>;

/// Lets callers with batches of these lengths call an engine on `devices` devices at the same time.
fn check<P: ParameterSet>(counts: &[usize], devices: usize, tuning: Tuning) {
    let cpu = CpuEngine::with_threads(1).unwrap();
    let inputs: Vec<_> =
        counts.iter().zip(0..).map(|(&count, i)| Inputs::<P>::new(i, count)).collect();
    let expected: Vec<_> = inputs
        .iter()
        .zip(0..)
        .map(|(inputs, i)| inputs.run::<CpuEngine>(&cpu, i).unwrap())
        .collect();
    let options = DeviceOptions { chunk: 32, slots: 2, ..emulated_by(tuning) };
    let devices = (0..devices).map(|_| EmulatedDevice::new()).collect();
    let engine = DeviceEngine::over(devices, options).unwrap();
    let begin = Barrier::new(counts.len());
    thread::scope(|scope| {
        for ((inputs, expected), i) in inputs.iter().zip(&expected).zip(0..) {
            let (engine, begin) = (&engine, &begin);
            scope.spawn(move || {
                begin.wait();
                assert!(inputs.run(engine, i).unwrap() == *expected, "caller {i}");
            });
        }
    });
}

/// The limits of groups: `rows` operations, and `under_way` groups. All callers of these tests
/// meet, even if there are fewer CPUs.
fn merging(coalesced_rows: usize, under_way: usize) -> Tuning {
    Tuning { coalesced_rows, under_way, callers: Some(8), ..BY_STEPS.clone() }
}

#[test]
fn callers_get_the_results_of_the_cpu() {
    let counts = [1, 2, 3, 4, 1, 5];
    check::<CtruPrime653<MixedRadix>>(&counts, 1, merging(8, 1));
    // The device hashes rejections, or the host does.
    let hashing = |hashes_on_host| Tuning { hashes_on_host, ..merging(8, 1) };
    check::<CtruPrime653<MixedRadix>>(&counts, 1, hashing(0));
    check::<CtruPrime653>(&counts, 1, hashing(99));
    // Without common launches.
    check::<CtruPrime653<MixedRadix>>(&counts[..3], 1, merging(0, 1));
}

#[test]
#[ignore = "takes long; CI runs it"]
fn more_callers_get_the_results_of_the_cpu() {
    let counts = [1, 2, 3, 4, 1, 5];
    check::<CtruPrime653>(&counts, 1, merging(5, 2));
    check::<CtruPrime761<MixedRadix>>(&counts[1..4], 2, merging(8, 1));
    // Most callers wait before the gate.
    for callers in [1, 2] {
        let tuning = Tuning { callers: Some(callers), ..merging(8, 1) };
        check::<CtruPrime653<MixedRadix>>(&counts, 1, tuning);
    }
    // The host hashes in several groups.
    for count in [7, 18] {
        let tuning = Tuning { hashes_on_host: 99, ..merging(18, 1) };
        check::<CtruPrime653>(&[count], 1, tuning);
    }
}

/// Checks that callers who come while a launch is under way share the next one, and that a lone
/// caller has one launch per batch.
#[test]
fn callers_share_launches() {
    const OTHERS: usize = 5;
    let device = FailingDevice::new();
    let options = DeviceOptions { chunk: 8, slots: 2, ..emulated_by(merging(8, 1)) };
    let engine = DeviceEngine::new(device.clone(), options).unwrap();
    let key = DecapsulationKey::<CtruPrime653>::generate_deterministic(&[1; 32], &[2; 32]);
    let key = key.encapsulation_key();
    let call = || {
        let (mut ciphertext, mut secret) = ([Ciphertext::default()], [SharedSecret::default()]);
        let seeds = Seeds::Each(&[[7; 32]]);
        engine.encapsulate(Keys::One(&key), seeds, &mut ciphertext, &mut secret).unwrap();
    };
    call();
    call();
    assert_eq!(device.launches(), 2);
    // A caller writes its key and its seed to the memory of its group. The first one launches then,
    // and the device holds it.
    let before = device.calls();
    let wait_for = |calls| {
        for _ in 0..10_000 {
            if device.calls() >= before + calls {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        device.release();
        panic!("the callers do not meet");
    };
    device.hold_after(2);
    thread::scope(|scope| {
        scope.spawn(call);
        wait_for(3);
        for _ in 0..OTHERS {
            scope.spawn(call);
        }
        wait_for(3 + 2 * OTHERS);
        device.release();
    });
    assert_eq!(device.launches(), 4);
}

/// Checks that batches are merged up to the number of operations of a group, and up to 64 KiB of
/// keys or of ciphertexts.
#[test]
fn larger_batches_are_not_merged() {
    type P = CtruPrime653;
    const ROWS: usize = (64 << 10) / P::ENCAPSULATION_KEY_BYTES;
    const { assert!(P::ENCAPSULATION_KEY_BYTES > P::CIPHERTEXT_BYTES) };
    let key = DecapsulationKey::<P>::generate_deterministic(&[1; 32], &[2; 32]).encapsulation_key();
    for (rows, merged, larger) in [(3, 3, 4), (128, ROWS, ROWS + 1)] {
        let options = DeviceOptions { chunk: 128, slots: 1, ..emulated_by(merging(rows, 1)) };
        let engine = DeviceEngine::new(EmulatedDevice::new(), options).unwrap();
        for (count, launches) in [(0, 0), (1, 1), (merged, 2), (larger, 2)] {
            let mut ciphertexts = vec![Ciphertext::default(); count];
            let mut secrets = vec![SharedSecret::default(); count];
            let seeds = Seeds::Expand(expand(&1));
            engine.encapsulate(Keys::One(&key), seeds, &mut ciphertexts, &mut secrets).unwrap();
            assert_eq!(engine.common_launches(), launches, "{count} operations");
        }
    }
}

/// Gives keys to an engine as rows, of which one caller's second one is not a key. Checks that only
/// this caller learns it.
#[test]
fn a_row_that_is_no_key_is_the_error_of_its_caller() {
    type P = CtruPrime653;
    let options = DeviceOptions { chunk: 8, slots: 1, ..emulated_by(merging(8, 1)) };
    let engine = DeviceEngine::new(EmulatedDevice::new(), options).unwrap();
    let engine = &engine;
    let begin = Barrier::new(3);
    thread::scope(|scope| {
        for caller in 0..3 {
            let begin = &begin;
            scope.spawn(move || {
                let Inputs { public, private, sent } = Inputs::<P>::new(caller, 2);
                let mut keys: Vec<u8> =
                    public.iter().flat_map(|key| key.as_ref()).copied().collect();
                if caller == 1 {
                    keys[P::ENCAPSULATION_KEY_BYTES..].fill(0xff);
                }
                let mut ciphertexts = vec![0; 2 * P::CIPHERTEXT_BYTES];
                let mut secrets = vec![0; 2 * 32];
                begin.wait();
                for _ in 0..3 {
                    let seeds = Seeds::Expand(expand(&caller));
                    let keys = KeyRows::Unchecked(&keys);
                    let result = engine.encapsulate_rows(
                        P::PARAMETERS,
                        keys,
                        seeds,
                        &mut ciphertexts,
                        &mut secrets,
                    );
                    if caller == 1 {
                        assert!(
                            matches!(result, Err(EngineError::EncapsulationKey { row: 1, .. })),
                            "{result:?}"
                        );
                        assert!(secrets.iter().all(|&byte| byte == 0));
                        continue;
                    }
                    result.unwrap();
                    for (i, private) in private.iter().enumerate() {
                        let row = P::CIPHERTEXT_BYTES;
                        let received = Ciphertext::from_bytes(&ciphertexts[i * row..][..row]);
                        let secret = private.decapsulate(&received.unwrap());
                        assert_eq!(secret.as_ref(), &secrets[32 * i..][..32]);
                    }
                }
                drop(sent);
            });
        }
    });
}

/// Makes a call of the device fail while several callers use it. Checks that some of them learn the
/// failure, that the others get right results, and that nobody waits forever.
#[test]
fn callers_learn_a_failure() {
    type P = CtruPrime653;
    let device = FailingDevice::new();
    let options = DeviceOptions { chunk: 8, slots: 2, ..emulated_by(merging(8, 2)) };
    let engine = DeviceEngine::new(device.clone(), options).unwrap();
    let cpu = CpuEngine::with_threads(1).unwrap();
    let inputs: Vec<_> = (0..4).map(|i| Inputs::<P>::new(i, 2)).collect();
    let expected: Vec<_> = (inputs.iter().zip(0..))
        .map(|(inputs, i)| inputs.run::<CpuEngine>(&cpu, i).unwrap())
        .collect();
    for calls in (0..40).step_by(3) {
        device.fail_after(calls);
        let results: Vec<_> = thread::scope(|scope| {
            let run = |i: u8| {
                let (engine, inputs) = (&engine, &inputs[usize::from(i)]);
                scope.spawn(move || inputs.run(engine, i))
            };
            let threads: Vec<_> = (0..4).map(run).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(device.heal(), "call {calls}");
        assert_eq!(device.busy_queues(), 0);
        let failed = EngineError::Device { error: failure(), done: vec![] };
        assert!(results.iter().any(Result::is_err), "call {calls}");
        for (result, expected) in results.iter().zip(&expected) {
            match result {
                Ok(outputs) => assert!(outputs == expected, "call {calls}"),
                Err(error) => assert_eq!(*error, failed, "call {calls}"),
            }
        }
    }
    assert!(inputs[0].run(&engine, 0).unwrap() == expected[0]);
}

/// Cancels while callers call. Checks that each call either is done or has changed nothing.
#[test]
fn callers_give_up() {
    type P = CtruPrime653;
    let tuning = Tuning { spin: Duration::ZERO, callers: Some(4), ..merging(4, 1) };
    let options = DeviceOptions { chunk: 4, slots: 1, ..emulated_by(tuning) };
    let engine = DeviceEngine::new(EmulatedDevice::new(), options).unwrap();
    let key = DecapsulationKey::<P>::generate_deterministic(&[1; 32], &[2; 32]).encapsulation_key();
    let seed = [3; 32];
    let expected = key.encapsulate_deterministic(&seed);
    let begin = Barrier::new(7);
    let given_up: usize = thread::scope(|scope| {
        let call = || {
            let mut given_up = 0;
            begin.wait();
            for _ in 0..4 {
                let mut ciphertexts = vec![Ciphertext::<P>::default(); 3];
                let mut secrets = vec![SharedSecret::default(); 3];
                let seeds = [seed; 3];
                let result = engine.encapsulate(
                    Keys::One(&key),
                    Seeds::Each(&seeds),
                    &mut ciphertexts,
                    &mut secrets,
                );
                let done = match result {
                    Ok(()) => true,
                    Err(EngineError::Cancelled { done }) => {
                        assert!(done.is_empty());
                        given_up += 1;
                        false
                    }
                    Err(error) => panic!("{error}"),
                };
                let right = if done { expected.clone() } else { Default::default() };
                for output in ciphertexts.into_iter().zip(secrets) {
                    assert!(output == right);
                }
            }
            given_up
        };
        let callers: Vec<_> = (0..6).map(|_| scope.spawn(call)).collect();
        begin.wait();
        while !callers.iter().all(|caller| caller.is_finished()) {
            engine.cancel();
            thread::sleep(Duration::from_millis(1));
        }
        callers.into_iter().map(|caller| caller.join().unwrap()).sum()
    });
    assert!(given_up > 0, "nobody has waited");
}

/// Makes an encapsulation or a decapsulation alone, and checks the result unless it is cancelled.
fn call<P: ParameterSet>(
    engine: &DeviceEngine<FailingDevice>,
    private: &DecapsulationKey<P>,
    encapsulates: bool,
) -> Result<(), EngineError> {
    let (key, seed) = (private.encapsulation_key(), [8; 32]);
    let (ciphertext, secret) = key.encapsulate_deterministic(&seed);
    let mut secrets = [SharedSecret::default()];
    if encapsulates {
        let mut sent = [Ciphertext::default()];
        engine.encapsulate(Keys::One(&key), Seeds::Each(&[seed]), &mut sent, &mut secrets)?;
        assert!(sent[0] == ciphertext);
    } else {
        engine.decapsulate(Keys::One(private), &[ciphertext], &mut secrets)?;
    }
    assert!(secrets[0] == secret);
    Ok(())
}

/// Waits until a device has had this number of calls.
fn wait_for_calls(device: &FailingDevice, calls: usize) {
    while device.calls() < calls {
        thread::yield_now();
    }
}

/// Makes an engine for at most this number of callers at a time, with one group under way, whose
/// callers sleep where they wait. The device's call after the next `others` ones waits. Returns the
/// engine, and the number of calls so far.
fn holding(
    device: &FailingDevice,
    others: usize,
    callers: usize,
) -> (DeviceEngine<FailingDevice>, usize) {
    let tuning = Tuning { spin: Duration::ZERO, callers: Some(callers), ..merging(4, 1) };
    let options = DeviceOptions { chunk: 4, slots: 1, ..emulated_by(tuning) };
    let engine = DeviceEngine::new(device.clone(), options).unwrap();
    engine.prepare(<CtruPrime653>::PARAMETERS).unwrap();
    device.hold_after(others);
    (engine, device.calls())
}

/// Lets a call join the group of another one, which has a key of its own and waits for nobody.
/// Checks that each gets the result of its key.
#[test]
fn a_leader_that_waits_for_nobody_is_joined() {
    type P = CtruPrime653;
    let device = FailingDevice::new();
    let keys =
        [1, 2].map(|i| DecapsulationKey::<P>::generate_deterministic(&[i; 32], &[i + 2; 32]));
    // The leader's first call copies its key. The other call copies its key and its seed.
    let (engine, before) = holding(&device, 0, 2);
    thread::scope(|scope| {
        scope.spawn(|| call(&engine, &keys[0], true).unwrap());
        wait_for_calls(&device, before + 1);
        scope.spawn(|| call(&engine, &keys[1], true).unwrap());
        wait_for_calls(&device, before + 3);
        device.release();
    });
    assert_eq!(engine.common_launches(), 1);
}

/// Cancels while a call sleeps because another one does not go on: before its turn comes, or before
/// the gate. Checks that it gives up.
#[test]
fn a_call_that_sleeps_gives_up_while_nobody_goes_on() {
    type P = CtruPrime653;
    let key = DecapsulationKey::<P>::generate_deterministic(&[1; 32], &[2; 32]);
    // The call that sleeps copies its ciphertext and its key, unless it sleeps before the gate.
    for (callers, copies) in [(2, 2), (1, 0)] {
        let device = FailingDevice::new();
        // The leader's third call is one of its work.
        let (engine, before) = holding(&device, 2, callers);
        thread::scope(|scope| {
            scope.spawn(|| call(&engine, &key, true).unwrap());
            wait_for_calls(&device, before + 3);
            let (ended, end) = mpsc::channel();
            scope.spawn({
                let (engine, key) = (&engine, &key);
                move || ended.send(call(engine, key, false)).unwrap()
            });
            wait_for_calls(&device, before + 3 + copies);
            // Now it falls asleep.
            thread::sleep(Duration::from_millis(100));
            // On a busy machine it may not have begun, so the cancellation is repeated.
            let result = (0..3000).find_map(|_| {
                engine.cancel();
                end.recv_timeout(Duration::from_millis(10)).ok()
            });
            device.release();
            assert_eq!(result, Some(Err(EngineError::Cancelled { done: vec![] })));
        });
        assert_eq!(engine.common_launches(), 1);
    }
}
