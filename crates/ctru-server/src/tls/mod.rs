//! TLS 1.3: the server's certificate, and the certificates of clients.

mod client;
mod files;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use der::asn1::{AnyRef, GeneralizedTime, UtcTime};
use der::{Decode, Reader, Tag, Tagged};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, VerifierBuilderError, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{Error, InconsistentKeys, NamedGroup, RootCertStore, ServerConfig};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;
use webpki::EndEntityCert;

use crate::identity::{Identity, NameKind};

pub use client::{ClientTls, Connector};
pub use files::TlsFileError;

/// The files of a server's TLS.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    /// The certificate chain of the server, in PEM, or its certificate in DER.
    pub certificate: PathBuf,
    /// The private key of the server, in PEM or DER.
    pub key: PathBuf,
    /// The certificates of clients, or `None` if clients need none.
    pub clients: Option<ClientCertificates>,
}

/// The certificates of clients, and the names in them that identify clients.
#[derive(Clone, Debug)]
pub struct ClientCertificates {
    /// The file with the authorities that sign them.
    pub ca: PathBuf,
    /// The file with lists of revoked certificates, of each authority in each chain.
    pub crl: Option<PathBuf>,
    /// The names that identify clients.
    pub names: NameKind,
}

/// The reason why TLS cannot be set up.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file is refused.
    #[error("{}: {source}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        source: TlsFileError,
    },
    /// The certificate and the key do not belong together.
    #[error(
        "the private key in {} does not belong to the first certificate in {}",
        key.display(),
        certificate.display()
    )]
    Pair {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// A certificate is refused.
    #[error("{}: a certificate is refused: {source}", path.display())]
    Certificate {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        source: Error,
    },
    /// The authorities of clients or their lists of revoked certificates are refused.
    #[error("the authorities of clients or what they have revoked: {0}")]
    Authorities(#[from] VerifierBuilderError),
    /// The library refuses the settings.
    #[error("{0}")]
    Settings(#[from] Error),
    /// The address of a server is no URI, or has no host.
    #[error("an address of a server with TLS is a URI such as https://kem.example:50051")]
    Address,
}

/// Returns the groups and ciphers of servers and clients.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ctru_rustls::ring::standard_provider())
}

/// Names the file in an error.
fn file(path: &Path) -> impl Fn(TlsFileError) -> TlsError {
    move |source| TlsError::File { path: path.into(), source }
}

/// Reads a certificate chain and its key.
///
/// # Errors
/// [`TlsError`] if a file is refused, or if the key does not belong to the certificate.
fn certified(certificate: &Path, key: &Path) -> Result<CertifiedKey, TlsError> {
    let chain = files::certificates(certificate).map_err(file(certificate))?;
    let signer = files::key(key).map_err(file(key))?;
    let certified = CertifiedKey::new(chain, signer);
    match certified.keys_match() {
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
        Err(Error::InconsistentKeys(_)) => {
            Err(TlsError::Pair { certificate: certificate.into(), key: key.into() })
        }
        Err(source) => Err(TlsError::Certificate { path: certificate.into(), source }),
    }
}

/// Reads authorities.
///
/// # Errors
/// [`TlsError`] if the file or a certificate in it is refused.
fn authorities(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in files::certificates(path).map_err(file(path))? {
        let refused = |source| TlsError::Certificate { path: path.into(), source };
        roots.add(certificate).map_err(refused)?;
    }
    Ok(roots)
}

/// The content of the files.
#[derive(Debug)]
pub(crate) struct Configured {
    /// The settings for clients that know X25519MLKEM768. They have no other group, so clients take
    /// it even if they prefer another one.
    post_quantum: Arc<ServerConfig>,
    /// The settings for all other clients.
    others: Arc<ServerConfig>,
    clients: Option<Clients>,
}

/// The TLS of a server, whose files can be read again.
#[derive(Debug)]
pub(crate) struct Tls {
    options: TlsOptions,
    configured: watch::Sender<Arc<Configured>>,
}

/// A client with a certificate, at the time of its handshake.
#[derive(Debug)]
pub(crate) struct Certified {
    pub(crate) identity: Identity,
    chain: Vec<CertificateDer<'static>>,
    /// The end of the validity of the chain, since 1970.
    end: Duration,
    configured: watch::Receiver<Arc<Configured>>,
}

impl TlsOptions {
    /// Reads the files on another thread, which may wait: for a file system in the network, or
    /// until a pipe has a writer.
    ///
    /// # Errors
    /// [`TlsError`] if a file cannot be read, or if its content is refused.
    async fn wait_for(&self) -> Result<Configured, TlsError> {
        let options = self.clone();
        let read = tokio::task::spawn_blocking(move || options.read()).await;
        read.map_err(|error| file(&self.certificate)(io::Error::from(error).into()))?
    }

    /// Reads the files.
    ///
    /// # Errors
    /// [`TlsError`] if a file cannot be read, or if its content is refused.
    fn read(&self) -> Result<Configured, TlsError> {
        let clients = self.clients.as_ref().map(Clients::read).transpose()?;
        let certified = Arc::new(certified(&self.certificate, &self.key)?);
        let config = |provider: Arc<CryptoProvider>| -> Result<Arc<ServerConfig>, TlsError> {
            let builder = ServerConfig::builder_with_provider(provider)
                .with_protocol_versions(&[&rustls::version::TLS13])?;
            let builder = match &clients {
                None => builder.with_no_client_auth(),
                Some(of) => builder.with_client_cert_verifier(Arc::clone(&of.verifier)),
            };
            let certified = SingleCertAndKey::from(Arc::clone(&certified));
            let mut config = builder.with_cert_resolver(Arc::new(certified));
            config.alpn_protocols = vec![b"h2".to_vec()];
            if clients.is_some() {
                // A client that resumes a session is not asked for its certificate again.
                config.session_storage = Arc::new(NoServerSessionStorage {});
                config.send_tls13_tickets = 0;
            }
            Ok(Arc::new(config))
        };
        let mut only = ctru_rustls::ring::standard_provider();
        only.kx_groups.retain(|group| group.name() == NamedGroup::X25519MLKEM768);
        Ok(Configured {
            post_quantum: config(Arc::new(only))?,
            others: config(provider())?,
            clients,
        })
    }
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// [`TlsError`] if a file cannot be read, or if its content is refused.
    pub(crate) async fn new(options: TlsOptions) -> Result<Self, TlsError> {
        let configured = watch::Sender::new(Arc::new(options.wait_for().await?));
        Ok(Self { options, configured })
    }

    /// Reads the files again, and uses them also for clients that are already connected.
    ///
    /// # Errors
    /// [`TlsError`] if a file cannot be read, or if its content is refused.
    pub(crate) async fn reload(&self) -> Result<(), TlsError> {
        self.configured.send_replace(Arc::new(self.options.wait_for().await?));
        Ok(())
    }

    /// Does the handshake. Returns the stream, and the client if it has a certificate.
    ///
    /// # Errors
    /// If the connection fails, or if the client is refused.
    pub(crate) async fn accept<I: AsyncRead + AsyncWrite + Unpin>(
        &self,
        io: I,
    ) -> io::Result<(TlsStream<I>, Option<Certified>)> {
        let mut receiver = self.configured.subscribe();
        let configured = Arc::clone(&receiver.borrow_and_update());
        let start = LazyConfigAcceptor::new(Default::default(), io).await?;
        let groups = start.client_hello().named_groups().unwrap_or_default();
        let config = match groups.contains(&NamedGroup::X25519MLKEM768) {
            true => &configured.post_quantum,
            false => &configured.others,
        };
        let stream = start.into_stream(Arc::clone(config)).await?;
        let Some(clients) = &configured.clients else { return Ok((stream, None)) };
        let chain = stream.get_ref().1.peer_certificates().unwrap_or_default().to_vec();
        let first = chain.first().ok_or_else(|| io::Error::other("there is no certificate"))?;
        let refused = |reason| io::Error::new(io::ErrorKind::InvalidData, reason);
        let identity = identity(first, clients.names).map_err(refused)?;
        let end = clients.end(&chain);
        Ok((stream, Some(Certified { identity, chain, end, configured: receiver })))
    }
}

/// Returns the time since 1970.
fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

impl Certified {
    /// Returns how long the certificates of the client are still valid.
    pub(crate) fn left(&self) -> Duration {
        self.end.saturating_sub(now())
    }

    /// Waits until the files have been read again and the server would now refuse this client.
    /// Waits forever if that never happens.
    pub(crate) async fn refused(mut self) {
        loop {
            if self.configured.changed().await.is_err() {
                return std::future::pending().await;
            }
            let configured = Arc::clone(&self.configured.borrow_and_update());
            let clients = configured.clients.as_ref();
            if clients.is_none_or(|clients| clients.verify(&self.chain, now()).is_err()) {
                return;
            }
        }
    }
}

/// Returns the identity in a certificate.
///
/// # Errors
/// A text that says which name the certificate lacks, or which one is refused.
fn identity(certificate: &CertificateDer<'_>, names: NameKind) -> Result<Identity, &'static str> {
    let certificate = EndEntityCert::try_from(certificate);
    let certificate = certificate.map_err(|_| "the certificate cannot be read")?;
    let found: Vec<&str> = match names {
        NameKind::Uri => certificate.valid_uri_names().collect(),
        NameKind::Dns => certificate.valid_dns_names().collect(),
    };
    match found[..] {
        [] => Err("the certificate has no name of the kind that identifies clients"),
        [name] => Identity::of(names, name).ok_or("the name in the certificate is not clear"),
        _ => Err("the certificate has several names of the kind that identifies clients"),
    }
}

/// Returns the end of the validity of a certificate, since 1970.
fn not_after(certificate: &CertificateDer<'_>) -> der::Result<Duration> {
    AnyRef::from_der(certificate)?.sequence(|certificate| {
        let end = certificate.sequence(|signed| {
            // The version, which may be missing, then the number, the algorithm and the issuer.
            let version = AnyRef::decode(signed)?;
            if version.tag() != Tag::Integer {
                AnyRef::decode(signed)?;
            }
            AnyRef::decode(signed)?;
            AnyRef::decode(signed)?;
            let end = signed.sequence(|validity| {
                AnyRef::decode(validity)?;
                match Tag::peek(validity)? {
                    Tag::UtcTime => Ok(UtcTime::decode(validity)?.to_unix_duration()),
                    _ => GeneralizedTime::decode(validity).map(|end| end.to_unix_duration()),
                }
            })?;
            signed.drain(signed.remaining_len())?;
            Ok::<_, der::Error>(end)
        })?;
        certificate.drain(certificate.remaining_len())?;
        Ok(end)
    })
}

/// The certificates of clients that are accepted, and the names that identify clients.
#[derive(Debug)]
struct Clients {
    verifier: Arc<dyn ClientCertVerifier>,
    names: NameKind,
}

impl Clients {
    /// Reads the files.
    ///
    /// # Errors
    /// [`TlsError`] if a file cannot be read, or if its content is refused.
    fn read(options: &ClientCertificates) -> Result<Self, TlsError> {
        let roots = Arc::new(authorities(&options.ca)?);
        let mut builder = WebPkiClientVerifier::builder_with_provider(roots, provider());
        if let Some(path) = &options.crl {
            let lists = files::revocation_lists(path).map_err(file(path))?;
            builder = builder.with_crls(lists).enforce_revocation_expiration();
        }
        Ok(Self { verifier: builder.build()?, names: options.names })
    }

    /// Checks a chain at a time since 1970.
    ///
    /// # Errors
    /// If it is refused.
    fn verify(&self, chain: &[CertificateDer<'_>], at: Duration) -> Result<(), Error> {
        let (first, others) = chain.split_first().ok_or(Error::NoCertificatesPresented)?;
        let at = UnixTime::since_unix_epoch(at);
        self.verifier.verify_client_cert(first, others, at).map(drop)
    }

    /// Returns the time until which a chain is valid, since 1970. A chain that cannot be read is no
    /// longer valid.
    fn end(&self, chain: &[CertificateDer<'_>]) -> Duration {
        let mut ends: Vec<Duration> = chain.iter().filter_map(|one| not_after(one).ok()).collect();
        ends.sort_unstable();
        // A client may have sent certificates that its chain does not need.
        let is_end = |end: &Duration| self.verify(chain, *end + Duration::from_secs(1)).is_err();
        let now = now();
        ends.into_iter().filter(|end| *end >= now).find(is_end).unwrap_or(now)
    }
}
