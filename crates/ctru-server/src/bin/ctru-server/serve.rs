//! `ctru-server serve`.

use std::io::Write;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use ctru_server::{ClientCertificates, NameKind, Server, ServerOptions, StartError, TlsOptions};
use tokio::sync::Notify;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry, fmt};

use crate::engine::EngineArgs;
#[cfg(feature = "opentelemetry")]
use crate::traces::Traces;
use crate::{Error, Result};

/// The exit status after the loss of the device: the service is unavailable.
const LOST: u8 = 69;
/// How long the server answers after the loss of the device, so that its clients learn of it.
const AFTER_LOSS: Duration = Duration::from_secs(2);

/// A layer that receives events and spans.
pub(crate) type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// One line of text per event
    Text,
    /// One JSON object per event
    Json,
}

/// The options of the server.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    server: ServerOptions,
    #[command(flatten)]
    engine: EngineArgs,

    /// Certificate chain of the server, in PEM, or its certificate in DER
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "TLS")]
    tls_cert: Option<PathBuf>,
    /// Private key of the server, in PEM or DER; its mode is 0600
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "TLS")]
    tls_key: Option<PathBuf>,
    /// Authorities that sign the certificates of clients, in PEM
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_cert",
        requires = "client_name",
        help_heading = "TLS"
    )]
    client_ca: Option<PathBuf>,
    /// Lists of revoked certificates, of each authority in the chains of clients, in PEM or DER
    #[arg(long, value_name = "FILE", requires = "client_ca", help_heading = "TLS")]
    client_crl: Option<PathBuf>,
    /// The kind of name in its certificate that identifies a client
    #[arg(long, value_enum, requires = "client_ca", help_heading = "TLS")]
    client_name: Option<NameKind>,

    /// After SIGTERM, how long the server goes on as before while its health says that it leaves
    #[arg(
        long,
        value_name = "TIME",
        default_value = "0s",
        value_parser = humantime::parse_duration,
        help_heading = "Process"
    )]
    drain_delay: Duration,
    /// After that, how long calls in progress may take
    #[arg(
        long,
        value_name = "TIME",
        default_value = "30s",
        value_parser = humantime::parse_duration,
        help_heading = "Process"
    )]
    drain_timeout: Duration,
    /// Threads for the network, one per core if 0
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        // The runtime ends the process if the system does not start them.
        value_parser = clap::value_parser!(u16).range(..=1024),
        help_heading = "Process"
    )]
    io_threads: u16,
    /// Print the addresses to standard output when the server accepts calls
    #[arg(long, help_heading = "Process")]
    print_address: bool,
    /// What to log, such as `info` or `ctru_server=debug`
    #[arg(long, value_name = "FILTER", default_value = "info", help_heading = "Process")]
    log: String,
    /// The form of the log, on standard error
    #[arg(long, value_enum, default_value = "text", help_heading = "Process")]
    log_format: LogFormat,
    /// Send the spans of calls to a collector of OpenTelemetry, such as http://127.0.0.1:4317
    #[cfg(feature = "opentelemetry")]
    #[arg(long, value_name = "URL", help_heading = "Process")]
    otlp_endpoint: Option<String>,
}

impl Args {
    fn options(&self) -> ServerOptions {
        let clients = self.client_ca.clone().zip(self.client_name);
        let clients = clients.map(|(ca, names)| ClientCertificates {
            ca,
            crl: self.client_crl.clone(),
            names,
        });
        let files = self.tls_cert.clone().zip(self.tls_key.clone());
        let tls = files.map(|(certificate, key)| TlsOptions { certificate, key, clients });
        ServerOptions { tls, ..self.server.clone() }
    }

    /// Sends the log to standard error. A log that cannot be written is lost, and calls go on.
    ///
    /// `layers` take what goes to other places. Each has a filter, because without one the
    /// libraries below would make events and spans that nobody reads.
    fn start_log(&self, mut layers: Vec<BoxedLayer>) -> Result<()> {
        let log =
            fmt::layer().with_writer(std::io::stderr).log_internal_errors(false).with_ansi(false);
        let log = match self.log_format {
            LogFormat::Text => log.boxed(),
            LogFormat::Json => log.json().boxed(),
        };
        layers.push(log.with_filter(EnvFilter::try_new(&self.log)?).boxed());
        Ok(tracing_subscriber::registry().with(layers).try_init()?)
    }
}

/// Serves until a signal or the loss of the device.
///
/// # Errors
/// If the server does not start.
pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if args.io_threads > 0 {
        runtime.worker_threads(args.io_threads.into());
    }
    let is_locked = ctru_server::lock_all_memory();
    let runtime = runtime.enable_all().build()?;
    #[cfg(not(feature = "opentelemetry"))]
    args.start_log(Vec::new())?;
    #[cfg(feature = "opentelemetry")]
    let traces = {
        let _entered = runtime.enter();
        let traces = args.otlp_endpoint.as_deref().map(Traces::start).transpose()?;
        args.start_log(traces.iter().map(|traces| traces.layer().boxed()).collect())?;
        traces
    };
    tracing::debug!(is_locked, "memory that is kept from swap");
    let status = runtime.block_on(serve(&args));
    #[cfg(feature = "opentelemetry")]
    if let Some(traces) = traces {
        traces.end();
    }
    // Connections that the limit of time has cut off do not hold the process up.
    runtime.shutdown_timeout(Duration::from_secs(1));
    status
}

async fn serve(args: &Args) -> Result<ExitCode> {
    // Without a handler, a signal to read files again would end the process while a GPU is opened.
    let (mut signals, hangups) = (Signals::new()?, [Notify::new(), Notify::new()]);
    let choice = args.engine.clone();
    let start = async {
        let engines = tokio::task::spawn_blocking(move || choice.start()).await??;
        let engine = engines.name.clone();
        Ok::<_, Error>((Server::start(args.options(), engines).await?, engine))
    };
    let (server, engine) = tokio::select! {
        started = start => started?,
        () = stopped(&mut signals, &hangups) => return Ok(ExitCode::SUCCESS),
    };
    for address in server.addresses() {
        tracing::info!(%address, engine, "serving");
        if args.print_address {
            writeln!(ctru_program::stdout()?, "{address}")?;
        }
    }
    if let Some(address) = server.admin_address() {
        tracing::info!(%address, "metrics and probes");
    }
    let is_lost = tokio::select! {
        () = server.lost() => true,
        () = reload("certificates", &hangups[0], || server.reload_certificates()) => false,
        () = reload("sealing keys", &hangups[1], || server.reload_sealing_keys()) => false,
        () = stopped(&mut signals, &hangups) => false,
    };
    if is_lost {
        tracing::error!("the device is lost");
        server.stop(AFTER_LOSS, Duration::ZERO).await;
        return Ok(ExitCode::from(LOST));
    }
    tracing::info!("going down");
    let mut lost = pin!(server.loss());
    let mut stopped = pin!(server.stop(args.drain_delay, args.drain_timeout));
    let is_done = loop {
        tokio::select! {
            // Calls end soon after a loss, which must not look like a good end.
            biased;
            () = &mut lost => {
                tracing::error!("the device is lost");
                let _ = tokio::time::timeout(AFTER_LOSS, stopped).await;
                return Ok(ExitCode::from(LOST));
            }
            is_done = &mut stopped => break is_done,
            signal = signals.next() => match signal {
                Signal::Reload => tracing::warn!("nothing is read again while going down"),
                Signal::Stop => {
                    tracing::warn!("ends at once after a second signal");
                    return Ok(ExitCode::FAILURE);
                }
            },
        }
    };
    match is_done {
        true => tracing::info!("all calls are finished"),
        false => tracing::warn!("calls were cut off"),
    }
    Ok(if is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Waits for a signal that stops the server. Passes on those to read files again.
async fn stopped(signals: &mut Signals, hangups: &[Notify]) {
    while let Signal::Reload = signals.next().await {
        hangups.iter().for_each(Notify::notify_one);
    }
}

/// Reads files again, one time after the other. Each time may take long, so sealing keys that come
/// late do not hold up a list of revoked certificates.
async fn reload(
    files: &str,
    hangup: &Notify,
    read: impl AsyncFn() -> std::result::Result<(), StartError>,
) {
    loop {
        hangup.notified().await;
        tracing::info!("reading {files} again");
        let mut reading = pin!(read());
        let mut is_asked_again = false;
        let result = loop {
            tokio::select! {
                biased;
                result = &mut reading => break result,
                () = hangup.notified() => {
                    tracing::warn!("{files} of an earlier signal are still being read");
                    is_asked_again = true;
                }
            }
        };
        match result {
            Ok(()) => tracing::info!("{files} are read again"),
            Err(error) => tracing::error!(%error, "{files} stay as they were"),
        }
        if is_asked_again {
            hangup.notify_one();
        }
    }
}

enum Signal {
    Reload,
    Stop,
}

#[cfg(unix)]
struct Signals([tokio::signal::unix::Signal; 3]);

#[cfg(unix)]
impl Signals {
    fn new() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let signals = [SignalKind::hangup(), SignalKind::terminate(), SignalKind::interrupt()];
        let [hangup, terminate, interrupt] = signals.map(signal);
        Ok(Self([hangup?, terminate?, interrupt?]))
    }

    async fn next(&mut self) -> Signal {
        let Self([hangup, terminate, interrupt]) = self;
        tokio::select! {
            _ = hangup.recv() => Signal::Reload,
            _ = terminate.recv() => Signal::Stop,
            _ = interrupt.recv() => Signal::Stop,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> Signal {
        // Without a handler for interrupts, the system ends the process.
        match tokio::signal::ctrl_c().await {
            Ok(()) => Signal::Stop,
            Err(_) => std::future::pending().await,
        }
    }
}
