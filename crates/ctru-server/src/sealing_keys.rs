//! Sealing keys, and the file that has them.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::KeyInit;
use thiserror::Error;
use zeroize::Zeroizing;

use crate::locked::Locked;
use crate::private_file::{self, PrivateFileError};

/// The number of bytes of the identifier of a sealing key.
pub(crate) const IDENTIFIER: usize = 8;
const KEY: usize = 32;
/// The reason why sealing keys cannot be read.
#[derive(Debug, Error)]
pub enum SealingKeyError {
    /// The file is refused.
    #[error("{0}")]
    File(#[from] PrivateFileError),
    /// A line is not a key.
    #[error("line {0}: a line has an identifier of 16 hexadecimal digits, a space and a key of 64")]
    Line(usize),
    /// Two keys have the same identifier.
    #[error("line {0}: an earlier line has the same identifier")]
    Duplicate(usize),
    /// There is no key in the file.
    #[error("there is no key")]
    Empty,
}

/// A sealing key.
pub(crate) struct SealingKey {
    pub(crate) identifier: [u8; IDENTIFIER],
    /// The cipher wipes its key when dropped.
    pub(crate) cipher: XChaCha20Poly1305,
}

impl SealingKey {
    pub(crate) fn new(identifier: [u8; IDENTIFIER], key: &[u8; KEY]) -> Self {
        Self { identifier, cipher: XChaCha20Poly1305::new(key.into()) }
    }
}

/// The sealing keys of a server. The last one seals, and all open.
///
/// Each key has pages of its own, so it stays where it is when the list grows.
#[derive(Default)]
pub struct SealingKeys(pub(crate) Vec<Locked<SealingKey>>);

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
    /// if it belongs to another user, or if it has a wrong line or no key.
    pub fn read(path: &Path) -> Result<Self, SealingKeyError> {
        Self::of_text(&private_file::read(path)?)
    }

    /// Does the same, and waits on another thread until a pipe has a writer. This thread makes the
    /// keys, because one that is idle afterwards would keep copies of them on its stack.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    pub(crate) async fn wait_for(path: PathBuf) -> Result<Self, SealingKeyError> {
        let text = tokio::task::spawn_blocking(move || private_file::read(&path)).await;
        Self::of_text(&text.unwrap_or_else(|error| Err(io::Error::from(error).into()))?)
    }

    /// Reads the keys in the text of a file.
    ///
    /// # Errors
    /// [`SealingKeyError`] if it has a wrong line or no key.
    fn of_text(text: &[u8]) -> Result<Self, SealingKeyError> {
        let mut keys: Vec<Locked<SealingKey>> = Vec::new();
        for (line, number) in text.split(|byte| *byte == b'\n').zip(1..) {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let wrong = || SealingKeyError::Line(number);
            let space = line.iter().position(u8::is_ascii_whitespace).ok_or_else(wrong)?;
            let (name, key) = line.split_at(space);
            let mut identifier = [0; IDENTIFIER];
            const_hex::decode_to_slice(name, &mut identifier).map_err(|_| wrong())?;
            let mut bytes = Zeroizing::new([0; KEY]);
            const_hex::decode_to_slice(key.trim_ascii(), &mut *bytes).map_err(|_| wrong())?;
            if keys.iter().any(|other| other.identifier == identifier) {
                return Err(SealingKeyError::Duplicate(number));
            }
            keys.push(Locked::new(SealingKey::new(identifier, &bytes)));
        }
        if keys.is_empty() { Err(SealingKeyError::Empty) } else { Ok(Self(keys)) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_checked() {
        let (one, two) = (SealingKeys::fresh_line().unwrap(), SealingKeys::fresh_line().unwrap());
        let read = |text: &str| SealingKeys::of_text(text.as_bytes());
        let keys = read(&format!("# a comment\n\n{}\r\n{}", one.trim_end(), *two)).unwrap();
        assert_eq!(keys.0.len(), 2);
        assert_eq!(format!("{keys:?}"), "SealingKeys(2 keys)");
        assert!(matches!(read("#\n"), Err(SealingKeyError::Empty)));
        let twice = format!("{}{}", *one, *one);
        assert!(matches!(read(&twice), Err(SealingKeyError::Duplicate(2))));
        for wrong in ["1234", "0011223344556677 00", &one[1..], &format!("{}0", one.trim())] {
            assert!(matches!(read(&format!("\n{wrong}")), Err(SealingKeyError::Line(2))));
        }
        assert!(matches!(SealingKeys::of_text(b"\xff"), Err(SealingKeyError::Line(1))));
    }
}
