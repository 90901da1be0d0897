//! Calls that succeed, limits, and refusals.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ctru_kem::{Encoding, Parameters, Set};
use ctru_server::proto::{
    DecapsulateRequest, DescribeRequest, EncapsulateRequest, GenerateKeysRequest, SealKeysRequest,
    decapsulate_request, encapsulate_request,
};
use tokio_stream::StreamExt;
use tonic::{Code, Request};

use crate::common::{
    Pair, TestEngine, decapsulate, encapsulate, load_private, load_public, pair, scheme, start,
    start_fast, until,
};

/// Generates, encapsulates and decapsulates with every scheme, in both lanes and as streams.
#[tokio::test(flavor = "multi_thread")]
async fn secrets_agree() {
    let server = start_fast(|options| options.service.max_batch = 4).await;
    let mut calls = server.calls().await;
    for scheme in Parameters::ALL.iter().copied() {
        let scheme = Some(scheme.into());
        let request = GenerateKeysRequest { scheme, count: 6, plain: false };
        let keys = calls.generate_keys(request).await.unwrap().into_inner();
        let key = Some(encapsulate_request::Key::PublicKeys(keys.public_keys));
        let request = EncapsulateRequest { scheme, key, count: 0 };
        let sent = calls.encapsulate(request.clone()).await.unwrap().into_inner();
        let messages = tokio_stream::iter(vec![request; 5]);
        let stream = calls.encapsulate_stream(messages).await.unwrap().into_inner();
        let streamed: Vec<_> = stream.map(Result::unwrap).collect().await;
        assert_eq!(streamed.len(), 5);
        let back = |ciphertexts| {
            let key = decapsulate_request::Key::PrivateKeys(keys.private_keys.clone());
            DecapsulateRequest { scheme, key: Some(key), ciphertexts }
        };
        let request = back(sent.ciphertexts.clone());
        let received = calls.decapsulate(request).await.unwrap().into_inner();
        assert_eq!(received.shared_secrets, sent.shared_secrets);
        let requests: Vec<_> = streamed.iter().map(|s| back(s.ciphertexts.clone())).collect();
        let stream = calls.decapsulate_stream(tokio_stream::iter(requests)).await.unwrap();
        let received: Vec<_> = stream.into_inner().map(Result::unwrap).collect().await;
        let sent: Vec<_> = streamed.into_iter().map(|s| s.shared_secrets).collect();
        assert_eq!(received.into_iter().map(|r| r.shared_secrets).collect::<Vec<_>>(), sent);
    }
}

/// Calls that come at the same time share calls of the engine.
#[tokio::test(flavor = "multi_thread")]
async fn small_calls_are_joined() {
    let server = start_fast(|_| ()).await;
    let mut calls = server.calls().await;
    let pair = pair(&mut calls).await;
    server.gate.close();
    let many = (0..100).map(|_| {
        let (mut calls, request) = (calls.clone(), encapsulate(&pair, 2));
        tokio::spawn(async move { calls.encapsulate(request).await.unwrap().into_inner() })
    });
    let many: Vec<_> = many.collect();
    let queued = "ctru_queued_operations{lane=\"small\"}";
    until(20, async || server.metric(queued).await + server.gate.operations() == 200).await;
    server.gate.open();
    let mut secrets = HashSet::new();
    for answer in many {
        let answer = answer.await.unwrap();
        let back = decapsulate(&pair, answer.ciphertexts);
        assert_eq!(answer.shared_secrets.len(), 64);
        assert!(secrets.insert(answer.shared_secrets.clone()));
        if secrets.len() % 10 == 0 {
            let back = calls.decapsulate(back).await.unwrap().into_inner();
            assert_eq!(back.shared_secrets, answer.shared_secrets);
        }
    }
    // The first call, and those that have come while the engine computed it.
    let batches = server.metric("ctru_batch_size_count{operation=\"encapsulate\"}").await;
    assert!(batches <= 10, "{batches} calls of the engine");
    let metrics = server.get("/metrics").await;
    assert!(metrics.contains("ctru_operations_total{operation=\"encapsulate\"} 200"), "{metrics}");
}

/// A call that waits for others to join it holds up no other batch that is full.
#[tokio::test(flavor = "multi_thread")]
async fn full_batches_do_not_wait() {
    let pair = pair(&mut start_fast(|_| ()).await.calls().await).await;
    let server = start_fast(|options| {
        options.service.max_batch = 8;
        options.service.max_queue_delay = Duration::from_secs(600);
    })
    .await;
    let mut calls = server.calls().await;
    for count in [1, 2] {
        let mut calls = calls.clone();
        let request = GenerateKeysRequest { scheme: scheme(), count, plain: false };
        tokio::spawn(async move { calls.generate_keys(request).await });
    }
    let waiting = "ctru_queued_operations{lane=\"small\"}";
    until(20, async || server.metric(waiting).await == 3).await;
    let call = calls.encapsulate(encapsulate(&pair, 8));
    tokio::time::timeout(Duration::from_secs(20), call).await.unwrap().unwrap();
}

/// A call whose time runs out in the queue is not computed.
#[tokio::test(flavor = "multi_thread")]
async fn expired_calls_are_not_computed() {
    let engine = TestEngine::new(Duration::ZERO);
    let done = engine.done.clone();
    let server = start(engine, |_| ()).await;
    let mut calls = server.calls().await;
    let pair = pair(&mut calls).await;
    let before = done.load(Ordering::Relaxed);
    server.gate.close();
    let first = tokio::spawn({
        let (mut calls, request) = (calls.clone(), encapsulate(&pair, 1));
        async move { calls.encapsulate(request).await }
    });
    until(20, async || server.gate.calls() == 1).await;
    let mut raw = server.without_timeouts(1 << 16).await;
    let mut late = Request::new(encapsulate(&pair, 100));
    late.metadata_mut().insert("grpc-timeout", "50m".parse().unwrap());
    let status = raw.encapsulate(late).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let mut late = Request::new(tokio_stream::iter([encapsulate(&pair, 100)]));
    late.metadata_mut().insert("grpc-timeout", "1n".parse().unwrap());
    let mut answers = raw.encapsulate_stream(late).await.unwrap().into_inner();
    assert_eq!(answers.message().await.unwrap_err().code(), Code::DeadlineExceeded);
    server.gate.open();
    assert!(first.await.unwrap().is_ok());
    assert!(calls.encapsulate(encapsulate(&pair, 1)).await.is_ok());
    assert_eq!(done.load(Ordering::Relaxed) - before, 2);
}

/// A call that its client resets before the answer counts as cancelled.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_reset_are_counted() {
    let server = start_fast(|_| ()).await;
    let mut calls = server.calls().await;
    let request = encapsulate(&pair(&mut calls).await, 1);
    server.gate.close();
    let call = tokio::spawn(async move { calls.encapsulate(request).await });
    until(20, async || server.gate.calls() == 1).await;
    call.abort();
    let cancelled = "ctru_calls_total{method=\"Encapsulate\",code=\"CANCELLED\"}";
    until(20, async || server.metric(cancelled).await == 1).await;
    server.gate.open();
}

/// A call whose work begins before the deadline is answered after it: it has spent the limit of its
/// key, so the client must not believe that nothing was done.
#[tokio::test(flavor = "multi_thread")]
async fn work_that_has_begun_is_answered() {
    // Far longer than it takes until the work begins.
    let limit = Duration::from_secs(1);
    let server = start_fast(|options| {
        options.max_decapsulations_per_key = Some(2);
    })
    .await;
    let mut calls = server.calls().await;
    let pair = pair(&mut calls).await;
    let sent = calls.encapsulate(encapsulate(&pair, 1)).await.unwrap().into_inner();
    let request = decapsulate(&pair, sent.ciphertexts.clone());
    let mut raw = server.without_timeouts(1 << 16).await;
    let mut late = Request::new(request.clone());
    late.metadata_mut().insert("grpc-timeout", "1S".parse().unwrap());
    server.gate.close();
    let open_late = async || {
        until(20, async || server.gate.calls() == 1).await;
        tokio::time::sleep(limit).await;
        server.gate.open();
    };
    let (answer, ()) = tokio::join!(raw.decapsulate(late), open_late());
    let answer = answer.unwrap().into_inner();
    assert_eq!(answer.shared_secrets, sent.shared_secrets);
    // The second message of a stream waits while the first is computed, and is not computed.
    let (sender, messages) = tokio::sync::mpsc::channel(1);
    server.gate.close();
    sender.send(request.clone()).await.unwrap();
    let mut late = Request::new(tokio_stream::wrappers::ReceiverStream::new(messages));
    late.metadata_mut().insert("grpc-timeout", "1S".parse().unwrap());
    let mut answers = raw.decapsulate_stream(late).await.unwrap().into_inner();
    until(20, async || server.gate.calls() == 1).await;
    sender.send(request.clone()).await.unwrap();
    open_late().await;
    let answer = answers.message().await.unwrap().unwrap();
    assert_eq!(answer.shared_secrets, sent.shared_secrets);
    assert_eq!(answers.message().await.unwrap_err().code(), Code::DeadlineExceeded);
    let spent = calls.decapsulate(request).await.unwrap_err();
    assert_eq!(spent.code(), Code::ResourceExhausted);
}

/// A client cannot spend the limit of another's key by putting the other's public key into a
/// private key of its own.
#[tokio::test(flavor = "multi_thread")]
async fn public_keys_belong_to_private_keys() {
    let server = start_fast(|options| {
        options.max_decapsulations_per_key = Some(5);
        options.service.allow_plain_keys = true;
    })
    .await;
    let mut calls = server.calls().await;
    let request = GenerateKeysRequest { scheme: scheme(), count: 2, plain: true };
    let made = calls.generate_keys(request).await.unwrap().into_inner();
    let (public, private) = (made.public_keys.len() / 2, made.private_keys.len() / 2);
    let own = Pair {
        public: made.public_keys.slice(..public),
        private: made.private_keys.slice(..private),
    };
    let other = Pair {
        public: made.public_keys.slice(public..),
        private: made.private_keys.slice(private..),
    };
    let mut forged = own.private.to_vec();
    let place = forged.windows(public).position(|part| part == own.public).unwrap();
    forged[place..place + public].copy_from_slice(&other.public);
    let forged = Pair { private: forged.into(), ..other.clone() };
    let sent = calls.encapsulate(encapsulate(&other, 5)).await.unwrap().into_inner();
    let each = decapsulate_request::Key::PrivateKeys(forged.private.repeat(5).into());
    let one = decapsulate(&forged, sent.ciphertexts.clone());
    for request in [one.clone(), DecapsulateRequest { key: Some(each), ..one }] {
        let status = calls.decapsulate(request).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    }
    let load = load_private(&forged.private);
    assert_eq!(calls.load_keys(load).await.unwrap_err().code(), Code::InvalidArgument);
    let seal = SealKeysRequest { scheme: scheme(), private_keys: forged.private };
    assert_eq!(calls.seal_keys(seal).await.unwrap_err().code(), Code::InvalidArgument);
    let received = calls.decapsulate(decapsulate(&other, sent.ciphertexts)).await.unwrap();
    assert_eq!(received.into_inner().shared_secrets, sent.shared_secrets);
}

/// Keys are checked also if nothing is computed with them.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_keys_are_refused() {
    let server = start_fast(|options| options.service.allow_plain_keys = true).await;
    let mut calls = server.calls().await;
    let request = GenerateKeysRequest { scheme: scheme(), count: 1, plain: true };
    let made = calls.generate_keys(request).await.unwrap().into_inner();
    let zeros = |key: &[u8]| vec![0; key.len()].into();
    let wrong = Pair { public: zeros(&made.public_keys), private: zeros(&made.private_keys) };
    let right = Pair { public: made.public_keys, private: made.private_keys };
    let sent = calls.encapsulate(encapsulate(&right, 2)).await.unwrap().into_inner();
    for count in [0, 2] {
        let ciphertexts = sent.ciphertexts.slice(..count * sent.ciphertexts.len() / 2);
        for (pair, code) in [(&right, None), (&wrong, Some(Code::InvalidArgument))] {
            let answer = calls.encapsulate(encapsulate(pair, count as u32)).await;
            assert_eq!(answer.err().map(|status| status.code()), code);
            let answer = calls.decapsulate(decapsulate(pair, ciphertexts.clone())).await;
            assert_eq!(answer.err().map(|status| status.code()), code);
        }
    }
    // The engine has refused some of them.
    let metrics = server.get("/metrics").await;
    for (operation, done) in [("generate", 1), ("encapsulate", 4), ("decapsulate", 2)] {
        let line = format!("ctru_operations_total{{operation=\"{operation}\"}} {done}\n");
        assert!(metrics.contains(&line), "{metrics}");
    }
}

/// A private key of NTRU Prime with another secret of implicit rejection, which no check notices,
/// is counted as the same key.
#[tokio::test(flavor = "multi_thread")]
async fn keys_are_counted_by_their_public_keys() {
    let server = start_fast(|options| {
        options.max_decapsulations_per_key = Some(3);
        options.service.allow_plain_keys = true;
    })
    .await;
    let mut calls = server.calls().await;
    let sntrup761 = Parameters::new(Set::Sntrup761, Encoding::MixedRadix).unwrap();
    let scheme = Some(sntrup761.into());
    let request = GenerateKeysRequest { scheme, count: 1, plain: true };
    let made = calls.generate_keys(request).await.unwrap().into_inner();
    let place = made.private_keys.windows(32).position(|part| part == &made.public_keys[..32]);
    let rejection = place.unwrap() + made.public_keys.len();
    let mut other = made.private_keys.to_vec();
    other[rejection..][..32].rotate_left(1);
    let key = Some(encapsulate_request::Key::PublicKey(made.public_keys));
    let request = EncapsulateRequest { scheme, key, count: 2 };
    let sent = calls.encapsulate(request).await.unwrap().into_inner();
    let mut decapsulate = async |key| {
        let key = Some(decapsulate_request::Key::PrivateKey(key));
        let request = DecapsulateRequest { scheme, key, ciphertexts: sent.ciphertexts.clone() };
        calls.decapsulate(request).await.map(|answer| answer.into_inner().shared_secrets)
    };
    assert_eq!(decapsulate(made.private_keys).await.unwrap(), sent.shared_secrets);
    assert_eq!(decapsulate(other.into()).await.unwrap_err().code(), Code::ResourceExhausted);
}

/// Decapsulations are counted for each key, whether it is sealed or loaded.
#[tokio::test(flavor = "multi_thread")]
async fn keys_have_a_limit_of_decapsulations() {
    let server = start_fast(|options| options.max_decapsulations_per_key = Some(10)).await;
    let mut calls = server.calls().await;
    let (pair, other) = (pair(&mut calls).await, pair(&mut calls).await);
    let sent = calls.encapsulate(encapsulate(&pair, 4)).await.unwrap().into_inner();
    let request = decapsulate(&pair, sent.ciphertexts.clone());
    assert!(calls.decapsulate(request.clone()).await.is_ok());
    let name = calls.load_keys(load_private(&pair.private)).await.unwrap().into_inner().name;
    let key = Some(decapsulate_request::Key::Loaded(name));
    let loaded = DecapsulateRequest { key, ..request.clone() };
    assert!(calls.decapsulate(loaded.clone()).await.is_ok());
    for request in [request, loaded] {
        let status = calls.decapsulate(request).await.unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted);
    }
    let metrics = server.get("/metrics").await;
    assert!(metrics.contains("ctru_decapsulations_of_most_used_key 8"), "{metrics}");
    assert!(calls.decapsulate(decapsulate(&other, sent.ciphertexts)).await.is_ok());
}

/// Loaded keys expire, and are forgotten when the client says so.
#[tokio::test(flavor = "multi_thread")]
async fn loaded_keys_expire() {
    let server = start_fast(|options| options.service.max_loaded_keys_per_client = 2).await;
    let client = server.client();
    let pair = pair(&mut client.calls()).await;
    let load = load_public(&pair.public);
    let first = client.load_keys(load.clone()).await.unwrap().name;
    let request = |name: &str| EncapsulateRequest {
        scheme: scheme(),
        key: Some(encapsulate_request::Key::Loaded(name.into())),
        count: 3,
    };
    assert_eq!(client.encapsulate(request(&first)).await.unwrap().shared_secrets.len(), 96);
    let second = client.load_keys(load.clone()).await.unwrap().name;
    let full = client.calls().load_keys(load.clone()).await.unwrap_err();
    assert_eq!(full.code(), Code::ResourceExhausted);
    client.unload_keys(&first).await.unwrap();
    client.unload_keys(&first).await.unwrap();
    assert_eq!(client.encapsulate(request(&first)).await.unwrap_err().code(), Code::NotFound);
    assert!(client.encapsulate(request(&second)).await.is_ok());
    // These calls may take longer than keys live on another server.
    let hasty = start_fast(|options| {
        options.service.loaded_keys_idle = Duration::from_millis(300);
        options.service.max_loaded_keys_per_client = 1;
    })
    .await;
    let client = hasty.client();
    let name = client.load_keys(load.clone()).await.unwrap().name;
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(client.encapsulate(request(&name)).await.unwrap_err().code(), Code::NotFound);
    assert!(client.load_keys(load).await.is_ok());
}

/// Keys whose name does not reach the client take no room, and neither do keys that find none.
#[tokio::test(flavor = "multi_thread")]
async fn keys_of_cancelled_calls_are_forgotten() {
    let server = start_fast(|options| options.service.max_loaded_keys_per_client = 1).await;
    let mut calls = server.calls().await;
    let pair = pair(&mut calls).await;
    let load = load_public(&pair.public);
    // This client lets the server send the head of the answer, and goes.
    let mut deaf = server.without_timeouts(0).await;
    let cancelled = tokio::time::timeout(Duration::from_secs(2), deaf.load_keys(load.clone()));
    assert!(cancelled.await.is_err());
    until(5, async || server.metric("ctru_loaded_keys").await == 0).await;
    // Of two calls at the same time, the engine loads the keys of one.
    server.gate.close();
    let mut both = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let (mut calls, load) = (calls.clone(), load.clone());
        both.spawn(async move { calls.load_keys(load).await.map(drop) });
    }
    let refused = tokio::time::timeout(Duration::from_secs(20), both.join_next()).await.unwrap();
    assert_eq!(refused.unwrap().unwrap().unwrap_err().code(), Code::ResourceExhausted);
    until(20, async || server.gate.calls() == 1).await;
    server.gate.open();
    assert!(both.join_next().await.unwrap().unwrap().is_ok());
}

/// Clients have a quota, and a server without sealing keys says so.
#[tokio::test(flavor = "multi_thread")]
async fn quotas_and_preconditions() {
    let server = start_fast(|options| options.service.rate = Some(0)).await;
    let calls = &mut server.calls().await;
    let request = GenerateKeysRequest { scheme: scheme(), count: 1, plain: false };
    let status = calls.generate_keys(request).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
    let server = start_fast(|options| options.sealing_keys = None).await;
    let calls = &mut server.calls().await;
    let status = calls.generate_keys(request).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    // No set has this number.
    let other = Some(ctru_server::proto::Scheme { set: 10, encoding: 0 });
    let status = calls.generate_keys(GenerateKeysRequest { scheme: other, ..request }).await;
    assert_eq!(status.unwrap_err().code(), Code::InvalidArgument);
    let described = calls.describe(DescribeRequest {}).await.unwrap().into_inner();
    assert_eq!((described.schemes.len(), &*described.engine), (12, "test"));
    assert_eq!(described.schemes[2].max_encapsulations, 3621);
}
