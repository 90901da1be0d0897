//! A client of HTTPS that prints the answer of a server and the group of the connection.
//!
//! Usage: client ADDRESS CERTIFICATE. It trusts the file CERTIFICATE, which the example `server`
//! has written, and asks for the name `localhost`.

use std::env;
use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

fn main() -> Result<(), Box<dyn Error>> {
    let [address, certificate] = env::args()
        .skip(1)
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| "usage: client ADDRESS CERTIFICATE")?;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate)?)?;
    let config = ClientConfig::builder_with_provider(Arc::new(ctru_rustls::ring::provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connection = ClientConnection::new(Arc::new(config), "localhost".try_into()?)?;
    let mut tls = StreamOwned::new(connection, TcpStream::connect(address)?);
    tls.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    tls.read_to_string(&mut answer)?;
    println!("{answer}");
    let group = tls.conn.negotiated_key_exchange_group().ok_or("no group")?;
    println!("key exchange: {group:?}");
    Ok(())
}
