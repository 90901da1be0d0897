//! The files of TLS that are accepted, and the words that refuse others.

use std::fs;
use std::time::Duration;

use ctru_server::{Address, Server, ServerOptions, TlsOptions};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::authority::{Authority, dns, write_private};
use crate::common::{TestEngine, engines};

/// Starts a server, and returns why it does not start.
async fn started(tls: TlsOptions) -> Result<(), String> {
    let options = ServerOptions {
        listen: vec![Address::Tcp(([127, 0, 0, 1], 0).into())],
        tls: Some(tls),
        ..ServerOptions::default()
    };
    let started = Server::start(options, engines(TestEngine::new(Duration::ZERO))).await;
    started.map(drop).map_err(|error| error.to_string())
}

/// Starts a server with these files, and returns why it does not start.
async fn start(authority: &Authority, certificate: &[u8], key: &[u8]) -> Result<(), String> {
    let options = authority.options();
    fs::write(&options.certificate, certificate).unwrap();
    write_private(&options.key, key);
    started(options).await
}

fn der(pem: &str) -> Vec<u8> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec()
}

/// Returns the key of PKCS #8 and the one of SEC 1 within it, both in DER.
fn keys(pem: &str) -> [Vec<u8>; 2] {
    let pkcs8 = PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap().secret_der().to_vec();
    let start = pkcs8.windows(5).position(|bytes| bytes == [2, 1, 1, 4, 32]).unwrap() - 2;
    let sec1 = pkcs8[start..].to_vec();
    [pkcs8, sec1]
}

fn pem(label: &str, der: &[u8], width: usize) -> String {
    use base64ct::{Base64, Encoding};
    let base64 = Base64::encode_string(der);
    let lines: Vec<&str> =
        base64.as_bytes().chunks(width).map(|line| str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

#[tokio::test(flavor = "multi_thread")]
async fn right_files_are_accepted() {
    let authority = Authority::new();
    let (certificate, key) = authority.sign(vec![dns("localhost")]);
    let [pkcs8, sec1] = keys(&key);
    let mark = |text: &str| [b"\xef\xbb\xbf", text.as_bytes()].concat();
    let indented = |text: &str| text.replace('\n', " \t\n  ");
    let parameters = pem("EC PARAMETERS", b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07", 64);
    for (what, file) in [
        ("PEM", key.clone().into_bytes()),
        ("a byte order mark", mark(&key)),
        ("white space", indented(&key).into_bytes()),
        ("CRLF", key.replace('\n', "\r\n").into_bytes()),
        ("CR", key.replace('\n', "\r").into_bytes()),
        ("text around", format!("Bag Attributes\n  a: b\n{key}and more").into_bytes()),
        ("long lines", pem("PRIVATE KEY", &pkcs8, 1000).into_bytes()),
        ("PKCS #8 in DER", pkcs8.clone()),
        ("SEC 1", pem("EC PRIVATE KEY", &sec1, 64).into_bytes()),
        ("SEC 1 after its parameters", (parameters + &pem("EC PRIVATE KEY", &sec1, 64)).into()),
        ("SEC 1 in DER", sec1.clone()),
        ("a certificate beside it", format!("{certificate}{key}").into_bytes()),
    ] {
        let started = start(&authority, certificate.as_bytes(), &file).await;
        assert_eq!(started, Ok(()), "{what}");
    }
    for (what, file) in [
        ("a byte order mark", mark(&certificate)),
        ("white space", indented(&certificate).into_bytes()),
        ("DER", der(&certificate)),
        ("a chain", format!("{certificate}{}", authority.pem).into_bytes()),
        ("a key beside it", format!("{key}{certificate}").into_bytes()),
    ] {
        assert_eq!(start(&authority, &file, key.as_bytes()).await, Ok(()), "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_files_are_named() {
    let authority = Authority::new();
    let (certificate, key) = authority.sign(vec![dns("localhost")]);
    let (other, other_key) = authority.sign(vec![dns("localhost")]);
    let [pkcs8, _] = keys(&key);
    let utf16: Vec<u8> = key.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let legacy = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\
        DEK-Info: AES-256-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n";
    let encrypted = b"\x30\x81\x90\x30\x5f\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x05\x0d";
    let container =
        b"\x30\x82\x01\x00\x02\x01\x03\x30\x81\xf0\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01";
    let cut = key.replace("-----END PRIVATE KEY-----", "");
    for (file, reason) in [
        (&b""[..], "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"\xef\xbb\xbf", "the file is empty"),
        (b"no key", "there is no private key, but neither a block of PEM nor DER"),
        (certificate.as_bytes(), "there is no private key, but `CERTIFICATE`"),
        (&der(&certificate), "there is no private key, but a certificate in DER"),
        (b"\x30\x81\x05\x02\x01\x07\x05\x00", "something else in DER"),
        (pem("OPENSSH PRIVATE KEY", &pkcs8, 64).as_bytes(), "`OPENSSH PRIVATE KEY`"),
        (pem("ENCRYPTED PRIVATE KEY", &pkcs8, 64).as_bytes(), "encrypted"),
        (legacy.as_bytes(), "encrypted"),
        (encrypted, "encrypted"),
        (container, "a container of PKCS #7 or #12"),
        (format!("{key}{other_key}").as_bytes(), "there are 2 private keys"),
        (other_key.as_bytes(), "does not belong to the first certificate"),
        (cut.as_bytes(), "the block `PRIVATE KEY` is damaged: its end is missing"),
        (cut.repeat(2).as_bytes(), "another block begins before its end"),
        (key.replacen('M', "!", 1).as_bytes(), "it is not Base64"),
        (key.replace("END PRIVATE", "END PUBLIC").as_bytes(), "its end has another label"),
        (pem("PRIVATE KEY", &pkcs8[..40], 64).as_bytes(), "damaged or of a kind"),
        (pem("RSA PRIVATE KEY", &pkcs8, 64).as_bytes(), "damaged or of a kind"),
        (&utf16, "UTF-16"),
        (&[b"\xff\xfe", &utf16[..]].concat(), "UTF-16"),
    ] {
        let error = start(&authority, certificate.as_bytes(), file).await.unwrap_err();
        assert!(error.contains(reason) && error.contains("server.key"), "{error}: {reason}");
    }
    for (file, reason) in [
        (&b""[..], "the file is empty"),
        (key.as_bytes(), "there is no certificate, but `PRIVATE KEY`"),
        (&pkcs8, "there is no certificate, but something else in DER"),
        (other.as_bytes(), "does not belong to the first certificate"),
        (format!("{}{certificate}", authority.pem).as_bytes(), "does not belong to the first"),
        (pem("CERTIFICATE", &pkcs8, 64).as_bytes(), "a certificate is refused"),
    ] {
        let error = start(&authority, file, key.as_bytes()).await.unwrap_err();
        assert!(error.contains(reason) && error.contains("server.pem"), "{error}: {reason}");
    }
}

/// A key that others can read is refused.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn keys_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let authority = Authority::new();
    let tls = authority.options();
    for (mode, is_private) in [(0o400, true), (0o640, false)] {
        fs::set_permissions(&tls.key, fs::Permissions::from_mode(mode)).unwrap();
        match started(tls.clone()).await {
            Ok(()) => assert!(is_private, "{mode:o}"),
            Err(error) => assert!(!is_private && error.contains("chmod 600"), "{error}"),
        }
    }
}
