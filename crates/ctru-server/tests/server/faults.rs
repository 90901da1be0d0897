//! Overload, slow and broken clients, and the loss of the device.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use ctru_kem::Parameters;
use ctru_server::ServerOptions;
use ctru_server::client::{Client, Retries, is_retryable};
use ctru_server::proto::kem_client::KemClient;
use ctru_server::proto::{
    DecapsulateRequest, DescribeRequest, EncapsulateRequest, GenerateKeysRequest, Scheme,
    decapsulate_request, encapsulate_request,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;

use crate::common::{
    Broken, TestEngine, decapsulate, encapsulate, get, load_private, load_public, pair, scheme,
    start, start_fast, until,
};

/// Puts ten times more load on a server than it can carry. It refuses what it cannot carry, treats
/// a polite client well, and recovers.
#[tokio::test(flavor = "multi_thread")]
async fn overload_is_refused() {
    let engine = TestEngine::new(Duration::from_millis(20));
    let server = start(engine, |options| {
        options.service.max_batch = 64;
        // The smallest queue for messages of this size.
        options.service.max_message = 64 << 10;
        options.service.max_queue = Some(160);
    })
    .await;
    let mut polite = server.calls().await;
    let pair = pair(&mut polite).await;
    let [done, full] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let end = Instant::now() + Duration::from_secs(3);
    let mut floods = Vec::new();
    for _ in 0..8 {
        let calls = server.calls().await;
        for _ in 0..64 {
            let (mut calls, request) = (calls.clone(), encapsulate(&pair, 8));
            let (done, full) = (Arc::clone(&done), Arc::clone(&full));
            floods.push(tokio::spawn(async move {
                while Instant::now() < end {
                    match calls.encapsulate(request.clone()).await {
                        Ok(_) => done.fetch_add(8, Ordering::Relaxed),
                        Err(status) => {
                            assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
                            assert!(is_retryable(&status));
                            tokio::time::sleep(Duration::from_millis(5)).await;
                            full.fetch_add(1, Ordering::Relaxed)
                        }
                    };
                }
            }));
        }
    }
    let mut slowest = Duration::ZERO;
    let mut polite_calls = 0;
    while Instant::now() < end {
        let start = Instant::now();
        if polite.encapsulate(encapsulate(&pair, 1)).await.is_ok() {
            polite_calls += 1;
            slowest = slowest.max(start.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for flood in floods {
        flood.await.unwrap();
    }
    let (done, full) = (done.load(Ordering::Relaxed), full.load(Ordering::Relaxed));
    // Many calls are refused, also where other tests leave the flood little processor time.
    assert!(done > 1000 && full > done / 32, "{done} operations, {full} refusals");
    // The floods have 512 operations in their turns, and the client has one of its own.
    let turns = done / 512;
    let limit = (8.0 * 3.0 / turns as f64).max(1.0);
    let is_served = polite_calls >= turns / 4 && slowest.as_secs_f64() < limit;
    assert!(is_served, "{polite_calls} calls, {turns} turns, {slowest:?}");
    let start = Instant::now();
    polite.encapsulate(encapsulate(&pair, 1)).await.unwrap();
    assert!(start.elapsed() < Duration::from_millis(500));
    let metrics = server.get("/metrics").await;
    assert!(metrics.contains("method=\"Encapsulate\",code=\"RESOURCE_EXHAUSTED\""), "{metrics}");
}

/// A client that does not read its answers holds its share of the memory, and others are served.
#[tokio::test(flavor = "multi_thread")]
async fn slow_readers_do_not_disturb_others() {
    let server = start_fast(|options| options.max_memory = 32 << 20).await;
    let mut calls = server.calls().await;
    let pair = pair(&mut calls).await;
    // This client opens streams and reads none of the answers, about 4 MB each.
    let mut slow = server.calls().await;
    let mut unread = Vec::new();
    for _ in 0..20 {
        let messages = tokio_stream::iter(vec![encapsulate(&pair, 4000); 10]);
        if let Ok(answers) = slow.encapsulate_stream(messages).await {
            unread.push(answers);
        }
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    for _ in 0..20 {
        let start = Instant::now();
        calls.encapsulate(encapsulate(&pair, 10)).await.unwrap();
        // The slow client does not read at all, so this holds also on a machine that is busy.
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    }
    let bytes = server.metric("ctru_message_bytes").await;
    assert!(0 < bytes && bytes <= 32 << 20, "{bytes}");
    drop((unread, slow));
    until(10, async || server.metric("ctru_message_bytes").await == 0).await;
}

/// Answers of a stream count as memory until the client has read them, also those that the engine
/// has computed long ago.
#[tokio::test(flavor = "multi_thread")]
async fn unread_answers_of_streams_are_counted() {
    const OPERATIONS: u32 = 1000;
    let server = start_fast(|_| ()).await;
    let pair = pair(&mut server.calls().await).await;
    // This client has room for one byte of each answer.
    let mut slow = server.without_timeouts(1).await;
    let messages = tokio_stream::iter(vec![encapsulate(&pair, OPERATIONS); 10]);
    let answers = slow.encapsulate_stream(messages).await.unwrap();
    let held = async || server.metric("ctru_message_bytes").await;
    // One answer is on its way, one is in the channel, one waits for the channel, and two are
    // computed ahead.
    until(10, async || held().await >= 5 * OPERATIONS as usize * (952 + 32)).await;
    drop((answers, slow));
    until(10, async || held().await == 0).await;
}

/// A stream of many messages is answered in order, and the server reads no faster than it
/// computes.
#[tokio::test(flavor = "multi_thread")]
async fn streams_are_read_as_fast_as_they_are_computed() {
    let engine = TestEngine::new(Duration::from_millis(10));
    let server = start(engine, |_| ()).await;
    let mut calls = server.calls().await;
    let pair = pair(&mut calls).await;
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let messages = std::iter::repeat_with(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        EncapsulateRequest {
            key: Some(encapsulate_request::Key::PublicKeys(pair.public.repeat(500).into())),
            ..encapsulate(&pair, 0)
        }
    });
    let messages = tokio_stream::iter(messages.take(200));
    let mut answers = calls.encapsulate_stream(messages).await.unwrap().into_inner();
    assert!(answers.message().await.unwrap().is_some());
    tokio::time::sleep(Duration::from_millis(500)).await;
    // What waits: in the service, in the windows of HTTP/2, and in the sockets.
    assert!(sent.load(Ordering::Relaxed) < 60, "{sent:?}");
    let mut count = 1;
    while let Some(answer) = answers.message().await.unwrap() {
        assert_eq!(answer.shared_secrets.len(), 500 * 32);
        count += 1;
    }
    assert_eq!(count, 200);
}

/// Connections that send nothing, half a preface or nonsense are closed, and others are served.
#[tokio::test(flavor = "multi_thread")]
async fn broken_connections_are_closed() {
    let server = start_fast(|_| ()).await;
    let (mut silent, mut half) = (server.tcp().await, server.tcp().await);
    half.write_all(b"PRI * HTTP/2.0").await.unwrap();
    for nonsense in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 100], &[255; 100_000]] {
        let mut stream = server.tcp().await;
        // The server may close the connection before it has read everything.
        let _ = stream.write_all(nonsense).await;
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let _ = tokio::time::timeout(Duration::from_secs(5), read).await.unwrap();
    }
    assert!(server.client().describe().await.is_ok());
    for stream in [&mut silent, &mut half] {
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let _ = tokio::time::timeout(Duration::from_secs(15), read).await.unwrap();
    }
}

/// Messages that are too large or no messages are refused, and the connection goes on.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_messages_are_refused() {
    let server = start_fast(|options| options.service.max_message = 64 << 10).await;
    let mut calls = server.calls().await;
    let pair = pair(&mut calls).await;
    let keys = encapsulate_request::Key::PublicKeys(pair.public.repeat(100).into());
    let request = EncapsulateRequest { key: Some(keys), ..encapsulate(&pair, 0) };
    let status = calls.encapsulate(request).await.unwrap_err();
    assert!(matches!(status.code(), Code::OutOfRange | Code::ResourceExhausted), "{status}");
    assert!(calls.encapsulate(encapsulate(&pair, 1)).await.is_ok());
    // A message of another service with the bytes of no message of ours.
    let mut raw = tonic::client::Grpc::new(server.channel().await);
    raw.ready().await.unwrap();
    let path = http::uri::PathAndQuery::from_static("/ctru.v1.Kem/Encapsulate");
    let codec = tonic_prost::ProstCodec::<HealthCheckRequest, ()>::default();
    let message = HealthCheckRequest { service: "\u{7f}".repeat(100) };
    let answer = raw.unary(tonic::Request::new(message), path, codec).await;
    assert!(answer.is_err());
    let mut raw = tonic::client::Grpc::new(server.channel().await);
    raw.ready().await.unwrap();
    let path = http::uri::PathAndQuery::from_static("/ctru.v1.Kem/None");
    let codec = tonic_prost::ProstCodec::<(), ()>::default();
    let status = raw.unary(tonic::Request::new(()), path, codec).await.unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented);
    assert!(calls.describe(DescribeRequest {}).await.is_ok());
}

/// When the device is lost in the middle, calls fail with a code that clients repeat elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_device_is_told() {
    let engine = TestEngine::new(Duration::from_millis(5));
    let is_lost = Arc::clone(&engine.is_lost);
    let server = start(engine, |_| ()).await;
    let mut calls = server.calls().await;
    let pair = pair(&mut calls).await;
    assert!(server.get("/livez").await.contains("200 OK"));
    let callers = (0..32).map(|_| {
        let (mut calls, request) = (calls.clone(), encapsulate(&pair, 1));
        tokio::spawn(async move {
            loop {
                if let Err(status) = calls.encapsulate(request.clone()).await {
                    return status.code();
                }
            }
        })
    });
    let callers: Vec<_> = callers.collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    is_lost.store(true, Ordering::Relaxed);
    for caller in callers {
        assert_eq!(caller.await.unwrap(), Code::Unavailable);
    }
    server.server.lost().await;
    let mut health = HealthClient::new(server.channel().await);
    let request = HealthCheckRequest { service: "ctru.v1.Kem".into() };
    let status = health.check(request).await.unwrap().into_inner().status();
    assert_eq!(status, ServingStatus::NotServing);
    assert!(server.get("/livez").await.contains("503"));
    assert!(server.get("/readyz").await.contains("503"));
}

/// An engine with a wrong result counts as lost. All generated pairs are tried, and if the CPU
/// computes again, so are other results, with keys in every form.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_results_are_not_given_away() {
    const COUNT: u32 = 3;
    let allow_plain = |options: &mut ServerOptions| options.service.allow_plain_keys = true;
    let generate = GenerateKeysRequest { scheme: scheme(), count: COUNT, plain: true };
    let server = start_fast(allow_plain).await;
    let mut right = server.calls().await;
    let made = right.generate_keys(generate).await.unwrap().into_inner();
    let (public, private) = (made.public_keys, made.private_keys);
    let key = Some(encapsulate_request::Key::PublicKeys(public.clone()));
    let request = EncapsulateRequest { scheme: scheme(), key, count: COUNT };
    let ciphertexts = right.encapsulate(request).await.unwrap().into_inner().ciphertexts;
    let first = |keys: &Bytes| keys.slice(..keys.len() / COUNT as usize);
    let wrong = [Broken::Keys, Broken::Encapsulations, Broken::Decapsulations].map(Some);
    for broken in [None].into_iter().chain(wrong) {
        for (is_compared, form) in (0..8).map(|case| (case >= 4, case % 4)) {
            let engine = TestEngine { broken, is_compared, ..TestEngine::new(Duration::ZERO) };
            let server = start(engine, allow_plain).await;
            let mut calls = server.calls().await;
            let mut load = async |keys| calls.load_keys(keys).await.unwrap().into_inner().name;
            let to = match form {
                0 => encapsulate_request::Key::PublicKey(first(&public)),
                1 => encapsulate_request::Key::PublicKeys(public.clone()),
                2 => encapsulate_request::Key::Loaded(load(load_public(&first(&public))).await),
                _ => encapsulate_request::Key::Loaded(load(load_public(&public)).await),
            };
            let from = match form {
                0 => decapsulate_request::Key::PrivateKey(first(&private)),
                1 => decapsulate_request::Key::PrivateKeys(private.clone()),
                2 => decapsulate_request::Key::Loaded(load(load_private(&first(&private))).await),
                _ => decapsulate_request::Key::Loaded(load(load_private(&private)).await),
            };
            let request = EncapsulateRequest { scheme: scheme(), key: Some(to), count: COUNT };
            let sent = calls.encapsulate(request).await.map(drop);
            let (key, ciphertexts) = (Some(from), ciphertexts.clone());
            let request = DecapsulateRequest { scheme: scheme(), key, ciphertexts };
            let received = calls.decapsulate(request).await.map(drop);
            let made = calls.generate_keys(generate).await.map(drop);
            let lost_from = match broken {
                Some(Broken::Encapsulations) if is_compared => 0,
                Some(Broken::Decapsulations) if is_compared => 1,
                Some(_) => 2,
                None => 3,
            };
            for (index, answer) in [sent, received, made].into_iter().enumerate() {
                let code = answer.map_or_else(|status| status.code(), |()| Code::Ok);
                let expected = if index < lost_from { Code::Ok } else { Code::Unavailable };
                assert_eq!(code, expected, "{broken:?}, {is_compared}, {form}: {index}");
            }
        }
    }
}

/// The CPU computes with the sets for which an engine has no kernels.
#[tokio::test(flavor = "multi_thread")]
async fn the_cpu_helps_out() {
    let supported = Some(Parameters::ALL[0]);
    let engine = TestEngine { supported, is_compared: true, ..TestEngine::new(Duration::ZERO) };
    let done = Arc::clone(&engine.done);
    let server = start(engine, |_| ()).await;
    let mut calls = server.calls().await;
    let pair = pair(&mut calls).await;
    let sent = calls.encapsulate(encapsulate(&pair, 2)).await.unwrap().into_inner();
    calls.load_keys(load_public(&pair.public)).await.unwrap();
    let name = calls.load_keys(load_private(&pair.private)).await.unwrap().into_inner().name;
    let key = Some(decapsulate_request::Key::Loaded(name));
    let request = DecapsulateRequest { key, ..decapsulate(&pair, sent.ciphertexts) };
    let received = calls.decapsulate(request).await.unwrap().into_inner();
    assert_eq!(received.shared_secrets, sent.shared_secrets);
    assert_eq!(done.load(Ordering::Relaxed), 0);
    let scheme = supported.map(Scheme::from);
    calls.generate_keys(GenerateKeysRequest { scheme, count: 1, plain: false }).await.unwrap();
    assert!(done.load(Ordering::Relaxed) > 0);
}

/// A client gives up an attempt to which there is no answer, and tries again.
#[tokio::test(flavor = "multi_thread")]
async fn clients_wait_for_a_limited_time() {
    let retries = Retries {
        attempts: 3,
        attempt_timeout: Some(Duration::from_millis(100)),
        ..Retries::default()
    };
    // Connections to this socket open, and nobody reads from them.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let start_time = Instant::now();
    let waited = Client::at(address, retries).unwrap().describe().await.unwrap_err();
    assert!(start_time.elapsed() < Duration::from_secs(5), "{:?}", start_time.elapsed());
    let codes = [Code::DeadlineExceeded, Code::Cancelled, Code::Unavailable];
    assert!(codes.contains(&waited.code()), "{waited}");
    // A server does not compute what the client has given up.
    let engine = TestEngine::new(Duration::ZERO);
    let done = Arc::clone(&engine.done);
    let server = start(engine, |_| ()).await;
    let pair = pair(&mut server.calls().await).await;
    let before = done.load(Ordering::Relaxed);
    server.gate.close();
    let (mut first, request) = (server.calls().await, encapsulate(&pair, 1));
    let first = tokio::spawn(async move { first.encapsulate(request).await });
    until(20, async || server.gate.calls() == 1).await;
    let one = Client::at(server.address.clone(), Retries { attempts: 1, ..retries }).unwrap();
    // On a busy machine, an attempt may end before it reaches the server.
    until(20, async || {
        assert!(one.encapsulate(encapsulate(&pair, 1)).await.is_err());
        server.metric("ctru_queued_operations{lane=\"small\"}").await > 0
    })
    .await;
    // The server learns of the end from the client, or from the deadline of the attempt.
    tokio::time::sleep(Duration::from_millis(500)).await;
    server.gate.open();
    first.await.unwrap().unwrap();
    server.calls().await.encapsulate(encapsulate(&pair, 1)).await.unwrap();
    assert_eq!(done.load(Ordering::Relaxed) - before, 2);
}

/// The loss of the device is told also while the server is going down.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_may_be_lost_while_the_server_goes_down() {
    let engine = TestEngine::new(Duration::ZERO);
    let is_lost = Arc::clone(&engine.is_lost);
    let server = start(engine, |_| ()).await;
    let mut calls = server.calls().await;
    let pair = pair(&mut calls).await;
    let lost = tokio::spawn(server.server.loss());
    let stopped = tokio::spawn(server.server.stop(Duration::from_secs(3600), Duration::ZERO));
    assert!(calls.encapsulate(encapsulate(&pair, 1)).await.is_ok());
    assert!(!lost.is_finished());
    is_lost.store(true, Ordering::Relaxed);
    assert!(calls.encapsulate(encapsulate(&pair, 1)).await.is_err());
    tokio::time::timeout(Duration::from_secs(5), lost).await.unwrap().unwrap();
    stopped.abort();
    // The end of a server is no loss.
    let server = start_fast(|_| ()).await;
    let lost = tokio::spawn(server.server.loss());
    assert!(server.server.stop(Duration::ZERO, Duration::ZERO).await);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!lost.is_finished());
}

/// Calls in progress are finished when the server goes down; streams end after their answers.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_down_finishes_its_calls() {
    let server = start_fast(|_| ()).await;
    let mut calls = server.calls().await;
    let pair = pair(&mut calls).await;
    server.gate.close();
    let begun: Vec<_> = (0..8)
        .map(|_| {
            let (mut calls, request) = (calls.clone(), encapsulate(&pair, 1));
            tokio::spawn(async move { calls.encapsulate(request).await })
        })
        .collect();
    let (sender, messages) = tokio::sync::mpsc::channel(4);
    sender.send(encapsulate(&pair, 3)).await.unwrap();
    let messages = tokio_stream::wrappers::ReceiverStream::new(messages);
    let mut stream = calls.encapsulate_stream(messages).await.unwrap().into_inner();
    let mut health = HealthClient::new(server.channel().await);
    let request = HealthCheckRequest { service: "ctru.v1.Kem".into() };
    let mut watched = health.watch(request).await.unwrap().into_inner();
    let status = watched.message().await.unwrap().unwrap().status();
    assert_eq!(status, ServingStatus::Serving);
    // The calls have an operation each, and the message has three.
    let queued = "ctru_queued_operations{lane=\"small\"}";
    until(20, async || server.metric(queued).await + server.gate.operations() == 8 + 3).await;
    let address = server.address.clone();
    let stopped = tokio::spawn(server.server.stop(Duration::ZERO, Duration::from_secs(20)));
    let status = watched.message().await.unwrap().unwrap().status();
    assert_eq!(status, ServingStatus::NotServing);
    until(20, async || KemClient::connect(address.clone()).await.is_err()).await;
    server.gate.open();
    for call in begun {
        call.await.unwrap().unwrap();
    }
    assert!(stream.message().await.unwrap().is_some());
    assert_eq!(stream.message().await.unwrap_err().code(), Code::Unavailable);
    assert!(stopped.await.unwrap());
}

/// A stream of reflection, which its client leaves open, does not hold up the server.
#[tokio::test(flavor = "multi_thread")]
async fn open_reflection_ends_with_the_server() {
    let server = start_fast(|_| ()).await;
    let mut reflection = ServerReflectionClient::new(server.channel().await);
    let (sender, messages) = tokio::sync::mpsc::channel(1);
    let list = MessageRequest::ListServices(String::new());
    let request = ServerReflectionRequest { message_request: Some(list), ..Default::default() };
    sender.send(request).await.unwrap();
    let messages = tokio_stream::wrappers::ReceiverStream::new(messages);
    let answers = reflection.server_reflection_info(messages).await.unwrap();
    let mut answers = answers.into_inner();
    assert!(answers.message().await.unwrap().is_some());
    let start = Instant::now();
    assert!(server.server.stop(Duration::ZERO, Duration::from_secs(20)).await);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(answers.message().await.unwrap().is_none());
    drop(sender);
}

/// A server that was stopped leaves nothing behind, even if a call was cut off: another one starts
/// at its addresses.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_takes_the_place_of_another() {
    let engine = TestEngine::new(Duration::ZERO);
    let (kept, gate) = (Arc::downgrade(&engine.done), Arc::clone(&engine.gate));
    let server = start(engine, |_| ()).await;
    let mut calls = server.calls().await;
    let pair = pair(&mut calls).await;
    gate.close();
    let call = tokio::spawn(async move { calls.encapsulate(encapsulate(&pair, 1)).await });
    until(20, async || gate.calls() == 1).await;
    let (listen, admin) = (server.server.addresses().to_vec(), server.server.admin_address());
    // This client of the metrics keeps its connection.
    let _idle = TcpStream::connect(admin.unwrap()).await.unwrap();
    let begin = Instant::now();
    let stopped = tokio::spawn(server.server.stop(Duration::ZERO, Duration::ZERO));
    assert!(call.await.unwrap().is_err());
    gate.open();
    assert!(!stopped.await.unwrap());
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    let next = start_fast(|options| {
        options.listen = listen;
        options.admin = admin;
    })
    .await;
    assert!(next.client().describe().await.is_ok());
    assert!(next.get("/readyz").await.contains("200 OK"));
    until(5, async || kept.strong_count() == 0).await;
}

/// From the beginning of the delay on, balancers and supervisors are told to send calls to another
/// server, and this one still takes those that come.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_will_go_down_is_alive_and_not_ready() {
    let server = start_fast(|_| ()).await;
    let (admin, address) = (server.server.admin_address().unwrap(), server.address.clone());
    assert!(get(admin, "/readyz").await.contains("200 OK"));
    let stopped = tokio::spawn(server.server.stop(Duration::from_secs(3600), Duration::ZERO));
    until(5, async || get(admin, "/readyz").await.contains("503")).await;
    assert!(get(admin, "/livez").await.contains("200 OK"));
    let mut calls = KemClient::connect(address).await.unwrap();
    assert!(calls.describe(DescribeRequest {}).await.is_ok());
    stopped.abort();
}
