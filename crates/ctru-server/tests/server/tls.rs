//! Certificates of servers and clients, and the identity of clients.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ctru_server::client::{Client, Retries};
use ctru_server::proto::{
    DecapsulateRequest, DescribeRequest, EncapsulateRequest, decapsulate_request,
    encapsulate_request,
};
use ctru_server::{
    Address, CallSizes, LaneEngine, NameKind, Server, ServerOptions, StartError, TlsOptions,
};
use rcgen::SanType;
use tonic::Code;
use tonic::transport::Identity;

use crate::authority::{Authority, cannot_connect, connect, dns, endpoint, uri};
use crate::common::{
    TestEngine, decapsulate, encapsulate, engines, load_public, pair, scheme, start_fast,
};
use crate::lifetimes::refused;

/// Sealed and loaded keys belong to the client whose certificate has made them.
#[tokio::test(flavor = "multi_thread")]
async fn keys_belong_to_clients() {
    let authority = Authority::new();
    let running = start_fast(|options| options.tls = Some(authority.options())).await;
    let mut own = connect(&running.server, authority.named("a.example")).await;
    let mut again = connect(&running.server, authority.named("a.example")).await;
    let mut other = connect(&running.server, authority.named("b.example")).await;
    let pair = pair(&mut own).await;
    let sent = other.encapsulate(encapsulate(&pair, 2)).await.unwrap().into_inner();
    let request = decapsulate(&pair, sent.ciphertexts.clone());
    let received = again.decapsulate(request.clone()).await.unwrap().into_inner();
    assert_eq!(received.shared_secrets, sent.shared_secrets);
    let status = other.decapsulate(request.clone()).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied, "{status}");
    // A server that has never seen the owner says the same.
    let stranger = Authority::new();
    let mut tls = stranger.options();
    tls.clients.as_mut().unwrap().ca = authority.path("ca.pem");
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

    let name = own.load_keys(load_public(&pair.public)).await.unwrap().into_inner().name;
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
    let own = authority.named("a.example");
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
        silent.push(running.tcp().await);
    }
    let mut one = connect(server, authority.named("a.example")).await;
    assert!(one.describe(DescribeRequest {}).await.is_ok());
    let mut two = connect(server, authority.named("a.example")).await;
    assert!(two.describe(DescribeRequest {}).await.is_ok());
    cannot_connect(server, authority.named("a.example")).await;
    let mut other = connect(server, authority.named("b.example")).await;
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
    let own = || authority.named("a.example");
    let mut before = connect(server, own()).await;
    fs::write(authority.path("server.pem"), "nothing").unwrap();
    assert!(server.reload_certificates().await.is_err());
    assert!(connect(server, own()).await.describe(DescribeRequest {}).await.is_ok());
    // Now the server trusts another authority. The connections of the other one's clients end.
    authority.write_server();
    let next = Authority::new();
    fs::write(authority.path("ca.pem"), &next.pem).unwrap();
    server.reload_certificates().await.unwrap();
    cannot_connect(server, own()).await;
    let tls = authority.trust().identity(next.client("a.example"));
    assert!(connect(server, tls).await.describe(DescribeRequest {}).await.is_ok());
    refused(&mut before).await;
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
    let with_tls = || Some(TlsOptions { clients: None, ..authority.options() });
    assert!(matches!(start(|_| (), None).await, Err(StartError::Insecure(_))));
    assert!(start(|options| options.insecure = true, None).await.is_ok());
    assert!(matches!(start(|_| (), with_tls()).await, Err(StartError::NoClientAuth)));
    assert!(start(|options| options.no_client_auth = true, with_tls()).await.is_ok());
    assert!(start(|_| (), Some(authority.options())).await.is_ok());
    let admin = async |insecure: bool| {
        let options = ServerOptions {
            listen: vec![Address::Tcp(([127, 0, 0, 1], 0).into())],
            admin: Some(([0, 0, 0, 0], 0).into()),
            insecure_admin: insecure,
            ..ServerOptions::default()
        };
        Server::start(options, engines(TestEngine::new(Duration::ZERO))).await
    };
    assert!(matches!(admin(false).await, Err(StartError::InsecureAdmin(_))));
    assert!(admin(true).await.is_ok());
    let small =
        start(|options| options.service.max_queue = Some(100), Some(authority.options())).await;
    assert!(matches!(small, Err(StartError::Limit { option: "--max-queue", .. })));
    // Calls of a lane without threads would wait forever.
    let mut idle = engines(TestEngine::new(Duration::ZERO));
    let calls = CallSizes { threads: 0, ..CallSizes::CPU };
    idle.large = Arc::new(LaneEngine::new(TestEngine::new(Duration::ZERO), calls));
    let idle = Server::start(ServerOptions::default(), idle).await;
    assert!(matches!(idle, Err(StartError::Limit { option: "the threads of a lane", .. })));
}

/// The case of a name does not make another client of it, and names with wildcards, several names
/// and names of another kind are refused.
#[tokio::test(flavor = "multi_thread")]
async fn names_are_clear() {
    let authority = Authority::new();
    let running = start_fast(|options| options.tls = Some(authority.options())).await;
    let server = &running.server;
    let of = |names| {
        let (certificate, key) = authority.sign(names);
        authority.trust().identity(Identity::from_pem(certificate, key))
    };
    let mut own = connect(server, of(vec![dns("Tenant.Example"), uri("a://b")])).await;
    let mut again = connect(server, of(vec![dns("tenant.EXAMPLE")])).await;
    let pair = pair(&mut own).await;
    let sent = own.encapsulate(encapsulate(&pair, 1)).await.unwrap().into_inner();
    let received = again.decapsulate(decapsulate(&pair, sent.ciphertexts)).await.unwrap();
    assert_eq!(received.into_inner().shared_secrets, sent.shared_secrets);
    for names in [
        vec![dns("*.example")],
        vec![dns("a.example"), dns("b.example")],
        vec![uri("spiffe://a.example/b")],
        vec![],
    ] {
        cannot_connect(server, of(names)).await;
    }
    let mut options = authority.options();
    options.clients.as_mut().unwrap().names = NameKind::Uri;
    let running = start_fast(|of| of.tls = Some(options)).await;
    let server = &running.server;
    let mut own = connect(server, of(vec![uri("SPIFFE://A.Example/b"), dns("c.example")])).await;
    let mut again = connect(server, of(vec![uri("spiffe://a.example/b")])).await;
    let mut other = connect(server, of(vec![uri("spiffe://a.example/B")])).await;
    let pair = crate::common::pair(&mut own).await;
    let sent = own.encapsulate(encapsulate(&pair, 1)).await.unwrap().into_inner();
    let request = decapsulate(&pair, sent.ciphertexts);
    assert!(again.decapsulate(request.clone()).await.is_ok());
    let status = other.decapsulate(request).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
    for names in
        [vec![uri("spiffe://*/b")], vec![uri("a://b"), uri("a://c")], vec![dns("a.example")]]
    {
        cannot_connect(server, of(names)).await;
    }
}

/// A rate of a name that no client can have is refused, and the case of a name does not matter.
#[tokio::test(flavor = "multi_thread")]
async fn rates_have_clear_names() {
    let authority = Authority::new();
    let running = start_fast(|options| {
        options.tls = Some(authority.options());
        options.service.client_rates = [("dns:A.Example".to_owned(), 0)].into();
    })
    .await;
    let tls = authority.named("a.eXample");
    let mut own = connect(&running.server, tls).await;
    let tls = authority.named("b.example");
    let pair = pair(&mut connect(&running.server, tls).await).await;
    let status = own.encapsulate(encapsulate(&pair, 1)).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
    let mut options = ServerOptions { listen: Vec::new(), ..ServerOptions::default() };
    options.service.client_rates = [("dns:*.example".to_owned(), 1)].into();
    let started = Server::start(options, engines(TestEngine::new(Duration::ZERO))).await;
    assert!(matches!(started, Err(StartError::ClientName(_))));
}
