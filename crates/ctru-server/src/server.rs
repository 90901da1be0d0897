//! A running server: its parts, from the first address to the last call.

use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tonic::service::Routes;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use crate::admin::{self, Admin};
use crate::call::Calls;
use crate::connection::{Connections, HANDSHAKES, Newest, Refusals};
use crate::decapsulations::Decapsulations;
use crate::engine::CallSizes;
use crate::identity::Identity;
use crate::job::Shared;
use crate::listen::{Address, Listener};
use crate::metrics::Metrics;
use crate::options::{ServerOptions, ServiceOptions};
use crate::proto::DESCRIPTORS;
use crate::proto::kem_server::{self, KemServer};
use crate::room::{Memory, Seats};
use crate::sealing::Sealer;
use crate::sealing_keys::{SealingKeyError, SealingKeys};
use crate::service::{LaneEngines, Limits, Service};
use crate::stage::{Stage, Stages};
use crate::tls::{Tls, TlsError};

/// The names for which clients ask for the health: the server, and the service.
const HEALTH_NAMES: [&str; 2] = ["", kem_server::SERVICE_NAME];

/// The smallest limit of messages in bytes. Keys of each scheme fit into it.
const LEAST_MESSAGE: usize = 16 << 10;
/// The largest limit of messages in bytes.
const MOST_MESSAGE: usize = 1 << 30;
/// The largest limit of operations that wait.
const MOST_WAITING: usize = 1 << 24;
/// The largest limit of connections.
const MOST_CONNECTIONS: usize = 1 << 20;
/// The largest limit of calls of a connection.
const MOST_CALLS: usize = u32::MAX as usize;
/// The largest number of threads of a lane.
const MOST_THREADS: usize = 1 << 10;

/// Room for open files beside addresses and connections: standard streams, queues of events, pipes
/// of signals, files that are read again, the collector of spans, and devices.
const OTHER_FILES: usize = 64;

/// How long each part of a server may take to end after the last call.
const ENDING: Duration = Duration::from_secs(1);

/// The reason why a server does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// Other machines could connect without TLS.
    #[error(
        "{0} can be reached from other machines, but there is no TLS: give --tls-cert and \
         --tls-key, or allow it with --insecure"
    )]
    Insecure(Address),
    /// Other machines could read metrics and probes.
    #[error(
        "{0} can be reached from other machines, and metrics and probes have no access control: \
         allow it with --insecure-admin"
    )]
    InsecureAdmin(SocketAddr),
    /// The process may not open enough files.
    #[error(
        "the process may open {limit} files (`ulimit -n`, LimitNOFILE), and --max-connections \
         needs {needed}"
    )]
    Files {
        /// The limit of the process, which it cannot raise itself.
        limit: u64,
        /// The number of files that the server needs with all its connections.
        needed: u64,
    },
    /// A client with a rate of its own cannot have this name.
    #[error("`{0}` is no name of a client: it is dns:NAME or uri:NAME without wildcards")]
    ClientName(String),
    /// A client has two rates of its own.
    #[error("the client {0} has several rates")]
    ClientTwice(String),
    /// Clients would need no certificate.
    #[error(
        "TLS without certificates of clients lets everybody in: give --client-ca, or allow it with \
         --no-client-auth"
    )]
    NoClientAuth,
    /// A limit is too small for one message, or larger than the server can count.
    #[error("{option} must be from {least} to {most}")]
    Limit {
        /// The option of the program, or what it is if there is none.
        option: &'static str,
        /// The smallest value.
        least: usize,
        /// The largest value.
        most: usize,
    },
    /// The system refuses an address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// The reason.
        source: io::Error,
    },
    /// The sealing keys cannot be read.
    #[error("sealing keys: {}: {source}", path.display())]
    Sealing {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        source: SealingKeyError,
    },
    /// TLS cannot be set up.
    #[error("TLS: {0}")]
    Tls(#[from] TlsError),
    /// The system does not start threads or provides no randomness.
    #[error("{0}")]
    System(#[from] io::Error),
    /// The description of the service for reflection is refused.
    #[error("reflection: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    options: ServerOptions,
    addresses: Vec<Address>,
    listeners: Vec<JoinHandle<()>>,
    admin: Option<AdminTask>,
    service: Service,
    /// The task that forgets keys and wipes engines in time. Dropping it ends the task.
    tidy: JoinSet<()>,
    shared: Arc<Shared>,
    tls: Option<Arc<Tls>>,
    /// Held while files are read again, so that an earlier reading does not replace a later one.
    reading_certificates: Mutex<()>,
    /// In the same way.
    reading_sealing_keys: Mutex<()>,
    health: HealthReporter,
    stage: watch::Sender<Stage>,
    closed: mpsc::Receiver<()>,
}

/// The task that answers at the address of metrics and probes.
#[derive(Debug)]
struct AdminTask {
    address: SocketAddr,
    /// Dropping it ends the task.
    over: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl ServerOptions {
    /// Reads the sealing keys, if there is a file of them.
    ///
    /// # Errors
    /// [`StartError::Sealing`] if the file is refused.
    async fn read_sealing_keys(&self) -> Result<SealingKeys, StartError> {
        let Some(path) = self.sealing_keys.clone() else { return Ok(SealingKeys::default()) };
        let keys = SealingKeys::wait_for(path.clone()).await;
        keys.map_err(|source| StartError::Sealing { path, source })
    }

    /// Checks that the options are safe and fit together.
    ///
    /// # Errors
    /// [`StartError`] that says which option is missing or too small.
    fn check(&self, calls: CallSizes) -> Result<(), StartError> {
        match &self.tls {
            None if !self.insecure => {
                if let Some(address) = self.listen.iter().find(|address| address.is_remote()) {
                    return Err(StartError::Insecure(address.clone()));
                }
            }
            Some(tls) if tls.clients.is_none() && !self.no_client_auth => {
                return Err(StartError::NoClientAuth);
            }
            _ => {}
        }
        if let Some(admin) = self.admin.filter(|admin| !admin.ip().is_loopback())
            && !self.insecure_admin
        {
            return Err(StartError::InsecureAdmin(admin));
        }
        let ServiceOptions { max_message, max_batch, .. } = self.service;
        let (max_stream_batch, max_queue) =
            (self.service.max_stream_batch(calls), self.service.max_queue(calls));
        let largest = Limits::of_all(max_message).iter().map(Limits::operations).max().unwrap_or(0);
        let limits = [
            ("--max-message", max_message, LEAST_MESSAGE, MOST_MESSAGE),
            ("--max-batch", max_batch, 1, usize::MAX),
            ("--max-stream-batch", max_stream_batch, 1, usize::MAX),
            // One client may fill a half of the queue.
            ("--max-queue", max_queue, 2 * largest, MOST_WAITING),
            ("--max-memory", self.max_memory, max_message.saturating_mul(8), usize::MAX),
            ("--max-connections", self.max_connections, 1, MOST_CONNECTIONS),
            // With none, each call would wait forever.
            ("--max-calls-per-connection", self.max_calls_per_connection as usize, 1, MOST_CALLS),
            ("the threads of a lane", calls.threads, 1, MOST_THREADS),
        ];
        for (option, value, least, most) in limits {
            if !(least..=most).contains(&value) {
                return Err(StartError::Limit { option, least, most });
            }
        }
        allow_files(self.max_connections + self.listen.len())
    }
}

/// Raises the limit of open files to what the server needs: for connections and the addresses that
/// take them, for handshakes, for metrics and probes, and for itself.
///
/// # Errors
/// [`StartError::Files`] if the system's limit is too low.
#[cfg(unix)]
fn allow_files(sockets: usize) -> Result<(), StartError> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let needed = (sockets + HANDSHAKES + admin::CONNECTIONS + OTHER_FILES) as u64;
    // A process that may not ask learns of the limit when it reaches it.
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Ok(()) };
    let refused = |limit| StartError::Files { limit, needed };
    if hard < needed {
        return Err(refused(hard));
    }
    if soft < needed {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard).map_err(|_| refused(soft))?;
    }
    Ok(())
}

/// Does nothing: there is no such limit.
#[cfg(not(unix))]
fn allow_files(_: usize) -> Result<(), StartError> {
    Ok(())
}

impl Server {
    /// Starts a server. It accepts calls when this function returns.
    ///
    /// # Errors
    /// [`StartError`] says what is wrong.
    pub async fn start(
        mut options: ServerOptions,
        engines: LaneEngines,
    ) -> Result<Self, StartError> {
        for lane in [&engines.small, &engines.large] {
            options.check(lane.calls())?;
        }
        let mut named = HashSet::new();
        for (name, _) in &mut options.service.client_rates {
            let identity = Identity::read(name);
            let identity = identity.ok_or_else(|| StartError::ClientName(name.clone()))?;
            *name = identity.as_str().into();
            if !named.insert(identity) {
                return Err(StartError::ClientTwice(name.clone()));
            }
        }
        let sealing_keys = options.read_sealing_keys().await?;
        let tls = match options.tls.clone() {
            Some(tls) => Some(Arc::new(Tls::new(tls).await?)),
            None => None,
        };
        let decapsulations = Decapsulations::new(options.max_decapsulations_per_key);
        let sealer = Sealer::new(sealing_keys, options.max_key_age);
        let shared = Arc::new(Shared::new(sealer, decapsulations, Metrics::new()));
        let stage = watch::Sender::<Stage>::default();
        let stages = Stages::of(&stage);
        let device_bytes = engines.device_bytes.clone();
        let service =
            Service::start(options.service.clone(), engines, Arc::clone(&shared), stages.clone())?;

        let (health, health_service) = tonic_health::server::health_reporter();
        health.set_serving::<KemServer<Service>>().await;
        let reflection = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(DESCRIPTORS)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let kem = KemServer::new(service.clone())
            .max_decoding_message_size(options.service.max_message)
            .max_encoding_message_size(options.service.max_message);
        let routes = Routes::new(kem)
            .add_service(health_service)
            .add_service(reflection().build_v1()?)
            .add_service(reflection().build_v1alpha()?)
            .prepare();

        let memory = Memory::new(options.max_memory);
        let mut first = [0; 8];
        getrandom::fill(&mut first).map_err(io::Error::from)?;
        let (open, closed) = mpsc::channel(1);
        let connections = Connections {
            calls: Calls {
                routes,
                shared: Arc::clone(&shared),
                memory: memory.clone(),
                next: Arc::new(AtomicU64::new(u64::from_le_bytes(first))),
                receive_timeout: options.receive_timeout,
                stages: stages.clone(),
            },
            tls: tls.clone(),
            handshakes: Newest::new(HANDSHAKES),
            seats: Seats::new(options.max_connections),
            max_streams: options.max_calls_per_connection,
            max_age: options.max_connection_age,
            next: Arc::new(AtomicU64::new(0)),
            stages: stages.clone(),
            refusals: Refusals::default(),
            _open: open,
        };
        let admin = Admin { service: service.clone(), shared: Arc::clone(&shared), memory, stages };
        let refused = |address: String| move |source| StartError::Listen { address, source };
        let mut listeners = Vec::new();
        for address in &options.listen {
            let listener = Listener::bind(address).await;
            listeners.push(listener.map_err(refused(address.to_string()))?);
        }
        let mut admin_task = None;
        if let Some(address) = options.admin {
            let listener =
                TcpListener::bind(address).await.map_err(refused(address.to_string()))?;
            let address = listener.local_addr()?;
            let (over, is_over) = oneshot::channel();
            let is_over = async {
                // Nothing is sent.
                let _ = is_over.await;
            };
            let task = tokio::spawn(admin.clone().run(listener, is_over));
            admin_task = Some(AdminTask { address, over, task });
        }
        let addresses = listeners.iter().map(Listener::address).collect::<io::Result<_>>()?;
        let run = |listener: Listener| tokio::spawn(listener.run(connections.clone()));
        let listeners = listeners.into_iter().map(run).collect();
        // From now on, only listeners and connections keep the channel open.
        drop(connections);
        let metrics = Arc::clone(&shared);
        let mut tidy = JoinSet::new();
        // It goes on while the last calls are finished, which may take long.
        tidy.spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                admin.refresh();
                let (service, bytes) = (admin.service.clone(), device_bytes.clone());
                // The driver may wait for the device.
                let bytes = tokio::task::spawn_blocking(move || {
                    service.wipe(false);
                    bytes.and_then(|bytes| bytes())
                });
                if let Ok(Some(bytes)) = bytes.await {
                    metrics.metrics.device_bytes.set(bytes as f64);
                }
            }
        });
        Ok(Self {
            options,
            addresses,
            listeners,
            admin: admin_task,
            service,
            tidy,
            shared,
            tls,
            reading_certificates: Mutex::default(),
            reading_sealing_keys: Mutex::default(),
            health,
            stage,
            closed,
        })
    }

    /// Returns the addresses, with the ports that the system has chosen.
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Returns the address of metrics and probes.
    #[must_use]
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(|admin| admin.address)
    }

    /// Reads the certificates and the lists of revoked ones again. The connections of clients that
    /// would be refused now end. If one of the files is wrong, all of them stay as they are.
    ///
    /// # Errors
    /// [`StartError`] says which file is wrong.
    pub async fn reload_certificates(&self) -> Result<(), StartError> {
        let _alone = self.reading_certificates.lock().await;
        if let Some(tls) = &self.tls {
            tls.reload().await?;
        }
        Ok(())
    }

    /// Reads the sealing keys again. If the file is wrong, they stay as they are.
    ///
    /// # Errors
    /// [`StartError`] says what is wrong.
    pub async fn reload_sealing_keys(&self) -> Result<(), StartError> {
        let _alone = self.reading_sealing_keys.lock().await;
        self.shared.sealer.replace(self.options.read_sealing_keys().await?);
        Ok(())
    }

    /// Waits until the engine is lost.
    pub async fn lost(&self) {
        self.loss().await;
        self.tell_health().await;
    }

    /// Returns a future that waits until the engine is lost, also while the server goes down. If
    /// the server ends before, it waits forever.
    pub fn loss(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut loss = self.shared.loss();
        async move {
            if loss.wait_for(|lost| *lost).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    async fn tell_health(&self) {
        for name in HEALTH_NAMES {
            self.health.set_service_status(name, ServingStatus::NotServing).await;
        }
    }

    /// Shuts the server down. First health and readiness change. After `delay` the server accepts
    /// no more connections, and finishes the calls in progress. If they take longer than `limit`,
    /// it cuts them off and returns `false`.
    ///
    /// Afterwards the addresses are free for another server, and the engines are dropped, unless
    /// a device or a client of the metrics still keeps them.
    pub async fn stop(mut self, delay: Duration, limit: Duration) -> bool {
        self.stage.send_replace(Stage::Stopping);
        self.tell_health().await;
        tokio::time::sleep(delay).await;
        self.stage.send_replace(Stage::Leaving);
        for listener in self.listeners.drain(..) {
            // One that has panicked has ended as well.
            let _ = listener.await;
        }
        // This ends the streams of clients that watch the health.
        for name in HEALTH_NAMES {
            self.health.clear_service_status(name).await;
        }
        // Nothing is sent; the channel ends with the last connection.
        let is_done = timeout(limit, self.closed.recv()).await.is_ok();
        if !is_done {
            self.stage.send_replace(Stage::CutOff);
            let _ = timeout(ENDING, self.closed.recv()).await;
        }
        self.service.forget_keys();
        self.shared.sealer.replace(SealingKeys::default());
        if let Some(AdminTask { over, mut task, .. }) = self.admin.take() {
            drop(over);
            if timeout(ENDING, &mut task).await.is_err() {
                task.abort();
            }
        }
        self.tidy.shutdown().await;
        self.service.end(ENDING).await;
        is_done
    }
}
