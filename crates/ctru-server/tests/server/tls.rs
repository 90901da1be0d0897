//! Certificates of servers and clients, and the identity of clients.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use ctru_server::client::{Client, Retries};
use ctru_server::proto::kem_client::KemClient;
use ctru_server::proto::{
    DecapsulateRequest, DescribeRequest, EncapsulateRequest, LoadKeysRequest, decapsulate_request,
    encapsulate_request, load_keys_request,
};
use ctru_server::{Address, NameKind, Server, ServerOptions, StartError, TlsOptions};
use rcgen::{
    BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType, string::Ia5String,
};
use tempfile::TempDir;
use tonic::Code;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::common::{TestEngine, decapsulate, encapsulate, engines, pair, scheme, start_fast};

/// An authority, whose certificates lie in a folder.
struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = parameters.self_signed(&key).unwrap().pem();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca.pem"), &pem).unwrap();
        Self { folder, issuer: Issuer::new(parameters, key), pem }
    }

    /// Returns a certificate with these names, and its key.
    fn sign(&self, names: Vec<SanType>) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.subject_alt_names = names;
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a certificate of the server.
    fn write_server(&self) {
        let name = SanType::DnsName(Ia5String::try_from("localhost").unwrap());
        let (certificate, key) = self.sign(vec![name]);
        fs::write(self.path("server.pem"), certificate).unwrap();
        fs::write(self.path("server.key"), key).unwrap();
    }

    /// Returns the options of a server that asks for certificates.
    fn options(&self) -> TlsOptions {
        self.write_server();
        TlsOptions {
            certificate: self.path("server.pem"),
            key: self.path("server.key"),
            client_ca: Some(self.path("ca.pem")),
            names: NameKind::Any,
        }
    }

    /// Returns what a client without a certificate knows.
    fn trust(&self) -> ClientTlsConfig {
        let ca = Certificate::from_pem(&self.pem);
        ClientTlsConfig::new().ca_certificate(ca).domain_name("localhost")
    }

    /// Returns the certificate of a client with a DNS name.
    fn client(&self, name: &str) -> Identity {
        let name = SanType::DnsName(Ia5String::try_from(name).unwrap());
        let (certificate, key) = self.sign(vec![name]);
        Identity::from_pem(certificate, key)
    }
}

fn endpoint(server: &Server) -> Endpoint {
    Endpoint::from_shared(format!("https://{}", server.addresses()[0])).unwrap()
}

async fn connect(server: &Server, tls: ClientTlsConfig) -> KemClient<Channel> {
    let channel = endpoint(server).tls_config(tls).unwrap().connect().await.unwrap();
    KemClient::new(channel)
}

/// Checks that a client with this configuration cannot call the server.
async fn cannot_connect(server: &Server, tls: ClientTlsConfig) {
    // With TLS 1.3, the client learns only after its handshake that its certificate is refused.
    if let Ok(channel) = endpoint(server).tls_config(tls).unwrap().connect().await {
        let answer = KemClient::new(channel).describe(DescribeRequest {}).await;
        assert!(answer.is_err());
    }
}

/// Sealed and loaded keys belong to the client whose certificate has made them.
#[tokio::test(flavor = "multi_thread")]
async fn keys_belong_to_clients() {
    let authority = Authority::new();
    let running = start_fast(|options| options.tls = Some(authority.options())).await;
    let of = |name| authority.trust().identity(authority.client(name));
    let mut own = connect(&running.server, of("a.example")).await;
    let mut again = connect(&running.server, of("a.example")).await;
    let mut other = connect(&running.server, of("b.example")).await;
    let pair = pair(&mut own).await;
    let sent = other.encapsulate(encapsulate(&pair, 2)).await.unwrap().into_inner();
    let request = decapsulate(&pair, sent.ciphertexts.clone());
    let received = again.decapsulate(request.clone()).await.unwrap().into_inner();
    assert_eq!(received.shared_secrets, sent.shared_secrets);
    let status = other.decapsulate(request.clone()).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied, "{status}");
    // A server that has never seen the owner says the same.
    let stranger = Authority::new();
    let tls = TlsOptions { client_ca: Some(authority.path("ca.pem")), ..stranger.options() };
    let keys = running.sealing_keys.path().to_owned();
    let elsewhere = start_fast(|options| {
        options.tls = Some(tls);
        options.sealing_keys = Some(keys);
    })
    .await;
    let tls = stranger.trust().identity(authority.client("b.example"));
    let status = connect(&elsewhere.server, tls).await.decapsulate(request.clone()).await;
    assert_eq!(status.unwrap_err().code(), Code::PermissionDenied);
    // A key that nobody has sealed is not another client's.
    let mut damaged = pair.private.to_vec();
    damaged[20] ^= 1;
    let key = Some(decapsulate_request::Key::PrivateKey(Bytes::from(damaged)));
    let request = DecapsulateRequest { key, ..request };
    let status = other.decapsulate(request).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument, "{status}");

    let keys = load_keys_request::Keys::PublicKeys(pair.public.clone());
    let load = LoadKeysRequest { scheme: scheme(), keys: Some(keys) };
    let name = own.load_keys(load).await.unwrap().into_inner().name;
    let key = Some(encapsulate_request::Key::Loaded(name));
    let request = EncapsulateRequest { scheme: scheme(), key, count: 1 };
    assert!(again.encapsulate(request.clone()).await.is_ok());
    let status = other.encapsulate(request).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
}

/// Clients without a certificate, with one of another authority, or without a name are refused.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_and_missing_certificates_are_refused() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let running = start_fast(|options| options.tls = Some(authority.options())).await;
    let server = &running.server;
    cannot_connect(server, authority.trust()).await;
    cannot_connect(server, authority.trust().identity(stranger.client("a.example"))).await;
    let address = SanType::IpAddress("127.0.0.1".parse().unwrap());
    let (certificate, key) = authority.sign(vec![address]);
    cannot_connect(server, authority.trust().identity(Identity::from_pem(certificate, key))).await;
    // A client that trusts another authority does not talk to this server.
    let tls = stranger.trust().identity(authority.client("a.example"));
    assert!(endpoint(server).tls_config(tls).unwrap().connect().await.is_err());
    // Nor does the server talk without TLS.
    let plain = format!("http://{}", server.addresses()[0]);
    let retries = Retries { attempts: 1, ..Retries::default() };
    assert!(Client::at(plain, retries).unwrap().describe().await.is_err());
    let own = authority.trust().identity(authority.client("a.example"));
    assert!(connect(server, own).await.describe(DescribeRequest {}).await.is_ok());
}

/// Clients that do not finish the handshake take no room from others, and one client leaves half of
/// the connections to others.
#[tokio::test(flavor = "multi_thread")]
async fn connections_are_shared() {
    let authority = Authority::new();
    let running = start_fast(|options| {
        options.tls = Some(authority.options());
        options.max_connections = 4;
    })
    .await;
    let server = &running.server;
    let mut silent = Vec::new();
    for _ in 0..40 {
        let stream = tokio::net::TcpStream::connect(server.addresses()[0].to_string()).await;
        silent.push(stream.unwrap());
    }
    let of = |name| authority.trust().identity(authority.client(name));
    let mut one = connect(server, of("a.example")).await;
    assert!(one.describe(DescribeRequest {}).await.is_ok());
    let mut two = connect(server, of("a.example")).await;
    assert!(two.describe(DescribeRequest {}).await.is_ok());
    cannot_connect(server, of("a.example")).await;
    let mut other = connect(server, of("b.example")).await;
    assert!(other.describe(DescribeRequest {}).await.is_ok());
    assert!(running.get("/metrics").await.contains("ctru_connections 3\n"));
    assert!(one.describe(DescribeRequest {}).await.is_ok());
    drop(silent);
}

/// Certificates are read again, and wrong files change nothing.
#[tokio::test(flavor = "multi_thread")]
async fn certificates_are_replaced() {
    let authority = Authority::new();
    let running = start_fast(|options| options.tls = Some(authority.options())).await;
    let server = &running.server;
    let own = || authority.trust().identity(authority.client("a.example"));
    let mut before = connect(server, own()).await;
    fs::write(authority.path("server.pem"), "nothing").unwrap();
    assert!(server.reload().is_err());
    assert!(connect(server, own()).await.describe(DescribeRequest {}).await.is_ok());
    // Now the server trusts another authority. Open connections go on.
    authority.write_server();
    let next = Authority::new();
    fs::write(authority.path("ca.pem"), &next.pem).unwrap();
    server.reload().unwrap();
    cannot_connect(server, own()).await;
    let tls = authority.trust().identity(next.client("a.example"));
    assert!(connect(server, tls).await.describe(DescribeRequest {}).await.is_ok());
    assert!(before.describe(DescribeRequest {}).await.is_ok());
}

/// Servers that anybody could use are refused unless the options say so.
#[tokio::test(flavor = "multi_thread")]
async fn unsafe_options_are_refused() {
    let authority = Authority::new();
    let start = async |change: fn(&mut ServerOptions), tls: Option<TlsOptions>| {
        let mut options = ServerOptions {
            listen: vec![Address::Tcp(([0, 0, 0, 0], 0).into())],
            tls,
            ..ServerOptions::default()
        };
        change(&mut options);
        Server::start(options, engines(TestEngine::new(Duration::ZERO))).await
    };
    let with_tls = || Some(TlsOptions { client_ca: None, ..authority.options() });
    assert!(matches!(start(|_| (), None).await, Err(StartError::Insecure(_))));
    assert!(start(|options| options.insecure = true, None).await.is_ok());
    assert!(matches!(start(|_| (), with_tls()).await, Err(StartError::NoClientAuth)));
    assert!(start(|options| options.no_client_auth = true, with_tls()).await.is_ok());
    assert!(start(|_| (), Some(authority.options())).await.is_ok());
    let small = start(|options| options.service.max_queue = 100, Some(authority.options())).await;
    assert!(matches!(small, Err(StartError::Limit { option: "--max-queue", .. })));
    let idle = start(|options| options.service.threads = 0, Some(authority.options())).await;
    assert!(matches!(idle, Err(StartError::Limit { option: "the threads of a lane", .. })));
}
