use bytes::Bytes;
use ctru_kem::engine::CpuEngine;
use ctru_kem::{CtruPrime653, DecapsulationKey, MixedRadix, Parameters};

use tokio::sync::watch;

use super::*;
use crate::checked::Checked;
use crate::decapsulations::Decapsulations;
use crate::engine::{CallSizes, LaneEngine};
use crate::identity::{Identity, Peer};
use crate::job::{Claim, Kind};
use crate::loaded::{Loaded, Side};
use crate::metrics::Metrics;
use crate::proto::decapsulate_request;
use crate::proto::encapsulate_request::Key;
use crate::room::{Held, Memory};
use crate::sealing::Sealer;
use crate::sealing_keys::SealingKeys;

/// Returns a service with these options and a sealing key, which computes on the CPU.
fn start(options: ServiceOptions) -> Service {
    start_with(CallSizes::CPU, options)
}

/// Returns such a service without threads, so that jobs stay in its queues.
fn start_idle(options: ServiceOptions) -> Service {
    start_with(CallSizes { threads: 0, at_once: 0, ..CallSizes::CPU }, options)
}

fn start_with(calls: CallSizes, options: ServiceOptions) -> Service {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), SealingKeys::fresh_line().unwrap().as_bytes()).unwrap();
    let sealer = Sealer::new(SealingKeys::read(file.path()).unwrap(), None);
    let engine = CpuEngine::with_threads(1).unwrap();
    let engine = Arc::new(LaneEngine::new(engine, calls));
    let engines = LaneEngines {
        small: Arc::clone(&engine),
        large: engine,
        name: "cpu".into(),
        device_bytes: None,
    };
    let shared = Arc::new(Shared::new(sealer, Decapsulations::new(None), Metrics::new()));
    let stages = Stages::of(&watch::Sender::default());
    Service::start(options, engines, shared, stages).unwrap()
}

/// Returns a client, whose messages take at most a half of `bytes`.
fn caller(bytes: usize) -> Caller {
    called("a", bytes)
}

/// Returns a client with a name.
fn called(name: &str, bytes: usize) -> Caller {
    let peer = Peer::new(Some(Identity::dns(name)), 0);
    let held = Arc::new(Held::new(Memory::new(bytes), peer.share));
    Caller { peer, deadline: None, claim: Claim::default(), held }
}

fn scheme() -> Parameters {
    Parameters::ALL[0]
}

fn generate(count: u32) -> GenerateKeysRequest {
    GenerateKeysRequest { scheme: Some(scheme().into()), count, plain: false }
}

/// A call that is refused for lack of memory or a full queue leaves the client its quota.
#[tokio::test]
async fn refused_calls_spend_no_quota() {
    // As much as the largest message has.
    let max_message = 16 << 10;
    let most = Limits::of_all(max_message).iter().map(Limits::operations).max().unwrap();
    let Service(state) = start_idle(ServiceOptions {
        rate: Some(most as u64),
        max_message,
        max_queue: Some(36),
        max_batch: 10,
        ..ServiceOptions::default()
    });
    let key = DecapsulationKey::<CtruPrime653<MixedRadix>>::try_generate().unwrap();
    let key = Bytes::copy_from_slice(key.encapsulation_key().as_ref());
    let request = |count: usize| EncapsulateRequest {
        scheme: Some(scheme().into()),
        key: Some(Key::PublicKey(key.clone())),
        count: count as u32,
    };
    let (few, small, large) = (most - 5, caller(1 << 10), caller(1 << 30));
    for _ in 0..3 {
        let refused = state.encapsulate(&small, request(few)).err().unwrap();
        assert_eq!(refused, Fault::MemoryFull);
    }
    let other = called("b", 1 << 30);
    let prepared = state.encapsulate(&other, request(few)).unwrap();
    let mut waiting = Box::pin(state.compute(&other, prepared));
    assert!(tokio::time::timeout(Duration::ZERO, &mut waiting).await.is_err());
    for _ in 0..3 {
        let prepared = state.encapsulate(&large, request(few)).unwrap();
        let refused = state.compute(&large, prepared).await.unwrap_err();
        assert_eq!(refused, Fault::QueueFull);
    }
    assert!(state.shared.metrics.text().contains("ctru_queue_refusals_total 3\n"));
    assert!(state.encapsulate(&large, request(few)).is_ok());
    let refused = state.encapsulate(&large, request(few)).err().unwrap();
    assert_eq!(refused, Fault::QuotaSpent);
}

/// A call that is cancelled counts as memory and in the lane until its job leaves the queue.
#[tokio::test]
async fn cancelled_calls_count_while_they_are_queued() {
    // One client may have 11 operations in the lane.
    let options = ServiceOptions { max_queue: Some(22), max_batch: 10, ..Default::default() };
    let Service(state) = start_idle(options);
    let memory = Memory::new(1 << 30);
    for count in [1, 11] {
        let mut caller = caller(0);
        caller.held = Arc::new(Held::new(memory.clone(), caller.peer.share));
        let call = state.generate(&caller, generate(count));
        assert!(tokio::time::timeout(Duration::ZERO, call).await.is_err());
    }
    assert_eq!(memory.used(), 12 * Kind::Generate.answer_bytes(scheme()));
    assert_eq!((state.small.waiting(), state.large.waiting()), (1, 11));
    drop(state);
    assert_eq!(memory.used(), 0);
}

/// Calls that nobody waits for keep no room in the lane from later ones.
#[tokio::test]
async fn dead_jobs_keep_no_room() {
    // One client may have 11 operations in the lane.
    let options = ServiceOptions { max_queue: Some(22), max_batch: 10, ..Default::default() };
    let Service(state) = start_idle(options);
    let caller = caller(1 << 30);
    // Longer than the time from one search for dead jobs to the next.
    let pause = || tokio::time::sleep(Duration::from_millis(30));
    for _ in 0..3 {
        pause().await;
        // It waits for its answer, and is not refused.
        let call = state.generate(&caller, generate(11));
        assert!(tokio::time::timeout(Duration::ZERO, call).await.is_err());
    }
}

/// The thread that brings a few operations computes them, unless they are to wait for others.
#[test]
fn few_operations_are_computed_at_once() {
    let submit = |delay, count| {
        let Service(state) =
            start(ServiceOptions { max_queue_delay: delay, ..ServiceOptions::default() });
        let key = DecapsulationKey::<CtruPrime653<MixedRadix>>::try_generate().unwrap();
        let key = Key::PublicKey(Bytes::copy_from_slice(key.encapsulation_key().as_ref()));
        let scheme = Some(scheme().into());
        let request = EncapsulateRequest { scheme, key: Some(key), count };
        let mut prepared = state.encapsulate(&caller(1 << 30), request).unwrap();
        state.small.submit(prepared.job);
        prepared.answer.try_recv().map(|answer| answer.unwrap().shared_secrets.len())
    };
    let most = CallSizes::CPU.at_once;
    assert_eq!(submit(Duration::ZERO, most as u32), Ok(32 * most));
    let nothing_yet = Err(oneshot::error::TryRecvError::Empty);
    assert_eq!(submit(Duration::from_secs(3600), most as u32), nothing_yet);
}

/// A key for each decapsulation is decoded once, by the engine. This thread computes.
#[tokio::test]
async fn keys_are_decoded_once() {
    const COUNT: usize = CallSizes::CPU.at_once;
    let Service(state) =
        start(ServiceOptions { allow_plain_keys: true, ..ServiceOptions::default() });
    let key = DecapsulationKey::<CtruPrime653<MixedRadix>>::try_generate().unwrap();
    let (ciphertext, secret) = key.encapsulation_key().try_encapsulate().unwrap();
    let scheme = Some(scheme().into());
    let plain = Bytes::from(key.as_bytes().repeat(COUNT));
    let seal = SealKeysRequest { scheme, private_keys: plain.clone() };
    let sealed = state.seal(&caller(1 << 30), seal).await.unwrap().private_keys;
    assert_ne!(sealed.len(), plain.len());
    for keys in [plain, sealed] {
        let key = Some(decapsulate_request::Key::PrivateKeys(keys));
        let ciphertexts = ciphertext.as_bytes().repeat(COUNT).into();
        let request = DecapsulateRequest { scheme, key, ciphertexts };
        let caller = caller(1 << 30);
        let prepared = state.decapsulate(&caller, request).unwrap();
        let before = ctru_kem::decoded_keys();
        let answer = state.compute(&caller, prepared).await.unwrap();
        assert_eq!(ctru_kem::decoded_keys() - before, COUNT);
        assert_eq!(answer.shared_secrets, secret.as_bytes().repeat(COUNT));
    }
}

/// Some numbers of plain keys have as many bytes as other numbers of sealed keys.
#[tokio::test]
async fn plain_and_sealed_keys_of_one_length_are_told_apart() {
    let Service(state) = start(ServiceOptions::default());
    let plain = scheme().sizes().decapsulation_key;
    let sealed = plain + sealing::OVERHEAD;
    let caller = caller(1 << 30);
    let one = state.generate(&caller, generate(1)).await.unwrap().private_keys;
    assert_eq!(one.len(), sealed);
    let all = Bytes::from(one.repeat(plain));
    let forms = |plain, bytes: &Bytes| {
        Private { sealer: &state.shared.sealer, plain }.forms(scheme(), bytes)
    };
    assert_eq!(forms(true, &all), Ok((Form::Sealed, plain)));
    // Plain keys, of which the first begins like a sealed one.
    let mut mixed = vec![0; all.len()];
    mixed[..plain].copy_from_slice(&one[..plain]);
    let mixed = Bytes::from(mixed);
    assert_eq!(forms(true, &mixed), Ok((Form::Plain, sealed)));
    // A server that takes no plain keys says what is wrong with sealed ones.
    assert_eq!(forms(false, &mixed), Ok((Form::Sealed, plain)));
}

/// An error of loaded keys names the field that the client has sent.
#[test]
fn too_many_loaded_keys_are_named() {
    let limits = Limits::new(scheme(), 16 << 10);
    let count = 1000;
    let engine = Checked::new(CpuEngine::with_threads(1).unwrap());
    let keys = Side::Public(Arc::new(engine.load_public(scheme(), &[]).unwrap()));
    let loaded = Loaded { scheme: scheme(), count, hashes: None, birth: None, keys };
    let fault = |key: Key, count: usize| {
        let find = |_: &str| Ok(loaded.clone());
        match request::encapsulation(scheme(), limits, Some(key), count, find) {
            Err(Fault::Invalid { field, .. }) => field,
            _ => panic!("not refused"),
        }
    };
    let loaded_key = || Key::Loaded("name".into());
    assert_eq!(fault(loaded_key(), 0), "loaded");
    assert_eq!(fault(loaded_key(), count), "count");
    let size = scheme().sizes().encapsulation_key;
    assert_eq!(fault(Key::PublicKey(vec![0; size].into()), count), "count");
    assert_eq!(fault(Key::PublicKeys(vec![0; size * count].into()), 0), "public_keys");
    assert_eq!(fault(Key::PublicKeys(vec![0; size * count].into()), count), "public_keys");
}
