//! The end of a server, and the connections that must not hold it up.

use std::time::{Duration, Instant};

use bytes::Bytes;
use ctru_kem::{CtruPrime761, DecapsulationKey, MixedRadix};
use ctru_server::Address;
use ctru_server::client::{Client, Retries};
use ctru_server::proto::kem_client::KemClient;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::transport::Channel;

use crate::authority::Authority;
use crate::common::{
    Pair, Running, Slots, TestEngine, decapsulate, encapsulate, pair, start, start_fast, until,
};
use crate::lifetimes::{config, handshake};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// An empty frame of settings.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

/// Ends a server, which must have no call and so ends at once.
async fn ends_at_once(running: Running, what: &str) {
    let start = Instant::now();
    assert!(running.server.stop(Duration::ZERO, Duration::from_secs(30)).await, "{what}");
    assert!(start.elapsed() < Duration::from_secs(2), "{what}: {:?}", start.elapsed());
}

/// Sends some bytes, and ends a server.
async fn holds_up_nothing(mut io: impl AsyncWrite + Unpin, running: Running, sent: &[u8]) {
    io.write_all(sent).await.unwrap();
    io.flush().await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    ends_at_once(running, &format!("{} bytes", sent.len())).await;
}

/// Connections without a call do not hold up the end, whatever their clients have sent: nothing, a
/// part of a preface, a preface, and with it a part of a frame or settings.
#[tokio::test(flavor = "multi_thread")]
async fn connections_without_calls_hold_up_nothing() {
    let settings = [PREFACE, SETTINGS].concat();
    for length in [0, 12, 23, 24, 28, settings.len()] {
        let running = start_fast(|_| ()).await;
        holds_up_nothing(running.tcp().await, running, &settings[..length]).await;
    }
}

/// The same with TLS: before, within and after the handshake.
#[tokio::test(flavor = "multi_thread")]
async fn connections_with_tls_hold_up_nothing() {
    let authority = Authority::new();
    let provider = ctru_rustls::ring::standard_provider();
    let config = config(&authority, provider, &[&rustls::version::TLS13]);
    for hello in [&b""[..], &[22, 3, 1, 1, 0, 1]] {
        let running = start_fast(|options| options.tls = Some(authority.options())).await;
        holds_up_nothing(running.tcp().await, running, hello).await;
    }
    for length in [0, 12, 24] {
        let running = start_fast(|options| options.tls = Some(authority.options())).await;
        let stream = handshake(&running.server.addresses()[0].to_string(), &config).await.unwrap();
        holds_up_nothing(stream, running, &PREFACE[..length]).await;
    }
}

/// A client that has had an answer and is silent since, also for pings, holds up nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_stops_holds_up_nothing() {
    let running = start_fast(|_| ()).await;
    let mut stream = running.tcp().await;
    // `GET /` without a body, by the static table of HPACK: there is no such method.
    let request = [PREFACE, SETTINGS, &[0, 0, 3, 1, 5, 0, 0, 0, 1, 0x82, 0x86, 0x84]].concat();
    stream.write_all(&request).await.unwrap();
    // The last frame of the answer has the flag of the end.
    let mut received = Vec::new();
    while !received.windows(4).any(|bytes| bytes[0] == 1 && bytes[1] & 1 == 1) {
        let mut buffer = [0; 1024];
        let count = stream.read(&mut buffer).await.unwrap();
        assert_ne!(count, 0);
        received.extend_from_slice(&buffer[..count]);
    }
    ends_at_once(running, "a client that has stopped").await;
}

/// A call in progress is finished, and holds up the end no longer than it takes.
#[tokio::test(flavor = "multi_thread")]
async fn calls_in_progress_are_finished() {
    let running = start_fast(|_| ()).await;
    let mut client = running.calls().await;
    let pair = pair(&mut client).await;
    running.gate.close();
    let call = tokio::spawn(async move { client.encapsulate(encapsulate(&pair, 1)).await });
    until(20, async || running.gate.calls() == 1).await;
    let start = Instant::now();
    let stopped = tokio::spawn(running.server.stop(Duration::ZERO, Duration::from_secs(30)));
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!stopped.is_finished());
    running.gate.open();
    assert!(stopped.await.unwrap());
    assert!(start.elapsed() < Duration::from_secs(3));
    assert!(call.await.unwrap().is_ok());
}

fn is_kept(slots: &Slots) -> bool {
    slots.lock().unwrap().values().any(|kept| !kept.is_empty())
}

/// Starts a server, and decapsulates. Returns what the engine keeps of it.
async fn start_used() -> (Running, Slots, KemClient<Channel>, Pair) {
    let slots = Slots::default();
    let engine = TestEngine { slots: Some(slots.clone()), ..TestEngine::new(Duration::ZERO) };
    let running = start(engine, |_| ()).await;
    let mut client = running.calls().await;
    let pair = pair(&mut client).await;
    let sent = client.encapsulate(encapsulate(&pair, 1)).await.unwrap().into_inner();
    client.decapsulate(decapsulate(&pair, sent.ciphertexts)).await.unwrap();
    assert!(is_kept(&slots));
    (running, slots, client, pair)
}

/// While a call holds up the end, the engine is wiped as at other times.
#[tokio::test(flavor = "multi_thread")]
async fn engines_are_wiped_while_the_last_call_is_finished() {
    let (running, slots, _client, pair) = start_used().await;
    // This client does not read its answer.
    let mut slow = running.calls().await;
    let messages = tokio_stream::iter([encapsulate(&pair, 4000)]);
    let unread = slow.encapsulate_stream(messages).await.unwrap();
    let stopped = tokio::spawn(running.server.stop(Duration::ZERO, Duration::from_secs(60)));
    until(10, async || !is_kept(&slots)).await;
    assert!(!stopped.is_finished());
    drop((unread, slow));
    assert!(stopped.await.unwrap());
}

/// An engine that could not be wiped counts as used, and is wiped later.
#[tokio::test(flavor = "multi_thread")]
async fn a_wiping_that_fails_is_repeated() {
    let (running, slots, client, _) = start_used().await;
    tokio::task::block_in_place(|| {
        let _held = slots.lock().unwrap();
        std::thread::sleep(Duration::from_secs(3));
    });
    until(10, async || !is_kept(&slots)).await;
    drop(client);
    ends_at_once(running, "a wiping that has failed").await;
}

/// The engine is wiped at the end even if it still computes what was cut off.
#[tokio::test(flavor = "multi_thread")]
async fn engines_that_compute_are_wiped_at_the_end() {
    let slots = Slots::default();
    let engine = TestEngine { slots: Some(slots.clone()), ..TestEngine::new(Duration::ZERO) };
    let running = start(engine, |options| options.service.allow_plain_keys = true).await;
    let mut client = running.calls().await;
    // The client makes the keys, which takes the engine several calls.
    let key = DecapsulationKey::<CtruPrime761<MixedRadix>>::try_generate().unwrap();
    let public = key.encapsulation_key();
    let (ciphertext, _) = public.try_encapsulate().unwrap();
    let copy = |bytes: &[u8]| Bytes::copy_from_slice(bytes);
    let pair = Pair { public: copy(public.as_ref()), private: copy(key.as_ref()) };
    client.decapsulate(decapsulate(&pair, copy(ciphertext.as_ref()))).await.unwrap();
    running.gate.close();
    let call = tokio::spawn(async move { client.encapsulate(encapsulate(&pair, 1)).await });
    until(20, async || running.gate.calls() == 1).await;
    assert!(is_kept(&slots));
    assert!(!running.server.stop(Duration::ZERO, Duration::ZERO).await);
    assert!(!is_kept(&slots));
    assert!(call.await.unwrap().is_err());
    running.gate.open();
}

/// A connection to the address of metrics that asks for nothing holds up nothing.
#[tokio::test(flavor = "multi_thread")]
async fn silent_probes_hold_up_nothing() {
    let running = start_fast(|_| ()).await;
    let address = running.server.admin_address().unwrap();
    let mut streams = Vec::new();
    for sent in ["", "GET /livez HTTP/1.1\r\nHost"] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        streams.push(stream);
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    ends_at_once(running, "a probe").await;
}

/// Of the connections for metrics, only the newest stay, each answers once, and a head that does
/// not end is given up.
#[tokio::test(flavor = "multi_thread")]
async fn connections_for_metrics_are_limited() {
    let running = start_fast(|_| ()).await;
    let address = running.server.admin_address().unwrap();
    let mut silent = Vec::new();
    for _ in 0..80 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /livez HTTP/1.1\r\nHost: a").await.unwrap();
        silent.push(stream);
    }
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok\n"), "{answer}");
    assert!(answer.to_lowercase().contains("connection: close"), "{answer}");
    // The oldest has been closed at once, and the newest is closed in time.
    let start = Instant::now();
    for (limit, mut stream) in [(2, silent.remove(0)), (8, silent.pop().unwrap())] {
        let mut rest = Vec::new();
        let read = stream.read_to_end(&mut rest);
        let _ = tokio::time::timeout(Duration::from_secs(limit), read).await.unwrap();
    }
    assert!(start.elapsed() > Duration::from_secs(3));
}

/// A server removes the socket that it has made, and not that of a server which has replaced it.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn servers_remove_their_own_sockets() {
    let folder = tempfile::tempdir().unwrap();
    let (path, next) = (folder.path().join("socket"), folder.path().join("next"));
    let at = async |path: &std::path::Path| {
        let listen = vec![Address::Unix(path.into())];
        start_fast(|options| options.listen = listen).await.server
    };
    let (first, second) = (at(&path).await, at(&next).await);
    std::fs::rename(&next, &path).unwrap();
    assert!(first.stop(Duration::ZERO, Duration::from_secs(5)).await);
    assert!(path.exists());
    let client = Client::at(format!("unix:{}", path.display()), Retries::default()).unwrap();
    assert!(client.describe().await.is_ok());
    drop(client);
    assert!(second.stop(Duration::ZERO, Duration::from_secs(5)).await);
    // The second one's socket has another name now.
    assert!(path.exists());
    let third = at(&path).await;
    assert!(third.stop(Duration::ZERO, Duration::from_secs(5)).await);
    assert!(!path.exists());
}
