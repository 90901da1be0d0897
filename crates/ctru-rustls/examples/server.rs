//! A server of HTTPS that answers each request with the group of its connection.
//!
//! Usage: server ADDRESS CERTIFICATE. It writes a fresh certificate for `localhost` to the file
//! CERTIFICATE, which clients need.

use std::env;
use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

fn main() -> Result<(), Box<dyn Error>> {
    let [address, certificate] = env::args()
        .skip(1)
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| "usage: server ADDRESS CERTIFICATE")?;
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())?;
    let config = ServerConfig::builder_with_provider(Arc::new(ctru_rustls::ring::provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)?;
    let config = Arc::new(config);
    let listener = TcpListener::bind(&address)?;
    fs::write(&certificate, made.cert.pem())?;
    println!("listening on {}", listener.local_addr()?);
    for stream in listener.incoming() {
        match stream.map_err(Into::into).and_then(|stream| answer(&config, stream)) {
            Ok(group) => println!("{group}"),
            Err(error) => eprintln!("error: {error}"),
        }
    }
    Ok(())
}

/// Answers one request. Returns the name of the group.
fn answer(config: &Arc<ServerConfig>, stream: TcpStream) -> Result<String, Box<dyn Error>> {
    let connection = ServerConnection::new(Arc::clone(config))?;
    let mut tls = StreamOwned::new(connection, stream);
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|window| window == b"\r\n\r\n") && request.len() < 16 * 1024 {
        match tls.read(&mut buffer)? {
            0 => break,
            count => request.extend_from_slice(&buffer[..count]),
        }
    }
    let group = tls.conn.negotiated_key_exchange_group().ok_or("no group")?;
    let text = format!("{group:?}\n");
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close";
    write!(tls, "{head}\r\nContent-Length: {}\r\n\r\n{text}", text.len())?;
    tls.conn.send_close_notify();
    tls.flush()?;
    Ok(format!("{group:?}"))
}
