//! Sealed private keys: encrypted under a key of the server, for one owner and one scheme.
//!
//! | bytes | field |
//! |---:|---|
//! | 1 | version, 1 |
//! | 8 | identifier of the sealing key |
//! | 24 | nonce, random |
//! | as the private key | ciphertext of XChaCha20 |
//! | 16 | tag of Poly1305 |
//!
//! The associated data are the version, the identifier, the set (1 byte), the encoding (1 byte) and
//! the [`Owner`] (32 bytes), so a sealed key is of no use to another client or for another scheme.

use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::fault::Fault;
use crate::identity::Owner;
use crate::scheme::Scheme;

const VERSION: u8 = 1;
const IDENTIFIER: usize = 8;
const NONCE: usize = 24;
const TAG: usize = 16;
const HEADER: usize = 1 + IDENTIFIER + NONCE;
const KEY: usize = 32;
/// The number of bytes by which a sealed key is longer than a plain one.
pub(crate) const OVERHEAD: usize = HEADER + TAG;
/// How many of the latest owners the server remembers.
const REMEMBERED_OWNERS: usize = 256;

/// The reason why sealing keys cannot be read.
#[derive(Debug, Error)]
pub enum SealingKeyError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Users other than the owner of the file have access to it.
    #[error(
        "{}: the mode is {mode:04o}, but only its owner may have access (`chmod 600`)",
        path.display()
    )]
    Mode {
        /// The path of the file.
        path: PathBuf,
        /// The permissions.
        mode: u32,
    },
    /// A line is not a key.
    #[error(
        "{}:{line}: a line has an identifier of 16 hexadecimal digits, a space and a key of 64",
        path.display()
    )]
    Line {
        /// The path of the file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
    },
    /// Two keys have the same identifier.
    #[error("{}:{line}: an earlier line has the same identifier", path.display())]
    Duplicate {
        /// The path of the file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
    },
    /// There is no key in the file.
    #[error("{}: there is no key", path.display())]
    Empty {
        /// The path of the file.
        path: PathBuf,
    },
}

struct SealingKey {
    identifier: [u8; IDENTIFIER],
    /// The cipher wipes its key when dropped.
    cipher: XChaCha20Poly1305,
}

/// The sealing keys of a server. The last one seals, and all open.
#[derive(Default)]
pub struct SealingKeys(Vec<SealingKey>);

impl fmt::Debug for SealingKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealingKeys({} keys)", self.0.len())
    }
}

impl SealingKeys {
    /// Reads a file with one key per line, the newest last. Empty lines and lines that begin with
    /// `#` are ignored.
    ///
    /// # Errors
    /// [`SealingKeyError`] if the file cannot be read, if others than its owner have access to it,
    /// or if it has a wrong line or no key.
    pub fn read(path: &Path) -> Result<Self, SealingKeyError> {
        let file = |source| SealingKeyError::File { path: path.into(), source };
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(path).map_err(file)?.permissions().mode() & 0o7777;
            if mode & 0o077 != 0 {
                return Err(SealingKeyError::Mode { path: path.into(), mode });
            }
        }
        let text = Zeroizing::new(fs::read_to_string(path).map_err(file)?);
        let mut keys: Vec<SealingKey> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line_number = index + 1;
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || SealingKeyError::Line { path: path.into(), line: line_number };
            let (name, key) = line.split_once(char::is_whitespace).ok_or_else(wrong)?;
            let mut identifier = [0; IDENTIFIER];
            const_hex::decode_to_slice(name, &mut identifier).map_err(|_| wrong())?;
            let mut bytes = Zeroizing::new([0; KEY]);
            const_hex::decode_to_slice(key.trim(), &mut *bytes).map_err(|_| wrong())?;
            if keys.iter().any(|other| other.identifier == identifier) {
                return Err(SealingKeyError::Duplicate { path: path.into(), line: line_number });
            }
            keys.push(SealingKey { identifier, cipher: XChaCha20Poly1305::new((&*bytes).into()) });
        }
        if keys.is_empty() {
            return Err(SealingKeyError::Empty { path: path.into() });
        }
        Ok(Self(keys))
    }

    /// Returns a line with a fresh key, for a file that [`read`](Self::read) reads.
    ///
    /// # Errors
    /// If the system provides no randomness.
    pub fn fresh_line() -> Result<Zeroizing<String>, getrandom::Error> {
        let mut bytes = Zeroizing::new([0; IDENTIFIER + KEY]);
        getrandom::fill(&mut *bytes)?;
        let (identifier, key) = bytes.split_at(IDENTIFIER);
        let key = Zeroizing::new(const_hex::encode(key));
        Ok(Zeroizing::new(format!("{} {}\n", const_hex::encode(identifier), *key)))
    }
}

/// Seals and opens private keys. The sealing keys can be replaced while calls go on.
#[derive(Debug)]
pub(crate) struct Sealer {
    keys: RwLock<Arc<SealingKeys>>,
    /// The owners of the latest calls. With them, [`Sealer::open`] can tell another client's key
    /// from a damaged one.
    owners: Mutex<VecDeque<Owner>>,
}

impl Sealer {
    pub(crate) fn new(keys: SealingKeys) -> Self {
        let owners = Mutex::new(VecDeque::from([Owner::default()]));
        Self { keys: RwLock::new(Arc::new(keys)), owners }
    }

    /// Replaces the sealing keys.
    pub(crate) fn replace(&self, keys: SealingKeys) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
    }

    /// Returns whether there is no sealing key.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys().0.is_empty()
    }

    fn keys(&self) -> Arc<SealingKeys> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Remembers that `owner` has called this server.
    pub(crate) fn remember(&self, owner: Owner) {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if !owners.contains(&owner) {
            if owners.len() == REMEMBERED_OWNERS {
                owners.pop_front();
            }
            owners.push_back(owner);
        }
    }

    /// Returns whether the first item begins like a key that this server has sealed.
    pub(crate) fn knows(&self, item: &[u8]) -> bool {
        let identifier = item.get(1..1 + IDENTIFIER);
        item.first() == Some(&VERSION)
            && self.keys().0.iter().any(|key| Some(&key.identifier[..]) == identifier)
    }

    /// Appends the sealed form of a private key to `sealed`.
    ///
    /// # Errors
    /// [`Fault::NoSealingKey`], or [`Fault::Internal`] if the system provides no randomness.
    pub(crate) fn seal(
        &self,
        scheme: Scheme,
        owner: Owner,
        key: &[u8],
        sealed: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let keys = self.keys();
        let SealingKey { identifier, cipher } = keys.0.last().ok_or(Fault::NoSealingKey)?;
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(|_| Fault::Internal)?;
        sealed.push(VERSION);
        sealed.extend_from_slice(identifier);
        sealed.extend_from_slice(&nonce);
        let start = sealed.len();
        sealed.extend_from_slice(key);
        let data = associated_data(identifier, scheme, owner);
        let tag = cipher
            .encrypt_inout_detached(&XNonce::from(nonce), &data, (&mut sealed[start..]).into())
            .map_err(|_| Fault::Internal)?;
        sealed.extend_from_slice(&tag);
        Ok(())
    }

    /// Opens a sealed private key.
    ///
    /// `field` and `item` say where the key stands in the request.
    ///
    /// # Errors
    /// - [`Fault::NoSealingKey`] if the server has no sealing key.
    /// - [`Fault::OtherOwner`] if the key belongs to another client that has called this server.
    /// - [`Fault::Invalid`] if it does not open for another reason.
    pub(crate) fn open(
        &self,
        scheme: Scheme,
        owner: Owner,
        sealed: &[u8],
        field: &'static str,
        item: Option<usize>,
    ) -> Result<Zeroizing<Vec<u8>>, Fault> {
        let keys = self.keys();
        if keys.0.is_empty() {
            return Err(Fault::NoSealingKey);
        }
        let invalid = |reason: &str| Fault::invalid(field, item, reason);
        let parts = sealed.split_at_checked(HEADER).and_then(|(header, rest)| {
            rest.split_last_chunk::<TAG>().map(|(text, tag)| (header, text, tag))
        });
        let (header, text, tag) = parts.ok_or_else(|| invalid("the sealed key is too short"))?;
        if header[0] != VERSION {
            return Err(invalid("the sealed key has an unknown version"));
        }
        let (identifier, nonce) = header[1..].split_at(IDENTIFIER);
        let Some(key) = keys.0.iter().find(|key| key.identifier == identifier) else {
            return Err(invalid("the server does not have the sealing key of this sealed key"));
        };
        let nonce = XNonce::try_from(nonce).map_err(|_| Fault::Internal)?;
        let tag = Tag::from(*tag);
        let try_open = |owner| {
            let mut plain = Zeroizing::new(text.to_vec());
            let data = associated_data(&key.identifier, scheme, owner);
            let buffer = plain.as_mut_slice().into();
            key.cipher.decrypt_inout_detached(&nonce, &data, buffer, &tag).map(|()| plain).ok()
        };
        if let Some(plain) = try_open(owner) {
            return Ok(plain);
        }
        // The format does not name the owner, so the server tries those it has seen.
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if owners.into_iter().any(|other| other != owner && try_open(other).is_some()) {
            return Err(Fault::OtherOwner { field, item });
        }
        Err(invalid("the sealed key is damaged, or was sealed for another scheme or client"))
    }
}

/// Returns what a sealed key is bound to.
fn associated_data(identifier: &[u8; IDENTIFIER], scheme: Scheme, Owner(owner): Owner) -> Vec<u8> {
    [&[VERSION][..], identifier, &scheme.numbers(), &owner].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(numbers: &[u8]) -> SealingKeys {
        let key = |&number: &u8| SealingKey {
            identifier: [number; IDENTIFIER],
            cipher: XChaCha20Poly1305::new(&[number; KEY].into()),
        };
        SealingKeys(numbers.iter().map(key).collect())
    }

    fn scheme(index: usize) -> Scheme {
        Scheme::all().nth(index).unwrap()
    }

    #[test]
    fn sealed_keys_open_for_their_owner_and_scheme_only() {
        let sealer = Sealer::new(keys(&[1]));
        let (own, other) = (Owner([1; 32]), Owner([2; 32]));
        let mut sealed = Vec::new();
        sealer.seal(scheme(2), own, b"private", &mut sealed).unwrap();
        assert_eq!(sealed.len(), 7 + OVERHEAD);
        let open = |scheme, owner, sealed: &[u8]| sealer.open(scheme, owner, sealed, "k", Some(3));
        assert_eq!(open(scheme(2), own, &sealed).unwrap().as_slice(), b"private");
        let is_invalid = |result| matches!(result, Err(Fault::Invalid { item: Some(3), .. }));
        assert!(is_invalid(open(scheme(3), own, &sealed)));
        assert!(is_invalid(open(scheme(2), other, &sealed)));
        sealer.remember(own);
        let refused = open(scheme(2), other, &sealed).unwrap_err();
        assert_eq!(refused, Fault::OtherOwner { field: "k", item: Some(3) });
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert!(is_invalid(open(scheme(2), own, &changed)), "byte {index}");
            assert!(is_invalid(open(scheme(2), own, &sealed[..index])));
        }
    }

    #[test]
    fn the_newest_key_seals_and_all_open() {
        let sealer = Sealer::new(SealingKeys::default());
        let (scheme, owner) = (scheme(0), Owner::default());
        let mut old = Vec::new();
        let none = sealer.seal(scheme, owner, b"a", &mut old);
        assert_eq!(none, Err(Fault::NoSealingKey));
        sealer.replace(keys(&[1]));
        sealer.seal(scheme, owner, b"a", &mut old).unwrap();
        sealer.replace(keys(&[1, 2]));
        let mut new = Vec::new();
        sealer.seal(scheme, owner, b"b", &mut new).unwrap();
        assert_eq!((old[1], new[1]), (1, 2));
        assert!(sealer.knows(&old) && sealer.knows(&new) && !sealer.knows(b"\x01none"));
        assert_eq!(sealer.open(scheme, owner, &old, "k", None).unwrap().as_slice(), b"a");
        sealer.replace(keys(&[2]));
        assert!(sealer.open(scheme, owner, &old, "k", None).is_err());
        assert_eq!(sealer.open(scheme, owner, &new, "k", None).unwrap().as_slice(), b"b");
    }

    #[cfg(unix)]
    #[test]
    fn files_of_keys_are_checked() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let read = |text: &str, mode| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            SealingKeys::read(&path)
        };
        let (one, two) = (SealingKeys::fresh_line().unwrap(), SealingKeys::fresh_line().unwrap());
        let keys = read(&format!("# a comment\n\n{}{}", *one, *two), 0o600).unwrap();
        assert_eq!(keys.0.len(), 2);
        assert_eq!(format!("{keys:?}"), "SealingKeys(2 keys)");
        assert!(matches!(read(&one, 0o640), Err(SealingKeyError::Mode { mode: 0o640, .. })));
        assert!(matches!(read("", 0o600), Err(SealingKeyError::Empty { .. })));
        let twice = format!("{}{}", *one, *one);
        assert!(matches!(read(&twice, 0o600), Err(SealingKeyError::Duplicate { line: 2, .. })));
        for wrong in ["1234", "0011223344556677 00", &one[1..], &format!("{}0", one.trim())] {
            assert!(matches!(read(wrong, 0o600), Err(SealingKeyError::Line { line: 1, .. })));
        }
        fs::remove_file(&path).unwrap();
        assert!(matches!(SealingKeys::read(&path), Err(SealingKeyError::File { .. })));
    }
}
