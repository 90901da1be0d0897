//! The options of a server, for the library and for the program.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::engine::CallSizes;
use crate::listen::Address;
use crate::tls::TlsOptions;

/// The options of a server.
#[derive(Clone, Debug, clap::Args)]
pub struct ServerOptions {
    /// Address to listen on: IP:PORT, or unix:PATH; repeat for several
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:50051")]
    pub listen: Vec<Address>,
    /// Address of metrics and probes, plain HTTP: /metrics, /livez, /readyz
    #[arg(long = "admin-listen", value_name = "IP:PORT")]
    pub admin: Option<SocketAddr>,
    /// The settings of TLS, which all addresses use except for sockets in the file system.
    #[arg(skip)]
    pub tls: Option<TlsOptions>,
    /// Let other machines connect without TLS
    #[arg(long, help_heading = "TLS")]
    pub insecure: bool,
    /// Let other machines read metrics and probes, which have no access control
    #[arg(long, help_heading = "TLS")]
    pub insecure_admin: bool,
    /// Let clients connect without certificates
    #[arg(long, help_heading = "TLS")]
    pub no_client_auth: bool,
    /// File with sealing keys, one per line, of which the last one seals; its mode is 0600
    #[arg(long = "sealing-key-file", value_name = "FILE", help_heading = "Private keys")]
    pub sealing_keys: Option<PathBuf>,
    /// Most decapsulations of each private key, as long as this process lives [default: 2^40 for
    /// CTRU-Prime-1277, no limit for the others]
    #[arg(long, value_name = "N", help_heading = "Private keys")]
    pub max_decapsulations_per_key: Option<u64>,
    /// Refuse to use sealed private keys that were generated longer ago, such as 90days
    #[arg(
        long,
        value_name = "TIME",
        value_parser = humantime::parse_duration,
        help_heading = "Private keys"
    )]
    pub max_key_age: Option<Duration>,
    /// Most connections
    ///
    /// A client with an identity holds at most as many as it leaves to others.
    #[arg(long, value_name = "N", default_value_t = 1024, help_heading = "Load")]
    pub max_connections: usize,
    /// Longest life of a connection; calls in progress then have 10 seconds more
    ///
    /// A tenth of it is left to chance.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "1h",
        value_parser = humantime::parse_duration,
        help_heading = "Load"
    )]
    pub max_connection_age: Duration,
    /// Most calls in progress of one connection
    #[arg(long, value_name = "N", default_value_t = 256, help_heading = "Load")]
    pub max_calls_per_connection: u32,
    /// How long a request may take to arrive
    ///
    /// From its head to its end. In a stream, how long the server waits for the next bytes of a
    /// message that has begun.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "30s",
        value_parser = humantime::parse_duration,
        help_heading = "Load"
    )]
    pub receive_timeout: Duration,
    /// Memory of all calls in progress and of their messages in bytes
    #[arg(
        long,
        value_name = "BYTES",
        default_value = "2GiB",
        value_parser = bytes,
        help_heading = "Load"
    )]
    pub max_memory: usize,
    /// The service.
    #[command(flatten)]
    pub service: ServiceOptions,
}

/// The options of the service.
#[derive(Clone, Debug, clap::Args)]
pub struct ServiceOptions {
    /// Most operations that small calls share in one batch; larger calls go with the streams
    #[arg(long, value_name = "N", default_value_t = 1024, help_heading = "Load")]
    pub max_batch: usize,
    /// Most operations that messages of streams share in one batch [default: 1024 on the CPU, 8192
    /// on GPUs]
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub max_stream_batch: Option<usize>,
    /// How long a call waits for others to join it
    #[arg(
        long,
        value_name = "TIME",
        default_value = "0s",
        value_parser = humantime::parse_duration,
        help_heading = "Load"
    )]
    pub max_queue_delay: Duration,
    /// Most operations that wait, of small and of large calls each [default: 32768 on the CPU,
    /// 262144 on GPUs]
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub max_queue: Option<usize>,
    /// Largest message in bytes, either way, such as 4194304 or 4MiB
    #[arg(
        long,
        value_name = "BYTES",
        default_value = "4MiB",
        value_parser = bytes,
        help_heading = "Load"
    )]
    pub max_message: usize,
    /// Accept and give plain private keys
    #[arg(long, help_heading = "Private keys")]
    pub allow_plain_keys: bool,
    /// Most keys that all clients together have loaded
    #[arg(long, value_name = "N", default_value_t = 16_384, help_heading = "Private keys")]
    pub max_loaded_keys: usize,
    /// Most keys that one client has loaded
    #[arg(long, value_name = "N", default_value_t = 4096, help_heading = "Private keys")]
    pub max_loaded_keys_per_client: usize,
    /// How long loaded keys stay without use
    #[arg(
        long,
        value_name = "TIME",
        default_value = "10min",
        value_parser = humantime::parse_duration,
        help_heading = "Private keys"
    )]
    pub loaded_keys_idle: Duration,
    /// Operations per second of each client
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub rate: Option<u64>,
    /// Operations per second of one client, such as dns:frontend.example=1000; repeat for several
    #[arg(
        long = "client-rate",
        value_name = "NAME=N",
        value_parser = client_rate,
        help_heading = "Load"
    )]
    pub client_rates: Vec<(String, u64)>,
}

/// The program without arguments.
#[derive(Parser)]
struct Defaults {
    #[command(flatten)]
    server: ServerOptions,
}

impl Default for ServerOptions {
    /// Returns the options that the program has without arguments.
    fn default() -> Self {
        Defaults::parse_from([""]).server
    }
}

impl Default for ServiceOptions {
    /// Returns the options that the program has without arguments.
    fn default() -> Self {
        ServerOptions::default().service
    }
}

/// Reads a number of bytes, in bytes, KiB, MiB or GiB.
///
/// # Errors
/// If the text is no number, or if the number does not fit.
fn bytes(text: &str) -> Result<usize, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("", 0)];
    let read = |(unit, shift): (&str, u32)| {
        let number: usize = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        number.checked_mul(1 << shift)
    };
    let number = units.into_iter().find_map(read);
    number.ok_or_else(|| "a number of bytes, such as 4194304 or 4MiB, that fits".into())
}

/// Reads `NAME=N`.
///
/// # Errors
/// If there is no `=`, if no number follows, or if the name has no kind.
fn client_rate(text: &str) -> Result<(String, u64), String> {
    let (name, rate) = text.rsplit_once('=').ok_or("there is no `=`")?;
    if !name.starts_with("dns:") && !name.starts_with("uri:") {
        return Err("a name begins with `dns:` or `uri:`".into());
    }
    Ok((name.to_owned(), rate.parse().map_err(|_| "there is no number after `=`")?))
}

impl ServiceOptions {
    /// Returns the largest number of operations of a batch of messages of streams.
    pub(crate) fn max_stream_batch(&self, calls: CallSizes) -> usize {
        self.max_stream_batch.unwrap_or(calls.stream_batch)
    }

    /// Returns the largest number of operations that wait.
    pub(crate) fn max_queue(&self, calls: CallSizes) -> usize {
        self.max_queue.unwrap_or(calls.queue)
    }
}
