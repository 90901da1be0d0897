//! The two ends of a connection, and the line between them.

use std::io::{Read, Write};
use std::sync::{Arc, LazyLock};

use rcgen::{CertifiedKey, KeyPair};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    ClientConfig, ClientConnection, Connection, Error, RootCertStore, ServerConfig,
    ServerConnection,
};

/// A list of groups, the preferred one first.
pub(crate) type Groups<'a> = &'a [&'static dyn SupportedKxGroup];

/// A certificate that signs itself, for the server.
static SERVER: LazyLock<CertifiedKey<KeyPair>> = LazyLock::new(|| certified("localhost"));
/// A certificate that signs itself, for the client.
static CLIENT: LazyLock<CertifiedKey<KeyPair>> = LazyLock::new(|| certified("client"));

fn certified(name: &str) -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed([name.to_owned()]).unwrap()
}

/// Returns a certificate with its key, in the form of rustls.
fn chain(of: &CertifiedKey<KeyPair>) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let key = PrivateKeyDer::try_from(of.signing_key.serialize_der()).unwrap();
    (vec![of.cert.der().clone()], key)
}

fn roots(of: &CertifiedKey<KeyPair>) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add(of.cert.der().clone()).unwrap();
    roots
}

fn provider(groups: Groups<'_>) -> Arc<CryptoProvider> {
    let provider = rustls::crypto::ring::default_provider();
    Arc::new(CryptoProvider { kx_groups: groups.to_vec(), ..provider })
}

/// Returns the configuration of a client with these groups.
pub(crate) fn client(groups: Groups<'_>) -> Arc<ClientConfig> {
    let config = ClientConfig::builder_with_provider(provider(groups));
    let config = config.with_safe_default_protocol_versions().unwrap();
    Arc::new(config.with_root_certificates(roots(&SERVER)).with_no_client_auth())
}

/// Returns the configuration of a client with these groups and a certificate.
pub(crate) fn client_with_certificate(groups: Groups<'_>) -> Arc<ClientConfig> {
    let config = ClientConfig::builder_with_provider(provider(groups));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let (chain, key) = chain(&CLIENT);
    let config = config.with_root_certificates(roots(&SERVER));
    Arc::new(config.with_client_auth_cert(chain, key).unwrap())
}

/// Returns the configuration of a server with these groups.
pub(crate) fn server(groups: Groups<'_>) -> Arc<ServerConfig> {
    let config = ServerConfig::builder_with_provider(provider(groups));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let (chain, key) = chain(&SERVER);
    Arc::new(config.with_no_client_auth().with_single_cert(chain, key).unwrap())
}

/// Returns the configuration of a server with these groups that demands a certificate.
pub(crate) fn server_with_client_certificates(groups: Groups<'_>) -> Arc<ServerConfig> {
    let config = ServerConfig::builder_with_provider(provider(groups));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let known = Arc::new(roots(&CLIENT));
    let verifier = WebPkiClientVerifier::builder_with_provider(known, provider(groups)).build();
    let (chain, key) = chain(&SERVER);
    let config = config.with_client_cert_verifier(verifier.unwrap());
    Arc::new(config.with_single_cert(chain, key).unwrap())
}

/// Who has sent bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    Client,
    Server,
}

/// One end of a connection.
pub(crate) struct End {
    pub(crate) connection: Connection,
    /// The error that has ended the connection.
    pub(crate) error: Option<Error>,
    /// All bytes that this end has sent.
    pub(crate) sent: Vec<u8>,
}

impl End {
    fn new(connection: Connection) -> Self {
        Self { connection, error: None, sent: Vec::new() }
    }

    /// Sends what it has to send, if there is anything.
    fn send(&mut self) -> Vec<u8> {
        let mut flight = Vec::new();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut flight).unwrap();
        }
        self.sent.extend_from_slice(&flight);
        flight
    }

    /// Receives bytes, unless it has failed.
    fn receive(&mut self, mut flight: &[u8]) {
        while !flight.is_empty() && self.error.is_none() {
            self.connection.read_tls(&mut flight).unwrap();
            self.error = self.connection.process_new_packets().err();
        }
    }

    /// Returns whether its handshake has completed.
    pub(crate) fn is_done(&self) -> bool {
        self.error.is_none() && !self.connection.is_handshaking()
    }
}

/// Both ends of a connection.
pub(crate) struct Ends {
    pub(crate) client: End,
    pub(crate) server: End,
}

impl Ends {
    pub(crate) fn new(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Self {
        let name = "localhost".try_into().unwrap();
        let client = ClientConnection::new(Arc::clone(client), name).unwrap();
        let server = ServerConnection::new(Arc::clone(server)).unwrap();
        Self { client: End::new(client.into()), server: End::new(server.into()) }
    }

    /// Carries bytes until nobody sends any more. `proxy` may change them.
    pub(crate) fn talk_through(&mut self, mut proxy: impl FnMut(Sender, &mut Vec<u8>)) {
        let Self { client, server } = self;
        loop {
            let mut request = client.send();
            proxy(Sender::Client, &mut request);
            server.receive(&request);
            let mut answer = server.send();
            proxy(Sender::Server, &mut answer);
            client.receive(&answer);
            if request.is_empty() && answer.is_empty() {
                return;
            }
        }
    }

    /// Carries bytes until nobody sends any more.
    pub(crate) fn talk(&mut self) {
        self.talk_through(|_, _| {});
    }

    /// Checks that the handshake has completed, and that both ends read what the other writes.
    pub(crate) fn check_connected(&mut self) {
        for end in [&self.client, &self.server] {
            assert!(end.is_done(), "{:?}", end.error);
        }
        let text = b"a text";
        self.client.connection.writer().write_all(text).unwrap();
        self.server.connection.writer().write_all(text).unwrap();
        self.talk();
        for end in [&mut self.client, &mut self.server] {
            let mut read = [0; 6];
            end.connection.reader().read_exact(&mut read).unwrap();
            assert_eq!(&read, text);
        }
    }
}
