//! Files with keys, which nobody but their owner and root may read.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use thiserror::Error;
use zeroize::Zeroizing;

/// The largest number of bytes of a file.
const LARGEST: usize = 64 << 10;

/// The reason why a file with keys is refused.
#[derive(Debug, Error)]
pub enum PrivateFileError {
    /// The file cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// Users other than the owner of the file and root have access to it.
    #[error("the mode is {0:04o}, but only its owner may have access (`chmod 600`)")]
    Mode(u32),
    /// The file belongs to another user, who could put other keys into it.
    #[error(
        "the file belongs to user {owner}, but must belong to root or to the user of this process, \
         {user} (`chown`)"
    )]
    Owner {
        /// The number of the file's owner.
        owner: u32,
        /// The number of the process's user.
        user: u32,
    },
    /// The file is longer than any file of keys.
    #[error("the file has more than {LARGEST} bytes")]
    TooLarge,
}

/// Reads a file with keys. Leaves no copy behind.
///
/// # Errors
/// [`PrivateFileError`] if the file cannot be read, if others than its owner have access to it, if
/// it belongs to another user, or if it is too large.
pub(crate) fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, PrivateFileError> {
    // The file is opened once, so that the file that is checked is the one that is read.
    let file = File::open(path)?;
    let found = file.metadata()?;
    if found.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (mode, owner) = (found.mode() & 0o7777, found.uid());
        if !is_private(mode, owner, found.gid()) {
            return Err(PrivateFileError::Mode(mode));
        }
        let user = nix::unistd::geteuid().as_raw();
        if !is_own(owner, user) {
            return Err(PrivateFileError::Owner { owner, user });
        }
    }
    // A buffer that grows would leave copies of the keys behind, so it has room for more than is
    // read.
    let mut content = Zeroizing::new(Vec::with_capacity(2 * LARGEST));
    file.take(LARGEST as u64 + 1).read_to_end(&mut content)?;
    if content.len() > LARGEST { Err(PrivateFileError::TooLarge) } else { Ok(content) }
}

/// Returns whether nobody but root and the user of the process can change what a file has.
#[cfg(unix)]
fn is_own(owner: u32, user: u32) -> bool {
    owner == user || owner == 0
}

/// Returns whether only the owner of a file and root can read it.
#[cfg(unix)]
fn is_private(mode: u32, owner: u32, group: u32) -> bool {
    // systemd hands a service its keys as a file of root with an access control list. In place of
    // the rights of the group, the mode shows the mask of the list.
    mode & 0o077 == 0 || (mode, owner, group) == (0o440, 0, 0)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn write(path: &Path, content: &[u8], mode: u32) {
        fs::write(path, content).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn files_are_checked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        assert!(matches!(read(&path), Err(PrivateFileError::Read(_))));
        assert!(matches!(read(folder.path()), Err(PrivateFileError::Read(_))));
        write(&path, &[7; LARGEST], 0o600);
        assert_eq!(read(&path).unwrap()[..], [7; LARGEST]);
        write(&path, &[7; LARGEST + 1], 0o600);
        assert!(matches!(read(&path), Err(PrivateFileError::TooLarge)));
        write(&path, b"key", 0o640);
        assert!(matches!(read(&path), Err(PrivateFileError::Mode(0o640))));
        assert!(is_own(5, 5) && is_own(0, 5) && !is_own(5, 0) && !is_own(5, 6));
        // What systemd makes for a service: a file of root with an access control list.
        assert!(is_private(0o440, 0, 0) && is_private(0o400, 0, 0) && is_private(0o600, 5, 5));
        for (mode, owner, group) in [(0o640, 0, 0), (0o444, 0, 0), (0o440, 0, 5), (0o440, 5, 0)] {
            assert!(!is_private(mode, owner, group), "{mode:o}");
        }
    }

    /// While another program puts different files in the same place, nothing is read from a file
    /// that others can read.
    #[test]
    fn the_file_that_is_checked_is_the_one_that_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        write(&place("private"), b"private", 0o600);
        write(&place("public"), b"public", 0o644);
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
            let wrong = (0..5000).find_map(|_| match read(&place("keys")) {
                Ok(content) if content[..] == *b"private" => None,
                Err(PrivateFileError::Mode(0o644)) => None,
                other => Some(other),
            });
            is_over.store(true, Ordering::Relaxed);
            assert!(wrong.is_none(), "{wrong:?}");
        });
    }
}
