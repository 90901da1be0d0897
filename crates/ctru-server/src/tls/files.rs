//! The files of TLS: certificates, private keys, and lists of revoked certificates, in PEM or DER.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use base64ct::{Base64, Encoding};
use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer, PrivatePkcs1KeyDer,
    PrivatePkcs8KeyDer, PrivateSec1KeyDer,
};
use rustls::sign::SigningKey;
use thiserror::Error;
use webpki::EndEntityCert;
use zeroize::Zeroizing;

use crate::private_file::{self, PrivateFileError};

/// The reason why a file of TLS is refused.
#[derive(Debug, Error)]
pub enum TlsFileError {
    /// The file cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// The file of a private key cannot be read, or others have access to it.
    #[error("{0}")]
    Key(#[from] PrivateFileError),
    /// There is nothing in the file.
    #[error("the file is empty")]
    Empty,
    /// The text has two bytes for each character.
    #[error("the text is in UTF-16; save it as ASCII or UTF-8")]
    Utf16,
    /// A block of PEM has no end, or something in it is not Base64.
    #[error("the block `{label}` is damaged: {reason}")]
    Block {
        /// The label of the block.
        label: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A password protects the private key.
    #[error(
        "the private key is encrypted; the server needs it without a password (`openssl pkey`)"
    )]
    Encrypted,
    /// The file has something else.
    #[error("there is no {wanted}, but {found}")]
    Missing {
        /// The content that the file should have.
        wanted: &'static str,
        /// The content that it has.
        found: String,
    },
    /// The file has several private keys.
    #[error("there are {0} private keys, and one is needed")]
    Several(usize),
    /// The private key is of another kind.
    #[error(
        "the private key is damaged or of a kind that is not known here; ECDSA on P-256 or P-384, \
         Ed25519, and RSA of 2048 to 8192 bits are known"
    )]
    Kind,
}

/// The prefixes of object identifiers of PKCS #7, a container, and of PKCS #5 and #12, encryption
/// with a password.
const PKCS7: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x07";
const PKCS5: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x05";
const PKCS12: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x0c";

/// Returns whether DER has a name of an object at its beginning.
fn begins_with(der: &[u8], name: &[u8]) -> bool {
    der[..der.len().min(32)].windows(name.len()).any(|bytes| bytes == name)
}

/// A part of a file: the label of its block of PEM, or none if the file is DER, and its bytes.
struct Part {
    label: Option<String>,
    bytes: Zeroizing<Vec<u8>>,
}

/// Returns the label of a line that begins or ends a block.
fn label<'a>(line: &'a [u8], mark: &str) -> Option<&'a [u8]> {
    line.strip_prefix(mark.as_bytes())?.strip_suffix(b"-----")
}

/// Divides a file into its parts. White space, text around the blocks and a byte order mark of
/// UTF-8 are allowed.
fn parts(content: &[u8]) -> Result<Vec<Part>, TlsFileError> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    if content.iter().all(u8::is_ascii_whitespace) {
        return Err(TlsFileError::Empty);
    }
    if [&b"\xff\xfe"[..], b"\xfe\xff", b"-\0", b"\0-"].iter().any(|mark| content.starts_with(mark))
    {
        return Err(TlsFileError::Utf16);
    }
    // DER begins with the tag of a sequence, which text may also begin with.
    let is_pem = content.windows(11).any(|bytes| bytes == b"-----BEGIN ");
    if content[0] == 0x30 && !is_pem {
        let mut bytes = Zeroizing::new(Vec::with_capacity(content.len()));
        bytes.extend_from_slice(content);
        return Ok(vec![Part { label: None, bytes }]);
    }
    let mut parts = Vec::new();
    // The label of the block that has begun, and its Base64.
    let mut open: Option<(&[u8], Zeroizing<Vec<u8>>)> = None;
    let text = |label: &[u8]| label.escape_ascii().to_string();
    let damaged = |label, reason| TlsFileError::Block { label: text(label), reason };
    for line in content.split(|byte| matches!(byte, b'\n' | b'\r')).map(<[u8]>::trim_ascii) {
        if let Some(next) = label(line, "-----BEGIN ") {
            if let Some((label, _)) = open {
                return Err(damaged(label, "another block begins before its end"));
            }
            open = Some((next, Zeroizing::new(Vec::with_capacity(content.len()))));
        } else if let Some(end) = label(line, "-----END ") {
            let Some((label, base64)) = open.take() else {
                return Err(damaged(end, "it has no beginning"));
            };
            if label != end {
                return Err(damaged(label, "its end has another label"));
            }
            let mut bytes = Zeroizing::new(vec![0; base64.len() / 4 * 3]);
            let decoded = Base64::decode(&*base64, &mut bytes);
            let length = decoded.map_err(|_| damaged(label, "it is not Base64"))?.len();
            bytes.truncate(length);
            parts.push(Part { label: Some(text(label)), bytes });
        } else if let Some((_, base64)) = &mut open {
            // OpenSSL's old form of encrypted keys, which begins with headers.
            if line.starts_with(b"Proc-Type:") && line.ends_with(b"ENCRYPTED") {
                return Err(TlsFileError::Encrypted);
            }
            base64.extend(line.iter().filter(|byte| !byte.is_ascii_whitespace()));
        }
    }
    match open {
        Some((label, _)) => Err(damaged(label, "its end is missing")),
        None => Ok(parts),
    }
}

/// Returns the error that says what the file has in place of what it should have.
fn missing(wanted: &'static str, parts: &[Part]) -> TlsFileError {
    let labels: Vec<String> = parts
        .iter()
        .map(|part| match &part.label {
            Some(label) => format!("`{label}`"),
            None if is_certificate(&part.bytes) => "a certificate in DER".into(),
            None if begins_with(&part.bytes, PKCS7) => "a container of PKCS #7 or #12".into(),
            None => "something else in DER".into(),
        })
        .collect();
    let nothing = || "neither a block of PEM nor DER".into();
    let found = if labels.is_empty() { nothing() } else { labels.join(", ") };
    TlsFileError::Missing { wanted, found }
}

fn is_certificate(der: &[u8]) -> bool {
    EndEntityCert::try_from(&CertificateDer::from(der)).is_ok()
}

/// Returns the bytes of the parts of a file that `is_wanted` accepts by their label, if they have
/// one, and their content.
///
/// # Errors
/// If the file cannot be read, or has none.
fn wanted(
    path: &Path,
    what: &'static str,
    is_wanted: fn(Option<&str>, &[u8]) -> bool,
) -> Result<Vec<Vec<u8>>, TlsFileError> {
    // The file may also have a private key.
    let parts = parts(&Zeroizing::new(fs::read(path)?))?;
    let wanted = parts.iter().filter(|part| is_wanted(part.label.as_deref(), &part.bytes));
    let found: Vec<_> = wanted.map(|part| part.bytes.to_vec()).collect();
    if found.is_empty() { Err(missing(what, &parts)) } else { Ok(found) }
}

/// Reads the certificates of a file.
///
/// # Errors
/// If the file cannot be read, or has none.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsFileError> {
    let found = wanted(path, "certificate", |label, bytes| match label {
        Some(label) => matches!(label, "CERTIFICATE" | "X509 CERTIFICATE"),
        None => is_certificate(bytes),
    })?;
    Ok(found.into_iter().map(CertificateDer::from).collect())
}

/// Reads the lists of revoked certificates of a file.
///
/// # Errors
/// If the file cannot be read, or has none.
pub(super) fn revocation_lists(
    path: &Path,
) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsFileError> {
    // A list in DER is checked when it is used.
    let found = wanted(path, "list of revoked certificates", |label, bytes| match label {
        Some(label) => label == "X509 CRL",
        None => !is_certificate(bytes),
    })?;
    Ok(found.into_iter().map(CertificateRevocationListDer::from).collect())
}

/// Reads the private key of a file, and wipes what it has read. rustls keeps the key as long as it
/// is in use.
///
/// # Errors
/// If the file cannot be read, if others than its owner have access to it, or if it has not exactly
/// one key, without a password and of a known kind.
pub(super) fn key(path: &Path) -> Result<Arc<dyn SigningKey>, TlsFileError> {
    let parts = parts(&private_file::read(path)?)?;
    let is_encrypted = |part: &Part| match part.label.as_deref() {
        Some(label) => label == "ENCRYPTED PRIVATE KEY",
        None => [PKCS5, PKCS12].iter().any(|name| begins_with(&part.bytes, name)),
    };
    let keys: Vec<PrivateKeyDer<'_>> = parts
        .iter()
        .filter_map(|part| {
            let bytes = part.bytes.as_slice();
            match part.label.as_deref() {
                Some("PRIVATE KEY") => Some(PrivatePkcs8KeyDer::from(bytes).into()),
                Some("RSA PRIVATE KEY") => Some(PrivatePkcs1KeyDer::from(bytes).into()),
                Some("EC PRIVATE KEY") => Some(PrivateSec1KeyDer::from(bytes).into()),
                Some(_) => None,
                None if begins_with(bytes, PKCS7) => None,
                None => PrivateKeyDer::try_from(bytes).ok(),
            }
        })
        .collect();
    match keys.as_slice() {
        [key] => {
            rustls::crypto::ring::sign::any_supported_type(key).map_err(|_| TlsFileError::Kind)
        }
        [] if parts.iter().any(is_encrypted) => Err(TlsFileError::Encrypted),
        [] => Err(missing("private key", &parts)),
        keys => Err(TlsFileError::Several(keys.len())),
    }
}
