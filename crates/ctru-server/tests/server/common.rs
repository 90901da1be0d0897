//! Servers, clients and engines of tests.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use ctru_kem::engine::{
    BatchEngine, CpuEngine, EngineError, KEY_PAIR_SEED_BYTES, KeyRows, LoadedKeys, PinnedBytes,
    Seeds,
};
use ctru_kem::{Parameters, SEED_BYTES, SHARED_SECRET_BYTES};
use ctru_server::client::{Client, Retries};
use ctru_server::proto::kem_client::KemClient;
use ctru_server::proto::{
    DecapsulateRequest, EncapsulateRequest, GenerateKeysRequest, LoadKeysRequest, Scheme,
    decapsulate_request, encapsulate_request, load_keys_request,
};
use ctru_server::{
    Address, CallSizes, LaneEngine, LaneEngines, SealingKeys, Server, ServerOptions,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tempfile::NamedTempFile;
use tokio::net::TcpStream;
use tonic::transport::{Channel, Endpoint};
use zeroize::Zeroize;

/// An engine that takes time, can wait, counts operations, and can fail.
#[derive(Clone, Debug)]
pub(crate) struct TestEngine {
    pub(crate) inner: CpuEngine,
    /// How long each call takes longer.
    pub(crate) delay: Duration,
    pub(crate) gate: Arc<Gate>,
    pub(crate) done: Arc<AtomicUsize>,
    pub(crate) is_lost: Arc<AtomicBool>,
    /// What each parameter set keeps of its batches until it is wiped, like the slots of a device.
    pub(crate) slots: Option<Slots>,
    pub(crate) broken: Option<Broken>,
    /// Whether the CPU computes all operations again, and those of other sets.
    pub(crate) is_compared: bool,
    /// The only parameters that it supports, if not all.
    pub(crate) supported: Option<Parameters>,
}

/// Calls of an engine wait here while it is closed. So a test goes on when they have begun, and
/// they end when the test likes, however slow the machine is.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<Waiting>,
    opened: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    is_closed: bool,
    calls: usize,
    operations: usize,
}

impl Gate {
    pub(crate) fn close(&self) {
        self.state.lock().unwrap().is_closed = true;
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().is_closed = false;
        self.opened.notify_all();
    }

    /// Returns how many calls of the engine wait.
    pub(crate) fn calls(&self) -> usize {
        self.state.lock().unwrap().calls
    }

    /// Returns how many operations the calls that wait have.
    pub(crate) fn operations(&self) -> usize {
        self.state.lock().unwrap().operations
    }

    /// Waits while it is closed, but lets a test end that has failed.
    fn pass(&self, operations: usize) {
        let mut state = self.state.lock().unwrap();
        state.calls += 1;
        state.operations += operations;
        let limit = Duration::from_secs(60);
        (state, _) = self.opened.wait_timeout_while(state, limit, |of| of.is_closed).unwrap();
        state.calls -= 1;
        state.operations -= operations;
    }
}

/// What an engine computes wrongly.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    Keys,
    Encapsulations,
    Decapsulations,
}

/// The private keys and secrets that an engine has read and computed, by parameter set.
pub(crate) type Slots = Arc<Mutex<HashMap<String, Vec<u8>>>>;

impl TestEngine {
    pub(crate) fn new(delay: Duration) -> Self {
        Self {
            inner: CpuEngine::with_threads(1).unwrap(),
            delay,
            gate: Arc::default(),
            done: Arc::default(),
            is_lost: Arc::default(),
            slots: None,
            broken: None,
            is_compared: false,
            supported: None,
        }
    }

    /// Changes a result, if the engine computes it wrongly.
    fn damage(&self, result: Broken, bytes: &mut [u8]) {
        if self.broken == Some(result) {
            bytes.reverse();
        }
    }

    /// Keeps keys or secrets, if there are slots.
    fn keep(&self, parameters: Parameters, values: &[u8]) {
        if let Some(slots) = &self.slots {
            let mut slots = slots.lock().unwrap();
            let name = parameters.to_string();
            let kept = slots.entry(name).or_insert_with(|| Vec::with_capacity(1 << 20));
            // A list that grows would leave copies behind that nobody can wipe.
            assert!(kept.len() + values.len() <= kept.capacity());
            kept.extend_from_slice(values);
        }
    }

    fn before(&self, count: usize) -> Result<(), EngineError> {
        std::thread::sleep(self.delay);
        self.gate.pass(count);
        if self.is_lost.load(Ordering::Relaxed) {
            return Err(EngineError::Threads("lost on purpose".into()));
        }
        self.done.fetch_add(count, Ordering::Relaxed);
        Ok(())
    }
}

impl BatchEngine for TestEngine {
    fn supports(&self, parameters: Parameters) -> bool {
        self.supported.is_none_or(|only| only == parameters)
    }

    fn generate_rows(
        &self,
        parameters: Parameters,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: Option<&mut [u8]>,
        decapsulation_keys: &mut [u8],
    ) -> Result<(), EngineError> {
        self.before(decapsulation_keys.len() / parameters.sizes().decapsulation_key)?;
        let public = encapsulation_keys.unwrap();
        self.inner.generate_rows(parameters, seeds, Some(public), decapsulation_keys)?;
        // Each key becomes that of another pair.
        if self.broken == Some(Broken::Keys) {
            public.rotate_left(parameters.sizes().encapsulation_key);
        }
        Ok(())
    }

    fn encapsulate_rows(
        &self,
        parameters: Parameters,
        keys: KeyRows<'_>,
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), EngineError> {
        self.before(shared_secrets.len() / SHARED_SECRET_BYTES)?;
        self.inner.encapsulate_rows(parameters, keys, seeds, ciphertexts, shared_secrets)?;
        self.damage(Broken::Encapsulations, shared_secrets);
        Ok(())
    }

    fn decapsulate_rows(
        &self,
        parameters: Parameters,
        keys: KeyRows<'_>,
        ciphertexts: &[u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), EngineError> {
        self.before(shared_secrets.len() / SHARED_SECRET_BYTES)?;
        if let KeyRows::Trusted(rows) | KeyRows::Unchecked(rows) = keys {
            self.keep(parameters, rows);
        }
        self.inner.decapsulate_rows(parameters, keys, ciphertexts, shared_secrets)?;
        self.keep(parameters, shared_secrets);
        self.damage(Broken::Decapsulations, shared_secrets);
        Ok(())
    }

    fn load_encapsulation_rows(
        &self,
        parameters: Parameters,
        keys: &[u8],
    ) -> Result<LoadedKeys, EngineError> {
        assert!(self.supports(parameters));
        self.before(0)?;
        self.inner.load_encapsulation_rows(parameters, keys)
    }

    fn load_decapsulation_rows(
        &self,
        parameters: Parameters,
        keys: &[u8],
    ) -> Result<LoadedKeys, EngineError> {
        assert!(self.supports(parameters));
        self.before(0)?;
        self.inner.load_decapsulation_rows(parameters, keys)
    }

    fn pin(&self, bytes: Vec<u8>) -> Result<PinnedBytes, EngineError> {
        self.inner.pin(bytes)
    }

    fn wipe(&self) -> Result<(), EngineError> {
        if let Some(slots) = &self.slots {
            // A test that holds the lock makes this fail.
            let mut slots = slots.try_lock().map_err(|_| EngineError::ForeignKeys)?;
            slots.values_mut().for_each(|kept| kept.zeroize());
        }
        Ok(())
    }
}

/// A server on a free port, with a sealing key.
pub(crate) struct Running {
    pub(crate) server: Server,
    pub(crate) address: String,
    pub(crate) sealing_keys: NamedTempFile,
    pub(crate) gate: Arc<Gate>,
}

/// Writes a file with a fresh sealing key.
pub(crate) fn sealing_keys() -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), SealingKeys::fresh_line().unwrap().as_bytes()).unwrap();
    file
}

/// Returns the engines of both lanes.
pub(crate) fn engines(engine: TestEngine) -> LaneEngines {
    let calls = CallSizes { at_once: 0, threads: 1, ..CallSizes::CPU };
    let small = Arc::new(match engine.is_compared {
        true => LaneEngine::beside_cpu(engine, calls, Some(NonZeroU64::MIN)).unwrap(),
        false => LaneEngine::new(engine, calls),
    });
    LaneEngines { large: Arc::clone(&small), small, name: "test".into(), device_bytes: None }
}

/// Starts a server with an engine, after `change` has changed the options.
pub(crate) async fn start(engine: TestEngine, change: impl FnOnce(&mut ServerOptions)) -> Running {
    let sealing_keys = sealing_keys();
    let mut options = ServerOptions {
        listen: vec![Address::Tcp(([127, 0, 0, 1], 0).into())],
        admin: Some(([127, 0, 0, 1], 0).into()),
        sealing_keys: Some(sealing_keys.path().into()),
        ..ServerOptions::default()
    };
    change(&mut options);
    let gate = Arc::clone(&engine.gate);
    let server = Server::start(options, engines(engine)).await.unwrap();
    let address = format!("http://{}", server.addresses()[0]);
    Running { server, address, sealing_keys, gate }
}

/// Starts a server with a fast engine and the default options.
pub(crate) async fn start_fast(change: impl FnOnce(&mut ServerOptions)) -> Running {
    start(TestEngine::new(Duration::ZERO), change).await
}

impl Running {
    /// Returns a connection over which nothing was sent.
    pub(crate) async fn tcp(&self) -> TcpStream {
        TcpStream::connect(self.server.addresses()[0].to_string()).await.unwrap()
    }

    pub(crate) async fn channel(&self) -> Channel {
        Endpoint::from_shared(self.address.clone()).unwrap().connect().await.unwrap()
    }

    pub(crate) async fn calls(&self) -> KemClient<Channel> {
        KemClient::new(self.channel().await)
    }

    /// Returns a client that leaves deadlines to the server, and receives answers of at most
    /// `window` bytes before it reads.
    pub(crate) async fn without_timeouts(
        &self,
        window: u32,
    ) -> KemClient<
        impl tonic::client::GrpcService<
            tonic::body::Body,
            Error = hyper::Error,
            ResponseBody = hyper::body::Incoming,
            Future: Send,
        >,
    > {
        let (io, executor) = (TokioIo::new(self.tcp().await), TokioExecutor::new());
        let (sender, connection) = hyper::client::conn::http2::Builder::new(executor)
            .initial_stream_window_size(window)
            .handshake(io)
            .await
            .unwrap();
        tokio::spawn(connection);
        let service = tower::service_fn(move |request| sender.clone().send_request(request));
        KemClient::with_origin(service, self.address.parse().unwrap())
    }

    pub(crate) fn client(&self) -> Client {
        Client::at(self.address.clone(), Retries::default()).unwrap()
    }

    /// Returns the value of a metric, which may have labels, or 0 if it is not there yet.
    pub(crate) async fn metric(&self, name: &str) -> usize {
        let metrics = self.get("/metrics").await;
        let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map_or(0, |value| value.parse().unwrap())
    }

    /// Returns the answer of the admin address to a GET request.
    pub(crate) async fn get(&self, path: &str) -> String {
        get(self.server.admin_address().unwrap(), path).await
    }
}

/// Waits until a condition holds, for at most some seconds.
pub(crate) async fn until(seconds: u64, mut holds: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !holds().await {
        assert!(start.elapsed() < Duration::from_secs(seconds), "waited for too long");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Returns the answer to a GET request.
pub(crate) async fn get(address: std::net::SocketAddr, path: &str) -> String {
    String::from_utf8(get_bytes(address, path).await).unwrap()
}

/// Returns the answer to a GET request, which may be no text.
pub(crate) async fn get_bytes(address: std::net::SocketAddr, path: &str) -> Vec<u8> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    answer
}

/// The parameter set of most tests.
pub(crate) fn scheme() -> Option<Scheme> {
    Some(Scheme { set: 2, encoding: 1 })
}

/// A sealed key pair.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) public: Bytes,
    pub(crate) private: Bytes,
}

/// Generates a key pair.
pub(crate) async fn pair(calls: &mut KemClient<Channel>) -> Pair {
    let request = GenerateKeysRequest { scheme: scheme(), count: 1, plain: false };
    let keys = calls.generate_keys(request).await.unwrap().into_inner();
    Pair { public: keys.public_keys, private: keys.private_keys }
}

/// Returns the request to load public keys.
pub(crate) fn load_public(keys: &Bytes) -> LoadKeysRequest {
    let keys = load_keys_request::Keys::PublicKeys(keys.clone());
    LoadKeysRequest { scheme: scheme(), keys: Some(keys) }
}

/// Returns the request to load private keys.
pub(crate) fn load_private(keys: &Bytes) -> LoadKeysRequest {
    let keys = load_keys_request::Keys::PrivateKeys(keys.clone());
    LoadKeysRequest { scheme: scheme(), keys: Some(keys) }
}

/// Returns the request for `count` encapsulations.
pub(crate) fn encapsulate(pair: &Pair, count: u32) -> EncapsulateRequest {
    let key = encapsulate_request::Key::PublicKey(pair.public.clone());
    EncapsulateRequest { scheme: scheme(), key: Some(key), count }
}

/// Returns the request to decapsulate ciphertexts.
pub(crate) fn decapsulate(pair: &Pair, ciphertexts: Bytes) -> DecapsulateRequest {
    let key = decapsulate_request::Key::PrivateKey(pair.private.clone());
    DecapsulateRequest { scheme: scheme(), key: Some(key), ciphertexts }
}
