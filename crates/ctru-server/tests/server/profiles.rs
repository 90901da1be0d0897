//! Profiles on the address of metrics and probes.

use std::net::SocketAddr;

use nix::sys::signal::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::common::{encapsulate, pair, sealing_keys};
use crate::program::{Program, client, finds, free_port, log};

/// Returns the answer to a GET request, as bytes.
async fn get(address: SocketAddr, path: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    answer
}

/// A server under load tells which functions take its time, to one client at a time.
#[tokio::test(flavor = "multi_thread")]
async fn profiles_name_functions() {
    let (folder, keys, port) = (tempfile::tempdir().unwrap(), sealing_keys(), free_port());
    let admin = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let (listen, admin_listen) = (format!("127.0.0.1:{port}"), admin.to_string());
    let keys = keys.path().to_str().unwrap();
    let arguments =
        ["--listen", &listen, "--admin-listen", &admin_listen, "--sealing-key-file", keys];
    let mut server = Program::start(&arguments, log(&folder));
    let client = client(port);
    client.describe().await.unwrap();
    let pair = pair(&mut client.calls()).await;
    let load = tokio::spawn(async move {
        loop {
            client.encapsulate(encapsulate(&pair, 1000)).await.unwrap();
        }
    });
    let wrong = get(admin, "/debug/pprof/profile?seconds=1000").await;
    assert!(wrong.starts_with(b"HTTP/1.1 400"), "{}", wrong.escape_ascii());
    // Either of the two may come first.
    let path = "/debug/pprof/profile?seconds=3";
    let (one, other) = tokio::join!(get(admin, path), get(admin, path));
    let (profile, refused) =
        if one.starts_with(b"HTTP/1.1 200") { (one, other) } else { (other, one) };
    assert!(profile.starts_with(b"HTTP/1.1 200"));
    assert!(refused.starts_with(b"HTTP/1.1 409"));
    assert!(finds(&profile, b"ctru_kem::") && finds(&profile, b"nanoseconds"));
    load.abort();
    server.signal(Signal::SIGTERM);
    assert_eq!(server.wait(), 0);
}
