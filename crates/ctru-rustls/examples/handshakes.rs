//! Measures full TLS 1.3 handshakes for each group, and writes a table or records.
//!
//! Usage: handshakes [--json] [SECONDS]. A client and a server of rustls exchange messages in
//! memory, on one thread, with a certificate with an ECDSA key on P-256 and without resumption.
//! Each group is the only one that both sides know, so the client sends one share. One handshake
//! of each group follows the other, and the program reports the median of the times of each side:
//! what the machine does besides slows all groups.
//!
//! With the feature `aws-lc-rs`, its X25519MLKEM768 is measured, too. The program then uses that
//! library for all groups; otherwise it uses ring.

use std::env;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ctru_measure::{Record, Statistics, cpu_name, parse_seconds, table};
#[cfg(feature = "aws-lc-rs")]
use rustls::crypto::aws_lc_rs as library;
#[cfg(not(feature = "aws-lc-rs"))]
use rustls::crypto::ring as library;
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};

#[cfg(feature = "aws-lc-rs")]
use ctru_rustls::aws_lc_rs as groups;
#[cfg(not(feature = "aws-lc-rs"))]
use ctru_rustls::ring as groups;

/// The name of the library in records.
const LIBRARY: &str =
    if cfg!(feature = "aws-lc-rs") { "rustls, aws-lc-rs" } else { "rustls, ring" };

/// The groups that are compared, each with its name in records.
fn compared() -> Vec<(&'static str, &'static dyn SupportedKxGroup)> {
    vec![
        ("X25519", library::kx_group::X25519),
        ("X25519MLKEM768, ml-kem", groups::X25519MLKEM768),
        #[cfg(feature = "aws-lc-rs")]
        ("X25519MLKEM768", library::kx_group::X25519MLKEM768),
        ("X25519 with CTRU-Prime-653", groups::X25519_CTRU_PRIME_653),
        ("X25519 with CTRU-Prime-761", groups::X25519_CTRU_PRIME_761),
        ("X25519 with CTRU-Prime-1277", groups::X25519_CTRU_PRIME_1277),
    ]
}

/// The configurations of both sides for one group, and what its handshakes took.
struct Compared {
    name: &'static str,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    /// The times of the client, of the server and of both, in nanoseconds.
    times: [Vec<f64>; 3],
    /// The bytes that the client and the server have sent in one handshake.
    bytes: [usize; 2],
}

impl Compared {
    fn new(
        (name, group): (&'static str, &'static dyn SupportedKxGroup),
        certificate: &CertificateDer<'static>,
        key: &PrivateKeyDer<'static>,
    ) -> Result<Self, rustls::Error> {
        let provider =
            Arc::new(CryptoProvider { kx_groups: vec![group], ..library::default_provider() });
        let versions = &[&rustls::version::TLS13];
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone())?;
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.resumption = rustls::client::Resumption::disabled();
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key.clone_key())?;
        server.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        Ok(Self {
            name,
            client: Arc::new(client),
            server: Arc::new(server),
            times: Default::default(),
            bytes: [0; 2],
        })
    }

    /// Runs one handshake and adds its times.
    fn handshake(&mut self, name: &ServerName<'static>) -> Result<(), Box<dyn Error>> {
        let mut took = [Duration::ZERO; 2];
        let start = Instant::now();
        let mut client = ClientConnection::new(Arc::clone(&self.client), name.clone())?;
        took[0] += start.elapsed();
        let start = Instant::now();
        let mut server = ServerConnection::new(Arc::clone(&self.server))?;
        took[1] += start.elapsed();
        self.bytes = [0; 2];
        let mut wire = Vec::new();
        while client.is_handshaking() || server.is_handshaking() {
            let start = Instant::now();
            wire.clear();
            while client.wants_write() {
                self.bytes[0] += client.write_tls(&mut wire)?;
            }
            took[0] += start.elapsed();
            let start = Instant::now();
            let mut sent = wire.as_slice();
            while !sent.is_empty() {
                server.read_tls(&mut sent)?;
                server.process_new_packets()?;
            }
            let mut answer = Vec::new();
            while server.wants_write() {
                self.bytes[1] += server.write_tls(&mut answer)?;
            }
            took[1] += start.elapsed();
            let start = Instant::now();
            let mut sent = answer.as_slice();
            while !sent.is_empty() {
                client.read_tls(&mut sent)?;
                client.process_new_packets()?;
            }
            took[0] += start.elapsed();
        }
        let both = took[0] + took[1];
        for (times, time) in self.times.iter_mut().zip([took[0], took[1], both]) {
            times.push(time.as_nanos() as f64);
        }
        Ok(())
    }

    /// Returns the record of this group.
    fn record(&self) -> Record {
        let [client, server, both] = self.times.clone().map(Statistics::of);
        let record = Record {
            bench: "tls".to_owned(),
            engine: LIBRARY.to_owned(),
            device: cpu_name(),
            backend: "native".to_owned(),
            set: self.name.to_owned(),
            op: "handshake".to_owned(),
            batch: 1,
            transfers: "none".to_owned(),
            threads: 1,
            ..Record::default()
        };
        record.timed(both, 1.0).with_figures([
            ("client_ns", client.median),
            ("server_ns", server.median),
            ("client_bytes", self.bytes[0] as f64),
            ("server_bytes", self.bytes[1] as f64),
        ])
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = env::args().skip(1).collect();
    let json = arguments.first().is_some_and(|first| first == "--json");
    if json {
        arguments.remove(0);
    }
    let seconds = match arguments.as_slice() {
        [] => 10.0,
        [seconds] => parse_seconds(seconds)?,
        _ => return Err("usage: handshakes [--json] [SECONDS]".into()),
    };
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())?;
    let mut all = compared()
        .into_iter()
        .map(|group| Compared::new(group, made.cert.der(), &key))
        .collect::<Result<Vec<_>, _>>()?;
    let name = ServerName::try_from("localhost")?;
    // The first pass warms the caches; its times are dropped.
    for length in [seconds / 10.0, seconds] {
        for group in &mut all {
            group.times = Default::default();
        }
        let start = Instant::now();
        loop {
            for group in &mut all {
                group.handshake(&name)?;
            }
            if start.elapsed().as_secs_f64() >= length {
                break;
            }
        }
    }
    let records: Vec<Record> = all.iter().map(Compared::record).collect();
    if json {
        records.iter().try_for_each(|record| record.write_line(io::stdout().lock()))?;
        return Ok(());
    }
    let header = ["group", "handshakes/s", "client/s", "server/s", "bytes up", "bytes down"];
    let mut rows = table::markdown(header, 1..6);
    for record in &records {
        let figure = |name| record.figure(name).unwrap_or_default();
        rows.add_row([
            record.set.clone(),
            format!("{:.0}", record.ops_per_s),
            format!("{:.0}", 1e9 / figure("client_ns")),
            format!("{:.0}", 1e9 / figure("server_ns")),
            format!("{:.0}", figure("client_bytes")),
            format!("{:.0}", figure("server_bytes")),
        ]);
    }
    println!("{LIBRARY}, {} handshakes of each group\n\n{rows}", all[0].times[0].len());
    Ok(())
}
