//! Authorities that sign certificates, and clients that have them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use ctru_server::proto::DescribeRequest;
use ctru_server::proto::kem_client::KemClient;
use ctru_server::{ClientCertificates, NameKind, Server, TlsOptions};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, IsCa, Issuer,
    KeyPair, RevokedCertParams, SanType, string::Ia5String,
};
use tempfile::TempDir;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

/// The number of the next authority.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// An authority, whose certificates lie in a folder.
pub(crate) struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
    pub(crate) pem: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Clients tell authorities apart by their names.
        let name = format!("authority {}", NEXT.fetch_add(1, Ordering::Relaxed));
        parameters.distinguished_name.push(DnType::CommonName, name);
        let pem = parameters.self_signed(&key).unwrap().pem();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca.pem"), &pem).unwrap();
        Self { folder, issuer: Issuer::new(parameters, key), pem }
    }

    /// Returns a certificate with these names, and its key.
    pub(crate) fn sign(&self, names: Vec<SanType>) -> (String, String) {
        self.sign_changed(names, |_| ())
    }

    /// Returns a certificate whose parameters `change` has changed, and its key.
    pub(crate) fn sign_changed(
        &self,
        names: Vec<SanType>,
        change: impl FnOnce(&mut CertificateParams),
    ) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.subject_alt_names = names;
        change(&mut parameters);
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// Returns a list that revokes the certificates with these numbers, and ends at a time.
    pub(crate) fn revoke(
        &self,
        serials: &[u64],
        end: SystemTime,
    ) -> rcgen::CertificateRevocationList {
        let revoked = |serial: &u64| RevokedCertParams {
            serial_number: (*serial).into(),
            revocation_time: rcgen::date_time_ymd(2020, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let parameters = CertificateRevocationListParams {
            this_update: rcgen::date_time_ymd(2020, 1, 1),
            next_update: end.into(),
            crl_number: 1.into(),
            issuing_distribution_point: None,
            revoked_certs: serials.iter().map(revoked).collect(),
            key_identifier_method: rcgen::KeyIdMethod::Sha256,
        };
        parameters.signed_by(&self.issuer).unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a certificate of the server.
    pub(crate) fn write_server(&self) {
        let (certificate, key) = self.sign(vec![dns("localhost")]);
        self.write("server", &certificate, &key);
    }

    /// Writes a certificate and its key, which only their owner may read.
    pub(crate) fn write(&self, name: &str, certificate: &str, key: &str) -> (PathBuf, PathBuf) {
        let paths = ["pem", "key"].map(|end| self.path(&format!("{name}.{end}")));
        fs::write(&paths[0], certificate).unwrap();
        write_private(&paths[1], key.as_bytes());
        paths.into()
    }

    /// Returns the options of a server that asks for certificates.
    pub(crate) fn options(&self) -> TlsOptions {
        self.write_server();
        TlsOptions {
            certificate: self.path("server.pem"),
            key: self.path("server.key"),
            clients: Some(ClientCertificates {
                ca: self.path("ca.pem"),
                crl: None,
                names: NameKind::Dns,
            }),
        }
    }

    /// Returns what a client without a certificate knows.
    pub(crate) fn trust(&self) -> ClientTlsConfig {
        let ca = Certificate::from_pem(&self.pem);
        ClientTlsConfig::new().ca_certificate(ca).domain_name("localhost")
    }

    /// Returns what a client with a DNS name knows.
    pub(crate) fn named(&self, name: &str) -> ClientTlsConfig {
        self.trust().identity(self.client(name))
    }

    /// Returns the certificate of a client with a DNS name.
    pub(crate) fn client(&self, name: &str) -> Identity {
        let (certificate, key) = self.sign(vec![dns(name)]);
        Identity::from_pem(certificate, key)
    }
}

pub(crate) fn endpoint(server: &Server) -> Endpoint {
    Endpoint::from_shared(format!("https://{}", server.addresses()[0])).unwrap()
}

pub(crate) async fn connect(server: &Server, tls: ClientTlsConfig) -> KemClient<Channel> {
    let channel = endpoint(server).tls_config(tls).unwrap().connect().await.unwrap();
    KemClient::new(channel)
}

/// Checks that a client with this configuration cannot call the server.
pub(crate) async fn cannot_connect(server: &Server, tls: ClientTlsConfig) {
    // With TLS 1.3, the client learns only after its handshake that its certificate is refused.
    if let Ok(channel) = endpoint(server).tls_config(tls).unwrap().connect().await {
        let answer = KemClient::new(channel).describe(DescribeRequest {}).await;
        assert!(answer.is_err());
    }
}

/// Returns a name of a certificate.
pub(crate) fn dns(name: &str) -> SanType {
    SanType::DnsName(Ia5String::try_from(name).unwrap())
}

/// Returns a name of a certificate.
pub(crate) fn uri(name: &str) -> SanType {
    SanType::URI(Ia5String::try_from(name).unwrap())
}

/// Writes a file that only its owner may read.
pub(crate) fn write_private(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
}
