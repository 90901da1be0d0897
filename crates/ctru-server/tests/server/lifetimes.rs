//! How long a connection may live: as long as its client's certificate, and not for ever.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use ctru_server::client::{Client, Retries};
use ctru_server::proto::DescribeRequest;
use ctru_server::proto::kem_client::KemClient;
use ctru_server::{ClientTls, StartError, TlsError};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::CertificateParams;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, HandshakeKind, NamedGroup, RootCertStore, SupportedProtocolVersion};
use tokio::io::AsyncReadExt;
use tokio_rustls::client::TlsStream;
use tonic::transport::{Channel, Identity};

use crate::authority::{Authority, cannot_connect, connect, dns};
use crate::common::{encapsulate, pair, start_fast, until};

/// Waits until the connection of a client has ended and it gets no other one.
pub(crate) async fn refused(client: &mut KemClient<Channel>) {
    until(5, async || client.describe(DescribeRequest {}).await.is_err()).await;
}

/// Returns a client with a certificate whose parameters `change` has changed.
fn with(authority: &Authority, change: impl FnOnce(&mut CertificateParams)) -> Identity {
    let (certificate, key) = authority.sign_changed(vec![dns("a.example")], change);
    Identity::from_pem(certificate, key)
}

/// A connection ends with the certificate of its client.
#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_ends() {
    let authority = Authority::new();
    let running = start_fast(|options| options.tls = Some(authority.options())).await;
    let end = SystemTime::now() + Duration::from_secs(4);
    let identity = with(&authority, |parameters| parameters.not_after = end.into());
    let tls = authority.trust().identity(identity);
    let mut client = connect(&running.server, tls).await;
    let pair = pair(&mut client).await;
    let other = authority.named("b.example");
    let mut other = connect(&running.server, other).await;
    assert!(other.describe(DescribeRequest {}).await.is_ok());
    until(10, async || SystemTime::now() > end + Duration::from_secs(1)).await;
    assert!(client.encapsulate(encapsulate(&pair, 1)).await.is_err());
    assert!(other.describe(DescribeRequest {}).await.is_ok());
    assert!(running.get("/metrics").await.contains("ctru_connections 1\n"));
}

/// On a reload, the connections of clients end whose certificates are revoked by then.
#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_revoked() {
    let authority = Authority::new();
    let path = authority.path("revoked");
    let later = SystemTime::now() + Duration::from_secs(3600);
    fs::write(&path, authority.revoke(&[], later).pem().unwrap()).unwrap();
    let mut options = authority.options();
    options.clients.as_mut().unwrap().crl = Some(path.clone());
    let running = start_fast(|server| server.tls = Some(options)).await;
    let of = |number: u64| {
        let change = |of: &mut CertificateParams| of.serial_number = Some(number.into());
        authority.trust().identity(with(&authority, change))
    };
    let mut one = connect(&running.server, of(77)).await;
    let mut two = connect(&running.server, of(78)).await;
    for client in [&mut one, &mut two] {
        assert!(client.describe(DescribeRequest {}).await.is_ok());
    }
    // In DER this time.
    fs::write(&path, authority.revoke(&[77], later).der()).unwrap();
    running.server.reload_certificates().await.unwrap();
    refused(&mut one).await;
    cannot_connect(&running.server, of(77)).await;
    assert!(two.describe(DescribeRequest {}).await.is_ok());
    // The client learns of the end before it is counted.
    until(5, async || running.metric("ctru_connections").await == 1).await;
    // What is no list changes nothing.
    fs::write(&path, &authority.pem).unwrap();
    let error = running.server.reload_certificates().await.unwrap_err();
    assert!(matches!(error, StartError::Tls(TlsError::File { .. })), "{error}");
    assert!(two.describe(DescribeRequest {}).await.is_ok());
    // A list that has ended says nothing of anybody.
    let before = SystemTime::now() - Duration::from_secs(3600);
    fs::write(&path, authority.revoke(&[], before).pem().unwrap()).unwrap();
    running.server.reload_certificates().await.unwrap();
    refused(&mut two).await;
}

/// A connection ends at its age, after the calls in progress.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_ends_at_its_age() {
    let age = Duration::from_secs(2);
    let running = start_fast(|options| options.max_connection_age = age).await;
    let start = Instant::now();
    let (io, executor) = (TokioIo::new(running.tcp().await), TokioExecutor::new());
    let (_sender, connection) = hyper::client::conn::http2::Builder::new(executor)
        .handshake::<_, tonic::body::Body>(io)
        .await
        .unwrap();
    tokio::time::timeout(2 * age, connection).await.unwrap().unwrap();
    assert!(start.elapsed() > age.mul_f64(0.8), "{:?}", start.elapsed());
    // A client does not notice.
    let client = running.client();
    let (mut calls, start) = (0, Instant::now());
    while start.elapsed() < 2 * age {
        client.describe().await.unwrap();
        calls += 1;
    }
    assert!(calls > 10);
}

/// Returns what a client of rustls knows, with a provider of cryptography and versions.
pub(crate) fn config(
    authority: &Authority,
    provider: CryptoProvider,
    versions: &[&'static SupportedProtocolVersion],
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap()).unwrap();
    let (certificate, key) = authority.sign(vec![dns("a.example")]);
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
    let key = rustls::pki_types::PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config)
}

pub(crate) async fn handshake(
    address: &str,
    config: &Arc<ClientConfig>,
) -> std::io::Result<TlsStream<tokio::net::TcpStream>> {
    let stream = tokio::net::TcpStream::connect(address).await?;
    let connector = tokio_rustls::TlsConnector::from(Arc::clone(config));
    let mut stream = connector.connect("localhost".try_into().unwrap(), stream).await?;
    // The server sends its settings when it has accepted the client, and tickets before.
    stream.read_u8().await?;
    Ok(stream)
}

/// The server takes X25519MLKEM768 with each client that knows it, speaks TLS 1.3 only, and resumes
/// no session, because the certificates of clients would not be checked again.
#[tokio::test(flavor = "multi_thread")]
async fn the_key_exchange_is_post_quantum() {
    let authority = Authority::new();
    let running = start_fast(|options| options.tls = Some(authority.options())).await;
    let address = running.server.addresses()[0].to_string();
    let tls13: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];
    for prefers in [true, false] {
        let mut provider = ctru_rustls::ring::standard_provider();
        if !prefers {
            provider.kx_groups.rotate_left(1);
        }
        let config = config(&authority, provider, tls13);
        for _ in 0..2 {
            let stream = handshake(&address, &config).await.unwrap();
            let group = stream.get_ref().1.negotiated_key_exchange_group().unwrap();
            assert_eq!(group.name(), NamedGroup::X25519MLKEM768);
            let kind = stream.get_ref().1.handshake_kind();
            assert!(kind.is_some_and(|kind| kind != HandshakeKind::Resumed), "{kind:?}");
        }
    }
    let provider = ctru_rustls::ring::standard_provider();
    let old = config(&authority, provider, &[&rustls::version::TLS12]);
    assert!(handshake(&address, &old).await.is_err());
}

/// A client on aws-lc-rs, with nothing changed, gets X25519MLKEM768 of that library.
#[cfg(feature = "aws-lc-rs")]
#[tokio::test(flavor = "multi_thread")]
async fn a_client_on_aws_lc_rs_is_post_quantum() {
    let authority = Authority::new();
    let running = start_fast(|options| options.tls = Some(authority.options())).await;
    let address = running.server.addresses()[0].to_string();
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let known = provider.kx_groups.iter().any(|of| of.name() == NamedGroup::X25519MLKEM768);
    assert!(known);
    let tls13 = config(&authority, provider.clone(), &[&rustls::version::TLS13]);
    let stream = handshake(&address, &tls13).await.unwrap();
    let group = stream.get_ref().1.negotiated_key_exchange_group().unwrap();
    assert_eq!(group.name(), NamedGroup::X25519MLKEM768);
    let tls12 = config(&authority, provider, &[&rustls::version::TLS12]);
    assert!(handshake(&address, &tls12).await.is_err());
}

/// The client of the crate connects with TLS, and tells what is wrong.
#[tokio::test(flavor = "multi_thread")]
async fn the_client_has_tls() {
    let authority = Authority::new();
    let running = start_fast(|options| options.tls = Some(authority.options())).await;
    let address = format!("https://{}", running.server.addresses()[0]);
    let (certificate, key) = authority.sign(vec![dns("a.example")]);
    let identity = Some(authority.write("client", &certificate, &key));
    let name = Some("localhost".to_owned());
    let tls = ClientTls { ca: authority.path("ca.pem"), identity, name };
    let retries = Retries { attempts: 1, ..Retries::default() };
    let client = Client::with_tls(&address, &tls, retries).unwrap();
    assert!(client.describe().await.is_ok());
    // The certificate has another name than the address, and the client needs a certificate.
    for tls in
        [ClientTls { name: None, ..tls.clone() }, ClientTls { identity: None, ..tls.clone() }]
    {
        let client = Client::with_tls(&address, &tls, retries).unwrap();
        assert!(client.describe().await.is_err());
    }
    let missing = ClientTls { ca: authority.path("none"), ..tls.clone() };
    assert!(matches!(Client::with_tls(&address, &missing, retries), Err(TlsError::File { .. })));
    assert!(matches!(Client::with_tls("/path", &tls, retries), Err(TlsError::Address)));
}
