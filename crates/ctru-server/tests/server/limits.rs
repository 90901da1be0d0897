//! What one client can make the server keep, and what it can take from others.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use ctru_server::proto::EncapsulateRequest;
use http_body::Frame;
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tonic::{Code, Request, Status};

use crate::common::{
    Running, TestEngine, decapsulate, encapsulate, pair, start, start_fast, until,
};

/// A body that begins and never ends.
struct Endless(Option<Bytes>);

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.0.take() {
            Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            None => Poll::Pending,
        }
    }
}

/// A connection of HTTP/2.
struct Raw {
    address: String,
    sender: SendRequest<Endless>,
}

impl Raw {
    async fn connect(server: &Running) -> Self {
        let (io, executor) = (TokioIo::new(server.tcp().await), TokioExecutor::new());
        let (sender, connection) =
            hyper::client::conn::http2::handshake(executor, io).await.unwrap();
        tokio::spawn(connection);
        Self { address: server.address.clone(), sender }
    }

    /// Begins a call whose head has `head` bytes more than others, and whose body never ends.
    fn begin(
        &self,
        method: &str,
        head: usize,
        body: &'static [u8],
    ) -> impl Future<Output = hyper::Result<http::Response<Incoming>>> + use<> {
        let request = http::Request::post(format!("{}/ctru.v1.Kem/{method}", self.address))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("x-filler", "x".repeat(head))
            .body(Endless(Some(Bytes::from_static(body))));
        self.sender.clone().send_request(request.unwrap())
    }
}

fn code(response: &http::Response<Incoming>) -> Option<Code> {
    Status::from_header_map(response.headers()).map(|status| status.code())
}

/// Returns the memory that the server counts.
async fn counted(server: &Running) -> usize {
    server.metric("ctru_message_bytes").await
}

/// Waits until the server counts as much memory.
async fn wait_until_counted(server: &Running, bytes: std::ops::RangeInclusive<usize>) {
    until(20, async || bytes.contains(&counted(server).await)).await;
}

/// Returns how many operations wait in the lane of streams.
async fn waiting(server: &Running) -> usize {
    server.metric("ctru_queued_operations{lane=\"large\"}").await
}

/// The beginning of a message of 100 bytes.
const BEGUN: &[u8] = &[0, 0, 0, 0, 100, 1, 2, 3];

/// Calls that do nothing but begin are counted, and end.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_never_arrive_are_counted_and_ended() {
    const CALLS: usize = 50;
    let limit = Duration::from_secs(3);
    let server = start_fast(|options| options.receive_timeout = limit).await;
    let raw = Raw::connect(&server).await;
    for method in ["Encapsulate", "EncapsulateStream"] {
        let calls: Vec<_> =
            (0..CALLS).map(|_| tokio::spawn(raw.begin(method, 3000, BEGUN))).collect();
        wait_until_counted(&server, CALLS * (8 * 1024 + 3000)..=CALLS * (8 * 1024 + 3500)).await;
        for call in calls {
            let response = tokio::time::timeout(10 * limit, call).await.unwrap().unwrap().unwrap();
            match method {
                "Encapsulate" => assert_eq!(code(&response), Some(Code::DeadlineExceeded)),
                // Streams answer before they read.
                _ => assert_eq!(response.status(), http::StatusCode::OK),
            }
        }
        wait_until_counted(&server, 0..=0).await;
    }
    // A stream without a message under way may wait.
    let mut stream = raw.begin("EncapsulateStream", 0, &[]).await.unwrap().into_body();
    let frame =
        std::future::poll_fn(|context| http_body::Body::poll_frame(Pin::new(&mut stream), context));
    assert!(tokio::time::timeout(2 * limit, frame).await.is_err());
}

/// A message of a stream is counted until it is computed, with fields that nobody knows.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_fields_are_counted_until_their_message_is_computed() {
    const MESSAGES: usize = 10;
    let server = start_fast(|_| ()).await;
    let mut calls = server.calls().await;
    let pair = pair(&mut calls).await;
    let answer = calls.encapsulate(encapsulate(&pair, 1)).await.unwrap().into_inner();
    let mut message = encapsulate(&pair, 1).encode_to_vec();
    // Field 15 has 1000 bytes.
    message.extend([0x7a, 0xe8, 0x07]);
    message.resize(message.len() + 1000, 0);
    let prefix = [&[0], &(message.len() as u32).to_be_bytes()[..]].concat();
    let body = [prefix, message].concat().repeat(MESSAGES).leak();
    let raw = Raw::connect(&server).await;
    let mut answers = raw.begin("EncapsulateStream", 0, body).await.unwrap().into_body();
    let mut rest = MESSAGES * answer.encoded_len();
    while rest > 0 {
        let frame = std::future::poll_fn(|context| {
            http_body::Body::poll_frame(Pin::new(&mut answers), context)
        });
        rest = rest.saturating_sub(frame.await.unwrap().unwrap().into_data().unwrap().len());
    }
    wait_until_counted(&server, 8 << 10..=9 << 10).await;
}

/// A stream of reflection holds the memory of its last message alone.
#[tokio::test(flavor = "multi_thread")]
async fn messages_of_reflection_are_counted_until_they_are_answered() {
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    let server = start_fast(|_| ()).await;
    let channel = server.channel().await;
    let mut reflection =
        tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient::new(channel);
    let symbol = MessageRequest::FileContainingSymbol("ctru.v1.Kem".into());
    let request = tonic_reflection::pb::v1::ServerReflectionRequest {
        host: "h".repeat(1000),
        message_request: Some(symbol),
    };
    let (sender, messages) = tokio::sync::mpsc::channel(1);
    let messages = tokio_stream::wrappers::ReceiverStream::new(messages);
    let answers = reflection.server_reflection_info(messages).await.unwrap();
    let mut answers = answers.into_inner();
    let (mut first, mut last) = (None, 0);
    for _ in 0..20 {
        sender.send(request.clone()).await.unwrap();
        assert!(answers.message().await.unwrap().is_some());
        last = counted(&server).await;
        first.get_or_insert(last);
    }
    assert!(last < first.unwrap() + 1000, "{first:?}, {last}");
}

/// A message of a stream that ends at its deadline is counted until its job leaves the queue.
#[tokio::test(flavor = "multi_thread")]
async fn late_messages_are_counted_while_they_are_queued() {
    let other = start_fast(|_| ()).await;
    let mut calls = other.calls().await;
    let pair = pair(&mut calls).await;
    let sent = calls.encapsulate(encapsulate(&pair, 100)).await.unwrap().into_inner();
    let server = start_fast(|_| ()).await;
    server.gate.close();
    let first = tokio_stream::iter([encapsulate(&pair, 1)]);
    let mut first = server.calls().await.encapsulate_stream(first).await.unwrap().into_inner();
    until(20, async || server.gate.calls() == 1).await;
    let bytes = sent.ciphertexts.len();
    let mut late = Request::new(tokio_stream::iter([decapsulate(&pair, sent.ciphertexts)]));
    late.metadata_mut().insert("grpc-timeout", "1S".parse().unwrap());
    let mut raw = server.without_timeouts(1 << 16).await;
    let mut late = raw.decapsulate_stream(late).await.unwrap().into_inner();
    assert_eq!(late.message().await.unwrap_err().code(), Code::DeadlineExceeded);
    assert!(counted(&server).await > bytes);
    server.gate.open();
    assert!(first.message().await.unwrap().is_some());
    assert!(first.message().await.unwrap().is_none());
    wait_until_counted(&server, 0..=0).await;
}

/// A message that is queued when its stream is cancelled costs the engine nothing.
#[tokio::test(flavor = "multi_thread")]
async fn cancelled_messages_are_not_computed() {
    let pair = pair(&mut start_fast(|_| ()).await.calls().await).await;
    let engine = TestEngine::new(Duration::ZERO);
    let done = Arc::clone(&engine.done);
    let server = start(engine, |_| ()).await;
    server.gate.close();
    let stream = async |count| {
        let messages = tokio_stream::iter([encapsulate(&pair, count)]);
        server.calls().await.encapsulate_stream(messages).await.unwrap().into_inner()
    };
    let mut first = stream(1).await;
    until(20, async || server.gate.calls() == 1).await;
    let cancelled = stream(100).await;
    until(20, async || waiting(&server).await == 100).await;
    drop(cancelled);
    let ended = "ctru_calls_total{method=\"EncapsulateStream\",code=\"CANCELLED\"}";
    until(20, async || server.metric(ended).await == 1).await;
    server.gate.open();
    assert!(first.message().await.unwrap().is_some());
    let before = done.load(Ordering::Relaxed);
    assert!(first.message().await.unwrap().is_none());
    wait_until_counted(&server, 0..=0).await;
    assert_eq!(done.load(Ordering::Relaxed), before);
}

/// What a client has cancelled takes no turns of what it asks for afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn cancelled_messages_take_no_turns() {
    let engine = TestEngine::new(Duration::from_millis(50));
    let done = Arc::clone(&engine.done);
    let server = start(engine, |_| ()).await;
    let mut calls = server.calls().await;
    let pair = pair(&mut calls).await;
    let mut cancelled = Vec::new();
    for _ in 0..100 {
        let messages = tokio_stream::iter([encapsulate(&pair, 1000)]);
        cancelled.push(calls.encapsulate_stream(messages).await.unwrap());
    }
    // Another client always has more in the queue than a batch.
    let other = server.calls().await;
    let mut streams = tokio::task::JoinSet::new();
    for _ in 0..32 {
        let (mut other, request) = (other.clone(), encapsulate(&pair, 100));
        streams.spawn(async move {
            let messages = tokio_stream::iter(std::iter::repeat(request));
            let mut answers = other.encapsulate_stream(messages).await.unwrap().into_inner();
            while answers.message().await.is_ok() {}
        });
    }
    until(20, async || waiting(&server).await > 50_000).await;
    drop(cancelled);
    let before = done.load(Ordering::Relaxed);
    let messages = tokio_stream::iter([encapsulate(&pair, 1)]);
    let mut answers = calls.encapsulate_stream(messages).await.unwrap().into_inner();
    assert!(answers.message().await.unwrap().is_some());
    let meanwhile = done.load(Ordering::Relaxed) - before;
    assert!(meanwhile < 10_000, "{meanwhile} operations of others");
}

/// Heads that are larger than any client of this service needs are refused.
#[tokio::test(flavor = "multi_thread")]
async fn large_heads_are_refused() {
    let server = start_fast(|_| ()).await;
    let raw = Raw::connect(&server).await;
    for head in [5 << 10, 15_000] {
        let response = raw.begin("Encapsulate", head, BEGUN).await;
        let is_refused = response.map_or(true, |response| {
            response.status() == http::StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
        });
        assert!(is_refused, "{head}");
    }
    assert!(!raw.sender.is_closed());
    // Of a far longer one, the end is not decoded, so no other call can follow.
    assert!(raw.begin("Encapsulate", 17_000, BEGUN).await.is_err());
    until(20, async || raw.sender.is_closed()).await;
    assert_eq!(counted(&server).await, 0);
    assert!(server.client().describe().await.is_ok());
}

/// Calls that find no memory for their heads are refused, and other clients are served. Answers of
/// all methods are counted.
#[tokio::test(flavor = "multi_thread")]
async fn calls_without_memory_are_refused() {
    let server = start_fast(|options| {
        options.service.max_message = 16 << 10;
        options.max_memory = 128 << 10;
    })
    .await;
    let raw = Raw::connect(&server).await;
    let calls: Vec<_> =
        (0..20).map(|_| tokio::spawn(raw.begin("Encapsulate", 3000, BEGUN))).collect();
    let refused = || calls.iter().filter(|call| call.is_finished()).count();
    until(10, async || refused() == 15).await;
    for call in calls.into_iter().filter(|call| call.is_finished()) {
        assert_eq!(code(&call.await.unwrap().unwrap()), Some(Code::ResourceExhausted));
    }
    assert!(server.client().describe().await.is_ok());
}

/// A client whose messages wait in streams does not shut the lane of large calls for others.
#[tokio::test(flavor = "multi_thread")]
async fn waiting_streams_leave_room_for_large_calls() {
    let engine = TestEngine::new(Duration::from_millis(20));
    let server = start(engine, |_| ()).await;
    let mut other = server.calls().await;
    let pair = pair(&mut other).await;
    let flood = server.calls().await;
    let mut streams = tokio::task::JoinSet::new();
    for _ in 0..256 {
        let (mut calls, request) = (flood.clone(), encapsulate(&pair, 500));
        streams.spawn(async move {
            let messages = tokio_stream::iter([request]);
            let mut answers = calls.encapsulate_stream(messages).await.unwrap().into_inner();
            assert!(answers.message().await.unwrap().is_some());
        });
    }
    // More than the calls of all clients may have.
    until(20, async || waiting(&server).await > 32_768).await;
    for _ in 0..3 {
        let large: EncapsulateRequest = encapsulate(&pair, 2000);
        let answer = other.encapsulate(large).await.unwrap().into_inner();
        assert_eq!(answer.shared_secrets.len(), 2000 * 32);
    }
    assert!(!streams.is_empty());
    while let Some(stream) = streams.join_next().await {
        stream.unwrap();
    }
}

/// The rate of a client without an identity holds from its first second on, and more connections
/// bring it no more.
#[tokio::test(flavor = "multi_thread")]
async fn more_connections_bring_no_more_operations() {
    let server = start_fast(|options| options.service.rate = Some(20)).await;
    // Before the first operation, from which on the server counts.
    let (start, mut done) = (Instant::now(), 0);
    let pair = pair(&mut server.calls().await).await;
    while start.elapsed() < Duration::from_millis(2500) {
        let mut calls = server.calls().await;
        for _ in 0..5 {
            match calls.encapsulate(encapsulate(&pair, 1)).await {
                Ok(_) => done += 1,
                Err(status) => assert_eq!(status.code(), Code::ResourceExhausted, "{status}"),
            }
        }
        // One of the operations has made the keys.
        let most = 20_f64.max(20.0 * start.elapsed().as_secs_f64() + 2.0) - 1.0;
        assert!(f64::from(done) <= most, "{done} operations in {:?}", start.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(done >= 25, "{done}");
}
