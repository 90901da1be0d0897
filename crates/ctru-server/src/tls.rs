//! TLS: the server's certificate, and the names in those of clients.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, ServerConfig,
    SignatureScheme,
};
use thiserror::Error;
use webpki::EndEntityCert;

use crate::identity::{Identity, NameKind};

/// Where the certificates are, and how clients are identified.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    /// The certificate chain of the server, in PEM.
    pub certificate: PathBuf,
    /// The private key of the server, in PEM.
    pub key: PathBuf,
    /// The authorities that sign clients' certificates, in PEM. Without them, clients have none.
    pub client_ca: Option<PathBuf>,
    /// The names that identify clients.
    pub names: NameKind,
}

/// The reason why TLS cannot be set up.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read, or is not PEM.
    #[error("{}: {source}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        source: pem::Error,
    },
    /// There is no certificate in a file.
    #[error("{}: there is no certificate", path.display())]
    Empty {
        /// The path of the file.
        path: PathBuf,
    },
    /// The certificate and the key are refused.
    #[error("the certificate or its key is refused: {0}")]
    Certificate(#[from] Error),
    /// The authorities are refused.
    #[error("the authorities of clients are refused: {0}")]
    Authorities(#[from] VerifierBuilderError),
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let file = |source| TlsError::File { path: path.into(), source };
    let found: Vec<_> = CertificateDer::pem_file_iter(path)
        .map_err(file)?
        .collect::<Result<_, _>>()
        .map_err(file)?;
    if found.is_empty() { Err(TlsError::Empty { path: path.into() }) } else { Ok(found) }
}

impl TlsOptions {
    /// Reads the files.
    ///
    /// # Errors
    /// [`TlsError`] if a file cannot be read, or if its content is refused.
    pub(crate) fn read(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(path)? {
                    roots.add(certificate)?;
                }
                let inner = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                    .build()?;
                builder.with_client_cert_verifier(Arc::new(Named { inner, names: self.names }))
            }
        };
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|source| TlsError::File { path: self.key.clone(), source })?;
        let mut config = builder.with_single_cert(certificates(&self.certificate)?, key)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Arc::new(config))
    }

    /// Returns the identity of the client with this certificate, if clients are identified.
    ///
    /// # Errors
    /// If the certificate has no name of the right kind.
    pub(crate) fn identity(
        &self,
        certificates: Option<&[CertificateDer<'_>]>,
    ) -> io::Result<Option<Identity>> {
        if self.client_ca.is_none() {
            return Ok(None);
        }
        let certificate = certificates.and_then(<[_]>::first);
        let identity = certificate.and_then(|certificate| identity(certificate, self.names));
        let missing =
            || io::Error::other("the client's certificate has no name that identifies it");
        identity.ok_or_else(missing).map(Some)
    }
}

/// Returns the identity in a certificate.
fn identity(certificate: &CertificateDer<'_>, names: NameKind) -> Option<Identity> {
    let certificate = EndEntityCert::try_from(certificate).ok()?;
    let uri = certificate.valid_uri_names().next().map(Identity::uri);
    let dns = certificate.valid_dns_names().next().map(Identity::dns);
    match names {
        NameKind::Any => uri.or(dns),
        NameKind::Uri => uri,
        NameKind::Dns => dns,
    }
}

/// Accepts certificates that have a name of the right kind.
#[derive(Debug)]
struct Named {
    inner: Arc<dyn ClientCertVerifier>,
    names: NameKind,
}

impl ClientCertVerifier for Named {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.inner.verify_client_cert(certificate, intermediates, now)?;
        match identity(certificate, self.names) {
            Some(_) => Ok(verified),
            None => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
