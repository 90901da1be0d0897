//! TLS 1.3 of the client.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use http::Uri;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls::sign::SingleCertAndKey;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::transport::Endpoint;
use tower::util::BoxCloneService;

use super::{TlsError, authorities, certified, provider};

/// A connector, which opens connections for an endpoint.
pub type Connector = BoxCloneService<Uri, TokioIo<TlsStream<TcpStream>>, io::Error>;

/// The files of a client's TLS: whom it trusts, and who it is. It speaks TLS 1.3 only, and prefers
/// X25519MLKEM768.
#[derive(Clone, Debug)]
pub struct ClientTls {
    /// The file with the authorities that sign the server's certificate.
    pub ca: PathBuf,
    /// The files with the certificate chain of the client and with its private key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name in the server's certificate, if it is not the host of the address.
    pub name: Option<String>,
}

impl ClientTls {
    /// Returns an endpoint for an address such as `https://kem.example:50051`, and what connects
    /// it: set options of the endpoint, and call `connect_with_connector`.
    ///
    /// # Errors
    /// [`TlsError`] if a file is refused, or if the address has no host.
    pub fn endpoint(&self, address: &str) -> Result<(Endpoint, Connector), TlsError> {
        let origin: Uri = address.parse().map_err(|_| TlsError::Address)?;
        let authority = origin.authority().ok_or(TlsError::Address)?;
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let port = authority.port_u16().unwrap_or(443);
        let name = self.name.as_ref().unwrap_or(&host).clone();
        let name = ServerName::try_from(name).map_err(|_| TlsError::Address)?;
        // The endpoint knows nothing of TLS, and takes no address with `https`.
        let plain = Endpoint::from_shared(format!("http://{authority}"));
        let endpoint = plain.map_err(|_| TlsError::Address)?.origin(origin);
        let config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(authorities(&self.ca)?);
        let mut config = match &self.identity {
            None => config.with_no_client_auth(),
            Some((certificate, key)) => {
                let certified = SingleCertAndKey::from(certified(certificate, key)?);
                config.with_client_cert_resolver(Arc::new(certified))
            }
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        let connector = TlsConnector::from(Arc::new(config));
        let connect = tower::service_fn(move |_: Uri| {
            let (connector, name, host) = (connector.clone(), name.clone(), host.clone());
            async move {
                let stream = TcpStream::connect((host.as_str(), port)).await?;
                stream.set_nodelay(true)?;
                Ok::<_, io::Error>(TokioIo::new(connector.connect(name, stream).await?))
            }
        });
        Ok((endpoint, BoxCloneService::new(connect)))
    }
}
