//! Addresses, connections, and the HTTP/2 that runs on them.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, Sleep};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::call::Calls;
use crate::identity::{Identity, Peer, Source};
use crate::room::Seats;
use crate::stage::Stages;
use crate::tls::TlsOptions;

/// How long a client may take for the TLS handshake, and then for the first bytes of HTTP/2.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The most TLS handshakes that are under way.
const HANDSHAKES: usize = 256;
/// How long a client may leave the connection's buffers full.
const STALL: Duration = Duration::from_secs(30);
/// The server asks a silent client whether it is there after this time.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// How long the client may take to answer that.
const KEEP_ALIVE_ANSWER: Duration = Duration::from_secs(10);
/// The longest head of a call in bytes.
const HEAD: u32 = 4 << 10;
/// The bytes that begin a connection of HTTP/2.
const PREFACE: usize = 24;

/// An address to listen on: `HOST:PORT`, or `unix:PATH` for a socket in the file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An address of TCP.
    Tcp(SocketAddr),
    /// A path.
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some("") => Err("there is no path after `unix:`".into()),
            Some(path) => Ok(Self::Unix(path.into())),
            None => text
                .parse()
                .map(Self::Tcp)
                .map_err(|_| "an address is IP:PORT, such as 127.0.0.1:50051, or unix:PATH".into()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Address {
    /// Returns whether other machines can reach the address.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self, Self::Tcp(address) if !address.ip().is_loopback())
    }
}

/// The certificates of a server, which can be replaced.
#[derive(Debug)]
pub(crate) struct Tls {
    pub(crate) options: TlsOptions,
    pub(crate) config: RwLock<Arc<ServerConfig>>,
}

/// What the connections of a server share.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    pub(crate) calls: Calls,
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) handshakes: Handshakes,
    /// The connections that may be open.
    pub(crate) seats: Seats,
    pub(crate) max_streams: u32,
    /// The number of the next connection.
    pub(crate) next: Arc<AtomicU64>,
    pub(crate) stages: Stages,
    /// Each connection has a clone, so that the receiver ends with the last of them.
    pub(crate) _open: mpsc::Sender<()>,
}

/// The TLS handshakes that are under way, the oldest first. They take no room from connections,
/// because a client that does not finish its handshake may be anybody.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handshakes(Arc<Mutex<VecDeque<oneshot::Sender<()>>>>);

impl Handshakes {
    /// Begins a handshake. If there are too many, the oldest one is given up: those of clients that
    /// mean it take much less time than others may. The receiver learns that its handshake is given
    /// up; dropping it ends the handshake.
    fn begin(&self) -> oneshot::Receiver<()> {
        let (sender, given_up) = oneshot::channel();
        let mut under_way = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.retain(|sender| !sender.is_closed());
        if under_way.len() >= HANDSHAKES {
            under_way.pop_front();
        }
        under_way.push_back(sender);
        given_up
    }
}

/// A socket that accepts connections.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(tokio::net::UnixListener, Socket),
}

/// The path of a socket, which is removed when the value is dropped.
#[derive(Debug)]
pub(crate) struct Socket(PathBuf);

impl Drop for Socket {
    fn drop(&mut self) {
        // There is nothing to do about a path that cannot be removed.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Listener {
    /// Listens on an address.
    ///
    /// # Errors
    /// If the system refuses the address.
    pub(crate) async fn bind(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => Ok(Self::Tcp(TcpListener::bind(address).await?)),
            #[cfg(unix)]
            Address::Unix(path) => {
                remove_dead(path).await?;
                let listener = tokio::net::UnixListener::bind(path)?;
                Ok(Self::Unix(listener, Socket(path.clone())))
            }
            #[cfg(not(unix))]
            Address::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Returns the address, with the port that the system has chosen.
    ///
    /// # Errors
    /// If the system does not say.
    pub(crate) fn address(&self) -> io::Result<Address> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(Address::Tcp),
            #[cfg(unix)]
            Self::Unix(_, Socket(path)) => Ok(Address::Unix(path.clone())),
        }
    }

    /// Accepts connections until the server is going down.
    pub(crate) async fn run(self, connections: Connections) {
        let mut stages = connections.stages.clone();
        let mut left = pin!(stages.left());
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut left => return,
                accepted = self.accept(&connections) => accepted,
            };
            if let Err(error) = accepted {
                // The process may have too many open files; some will be closed.
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// Accepts a connection, and serves it in a task of its own.
    async fn accept(&self, connections: &Connections) -> io::Result<()> {
        match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                // Without this, small answers are slower.
                let _ = stream.set_nodelay(true);
                connections.begin(stream, Source::at(address.ip()), connections.tls.clone());
            }
            #[cfg(unix)]
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept().await?;
                let user = stream.peer_cred().map(|credentials| credentials.uid());
                connections.begin(stream, user.map_or(Source::Unknown, Source::User), None);
            }
        }
        Ok(())
    }
}

/// Removes a socket on which nobody listens, which a killed server has left.
///
/// # Errors
/// If somebody listens, or if the path is not a socket.
#[cfg(unix)]
async fn remove_dead(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(found) if !found.file_type().is_socket() => Err(io::ErrorKind::AlreadyExists.into()),
        Ok(_) => match tokio::net::UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path)
            }
            _ => Err(io::ErrorKind::AddrInUse.into()),
        },
    }
}

impl Connections {
    /// Serves a connection in a task of its own.
    fn begin<I>(&self, io: I, source: Source, tls: Option<Arc<Tls>>)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let this = self.clone();
        tokio::spawn(async move {
            let number = this.next.fetch_add(1, Ordering::Relaxed);
            let peer = |identity| Peer::new(identity, number).with_source(source);
            match tls {
                None => this.serve(io, peer(None)).await,
                Some(tls) => match this.handshake(&tls, io).await {
                    Ok((io, identity)) => this.serve(io, peer(identity)).await,
                    Err(error) => {
                        this.calls.shared.metrics.failed_handshake();
                        tracing::info!(%error, "a TLS handshake failed");
                    }
                },
            }
        });
    }

    /// Does the TLS handshake. Returns the stream and the client's identity.
    ///
    /// # Errors
    /// If the client is refused, takes too long, or begins while the server is going down.
    async fn handshake<I: AsyncRead + AsyncWrite + Unpin>(
        &self,
        tls: &Tls,
        io: I,
    ) -> io::Result<(TlsStream<I>, Option<Identity>)> {
        let given_up = self.handshakes.begin();
        let mut stages = self.stages.clone();
        tokio::select! {
            accepted = tokio::time::timeout(HANDSHAKE, tls.accept(io)) => {
                accepted.unwrap_or_else(|_| Err(io::Error::other("it took too long")))
            }
            _ = given_up => Err(io::Error::other("too many others have begun since")),
            () = stages.left() => Err(io::Error::other("the server is going down")),
        }
    }

    /// Serves HTTP/2 until the client closes the connection or the server is going down. Closes the
    /// connection if there are too many, or too many of this client.
    async fn serve<I>(&self, io: I, peer: Peer)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let metrics = &self.calls.shared.metrics;
        let Some(_seat) = self.seats.take(peer.share) else {
            metrics.failed_handshake();
            return;
        };
        metrics.connection(1);
        let calls = self.calls.clone();
        let service = service_fn(move |request| calls.clone().handle(peer.clone(), request));
        let mut http = http2::Builder::new(TokioExecutor::new());
        http.timer(TokioTimer::new())
            .max_concurrent_streams(self.max_streams)
            .initial_stream_window_size(512 << 10)
            .initial_connection_window_size(1 << 20)
            .max_send_buf_size(256 << 10)
            .max_header_list_size(HEAD)
            .keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE_ANSWER);
        let mut connection = pin!(http.serve_connection(TokioIo::new(Watched::new(io)), service));
        let mut stages = self.stages.clone();
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = stages.left() => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    ended = connection => ended,
                    () = stages.cut_off() => Ok(()),
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection failed");
        }
        metrics.connection(-1);
    }
}

impl Tls {
    /// Does the handshake. Returns the stream and the client's identity.
    ///
    /// # Errors
    /// If the connection fails, or if the client is refused.
    async fn accept<I: AsyncRead + AsyncWrite + Unpin>(
        &self,
        io: I,
    ) -> io::Result<(TlsStream<I>, Option<Identity>)> {
        let config = Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner));
        let stream = TlsAcceptor::from(config).accept(io).await?;
        let identity = self.options.identity(stream.get_ref().1.peer_certificates())?;
        Ok((stream, identity))
    }
}

/// A stream that fails if the client sends nothing at the beginning, or reads nothing for long.
struct Watched<I> {
    io: I,
    /// The bytes that the preface lacks, and when they must be there.
    preface: Option<(usize, Pin<Box<Sleep>>)>,
    /// When the client must have read something.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<I> Watched<I> {
    fn new(io: I) -> Self {
        let limit = Box::pin(tokio::time::sleep(HANDSHAKE));
        Self { io, preface: Some((PREFACE, limit)), stalled: None }
    }

    /// Fails if an attempt to write has waited for too long.
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        result: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.stalled = None;
            return result;
        }
        let limit = || Box::pin(tokio::time::sleep_until(Instant::now() + STALL));
        match self.stalled.get_or_insert_with(limit).as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => result,
        }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Watched<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.io).poll_read(context, buffer);
        let read = buffer.filled().len() - before;
        if let Some((missing, limit)) = &mut self.preface {
            *missing = missing.saturating_sub(read);
            if *missing == 0 {
                self.preface = None;
            } else if result.is_pending() && limit.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        result
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Watched<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.io).poll_write(context, bytes);
        self.watch(context, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.io).poll_write_vectored(context, parts);
        self.watch(context, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.io).poll_flush(context);
        self.watch(context, result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for text in ["127.0.0.1:50051", "[::1]:0", "unix:/run/ctru/socket"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for wrong in ["", "localhost:1", "127.0.0.1", "unix:"] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
        let is_remote = |text: &str| text.parse::<Address>().unwrap().is_remote();
        assert!(is_remote("0.0.0.0:1") && is_remote("[::]:1") && is_remote("10.0.0.1:1"));
        assert!(!is_remote("127.0.0.9:1") && !is_remote("[::1]:1") && !is_remote("unix:a"));
    }

    #[test]
    fn the_oldest_of_too_many_handshakes_is_given_up() {
        let handshakes = Handshakes::default();
        let is_given_up = |receiver: &mut oneshot::Receiver<()>| {
            receiver.try_recv() == Err(oneshot::error::TryRecvError::Closed)
        };
        let mut begun: Vec<_> = (0..HANDSHAKES).map(|_| handshakes.begin()).collect();
        // One that has ended makes room.
        drop(begun.swap_remove(7));
        let _last = handshakes.begin();
        assert!(!begun.iter_mut().any(is_given_up));
        let _last = handshakes.begin();
        assert!(is_given_up(&mut begun[0]));
        assert!(!begun[1..].iter_mut().any(is_given_up));
    }
}
