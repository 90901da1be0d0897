//! Sealing keys, and the file that has them.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::KeyInit;
use thiserror::Error;
use tokio::task::JoinError;
use zeroize::Zeroizing;

use crate::locked::Locked;

/// The number of bytes of the identifier of a sealing key.
pub(crate) const IDENTIFIER: usize = 8;
const KEY: usize = 32;
/// The largest number of bytes of a file: some hundred keys.
const LARGEST: usize = 64 << 10;

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
    /// Users other than the owner of the file and root have access to it.
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
    /// The file belongs to another user, who could put other keys into it.
    #[error(
        "{}: the file belongs to user {owner}, but must belong to root or to the user of this \
         process, {user} (`chown`)",
        path.display()
    )]
    Owner {
        /// The path of the file.
        path: PathBuf,
        /// The number of the file's owner.
        owner: u32,
        /// The number of the process's user.
        user: u32,
    },
    /// The file is longer than any file of sealing keys.
    #[error("{}: the file has more than {LARGEST} bytes", path.display())]
    TooLarge {
        /// The path of the file.
        path: PathBuf,
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
        Self::of_text(path, &read_text(path)?)
    }

    /// Does the same, and waits on another thread until a pipe has a writer. This thread makes the
    /// keys, because one that is idle afterwards would keep copies of them on its stack.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    pub(crate) async fn wait_for(path: &Path) -> Result<Self, SealingKeyError> {
        let owned = path.to_owned();
        let text = tokio::task::spawn_blocking(move || read_text(&owned)).await;
        let failed =
            |error: JoinError| SealingKeyError::File { path: path.into(), source: error.into() };
        Self::of_text(path, &text.map_err(failed)??)
    }

    /// Reads the keys in the text of a file.
    ///
    /// # Errors
    /// [`SealingKeyError`] if it has a wrong line or no key.
    fn of_text(path: &Path, text: &[u8]) -> Result<Self, SealingKeyError> {
        let failed =
            |error| SealingKeyError::File { path: path.into(), source: io::Error::other(error) };
        let text = std::str::from_utf8(text).map_err(failed)?;
        let mut keys: Vec<Locked<SealingKey>> = Vec::new();
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
            keys.push(Locked::new(SealingKey::new(identifier, &bytes)));
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

/// Reads the text of a file with keys.
///
/// # Errors
/// [`SealingKeyError`] if the file cannot be read, if others than its owner have access to it,
/// if it belongs to another user, or if it is too large.
fn read_text(path: &Path) -> Result<Zeroizing<Vec<u8>>, SealingKeyError> {
    let failed = |source| SealingKeyError::File { path: path.into(), source };
    // The file is opened once, so that the file that is checked is the one that is read.
    let mut file = File::open(path).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let found = file.metadata().map_err(failed)?;
        let (mode, owner) = (found.mode() & 0o7777, found.uid());
        if !is_private(mode, owner, found.gid()) {
            return Err(SealingKeyError::Mode { path: path.into(), mode });
        }
        let user = nix::unistd::geteuid().as_raw();
        if !is_own(owner, user) {
            return Err(SealingKeyError::Owner { path: path.into(), owner, user });
        }
    }
    // A buffer that grows would leave copies of the keys behind.
    let mut buffer = Zeroizing::new(vec![0; LARGEST + 1]);
    let length = read_all(&mut file, &mut buffer).map_err(failed)?;
    if length > LARGEST {
        return Err(SealingKeyError::TooLarge { path: path.into() });
    }
    buffer.truncate(length);
    Ok(buffer)
}

/// Reads until the end of a file or of the buffer. Returns the number of bytes.
///
/// # Errors
/// If the file cannot be read.
fn read_all(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// Returns whether nobody but root and the user of the process can change what a file has.
#[cfg(unix)]
pub(crate) fn is_own(owner: u32, user: u32) -> bool {
    owner == user || owner == 0
}

/// Returns whether only the owner of a file and root can read it.
#[cfg(unix)]
pub(crate) fn is_private(mode: u32, owner: u32, group: u32) -> bool {
    // systemd hands a service its keys as a file of root with an access control list. In place of
    // the rights of the group, the mode shows the mask of the list.
    mode & 0o077 == 0 || (mode, owner, group) == (0o440, 0, 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

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
        assert!(is_own(5, 5) && is_own(0, 5) && !is_own(5, 0) && !is_own(5, 6));
        let many = "#".repeat(LARGEST + 1);
        assert!(matches!(read(&many, 0o600), Err(SealingKeyError::TooLarge { .. })));
        let full = format!("{}{}", "#\n".repeat((LARGEST - one.len()) / 2), *one);
        assert!(read(&full, 0o600).is_ok());
        // What systemd makes for a service: a file of root with an access control list.
        assert!(is_private(0o440, 0, 0) && is_private(0o400, 0, 0) && is_private(0o600, 5, 5));
        for (mode, owner, group) in [(0o640, 0, 0), (0o444, 0, 0), (0o440, 0, 5), (0o440, 5, 0)] {
            assert!(!is_private(mode, owner, group), "{mode:o}");
        }
    }

    /// While another program puts different files in the same place, no keys are read from a file
    /// that others can read.
    #[cfg(unix)]
    #[test]
    fn the_file_that_is_checked_is_the_one_that_is_read() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        use std::sync::atomic::{AtomicBool, Ordering};
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        for (name, mode) in [("private", 0o600), ("public", 0o644)] {
            let line = SealingKeys::fresh_line().unwrap();
            fs::write(place(name), line.as_bytes()).unwrap();
            fs::set_permissions(place(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let private = SealingKeys::read(&place("private")).unwrap().0[0].identifier;
        symlink("private", place("keys")).unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for name in ["public", "private"].into_iter().cycle() {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    symlink(name, place("next")).unwrap();
                    fs::rename(place("next"), place("keys")).unwrap();
                }
            });
            let mut counts = [0, 0];
            for _ in 0..5000 {
                match SealingKeys::read(&place("keys")) {
                    Ok(keys) if keys.0[0].identifier == private => counts[0] += 1,
                    Err(SealingKeyError::Mode { .. }) => counts[1] += 1,
                    _ => break,
                }
            }
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(counts.iter().sum::<usize>(), 5000, "{counts:?}");
        });
    }
}
