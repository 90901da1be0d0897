//! Connections: their handshake, the HTTP/2 that runs on them, and their end.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_rustls::server::TlsStream;

use crate::call::Calls;
use crate::identity::{Peer, Source};
use crate::lock;
use crate::room::Seats;
use crate::stage::{Stage, Stages};
use crate::tls::{Certified, Tls};
use crate::wire::Watched;

/// How long a client may take for the TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The largest number of TLS handshakes that are under way.
pub(crate) const HANDSHAKES: usize = 256;
/// The server asks a silent client whether it is there after this time.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// How long the client may take to answer that.
const KEEP_ALIVE_ANSWER: Duration = Duration::from_secs(10);
/// How long the calls of a connection may go on after its end, while the server goes on.
const GRACE: Duration = Duration::from_secs(10);
/// The longest age of a connection; longer limits count as this one.
const LONGEST: Duration = Duration::from_secs(1 << 32);
/// The number of refused clients that the log names in a minute.
const REFUSALS_PER_MINUTE: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);
/// The longest head of a call in bytes.
const HEAD: u32 = 4 << 10;

/// The state that the connections of a server share.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    pub(crate) calls: Calls,
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) handshakes: Newest,
    /// The connections that may be open.
    pub(crate) seats: Seats,
    pub(crate) max_streams: u32,
    /// The longest life of a connection.
    pub(crate) max_age: Duration,
    /// The number of the next connection.
    pub(crate) next: Arc<AtomicU64>,
    pub(crate) stages: Stages,
    pub(crate) refusals: Refusals,
    /// Each connection holds a clone, so the receiver ends when the last connection does.
    pub(crate) _open: mpsc::Sender<()>,
}

/// Tasks of which only the newest may go on, such as TLS handshakes. They do not count as
/// connections, because anybody can begin a handshake and not finish it.
#[derive(Clone, Debug)]
pub(crate) struct Newest {
    most: usize,
    /// One sender for each task, the oldest first.
    under_way: Arc<Mutex<VecDeque<oneshot::Sender<()>>>>,
}

impl Newest {
    /// Makes a list in which the `most` newest tasks may go on.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, under_way: Arc::default() }
    }

    /// Begins a task. If there are too many, gives up the oldest one, because honest clients finish
    /// long before that. The receiver learns that its task is given up. Dropping the receiver ends
    /// the task.
    pub(crate) fn begin(&self) -> oneshot::Receiver<()> {
        let (sender, given_up) = oneshot::channel();
        let mut under_way = lock(&self.under_way);
        under_way.retain(|sender| !sender.is_closed());
        if under_way.len() >= self.most {
            under_way.pop_front();
        }
        under_way.push_back(sender);
        given_up
    }
}

/// Writes refused clients to the log, so that strangers cannot fill it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusals(Arc<Mutex<Option<(Instant, usize)>>>);

impl Refusals {
    /// Returns whether there is room for a line at the time `now`.
    fn has_room(&self, now: Instant) -> bool {
        // When the minute began, and its lines.
        let mut minute = lock(&self.0);
        let (begin, lines) = minute
            .filter(|(begin, _)| now.saturating_duration_since(*begin) < MINUTE)
            .unwrap_or((now, 0));
        *minute = Some((begin, lines + 1));
        lines < REFUSALS_PER_MINUTE
    }

    /// Writes why a handshake has failed.
    fn tell(&self, error: &io::Error, client: &impl fmt::Display) {
        if matches!(error.kind(), io::ErrorKind::InvalidData) && self.has_room(Instant::now()) {
            tracing::info!(%error, %client, "a client was refused in the TLS handshake");
        } else {
            tracing::debug!(%error, %client, "a TLS handshake failed");
        }
    }
}

impl Connections {
    /// Serves the connection of a client at an address, in a task of its own.
    pub(crate) fn begin<I>(
        &self,
        io: I,
        source: Source,
        tls: Option<Arc<Tls>>,
        client: impl fmt::Display + Send + Sync + 'static,
    ) where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let this = self.clone();
        tokio::spawn(async move {
            let Some(tls) = tls else { return this.serve(io, source, None, &client).await };
            match this.handshake(&tls, io).await {
                Ok((io, certified)) => this.serve(io, source, certified, &client).await,
                Err(error) => {
                    this.calls.shared.metrics.failed_handshakes.inc();
                    this.refusals.tell(&error, &client);
                }
            }
        });
    }

    /// Does the TLS handshake. Returns the stream, and the client if it has a certificate.
    ///
    /// # Errors
    /// If the client is refused, takes too long, or begins while the server is going down.
    async fn handshake<I: AsyncRead + AsyncWrite + Unpin>(
        &self,
        tls: &Tls,
        io: I,
    ) -> io::Result<(TlsStream<I>, Option<Certified>)> {
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

    /// Serves HTTP/2 until the client closes the connection or it has to end. Closes the connection
    /// if there are too many, or too many of this client.
    async fn serve<I>(
        &self,
        io: I,
        source: Source,
        certified: Option<Certified>,
        client: &impl fmt::Display,
    ) where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let identity = certified.as_ref().map(|certified| certified.identity.clone());
        let stage = watch::Sender::new(Stage::Serving);
        let peer = Peer::new(identity, number).with_source(source);
        let metrics = &self.calls.shared.metrics;
        let Some(_seat) = self.seats.take(peer.share) else {
            metrics.failed_handshakes.inc();
            tracing::debug!(%client, "there is no room for a connection");
            return;
        };
        metrics.connections.inc();
        let calls = Calls { stages: Stages::of(&stage), ..self.calls.clone() };
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
        let (io, traffic) = Watched::new(io);
        let mut connection = pin!(http.serve_connection(TokioIo::new(io), service));
        let mut stages = self.stages.clone();
        let ended = tokio::select! {
            biased;
            ended = connection.as_mut() => ended,
            reason = self.end(certified) => {
                tracing::debug!(%client, reason, "a connection ends");
                stage.send_replace(Stage::Leaving);
                connection.as_mut().graceful_shutdown();
                let too_long = async {
                    tokio::time::sleep(GRACE).await;
                    // A server that goes down has a limit of its own.
                    if self.stages.is_leaving() {
                        std::future::pending::<()>().await;
                    }
                };
                tokio::select! {
                    biased;
                    ended = connection => ended,
                    () = traffic.quiet() => Ok(()),
                    () = stages.cut_off() => Ok(()),
                    () = too_long => Ok(()),
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, %client, "a connection failed");
        }
        metrics.connections.dec();
    }

    /// Waits until a connection must end, and returns why.
    async fn end(&self, certified: Option<Certified>) -> &'static str {
        // Clients that came together do not come back together. Without randomness, they do.
        let part = f64::from(getrandom::u32().unwrap_or(0)) / f64::from(u32::MAX);
        let age = self.max_age.min(LONGEST).mul_f64(1.0 - part / 10.0);
        let left = certified.as_ref().map_or(Duration::MAX, Certified::left);
        let refused = async {
            match certified {
                Some(certified) => certified.refused().await,
                None => std::future::pending().await,
            }
        };
        let mut stages = self.stages.clone();
        tokio::select! {
            () = stages.left() => "the server is going down",
            () = refused => "the client's certificate is valid no longer",
            () = tokio::time::sleep(left) => "the client's certificate has ended",
            () = tokio::time::sleep(age) => "it is as old as may be",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_too_many_handshakes_is_given_up() {
        let handshakes = Newest::new(HANDSHAKES);
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

    #[test]
    fn refused_clients_fill_no_log() {
        let (refusals, start) = (Refusals::default(), Instant::now());
        for minute in 0..3 {
            let begin = start + minute * MINUTE;
            let lines = (0..100).filter(|_| refusals.has_room(begin)).count();
            assert_eq!(lines, REFUSALS_PER_MINUTE);
        }
    }
}
